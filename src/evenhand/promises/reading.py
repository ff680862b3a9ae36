"""Read what users write into a promise: shares, caps, windows and tolerances, for arms and sets of arms.

Each reader returns exact numbers by label, or refuses by name what cannot be one. Nothing else in evenhand reads them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from evenhand.arguments import as_float, is_whole
from evenhand.errors import ArgumentError, SharesError, Wording, expected, expected_one_of, figure, of_one_type
from evenhand.labels import Labels, is_by_label
from evenhand.promises.amounts import amount_of
from evenhand.protocol import Label, arm_labels, as_label

Members = tuple[Label, ...]
Window = tuple[int, int]

ROUNDING = Fraction(1, 10**12)
COARSE_ROUNDING = Fraction(1, 10**5)
"""A sum of shares this close above one is rounding in double precision (in a coarser one), not a proposal."""
FINEST = (1 << 60) // 10**9
"""The largest common denominator of shares that were written exactly, beside floats that need a grid of their own."""
MOST_BITS = 4096
"""Of a common denominator: floats alone, the smallest included, never need more."""
SMALLEST, LARGEST = -60, 2
"""Powers of ten outside these are a slip of the keyboard, not a share, not even in percent."""
LONGEST = 1_000_000
"""Rounds of a window."""
MOST_TOKENS = 10_000
"""Plays in all windows."""


def read_share(
    share: object, name: str = "shares", hint: str = "a share is the fraction of the rounds that an arm is owed"
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
        raise SharesError(expected(name, "numbers from 0 to 1", given, hint)) from error
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


def read_tolerance(tolerance: object, name: str = "tolerance", hint: str = "use 0.0 for the strict promise") -> float:
    """Return the tolerance alpha as a float >= 0, whose shortest decimal is the one that text writes.

    Raises
    ------
    ArgumentError
        If it is negative or not a finite number, or text that no float says.
    """
    written = amount_of(tolerance) if isinstance(tolerance, str) else None
    value = as_float(tolerance if written is None else float(written))
    if not 0 <= value < math.inf or (written is not None and Decimal(repr(value)) != written):
        raise ArgumentError(expected(name, "a finite number >= 0", tolerance, hint))
    return value


def read_window(window: Any, name: str) -> Window:
    """Return a window (c, a): at least c plays in any a consecutive rounds; a number alone is (1, a).

    >>> read_window(10, "windows['new']"), read_window((2, 25), "windows['old']")
    ((1, 10), (2, 25))

    Raises
    ------
    SharesError
        If it is neither.
    """
    pair = (1, window) if is_whole(window) else window
    sound = isinstance(pair, (tuple, list)) and len(pair) == 2 and all(is_whole(number) for number in pair)
    if not sound or not 1 <= pair[0] <= pair[1] <= LONGEST:
        pairs = Wording("(plays, rounds)", shell="plays/rounds")
        say = Wording("a number of rounds, or ", pairs, f" with 1 <= plays <= rounds <= {LONGEST:,}")
        refusal = expected(name, say, window)
        if sound and pair is window:
            refusal.got = Wording("/".join(map(str, pair)))  # as it is typed
        raise SharesError(refusal)
    return int(pair[0]), int(pair[1])


def is_set(key: object) -> bool:
    """Return whether a key names arms together rather than one arm."""
    return isinstance(key, (tuple, frozenset))


def key_of(members: Members) -> Any:
    """Return the key by which users name one arm, or several together."""
    return members[0] if len(members) == 1 else members


def in_all(given: object) -> bool:
    """Return whether what is given is one value for all arms, rather than one for each."""
    return isinstance(given, (str, bytes)) or not np.iterable(given)


def name_arms(*given: object, arms: int | Sequence[Label] | None = None) -> tuple[Label, ...]:
    """Return the arms in the order in which dicts of shares, caps and windows first name them.

    Raises
    ------
    ArgumentError, SharesError
        If none are named, or a label is none.
    """
    if arms is not None:
        return arm_labels(arms, least=1)
    named: list[Any] = []
    for one in given:
        if one is None or in_all(one):
            continue
        by_arm = Labels(named).read(one, "shares", "a list, or a dict arm -> share", refusal=SharesError)
        keys = list(by_arm) if isinstance(by_arm, dict) else list(range(0 if named else len(by_arm)))
        known = Labels(dict.fromkeys([*named, *(as_label(key) for key in keys if not is_set(key))]))
        for key in keys:
            members: Any = sorted(key, key=str) if isinstance(key, frozenset) else key if is_set(key) else [key]
            named += [as_label(known.label(member)) for member in members]
    if not named:
        raise SharesError(expected("shares", "a list, or a dict arm -> share", given[0] if given else None))
    return arm_labels(list(dict.fromkeys(named)), least=1)


def read_members(key: Any, labels: Labels, name: str) -> Members:
    """Return the arms that a key names, in the order of the labels.

    Raises
    ------
    SharesError
        If a set is empty, or names an arm that is not known or one twice.
    """
    arms, found = labels.names, sorted(labels.places(key if is_set(key) else (key,)))
    if -1 in found or len(set(found)) < len(found) or (is_set(key) and len(found) < 2):
        if not is_set(key):
            if not of_one_type(arms, key):
                raise SharesError(expected_one_of(name, arms, key, what="arms among"))
            raise SharesError(expected(name, Wording("arms among ", list(arms)), Wording(f"no arm {key!r}")))
        what = Wording("two or more of the arms ", list(arms), ", each once")
        raise SharesError(expected(f"{name}[{key!r}]", what, key))
    return tuple(arms[place] for place in found)


def read_singles(given: Sequence[Any], labels: tuple[Label, ...], plays: int) -> tuple[Fraction, ...]:
    """Return the share of each arm alone, exactly, with a common denominator below 2^60.

    A sum that passes the plays of a round by no more than rounding is the sum of the plays.

    Raises
    ------
    SharesError
        If one cannot be read, or they sum to more than the plays.
    """
    read = [read_share(share, f"shares[{label!r}]") for label, share in zip(labels, given, strict=True)]
    exact = [not isinstance(share, (float, np.floating)) for share in given]
    common = common_denominator([share.denominator for share in read], 1 << MOST_BITS)
    units = [share.numerator * (common // share.denominator) for share in read]
    excess = Fraction(sum(units) - plays * common, common)
    if 0 < excess <= max(map(_rounding, given)):
        # of the share with the longest decimals, which was rounded itself; 1/2 must stay 1/2
        roughest = max(range(len(read)), key=lambda i: (read[i] > excess, read[i].denominator))
        read[roughest] -= excess
    elif excess > 0:
        raise SharesError(
            f"shares: they sum to {figure(float(plays + excess), 12)}, more than {plays} by "
            f"{figure(float(excess), 3)}; no rule can keep that promise: scale them by "
            f"{scale_down(plays / (plays + excess))} or lower"
        )
    return tuple(_countable(read, exact, plays))


def overlap(sets: Sequence[Members]) -> tuple[Members, Members] | None:
    """Return two sets that overlap without one being inside the other, None where there are none."""
    for i, one in enumerate(sets):
        for other in sets[i + 1 :]:
            if set(one) & set(other) and not set(one) <= set(other) and not set(other) <= set(one):
                return one, other
    return None


def read_limit(limit: Any, name: str) -> Fraction:
    """Return an exact number >= 0, written as a share is, of any size."""
    try:
        value = _written(limit) if isinstance(limit, float) else _exact(limit)
        if isinstance(limit, bool) or value < 0:
            raise ValueError
    except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
        raise SharesError(expected(name, "a number >= 0, such as 0.45 or '9/20'", limit)) from error
    return value


def scale_down(factor: Fraction) -> str:
    """Write a factor below 1, rounded down to six digits, or to more where that would be 1."""
    digits = max(6, 2 - math.floor(math.log10(1 - factor)))
    return figure(math.floor(factor * 10**digits) / 10**digits, digits)


def _rounding(share: object) -> Fraction:
    """Return by how much a sum with this share may pass one: rounding in its own precision."""
    coarse = isinstance(share, np.floating) and np.finfo(share.dtype).eps > ROUNDING
    return COARSE_ROUNDING if coarse else ROUNDING


def common_denominator(denominators: Iterable[int], most: int) -> int:
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
                f"shares: expected fractions with a common denominator up to {FINEST:,}, "
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
    common = common_denominator(
        (share.denominator for share, is_exact in sure if is_exact or share.denominator <= 10**6), FINEST
    )
    grid = common * 10 ** int(math.log10((1 << 60) / common))
    units = [-(-share.numerator * grid // share.denominator) for share in shares]
    for i in sorted(range(len(units)), key=lambda i: -shares[i].denominator)[: max(0, sum(units) - plays * grid)]:
        units[i] -= 1
    return [Fraction(n, grid) for n in units]


def _by_members(given: object, labels: tuple[Label, ...], name: str, what: str) -> dict[Members, Any]:
    """Return what is given for arms and sets of arms, by their members."""
    by_arm = Labels().read(given, name, what, refusal=SharesError)
    if isinstance(by_arm, list):
        if len(by_arm) != len(labels):
            raise SharesError(expected(name, f"{len(labels)}, one for each arm", Wording(f"{len(by_arm)} of them")))
        by_arm = dict(zip(labels, by_arm, strict=True))
    found: dict[Members, Any] = {}
    known = Labels(labels)
    for key, value in by_arm.items():
        members = read_members(key, known, name)
        if members in found:
            raise SharesError(expected(name, "each set of arms once", Wording(f"the arms of {key!r} twice")))
        found[members] = value
    return found


def read_shares(
    shares: object, labels: tuple[Label, ...], plays: int, named: bool
) -> tuple[tuple[Fraction, ...], tuple[tuple[Members, Fraction], ...]]:
    """Return the shares of arms alone and of sets of arms."""
    if shares is None or in_all(shares):
        return read_singles([0 if shares is None else shares] * len(labels), labels, plays), ()
    found = _by_members(shares, labels, "shares", "a list, or a dict arm -> share")
    together = {members: share for members, share in found.items() if len(members) > 1}
    missing = [label for label in labels if (label,) not in found]
    if named and missing and not together:
        what = Wording("one for each of the arms ", list(labels))
        raise SharesError(expected("shares", what, Wording(f"no share for arm {missing[0]!r}")))
    sets = [(members, _read_rate(share, members, plays)) for members, share in together.items()]
    alone = read_singles([found.get((label,), 0) for label in labels], labels, plays)
    return alone, tuple(sorted(sets, key=lambda one: len(one[0])))


def _read_rate(share: object, members: Members, plays: int) -> Fraction:
    """Return the share of a set of arms, which may pass one where several arms are played."""
    name = f"shares[{members!r}]"
    value = read_limit(share, name) if plays > 1 else read_share(share, name)
    if value > min(plays, len(members)):
        raise SharesError(expected(name, f"at most {min(plays, len(members))} plays per round", share))
    return value


def read_cap(cap: object, name: str, audited: bool = False) -> Fraction:
    """Return a cap, exactly; one of 0 only for an audit."""
    read = read_share(cap, name, "a cap is the largest fraction of the rounds that an arm may have")
    if not (read or audited):
        raise SharesError(expected(name, "a cap above 0", 0, "leave out an arm that is never played"))
    return read


def read_caps(caps: object, labels: tuple[Label, ...], audited: bool) -> tuple[Fraction | None, ...]:
    """Return the cap of each arm, None where it has none."""
    given = (
        dict.fromkeys(((a,) for a in labels), caps)
        if in_all(caps)
        else _by_members(caps, labels, "caps", "a dict arm -> cap")
    )
    read: dict[Label, Fraction] = {}
    for members, cap in given.items():
        if len(members) > 1:
            hint = "promise the other arms a joint share instead: with one play per round it is the same"
            raise SharesError(expected(f"caps[{members!r}]", "a cap of one arm", cap, hint))
        if cap is not None:
            read[members[0]] = read_cap(cap, f"caps[{members[0]!r}]", audited)
    common_denominator([cap.denominator for cap in read.values()], 1 << 60)
    return tuple(read.get(arm) for arm in labels)


def read_windows(windows: object, labels: tuple[Label, ...]) -> tuple[tuple[Members, Window], ...]:
    """Return the windows of arms and of sets of arms."""
    if windows is None:
        return ()
    what = "a dict arm -> number of rounds, or arm -> (plays, rounds)"
    if not is_by_label(windows):
        raise SharesError(expected("windows", what, windows))
    given = _by_members(windows, labels, "windows", what)
    if not given:
        raise SharesError(expected("windows", what, windows))
    return tuple((members, read_window(window, f"windows[{key_of(members)!r}]")) for members, window in given.items())
