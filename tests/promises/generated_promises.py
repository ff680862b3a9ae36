"""One generator of promises for checks and tests: any of the parts that a promise can be made of, small or large.

Small ones have up to four arms and shares of small denominators, so that all states they can come to are few; large
ones up to nine arms, shares with denominators of hundreds, sums of exactly all rounds and tiny shares.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from evenhand.errors import ArgumentError, SharesError
from evenhand.promises.promise import Promise

__all__ = ["PARTS", "Case", "drawn_case", "drawn_promise"]

PARTS = ("floors", "sets", "slates", "caps", "windows", "arms on offer", "changes", "lottery")
TRIES = 60
"""How often clauses are drawn anew where no rule is known that keeps them together."""


class Case(NamedTuple):
    """A promise to be tried, over arms 0, 1, ..., and how."""

    promise: Promise
    parts: frozenset[str]
    lottery: float | None = None
    """With which floor decisions are drawn, where they are."""


def drawn_case(parts: Collection[str], random: np.random.Generator, small: bool = True) -> Case | None:
    """Return a case with these parts, None where none was found that can be promised."""
    promise = drawn_promise(parts, random, small)
    lottery = float(random.choice([0.2, 0.5, 1.0])) if "lottery" in parts else None
    return None if promise is None else Case(promise, frozenset(parts), lottery)


def drawn_promise(
    parts: Collection[str], random: np.random.Generator, small: bool = True, like: Promise | None = None
) -> Promise | None:
    """Return a promise with these parts of `PARTS`, of the arms and plays of another where one is given; None where in
    `TRIES` draws there is none that a rule is known for.

    Examples
    --------
    >>> print(drawn_promise({"sets", "caps"}, np.random.default_rng(3)))
    0, 3 together at least 3/4 of the rounds; 0 at most 3/4 of the rounds; every arm is always on offer
    """
    for _ in range(TRIES):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                return Promise(**_clauses(frozenset(parts), random, small, like))
        except (ArgumentError, SharesError):
            continue
    return None


def _clauses(parts: frozenset[str], random: np.random.Generator, small: bool, like: Promise | None) -> dict[str, Any]:
    """Return arguments of a promise, of which nobody knows yet whether it can be kept."""

    def below(bound: int) -> int:
        return int(random.integers(bound))

    arms = (3 if parts & {"sets", "slates"} else 2) + below(2) if small else 3 + below(7)
    plays = min(arms - 1, 2 if small else 2 + below(3)) if "slates" in parts else 1
    if like is not None:
        arms, plays = len(like.arms), like.plays
    owed = "floors" in parts or not parts & {"sets", "caps", "windows"}
    tolerance = float(random.choice([0.0, 0.0, 1.0, 2.3])) if owed or "sets" in parts else 0.0
    given: dict[str, Any] = {"plays": plays, "tolerance": tolerance}
    crowded = len(parts & {"floors", "sets", "caps", "windows"}) > 1 and "windows" in parts
    weights = [below(4 if small else 1000) if owed and below(3) else 0 for _ in range(arms)]
    if owed and not any(weights):
        weights[below(arms)] = 1
    members = tuple(sorted(random.choice(arms, 2 + below(arms - 2), replace=False).tolist())) if arms > 2 else ()
    extra = 1 + below(3 if small else 300) if "sets" in parts and members else 0
    used = sum(weights) + extra
    rest = [0, 1, 3][below(3)] if small else [0, below(300), 10 ** (1 + below(5))][below(3)]
    total = max(1, used + rest + (used if crowded else 0))
    shares: dict[Any, Fraction] = {arm: min(Fraction(1), Fraction(w * plays, total)) for arm, w in enumerate(weights)}
    if extra:
        inside = sum((shares[arm] for arm in members), Fraction(extra * plays, total))
        shares[members] = min(Fraction(plays), inside)
    given["shares"] = shares
    capped = [arm for arm in range(arms) if "caps" in parts and below(2)]
    if "caps" in parts:
        finest = 4 if small else 100
        caps = {arm: shares[arm] + Fraction(1 + below(finest), finest) / (1 + below(2)) for arm in capped or [0]}
        given |= {"caps": {arm: min(cap, Fraction(1)) for arm, cap in caps.items()}}
        given["cap_tolerance"] = float(random.choice([0.0, 0.0, 1.0, 2.5]))
    if "windows" in parts:
        longest = 5 if small else 12 * arms
        free = [arm for arm in range(arms) if arm not in capped and not shares[arm]] or [0]
        chosen = [arm for arm in free if below(2)] or free[:1]
        windows: dict[Any, Any] = {arm: (1 + (below(4) == 0), 2 + below(longest)) for arm in chosen}
        if "sets" in parts and members and below(3) == 0:
            windows[members] = 1, 1 + below(longest)
        given["windows"] = windows
    given["offers"] = "all" if "windows" in parts else None
    if "arms on offer" in parts:
        uncapped = [arm for arm in range(arms) if arm not in capped][: plays + below(2)]
        given["offers"] = uncapped if below(2) else "any"
    return given
