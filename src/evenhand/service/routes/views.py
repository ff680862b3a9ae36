"""The routes that show the course of a study: its series, decisions, table and audit, for keys with the role read."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from evenhand.data.csv_files import write_csv
from evenhand.data.json_files import LARGEST, to_json
from evenhand.errors import ArgumentError, expected
from evenhand.extras import optional
from evenhand.service.routes.fields import Label, StudyPath, WorstCase
from evenhand.service.routes.routing import Endpoint, unless_seen
from evenhand.service.sessions import Session
from evenhand.studies import Study
from evenhand.studies.export import bandit_frame
from evenhand.studies.files import flat
from evenhand.studies.log.codec import moment as time_of
from evenhand.studies.statistics.statistics import Moment, Statistics

if TYPE_CHECKING:
    import pandas as pd

SERIES = 50_000
"""The most labels times rounds of one series: with many labels there are fewer rounds."""
Format = Literal["csv", "parquet", "json"]
KINDS: dict[Format, str] = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
}
CONTENT: dict[str, Any] = {
    "text/csv": {"schema": {"type": "string"}},
    KINDS["parquet"]: {"schema": {"type": "string", "format": "binary"}},
    "application/json": {"schema": {"type": "array", "items": {"type": "object"}}},
}


class SeriesQuery(BaseModel):
    """How much of a study's course to return."""

    points: int = Field(default=400, ge=2, le=1000, description="At about how many rounds.")
    first: int | None = Field(default=None, ge=1, le=LARGEST, description="Only from this round on.")
    last: int | None = Field(default=None, ge=1, le=LARGEST, description="Only up to this round.")


class SeriesOut(BaseModel):
    """A study at some rounds, first to last; the lists of each label hold one number per round."""

    round: list[int]
    at: list[datetime] = Field(description="When each round was decided.")
    labels: list[Label]
    shares: list[list[float | None]]
    promised: list[float | None] | None
    shortfall: list[list[float | None]] | None
    reward_mean: list[float | None]
    reward_recent: list[float | None]
    forced: list[int]


async def series(request: Request, query: SeriesQuery, session: Session) -> Any:
    """Return shares, shortfalls and rewards over time.

    With `first` or `last` the log is read again for the rounds in between, so that the points lie as densely as is
    asked for; this takes a while on a long log. At most four such requests run at once; `Retry-After` says when to try
    again.
    """
    if query.first is None and query.last is None:
        whole = partial(series_of, session, query.points)
        return await session.reads.run(partial(unless_seen, request, session, str(query.points), whole))
    first, last = query.first or 1, query.last
    if last is not None and last < first:
        raise ArgumentError(expected("last", f"a round >= first, which is {first}", last))
    return await request.app.state.closeups.run(partial(close_up, session, first, last, query.points))


def series_of(session: Session, points: int) -> dict[str, Any]:
    """Return a study's series at about `points` rounds, fewer if there are many labels.

    The last point is the present, with all reports so far.
    """
    with session.reading() as (statistics, _):
        moments, reward = statistics.moments, statistics.reward
        if moments and reward is not None:
            moments[-1] = moments[-1]._replace(reward_mean=reward[0], reward_recent=reward[1])
        kept = _spread(0, len(moments) - 1, points, len(statistics.labels))
        return _columns(statistics, [moments[i] for i in kept] if len(moments) > len(kept) else moments)


def close_up(session: Session, first: int, last: int | None, points: int) -> dict[str, Any]:
    """Return a study's series from round `first` to `last` (None: the present) at about `points` rounds, read anew."""
    with session.reading() as (statistics, _):
        last, labels = min(last or statistics.rounds, statistics.rounds), len(statistics.labels)
    chosen = _spread(first, last, points, labels)
    closer = Statistics(session.reader.log.first_policy, chosen=set(chosen))
    if chosen:
        for entry in session.reader.log.entries():
            closer.take(entry)
            if closer.rounds == last:
                break
    closer.flush()
    return _columns(closer, closer.moments if chosen else [])


def _spread(first: int, last: int, points: int, labels: int) -> list[int]:
    """Return whole numbers from `first` to `last`: all of them, or `points` of them, fewer if there are many labels."""
    points = max(2, min(points, SERIES // max(1, labels), last - first + 1))
    return np.unique(np.linspace(first, last, points).round().astype(int)).tolist() if last >= first else []


def _columns(statistics: Statistics, moments: list[Moment]) -> dict[str, Any]:
    promise, k = statistics.promise, len(statistics.labels)
    counts = np.array([moment.counts for moment in moments]).reshape(-1, k)
    rounds = np.array([moment.round for moment in moments], dtype=np.int64)
    owed = np.array([moment.owed for moment in moments]).reshape(-1, k)
    return {
        "round": rounds.tolist(),
        "at": [time_of(moment.at) for moment in moments],
        "labels": list(statistics.labels),
        "shares": (counts / np.maximum(rounds, 1)[:, None]).T.tolist(),
        "promised": None if promise is None else promise.floats().tolist(),
        "shortfall": None if promise is None else owed.T.tolist(),
        "reward_mean": [moment.reward_mean for moment in moments],
        "reward_recent": [moment.reward_recent for moment in moments],
        "forced": [moment.forced for moment in moments],
    }


class DecisionsQuery(BaseModel):
    """Which decisions to return."""

    before: int | None = Field(default=None, ge=1, le=LARGEST, description="Only decisions before this one.")
    after: int | None = Field(default=None, ge=1, le=LARGEST, description="Only decisions after this one.")
    order: Literal["newest", "oldest"] = Field(default="newest", description="Which come first.")
    limit: int = Field(default=50, ge=1, le=500, description="At most this many.")
    arm: str | None = Field(default=None, max_length=200, description="Only for this arm or group.")
    reason: str | None = Field(default=None, max_length=200, description="Only for this reason.")
    open: bool | None = Field(default=None, description="Only open decisions, or only closed ones.")


class RowOut(BaseModel):
    """One decision of a list."""

    id: int
    at: datetime
    arm: Label | None
    arms: list[str | int] | None = Field(None, description="All arms of the round, where there are several.")
    index: int | None
    reason: str | None
    probabilities: list[float] | None
    status: Literal["open", "told", "forgotten", "expired"]
    reward: Any = None
    told_at: datetime | None
    age_seconds: float = Field(description="How long it was open, until now if it still is.")


class DecisionsOut(BaseModel):
    """Decisions; `next` is the `before` of the next page, and where the oldest come first its `after`."""

    decisions: list[RowOut]
    next: int | None


def decisions(request: Request, query: DecisionsQuery, session: Session) -> dict[str, Any]:
    """Return decisions with their reasons and outcomes, page by page, the newest or the oldest first."""
    chosen, limit = query.model_dump(exclude={"limit"}), query.limit
    with session.reading() as (_, index):
        tickets = list(islice(index.find(**chosen), limit + 1))
    rows = [_row(session.reader.log.record(ticket)) for ticket in tickets[:limit]]
    return {"decisions": rows, "next": tickets[limit - 1] if len(tickets) > limit else None}


def _row(record: Any) -> dict[str, Any]:
    decision = record.decision
    closed = record.told_at or record.forgotten_at or record.expired_at
    return {
        "id": record.ticket,
        "at": record.at,
        "arm": decision.get("arm", decision.get("group")),
        **({"arms": decision["arms"]} if "arms" in decision else {}),
        "index": decision.get("index"),
        "reason": decision.get("reason"),
        "probabilities": decision.get("probabilities"),
        "status": record.status,
        "reward": (record.told or {}).get("reward"),
        "told_at": record.told_at,
        "age_seconds": max(0.0, ((closed or datetime.now(UTC)) - record.at).total_seconds()),
    }


class DecisionPath(StudyPath):
    """The path of a decision."""

    id: int = Field(ge=1, le=LARGEST, description="The decision's number.")


class RecordOut(RowOut):
    """Everything on record about one decision."""

    decision: dict[str, Any]
    given: dict[str, Any]
    told: dict[str, Any] | None
    version: str
    random_state: list[str] | None
    key: str | None
    actor: str | None


def decision(request: Request, path: DecisionPath, session: Session) -> dict[str, Any]:
    """Return the contexts, the decision and its reason, its version and random state, and its outcome."""
    record = session.reader.log.record(path.id)
    known = record._asdict()
    return {**_row(record), **{name: known[name] for name in RecordOut.__annotations__}}


class ForcedQuery(BaseModel):
    """How many of the decisions that the quota forced to return."""

    limit: int = Field(default=100, ge=1, le=1000, description="At most this many.")


class ForcedRow(BaseModel):
    """A decision that the promise forced."""

    id: int
    round: int
    at: datetime
    arm: Label


class ForcedOut(BaseModel):
    """The decisions that the promise forced, newest first."""

    forced: list[ForcedRow]


def forced(request: Request, query: ForcedQuery, session: Session) -> dict[str, Any]:
    """Return the last decisions that the promise forced, newest first."""
    with session.reading() as (_, index):
        tickets = list(islice(index.forced(), query.limit))
    records = [session.reader.log.record(ticket) for ticket in tickets]
    return {
        "forced": [
            {"id": one.ticket, "round": one.decision["round"], "at": one.at, "arm": one.decision["arm"]}
            for one in records
        ]
    }


class HistoryQuery(BaseModel):
    """Which table to return."""

    format: Format = Field(default="csv", description="The file's format.")
    form: Literal["log", "bandit"] = Field(
        default="log", description="The log as it is, or bandit feedback with propensities for off-policy estimators."
    )


async def table(request: Request, query: HistoryQuery, session: Session) -> Response:
    """Return all decisions as a table to download.

    With `form=bandit` the header `Left-Out` says how many decisions are not in it, by status: `2 open, 1 forgotten`.
    """
    body, kind, left_out = await request.app.state.tables.run(
        partial(export_log, session.reader, query.format, query.form)
    )
    saved = f'attachment; filename="{session.study.name}-{query.form}.{query.format}"'
    headers = {"Content-Disposition": saved, "Cache-Control": "no-store"} | ({"Left-Out": left_out} if left_out else {})
    return Response(body, media_type=kind, headers=headers)


def export_log(study: Study, format: Format, form: Literal["log", "bandit"]) -> tuple[bytes, str, str]:
    """Return the log as the content of a file, its media type, and how many decisions are left out, by status.

    Raises
    ------
    ArgumentError
        If the log is not bandit feedback.
    """
    table = study.frame() if form == "log" else bandit_frame(study)
    left_out = ", ".join(f"{count} {status}" for status, count in table.attrs.get("left_out", {}).items())
    return _written(table, format), KINDS[format], left_out


def _written(table: pd.DataFrame, format: Format) -> bytes:
    if format == "json":
        rows = table.astype(object).where(table.notna(), None).to_dict("records")
        return to_json(rows)
    table = flat(table)
    if format == "csv":
        text = io.StringIO()
        write_csv(table, text)
        return text.getvalue().encode()
    pa, pq = optional("pyarrow", "a Parquet file"), optional("pyarrow.parquet", "a Parquet file")
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None), sink)
    return sink.getvalue()


class AuditOut(WorstCase):
    """What a replay of the whole log found."""

    model_config = ConfigDict(extra="allow")

    ok: bool
    problems: list[str]
    entries: int
    decisions: int
    told: int
    forgotten: int
    open: int
    versions: list[str]
    promise: str | None
    promise_kept: bool | None
    first_violation: list[Any] | None


async def audit(request: Request, session: Session) -> dict[str, Any]:
    """Replay the whole log from its start and check every promise at every round.

    A long log takes a while. At most two audits run at once; `Retry-After` says when to try again.
    """
    finding: dict[str, Any] = await request.app.state.audits.run(lambda: session.audit().as_dict())
    return finding


VIEW_ENDPOINTS = (
    Endpoint("GET", "/studies/{name}/series", series, "read", (SeriesOut,), tagged=True),
    Endpoint("GET", "/studies/{name}/decisions", decisions, "read", (DecisionsOut,)),
    Endpoint("GET", "/studies/{name}/decisions/{id}", decision, "read", (RecordOut,)),
    Endpoint("GET", "/studies/{name}/forced", forced, "read", (ForcedOut,)),
    Endpoint("GET", "/studies/{name}/history", table, "read", content=CONTENT),
    Endpoint("GET", "/studies/{name}/audit", audit, "read", (AuditOut,)),
)
