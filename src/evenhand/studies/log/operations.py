"""Operations on a policy: what users ask for, and how one entry of the log is applied, live and in replay alike."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from functools import cache
from typing import Any, Literal

import numpy as np

from evenhand.arguments import one_of
from evenhand.errors import ArgumentError, ErasedError, EvenhandError, ReplayError, Wording, expected
from evenhand.policy.answers import LearnerAnswers
from evenhand.policy.ask_tell import AskTell
from evenhand.policy.given import scores_as_shown
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.traits import traits_of
from evenhand.promises.amounts import amount_of, plain_amount
from evenhand.protocol import Changeable, Decision
from evenhand.quotas.quota_policy import QuotaPolicy
from evenhand.studies.log.chain import Entry
from evenhand.studies.log.codec import arguments_of, as_decided, from_text, revive, to_plain, to_text
from evenhand.studies.log.durations import read_moment
from evenhand.studies.log.open_tickets import is_apart

CHANGES = ("add", "retire", "change")
"""The kinds of operations that change what a policy promises; they have no ticket."""
NOTES = ("set", "erase")
"""The kinds of entries that are about the study and not for its policy: a setting, what was erased."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What all operations have.

    Attributes
    ----------
    actor : who does it, as the log shows it.
    """

    actor: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask(Request):
    """Take a decision.

    Attributes
    ----------
    given : the arguments of the policy's `ask`.
    key : the caller's own name for this request; the same key again returns the same decision.
    number : which of the decisions under this key, 0, 1, ...; number i is the same however many are asked for.
    subject : whom the contexts are about; they are then encrypted, and can be erased.
    sticky : whether the key alone counts: its first decision is returned, whatever is given now.
    refusal : of a sticky ask, the error that `given` could not be read; raised unless the key has a decision already.
    """

    given: dict[str, Any] = field(default_factory=dict)
    key: str | None = None
    number: int = 0
    subject: str | None = None
    sticky: bool = False
    refusal: EvenhandError | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Tell(Request):
    """Report what happened after a decision.

    Attributes
    ----------
    ticket : the decision, its number or its signed text; None for a report without a ticket, such as of logged trials.
    given : the other arguments of the policy's `tell`, such as {"reward": 1.0}.
    """

    ticket: Any = None
    given: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Forget(Request):
    """Close a ticket on which nobody will report.

    Attributes
    ----------
    ticket : the decision, its number or its signed text.
    """

    ticket: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Change(Request):
    """Change the promise of a policy whose promise can change.

    Attributes
    ----------
    kind : "add", "retire" or "change", the policy's method.
    given : its arguments, such as {"arm": "c", "share": 0.1}.
    begins : of a "change", when it is due, as in `Study.change`: it comes right before the first decision after. What
        was planned for that time is replaced, or withdrawn where `shares` is None. None for now.
    due : that time in microseconds since 1970.

    Raises
    ------
    ArgumentError
        If it is of another kind, or `begins` is no time.
    """

    kind: Literal["add", "retire", "change"]
    given: dict[str, Any]
    begins: str | datetime | timedelta | None = None
    due: int | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        one_of("kind", self.kind, CHANGES)
        if self.begins is not None and self.kind != "change":
            raise ArgumentError(expected("begins", f"None for {self.kind}", self.begins))
        if self.begins is not None:
            object.__setattr__(self, "due", read_moment(self.begins, "begins", of_date=time()))


Operation = Ask | Tell | Forget | Change
"""One thing to do, in a transaction of many."""


def given_or_refusal(
    read: Callable[[], dict[str, Any]], *, sticky: bool
) -> tuple[dict[str, Any], EvenhandError | None]:
    """Return the arguments that a door reads, or of a sticky ask, whose key may have a decision, what refuses them."""
    try:
        return read(), None
    except EvenhandError as refusal:
        if not sticky:
            raise
        return {}, refusal


class Arguments:
    """The names of the arguments of a policy's `ask` and `tell`, and of the methods that change its promise.

    Parameters
    ----------
    policy : a policy, or its class.

    Attributes
    ----------
    ticket : the policy's own name for the ticket that `tell` takes first.
    several : the argument by which `ask` hands out several tickets at once, "" where there is none; each is an
        operation of its own.
    """

    def __init__(self, policy: Any) -> None:
        made: Any = policy if isinstance(policy, type) else type(policy)
        asked, told = _parameters(made.ask), _parameters(made.tell)
        self.ticket: str = told[0].name
        self.several: str = traits_of(made).asks_several
        self._asked = asked
        self._takes = {"ask": [one for one in asked if one.name != self.several], "tell": told[1:], "forget": []}
        self._policy = made.__name__
        if isinstance(policy, Changeable):
            self._takes |= {kind: _parameters(method) for kind, method in _changes(made).items()}
        self._defaults = {kind: {one.name: one.default for one in takes} for kind, takes in self._takes.items()}
        self._needed = {
            kind: [name for name, default in defaults.items() if default is inspect.Parameter.empty]
            for kind, defaults in self._defaults.items()
        }

    def named(self, kind: Literal["ask", "tell"], values: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call under their names, those given by position first.

        None under a name that the policy does not take says nothing, and is left out.

        Raises
        ------
        ArgumentError
            If there are more by position than the policy takes, or one is given by position and by name.
        """
        takes = self._asked if kind == "ask" else self._takes[kind]
        if not values and not named:
            return {}
        names = [one.name for one in takes if one.kind is not inspect.Parameter.KEYWORD_ONLY]
        if len(values) > len(names):
            raise ArgumentError(expected(kind, ", ".join(names) or "nothing", Wording(f"{len(values)} arguments")))
        given = dict(zip(names, values, strict=False))
        twice = [name for name in given if name in named]
        if twice:
            raise ArgumentError(expected(twice[0], "one value", "two: one by position, one by name"))
        known = {one.name for one in takes}
        given |= {name: value for name, value in named.items() if value is not None or name in known}
        # an iterator is read once, and several operations look at these
        return {name: list(value) if isinstance(value, Iterator) else value for name, value in given.items()}

    def validate(self, kind: str, given: dict[str, Any]) -> dict[str, Any]:
        """Return arguments in the log's form, without those that equal their defaults.

        Raises
        ------
        ArgumentError
            If an argument is unknown or missing, or cannot be kept in a log.
        """
        if kind not in self._takes:
            hint = "DeadlineLearn takes new arms and new shares"
            raise ArgumentError(expected(kind, "a policy whose promise can change", self._policy, hint))
        takes = self._defaults[kind]
        if not given and not self._needed[kind]:
            return {}
        unknown = [name for name in given if name not in takes]
        if unknown:
            raise ArgumentError(expected(kind, f"{', '.join(takes) or 'nothing more'}", unknown[0]))
        needed = self._needed[kind]
        missing = [name for name in needed if name not in given]
        if missing:
            raise ArgumentError(expected(missing[0], f"a value, {kind} needs it", Wording("nothing")))
        kept = {name: to_plain(value, name, exact=kind in CHANGES) for name, value in given.items()}
        if kept.get("available") is not None:
            kept["available"] = _as_list(kept["available"])
        if (amount := amount_of(given.get("weight"))) is not None:
            kept["weight"] = plain_amount(amount)
        return {name: v for name, v in kept.items() if name in needed or v != to_plain(takes[name], name)}

    def validate_ask(self, given: dict[str, Any], policy: Any) -> dict[str, Any]:
        """Do what `validate` does for an ask, and put contexts and an offer, which every reader of a log knows, in the
        place of scores."""
        kept = self.validate("ask", given)
        if "scores" not in kept or not isinstance(policy, KernelPolicy):
            return kept
        contexts, available = scores_as_shown(
            policy, revive(kept.pop("scores")), kept.get("contexts"), kept.get("available")
        )
        return kept | {"contexts": contexts} | ({} if available is None else {"available": to_plain(available)})


def _as_list(offer: Any) -> Any:
    """Return an offer in the log's form as a list of labels, whose row labels say nothing."""
    if isinstance(offer, dict):
        return offer.get("$series", offer)
    return offer if isinstance(offer, list) else [offer]


def apply(policy: Any, kind: str, ticket: Any, arguments: dict[str, Any]) -> Any:
    """Apply an operation to a policy; return the decision of `ask`, or what a change returns."""
    if kind == "ask":
        return policy.ask(**arguments)
    if kind in CHANGES:
        return _changes(policy)[kind](**arguments)
    if kind in NOTES:
        return None
    if type(ticket) is int and isinstance(policy, AskTell):
        ticket = policy.tickets.by_number(ticket)
    if kind == "expire":
        arguments = {name: value for name, value in arguments.items() if name == "reward"}
    return policy.tell(ticket, **arguments) if kind == "tell" or arguments else policy.forget(ticket)


def _changes(policy: Any) -> dict[str, Callable[..., Any]]:
    """Return the methods that change a promise, by the kinds of their operations."""
    return dict(zip(CHANGES, (policy.add, policy.retire, policy.change), strict=True))


def decision_text(policy: Any, decision: Any) -> str:
    """Return a new decision as the log keeps it, with the policy's notes about its ticket."""
    noted = policy.tickets.extra_log_fields(decision.id) if is_apart(policy) else {}
    if (answers := answers_of(policy)) is not None and answers.said:
        noted = noted | {"answers": to_plain(answers.said)}
    return to_text(as_decided(decision) | noted)


def answers_of(policy: Any) -> LearnerAnswers | None:
    """Return what a learner from elsewhere answered in the last round of a policy, None where it asks none."""
    return policy._answers if isinstance(policy, QuotaPolicy) else None


def returned_text(returned: Any) -> str | None:
    """Return what a change of the promise returned, as the log keeps it."""
    return None if returned is None else to_text({"returned": to_plain(returned)})


@cache
def _parameters(method: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a method behind `self`."""
    return list(inspect.signature(method).parameters.values())[1:]


def replay_entry(policy: Any, entry: Entry, version: str) -> bool:
    """Apply a stored entry again, and check that the policy decides as it did.

    Parameters
    ----------
    version : the version of the policy's code; other versions may have worded the reason otherwise.

    Returns
    -------
    bool
        Whether the reason is worded otherwise.

    Raises
    ------
    ErasedError
        If its contexts were erased.
    ReplayError
        If it decides otherwise, or refuses what it accepted before.
    """
    try:
        decided = apply(policy, entry.kind, entry.ticket, arguments_of(entry.given))
    except ErasedError as error:
        raise ErasedError(f"entry {entry.sequence}, {entry.kind} {entry.ticket}: {error}") from error
    except Exception as error:
        raise ReplayError(f"entry {entry.sequence}, {entry.kind} {entry.ticket}: refused in replay: {error}") from error
    if entry.kind not in ("ask", *CHANGES):
        return False
    lazy = isinstance(decided, Decision) and callable(decided.chance.probabilities)
    if lazy and (logged := from_text(entry.decision).get("probabilities")) is not None:
        # As the log has them, if it has any: to compute them would take longer than the replay.
        stated = np.array(logged, np.float64)
        decided = replace(decided, chance=replace(decided.chance, probabilities=stated))
    again = decision_text(policy, decided) if entry.kind == "ask" else returned_text(decided)
    if again == entry.decision:
        return False
    before, now = from_text(entry.decision) or {}, from_text(again) or {}
    without = {"answers": None}
    if "answers" in before and before | without == now | without:  # what the learner answered made no difference
        return False
    without = {"reason": None}
    if entry.version != version and before | without == {name: now.get(name) for name in before} | without:
        return bool(now.get("reason") != before.get("reason"))
    raise ReplayError(
        f"entry {entry.sequence}, written by version {entry.version}: the log says {entry.decision}, replay {again}"
    )
