"""What is promised after a change: to other arms, and other shares; the value alone, without where its clauses stand.

Arms that were retired keep their places and are owed nothing; a set of arms goes on by those that stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from evenhand.errors import ArgumentError, expected
from evenhand.labels import Labels
from evenhand.promises.promise import Promise, read_promise
from evenhand.promises.reading import Members, common_denominator, is_set, key_of, read_cap, read_share, read_shares
from evenhand.protocol import Label


def without(promise: Promise, arm: Label, retired: Sequence[Label]) -> Promise:
    """Return what is promised when an arm is retired, as others were before."""
    gone, place = {*retired, arm}, promise.arms.index(arm)
    offers = promise.offers
    if not isinstance(offers, str):
        stay = tuple(other for other in offers if other != arm)
        offers = stay if len(stay) >= promise.plays or promise.caps is not None else "any"
    return promise.varied(
        shares=_put(promise.shares, place, Fraction(0)),
        sets=tuple(one for one in promise.sets if not gone.issuperset(one[0])),
        caps=_put(promise.caps, place, None),
        windows=tuple(one for one in promise.windows if not gone.issuperset(one[0])),
        offers=offers,
    )


def joined(promise: Promise, arm: Label, share: object = 0, cap: object = None) -> Promise:
    """Return what is promised with a new arm, or one that comes back, which is owed a share and has a cap, or None.

    Raises
    ------
    SharesError
        If they cannot be read, or have no common denominator with those of the other arms that kernels can count.
    """
    known = arm in promise.arms
    place = promise.arms.index(arm) if known else len(promise.arms)
    caps = promise.caps if cap is None or promise.caps else (None,) * len(promise.arms)
    then = promise.varied(
        arms=promise.arms if known else (*promise.arms, arm),
        shares=_put(promise.shares, place, read_share(share, "share")),
        caps=_put(caps, place, None if cap is None else read_cap(cap, "cap")),
    )
    for rates in (then.shares, then.caps or ()):
        common_denominator([rate.denominator for rate in rates if rate is not None], 1 << 60)
    return then


def changed(promise: Promise, retired: Sequence[Label], shares: object) -> Promise:
    """Return what is promised after a change: new shares leave all else as it is, also the sets of arms where they name
    none; a promise says everything.

    Raises
    ------
    SharesError
        If it cannot be promised of the arms that stay.
    ArgumentError
        If it is a promise of other arms, or of more or fewer plays a round.
    """
    live = [arm for arm in promise.arms if arm not in retired]
    if isinstance(shares, Promise):
        stated = named_as(shares, live)
        _check_alike(promise, live, stated)
        return _over(promise.arms, stated)
    return _over(promise.arms, with_parts(promise, live, shares=shares))


def with_parts(promise: Promise, live: list[Label], **parts: Any) -> Promise:
    """Return what is promised of the arms that stay with other parts: shares, caps, windows or tolerances; the rest is
    as before. With other caps or windows it is settled anew what may be on offer, unless offers were named or rounds
    are excused.

    Raises
    ------
    SharesError, ArgumentError
        If it cannot be promised.
    """
    now = among(promise, live)
    windows = {key_of(members): window for members, window in now.windows}
    if len(windows) < len(now.windows) and "windows" not in parts:
        what = "an eh.Promise, as two windows now cover the same arms after some were retired"
        raise ArgumentError(expected("shares", what, parts.get("shares")))
    anew = not parts.keys().isdisjoint({"caps", "windows"}) and isinstance(promise.offers, str) and not promise.excuses
    said: dict[str, Any] = {name: getattr(promise, name) for name in ("tolerance", "cap_tolerance", "plays", "clock")}
    said["shares"] = dict(zip(live, now.shares, strict=True)) | dict(now.sets)
    said["caps"] = None if now.caps is None else dict(zip(live, now.caps, strict=True))
    said |= {"windows": windows or None, "offers": None if anew else promise.offers} | parts
    if parts.get("shares") is not None:
        alone, sets = read_shares(parts["shares"], tuple(live), now.plays, named=True)
        said["shares"] = dict(zip(live, alone, strict=True)) | dict(sets or now.sets)
    return read_promise(**said, arms=live)


def named_as(promise: Promise, labels: Sequence[Label]) -> Promise:
    """Return a promise of the same arms by their names among these labels; others keep their own."""
    names = list(map(Labels(labels).label, promise.arms))
    if len(set(names)) < len(names):
        return promise
    of = dict(zip(promise.arms, names, strict=True))

    def renamed(members: Members) -> Members:
        return tuple(of[arm] for arm in members)

    return promise.varied(
        arms=tuple(names),
        sets=tuple((renamed(members), share) for members, share in promise.sets),
        windows=tuple((renamed(members), window) for members, window in promise.windows),
        offers=promise.offers if isinstance(promise.offers, str) else renamed(promise.offers),
    )


def in_order(promise: Promise, arms: tuple[Label, ...]) -> Promise:
    """Return a promise of some of these arms as one of all in their order; one that names others as it is."""
    named = named_as(promise, arms)
    return _over(arms, named) if set(named.arms) <= set(arms) else promise


def rows_of(dropped: dict[Any, float]) -> list[dict[str, Any]]:
    """Return what a change dropped as rows of plain data, a set of arms as a list.

    >>> rows_of({("a", "b"): 0.5, "c": 0.25})
    [{'label': ['a', 'b'], 'plays': 0.5}, {'label': 'c', 'plays': 0.25}]
    """
    return [{"label": list(key) if is_set(key) else key, "plays": lag} for key, lag in dropped.items()]


def _check_alike(before: Promise, live: list[Label], promise: Promise) -> None:
    if set(promise.arms) != set(live):
        hint = "name every arm, with a share of 0 if it is owed nothing; add and retire arms first"
        raise ArgumentError(expected("shares", f"a promise of the arms on offer, {live}", list(promise.arms), hint))
    if promise.plays != before.plays:
        hint = "make a new policy"
        raise ArgumentError(expected("plays", f"{before.plays} per round, as before", promise.plays, hint))


def _over(arms: tuple[Label, ...], promise: Promise) -> Promise:
    """Return a promise as one of these arms, in their order, of which it may not name all."""
    place = {arm: i for i, arm in enumerate(promise.arms)}

    def widened(column: Any, missing: Any) -> Any:
        return column and tuple(column[place[arm]] if arm in place else missing for arm in arms)

    return promise.varied(arms=arms, shares=widened(promise.shares, Fraction(0)), caps=widened(promise.caps, None))


def among(promise: Promise, arms: list[Label]) -> Promise:
    """Return what is promised of these arms alone: of a set that loses some, of those that stay."""
    places = [promise.arms.index(arm) for arm in arms]
    shares = {arm: promise.shares[place] for arm, place in zip(arms, places, strict=True)}
    sets: dict[Members, Fraction] = {}
    for members, share in promise.sets:
        stay = tuple(arm for arm in members if arm in shares)
        if len(stay) > 1:
            sets[stay] = max(share, sets.get(stay, Fraction(0)))
        elif stay:
            shares[stay[0]] = max(share, shares[stay[0]])
    windows = [(tuple(arm for arm in members if arm in shares), window) for members, window in promise.windows]
    pick = lambda column: None if column is None else tuple(column[place] for place in places)  # noqa: E731
    return promise.varied(
        arms=tuple(arms),
        shares=tuple(shares.values()),
        sets=tuple(sorted(sets.items(), key=lambda one: len(one[0]))),
        caps=pick(promise.caps),
        windows=tuple((members, window) for members, window in windows if members),
    )


def _put(column: Any, place: int, value: Any) -> Any:
    """Return a column with one value changed, or behind its end; None where there is none."""
    return None if column is None else (*column[:place], value, *column[place + 1 :])
