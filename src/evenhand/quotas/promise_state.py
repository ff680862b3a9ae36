"""A promise in force: where its clauses stand, exactly and by their members, and what holds over every change of it.

A floor stands at the time x, in rounds, by which its next play falls due: by the end of round ceil(x), and n plays
later by that of round ceil(x + n / r). For r = p/q in lowest terms nothing changes if x is rounded up to a multiple of
1/p, which the kernels' integers hold. By how much it was rounded is kept, so that the next change starts from x itself.

Arms come and go, and other promises begin. Every change makes a version, and each clause is counted by version.

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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, Self

from evenhand.errors import ArgumentError, SharesError, UnknownArmError, Wording, expected, expected_one_of, figure
from evenhand.kernels.arrays import Floats, Words
from evenhand.kernels.compose import entry, interpreted
from evenhand.kernels.deadlines import NEVER, DeadlineState
from evenhand.labels import Labels
from evenhand.promises.allowed import selection_kernels
from evenhand.promises.catch_up import catching_up
from evenhand.promises.feasible import forest_of, limits_of, settle_offers, tokens_of, why_not_varied
from evenhand.promises.laminar import look
from evenhand.promises.plain_data import ARGUMENTS
from evenhand.promises.promise import Promise, check_rounds
from evenhand.promises.reading import Members, key_of, read_share
from evenhand.promises.rule_arrays import NEVER_SOFT, rule_parameters, rule_state
from evenhand.promises.rule_arrays import look_work as composed_work
from evenhand.promises.rule_state import RuleParams, RuleState
from evenhand.promises.versions import among, changed, joined, without
from evenhand.promises.weight_promises import parameters_of
from evenhand.promises.weight_rule import grant_weighed, select_weighed, weight_state
from evenhand.protocol import Label, arm_labels
from evenhand.quotas.deadlines import (
    DEADLINE_RULE,
    check_tolerance,
    deadline_parameters,
    deadline_state,
    is_plain,
    look_work,
)
from evenhand.quotas.quota_kernels import QuotaRule, RankingRule

FIXED = "weights allow no changes", Wording("make a new policy", shell="create a new study with `evenhand new`")
CHANGE = Wording("change()", shell="evenhand change")
PLAIN_WORK = 1_000_000
"""Array entries up to which a look ahead runs as plain Python."""
LONGEST_WAIT = 1 << 40
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


def read_positions(promise: Promise, params: Any, state: Any, rounded: Rounded) -> ClausePositions:
    """Return where the clauses stand by the arrays of a rule."""
    owners, numerators = forest_of(promise)[0], params.numerators.tolist()
    columns = state.whole.tolist(), state.rest.tolist(), numerators, rounded or (0,) * len(owners)
    floors = {
        members: whole + Fraction(rest, n) - by
        for members, whole, rest, n, by in zip(owners, *columns, strict=True)
        if n and whole < NEVER
    }
    caps: dict[Label, Fraction] = {}
    left: dict[Members, list[int]] = {}
    for place, cap in enumerate(promise.caps or ()):
        if cap is not None:
            rest = Fraction(int(state.cap_rest[place]), int(params.cap_numerators[place]))
            caps[promise.arms[place]] = int(state.cap_whole[place]) + rest
    if promise.windows:
        for token, rounds in zip(tokens_of(promise), state.left.tolist(), strict=True):
            left.setdefault(token.members, []).append(rounds)
    return ClausePositions(floors, caps, left)


def fresh(promise: Promise, now: int) -> ClausePositions:
    """Return where the clauses stand if they begin after round `now`."""
    params, state = _begin(promise)
    begun = read_positions(promise, params, state, ())
    floors = {members: at + now for members, at in begun.floors.items()}
    return ClausePositions(floors, {arm: at + now for arm, at in begun.caps.items()}, begun.left)


def shares_of(promise: Promise) -> dict[Members, Fraction]:
    """Return what is owed to each arm, then to each set, without those that are owed nothing."""
    found: dict[Members, Fraction] = {(a,): share for a, share in zip(promise.arms, promise.shares, strict=True)}
    return {members: share for members, share in (found | dict(promise.sets)).items() if share}


def write_positions(
    promise: Promise, standing: ClausePositions, retired: Sequence[Label]
) -> tuple[RuleParams, RuleState, Rounded]:
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


def _begin(promise: Promise) -> tuple[RuleParams, RuleState]:
    return rule_parameters(promise, ()), rule_state(promise, ())


Standing = Callable[[], tuple[ClausePositions, int]]
"""Returns where the clauses stand, and after how many rounds."""


@dataclass(frozen=True)
class PromiseState:
    """What is promised now, and the rule that keeps it.

    Attributes
    ----------
    lottery : the floor of the lottery that draws the arms, None where there is none.
    composed : whether the rule takes clauses of every kind and arms that are not on offer; else it is that of
        `evenhand.quotas.deadlines`, which costs less.
    retired : the arms that were taken off offer.
    rounded : by how much the position of each arm, and set, was rounded up since the promise last changed; () for
        nothing.
    """

    promise: Promise
    lottery: float | None
    composed: bool
    retired: tuple[Label, ...] = ()
    rounded: Rounded = ()

    @classmethod
    def of(cls, promise: Promise, lottery: float | None) -> Self:
        """Return the state before the first round.

        Raises
        ------
        ArgumentError
            If a lottery is to keep shares of a weight, or caps for which rounds are excused.
        """
        if lottery is not None:
            check_rounds(promise, "no lottery is known that keeps shares of a weight", "leave lottery out")
        return cls(promise, lottery, lottery is not None or not is_plain(promise))._checked()

    def _checked(self) -> Self:
        """Return this, where a lottery draws only what one can keep."""
        if self.lottery is not None and self.promise.clock == "all":
            what = "None beside clock='all', as none lets arms catch up"
            raise ArgumentError(expected("lottery", what, self.lottery))
        if self.lottery is not None and self.promise.excuses:
            what = "a lottery without caps where any arms may be on offer, as none excuses rounds"
            raise ArgumentError(expected("lottery", what, self.lottery, "name arms without caps in offers="))
        return self

    def as_arguments(self, config: dict[str, Any]) -> dict[str, Any]:
        """Return a policy's arguments, with the promise as a whole where they cannot express it."""
        promise, unsaid = self.promise, {name for name in ("windows", "cap_tolerance") if name not in config}
        plain = promise.weight is None and promise.clock == "offered" and not any(getattr(promise, n) for n in unsaid)
        if plain and promise.offers == settle_offers(promise, None):
            return config
        return {name: value for name, value in config.items() if name not in ARGUMENTS} | {"shares": promise}

    def saved(self) -> dict[str, Any]:
        """Return what a snapshot of its policy keeps of it beside the arguments."""
        retired: dict[str, Any] = {"retired": list(self.retired)} if self.retired else {}
        return {"composed": self.composed} | retired | ({"rounded": list(self.rounded)} if any(self.rounded) else {})

    @property
    def rule(self) -> QuotaRule | RankingRule:
        """The kernels that keep the promise."""
        weighed = self.promise.weight is not None
        if not weighed and not self.composed:
            return DEADLINE_RULE
        kernels = (select_weighed, grant_weighed) if weighed else selection_kernels(self.promise)
        return RankingRule(*(catching_up(kernels[0], weighed=weighed) if self.promise.clock == "all" else kernels))

    def parameters(self, learner: object, soft_rounds: Floats = NEVER_SOFT) -> Any:
        """Return the rule's parameters around those of a learner."""
        if self.promise.weight is not None:
            return parameters_of(self.promise, learner)
        if self.composed:
            return rule_parameters(self.promise, learner, self.lottery or 0.0, soft_rounds)
        return deadline_parameters(self.promise, learner)

    def memory(self, learner: object, stream: Words) -> Any:
        """Return the rule's state before the first round, around that of a learner."""
        if self.promise.weight is not None:
            return weight_state(len(self.promise.arms), learner)
        if self.lottery is not None:
            return rule_state(self.promise, learner, stream)
        return rule_state(self.promise, learner) if self.composed else deadline_state(self.promise, learner)

    def look_work(self, params: Any) -> int:
        """Return about how many array entries a look ahead touches."""
        if self.promise.weight is not None:
            return len(self.promise.arms) ** 3
        return composed_work(params, self.promise.plays) if self.composed else look_work(self.promise)

    def ranking(self, state: DeadlineState) -> tuple[Self, RuleState]:
        """Return the same promise under the rule that takes everything, and its state where that of the other is."""
        then = replace(self, composed=True)
        begun = rule_state(self.promise, state.learner)
        return then, begun._replace(pulls=state.pulls, whole=state.whole, rest=state.rest)

    @property
    def gone(self) -> list[int]:
        """The positions of the retired arms."""
        return [self.promise.arms.index(arm) for arm in self.retired]

    def check_offer(self, available: list[int]) -> None:
        """Check that these arms alone may be on offer in a round.

        Raises
        ------
        ArgumentError
            If the promise holds only while others are on offer too, or one of them was retired.
        """
        arms, always = self.promise.arms, self.promise.offers
        offered = [arms[arm] for arm in available]
        if always == "all" and len(available) < len(arms) - len(self.retired):
            against = why_not_varied(self.promise)
            possible = Wording('pass offers="any" to Promise', shell='say offers = "any" in a promise file')
            others = Wording(", ", possible) if against is None else f": {against}"
            hint = Wording("the promise holds only while all are on offer; for arms that come and go", others)
            raise ArgumentError(expected("available", "every arm", offered, hint))
        if not isinstance(always, str):
            held, least = [arm for arm in offered if arm in always], min(self.promise.plays, len(offered))
            if len(held) < least:
                what = f"at least {least} of {list(always)}, as the promise says"
                raise ArgumentError(expected("available", what, offered))
        gone = next((arm for arm in offered if arm in self.retired), None) if self.retired else None
        if gone is not None:
            raise ArgumentError(expected("available", "arms that were not retired", gone))

    # ------------------------------------------------------------------ changes

    def positions(self, params: object, state: object) -> ClausePositions:
        """Return where the clauses stand by the rule's arrays."""
        return read_positions(self.promise, params, state, self.rounded)

    def written(self, at: ClausePositions) -> tuple[Self, RuleState]:
        """Return this with what positions are rounded up by, and the rule's state there, without a learner."""
        _, state, rounded = write_positions(self.promise, at, self.retired)
        return replace(self, rounded=rounded), state

    def retire(self, label: Label, standing: Standing) -> tuple[Self, ClausePositions]:
        """Return what is promised without an arm, and where its clauses stand; the arm's share is
        released."""
        check_rounds(before := self.promise, *FIXED)
        place = Labels(before.arms).place(label)
        if place is None:
            raise UnknownArmError(expected_one_of("arm", before.arms, label))
        arm = before.arms[place]
        if arm in self.retired:
            raise ArgumentError(expected("arm", "one that is on offer", label, "it was retired before"))
        if before.plays >= len(before.arms) - len(self.retired):
            rest = "another arm stays" if before.plays == 1 else f"{before.plays} other arms stay"
            raise ArgumentError(expected("arm", f"one without which {rest} on offer", label, "add another arm first"))
        gone = {*self.retired, arm}
        for members, due in Counter(token.members for token in tokens_of(before)).items():
            if 0 < len(set(members) - gone) < min(due, before.plays):
                stay = f"one without which {min(due, before.plays)} of {members} stay on offer, as their window needs"
                raise SharesError(expected("arm", stay, label, "promise another window first with change()"))
        then = self._promising(without(before, arm, self.retired), (*self.retired, arm))
        at, now = standing()
        at = then._continued(at)
        bound = then.promise.windows or then.promise.caps is not None
        if bound and not then._is_feasible(at, now):
            hint = "try again some rounds later"
            raise ArgumentError(expected("arm", "one without which all clauses can be kept now", label, hint))
        return then, at

    def add(self, label: Label, share: object, cap: object, standing: Standing) -> tuple[Self, ClausePositions, int]:
        """Return what is promised with one more arm, where its clauses stand, and after how many
        rounds the arm's own begins."""
        check_rounds(before := self.promise, *FIXED)
        known = Labels(before.arms).place(label)
        if known is not None and before.arms[known] not in self.retired:
            raise ArgumentError(expected("arm", "a new label, or that of a retired arm", label, "use change(shares)"))
        part = read_share(share, "share")
        left = before.plays - sum(before.shares)
        if part > left:
            what = f"at most {figure(float(left))}, what the other shares leave"
            hint = Wording("lower the others first with ", CHANGE)
            raise SharesError(expected("share", what, float(part), hint))
        arm = arm_labels((*before.arms, label), "arm")[-1] if known is None else before.arms[known]
        stay = [other for other in self.retired if other != arm]
        try:
            then = self._promising(joined(before, arm, share, cap), stay)
        except SharesError as error:
            if cap is None or (said := error.refusal) is None:
                raise
            hint = Wording(said.hint, "; ", "promise that first with ", CHANGE)
            raise SharesError(expected(said.name, said.expected, said.got, hint)) from error
        at, now = standing()
        at, wait = then._continued(at), 0
        if cap is not None:
            at.caps[arm] = fresh(then.promise, now).caps[arm]
        if part:
            first = now + (before.slack + 1) / part
            wait = then._wait(arm, at, first, now)
            at.floors[(arm,)] = first + wait
        return then, at, wait

    def change(self, shares: object, standing: Standing) -> tuple[Self, ClausePositions, dict[Any, float]]:
        """Return another promise, where its clauses stand, and by how many plays floors were behind
        that cannot be carried over."""
        check_rounds(self.promise, *FIXED)
        then = self._promising(changed(self.promise, self.retired, shares), self.retired)
        check_rounds(then.promise, *FIXED)
        check_tolerance(then.promise)
        at, now = standing()
        begun = fresh(then.promise, now)
        dropped, limits = self._claims(at, now), limits_of(then.promise)
        capped = any(not limits.keys().isdisjoint(members) for members in shares_of(then.promise))
        if then.promise.offers == "all" or not capped:  # else a claim could force a play above a cap
            dropped = then._carry(dropped, begun, now)
        return then, begun, {key_of(members): float(lag) for members, lag in dropped.items()}

    def _promising(self, promise: Promise, retired: Sequence[Label]) -> Self:
        """Return the state with another promise, where a rule is known that keeps it with the arms that stay.

        Raises
        ------
        SharesError
            If none is known.
        """
        settle_offers(among(promise, [arm for arm in promise.arms if arm not in retired]), promise.offers)
        return replace(self, promise=promise, retired=tuple(retired), composed=True)._checked()

    def _is_feasible(self, at: ClausePositions, now: int) -> bool:
        """Return whether all clauses can be kept from there on after round `now`, as far as a look ahead sees."""
        params, state, _ = write_positions(self.promise, at, self.retired)
        small = len(params.numerators) * params.denominator < PLAIN_WORK
        state.left[:] += 1  # seen from a round before, in which nothing is played
        state.ticks[:] = 1
        state.chosen[:] = -1
        return bool((interpreted if small else entry)(look)(params, state, now - 1) >= 0)

    def _continued(self, at: ClausePositions) -> ClausePositions:
        """Return where the clauses that go on stand."""
        promise, owed = self.promise, shares_of(self.promise)
        capped = {arm for arm, cap in zip(promise.arms, promise.caps or (), strict=False) if cap is not None}
        windowed = dict(promise.windows)
        return ClausePositions(
            {members: due for members, due in at.floors.items() if members in owed},
            {arm: due for arm, due in at.caps.items() if arm in capped},
            {members: left for members, left in at.left.items() if members in windowed},
        )

    def _wait(self, arm: Label, at: ClausePositions, first: Fraction, now: int) -> int:
        """Return after how many rounds the first play of a new arm may begin to fall due."""

        def late_enough(wait: int) -> bool:
            at.floors[(arm,)] = first + wait
            return self._is_feasible(at, now)

        low, wait = -1, 0
        while not late_enough(wait):
            low, wait = wait, 2 * wait + 1
            if wait > LONGEST_WAIT:
                hint = "try again some rounds later"
                raise ArgumentError(expected("arm", "one with which all clauses can be kept now", arm, hint))
        while wait - low > 1:
            middle = (low + wait) // 2
            low, wait = (low, middle) if late_enough(middle) else (middle, wait)
        return wait

    def _claims(self, at: ClausePositions, now: int) -> dict[Members, Fraction]:
        """Return by how many plays each floor is behind, by those of its arms that are on offer."""
        found: dict[Members, Fraction] = {}
        owed = shares_of(self.promise)
        for members, due in at.floors.items():
            lag = max(Fraction(0), self.promise.slack + 1 - owed[members] * (due - now))
            stay = tuple(arm for arm in members if arm not in self.retired)
            found[stay] = max(lag, found.get(stay, Fraction(0)))
        return {members: lag for members, lag in found.items() if lag and members}

    def _carry(self, claims: dict[Members, Fraction], begun: ClausePositions, now: int) -> dict[Members, Fraction]:
        """Move the floors of a new promise by what they were behind, where that can be kept; return the rest."""
        shares = shares_of(self.promise)
        names = {frozenset(members): members for members in begun.floors}
        dropped = {}
        # the largest first: those who wait for most would lose all of it to several who wait for little
        for members, lag in sorted(claims.items(), key=lambda one: -one[1]):
            name = names.get(frozenset(members))
            if name is not None:
                due = begun.floors[name]
                begun.floors[name] = due - lag / shares[name]
                if self._is_feasible(begun, now):
                    continue
                begun.floors[name] = due
            dropped[members] = lag
        return {members: dropped[members] for members in claims if members in dropped}
