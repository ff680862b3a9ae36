"""The policy's state as a fold of the log: how one entry is taken, live and in replay alike."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from sqlalchemy import Row

from evenhand.errors import ArgumentError, ReplayError, wanted
from evenhand.studies.records import as_decided, chained, dumped, loaded, plain, revived

__all__ = ["Arguments", "Operation", "digest_of", "genesis", "linked", "replayed", "taken"]

CHAIN = ("sequence", "kind", "ticket", "at", "given", "decision", "version", "random_state", "key", "actor")
"""What the digest of an entry covers, in this order."""

BIRTH = ("name", "policy", "secret", "created_at")
"""What the digest before the first entry covers."""


class Operation(NamedTuple):
    """One thing to do, in a transaction of many.

    Attributes
    ----------
    kind : "ask", "tell" or "forget".
    ticket : the decision, its number or its signed text; nothing for ask.
    given : what is shown or told, by the names of the policy's own arguments, such as {"reward": 1.0}.
    key : for ask: the caller's own name for this request; the same key again returns the same decision.
    actor : who asks or tells, for the log.
    number : for ask: which of the decisions under this key, 0, 1, ...; number i is the same however many are asked for.
    """

    kind: Literal["ask", "tell", "forget"]
    ticket: Any = None
    given: dict[str, Any] = {}  # noqa: RUF012
    key: str | None = None
    actor: str | None = None
    number: int = 0


class Arguments:
    """The names under which a policy is shown and told things."""

    def __init__(self, policy: Any) -> None:
        self._takes = {
            "ask": list(inspect.signature(policy.ask).parameters.values()),
            "tell": list(inspect.signature(policy.tell).parameters.values())[1:],
            "forget": [],
        }

    def named(self, kind: str, values: Sequence[Any]) -> dict[str, Any]:
        """Return values that came by position under the names of the policy's arguments.

        Raises
        ------
        ArgumentError
            If there are more than the policy takes.
        """
        names = [parameter.name for parameter in self._takes[kind]]
        if len(values) > len(names):
            takes = f"{', '.join(names)}" if names else "nothing"
            raise ArgumentError(wanted(kind, takes, f"{len(values)} arguments"))
        return dict(zip(names, values, strict=False))

    def checked(self, kind: str, given: dict[str, Any]) -> dict[str, Any]:
        """Return what is given in the log's form, without what says no more than the default.

        Raises
        ------
        ArgumentError
            If something has a name that the policy does not know, has no form for the log, or is missing.
        """
        if kind not in self._takes:
            raise ArgumentError(wanted("kind", f"one of {', '.join(self._takes)}", kind))
        takes = {parameter.name: parameter.default for parameter in self._takes[kind]}
        unknown = [name for name in given if name not in takes]
        if unknown:
            raise ArgumentError(wanted(kind, f"{', '.join(takes) or 'nothing more'}", unknown[0]))
        missing = [name for name, default in takes.items() if default is inspect.Parameter.empty and name not in given]
        if missing:
            raise ArgumentError(wanted(missing[0], f"a value, {kind} needs it", "nothing"))
        kept = {name: plain(value, name) for name, value in given.items()}
        silent = {name for name, default in takes.items() if default is not inspect.Parameter.empty}
        return {name: v for name, v in kept.items() if name not in silent or v != plain(takes[name], name)}


def taken(policy: Any, kind: str, ticket: Any, given: dict[str, Any]) -> Any:
    """Do what an entry says; return what `ask` decided."""
    arguments = revived(given)
    if kind == "ask":
        return policy.ask(**arguments)
    if kind == "tell":
        return policy.tell(ticket, **arguments)
    return policy.forget(ticket)


def linked(before: int, digest: str, row: Row[Any]) -> None:
    """See that a stored entry follows the one numbered `before` with that digest, and is what was written.

    Raises
    ------
    ReplayError
        If an entry is missing between them, or this one was changed.
    """
    if row.sequence != before + 1:
        raise ReplayError(f"entry {before + 1} is missing from the log")
    if digest_of(digest, row) != row.digest:
        raise ReplayError(f"entry {row.sequence} was changed after it was written: its digest does not fit")


def replayed(policy: Any, row: Row[Any], version: str) -> bool:
    """Do what a stored entry says, and check that the policy decides as it did.

    Parameters
    ----------
    version : the version of the policy's code; an entry that another one wrote may have worded its reason otherwise.

    Returns
    -------
    bool
        Whether the reason is worded otherwise.

    Raises
    ------
    ReplayError
        If it decides otherwise, or fails at what it took before.
    """
    try:
        decided = taken(policy, row.kind, row.ticket, loaded(row.given))
    except Exception as error:
        raise ReplayError(f"entry {row.sequence}, {row.kind} {row.ticket}: refused in replay: {error}") from error
    if row.kind == "ask":
        again = dumped(as_decided(decided))
        if again != row.decision:
            if row.version != version and _unexplained(again) == _unexplained(row.decision):
                return True
            raise ReplayError(
                f"entry {row.sequence}, written by version {row.version}: the log says {row.decision}, replay {again}"
            )
    return False


def _unexplained(decision: str) -> dict[str, Any]:
    """Return a decision of the log without its reason."""
    return {**loaded(decision), "reason": None}


def genesis(study: Any) -> str:
    """Return the digest before the first entry: over the study's name, policy, secret and time of creation."""
    values = study if isinstance(study, dict) else study._mapping
    return chained("", *(values[name] for name in BIRTH))


def digest_of(before: str, entry: Any) -> str:
    """Return the digest of a stored entry (a row, or the dict that becomes one)."""
    values = entry if isinstance(entry, dict) else entry._mapping
    return chained(before, *(values[name] for name in CHAIN))
