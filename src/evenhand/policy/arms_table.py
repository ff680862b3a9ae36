"""The table of a policy's arms that a notebook shows: groups, promises, decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from evenhand.display.html import Table
from evenhand.kernels.arrays import Ints
from evenhand.policy.traits import Traits


def arms_table(
    traits: Traits, counts: Sequence[int] | None = None, waiting: Ints | None = None, rounds: int = 0
) -> Table:
    """Return a row an arm: its group, what it is promised, how often it was decided for, its open tickets.

    Parameters
    ----------
    counts : the decisions for each arm, as far as they are known; None before the first round.
    waiting : the open tickets of each arm.
    rounds : how many rounds were decided.
    """
    arms = traits.arms or ()
    columns: dict[str, Callable[[int], Any]] = {"arm": arms.__getitem__}
    if traits.membership is not None:
        columns["group"] = lambda i: traits.membership.names[traits.membership.codes[i]]
    promise = traits.promise
    if promise is not None and (promise.owes or not promise.windows):
        columns["promised share"] = promise.shares.__getitem__
    if promise is not None and promise.windows:
        windows = {members: f"{plays} in {rounds} rounds" for members, (plays, rounds) in promise.windows}
        columns["promised window"] = lambda i: windows.get((arms[i],), "")
    if counts is not None and waiting is not None:
        known = sum(counts) == rounds * traits.plays
        columns["decisions" if known else "decisions since it was loaded"] = counts.__getitem__
        if known and rounds:
            columns["share"] = lambda i: counts[i] / rounds
        columns["open tickets"] = waiting.__getitem__
    return Table([*columns], len(arms), lambda i: [cell(i) for cell in columns.values()], "Arms")
