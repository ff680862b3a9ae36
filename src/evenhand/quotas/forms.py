"""Which form of the rule keeps what was promised."""

from __future__ import annotations

from evenhand.promises.promise import Promise
from evenhand.quotas.composed import COMPOSED, NESTED, RANKED
from evenhand.quotas.deadlines import DEADLINES
from evenhand.quotas.under_quota import Form

__all__ = ["form_for"]


def form_for(promise: Promise, lottery: float | None) -> Form:
    """Return the form of the rule that keeps a promise at the least cost."""
    several = sum((bool(promise.sets), promise.caps is not None, promise.plays > 1))
    if lottery is not None or promise.windows or several > 1 or not isinstance(promise.offers, str):
        return COMPOSED
    if promise.sets:
        return NESTED
    return RANKED if several else DEADLINES
