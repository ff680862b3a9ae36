"""Clocks of what is promised, each of which ticks in the rounds in which one of its arms is on offer, in each segment
and since the promise last changed.

The counts of `evenhand.metrics` know rounds alone; a clause is counted by the rounds of its own clock. Each segment has
counts of its own: arm i in segment g stands at place g k + i of k arms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.kernels.arrays import Ints
from evenhand.kernels.compose import OPEN, kernel
from evenhand.metrics.limits import Limits, enter, enter_one
from evenhand.metrics.limits import limits as fresh_limits
from evenhand.metrics.shares import Tally
from evenhand.metrics.shares import tally as fresh_tally
from evenhand.simulation.given import Course

__all__ = ["ON_CLOCKS", "PLAIN", "Clocks", "Plain", "fresh_books", "offer_row", "set_offer", "set_segment"]


class Plain(NamedTuple):
    """Stands for the clocks where all rounds are alike."""

    nothing: Ints


class Clocks(NamedTuple):
    """What is on offer and which segment each round belongs to, and the clocks that tick by it."""

    offers: NDArray[np.bool_]
    """(n_rounds, n_arms), or one row for all rounds."""
    codes: Ints
    """(n_rounds,): the place of each round's segment, or one for all."""
    present: Ints
    """(1,): that of this round."""
    arms: Ints
    """(n_segments * n_arms,): how often each clock ticked."""
    limits: Ints
    """(n_segments * n_promises,): those of what is promised beside the floors of arms."""
    rounds: Ints
    """(n_segments,): the rounds of each segment since the first one of all."""
    kept: Any
    """The parts of the policy's state that belong to segments that are not the present one."""


enter_segment = OPEN


@kernel
def offer_row(clocks: Clocks, round: int) -> int:
    """Return the row of `offers` that says what is on offer in a round, counted from 1."""
    return min(round, clocks.offers.shape[0]) - 1


@kernel
def nothing_set(clocks: Any, state: Any, round: int) -> None:
    """Stand for `set_offer` and `set_segment` where every arm is on offer and rounds have no segments."""


@kernel
def set_offer(clocks: Clocks, state: Any, round: int) -> None:
    """Tell the policy which arms are on offer."""
    row = offer_row(clocks, round)
    for arm in range(clocks.offers.shape[1]):
        state.offered[arm] = 1 if clocks.offers[row, arm] else 0


@kernel
def set_segment(clocks: Clocks, state: Any, round: int) -> None:
    """Bring the round's segment into the policy's state."""
    enter_segment(clocks.kept, state, clocks.codes[min(round, clocks.codes.size) - 1], round - 1)


@kernel
def no_tick(clocks: Any, limits: Limits, round: int) -> None:
    return


@kernel
def tick(clocks: Clocks, limits: Limits, round: int) -> None:
    """Begin a round: of its segment, the clocks of all that is on offer tick."""
    row, k = offer_row(clocks, round), clocks.offers.shape[1]
    segment = clocks.codes[min(round, clocks.codes.size) - 1]
    clocks.present[0] = segment
    clocks.rounds[segment] += 1
    for arm in range(k):
        if clocks.offers[row, arm]:
            clocks.arms[segment * k + arm] += 1
    each = limits.kinds.size // clocks.rounds.size
    for i in range(segment * each, (segment + 1) * each):
        for arm in range(k):
            if limits.members[i, segment * k + arm] and clocks.offers[row, arm]:
                clocks.limits[i] += 1
                break


@kernel
def same_place(clocks: Any, arm: int) -> int:
    return arm


@kernel
def own_place(clocks: Clocks, arm: int) -> int:
    return clocks.present[0] * clocks.offers.shape[1] + arm


@kernel
def round_itself(clocks: Any, place: int, round: int) -> int:
    """Stand for the next two where all clocks tick in every round."""
    return round


@kernel
def clock_of_arm(clocks: Clocks, place: int, round: int) -> int:
    return clocks.arms[place]


@kernel
def clock_of_limit(clocks: Clocks, place: int, round: int) -> int:
    return clocks.limits[place]


@kernel
def no_limits(clocks: Any, limits: Limits, place: int, round: int) -> None:
    """Stand for the next two where nothing is promised beside the floors of arms."""


@kernel
def enter_round(clocks: Any, limits: Limits, place: int, round: int) -> None:
    enter(limits, place, round)


@kernel
def enter_clocks(clocks: Clocks, limits: Limits, place: int, round: int) -> None:
    each = limits.kinds.size // clocks.rounds.size
    for i in range(clocks.present[0] * each, (clocks.present[0] + 1) * each):
        if limits.members[i, place]:
            enter_one(limits, i, clocks.limits[i])


PLAIN: dict[str, Any] = {
    "tick": no_tick,
    "place_of": same_place,
    "arm_clock": round_itself,
    "limit_clock": round_itself,
    "enter_limits": enter_round,
}
ON_CLOCKS: dict[str, Any] = {
    "tick": tick,
    "place_of": own_place,
    "arm_clock": clock_of_arm,
    "limit_clock": clock_of_limit,
    "enter_limits": enter_clocks,
}


def fresh_books(
    promise: Any, arms: Any, course: Course | None, rounds: Ints, kept: Any
) -> tuple[Tally, Limits, Clocks | Plain]:
    """Return the counts of a promise before its first round, a copy for each segment, and their clocks; `rounds` are
    the segments' rounds so far."""
    books, others = fresh_tally(promise, len(arms)), fresh_limits(promise, arms)
    if course is None:
        return books, others, Plain(np.zeros(0, np.int64))
    n = len(rounds)
    books = Tally(**{name: np.tile(column, n) for name, column in books._asdict().items()})
    columns = {name: np.tile(column, (n, 1) if column.ndim > 1 else n) for name, column in others._asdict().items()}
    others = Limits(**(columns | {"members": np.kron(np.eye(n, dtype=np.bool_), others.members)}))
    offers = np.ones((1, len(arms)), np.bool_) if course.offers is None else course.offers
    codes = np.zeros(1, np.int64) if course.codes is None else course.codes
    ticks = np.zeros(n * len(arms), np.int64), np.zeros(others.kinds.size, np.int64)
    return books, others, Clocks(offers, codes, np.zeros(1, np.int64), *ticks, rounds, kept)
