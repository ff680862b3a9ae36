"""Promises that change in mid-run: arms that come, arms that go, and new shares, each with what holds over the change.

The arms' deadlines carry over as exact fractions. An arm whose position is x, in rounds, must have its next owed play
by the end of round ceil(x), and n plays later by that of round ceil(x + n / r); for r = p/q in lowest terms nothing
changes if x is rounded up to a multiple of 1/p.

- Retiring an arm only leaves more plays to the others.
- A new arm starts its clock as soon as all floors can be kept with it, w rounds late. With one play a round w is at
  most ceil(k / r): before that the others cannot owe more.
- New shares begin a new epoch: in every epoch N_i >= floor(r_i A_i) - a holds, pulls and rounds counted from its start.
  That can always be kept, as G(s) = m s - sum_i floor(r_i s) at its start. What an arm was behind by is carried over
  where that can be kept too, the largest first, and dropped where not: less than a + 1 pulls an arm.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.conversation import locked
from evenhand.errors import ArgumentError, SharesError, UnknownArmError, wanted, wanted_one_of
from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import entry, interpreted
from evenhand.kernels.due_times import NEVER
from evenhand.policy import KernelPolicy
from evenhand.promises.slates import can_be_kept
from evenhand.protocol import Label, arm_labels, find_label
from evenhand.quotas.problem import Promise, read_share
from evenhand.quotas.ranked import ranked_parameters, ranked_state
from evenhand.quotas.segments import Segments

__all__ = ["Changes", "look_for_room"]

LONGEST_WAIT = 1 << 40
PLAIN_WORK = 1_000_000
"""Array entries up to which a look ahead runs as plain Python."""


if TYPE_CHECKING:
    Base = KernelPolicy
else:
    Base = object


class Changes(Base):
    """What `DeadlineLearn` can do to its promise in mid-run."""

    promise: Promise
    _segments: Segments | None = None
    retired: tuple[Label, ...] = ()
    """The arms that were taken off offer for good."""

    @locked
    def add(self, arm: Label, share: Any = 0) -> int:
        """Put a new arm on offer, or a retired one again, and return after how many rounds its promise begins.

        All other promises go on. Its own counts from there on, w rounds late where the others' plays fill the next
        rounds: w is at most ceil(k / share) with one play a round.

        Raises
        ------
        SharesError
            If the share is not a number from 0 to 1, or more than the other shares leave.
        ArgumentError
            If the arm is on offer already, the policy has caps, or the learner cannot take a new arm.
        """
        self._make_ready()
        return _add(self, arm, share)

    @locked
    def retire(self, arm: Label) -> None:
        """Take an arm off offer for good; all other promises go on. Its open tickets may still be told.

        Raises
        ------
        UnknownArmError
            If there is no such arm.
        ArgumentError
            If it was retired before, too few arms would be left, or the policy has caps.
        """
        self._make_ready()
        _retire(self, arm)

    @locked
    def change(self, shares: Any) -> dict[Label, float]:
        """Promise other shares from now on: N_i >= floor(r_i t) - alpha, pulls and rounds counted from this change.

        What an arm was behind by is carried over where that can be kept, the largest first; returned is what could not
        be, less than alpha + 1 pulls an arm.

        Raises
        ------
        SharesError
            If the shares of the arms that are on offer cannot be promised.
        ArgumentError
            If the policy has caps.
        """
        self._make_ready()
        return _change(self, shares)

    def _may_be_shown(self, shown: Floats) -> bool:
        """Say so of contexts from before an arm was added, too."""
        if not self.contextual:
            return super()._may_be_shown(shown)
        return shown.ndim == 2 and 2 <= len(shown) <= len(self._labels) and shown.shape[1] == self.dimension

    def _rank(self) -> None:
        """Go over to a form of the rule that lets promises change."""
        raise NotImplementedError

    def _make_ready(self) -> None:
        """Make ready for another promise."""
        if self._segments is not None:
            what = "a promise without segments, to be changed"
            raise ArgumentError(wanted("segments", what, list(self._segments.report()), "make a new policy"))
        if self.promise.caps is not None or self.promise.sets or self.promise.behind is not None:
            what = "single arms with a tolerance and without caps, for a promise that changes"
            got = "caps" if self.promise.caps is not None else "shares of sets" if self.promise.sets else "behind="
            raise ArgumentError(wanted("shares", what, got, "make a new policy"))
        self._token  # noqa: B018, tickets handed out before and after are the same policy's


def _retire(policy: Any, label: Label) -> None:
    """Take an arm off offer for good; what it was owed is the others' to win."""
    arm = _live(policy, label)
    if policy.promise.plays >= len(policy.promise.arms) - len(policy.retired):
        raise ArgumentError(wanted("arm", f"more than {policy.promise.plays} arms left on offer", label))
    shares = list(policy.promise.shares)
    shares[arm] = Fraction(0)
    positions = _positions(policy)
    positions[arm] = None
    policy.retired = (*policy.retired, policy.promise.arms[arm])
    _enter(policy, _promise(policy, shares), positions)


def _add(policy: Any, label: Label, share: Any) -> int:
    """Put a new arm on offer and return after how many rounds its promise begins."""
    before = policy.promise
    known = find_label(label, before.arms)
    if known is not None and before.arms[known] not in policy.retired:
        raise ArgumentError(wanted("arm", "a new label, or that of a retired arm", label, "use change(shares)"))
    part = read_share(share, "share")
    left = before.plays - sum(before.shares)
    if part > left:
        mend = "lower the others first with change(shares)"
        raise SharesError(wanted("share", f"at most {float(left):g}, what the other shares leave", float(part), mend))
    labels = before.arms if known is not None else (*before.arms, label)
    shares, positions = [*before.shares], _positions(policy)
    arm = len(shares) if known is None else known
    if known is None:
        labels = arm_labels(labels, "arm")
        shares.append(part)
        positions.append(None)
        _grow(policy, labels)
    else:
        shares[arm] = part
        policy.retired = tuple(other for other in policy.retired if other != labels[arm])
    promise, wait = _promise(policy, shares, labels), 0
    if part:
        first = policy.round + (before.slack + 1) / part

        def fits(later: int) -> bool:
            positions[arm] = first + later
            return _can_be_kept(policy, promise, positions)

        low, wait = -1, 0
        while not fits(wait) and wait < LONGEST_WAIT:
            low, wait = wait, 2 * wait + 1
        while wait - low > 1:
            middle = (low + wait) // 2
            low, wait = (low, middle) if fits(middle) else (middle, wait)
        positions[arm] = first + wait
    _enter(policy, promise, positions)
    return wait


def _change(policy: Any, shares: Any) -> dict[Label, float]:
    """Begin a new epoch with new shares; return by how many pulls arms were behind that cannot be carried over."""
    before, now = policy.promise, policy.round
    live = [arm for arm in before.arms if arm not in policy.retired]
    new = Promise.read(shares, before.tolerance, live, before.plays)
    by_arm = dict(zip(new.arms, new.shares, strict=True))
    promise = _promise(policy, [by_arm.get(arm, Fraction(0)) for arm in before.arms])
    behind = []
    for share, at in zip(before.shares, _positions(policy), strict=True):
        behind.append(Fraction(0) if at is None else max(Fraction(0), before.slack + 1 - share * (at - now)))
    positions: list[Fraction | None] = [now + (before.slack + 1) / share if share else None for share in promise.shares]
    dropped = {arm: float(lag) for arm, lag in zip(before.arms, behind, strict=True) if lag}
    for arm in sorted(range(len(behind)), key=lambda arm: -behind[arm]):
        begun = positions[arm]
        if behind[arm] and begun is not None:
            positions[arm] = begun - behind[arm] / promise.shares[arm]
            if _can_be_kept(policy, promise, positions):
                del dropped[before.arms[arm]]
            else:
                positions[arm] = begun
    _enter(policy, promise, positions)
    return dropped


def _live(policy: Any, label: Label) -> int:
    arm = find_label(label, policy.promise.arms)
    if arm is None:
        raise UnknownArmError(wanted_one_of("arm", policy.promise.arms, label))
    if policy.promise.arms[arm] in policy.retired:
        raise ArgumentError(wanted("arm", "one that is on offer", label, "it was retired before"))
    return arm


def _promise(policy: Any, shares: list[Fraction], arms: tuple[Label, ...] | None = None) -> Promise:
    before = policy.promise
    labels = arms or before.arms
    return Promise.read(dict(zip(labels, shares, strict=True)), before.tolerance, labels, before.plays)


def _positions(policy: Any) -> list[Fraction | None]:
    """Return for each arm when its next owed play falls due, exactly; None where none ever does."""
    numerators, state = policy._params.numerators.tolist(), policy._state
    parts = zip(state.whole.tolist(), state.rest.tolist(), numerators, strict=True)
    return [whole + Fraction(rest, n) if n and whole < NEVER else None for whole, rest, n in parts]


def _fill(promise: Promise, positions: list[Fraction | None]) -> tuple[Any, Any]:
    """Return the rule's parameters and state, without a learner, at these positions."""
    params, state = ranked_parameters(promise, ()), ranked_state(promise, ())
    for arm, (at, share) in enumerate(zip(positions, promise.shares, strict=True)):
        if at is None or not share:
            state.whole[arm], state.rest[arm] = NEVER, 0
        else:
            exact = Fraction(math.ceil(at * share.numerator), share.numerator)
            state.whole[arm] = math.floor(exact)
            state.rest[arm] = int((exact - math.floor(exact)) * int(params.numerators[arm]))
    return params, state


def _can_be_kept(policy: Any, promise: Promise, positions: list[Fraction | None]) -> bool:
    return look_for_room(*_fill(promise, positions), policy.round)


def look_for_room(params: Any, state: Any, now: int) -> bool:
    """Say whether all floors of a ranked rule, without a learner, can be kept after round `now`."""
    small = len(params.numerators) * params.denominator < PLAIN_WORK
    look = interpreted(can_be_kept) if small else entry(can_be_kept)
    return bool(look(params, state, now))


def _enter(policy: Any, promise: Promise, positions: list[Fraction | None]) -> None:
    """Go on with another promise from these positions."""
    policy._rank()
    params, state = _fill(promise, positions)
    before = policy._state
    state.pulls[: before.pulls.size] = before.pulls
    policy.promise = policy._floors = promise
    policy._params = params._replace(learner=policy._params.learner)
    policy._state = state._replace(learner=before.learner)
    policy.reset_offer()
    policy.forget_machine_code()


def _grow(policy: Any, labels: tuple[Label, ...]) -> None:
    """Give the learner, the labels and the open tickets' counts room for one more arm."""
    if not policy.compiled:
        mend = "make a new policy with all arms"
        raise ArgumentError(wanted("arm", "one that the learner knows", type(policy.learner).__name__, mend))
    learner = policy.learner.grown(labels)
    policy.learner = learner
    policy._params = policy._params._replace(learner=learner._params)
    policy._state = policy._state._replace(learner=learner._state)
    policy.arms = policy._labels = labels
    policy._waiting = np.append(policy._waiting, 0)
    policy._counts = [*policy._counts, 0]
