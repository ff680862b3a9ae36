"""What is promised: at every round t every arm i has had at least floor(r_i t) - alpha pulls.

Source: V. Patil, G. Ghalme, V. Nair, Y. Narahari, "Achieving Fairness in the Stochastic Multi-armed Bandit Problem",
Journal of Machine Learning Research 22 (2021), Definition 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.arguments import as_float, is_whole
from evenhand.errors import ArgumentError, SharesError, wanted
from evenhand.kernels.arrays import Floats
from evenhand.kernels.due_times import NEVER, Pace, Position, pace, position
from evenhand.labels import by_label
from evenhand.protocol import Label, arm_labels

__all__ = ["Promise", "read_share", "read_tolerance"]

ROUNDING = Fraction(1, 10**12)
COARSE_ROUNDING = Fraction(1, 10**5)
"""A sum of shares this close above one is rounding in double precision (in a coarser one), not a wish."""
FINEST = (1 << 60) // 10**9
"""The largest common denominator of shares that were written exactly, beside floats that need a grid of their own."""
MOST_BITS = 4096
"""Of a common denominator: floats alone, the smallest included, never need more."""
SMALLEST, LARGEST = -60, 2
"""Powers of ten outside these are a slip of the keyboard, not a share, not even in percent."""


def read_share(
    share: Any, name: str = "shares", mend: str = "a share is the part of the rounds that an arm is owed"
) -> Fraction:
    """Return the number that the user wrote: 0.07 is 7/100, 1/3 computed in floating point is one third.

    A float is read as its shortest decimal; where that is long, as the fraction with a denominator up to a million that
    has the very same float, if there is one. Fractions, decimals, integers and text ("1/3", "0.07", "7%") are taken as
    they are.

    >>> read_share(0.07), read_share(1 / 3), read_share("2%")
    (Fraction(7, 100), Fraction(1, 3), Fraction(1, 50))

    Raises
    ------
    SharesError
        If it is not a finite number from 0 to 1.
    """
    given = share
    if isinstance(share, np.generic):
        share = float(str(share)) if isinstance(share, np.floating) else share.item()
    try:
        if isinstance(share, float):
            value = _written(share)
        elif isinstance(share, str):
            percent = share.strip().endswith("%")
            value = _exact(share.strip().removesuffix("%").strip() if percent else share) / (100 if percent else 1)
        elif isinstance(share, (int, Fraction, Decimal)) and not isinstance(share, bool):
            value = _exact(share)
        else:
            raise TypeError
        if not 0 <= value.numerator <= value.denominator:
            raise ValueError
    except (ArithmeticError, TypeError, ValueError) as error:
        raise SharesError(wanted(name, "numbers from 0 to 1", given, mend)) from error
    return value


def _written(share: float) -> Fraction:
    """Return the fraction that was written: the shortest decimal, or a simpler fraction of the very same float."""
    numerator, denominator = Decimal(repr(share)).as_integer_ratio()
    if denominator > 10**9:
        # a fraction p/q with q <= 10^6 that is this float is the last convergent of its continued fraction up to there
        a, b = share.as_integer_ratio()
        p, q, p_before, q_before = 0, 1, 1, 0
        while b and (a // b) * q_before + q <= 10**6:
            whole, rest = divmod(a, b)
            p, q, p_before, q_before = p_before, q_before, whole * p_before + p, whole * q_before + q
            a, b = b, rest
        if q_before and p_before / q_before == share:
            return Fraction(p_before, q_before)
    return Fraction(numerator, denominator)


def _exact(share: int | str | Fraction | Decimal) -> Fraction:
    """Return the fraction that was written; exponents that no share can have are never expanded."""
    number = Decimal(share) if isinstance(share, str) and "e" in share.lower() else share
    if isinstance(number, Decimal) and number and not SMALLEST <= number.adjusted() <= LARGEST:
        raise ValueError
    return Fraction(number)


def read_tolerance(tolerance: Any, name: str = "tolerance", mend: str = "use 0.0 for the strict promise") -> float:
    """Return the tolerance alpha as a float >= 0.

    Raises
    ------
    ArgumentError
        If it is negative or not a finite number.
    """
    value = as_float(tolerance)
    if not 0 <= value < math.inf:
        raise ArgumentError(wanted(name, "a finite number >= 0", tolerance, mend))
    return value


@dataclass(frozen=True)
class Promise:
    """Shares r_i and tolerance alpha: N_i(t) >= floor(r_i t) - alpha for every arm i at every round t.

    The left side is whole, so floor(alpha) decides; everything here is exact.

    Attributes
    ----------
    arms : the labels (n_arms,).
    shares : the shares as exact fractions (n_arms,).
    tolerance : alpha >= 0, in pulls.
    plays : how many arms are played in a round, none twice.
    caps : c_i for each arm, None for an arm without: N_i(t) <= ceil(c_i t) + floor(cap_tolerance) at every round t.
    cap_tolerance : by how many pulls an arm may be ahead of its cap.
    behind : by how much r_i t - N_i(t) may be above 0 for each arm, exactly, in the tolerance's place; None without.
    sets : what sets of arms are owed together, the smaller sets before the larger: N_Q(t) >= floor(r_Q t) - alpha.
    """

    arms: tuple[Label, ...]
    shares: tuple[Fraction, ...]
    tolerance: float = 0.0
    plays: int = field(default=1, repr=False)
    caps: tuple[Fraction | None, ...] | None = field(default=None, repr=False)
    cap_tolerance: float = field(default=0.0, repr=False)
    behind: tuple[Fraction, ...] | None = field(default=None, repr=False)
    sets: tuple[tuple[tuple[Label, ...], Fraction], ...] = field(default=(), repr=False)

    @classmethod
    def read(
        cls, shares: Any, tolerance: Any = 0.0, arms: int | Sequence[Label] | None = None, plays: int = 1
    ) -> Promise:
        """Read shares as the user gave them: a list, a dict or Series arm -> share, or with `arms` one number for each
        arm.

        >>> Promise.read({"a": 0.5, "b": "1/3"}).shares
        (Fraction(1, 2), Fraction(1, 3))

        Raises
        ------
        SharesError
            If a share is not a number from 0 to 1, there is not one for each arm, an arm is named twice, or they sum
            to more than the plays of a round.
        """
        one = isinstance(shares, (str, bytes)) or not hasattr(shares, "__iter__") or getattr(shares, "ndim", 1) == 0
        if one and arms is None:
            raise SharesError(
                wanted("shares", "a list, or a dict arm -> share", shares, "or give arms= beside one number")
            )
        by_arm = [] if one else by_label(shares, "shares", "a list, or a dict arm -> share", refusal=SharesError)
        if isinstance(by_arm, dict):
            labels = arm_labels(list(by_arm) if arms is None else arms)
            known = set(labels)
            unknown = [label for label in by_arm if label not in known]
            missing = [label for label in labels if label not in by_arm]
            if unknown or missing:
                which = f"no arm {unknown[0]!r}" if unknown else f"no share for arm {missing[0]!r}"
                raise SharesError(wanted("shares", f"one for each of the arms {list(labels)}", which))
            given = [by_arm[label] for label in labels]
        else:
            labels = arm_labels(len(by_arm) if arms is None else arms)
            given = [shares] * len(labels) if one else by_arm
            if len(given) != len(labels):
                raise SharesError(wanted("shares", f"{len(labels)}, one an arm", f"{len(given)} of them"))
        read = [read_share(share, f"shares[{label!r}]") for label, share in zip(labels, given, strict=True)]
        exact = [not isinstance(share, (float, np.floating)) for share in given]
        common = _common([share.denominator for share in read], 1 << MOST_BITS)
        units = [share.numerator * (common // share.denominator) for share in read]
        excess = Fraction(sum(units) - plays * common, common)
        if 0 < excess <= max(map(_rounding, given)):
            roughest = max(range(len(read)), key=lambda i: (read[i] > excess, read[i].denominator))
            read[roughest] -= excess
        elif excess > 0:
            raise SharesError(
                f"shares: they sum to {float(plays + excess):.12g}, more than {plays} by {float(excess):.3g}; "
                f"no rule can keep that promise: scale them by {plays / float(plays + excess):.6f} or lower"
            )
        return cls(labels, tuple(_countable(read, exact, plays)), read_tolerance(tolerance), plays)

    def capped(self, caps: Any, cap_tolerance: Any = 0.0) -> Promise:
        """Return the promise with caps as the user gave them: a list, a dict or Series arm -> cap, where arms may be
        left out, or one number for every arm.

        >>> Promise.read({"a": 0.5, "b": 0.2}).capped({"b": "30%"}).caps
        (None, Fraction(3, 10))

        Raises
        ------
        SharesError
            If a cap is not a number from 0 to 1 or below the arm's share, the caps sum to less than one, or several
            arms are played in a round.
        """
        if self.sets:
            mend = "no rule is known to keep both"
            raise SharesError(wanted("caps", "None beside shares of sets of arms", caps, mend))
        if self.plays > 1:
            mend = "use one play a round, or leave the caps out"
            what = f"None beside plays={self.plays}: no rule is known to keep both"
            raise SharesError(wanted("caps", what, caps, mend))
        one = isinstance(caps, (str, bytes)) or not hasattr(caps, "__iter__")
        given = [caps] * len(self.arms) if one else by_label(caps, "caps", "a dict arm -> cap", refusal=SharesError)
        by_arm = given if isinstance(given, dict) else dict(zip(self.arms, given, strict=False))
        unknown = [label for label in by_arm if label not in self.arms]
        if unknown or (isinstance(given, list) and len(given) != len(self.arms)):
            got = f"no arm {unknown[0]!r}" if unknown else f"{len(given)} of them"
            raise SharesError(wanted("caps", f"at most one for each of the arms {list(self.arms)}", got))
        what = "a cap is the largest part of the rounds that an arm may have"
        read = tuple(
            None if by_arm.get(arm) is None else read_share(by_arm[arm], f"caps[{arm!r}]", what) for arm in self.arms
        )
        for arm, share, cap in zip(self.arms, self.shares, read, strict=True):
            if cap == 0:
                raise SharesError(wanted(f"caps[{arm!r}]", "a cap above 0", 0, "leave out an arm that is never played"))
            if cap is not None and cap < share:
                mend = "raise the cap or lower the share"
                raise SharesError(wanted(f"caps[{arm!r}]", f"at least its share {float(share):g}", float(cap), mend))
        total = sum((Fraction(1) if cap is None else cap) for cap in read)
        if total < 1:
            mend = f"raise them by {float(1 - total):g} in all, or leave one arm without"
            raise SharesError(wanted("caps", "a sum of at least 1, as every round plays an arm", float(total), mend))
        _common([cap.denominator for cap in read if cap is not None], 1 << 60)
        ahead = read_tolerance(cap_tolerance, "cap_tolerance", "use 0.0 for the strict cap")
        if ahead >= NEVER * float(min(cap for cap in (*read, Fraction(1)) if cap is not None)):
            raise ArgumentError(wanted("cap_tolerance", "a number of pulls that some conversation reaches", ahead))
        return replace(self, caps=read, cap_tolerance=ahead)

    @property
    def slack(self) -> int:
        """floor(alpha): by how many pulls an arm may be behind."""
        return math.floor(self.tolerance)

    def owed(self, round: int) -> list[int]:
        """Return how many pulls each arm must have had at the end of round t: max(0, floor(r_i t) - floor(alpha)), or
        max(0, ceil(r_i t - b_i)) where it is said exactly by how much it may be behind."""
        if self.behind is not None:
            return [max(0, math.ceil(r * round - b)) for r, b in zip(self.shares, self.behind, strict=True)]
        return [max(0, share.numerator * round // share.denominator - self.slack) for share in self.shares]

    def limited(self, behind: Any) -> Promise:
        """Return the promise r_i t - N_i(t) <= b_i at every round, exactly, in the place of the tolerance.

        A tolerance of 0 is b_i = 1 - 1/q_i for a share p_i/q_i in lowest terms. Several workers that decide at once
        keep a tolerance together if theirs add up to it.

        >>> Promise.read({"a": "1/2", "b": "1/4"}).limited({"a": "1/2", "b": 1}).owed(3)
        [1, 0]

        Raises
        ------
        SharesError
            If there is not one number >= 0 for each arm, or no rule could keep them.
        """
        one = isinstance(behind, (str, bytes)) or not hasattr(behind, "__iter__")
        given = [behind] * len(self.arms) if one else by_label(behind, "behind", "a number an arm", refusal=SharesError)
        by_arm = given if isinstance(given, dict) else dict(zip(self.arms, given, strict=False))
        if len(given) != len(self.arms) or set(by_arm) != set(self.arms):
            raise SharesError(wanted("behind", f"one for each of the arms {list(self.arms)}", behind))
        limits = tuple(_read_limit(by_arm[arm], f"behind[{arm!r}]") for arm in self.arms)
        return replace(self, behind=limits)

    def kept(self, pulls: Any, round: int) -> bool:
        """Say whether pulls, a list or a dict arm -> pulls, keep the promise at the end of round t.

        >>> promise = Promise.read([0.5, 0.25])
        >>> promise.kept([1, 1], 4), promise.kept({0: 2, 1: 1}, 4)
        (False, True)

        Raises
        ------
        ArgumentError
            If there is not one number of pulls for each arm, or the round is no whole number >= 0.
        """
        counts = by_label(pulls, "pulls", "a number for each arm: a list, or a dict arm -> pulls")
        if isinstance(counts, dict):
            counts = [counts.get(arm) for arm in self.arms]
        if len(counts) != len(self.arms) or not all(map(is_whole, counts)):
            raise ArgumentError(wanted("pulls", f"a whole number for each of the arms {list(self.arms)}", pulls))
        if not is_whole(round) or round < 0:
            raise ArgumentError(wanted("round", "a whole number >= 0", round))
        pulls = counts
        enough = all(n >= owed for n, owed in zip(pulls, self.owed(round), strict=True))
        by_arm = dict(zip(self.arms, pulls, strict=True))
        together = all(
            sum(by_arm[arm] for arm in members) >= share.numerator * round // share.denominator - self.slack
            for members, share in self.sets
        )
        return enough and together and all(n <= most for n, most in zip(pulls, self.most(round), strict=True))

    def overlap(self) -> tuple[tuple[Label, ...], tuple[Label, ...]] | None:
        """Return two sets that overlap without one being inside the other, None where there are none."""
        for i, (one, _) in enumerate(self.sets):
            for other, _ in self.sets[i + 1 :]:
                if set(one) & set(other) and not set(one) <= set(other):
                    return one, other
        return None

    def most(self, round: int) -> list[float]:
        """Return how many pulls each arm may have at the end of round t, infinity where it has no cap."""
        caps = self.caps or (None,) * len(self.arms)
        ahead = math.floor(self.cap_tolerance)
        return [math.inf if cap is None else -(-cap.numerator * round // cap.denominator) + ahead for cap in caps]

    def fixed_point(self) -> tuple[list[int], int]:
        """Return the shares, exactly, as numerators over one common denominator below 2^60."""
        return self._fixed_point

    @cached_property
    def _fixed_point(self) -> tuple[list[int], int]:
        denominator = math.lcm(*{share.denominator for share in self.shares})
        return [share.numerator * (denominator // share.denominator) for share in self.shares], denominator

    def pace(self) -> Pace:
        """Return the shares in the integers that kernels use."""
        return pace(*self.fixed_point())

    def start(self) -> Position:
        """Return, in the integers that kernels use, when each arm's first pull falls due; rounded up it is a round.

        N_i pulls are enough up to the largest round t with q_i N_i + floor(q_i b_i) >= p_i t, so the next is due at
        (q_i N_i + floor(q_i b_i) + 1) / p_i.
        """
        if self.behind is None:
            return self.position(self.slack + 1)
        numerators, denominator = self.fixed_point()
        found = self.position(self.slack + 1)
        for arm, (share, limit) in enumerate(zip(self.shares, self.behind, strict=True)):
            if share:
                due = (math.floor(share.denominator * limit) + 1) * (denominator // share.denominator)
                found.whole[arm], found.rest[arm] = divmod(due, numerators[arm])
        return found

    def position(self, enough: int) -> Position:
        """Return, in the integers that kernels use, the times up to which `enough` pulls satisfy each share."""
        return position(*self.fixed_point(), enough)

    def floats(self) -> Floats:
        """Return the shares (n_arms,) as floats."""
        return np.array([float(share) for share in self.shares])


def _read_limit(limit: Any, name: str) -> Fraction:
    """Return an exact number >= 0, written as a share is, of any size."""
    try:
        value = _written(limit) if isinstance(limit, float) else _exact(limit)
        if isinstance(limit, bool) or value < 0:
            raise ValueError
    except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
        raise SharesError(wanted(name, "a number >= 0, such as 0.45 or '9/20'", limit)) from error
    return value


def _rounding(share: Any) -> Fraction:
    """Return by how much a sum with this share may pass one: rounding in its own precision."""
    coarse = isinstance(share, np.floating) and np.finfo(share.dtype).eps > ROUNDING
    return COARSE_ROUNDING if coarse else ROUNDING


def _common(denominators: Iterable[int], most: int) -> int:
    """Return a common denominator.

    Raises
    ------
    SharesError
        If there is none up to `most`.
    """
    common = 1
    for denominator in set(denominators):
        common = math.lcm(common, denominator)
        if common > most:
            raise SharesError(
                f"shares: wanted fractions with a common denominator below {FINEST:.2g}, "
                f"got a finer one; write them with fewer digits, or as floats"
            )
    return common


def _countable(shares: list[Fraction], exact: list[bool], plays: int) -> list[Fraction]:
    """Return the shares with a common denominator below 2^60, as kernels count them.

    Floating point numbers with long decimals are rounded up to a grid no coarser than 10^-9, and usually 10^-17, which
    promises more, not less; where that would pass the sum of the plays, some of them are rounded down. What was written
    exactly is never touched.
    """
    if math.lcm(*{share.denominator for share in shares}) < 1 << 60:
        return shares
    sure = zip(shares, exact, strict=True)
    common = _common((share.denominator for share, is_exact in sure if is_exact or share.denominator <= 10**6), FINEST)
    grid = common * 10 ** int(math.log10((1 << 60) / common))
    units = [-(-share.numerator * grid // share.denominator) for share in shares]
    for i in sorted(range(len(units)), key=lambda i: -shares[i].denominator)[: max(0, sum(units) - plays * grid)]:
        units[i] -= 1
    return [Fraction(n, grid) for n in units]
