"""The conversation over HTTP: create, ask, tell, forget; by JSON or Arrow, one by one or in batches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import orjson
from sqlalchemy.exc import IntegrityError

from evenhand.errors import ArgumentError, EvenhandError, wanted
from evenhand.protocol import Decision
from evenhand.service import arrow
from evenhand.service.desks import Desk, Desks
from evenhand.service.forms import (
    ASKS,
    JSON,
    TELLS,
    Call,
    count_of,
    idempotency_key,
    is_arrow,
    object_of,
    report_of,
    shown_of,
    spread,
    ticket_of,
    wants_arrow,
)  # fmt: skip
from evenhand.service.metrics import Metrics
from evenhand.service.refusals import Refusal, envelope, refusal_of
from evenhand.studies import Operation, Study
from evenhand.studies.records import as_decided
from evenhand.studies.sizes import checked_shown
from evenhand.studies.specification import policy_from

__all__ = ["Answer", "Talk"]

OPTIONS = orjson.OPT_SERIALIZE_NUMPY
NEW = {"told", "forgotten"}


LARGE = 2**16
"""Bytes of a body that is read on a thread: what it takes long to read holds up nobody else."""
T = TypeVar("T")


class Answer(NamedTuple):
    """What is sent back."""

    status: int
    body: bytes
    kind: str = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Talk:
    """What the routes that write do.

    Parameters
    ----------
    most : rows of one batch.
    state : what `GET /studies/{name}` answers, for a study just created.
    """

    def __init__(self, desks: Desks, metrics: Metrics, *, most: int, state: Callable[[Desk], Any]) -> None:
        self._desks, self._metrics, self._most, self._state = desks, metrics, most, state

    async def create(self, call: Call) -> Answer:
        """Create a study."""
        body = object_of(call, ("name", "policy", "expire_after"))
        name = body.get("name")
        if not isinstance(name, str):
            raise ArgumentError(wanted("name", "a text", name))
        if not isinstance(body.get("policy"), dict):
            raise ArgumentError(
                wanted("policy", 'an object such as {"policy": "quotas/fair-ucb", ...}', body.get("policy"))
            )
        state = await asyncio.to_thread(self._created, name, body["policy"], body.get("expire_after"))
        location = (b"location", f"/studies/{name}".encode())
        return Answer(201, orjson.dumps(state, option=OPTIONS), headers=(location,))

    def _created(self, name: str, spec: dict[str, Any], expire_after: Any) -> Any:
        try:
            Study.create(self._desks.store, policy_from(spec), name=name, expire_after=expire_after)
        except ArgumentError as error:
            if isinstance(error.__cause__, IntegrityError):
                raise Refusal(409, wanted("name", "a new one", name, "there is a study of that name")) from error
            raise
        return self._state(self._desks.open(name))

    async def ask(self, call: Call) -> Answer:
        """Take one decision, or many."""
        desk = self._desks.get(call.study) or await self._desks.reached(call.study)
        wishes, single = await _read(call, lambda: self._asked(desk, call))
        outcomes = await desk.writer.perform([wish._replace(actor=call.actor) for wish in wishes])
        if single:
            if isinstance(outcomes[0], EvenhandError):
                raise outcomes[0]
            self._metrics.did("ask", call.study, 1)
            return Answer(200, orjson.dumps(_shown(desk.study, outcomes[0]), option=OPTIONS))
        rows = [self._row(desk.study, outcome) for outcome in outcomes]
        good = sum("error" not in row for row in rows)
        if rows and not good:
            raise outcomes[0]
        self._metrics.did("ask", call.study, good)
        if wants_arrow(call.headers):
            return Answer(200, arrow.decisions_stream(rows), arrow.MEDIA_TYPE)
        return Answer(200, orjson.dumps({"decisions": rows}, option=OPTIONS))

    def _asked(self, desk: Desk, call: Call) -> tuple[list[Operation], bool]:
        """Return an operation for each decision that a request asks for, and whether a bare decision is wanted."""
        key = idempotency_key(call.headers)
        if is_arrow(call):
            rows = arrow.read_stream(call.body, "ask", self._most)
            wishes, single = [_wish(row, i, key) for i, row in enumerate(spread(rows, self._most))], False
        else:
            body = object_of(call, (*ASKS, "count", "batch"), empty=True)
            wishes, single = self._wishes(body, key)
        checked_shown(desk.study.policy_name, (wish.given for wish in wishes))
        return wishes, single

    def _wishes(self, body: dict[str, Any], key: str | None) -> tuple[list[Operation], bool]:
        """Return an operation for each decision, and whether a bare decision is wanted."""
        if not body:
            return [Operation("ask", key=key)], True
        if "batch" in body:
            if len(body) > 1:
                raise ArgumentError(wanted("body", "batch alone", ", ".join(body)))
            rows = body["batch"]
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                raise ArgumentError(wanted("batch", "a list of objects", rows))
            self._few(len(rows))
            shown = [shown_of(row, f"batch[{i}]") for i, row in enumerate(rows)]
            return [Operation("ask", given=given, key=key, number=i) for i, given in enumerate(shown)], False
        count = body.pop("count", None)
        if count is not None:
            given = shown_of(body, "body")
            each = range(count_of(count, self._most))
            return [Operation("ask", given=given, key=key, number=i) for i in each], False
        return [Operation("ask", given=shown_of(body, "body"), key=key)], True

    async def tell(self, call: Call) -> Answer:
        """Bring back what happened, for one ticket or many."""
        desk = self._desks.get(call.study) or await self._desks.reached(call.study)
        reports = await _read(call, lambda: self._reports(call))
        if isinstance(reports, Operation):
            return await self._close(desk, call, reports)
        results: list[dict[str, Any]] = [{"ticket": ticket} for ticket, _ in reports]
        places, operations = [], []
        for i, (_, report) in enumerate(reports):
            if isinstance(report, Operation):
                places.append(i)
                operations.append(report)
            else:
                results[i] = self._refused(results[i], report)
        outcomes = await desk.writer.perform(operations) if operations else []
        for i, outcome in zip(places, outcomes, strict=True):
            if isinstance(outcome, EvenhandError):
                results[i] = self._refused(results[i], outcome)
            else:
                results[i]["status"] = outcome
        told = outcomes.count("told")
        if told:
            self._metrics.did("tell", call.study, told)
        if wants_arrow(call.headers):
            return Answer(200, arrow.results_stream(results), arrow.MEDIA_TYPE)
        return Answer(200, orjson.dumps({"results": results}, option=OPTIONS))

    def _reports(self, call: Call) -> Operation | list[tuple[Any, Operation | EvenhandError]]:
        """Return the operation that a request reports; of a batch each row's ticket, with its operation or refusal."""
        if not is_arrow(call):
            body = object_of(call, ("ticket", "batch", *TELLS))
            if "batch" not in body:
                return _report(body, "body", call.actor)
            rows = body["batch"]
            if len(body) > 1:
                raise ArgumentError(wanted("body", "batch alone", ", ".join(body)))
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                raise ArgumentError(wanted("batch", "a list of objects", rows))
            self._few(len(rows))
        else:
            rows = arrow.read_stream(call.body, "tell", self._most)
        reports: list[tuple[Any, Operation | EvenhandError]] = []
        for i, row in enumerate(rows):
            try:
                reports.append((row.get("ticket"), _report(row, f"batch[{i}]", call.actor)))
            except EvenhandError as error:
                reports.append((row.get("ticket"), error))
        return reports

    async def forget(self, call: Call) -> Answer:
        """Close a ticket of which nothing will be told."""
        desk = self._desks.get(call.study) or await self._desks.reached(call.study)
        body = object_of(call, ("ticket",))
        return await self._close(
            desk, call, Operation("forget", ticket_of(body.get("ticket"), "ticket"), actor=call.actor)
        )

    async def _close(self, desk: Desk, call: Call, operation: Operation) -> Answer:
        (outcome,) = await desk.writer.perform([operation])
        if isinstance(outcome, EvenhandError):
            raise outcome
        if outcome in NEW:
            self._metrics.did(operation.kind, call.study, 1)
        return Answer(200, orjson.dumps({"ticket": operation.ticket, "status": outcome}))

    def _row(self, study: Study, outcome: Any) -> dict[str, Any]:
        return self._refused({}, outcome) if isinstance(outcome, EvenhandError) else _shown(study, outcome)

    def _refused(self, row: dict[str, Any], error: EvenhandError) -> dict[str, Any]:
        self._metrics.refused(refusal_of(error).name)
        return {**row, "error": envelope(error)}

    def _few(self, count: int) -> None:
        if count > self._most:
            raise Refusal(413, f"more than {self._most} in one batch; send smaller ones")


def _wish(row: dict[str, Any], i: int, key: str | None) -> Operation:
    """Return the operation of row i of a table: under its own key, else the i-th under the request's."""
    own = row.pop("key", None)
    return Operation("ask", given=row, key=own or key, number=0 if own else i)


async def _read(call: Call, reading: Callable[[], T]) -> T:
    """Return what a body says."""
    return await asyncio.to_thread(reading) if len(call.body) > LARGE else reading()


def _report(row: dict[str, Any], where: str, actor: str) -> Operation:
    ticket, given = report_of(row, where)
    return Operation("tell", ticket, given, None, actor)


def _shown(study: Study, decision: Any) -> dict[str, Any]:
    """Return a decision as JSON has it, its ticket signed."""
    if type(decision) is Decision:
        return {"ticket": study.sign(decision.id), **decision._asdict()}
    fields = {name: value for name, value in as_decided(decision).items() if name != "type"}
    if isinstance(fields.get("frame"), dict):
        fields["frame"] = fields["frame"]["$table"]
    return {"ticket": study.sign(decision.id), **fields}
