"""Size limits for untrusted input: descriptions of policies, contexts and reports; counted before any work is done."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from evenhand import registry
from evenhand.errors import ArgumentError, expected
from evenhand.policy.traits import traits_of

MOST_ARMS = 1_000
MOST_CANDIDATES = 100
MOST_INDIVIDUALS = 200
LARGEST_BUDGET = 10**8
LARGEST_TABLE = 10**7
"""Numbers in the largest table that a policy may keep."""
MOST_SHOWN = 100_000
"""Numbers in the contexts of one decision."""
LARGEST_FIT = 4 * 10**6
"""Numbers that a group policy may keep for its estimates: arms times the square of the features."""
MOST_TOGETHER = 4 * 10**6
"""The total of all decisions of one request: numbers in contexts, pairs of individuals."""
MOST_PAIRS = 20_000
"""Pairs of individuals that one report may name."""


def check_sizes(name: str, arguments: dict[str, Any]) -> None:
    """Refuse the arguments of a policy that would need too much of a server's memory.

    Raises
    ------
    ArgumentError
        If there are too many arms, features or combinations of states.
    """
    for label in ("arms", "groups", "shares"):
        _most(label, _count(arguments.get(label)), MOST_ARMS)
    if "dimension" in arguments or "theta" in arguments:
        dimension = _count(arguments.get("dimension", arguments.get("theta")))
        individuals = _count(arguments.get("individuals"))
        _most("individuals", individuals, MOST_INDIVIDUALS)
        metric = arguments.get("metric")
        copies = 1 if metric is None or metric.shared else max(1, individuals * (individuals - 1) // 2)
        _most("numbers that the metric learner keeps", copies * dimension**4, 4 * LARGEST_TABLE)
    if name == "problem":
        sizes = [_count(states) for states in arguments["states"].values()]
        _most("candidates", _count(arguments["candidates"]), MOST_CANDIDATES)
        _most("states (combinations, by candidates)", math.prod(sizes) * _count(arguments["candidates"]), LARGEST_TABLE)
    _most("budget", _count(arguments.get("budget")), LARGEST_BUDGET)


def check_encoded(policy: Any) -> None:
    """Refuse an encoder whose numbers would need too much of a server's memory.

    Raises
    ------
    ArgumentError
        If it makes too many numbers of a row.
    """
    _most(
        "encoder: arms by the square of its numbers",
        len(policy.arms or ()) * len(policy.contexts.encoder.names) ** 2,
        LARGEST_FIT,
    )


def check_shown(name: str, asks: Iterable[dict[str, Any]]) -> None:
    """Refuse contexts for which a policy would need much time or memory, or the log much space.

    Parameters
    ----------
    name : the policy's.
    asks : the arguments of each decision of one request.

    Raises
    ------
    ArgumentError
        If the contexts of one decision, or of all together, are too large.
    """
    given = (shown.get("contexts") for shown in asks)
    every = [contexts for contexts in given if contexts is not None and len(contexts)]
    if not every:
        return
    work, numbers, pairs = traits_of(registry.get(name).cls).work, 0, 0
    for contexts in every:
        rows, own, features = _shape(contexts)
        _most("contexts: numbers in one decision", own, MOST_SHOWN)
        if work == "pairs":
            _most("contexts: individuals", rows, MOST_INDIVIDUALS)
            pairs += rows * rows
        if work == "squares":
            _most("contexts: arms by the square of their features", rows * features**2, LARGEST_FIT)
        numbers += own
    _most("contexts: numbers in one request", numbers, MOST_TOGETHER)
    _most("contexts: pairs of individuals in one request", pairs, MOST_TOGETHER)


def check_pairs(told: dict[str, Any]) -> None:
    """Refuse a report that names more pairs of individuals than a round can have.

    Raises
    ------
    ArgumentError
        If there are too many.
    """
    for name in ("violations", "acceptable"):
        _most(f"{name}: pairs", _count(told.get(name)), MOST_PAIRS)


def _shape(contexts: Any) -> tuple[int, int, int]:
    """Return the rows, cells and columns of contexts: a list of rows, a data frame, or a dict for one row."""
    if isinstance(contexts, dict):
        return 1, len(contexts), len(contexts)
    if isinstance(contexts, list):
        return len(contexts), sum(map(len, contexts)), len(contexts[0])
    rows, features = contexts.shape
    return rows, rows * features, features


def _count(value: object) -> int:
    """Return a number as it is, or the length of a list or object; 0 for anything else, which others refuse."""
    if isinstance(value, (list, dict)):
        return len(value)
    return value if isinstance(value, int) else 0


def _most(name: str, count: int, most: int) -> None:
    if count > most:
        raise ArgumentError(expected(name, f"at most {most:,}", count, "use larger ones from Python"))
