"""Who comes first: arms that were never tried, before any index is defined."""

from __future__ import annotations

from evenhand.kernels.arrays import Ints
from evenhand.kernels.compose import kernel


@kernel
def untried(pulls: Ints, waiting: Ints) -> int:
    """Return the arm to try before any index is defined, or -1 when every arm has been told about.

    That is the first arm that was never handed out; where all such rewards are still on their way and no arm has been
    told about, the one with the fewest open tickets.
    """
    told = False
    for arm in range(pulls.size):
        if pulls[arm] == 0:
            if waiting[arm] == 0:
                return arm
        else:
            told = True
    if told:
        return -1
    fewest = 0
    for arm in range(1, pulls.size):
        if waiting[arm] < waiting[fewest]:
            fewest = arm
    return fewest


@kernel
def tried(pulls: Ints, waiting: Ints, round: int, arm: int) -> bool:
    """Return whether an arm without a reward may have been decided for before this round.

    Every round before left a reward or an open ticket, unless its ticket was forgotten: then nobody knows whose it was.
    """
    known = 0
    for other in range(pulls.size):
        known += pulls[other] + waiting[other]
    return waiting[arm] > 0 or known < round - 1
