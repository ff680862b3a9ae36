"""Which form of the rule keeps what was asked for: floors of arms, of sets of arms, or of several plays a round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evenhand.errors import ArgumentError, SharesError, wanted
from evenhand.protocol import Label
from evenhand.quotas.deadlines import DEADLINES
from evenhand.quotas.nested import NESTED
from evenhand.quotas.problem import Promise
from evenhand.quotas.ranked import RANKED
from evenhand.quotas.sets import read_sets, single_floors
from evenhand.quotas.under_quota import Form, read_promise

__all__ = ["read_form"]


def read_form(
    learner: Any, shares: Any, tolerance: Any, plays: int, arms: int | Sequence[Label] | None
) -> tuple[Promise, Promise, Form]:
    """Return the promise, the floors by which it is kept, and the form of the rule.

    Raises
    ------
    SharesError
        If the shares cannot be promised.
    ArgumentError
        If there are more plays than arms.
    """
    sets = read_sets(shares, tolerance, getattr(learner, "arms", None) if arms is None else arms)
    if sets is None:
        promise = read_promise(shares, tolerance, arms, learner, plays)
        if plays > len(promise.arms):
            raise ArgumentError(wanted("plays", f"at most {len(promise.arms)}, the number of arms", plays))
        return promise, promise, DEADLINES if plays == 1 else RANKED
    if plays > 1:
        mend = "no rule is known to keep both"
        raise SharesError(wanted("plays", "1 beside shares of sets of arms", plays, mend))
    if sets.overlap() is None:
        return sets, sets, NESTED
    return sets, single_floors(sets), DEADLINES
