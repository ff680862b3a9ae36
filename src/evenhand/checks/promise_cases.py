"""Promises beyond fixed shares, as cases to be tried, and the books in which they are counted.

Nothing is taken from the policy but its decisions and what it says about changes: which shares it drops, and after how
many rounds a new arm's promise begins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

__all__ = ["KINDS", "Books", "Case", "drawn_case", "small_cases"]

KINDS = ("slates", "caps", "sets", "windows", "arms on offer", "segments", "changes")


class Case(NamedTuple):
    """A promise of one kind, over arms 0 .. arms - 1."""

    kind: str
    arms: int
    shares: dict[Any, Fraction] | None = None
    tolerance: float = 0.0
    plays: int = 1
    caps: dict[int, Fraction] | None = None
    cap_tolerance: float = 0.0
    windows: dict[int, tuple[int, int]] | None = None
    change_at: int = 0
    """After which round the shares turn around, where they do."""

    def __str__(self) -> str:
        said = [f"{self.kind}"]
        if self.shares is not None:
            said.append(f"shares {{{', '.join(f'{key}: {share}' for key, share in self.shares.items())}}}")
        said += [
            f"{name} {value}"
            for name, value in (("plays", self.plays), ("windows", self.windows))
            if value not in (1, None)
        ]
        if self.caps is not None:
            caps = ", ".join(f"{arm}: {cap}" for arm, cap in self.caps.items())
            said.append(f"caps {{{caps}}}, cap_tolerance {self.cap_tolerance:g}")
        return ", ".join([*said, f"tolerance {self.tolerance:g}"])


@dataclass
class Owed:
    """A floor, counted since its share was set: N >= floor(r A + carried) - a."""

    arms: tuple[int, ...]
    share: Fraction
    carried: Fraction = Fraction(0)
    rounds: int = 0
    plays: int = 0

    @property
    def behind(self) -> Fraction:
        """r A + carried - N, at least 0."""
        return max(Fraction(0), self.share * self.rounds + self.carried - self.plays)


class Books:
    """Counts what is owed, round by round, in fractions."""

    def __init__(self, case: Case) -> None:
        self._case, self._slack, self._ahead = case, math.floor(case.tolerance), math.floor(case.cap_tolerance)
        shares = case.shares or {}
        self.floors = [Owed(key if isinstance(key, tuple) else (key,), share) for key, share in shares.items()]
        self.rounds, self._pulls = 0, [0] * case.arms
        self._past: list[tuple[int, ...]] = []

    def enter(self, offered: Sequence[int], played: Sequence[int]) -> tuple[int, str] | None:
        """Count a round; return by how many plays a promise is now broken, and which; None if all are kept."""
        self.rounds += 1
        self._past.append(tuple(played))
        for arm in played:
            self._pulls[arm] += 1
        for owed in self.floors:
            if len(owed.arms) > 1 or owed.arms[0] in offered:
                owed.rounds += 1
                owed.plays += sum(arm in played for arm in owed.arms)
            due = math.floor(owed.share * owed.rounds + owed.carried) - self._slack
            if owed.plays < due:
                who = f"arm {owed.arms[0]}" if len(owed.arms) == 1 else f"arms {owed.arms} together"
                return due - owed.plays, f"{who} had {owed.plays} of the {due} pulls owed in {owed.rounds} rounds"
        for arm, cap in (self._case.caps or {}).items():
            most = math.ceil(cap * self.rounds) + self._ahead
            if self._pulls[arm] > most:
                return self._pulls[arm] - most, f"arm {arm} had {self._pulls[arm]} pulls where {most} are allowed"
        for arm, (least, length) in (self._case.windows or {}).items():
            times = sum(arm in played for played in self._past[-length:])
            if self.rounds >= length and times < least:
                return least - times, f"arm {arm} had {times} of the {least} pulls owed in the last {length} rounds"
        return None

    def change(self, shares: dict[int, Fraction], dropped: Any) -> str | None:
        """Begin to count anew from other shares; return what is wrong with what the policy says that it dropped."""
        for owed in self.floors:
            (arm,) = owed.arms
            behind, said = owed.behind, float(dropped.get(arm, 0.0))
            if arm in dropped and not (abs(said - behind) < 1e-6 and said < self._slack + 1):
                return f"it says that {said:g} pulls of arm {arm} are dropped where it was behind by {float(behind):g}"
            carried = Fraction(0) if arm in dropped else behind
            owed.share, owed.carried, owed.rounds, owed.plays = shares.get(arm, Fraction(0)), carried, 0, 0
        return None

    def retire(self, arm: int) -> None:
        """An arm is owed nothing any more."""
        self.add(arm, Fraction(0), 0)

    def add(self, arm: int, share: Fraction, wait: int) -> None:
        """An arm is owed a share from so many rounds on."""
        owed = next(owed for owed in self.floors if owed.arms == (arm,))
        owed.share, owed.carried, owed.rounds, owed.plays = share, -wait * share, 0, 0


def small_cases() -> Iterator[tuple[Case, int]]:
    """Yield cases of every kind and how many rounds of each are tried in every way."""
    half, third, quarter = Fraction(1, 2), Fraction(1, 3), Fraction(1, 4)
    one, none = Fraction(1), Fraction(0)
    for slate in ((2 * third, 2 * third, 2 * third), (one, half, half), (half, half, half)):
        yield Case("slates", 3, dict(enumerate(slate)), plays=2), 3
    for caps in ({0: 2 * third, 1: third}, {0: half, 1: half}):
        yield Case("caps", 3, {0: third, 1: third, 2: none}, caps=caps), 5
    yield Case("sets", 3, {0: none, 1: third, 2: third, (0, 1): 2 * third}), 5
    yield Case("sets", 3, {0: quarter, 1: none, 2: half, (0, 1): half}), 5
    for windows in ({0: (1, 2), 1: (1, 4), 2: (1, 4)}, {0: (1, 3), 1: (2, 4)}, {0: (1, 2), 1: (1, 2)}):
        yield Case("windows", 3, windows=windows), 5
    for shares in ((half, half), (2 * third, third), (one, none)):
        yield Case("arms on offer", 2, dict(enumerate(shares))), 3
    yield Case("segments", 2, {0: half, 1: half}), 4
    for shares in ((quarter, 3 * quarter), (half, half), (third, 2 * third)):
        yield Case("changes", 2, dict(enumerate(shares)), change_at=3), 7


def drawn_case(kind: str, random: np.random.Generator) -> Case:
    """Return a case of a kind, of up to nine arms."""
    arms = int(random.integers(3, 9))
    plays = int(random.integers(2, arms)) if kind == "slates" else 1
    tolerance = float(random.choice([0.0, 0.0, 0.5, 1.0, 2.3]))
    if kind == "windows":
        lengths = [int(random.integers(2, 40)) for _ in range(arms)]
        windows = {arm: (1, length * arms) for arm, length in enumerate(lengths)}
        return Case(kind, arms, windows=windows)
    weights = [int(weight) for weight in random.integers(0, 30, arms)]
    total = sum(weights) + 1 + int(random.choice([0, 0, 3, 40, 40 if kind != "changes" else 4000]))
    weights[0] += 1
    shares: dict[Any, Fraction] = {arm: min(Fraction(1), Fraction(w * plays, total)) for arm, w in enumerate(weights)}
    if kind == "sets":
        shares[tuple(range(arms // 2))] = sum((shares[arm] for arm in range(arms // 2)), Fraction(1, 10 * total))
        return Case(kind, arms, shares, tolerance)
    if kind == "caps":
        ahead = float(random.choice([0.0, 1.0, 2.5]))
        caps = {arm: shares[arm] + Fraction(int(random.integers(1, 10)), 100) for arm in range(0, arms, 2)}
        return Case(
            kind, arms, shares, tolerance, caps={a: min(c, Fraction(1)) for a, c in caps.items()}, cap_tolerance=ahead
        )
    return Case(kind, arms, shares, tolerance, plays, change_at=1 if kind == "changes" else 0)
