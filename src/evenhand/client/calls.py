"""Requests, and their JSON bodies, made from what a program passes: arrays, data frames of any library, fractions."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, Literal, TypeAlias

from evenhand.client.answers import ServiceDecision
from evenhand.errors import ArgumentError, ContextError, TicketError, expected

Label: TypeAlias = str | int
Told: TypeAlias = Literal["told", "already told"]
Role = Literal["decide", "report", "read"]
NAME = re.compile("[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
CREATION = 120.0
"""Seconds that the creation of a study may take: a new service compiles the policy first."""


@dataclass(frozen=True)
class Call:
    """One request.

    Attributes
    ----------
    role : the role that a key needs.
    read : makes what the method returns of the response's body.
    key : the idempotency key, the same for every repetition.
    repeatable : whether the service does nothing twice if the request arrives twice.
    timeout : seconds to wait for the response, if not the client's.
    """

    method: Literal["GET", "POST"]
    path: str
    role: Role
    read: Callable[[bytes], Any]
    content: bytes | None = None
    query: Mapping[str, Any] | None = None
    key: str | None = None
    repeatable: bool = True
    timeout: float | None = None


def post(
    path: str,
    role: Role,
    body: Mapping[str, Any],
    read: Callable[[Any], Any],
    key: str | None = None,
    *,
    repeatable: bool = True,
    timeout: float | None = None,
) -> Call:
    """Return a request that writes; `read` takes what the response's body holds."""
    content = as_json(body, exact=not repeatable)  # what is not repeatable changes the promise
    return Call("POST", path, role, lambda sent: read(json.loads(sent)), content, None, key, repeatable, timeout)


def creation(name: str, policy: Mapping[str, Any], expire_after: float | str | None, expire_reward: Any) -> Call:
    """Return a request for a new study; `read` returns its name."""
    expiry = {"expire_after": expire_after, "expire_reward": expire_reward}
    body = {"name": read_name(name), "policy": policy, **expiry}
    return post("/studies", "decide", body, lambda state: state["name"], repeatable=False, timeout=CREATION)


def checked_key(key: str | None) -> str:
    """Return the idempotency key of an ask: a new one unless the caller has one."""
    if key is not None and (not isinstance(key, str) or not re.fullmatch("[!-~]([ -~]{0,98}[!-~])?", key)):
        raise ArgumentError(expected("key", "1 to 100 printable ASCII characters, neither first nor last a space", key))
    return key or uuid.uuid4().hex


def read_name(name: str) -> str:
    """Return the name of a study; refuse what cannot be one."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ArgumentError(expected("name", "up to 100 letters, digits, - and _, a letter or a digit first", name))
    return str.__str__(name)  # of a member of class X(str, Enum) its value


def read_sticky(sticky: bool) -> bool:
    """Return whether a key alone decides; refuse what is neither True nor False."""
    if not isinstance(sticky, bool):
        raise ArgumentError(expected("sticky", "True or False", sticky))
    return sticky


def given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that are not None."""
    return {name: value for name, value in arguments.items() if value is not None}


def round_of(shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of one ask without what is None; an offer is a list, whatever its row labels are."""
    available = listed(shown.get("available"))
    available = [available] if isinstance(available, (str, int)) else available
    return given({**shown, "contexts": _rows(shown.get("contexts")), "available": available})


def rounds_of(rounds: Any) -> dict[str, Any]:
    """Return the body of an ask for so many decisions, or for one for each mapping of arguments."""
    if isinstance(rounds, Sequence) and all(isinstance(row, Mapping) for row in rounds):
        return {"batch": [round_of(row) for row in rounds]}
    if isinstance(rounds, int) and not isinstance(rounds, bool):
        return {"count": rounds}
    raise ArgumentError(expected("rounds", "a number, or a list with the arguments of each ask", rounds))


def report_of(report: Any) -> dict[str, Any]:
    """Return one row of a batch of reports."""
    if isinstance(report, Mapping):
        return {**report, "ticket": ticket_of(report.get("ticket"))}
    if isinstance(report, (tuple, list)) and len(report) == 2:
        return {"ticket": ticket_of(report[0]), "reward": report[1]}
    raise ArgumentError(expected("reports", "pairs of a ticket and a reward, or mappings", report))


def ticket_of(ticket: Any) -> str:
    """Return the signed ticket of a decision, or one that is given as it is."""
    found = ticket.ticket if isinstance(ticket, ServiceDecision) else ticket
    if not isinstance(found, str):
        raise TicketError(expected("ticket", "a decision, or the ticket of one", ticket))
    return found


def as_json(body: Mapping[str, Any], *, exact: bool = False) -> bytes:
    """Return a body in JSON: arrays, columns and views become lists, a Series an object by its labels. Fractions and
    decimals are texts where they have to be `exact`, as shares are, and numbers elsewhere."""

    def plain(value: Any) -> Any:
        if isinstance(value, (Fraction, Decimal)):
            return str(value) if exact else float(value)
        return _plain(value)

    try:
        return json.dumps(body, allow_nan=False, default=plain).encode()
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(
            f"the request cannot be written as JSON: {error}; use finite numbers, texts and lists"
        ) from error


def _rows(contexts: Any) -> Any:
    """Return a data frame of pandas, polars or pyarrow as a list of dicts, a Series that names columns as a dict, and
    anything else as it is.

    Raises
    ------
    ContextError
        If rows have labels of their own, which a request does not carry: the service would read them by position.
    """
    labels = contexts.index.tolist() if _part(contexts, "iloc") else []
    if _part(contexts, "columns") is None:
        return contexts if labels and all(isinstance(label, str) for label in labels) else listed(contexts)
    if len(labels) > 1 and labels != list(range(len(labels))):
        hint = "requests have no row labels: sort the rows in the order of the arms, then reset_index(drop=True)"
        raise ContextError(expected("contexts", "rows in the order of the arms, numbered 0, 1, 2, ...", labels, hint))
    if (rows := _part(contexts, "to_dicts", "to_pylist")) is None:
        if _part(contexts, "to_dict") is None:
            return contexts
        rows = partial(contexts.to_dict, "records")
    arrow = _part(contexts, "to_pylist") and contexts.schema
    kinds = zip(arrow.names, arrow.types, strict=True) if arrow else zip(contexts.columns, contexts.dtypes, strict=True)
    # JSON has no categories: as a number a code would reach the policy as an amount, as a text it is a label.
    coded = {name for name, kind in kinds if str(kind).startswith(("category", "dictionary"))}
    return [{key: _text(cell) if key in coded else cell for key, cell in row.items()} for row in rows()]


def _text(cell: Any) -> Any:
    return str(cell) if cell is not None and cell == cell else cell


def listed(values: Any) -> Any:
    """Return an array or a column as a list, anything else as it is."""
    to_list = _part(values, "tolist")
    return to_list() if to_list else values


def _part(value: Any, *names: str) -> Any:
    """Return the first of these that a value has, None where it has none: arrays and data frames are told by what they
    can do, so that the client needs none of their libraries."""
    return next((found for name in names if (found := getattr(value, name, None)) is not None), None)


def _plain(value: Any) -> Any:
    if _part(value, "columns") is None:
        if _part(value, "iloc"):
            labels = value.index.tolist()
            if len(set(labels)) < len(labels):
                raise TypeError(f"a Series that names a label twice, {labels}")
            return dict(zip(labels, value.tolist(), strict=True))
        if to_list := _part(value, "tolist", "to_pylist"):
            return to_list()
        if isinstance(value, Collection) and not isinstance(value, (bytes, bytearray)):
            return dict(value) if isinstance(value, Mapping) else list(value)
    raise TypeError(f"{type(value).__name__} is not a number, a text or a list")
