"""The requests that write, and how their answers are read: one function for each."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from evenhand.client.decision import Decision, decision_of
from evenhand.client.failures import error_of
from evenhand.client.keys import Role
from evenhand.errors import ArgumentError, ContextError, EvenhandError, TicketError, wanted

T = TypeVar("T")
Label: TypeAlias = str | int
Told: TypeAlias = Literal["told", "already told"]
NAME = re.compile("[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
CREATION = 120.0
"""Seconds that the creation of a study may take: a new service compiles the policy first."""


@dataclass(frozen=True)
class Call(Generic[T]):
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
    read: Callable[[bytes], T]
    content: bytes | None = None
    query: Mapping[str, Any] | None = None
    key: str | None = None
    repeatable: bool = True
    timeout: float | None = None


def checked_name(name: str) -> str:
    """Return the name of a study; refuse what cannot be one."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ArgumentError(wanted("name", "up to 100 letters, digits, - and _, a letter or a digit first", name))
    return name


def checked_sticky(sticky: bool) -> bool:
    """Return whether a key alone decides; refuse what is neither True nor False."""
    if not isinstance(sticky, bool):
        raise ArgumentError(wanted("sticky", "True or False", sticky))
    return sticky


def create(name: str, policy: Mapping[str, Any], expire_after: float | str | None) -> Call[str]:
    """Return the request to create a study."""
    body = {"name": checked_name(name), "policy": policy, "expire_after": expire_after}
    content = _body(body, exact=True)
    return Call("POST", "/studies", "decide", lambda _: name, content, repeatable=False, timeout=CREATION)


def shown(
    contexts: Any, groups: Any, available: Any, segment: Any, annotator: Any, subject: Any = None
) -> dict[str, Any]:
    """Return what a round shows, and whom it is about, without what is None."""
    round = {"contexts": contexts, "groups": groups, "available": available, "segment": segment}
    return _round({**round, "annotator": annotator, "subject": subject})


def _round(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of one ask without what is None; an offer is a list, whatever its row labels are."""
    available: Any = given.get("available")
    if isinstance(available, (str, int)):
        available = [available]
    elif hasattr(available, "tolist"):
        available = available.tolist()
    return _given({**given, "contexts": _rows(given.get("contexts")), "available": available})


def _rows(contexts: Any) -> Any:
    """Return a data frame of pandas, polars or pyarrow as a list of dicts, a Series that names columns as a dict, and
    anything else as it is.

    Raises
    ------
    ContextError
        If rows have labels of their own, which a request does not carry: the service would read them by position.
    """
    labels = contexts.index.tolist() if hasattr(contexts, "iloc") else []
    if not hasattr(contexts, "columns"):
        named = all(isinstance(label, str) for label in labels)
        return contexts if named or not hasattr(contexts, "tolist") else contexts.tolist()
    if len(labels) > 1 and labels != list(range(len(labels))):
        mend = "a request carries no row labels: sort the rows as the arms, then reset_index(drop=True)"
        raise ContextError(wanted("contexts", "rows in the order of the arms, numbered 0, 1, 2, ...", labels, mend))
    for method, arguments in (("to_dicts", ()), ("to_pylist", ()), ("to_dict", ("records",))):
        if hasattr(contexts, method):
            return getattr(contexts, method)(*arguments)
    return contexts


def ask(study: str, shown: Mapping[str, Any], key: str | None, *, sticky: bool) -> Call[Decision]:
    """Return the request for one decision."""
    if checked_sticky(sticky) and key is None:
        raise ArgumentError(wanted("sticky", "a key beside it", "none"))
    body = {**shown, "sticky": True} if sticky else shown
    return _keyed(f"/studies/{study}/ask", body, lambda content: decision_of(json.loads(content)), key)


def ask_many(
    study: str, rounds: int | Sequence[Mapping[str, Any]], key: str | None
) -> Call[list[Decision | EvenhandError]]:
    """Return the request for several decisions."""
    if isinstance(rounds, Sequence) and all(isinstance(row, Mapping) for row in rounds):
        body: dict[str, Any] = {"batch": [_round(row) for row in rounds]}
    elif isinstance(rounds, int) and not isinstance(rounds, bool):
        body = {"count": rounds}
    else:
        raise ArgumentError(wanted("rounds", "a number, or a list with the arguments of each ask", rounds))
    return _keyed(f"/studies/{study}/ask", body, _decisions, key)


def tell(
    study: str,
    ticket: Decision | str,
    reward: Any,
    violations: Any,
    acceptable: Any,
    auditor: str | None,
    X: Any,
    y: Any,
    samples: Any,
) -> Call[Told]:
    """Return the request that tells what happened."""
    y = y.tolist() if hasattr(y, "tolist") else y  # by position, as the rows of X, which is an array
    audited = {"violations": violations, "acceptable": acceptable, "auditor": auditor}
    told = {"reward": reward, **audited, "X": X, "y": y, "samples": samples}
    return _post(f"/studies/{study}/tell", "report", {"ticket": _ticket(ticket), **_given(told)}, _status)


def label(study: str, ticket: Decision | str, label: Label | None, annotator: str | None) -> Call[Told]:
    """Return the request that tells the label of an item; None rejects the item."""
    body = {"ticket": _ticket(ticket), "label": label, **_given({"annotator": annotator})}
    return _post(f"/studies/{study}/tell", "report", body, _status)


def tell_many(
    study: str, reports: Iterable[tuple[Decision | str, Any] | Mapping[str, Any]]
) -> Call[list[Told | EvenhandError]]:
    """Return the request that tells what happened after several decisions."""
    rows = [_report(report) for report in reports]
    return _post(f"/studies/{study}/tell", "report", {"batch": rows}, _statuses)


def forget(study: str, ticket: Decision | str) -> Call[Literal["forgotten", "already forgotten"]]:
    """Return the request that closes a ticket without an outcome."""
    return _post(f"/studies/{study}/forget", "report", {"ticket": _ticket(ticket)}, _status)


def add(study: str, arm: Label, share: float | str) -> Call[int]:
    """Return the request that puts an arm on offer."""
    body = {"arm": arm, "share": share}
    return _post(f"/studies/{study}/add", "decide", body, lambda sent: sent["begins_after"], repeatable=False)


def retire(study: str, arm: Label) -> Call[None]:
    """Return the request that takes an arm off offer."""
    return _post(f"/studies/{study}/retire", "decide", {"arm": arm}, lambda _: None, repeatable=False)


def change(study: str, shares: Any, promise: Any) -> Call[dict[Any, Any]]:
    """Return the request that promises other shares, or all else."""
    body = {name: value for name, value in (("shares", shares), ("promise", promise)) if value is not None}
    return _post(f"/studies/{study}/change", "decide", body, _dropped, repeatable=False)


def _post(
    path: str, role: Role, body: Mapping[str, Any], read: Callable[[Any], T], *, repeatable: bool = True
) -> Call[T]:
    content = _body(body, exact=not repeatable)  # what is not repeatable changes the promise
    return Call("POST", path, role, lambda content: read(json.loads(content)), content, repeatable=repeatable)


def _report(report: Any) -> dict[str, Any]:
    if isinstance(report, Mapping):
        return {**report, "ticket": _ticket(report.get("ticket"))}
    if isinstance(report, (tuple, list)) and len(report) == 2:
        return {"ticket": _ticket(report[0]), "reward": report[1]}
    raise ArgumentError(wanted("reports", "pairs of a ticket and a reward, or mappings", report))


def _keyed(path: str, body: Mapping[str, Any], read: Callable[[bytes], T], key: str | None) -> Call[T]:
    """Return a request with an idempotency key, a new one unless the caller has one."""
    if key is not None and (not isinstance(key, str) or not re.fullmatch("[!-~]([ -~]{0,98}[!-~])?", key)):
        raise ArgumentError(wanted("key", "1 to 100 printable ASCII characters, neither first nor last a space", key))
    return Call("POST", path, "decide", read, _body(body), key=key or uuid.uuid4().hex)


def _decisions(content: bytes) -> list[Decision | EvenhandError]:
    rows = json.loads(content)["decisions"]
    return [error_of(row["error"]) if "error" in row else decision_of(row) for row in rows]


def _statuses(sent: Any) -> list[Told | EvenhandError]:
    return [error_of(row["error"]) if "error" in row else row["status"] for row in sent["results"]]


def _status(sent: Any) -> Any:
    return sent["status"]


def _dropped(sent: Any) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for row in sent["dropped"]:
        inside = found if row.get("segment") is None else found.setdefault(row["segment"], {})
        inside[tuple(row["label"]) if isinstance(row["label"], list) else row["label"]] = row["plays"]
    return found


def _ticket(ticket: Any) -> str:
    found = ticket.ticket if isinstance(ticket, Decision) else ticket
    if not isinstance(found, str):
        raise TicketError(wanted("ticket", "a decision, or the ticket of one", ticket))
    return found


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def _body(body: Mapping[str, Any], *, exact: bool = False) -> bytes:
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
            f"the request holds what JSON has no form for: {error}; use finite numbers, texts and lists"
        ) from error


def _plain(value: Any) -> Any:
    table = hasattr(value, "columns")
    if hasattr(value, "iloc") and not table:
        labels = value.index.tolist()
        if len(set(labels)) < len(labels):
            raise TypeError(f"a Series that names a label twice, {labels}")
        return dict(zip(labels, value.tolist(), strict=True))
    for method in ("tolist", "to_pylist"):
        if hasattr(value, method) and not table:
            return getattr(value, method)()
    if isinstance(value, Collection) and not isinstance(value, (bytes, bytearray)) and not table:
        return dict(value) if isinstance(value, Mapping) else list(value)
    raise TypeError(f"{type(value).__name__} is not a number, a text or a list")
