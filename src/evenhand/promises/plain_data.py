"""A promise's arguments as plain data, for JSON, TOML and HTTP, and back."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from evenhand.errors import SharesError, expected
from evenhand.promises.reading import is_set, key_of

WEIGHED = ("weight", "largest", "in_flight")
ARGUMENTS = ("shares", "tolerance", "caps", "cap_tolerance", "windows", "plays", "offers", "clock", *WEIGHED)
TABLES = ("shares", "caps", "windows")
"""Arguments that are tables of arms."""


def promise_fields(promise: Any) -> dict[str, Any]:
    """Return the arguments that make a promise, those left out that say nothing."""
    shares: dict[Any, Fraction] = dict(zip(promise.arms, promise.shares, strict=True)) | dict(promise.sets)
    caps = dict(zip(promise.arms, promise.caps or (), strict=False))
    given = {
        "shares": shares,
        "tolerance": promise.tolerance,
        "caps": {arm: cap for arm, cap in caps.items() if cap is not None},
        "cap_tolerance": promise.cap_tolerance,
        "windows": {key_of(members): window for members, window in promise.windows},
        "plays": promise.plays,
        "offers": promise.offers if isinstance(promise.offers, str) else list(promise.offers),
        "clock": promise.clock,
        "weight": promise.weight,
        "largest": None if promise.largest is None else str(promise.largest),
        "in_flight": promise.in_flight,
    }
    silent = {"tolerance": 0.0, "caps": {}, "cap_tolerance": 0.0, "windows": {}, "plays": 1, "clock": "offered"}
    silent |= dict.fromkeys(WEIGHED)
    return {name: value for name, value in given.items() if name not in silent or value != silent[name]}


def to_plain(by_arm: dict[Any, Any]) -> Any:
    """Return a table of arms as plain data: by name where all names are text, else in rows."""
    said = {key: list(value) if isinstance(value, tuple) else str(value) for key, value in by_arm.items()}
    if all(isinstance(key, str) for key in said):
        return said
    return [{"arms": list(key) if is_set(key) else [key], "value": value} for key, value in said.items()]


def from_plain(name: str, value: Any) -> Any:
    """Return what the constructor takes for plain data."""
    if name not in TABLES or not isinstance(value, list):
        return tuple(value) if name == "offers" and isinstance(value, list) else value
    if not all(isinstance(row, Mapping) for row in value):
        return value
    for row in value:
        arms = row.get("arms")
        named = isinstance(arms, list) and arms and all(isinstance(arm, (str, int)) for arm in arms)
        if not named or "value" not in row:
            raise SharesError(expected(name, 'rows such as {"arms": ["a", "b"], "value": "1/2"}', row))
    found = {key_of(tuple(row["arms"])): row["value"] for row in value}
    if len(found) < len(value):
        raise SharesError(expected(name, "each arm and each set of arms in one row", value))
    return found
