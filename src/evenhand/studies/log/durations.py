"""The time after which an open ticket expires: read from arguments, and shown in words."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import Any

from evenhand.arguments import as_float
from evenhand.errors import NOTHING, ArgumentError, Wording, wanted

UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
WORDS = {"w": "week", "d": "day", "h": "hour", "m": "minute", "s": "second"}
LONGEST = 100 * 366 * 86_400.0
"""A hundred years in seconds."""
FORMS = "seconds, or a text such as 90s, 15m, 12h, 7d or 2w, up to a hundred years"
WHAT = Wording(f"a timedelta, {FORMS}", shell=FORMS)


def read_expiry(after: Any, name: str = "expire_after") -> float | None:
    """Return a duration in seconds, None for never.

    >>> read_expiry("7d"), read_expiry(timedelta(minutes=1)), read_expiry("0.5"), read_expiry(None)
    (604800.0, 60.0, 0.5, None)

    Raises
    ------
    ArgumentError
        If it is not a duration above zero.
    """
    if after is None:
        return None
    if isinstance(after, timedelta):
        seconds = after.total_seconds()
    elif isinstance(after, str):
        parts = re.fullmatch(r"\s*([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*([wdhms]?)\s*", after)
        seconds = math.nan if parts is None else float(parts[1]) * UNITS[parts[2] or "s"]
    else:
        seconds = as_float(after)
    if not 1e-6 <= seconds <= LONGEST:
        never = Wording(NOTHING, " means never") if name == "expire_after" else ""
        raise ArgumentError(wanted(name, WHAT, after, never))
    return seconds


def duration(seconds: float) -> str:
    """Return a duration in words, in the largest unit that divides it.

    >>> duration(604800.0), duration(86400.0), duration(5400.0), duration(0.5)
    ('1 week', '1 day', '90 minutes', '0.5 seconds')
    """
    unit = next((unit for unit, size in UNITS.items() if seconds >= size and seconds % size == 0), "s")
    count = seconds / UNITS[unit]
    return f"{count:g} {WORDS[unit]}" + ("" if count == 1 else "s")
