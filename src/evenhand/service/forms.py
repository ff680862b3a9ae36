"""What requests say, read by hand: this is the path that must be fast. What it means is checked by the policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from evenhand.errors import ArgumentError, ContextError, TicketError, wanted
from evenhand.service import arrow
from evenhand.service.refusals import Refusal
from evenhand.studies.sizes import checked_pairs

__all__ = [
    "ASKS", "JSON", "TELLS", "Call", "count_of", "idempotency_key", "is_arrow", "object_of", "report_of",
    "shown_of", "spread", "ticket_of", "wants_arrow",
]  # fmt: skip

JSON = "application/json"
ASKS = ("contexts", "groups")
TELLS = ("reward", "violations", "acceptable", "X", "y", "samples")


class Call(NamedTuple):
    """A request as the conversation sees it."""

    study: str
    headers: dict[bytes, bytes]
    body: bytes
    actor: str


def object_of(call: Call, takes: Sequence[str], *, empty: bool = False) -> dict[str, Any]:
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


def is_arrow(call: Call) -> bool:
    """Say whether the body is an Arrow stream."""
    return call.headers.get(b"content-type", b"").split(b";", 1)[0].strip().lower() == arrow.MEDIA_TYPE.encode()


def wants_arrow(headers: dict[bytes, bytes]) -> bool:
    """Say whether the answer is to be an Arrow stream."""
    return arrow.MEDIA_TYPE.encode() in headers.get(b"accept", b"").lower()


def idempotency_key(headers: dict[bytes, bytes]) -> str | None:
    """Return the caller's own name for what is asked."""
    text = headers.get(b"idempotency-key")
    if text is None:
        return None
    if not 0 < len(text) <= 100 or not all(33 <= byte <= 126 for byte in text):
        raise ArgumentError(wanted("Idempotency-Key", "1 to 100 printable ASCII characters", text.decode("latin-1")))
    return text.decode()


def count_of(count: Any, most: int) -> int:
    """Return how many decisions are asked for."""
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= most:
        raise ArgumentError(wanted("count", f"a whole number from 1 to {most}", count))
    return count


def spread(rows: Sequence[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """Return a row for each decision of rows with counts."""
    spread: list[dict[str, Any]] = []
    for row in rows:
        count = count_of(row.pop("count", 1), most)
        if count > 1 and "key" in row:
            raise ArgumentError(wanted("key", "one for each decision", f"one for {count}"))
        if len(spread) + count > most:
            raise Refusal(413, f"more than {most} decisions; send smaller batches")
        spread.extend(dict(row) for _ in range(count))
    return spread


def shown_of(row: dict[str, Any], where: str) -> dict[str, Any]:
    """Return what `ask` is shown."""
    for name in row:
        if name not in ASKS:
            raise ArgumentError(wanted(where, ", ".join(ASKS), name))
    shown = {name: value for name, value in row.items() if value is not None}
    contexts, groups = shown.get("contexts", []), shown.get("groups", [])
    if not isinstance(contexts, list) or not all(type(line) is list and _numbers(line) for line in contexts):
        raise ContextError(wanted("contexts", "a list of rows of numbers", contexts))
    named = groups.values() if isinstance(groups, dict) else groups
    if not isinstance(groups, (dict, list)) or not all(type(group) is str or type(group) is int for group in named):
        raise ArgumentError(wanted("groups", "a list of groups, or an object arm -> group", groups))
    return shown


def _numbers(line: list[Any]) -> bool:
    return all(type(value) is float or type(value) is int for value in line)


def report_of(row: dict[str, Any], where: str) -> tuple[str, dict[str, Any]]:
    """Return a ticket and what is told of it."""
    ticket = ticket_of(row.get("ticket"), f"{where}: ticket")
    given = {}
    for name, value in row.items():
        if name == "ticket":
            continue
        if name not in TELLS:
            raise ArgumentError(wanted(where, f"ticket, {', '.join(TELLS)}", name))
        if value is None:
            continue
        if name == "samples":
            given[name] = _table(value)
        else:
            if type(value) is not float and not _nested(value):
                raise ArgumentError(wanted(f"{where}: {name}", "numbers, texts, or lists of them", value))
            given[name] = value
    checked_pairs(given)
    return ticket, given


def _nested(value: Any, depth: int = 3) -> bool:
    """Say whether a value is a number or a text, or lists of such; true and false are neither."""
    if isinstance(value, list):
        return depth > 0 and all(_nested(item, depth - 1) for item in value)
    return isinstance(value, (int, float, str)) and not isinstance(value, bool)


def _table(value: Any) -> Any:
    """Return columns (name -> list) as a data frame."""
    import pandas as pd

    fits = isinstance(value, dict) and all(isinstance(column, list) and _nested(column, 1) for column in value.values())
    if not fits or len({len(column) for column in value.values()}) > 1:
        raise ArgumentError(wanted("samples", "an object of columns, lists of one length", value))
    return pd.DataFrame(value)


def ticket_of(ticket: Any, where: str) -> str:
    """Return a signed ticket, not yet checked."""
    if not isinstance(ticket, str):
        mend = "numbers can be guessed: send the signed text that ask returned" if isinstance(ticket, int) else ""
        raise TicketError(wanted(where, "a signed ticket such as 'ads.17.5f0c2a9d41b7e683'", ticket, mend))
    return ticket
