"""What a file keeps of a search, part by part: read back, or refused by name where no search can have written it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.interventions.cells import Evidence
from evenhand.interventions.shown import Delivery
from evenhand.saving.saved import fill, refused

__all__ = [
    "GAP_HIGH",
    "OUTCOME_LOW",
    "OUTCOME_NEAR",
    "saved_delivery",
    "saved_drops",
    "saved_evidence",
]

OUTCOME_LOW = "outcome below the best fair one"
OUTCOME_NEAR = "outcome at most the slack above the one that is certified"
GAP_HIGH = "gap above the tolerance"
REASONS = (OUTCOME_LOW, OUTCOME_NEAR, GAP_HIGH)
"""Why candidates are dropped."""


def saved_drops(rows: Any, remaining: NDArray[np.bool_], last: int) -> dict[int, tuple[int, str]]:
    """Return who was dropped, in which phase up to the last and why: everybody who does not remain."""
    found: dict[int, tuple[int, str]] = {}
    for row in rows:
        match row:
            case [int(number), int(phase), str(why)] if 1 <= phase <= last and why in (
                OUTCOME_LOW,
                OUTCOME_NEAR,
                GAP_HIGH,
            ):
                found[number] = phase, why
            case _:
                raise refused("dropped", "the number of a candidate, a phase that is over, and the reason", row)
    gone = np.flatnonzero(~remaining).tolist()
    if sorted(found) != gone or len(found) < len(rows):
        raise refused("dropped", f"each of the candidates {gone} once", [row[0] for row in rows])
    return found


def saved_evidence(parts: list[Any], nothing: Evidence) -> Evidence:
    """Return saved evidence."""
    found = Evidence(*map(np.zeros_like, nothing))
    for name, own, kept in zip(Evidence._fields, found, parts, strict=True):
        fill(own, kept, f"evidence.{name}")
    return found


def saved_delivery(parts: Any, nothing: Evidence) -> Delivery:
    """Return a saved delivery."""
    match parts:
        case [np.ndarray() as at, np.ndarray() as times, bool(logged)] if (
            at.dtype == np.int64
            and at.shape == times.shape == (at.size,)
            and (np.diff(at, prepend=-1) > 0).all()
            and (at < nothing.rows.size).all()
            and times.dtype == np.float64
            and (times > 0).all()
            and np.isfinite(times).all()
        ):
            return Delivery(at, times, logged)
    raise refused("deliveries", "positions in ascending order, how often each was seen, and whether logged", parts)
