"""Where the clauses of a promise stand, exactly and by their members.

A floor stands at the time x, in rounds, by which its next play falls due: by the end of round ceil(x), and n plays
later by that of round ceil(x + n / r). For r = p/q in lowest terms nothing changes if x is rounded up to a multiple of
1/p, which the kernels' integers hold. By how much it was rounded is kept, so that the next change starts from x itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from evenhand.kernels.compose import entry, interpreted
from evenhand.kernels.due_times import NEVER
from evenhand.promises.feasible import forest_of, tokens_of
from evenhand.promises.laminar import look
from evenhand.promises.promise import Promise
from evenhand.promises.reading import Members
from evenhand.promises.rule import rule_parameters, rule_state
from evenhand.protocol import Label

PLAIN_WORK = 1_000_000
"""Array entries up to which a look ahead runs as plain Python."""
Rounded = tuple[Fraction, ...]
"""By how much each owner's position was rounded up; () for nothing."""


class Standing(NamedTuple):
    """Where each clause stands.

    Attributes
    ----------
    floors : when the next play of each arm, or set of arms, falls due.
    caps : the last round in which the arm's plays so far reach its cap.
    left : within how many rounds each token of a window must be served.
    """

    floors: dict[Members, Fraction]
    caps: dict[Label, Fraction]
    left: dict[Members, list[int]]


def stand(promise: Promise, params: Any, part: Mapping[str, Any], rounded: Rounded) -> Standing:
    """Return where the clauses stand by the arrays of a rule."""
    owners, numerators = forest_of(promise)[0], params.numerators.tolist()
    columns = part["whole"].tolist(), part["rest"].tolist(), numerators, rounded or (0,) * len(owners)
    floors = {
        members: whole + Fraction(rest, n) - by
        for members, whole, rest, n, by in zip(owners, *columns, strict=True)
        if n and whole < NEVER
    }
    caps: dict[Label, Fraction] = {}
    left: dict[Members, list[int]] = {}
    for place, cap in enumerate(promise.caps or ()):
        if cap is not None:
            rest = Fraction(int(part["cap_rest"][place]), int(params.cap_numerators[place]))
            caps[promise.arms[place]] = int(part["cap_whole"][place]) + rest
    if promise.windows:
        for token, rounds in zip(tokens_of(promise), part["left"].tolist(), strict=True):
            left.setdefault(token.members, []).append(rounds)
    return Standing(floors, caps, left)


def fresh(promise: Promise, now: int) -> Standing:
    """Return where the clauses stand if they begin after round `now`."""
    params, state = _begin(promise)
    begun = stand(promise, params, state._asdict(), ())
    floors = {members: at + now for members, at in begun.floors.items()}
    return Standing(floors, {arm: at + now for arm, at in begun.caps.items()}, begun.left)


def lags(promise: Promise, standing: Standing, now: int) -> dict[Members, Fraction]:
    """Return by how many plays each arm, and each set of arms, is behind its floor."""
    owed = shares_of(promise)
    return {
        members: max(Fraction(0), promise.slack + 1 - owed[members] * (at - now))
        for members, at in standing.floors.items()
    }


def shares_of(promise: Promise) -> dict[Members, Fraction]:
    """Return what is owed to each arm, then to each set, without those that are owed nothing."""
    found: dict[Members, Fraction] = {(a,): share for a, share in zip(promise.arms, promise.shares, strict=True)}
    return {members: share for members, share in (found | dict(promise.sets)).items() if share}


def placed(promise: Promise, standing: Standing, retired: Sequence[Label]) -> tuple[Any, Any, Rounded]:
    """Return the rule's parameters and state, without a learner, at this standing, and by how much positions were
    rounded up; what does not stand there never falls due."""
    params, state = _begin(promise)
    rounded = []
    for owner, members in enumerate(forest_of(promise)[0]):
        at, numerator = standing.floors.get(members), int(params.numerators[owner])
        if at is None or not numerator:
            state.whole[owner], state.rest[owner] = NEVER, 0
            rounded.append(Fraction(0))
            continue
        part = Fraction(numerator, params.denominator).numerator
        up = Fraction(math.ceil(at * part), part)
        state.whole[owner] = math.floor(up)
        state.rest[owner] = int((up - math.floor(up)) * numerator)
        rounded.append(up - at)
    for arm, at in standing.caps.items():
        place = promise.arms.index(arm)
        state.cap_whole[place] = math.floor(at)
        state.cap_rest[place] = int((at - math.floor(at)) * int(params.cap_numerators[place]))
    for arm in retired:  # nor does it help to fill a slate
        state.cap_whole[promise.arms.index(arm)] = NEVER
    waiting = {members: [*left] for members, left in standing.left.items()}
    state.left[:] = [waiting[token.members].pop(0) for token in tokens_of(promise)]
    return params, state, tuple(rounded)


def fits(promise: Promise, standing: Standing, retired: Sequence[Label], now: int) -> bool:
    """Say whether all clauses can be kept from this standing on after round `now`, as far as a look ahead sees."""
    return look_for_room(*placed(promise, standing, retired)[:2], now)


def look_for_room(params: Any, state: Any, now: int) -> bool:
    """Say whether all clauses of a rule, without a learner, can be kept after round `now`."""
    small = len(params.numerators) * params.denominator < PLAIN_WORK
    state.left[:] += 1  # seen from a round before, in which nothing is played
    state.ticks[:] = 1
    state.chosen[:] = -1
    return bool((interpreted if small else entry)(look)(params, state, now - 1) >= 0)


def _begin(promise: Promise) -> tuple[Any, Any]:
    return rule_parameters(promise, ()), rule_state(promise, ())
