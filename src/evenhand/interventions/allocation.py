"""What a search asks for: trials of candidates, as a ticket to be told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.kernels.arrays import Ints


@dataclass(frozen=True, eq=False)
class Allocation:
    """What to try next: a ticket to be told.

    Attributes
    ----------
    id : the ticket's number, counted from 1.
    phase : the phase, counted from 1.
    frame : data frame with the columns ticket (the id, to be copied into what was observed), candidate, do(S) for each
        sensitive attribute (empty: leave it as it comes), count, cost.
    plan : the counts as an array (1 + S, K): S as it comes in row 0, do(S = s) in row 1 + s.
    token : which search planned it, so that no other takes it for its own; None where it was made of plain data.
    reason : why these trials, in words.
    reason_code : the kind of the reason, for programs: "explored", or "other" where nothing is left to try.
    """

    id: int
    phase: int
    frame: Any
    plan: Ints
    token: str | None = field(default=None, repr=False)
    reason: str = ""
    reason_code: str = "other"


def counts_of(plan: Any) -> tuple[Any, ...]:
    """Return a plan as a tuple that says its shape and its counts, to be compared."""
    counts = np.asarray(plan)
    return counts.shape, *counts.ravel().tolist()
