"""Why several workers cannot keep a promise: the same words for a study and for a simulation."""

from __future__ import annotations

from typing import Any

from evenhand.errors import SharesError, figure
from evenhand.promises.workers import LONGEST, burn_in, least_tolerance

__all__ = ["tolerance_too_small"]


def tolerance_too_small(promise: Any, workers: int) -> SharesError:
    """Return the refusal of a promise whose tolerance so many workers cannot share; it names the least that would
    do."""
    why = "the shares sum to one, so no arm can get ahead first"
    if sum(promise.shares) < 1:
        length = burn_in(promise.shares, promise.slack, workers)
        size = f"{length} rounds" if length is not None else f"more than {LONGEST:,} rounds"
        why = f"without one they would have to begin with {size} one after another"
    return SharesError(
        f"workers: {workers} workers that decide at the same time cannot keep these shares with a tolerance of "
        f"{figure(promise.tolerance)}: {why}; a tolerance of {least_tolerance(promise.shares, workers)} is enough"
    )
