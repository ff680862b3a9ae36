"""Durations, such as that after which an open ticket expires, and times to come: read from arguments, and in words."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from evenhand.arguments import as_float
from evenhand.errors import NOTHING, ArgumentError, Wording, expected
from evenhand.studies.log.codec import EPOCH, moment, now

UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
WORDS = {"w": "week", "d": "day", "h": "hour", "m": "minute", "s": "second"}
LONGEST = 100 * 366 * 86_400.0
"""A hundred years in seconds."""
FORMS = "seconds, or a text such as 90s, 15m, 12h, 7d or 2w, up to a hundred years"
LATEST = (datetime(9999, 1, 1, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
"""Moments must be before this one: later ones have no date in every zone."""
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
        raise ArgumentError(expected(name, WHAT, after, never))
    return seconds


def read_moment(when: Any, name: str, *, of_date: time) -> int:
    """Return a time in microseconds since 1970.

    Parameters
    ----------
    when : a time, in UTC where a text names no zone; a date such as "2030-12-31"; or a duration from now such as "90d"
        or a timedelta.
    of_date : the time of a date that is meant, in UTC.

    Raises
    ------
    ArgumentError
        If it is none of these, or before 1970 or after 9998.
    """
    said = when
    if isinstance(when, str) and "-" in when:
        with suppress(ValueError):
            text = when.removesuffix(" UTC")
            said = date.fromisoformat(text) if len(text) == len("2030-12-31") else datetime.fromisoformat(text)
            said = said.replace(tzinfo=UTC) if isinstance(said, datetime) and said.tzinfo is None else said
    if type(said) is date:
        said = datetime.combine(said, of_date, UTC)
    try:
        zoned = isinstance(said, datetime) and said.tzinfo is not None
        seconds = 0.0 if zoned else read_expiry(said) or 0.0
    except ArgumentError as error:
        what = "a date such as 2030-12-31, a time such as 2030-12-31T08:00+01:00, or a duration such as 90d"
        raise ArgumentError(expected(name, what, when)) from error
    since = said - EPOCH if zoned else timedelta(microseconds=now(), seconds=seconds)
    at = since // timedelta(microseconds=1)
    if not 0 <= at < LATEST:
        raise ArgumentError(expected(name, "a time from 1970 to 9998", when))
    return at


def check_future(at: int, name: str) -> int:
    """Return a time in microseconds since 1970 that is to come.

    Raises
    ------
    ArgumentError
        If it is over.
    """
    if at <= now():
        raise ArgumentError(expected(name, "a time in the future", moment(at).isoformat()))
    return at


def in_utc(at: datetime) -> str:
    """Return a time in UTC in words that `read_moment` reads as the same time.

    >>> in_utc(datetime(2030, 12, 31, 8, tzinfo=UTC)), in_utc(datetime(2030, 12, 31, 8, 0, 5, tzinfo=UTC))
    ('2030-12-31 08:00 UTC', '2030-12-31 08:00:05 UTC')
    """
    whole = at.second == at.microsecond == 0
    return f"{at.replace(tzinfo=None).isoformat(' ', 'minutes' if whole else 'auto')} UTC"


def duration(seconds: float) -> str:
    """Return a duration in words, in the largest unit that divides it.

    >>> duration(604800.0), duration(86400.0), duration(5400.0), duration(0.5)
    ('1 week', '1 day', '90 minutes', '0.5 seconds')
    """
    unit = next((unit for unit, size in UNITS.items() if seconds >= size and seconds % size == 0), "s")
    count = seconds / UNITS[unit]
    return f"{count:g} {WORDS[unit]}" + ("" if count == 1 else "s")
