"""The conversation over HTTP: create, ask, tell, forget; by JSON or Arrow, one by one or in batches.

What arrives is checked for its form here, by hand, because this is the path that must be fast; what it means is checked
by the policy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import orjson

from evenhand.errors import ArgumentError, ContextError, EvenhandError, TicketError, wanted
from evenhand.protocol import Decision
from evenhand.service import arrow
from evenhand.service.desks import Desk, Desks
from evenhand.service.metrics import Metrics
from evenhand.service.refusals import Refusal, envelope, refusal_of
from evenhand.studies import Operation, Study
from evenhand.studies.records import as_decided
from evenhand.studies.specification import policy_from

__all__ = ["JSON", "Answer", "Call", "Talk"]

JSON = "application/json"
OPTIONS = orjson.OPT_SERIALIZE_NUMPY
TELLS = ("reward", "violations", "acceptable", "X", "y", "samples")
NEW = {"told", "forgotten"}


class Call(NamedTuple):
    """A request as the conversation sees it."""

    study: str
    headers: dict[bytes, bytes]
    body: bytes
    actor: str


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
        body = _object(call, ("name", "policy"))
        name = body.get("name")
        if not isinstance(name, str):
            raise ArgumentError(wanted("name", "a text", name))
        if not isinstance(body.get("policy"), dict):
            raise ArgumentError(
                wanted("policy", 'an object such as {"policy": "quotas/fair-ucb", ...}', body.get("policy"))
            )
        state = await asyncio.to_thread(self._created, name, body["policy"])
        location = (b"location", f"/studies/{name}".encode())
        return Answer(201, orjson.dumps(state, option=OPTIONS), headers=(location,))

    def _created(self, name: str, spec: dict[str, Any]) -> Any:
        Study.create(self._desks.store, policy_from(spec), name=name)
        return self._state(self._desks.open(name))

    async def ask(self, call: Call) -> Answer:
        """Take one decision, or many."""
        desk = self._desks.get(call.study) or await self._desks.reached(call.study)
        key = _idempotency_key(call.headers)
        if _is_arrow(call):
            rows = arrow.read_stream(call.body, "ask", self._most)
            wishes = [
                (row, row.pop("key", None) or _numbered(key, i)) for i, row in enumerate(_spread(rows, self._most))
            ]
            single = False
        else:
            body = _object(call, ("contexts", "count", "batch"), empty=True)
            wishes, single = self._wishes(body, key)
        outcomes = await desk.writer.perform([Operation("ask", None, given, own, call.actor) for given, own in wishes])
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
        if _wants_arrow(call.headers):
            return Answer(200, arrow.decisions_stream(rows), arrow.MEDIA_TYPE)
        return Answer(200, orjson.dumps({"decisions": rows}, option=OPTIONS))

    def _wishes(self, body: dict[str, Any], key: str | None) -> tuple[list[tuple[dict[str, Any], str | None]], bool]:
        """Return what each decision is shown and its key, and whether a bare decision is wanted."""
        if not body:
            return [({}, key)], True
        if "batch" in body:
            if len(body) > 1:
                raise ArgumentError(wanted("body", "batch alone", ", ".join(body)))
            rows = body["batch"]
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                raise ArgumentError(wanted("batch", "a list of objects", rows))
            self._few(len(rows))
            return [(_shown_contexts(row, f"batch[{i}]"), _numbered(key, i)) for i, row in enumerate(rows)], False
        if "count" in body:
            count = _count(body["count"], self._most)
            given = _shown_contexts({name: item for name, item in body.items() if name != "count"}, "body")
            return [(given, _numbered(key, i)) for i in range(count)], False
        return [(_shown_contexts(body, "body"), key)], True

    async def tell(self, call: Call) -> Answer:
        """Bring back what happened, for one ticket or many."""
        desk = self._desks.get(call.study) or await self._desks.reached(call.study)
        if not _is_arrow(call):
            body = _object(call, ("ticket", "batch", *TELLS))
            if "batch" not in body:
                return await self._close(desk, call, "tell", *_report(body, "body"))
            rows = body["batch"]
            if len(body) > 1:
                raise ArgumentError(wanted("body", "batch alone", ", ".join(body)))
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                raise ArgumentError(wanted("batch", "a list of objects", rows))
            self._few(len(rows))
        else:
            rows = arrow.read_stream(call.body, "tell", self._most)
        return await self._reported(desk, call, rows)

    async def _reported(self, desk: Desk, call: Call, rows: Sequence[dict[str, Any]]) -> Answer:
        results: list[dict[str, Any]] = [{"ticket": row.get("ticket")} for row in rows]
        places, operations = [], []
        for i, row in enumerate(rows):
            try:
                ticket, given = _report(row, f"batch[{i}]")
            except EvenhandError as error:
                results[i] = self._refused(results[i], error)
            else:
                places.append(i)
                operations.append(Operation("tell", ticket, given, None, call.actor))
        outcomes = await desk.writer.perform(operations) if operations else []
        for i, outcome in zip(places, outcomes, strict=True):
            if isinstance(outcome, EvenhandError):
                results[i] = self._refused(results[i], outcome)
            else:
                results[i]["status"] = outcome
        told = outcomes.count("told")
        if told:
            self._metrics.did("tell", call.study, told)
        if _wants_arrow(call.headers):
            return Answer(200, arrow.results_stream(results), arrow.MEDIA_TYPE)
        return Answer(200, orjson.dumps({"results": results}, option=OPTIONS))

    async def forget(self, call: Call) -> Answer:
        """Close a ticket of which nothing will be told."""
        desk = self._desks.get(call.study) or await self._desks.reached(call.study)
        body = _object(call, ("ticket",))
        return await self._close(desk, call, "forget", _ticket(body.get("ticket"), "ticket"), {})

    async def _close(self, desk: Desk, call: Call, kind: Any, ticket: str, given: dict[str, Any]) -> Answer:
        (outcome,) = await desk.writer.perform([Operation(kind, ticket, given, None, call.actor)])
        if isinstance(outcome, EvenhandError):
            raise outcome
        if outcome in NEW:
            self._metrics.did(kind, call.study, 1)
        return Answer(200, orjson.dumps({"ticket": ticket, "status": outcome}))

    def _row(self, study: Study, outcome: Any) -> dict[str, Any]:
        return self._refused({}, outcome) if isinstance(outcome, EvenhandError) else _shown(study, outcome)

    def _refused(self, row: dict[str, Any], error: EvenhandError) -> dict[str, Any]:
        self._metrics.refused(refusal_of(error).name)
        return {**row, "error": envelope(error)}

    def _few(self, count: int) -> None:
        if count > self._most:
            raise Refusal(413, f"more than {self._most} in one batch; send smaller ones")


def _shown(study: Study, decision: Any) -> dict[str, Any]:
    """Return a decision as JSON has it, its ticket signed."""
    if type(decision) is Decision:
        return {"ticket": study.sign(decision.id), **decision._asdict()}
    fields = {name: value for name, value in as_decided(decision).items() if name != "type"}
    if isinstance(fields.get("frame"), dict):
        fields["frame"] = fields["frame"]["$table"]
    return {"ticket": study.sign(decision.id), **fields}


def _object(call: Call, takes: Sequence[str], *, empty: bool = False) -> dict[str, Any]:
    """Return the JSON object of a body that has no other names than these."""
    if empty and not call.body:
        return {}
    kind = call.headers.get(b"content-type", b"").split(b";", 1)[0].strip().lower()
    if kind != b"application/json":
        got = kind.decode("latin-1") or "none"
        raise Refusal(415, f"wanted the content type {JSON}, got {got[:80]}; send the header Content-Type: {JSON}")
    try:
        body = orjson.loads(call.body)
    except orjson.JSONDecodeError as error:
        raise Refusal(400, f"the body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise ArgumentError(wanted("body", "a JSON object", body))
    for name in body:
        if name not in takes:
            raise ArgumentError(wanted("body", f"{', '.join(takes)}", name))
    return body


def _is_arrow(call: Call) -> bool:
    return call.headers.get(b"content-type", b"").split(b";", 1)[0].strip().lower() == arrow.MEDIA_TYPE.encode()


def _wants_arrow(headers: dict[bytes, bytes]) -> bool:
    return arrow.MEDIA_TYPE.encode() in headers.get(b"accept", b"").lower()


def _idempotency_key(headers: dict[bytes, bytes]) -> str | None:
    text = headers.get(b"idempotency-key")
    if text is None:
        return None
    if not 0 < len(text) <= 100 or not all(33 <= byte <= 126 for byte in text):
        raise ArgumentError(wanted("Idempotency-Key", "1 to 100 printable ASCII characters", text.decode("latin-1")))
    return text.decode()


def _numbered(key: str | None, i: int) -> str | None:
    """Return the key of the i-th decision of a batch."""
    return None if key is None else f"{key}#{i}"


def _count(count: Any, most: int) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= most:
        raise ArgumentError(wanted("count", f"a whole number from 1 to {most}", count))
    return count


def _spread(rows: Sequence[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """Return a row for each decision of rows with counts."""
    spread: list[dict[str, Any]] = []
    for row in rows:
        count = _count(row.pop("count", 1), most)
        if count > 1 and "key" in row:
            raise ArgumentError(wanted("key", "one for each decision", f"one for {count}"))
        if len(spread) + count > most:
            raise Refusal(413, f"more than {most} decisions; send smaller batches")
        spread.extend(dict(row) for _ in range(count))
    return spread


def _shown_contexts(row: dict[str, Any], where: str) -> dict[str, Any]:
    """Return what `ask` is shown."""
    for name in row:
        if name != "contexts":
            raise ArgumentError(wanted(where, "contexts", name))
    contexts = row.get("contexts")
    if contexts is None:
        return {}
    if not isinstance(contexts, list) or not all(type(line) is list and _numbers(line) for line in contexts):
        raise ContextError(wanted("contexts", "a list of rows of numbers", contexts))
    return {"contexts": contexts}


def _numbers(line: list[Any]) -> bool:
    return all(type(value) is float or type(value) is int for value in line)


def _report(row: dict[str, Any], where: str) -> tuple[str, dict[str, Any]]:
    """Return a ticket and what is told of it."""
    ticket = _ticket(row.get("ticket"), f"{where}: ticket")
    given = {}
    for name, value in row.items():
        if name == "ticket":
            continue
        if name not in TELLS:
            raise ArgumentError(wanted(where, f"ticket, {', '.join(TELLS)}", name))
        if name == "samples":
            given[name] = _table(value)
        elif value is not None:
            if type(value) is not float and not _nested(value):
                raise ArgumentError(wanted(f"{where}: {name}", "numbers, texts, or lists of them", value))
            given[name] = value
    return ticket, given


def _nested(value: Any, depth: int = 3) -> bool:
    """Say whether a value is a number or a text, or lists of such."""
    if isinstance(value, list):
        return depth > 0 and all(_nested(item, depth - 1) for item in value)
    return isinstance(value, (int, float, str))


def _table(value: Any) -> Any:
    """Return columns (name -> list) as a data frame."""
    import pandas as pd

    fits = isinstance(value, dict) and all(isinstance(column, list) and _nested(column, 1) for column in value.values())
    if not fits or len({len(column) for column in value.values()}) > 1:
        raise ArgumentError(wanted("samples", "an object of columns, lists of one length", value))
    return pd.DataFrame(value)


def _ticket(ticket: Any, where: str) -> str:
    if not isinstance(ticket, str):
        mend = "numbers can be guessed: send the signed text that ask returned" if isinstance(ticket, int) else ""
        raise TicketError(wanted(where, "a signed ticket such as 'ads.17.5f0c2a9d41b7e683'", ticket, mend))
    return ticket
