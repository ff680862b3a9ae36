"""Read the arguments of a promise into exact fields, by arm and by set of arms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from evenhand.arguments import whole
from evenhand.errors import ArgumentError, SharesError, wanted
from evenhand.kernels.due_times import NEVER
from evenhand.labels import by_label
from evenhand.promises.clause import Window
from evenhand.promises.reading import (
    Members,
    common_denominator,
    in_all,
    key_of,
    name_arms,
    read_limit,
    read_members,
    read_share,
    read_singles,
    read_tolerance,
    read_window,
)
from evenhand.protocol import Label, places


def read_parts(
    shares: Any,
    tolerance: Any,
    caps: Any,
    cap_tolerance: Any,
    windows: Any,
    plays: Any,
    *,
    arms: int | Sequence[Label] | None,
    audited: bool,
) -> dict[str, Any]:
    """Return the fields of a `Promise` but its offers; see `evenhand.promises.promise.read_promise`."""
    plays = whole("plays", plays, low=1)
    if shares is None and caps is None and windows is None:
        raise SharesError(wanted("shares", "a list, or a dict arm -> share; or caps or windows", None))
    if shares is not None and in_all(shares) and arms is None:
        mend = "one number for all needs the names of the arms, as in {'a': 0.2, 'b': 0.2}"
        raise SharesError(wanted("shares", "a list, or a dict arm -> share", shares, mend))
    labels = name_arms(shares, caps, windows, arms=arms)
    if plays > len(labels):
        raise ArgumentError(wanted("plays", f"at most {len(labels)}, the number of arms", plays))
    singles, sets = _read_shares(shares, labels, plays, named=arms is not None)
    fields: dict[str, Any] = {
        "arms": labels,
        "shares": singles,
        "tolerance": read_tolerance(tolerance),
        "plays": plays,
        "caps": None if caps is None else _read_caps(caps, labels, audited),
        "cap_tolerance": read_tolerance(cap_tolerance, "cap_tolerance", "use 0.0 for the strict cap"),
        "sets": sets,
        "windows": _read_windows(windows, labels),
    }
    least = min((cap for cap in fields["caps"] or () if cap), default=Fraction(1))
    if fields["cap_tolerance"] >= NEVER * float(least):
        raise ArgumentError(wanted("cap_tolerance", "a number of plays that some conversation reaches", cap_tolerance))
    return fields


def _by_members(given: Any, labels: tuple[Label, ...], name: str, what: str) -> dict[Members, Any]:
    """Return what is given for arms and sets of arms, by their members."""
    by_arm = by_label(given, name, what, refusal=SharesError)
    if isinstance(by_arm, list):
        if len(by_arm) != len(labels):
            raise SharesError(wanted(name, f"{len(labels)}, one for each arm", f"{len(by_arm)} of them"))
        by_arm = dict(zip(labels, by_arm, strict=True))
    found: dict[Members, Any] = {}
    known = places(labels)
    for key, value in by_arm.items():
        members = read_members(key, labels, name, known)
        if members in found:
            raise SharesError(wanted(name, "each set of arms once", f"the arms of {key!r} twice"))
        found[members] = value
    return found


def _read_shares(
    shares: Any, labels: tuple[Label, ...], plays: int, named: bool
) -> tuple[tuple[Fraction, ...], tuple[tuple[Members, Fraction], ...]]:
    """Return the shares of arms alone and of sets of arms."""
    if shares is None or in_all(shares):
        return read_singles([0 if shares is None else shares] * len(labels), labels, plays), ()
    found = _by_members(shares, labels, "shares", "a list, or a dict arm -> share")
    together = {members: share for members, share in found.items() if len(members) > 1}
    missing = [label for label in labels if (label,) not in found]
    if named and missing and not together:
        what = f"one for each of the arms {list(labels)}"
        raise SharesError(wanted("shares", what, f"no share for arm {missing[0]!r}"))
    sets = [(members, _read_rate(share, members, plays)) for members, share in together.items()]
    alone = read_singles([found.get((label,), 0) for label in labels], labels, plays)
    return alone, tuple(sorted(sets, key=lambda one: len(one[0])))


def _read_rate(share: Any, members: Members, plays: int) -> Fraction:
    """Return the share of a set of arms, which may pass one where several arms are played."""
    name = f"shares[{members!r}]"
    value = read_limit(share, name) if plays > 1 else read_share(share, name)
    if value > min(plays, len(members)):
        raise SharesError(wanted(name, f"at most {min(plays, len(members))} plays a round", share))
    return value


def _read_caps(caps: Any, labels: tuple[Label, ...], audited: bool) -> tuple[Fraction | None, ...]:
    """Return the cap of each arm, None where it has none."""
    what = "a cap is the largest part of the rounds that an arm may have"
    given = (
        dict.fromkeys(((a,) for a in labels), caps)
        if in_all(caps)
        else _by_members(caps, labels, "caps", "a dict arm -> cap")
    )
    read: dict[Label, Fraction] = {}
    for members, cap in given.items():
        if len(members) > 1:
            mend = "promise the other arms a share together instead: it is the same for one play a round"
            raise SharesError(wanted(f"caps[{members!r}]", "a cap of one arm", cap, mend))
        if cap is not None:
            read[members[0]] = read_share(cap, f"caps[{members[0]!r}]", what)
    zero = next((arm for arm, cap in read.items() if cap == 0), None)
    if zero is not None and not audited:
        raise SharesError(wanted(f"caps[{zero!r}]", "a cap above 0", 0, "leave out an arm that is never played"))
    common_denominator([cap.denominator for cap in read.values()], 1 << 60)
    return tuple(read.get(arm) for arm in labels)


def _read_windows(windows: Any, labels: tuple[Label, ...]) -> tuple[tuple[Members, Window], ...]:
    """Return the windows of arms and of sets of arms."""
    if windows is None:
        return ()
    what = "a dict arm -> number of rounds, or arm -> (plays, rounds)"
    if not isinstance(windows, Mapping) and not hasattr(windows, "to_dict"):
        raise SharesError(wanted("windows", what, windows))
    given = _by_members(windows, labels, "windows", what)
    if not given:
        raise SharesError(wanted("windows", what, windows))
    return tuple((members, read_window(window, f"windows[{key_of(members)!r}]")) for members, window in given.items())
