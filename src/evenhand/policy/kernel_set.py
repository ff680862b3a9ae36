"""The numeric core of a policy: the kernels that its author writes, and what they say of a decision: why it was taken,
as a number that stands for words and a code, and how likely it was, computed when that is read.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from evenhand.errors import ArgumentError, expected
from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import OPEN, bind, is_named_tuple, is_nested, kernel

REASONS: dict[int, str] = {}
"""What the reason numbers of `choose` mean; filled by `reason` when a policy's module is imported."""

ReasonCode = Literal["other", "forced", "untried", "explored", "greedy", "optimistic", "sampled", "drawn", "learner"]
CODES: tuple[ReasonCode, ...] = get_args(ReasonCode)
CODE_BITS = 32
"""A reason's number is the position of its code in `CODES`, above this many bits of its words."""


def reason(text: str, code: ReasonCode = "other") -> int:
    """Return the number under which kernels report this reason, the same number for the same words in any process.

    Parameters
    ----------
    text : the reason in words, for whoever reads it.
    code : the kind of the reason, for programs: "forced" by a promise, "untried", "explored" at random, "greedy" (the
        best so far), "optimistic" (the highest bound), "sampled" (the best of a posterior sample), "drawn" from a
        distribution, or the "learner"'s own.

    Raises
    ------
    ArgumentError
        If there is no such code, or the words have the same number as others.
    """
    if code not in CODES:
        raise ArgumentError(expected("code", f"one of {', '.join(CODES)}", code))
    number = CODES.index(code) << CODE_BITS | zlib.crc32(text.encode())
    if REASONS.setdefault(number, text) != text:
        raise ArgumentError(f"reason: {text!r} has the same number as {REASONS[number]!r}; use other words")
    return number


def reason_of(number: int) -> tuple[str, ReasonCode]:
    """Return the words and the code of a reason, from its number."""
    return REASONS[number], CODES[number >> CODE_BITS]


FORCED_CODE = CODES.index("forced")
FORCED = reason("owed its share", "forced")


@kernel
def is_forced(why: int) -> bool:
    """Return whether a decision was forced by a promise."""
    return why >> CODE_BITS == FORCED_CODE


WAITING, NO_ONE_WAITS = "waiting", np.zeros(0, np.int64)


class ProbabilityFunction(NamedTuple):
    """How the probabilities of a policy that draws its arms are computed.

    Attributes
    ----------
    function : `function(params, state, contexts, round, waiting)`, a function at the top of a module, which returns
        the probability (n_arms,) with which `choose` would pick each arm, nan where nobody knows; it may overwrite the
        state.
    reads : the names of the state's fields that it reads, as `evenhand.kernels.compose.names` returns them, or "*"
        for all but an inner learner's, "learner.*" for all of these; the others are zero.
    reads_waiting : whether it reads `waiting`.
    among : whether it takes, last, `open` (n_arms,), 1 for each arm among which `rank` chooses, and then returns the
        probability with which the first of these in a ranking is each arm.
    """

    function: Callable[..., Floats]
    reads: tuple[str, ...]
    reads_waiting: bool = False
    among: bool = False

    def read(self, fields: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
        """Yield those of a state's fields, each with its name, that are read."""
        for name, field in fields:
            inner, dot, _ = name.rpartition(".")
            if name in self.reads or f"{inner}{dot}*" in self.reads:
                yield name, field


class LazyProbabilities:
    """Probabilities that are computed when they are first read; copies and pickles hold the result.

    Parameters
    ----------
    given : (function, params, state, contexts, round, kept): what `ProbabilityFunction.function` takes, after
        the function itself. `state` only says which fields there are; `kept` holds those that it reads, by name, as
        they were before the decision.
    """

    __slots__ = ("_found", "_given")

    def __init__(self, given: tuple[Any, ...]) -> None:
        self._given: tuple[Any, ...] | None = given

    def __call__(self) -> Floats:
        """Return the probabilities (n_arms,)."""
        given = self._given
        if given is not None:
            of, params, state, contexts, round, kept = given
            before = with_fields(state, kept)
            found = of(params, before, contexts, round, kept.get(WAITING, NO_ONE_WAITS))
            self._found: Floats = np.minimum(found, 1.0)  # sums are rounded, and nobody takes a chance above 1
            self._given = None
        return self._found

    def __getstate__(self) -> Any:
        return None, {"_found": self(), "_given": None}


def copied(state: Any) -> Any:
    """Return a copy of a NamedTuple of arrays, those of an inner one included."""
    return type(state)(*(copied(field) if is_named_tuple(field) else np.copy(field) for field in state))


def with_fields(state: Any, fields: dict[str, Any]) -> Any:
    """Return a NamedTuple of arrays like `state`, with these fields, named as `evenhand.kernels.compose.names` does,
    and zeros elsewhere."""
    *own, last = state._fields
    found = [fields.get(name, np.zeros_like(array)) for name, array in zip(own, state, strict=False)]
    if not is_nested(state):
        return type(state)(*found, fields.get(last, np.zeros_like(state[-1])))
    prefix = f"{last}."
    own_fields = {name.removeprefix(prefix): array for name, array in fields.items() if name.startswith(prefix)}
    return type(state)(*found, with_fields(state[-1], own_fields))


class RewardContext(NamedTuple):
    """What a learner may know about the decision whose reward it is told.

    Attributes
    ----------
    round : the round in which it was decided.
    probability : the probability with which it was decided: 1 by a rule that draws nothing, nan where it is unknown.
    """

    round: int
    probability: float


learn: Any = OPEN


@kernel
def without_ticket(
    params: object, state: object, contexts: Floats, index: int, reward: float, ticket: RewardContext
) -> None:
    """Update by a kernel that does not look at the ticket."""
    learn(params, state, contexts, index, reward)


@kernel
def deterministic(params: object, state: object, index: int) -> float:
    """Return the probability of a decision that followed from what had happened before."""
    return 1.0


@kernel
def unknown_probability(params: object, state: object, index: int) -> float:
    """Return nan, where decisions are drawn and nobody knows their distribution in numbers."""
    return math.nan


@kernel
def sampled(params: object, state: Any, index: int) -> float:
    """Return the probability of the arm that was just drawn from `state.probabilities` (n_arms,)."""
    return state.probabilities[index]


@dataclass(frozen=True)
class Kernels:
    """The kernels of a policy, and how likely its decisions are.

    Parameters
    ----------
    choose, update : its kernels.
    probability : `probability(params, state, index)`, with which the last `choose` picked an arm: `deterministic`,
        `unknown_probability`, or `sampled` where the state keeps the distribution in a field `probabilities`.
    rank : `rank(params, state, contexts, round, waiting, scores) -> reason`, which fills scores (n_arms,) so that the
        arm that `choose` would take comes first; None for a policy that knows only the best arm. Where arms are not on
        offer, or several are played in a round, it is asked in place of `choose`.
    chances : how the probabilities of all arms are computed where `probability` is `unknown_probability`, as they take
        longer than the decision; None where nobody knows them.
    """

    choose: Any
    update: Any
    probability: Any = deterministic
    rank: Any = None
    chances: ProbabilityFunction | None = None

    @property
    def sees_ticket(self) -> bool:
        """Whether what learns from a reward looks at its ticket."""
        origin = self.update._origin
        return origin is None or origin[0] is not without_ticket

    def __post_init__(self) -> None:
        if self.update.function.__code__.co_argcount == 5:
            object.__setattr__(self, "update", bind(without_ticket, learn=self.update))
