"""Which form of the rule keeps what was promised."""

from __future__ import annotations

from evenhand.promises.overlapping import single_floors
from evenhand.promises.promise import Promise
from evenhand.quotas.composed import COMPOSED, NESTED, RANKED
from evenhand.quotas.deadlines import DEADLINES
from evenhand.quotas.under_quota import Form

__all__ = ["form_for"]


def form_for(promise: Promise, lottery: float | None) -> tuple[Promise, Form]:
    """Return the floors by which a promise is kept, and the form of the rule that costs the least.

    Raises
    ------
    SharesError
        If sets of arms overlap and no floors of single arms keep them.
    """
    if promise.overlap() is not None:
        promise = single_floors(promise)
    several = sum((bool(promise.sets), promise.caps is not None, promise.plays > 1))
    if lottery is not None or promise.windows or several > 1 or not isinstance(promise.offers, str):
        return promise, COMPOSED
    if promise.sets:
        return promise, NESTED
    return promise, RANKED if several or promise.behind is not None else DEADLINES
