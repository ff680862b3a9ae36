"""When is an arm owed its next pull: exact, in integers that never overflow, one addition a pull.

With a share r = R/D (a fraction in lowest common terms) and whole tolerance a, the position (N + a) D / R is the time
up to which N pulls are enough. It is kept as whole + rest/R: a pull moves it by D/R, that is by `step` and
`remainder`/R. No product of a share and a round is ever formed, so there is no horizon at which 64 bits end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.kernels.arrays import Ints
from evenhand.kernels.compose import kernel

NEVER = 1 << 61
"""Stands for a time that no conversation reaches."""


class Pace(NamedTuple):
    """The shares in integers, each (n_arms,): numerators R over the common D, D // R and D % R."""

    numerators: Ints
    steps: Ints
    remainders: Ints


class Position(NamedTuple):
    """For each arm the time whole + rest/R up to which its pulls so far are enough, each (n_arms,)."""

    whole: Ints
    rest: Ints


def pace(numerators: list[int], denominator: int) -> Pace:
    """Return the shares numerators / denominator, ready for kernels."""
    steps = [min(denominator // n, NEVER) if n else NEVER for n in numerators]
    remainders = [denominator % n if n else 0 for n in numerators]
    return Pace(np.array(numerators, np.int64), np.array(steps, np.int64), np.array(remainders, np.int64))


def position(numerators: list[int], denominator: int, enough: int) -> Position:
    """Return the positions after `enough` pulls of every arm."""
    whole = [min(enough * denominator // n, NEVER) if n else NEVER for n in numerators]
    rest = [enough * denominator % n if n else 0 for n in numerators]
    return Position(np.array(whole, np.int64), np.array(rest, np.int64))


@kernel
def advance(numerators: Ints, steps: Ints, remainders: Ints, whole: Ints, rest: Ints, arm: int) -> None:
    """Move the arm's position by one pull."""
    if whole[arm] < NEVER:
        whole[arm] += steps[arm]
        rest[arm] += remainders[arm]
        if rest[arm] >= numerators[arm]:
            rest[arm] -= numerators[arm]
            whole[arm] += 1


@kernel
def round_up(numerators: Ints, whole: Ints, rest: Ints, arm: int) -> None:
    """Make the arm's position a deadline: `whole` rounded up, and rest/R <= 0 what it was rounded by."""
    if rest[arm] > 0:
        whole[arm] += 1
        rest[arm] -= numerators[arm]


@kernel
def fall_due(numerators: Ints, steps: Ints, remainders: Ints, whole: Ints, rest: Ints, arm: int) -> None:
    """Move a position that `round_up` has made a deadline by one pull."""
    whole[arm] += steps[arm]
    rest[arm] += remainders[arm]
    if rest[arm] > 0:
        rest[arm] -= numerators[arm]
        whole[arm] += 1
