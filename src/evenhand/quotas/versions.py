"""Where the clauses of a promise stand, exactly and by their members.

A floor stands at the time x, in rounds, by which its next play falls due: by the end of round ceil(x), and n plays
later by that of round ceil(x + n / r). For r = p/q in lowest terms nothing changes if x is rounded up to a multiple of
1/p, which the kernels' integers hold. By how much it was rounded is kept, so that the next change starts from x itself.

Promises that change in mid-run: arms that come, arms that go, and other promises, each with what holds over the
change. Every change makes a version, and in every segment each clause is counted by version.

- Retiring an arm leaves more plays to the others, whose clauses run on. Sets of arms go on by the arms that stay.
- A new arm starts its clock as soon as all clauses can be kept with it, w rounds late. With one play a round and floors
  alone w is at most ceil(k / r): before that the others cannot owe more. All other clauses run on.
- Another promise begins a new version: in every version each clause holds, plays and rounds counted from its start.
  That can always be kept, as a promise is made only where it can be from its start. Windows and caps begin anew; what a
  floor was behind by is carried over to the floor of the same arms where that can be kept too, the largest first, and
  dropped where not: less than a + 1 plays a floor.

Caps beside floors that carry what they were behind by. Let q_i be that less a, so that floor(r_i s + q_i) plays are
due after s rounds. Where one arm is played a round a proposal may be granted iff its cap has room and G >= 0 after it,
as without: with G >= 0 at the start of the version, the plays that fall due in the rounds from s to s + d of arms that
are at their caps are at most floor(r_i (s + d) + q_i) - ceil(c_i s) <= floor(r_i d + q_i) each, together at most d.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from evenhand.errors import ArgumentError, SharesError, UnknownArmError, Wording, figure, wanted, wanted_one_of
from evenhand.kernels.compose import entry, interpreted
from evenhand.kernels.deadlines import NEVER
from evenhand.promises.feasible import forest_of, settle_offers, tokens_of
from evenhand.promises.laminar import look
from evenhand.promises.promise import Promise
from evenhand.promises.reading import Members, key_of, read_share
from evenhand.promises.rule_arrays import rule_parameters, rule_state
from evenhand.promises.versions import among, changed, joined, without
from evenhand.protocol import Label, arm_labels, find_label
from evenhand.quotas.deadlines import check_tolerance

PLAIN_WORK = 1_000_000
"""Array entries up to which a look ahead runs as plain Python."""
Rounded = tuple[Fraction, ...]
"""By how much each owner's position was rounded up; () for nothing."""


class ClausePositions(NamedTuple):
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


def read_positions(promise: Promise, params: Any, part: Mapping[str, Any], rounded: Rounded) -> ClausePositions:
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
    return ClausePositions(floors, caps, left)


def fresh(promise: Promise, now: int) -> ClausePositions:
    """Return where the clauses stand if they begin after round `now`."""
    params, state = _begin(promise)
    begun = read_positions(promise, params, state._asdict(), ())
    floors = {members: at + now for members, at in begun.floors.items()}
    return ClausePositions(floors, {arm: at + now for arm, at in begun.caps.items()}, begun.left)


def shares_of(promise: Promise) -> dict[Members, Fraction]:
    """Return what is owed to each arm, then to each set, without those that are owed nothing."""
    found: dict[Members, Fraction] = {(a,): share for a, share in zip(promise.arms, promise.shares, strict=True)}
    return {members: share for members, share in (found | dict(promise.sets)).items() if share}


def write_positions(promise: Promise, standing: ClausePositions, retired: Sequence[Label]) -> tuple[Any, Any, Rounded]:
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
        # rounded up to what the kernels can hold: rounded down, a play would fall due before it is owed
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


def _begin(promise: Promise) -> tuple[Any, Any]:
    return rule_parameters(promise, ()), rule_state(promise, ())


LONGEST_WAIT = 1 << 40


class _Version(NamedTuple):
    """What is promised from now on."""

    promise: Promise
    retired: tuple[Label, ...]

    def is_feasible(self, standing: ClausePositions, now: int) -> bool:
        """Return whether all clauses can be kept from this standing on after round `now`, as far as a look ahead
        sees."""
        params, state, _ = write_positions(self.promise, standing, self.retired)
        small = len(params.numerators) * params.denominator < PLAIN_WORK
        state.left[:] += 1  # seen from a round before, in which nothing is played
        state.ticks[:] = 1
        state.chosen[:] = -1
        return bool((interpreted if small else entry)(look)(params, state, now - 1) >= 0)


class _Part(NamedTuple):
    """A segment, or all rounds where there are none."""

    segment: Label | None
    now: int
    """The number of rounds, of all segments, when its clocks stopped."""
    standing: ClausePositions


def _version(promise: Promise, retired: Sequence[Label]) -> _Version:
    """Return what is promised, where a rule is known that keeps it with the arms that stay.

    Raises
    ------
    SharesError
        If none is known.
    """
    settle_offers(among(promise, [arm for arm in promise.arms if arm not in retired]), promise.offers)
    return _Version(promise, tuple(retired))


def retire(policy: Any, label: Label) -> None:
    """Take an arm off offer for good; what it was owed is the others' to win."""
    before = policy.promise
    place = find_label(label, before.arms)
    if place is None:
        raise UnknownArmError(wanted_one_of("arm", before.arms, label))
    arm = before.arms[place]
    if arm in policy.retired:
        raise ArgumentError(wanted("arm", "one that is on offer", label, "it was retired before"))
    if before.plays >= len(before.arms) - len(policy.retired):
        rest = "another arm stays" if before.plays == 1 else f"{before.plays} other arms stay"
        raise ArgumentError(wanted("arm", f"one without which {rest} on offer", label, "add another arm first"))
    promise = without(before, arm, policy.retired)
    gone = {*policy.retired, arm}
    for members, due in Counter(token.members for token in tokens_of(before)).items():
        if 0 < len(set(members) - gone) < min(due, before.plays):
            stay = f"one without which {min(due, before.plays)} of {members} stay on offer, as their window needs"
            raise SharesError(wanted("arm", stay, label, "promise another window first with change()"))
    version = _version(promise, (*policy.retired, arm))
    parts = [part._replace(standing=_of(version, part.standing)) for part in _parts(policy)]
    bound = promise.windows or promise.caps is not None
    if bound and not all(version.is_feasible(part.standing, part.now) for part in parts):
        mend = "try again some rounds later"
        raise ArgumentError(wanted("arm", "one without which all clauses can be kept now", label, mend))
    _enter(policy, version, parts)


def add(policy: Any, label: Label, share: Any) -> int:
    """Put a new arm on offer and return after how many rounds its promise begins."""
    before = policy.promise
    known = find_label(label, before.arms)
    if known is not None and before.arms[known] not in policy.retired:
        raise ArgumentError(wanted("arm", "a new label, or that of a retired arm", label, "use change(shares)"))
    part = read_share(share, "share")
    left = before.plays - sum(before.shares)
    if part > left:
        mend = Wording("lower the others first with ", Wording("change(shares)", shell="evenhand change"))
        raise SharesError(
            wanted("share", f"at most {figure(float(left))}, what the other shares leave", float(part), mend)
        )
    labels = before.arms if known is not None else arm_labels((*before.arms, label), "arm")
    place = len(before.arms) if known is None else known
    promise = joined(before, labels[place], part)
    version = _version(promise, [arm for arm in policy.retired if arm != labels[place]])
    parts, wait = [], 0
    owed = (promise.slack + 1) / part if part else None
    for one in _parts(policy):
        standing = _of(version, one.standing)
        if owed is not None:
            wait = _wait(version, one._replace(standing=standing), labels[place], one.now + owed, wait)
        parts.append(one._replace(standing=standing))
    if owed is not None:
        for one in parts:
            one.standing.floors[(labels[place],)] = one.now + owed + wait
    if known is None:
        _grow(policy, labels)
    _enter(policy, version, parts, begins=place)
    return wait


def _wait(version: _Version, part: _Part, arm: Label, first: Fraction, least: int) -> int:
    """Return after how many rounds, `least` or more, the first play of a new arm may begin to fall due."""

    def late_enough(wait: int) -> bool:
        part.standing.floors[(arm,)] = first + wait
        return version.is_feasible(part.standing, part.now)

    low, wait = least - 1, least
    while not late_enough(wait):
        low, wait = wait, 2 * wait + 1
        if wait > LONGEST_WAIT:
            mend = "try again some rounds later"
            raise ArgumentError(wanted("arm", "one with which all clauses can be kept now", arm, mend))
    while wait - low > 1:
        middle = (low + wait) // 2
        low, wait = (low, middle) if late_enough(middle) else (middle, wait)
    return wait


def change(policy: Any, shares: Any) -> dict[Any, Any]:
    """Begin a new version; return by how many plays floors were behind that cannot be carried over."""
    version = _version(changed(policy.promise, policy.retired, shares), policy.retired)
    check_tolerance(version.promise)
    parts, dropped = [], {}
    for part in _parts(policy):
        begun = fresh(version.promise, part.now)
        lost = _carry(version, begun, _claims(policy, part), part.now)
        parts.append(part._replace(standing=begun))
        if lost:
            dropped[part.segment] = {key_of(members): float(lag) for members, lag in lost.items()}
    segmented = policy._segments is not None
    _enter(policy, version, parts, begins="all")
    return dropped if segmented else dropped.get(None, {})


def _claims(policy: Any, part: _Part) -> dict[Members, Fraction]:
    """Return by how many plays each floor is behind, by those of its arms that are on offer."""
    found: dict[Members, Fraction] = {}
    owed = shares_of(policy.promise)
    for members, at in part.standing.floors.items():
        lag = max(Fraction(0), policy.promise.slack + 1 - owed[members] * (at - part.now))
        stay = tuple(arm for arm in members if arm not in policy.retired)
        found[stay] = max(lag, found.get(stay, Fraction(0)))
    return {members: lag for members, lag in found.items() if lag and members}


def _carry(
    version: _Version, begun: ClausePositions, claims: dict[Members, Fraction], now: int
) -> dict[Members, Fraction]:
    """Move the floors of a new version by what they were behind, where that can be kept; return the rest."""
    shares = shares_of(version.promise)
    names = {frozenset(members): members for members in begun.floors}
    dropped = {}
    # the largest first: those who wait for most would lose all of it to several who wait for little
    for members, lag in sorted(claims.items(), key=lambda one: -one[1]):
        name = names.get(frozenset(members))
        if name is not None:
            at = begun.floors[name]
            begun.floors[name] = at - lag / shares[name]
            if version.is_feasible(begun, now):
                continue
            begun.floors[name] = at
        dropped[members] = lag
    return {members: dropped[members] for members in claims if members in dropped}


def _of(version: _Version, standing: ClausePositions) -> ClausePositions:
    """Return what still stands of clauses that go on."""
    promise, owed = version.promise, shares_of(version.promise)
    capped = {arm for arm, cap in zip(promise.arms, promise.caps or (), strict=False) if cap is not None}
    windowed = dict(promise.windows)
    return ClausePositions(
        {members: at for members, at in standing.floors.items() if members in owed},
        {arm: at for arm, at in standing.caps.items() if arm in capped},
        {members: left for members, left in standing.left.items() if members in windowed},
    )


def _parts(policy: Any) -> list[_Part]:
    """Return where the clauses stand in each segment, or in all rounds where there are none."""
    policy._token  # noqa: B018, tickets handed out before and after are the same policy's
    own, params, segments = policy._state, policy._params, policy._segments
    found = [(None, policy.round, own._asdict(), policy._rounded)]
    if segments is not None:
        found = list(segments.parts(own, policy.round))
    return [
        _Part(label, now, read_positions(policy.promise, params, part, rounded)) for label, now, part, rounded in found
    ]


def _enter(policy: Any, version: _Version, parts: list[_Part], begins: int | str | None = None) -> None:
    """Go on with another promise from where its clauses stand; `begins` says for which arm, or for all, anew."""
    before = policy._state
    states, roundeds = {}, {}
    for part in parts:
        _, state, rounded = write_positions(version.promise, part.standing, version.retired)
        states[part.segment] = part.now, state
        roundeds[part.segment] = rounded
    policy.promise, policy.retired, policy._composed = version.promise, version.retired, True
    learner = policy._state.learner
    params = policy._params, policy.quota_parameters(policy._params.learner)
    policy._params = params[1]
    if policy._segments is None:
        state, policy._rounded = states[None][1], roundeds[None]
    else:
        state = policy._segments.renewed(version.promise, params, policy._unseen(), states, roundeds, begins)
    state.pulls[: before.pulls.size] = before.pulls
    kept = {} if policy.lottery is None else {"stream": before.stream}
    policy._state = state._replace(learner=learner, **kept)
    policy.reset_offer()
    if policy.compiled:
        policy.kernels = policy._bound(policy.learner.kernels)
    policy.forget_machine_code()


def _grow(policy: Any, labels: tuple[Label, ...]) -> None:
    """Give the learner, the labels and the open tickets' counts room for one more arm."""
    if not policy.compiled:
        mend = "make a new policy with all arms"
        raise ArgumentError(wanted("arm", "one that the learner knows", type(policy.learner).__name__, mend))
    learner = policy.learner.grown(labels)
    policy.learner = learner
    if policy._pristine.arms is not None:
        policy._pristine = policy._pristine.grown(labels).fresh()
    policy._params = policy._params._replace(learner=learner._params)
    policy._state = policy._state._replace(learner=policy._around(learner._state))
    policy.arms = policy._labels = labels
    policy._waiting = np.append(policy._waiting, 0)
    policy._counts = [*policy._counts, 0]
