"""Floors of single arms that keep shares of sets of arms that overlap.

Sets that are nested or disjoint are kept exactly. Where sets overlap no test is known that grants every wish that can
be granted. They are kept by floors of single arms: if y_i >= 0 sum to at most one and sum_{i in Q} y_i >= r_Q for every
set, then floors N_i >= floor(y_i t) - b give N_Q > r_Q t - |Q| (b + 1), that is N_Q >= floor(r_Q t) - a for a whole a
>= |Q| (b + 1) - 1.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from evenhand.errors import SharesError, figure, wanted
from evenhand.promises.reading import overlap

__all__ = ["single_floors"]

FINEST = 10**6
"""The largest denominator of a floor that stands for overlapping sets, where exact ones are too fine to be counted."""
NEARLY = 1e-7
"""What a linear program may miss by."""


def single_floors(promise: Any) -> Any:
    """Return floors of single arms that keep the promise, whose sets overlap.

    Raises
    ------
    SharesError
        If no such floors exist, or the tolerance is too small for them.
    """
    largest = max(len(members) for members, _ in promise.sets)
    if promise.slack < largest - 1:
        one, other = overlap([members for members, _ in promise.sets]) or ((), ())
        what = f"at least {largest - 1}, one less than the arms of the largest set, as {one} and {other} overlap"
        raise SharesError(wanted("tolerance", what, promise.tolerance, "or give sets that are nested or apart"))
    floors = _least_floors(promise)
    total = sum(floors, Fraction(0))
    if total > 1:
        over = f"they need {figure(float(total), 12)} of the rounds, more than 1 by {figure(float(total - 1), 3)}"
        raise SharesError(f"shares: these sets of arms cannot be promised together: {over}; lower some of them")
    if math.lcm(*{floor.denominator for floor in floors}) >= 1 << 60:
        floors = [Fraction(math.ceil(floor * FINEST), FINEST) for floor in floors]
        if sum(floors, Fraction(0)) > 1:
            what = f"fewer digits, as the sets need {figure(float(total), 12)} of the rounds"
            raise SharesError(wanted("shares", what, [str(share) for _, share in promise.sets]))
    slack = (promise.slack + 1) // largest - 1
    return promise.varied(shares=tuple(floors), tolerance=float(slack), sets=())


def _least_floors(promise: Any) -> list[Fraction]:
    """Return floors of single arms that keep the sets and have the least sum, exactly.

    A linear program in floating point tells which arms need more than their own shares, and which sets bind; these
    equations are solved in fractions, and what a set lacks after that is given to one of its arms.
    """
    from scipy.optimize import linprog

    arms, floors = {arm: i for i, arm in enumerate(promise.arms)}, [*promise.shares]
    sets = [([arms[arm] for arm in members], share) for members, share in promise.sets]
    rows = np.zeros((len(sets), len(arms)))
    for row, (places, _) in zip(rows, sets, strict=True):
        row[places] = 1.0
    wants, least = np.array([float(share) for _, share in sets]), [float(share) for share in floors]
    found = linprog(
        np.ones(len(arms)), A_ub=-rows, b_ub=-wants, bounds=[(low, 1.0) for low in least], method="highs-ds"
    )
    more = [arm for arm in arms.values() if found.x[arm] > least[arm] + NEARLY]
    binding = [sets[i] for i in np.flatnonzero(rows @ found.x < wants + NEARLY)]
    equations = []
    for places, share in binding:
        others = sum((floors[place] for place in places if place not in more), Fraction(0))
        equations.append([*(Fraction(place in places) for place in more), share - others])
    for place, floor in zip(more, _solve(equations, len(more)), strict=True):
        floors[place] = max(floors[place], floor)
    for places, share in sets:
        floors[places[0]] += max(Fraction(0), share - sum((floors[place] for place in places), Fraction(0)))
    return floors


def _solve(equations: list[list[Fraction]], unknowns: int) -> list[Fraction]:
    """Return a solution of linear equations, whose last entries are their right sides; 0 for what they leave open."""
    solved: list[tuple[int, list[Fraction]]] = []
    for column in range(unknowns):
        pivot = next((row for row in equations if row[column]), None)
        if pivot is None:
            continue
        equations = [row for row in equations if row is not pivot]
        unit = [entry / pivot[column] for entry in pivot]
        equations = [_less(row, unit, column) for row in equations]
        solved = [*((place, _less(row, unit, column)) for place, row in solved), (column, unit)]
    found = dict(solved)
    return [found[column][-1] if column in found else Fraction(0) for column in range(unknowns)]


def _less(row: list[Fraction], unit: list[Fraction], column: int) -> list[Fraction]:
    """Return an equation less the multiple of another that takes a column out of it."""
    return [entry - row[column] * one for entry, one in zip(row, unit, strict=True)] if row[column] else row
