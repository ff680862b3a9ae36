"""Candidates that give some values never: no harm where other trials can speak of what they give, else refused.

Trials of a candidate say nothing about one that gives values which it never gives; they are left out there, and the
allocation program counts them for nothing. A gap, though, may be out of reach of all trials: those of a rule that gives
different values for different S, where no other candidate gives both.
"""

from __future__ import annotations

import numpy as np

from evenhand.errors import ArgumentError, wanted
from evenhand.interventions.problem import Problem


def checked_support(problem: Problem, *, gaps: bool, pooled: bool) -> None:
    """Refuse rules of whose gaps no planned trial can speak.

    Raises
    ------
    ArgumentError
        If there is one; it is named.
    """
    if not any(problem.ruled) or not gaps:
        return
    for a, b in problem.pairs:
        reached = np.isfinite(problem.gap_divergence[a, b]).any(1)
        if pooled:
            reached |= np.isfinite(problem.gap_divergence[b, a]).any(1)
        if not reached.all():
            label = problem.candidates[int(np.flatnonzero(~reached)[0])]
            what = f"a candidate whose trials can show its gap between {a!r} and {b!r}, its own or another's"
            mend = "add a candidate that gives every value now and then"
            raise ArgumentError(wanted(f"candidates[{label!r}]", what, "values that depend on it with certainty", mend))
