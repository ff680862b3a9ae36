"""How large a policy may be that comes as data from somebody else: what it would hold in memory, counted beforehand."""

from __future__ import annotations

import math
from typing import Any

from evenhand.errors import ArgumentError, wanted

__all__ = ["checked_sizes"]

MOST_ARMS = 10_000
MOST_CANDIDATES = 100
MOST_INDIVIDUALS = 1_000
LARGEST_BUDGET = 10**8
LARGEST_TABLE = 10**7
"""Numbers in the largest table that a policy may keep."""


def checked_sizes(name: str, arguments: dict[str, Any]) -> None:
    """Refuse arguments, as plain data, of a policy that would not fit beside others in a server's memory.

    Raises
    ------
    ArgumentError
        If there are too many arms, features or combinations of states.
    """
    for label in ("arms", "groups", "shares"):
        _most(label, _count(arguments.get(label)), MOST_ARMS)
    if name.startswith("similarity/") and ("dimension" in arguments or "theta" in arguments):
        dimension = _count(arguments.get("dimension", arguments.get("theta")))
        individuals = _count(arguments.get("individuals"))
        _most("individuals", individuals, MOST_INDIVIDUALS)
        shared = getattr(arguments.get("metric"), "shared", True)
        copies = 1 if shared else max(1, individuals * (individuals - 1) // 2)
        _most("numbers that the metric learner keeps", copies * dimension**4, 4 * LARGEST_TABLE)
    if name == "problem":
        sizes = [_count(states) for states in arguments["states"].values()]
        _most("candidates", _count(arguments["candidates"]), MOST_CANDIDATES)
        _most("states (combinations, by candidates)", math.prod(sizes) * _count(arguments["candidates"]), LARGEST_TABLE)
    if name.startswith("interventions/"):
        _most("budget", _count(arguments.get("budget")), LARGEST_BUDGET)


def _count(value: Any) -> int:
    """Return a number as it is, a list's or an object's length; 0 where it is neither, for others to refuse."""
    if isinstance(value, (list, dict)):
        return len(value)
    return value if isinstance(value, int) else 0


def _most(name: str, count: int, most: int) -> None:
    if count > most:
        raise ArgumentError(wanted(name, f"at most {most:,}", count, "use larger ones from Python"))
