"""Read shares whose keys are sets of arms, such as all items of a seller together.

Sets that are nested or disjoint are kept exactly. Where sets overlap no test is known that grants every wish that can
be granted. They are kept by floors of single arms: if y_i >= 0 sum to at most one and sum_{i in Q} y_i >= r_Q for every
set, then floors N_i >= floor(y_i t) - b give N_Q > r_Q t - |Q| (b + 1), that is N_Q >= floor(r_Q t) - a for a whole a
>= |Q| (b + 1) - 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from evenhand.errors import SharesError, wanted
from evenhand.protocol import Label, arm_labels, composed, find_label
from evenhand.quotas.problem import Promise, read_share

__all__ = ["read_sets", "single_floors"]

FINEST = 10**6
"""The largest denominator of a floor that stands for overlapping sets."""


def read_sets(shares: Any, tolerance: Any, arms: int | Sequence[Label] | None) -> Promise | None:
    """Return the promise of shares some of whose keys are tuples of arms, None where no key is.

    Raises
    ------
    SharesError
        If a set is empty or names an arm twice or an unknown one, two sets are the same, a share is not a number from
        0 to 1, or the promises clash; the message says which and by how much.
    """
    if not isinstance(shares, Mapping) or not any(isinstance(key, (tuple, frozenset)) for key in shares):
        return None
    shares = {tuple(sorted(key, key=str)) if isinstance(key, frozenset) else key: r for key, r in shares.items()}
    alone = {composed(key): share for key, share in shares.items() if not isinstance(key, tuple)}
    given = {composed(key): share for key, share in shares.items() if isinstance(key, tuple)}
    if arms is None:
        keys = [key if isinstance(key, tuple) else (key,) for key in shares]
        arms = [*dict.fromkeys(composed(arm) for key in keys for arm in key)]
    labels = arm_labels(arms)
    singles = Promise.read({arm: alone.get(arm, 0) for arm in (*alone, *labels)}, tolerance, labels)
    sets: dict[frozenset[Label], tuple[tuple[Label, ...], Fraction]] = {}
    for key, share in given.items():
        places = [find_label(arm, singles.arms) for arm in key]
        if len(key) < 2 or None in places or len(set(places)) < len(key):
            raise SharesError(
                wanted(f"shares[{key!r}]", f"two or more of the arms {list(singles.arms)}, each once", key)
            )
        members = tuple(singles.arms[place] for place in sorted(place for place in places if place is not None))
        if frozenset(members) in sets:
            raise SharesError(wanted("shares", "each set of arms once", f"the arms of {key!r} twice"))
        sets[frozenset(members)] = (members, read_share(share, f"shares[{key!r}]"))
    promise = replace(singles, sets=tuple(sorted(sets.values(), key=lambda one: len(one[0]))))
    if promise.overlap() is None:
        _check_sum(promise)
    return promise


def _check_sum(promise: Promise) -> None:
    """Raise SharesError if nested promises clash."""
    owed: dict[Label, Fraction] = dict(zip(promise.arms, promise.shares, strict=True))
    parts: dict[Any, tuple[set[Label], Fraction]] = {arm: ({arm}, share) for arm, share in owed.items()}
    for members, share in promise.sets:
        inside = [key for key, (arms, _) in parts.items() if arms <= set(members)]
        total = sum((parts[key][1] for key in inside), Fraction(0))
        for key in inside:
            del parts[key]
        parts[members] = (set(members), max(share, total))
    total = sum((share for _, share in parts.values()), Fraction(0))
    if total > 1:
        owing = ", ".join(f"{key!r} {float(share):g}" for key, (_, share) in parts.items() if share)
        raise SharesError(
            f"shares: together they owe {float(total):g} of the rounds, more than 1 by {float(total - 1):g} ({owing}); "
            f"lower some of these"
        )


def single_floors(promise: Promise) -> Promise:
    """Return floors of single arms that keep the promise, whose sets overlap.

    Raises
    ------
    SharesError
        If no such floors exist, or the tolerance is too small for them.
    """
    from scipy.optimize import linprog

    largest = max(len(members) for members, _ in promise.sets)
    if promise.slack < largest - 1:
        one, other = promise.overlap() or ((), ())
        what = f"at least {largest - 1}, one less than the arms of the largest set, as {one} and {other} overlap"
        raise SharesError(wanted("tolerance", what, promise.tolerance, "or give sets that are nested or apart"))
    place = {arm: i for i, arm in enumerate(promise.arms)}
    rows = np.zeros((len(promise.sets), len(promise.arms)))
    for row, (members, _) in zip(rows, promise.sets, strict=True):
        row[[place[arm] for arm in members]] = 1.0
    least = [float(share) for share in promise.shares]
    wants = [float(share) for _, share in promise.sets]
    found = linprog(np.ones(len(least)), A_ub=-rows, b_ub=-np.array(wants), bounds=[(low, 1.0) for low in least])
    floors = [
        max(share, Fraction(math.ceil(float(y) * FINEST - 1e-6), FINEST))
        for share, y in zip(promise.shares, found.x if found.x is not None else least, strict=True)
    ]
    total = sum(floors, Fraction(0))
    if found.status != 0 or total > 1:
        over = f"they need {float(found.fun):g} of the rounds" if found.status == 0 else "no shares of arms meet them"
        raise SharesError(f"shares: these sets of arms cannot be promised together: {over}; lower some of them")
    slack = (promise.slack + 1) // largest - 1
    return replace(promise, shares=tuple(floors), tolerance=float(slack), sets=())
