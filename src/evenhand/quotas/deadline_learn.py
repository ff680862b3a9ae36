"""DeadlineLearn: any shares that sum to at most one, and a pull is forced only when a promise could otherwise not be
kept.

After round t let

    g(s) = s - t - sum_i max(0, floor(r_i s) - a - N_i(t)),    s >= t,

with a = floor(alpha): the rounds left until s less the pulls that fall due by s. The promise floor(r_i s) - N_i(s) <= a
can be kept for every arm at every s >= t iff g >= 0. So the learner's proposal j is granted iff g >= 0 after it, that
is iff g(s) >= 1 for t < s < ceil((N_j + 1 + a) / r_j), the deadline of j's next owed pull; otherwise the arm with the
earliest deadline is pulled, which keeps g >= 0. Nothing is assumed of the learner or the rewards, and no rule that
keeps the promise could grant a proposal that is refused. The theorem, its proof, and the test in integers stand at the
head of `evenhand.kernels.deadlines`. It looks ahead about a million deadlines a round at most; that decides every
proposal unless r_j plus what the shares leave of one is below about one millionth of the number of arms, and such a
proposal may be granted some rounds late.

To override the learner as seldom as possible is not the aim once contexts are seen, as the arm that is owed is then
played for whoever comes: `evenhand.quotas.shadow_prices` waits for those for whom it costs least.

With shares that sum to exactly one, an arm of share 0 can be pulled at most floor(alpha) times in all for each arm that
is owed something; with alpha < 1 never.

The rule is ours; the deadlines are those of earliest-deadline-first scheduling (C. L. Liu, J. W. Layland, Journal of
the ACM 20, 1973), the promise that of V. Patil, G. Ghalme, V. Nair, Y. Narahari, Journal of Machine Learning Research
22 (2021), Definition 2.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from evenhand.arguments import real, yes_or_no
from evenhand.errors import ArgumentError, expected, figure
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import bind
from evenhand.labels import Labels
from evenhand.learners.adapter import read_range
from evenhand.learners.indices import UCB1
from evenhand.learners.random import Thompson
from evenhand.parameters import locked, replaceable
from evenhand.policy.kernel_set import Kernels, unknown_probability
from evenhand.promises.amounts import amount_of
from evenhand.promises.promise import Promise
from evenhand.promises.reading import key_of
from evenhand.promises.rule_arrays import NEVER_SOFT
from evenhand.promises.rule_state import RuleState
from evenhand.protocol import Decision, Label
from evenhand.quotas.composed import draw_for, hears_among
from evenhand.quotas.deadlines import check_tolerance, warn_of_idle_arms
from evenhand.quotas.decision_weights import DecisionWeights
from evenhand.quotas.pending_proposal import always, has_room, holds_proposals, with_pending_proposal
from evenhand.quotas.promise_state import ClausePositions, PromiseState
from evenhand.quotas.proposer import KernelProposer, PythonCalls, name_of
from evenhand.quotas.quota_kernels import rank_proposal, update_learner
from evenhand.quotas.quota_policy import QuotaPolicy, Shares, read_owed
from evenhand.quotas.shadow_prices import (
    RANGE,
    SUCH_AS,
    check_priceable,
    largest_price,
    priced_parameters,
    priced_state,
    with_prices,
)
from evenhand.quotas.soft_caps import soft_rounds, why_hard
from evenhand.quotas.worlds import BernoulliArms
from evenhand.registry import register
from evenhand.rng import Seed

WORTH = "{} is worth {} more than it earns, because it is owed its share."
IN_VAIN = (
    "The learner sees no contexts, so no price can wait for a better one: in what was measured prices then lost "
    "rewards. Leave priced out."
)
CLOSED = "No arm can join later, as {} takes none: name a spare one now that is owed nothing."
SOFT = "Caps are soft: an arm that nears its cap is drawn less often, so that its probability is hardly ever 0."
HARD = (
    "Caps are hard: an arm at its cap has probability 0, which biases estimates that weight by probabilities. "
    "Soft caps need {}."
)


@register("quotas/deadline-learn")
class DeadlineLearn(QuotaPolicy):
    """Play any learner under any guaranteed shares with sum at most one, or at most m with m arms a round, forcing a
    pull only when a deadline would be missed.

    The promise is that of Patil et al. (2021): N_i(t) >= floor(r_i t) - alpha for every arm at every round. A proposal
    of the learner is granted iff every promise can still be kept after it, so no rule that keeps the promise could
    grant one that is refused; the proof, and how far it looks ahead, stand at the head of this module. Unlike
    `FairLearn` it accepts shares such as 0.7/0.1/0.1, and it leaves the learner more rounds, hence less regret. That is
    not the aim once contexts are seen; `priced` is for these alone.

    Parameters
    ----------
    learner : one of `evenhand.learners`, a contextual policy, or any object with `choose()` and `update(index,
        reward)`; it learns from forced pulls too. One with `own_choices` learns from granted proposals alone, and a
        refused one is held.
    shares : the share r_i of the rounds owed to each arm: a list, a dict arm -> share, or one number with `arms`. Keys
        may also be tuples of arms, which are owed their share together. Or a `Promise`, which states everything that is
        promised; the keywords that follow state parts of one.
    tolerance : alpha >= 0, by how many pulls an arm may be behind.
    plays : m, how many arms are played in a round, none twice; the shares may sum to m.
    caps : c_i for some arms, a dict arm -> cap, or one number for all: N_i(t) <= ceil(c_i t) + floor(cap_tolerance).
    cap_tolerance : by how many pulls an arm may be ahead of its cap.
    lottery : f in [0, 1] to draw every decision with known probabilities, each arm with at least f r_i wherever it may
        be played at all; None to force plays instead. See `evenhand.promises.lottery`.
    hard_caps : of a lottery, False to draw an arm that nears its cap less often, so that its chance is hardly ever 0,
        where that is possible; `notes` say whether it is. True to draw it as before until it stands at its cap.
    windows : a dict arm -> a, at least one pull in any a rounds, or arm -> (c, a), at least c pulls.
    priced : True to put a price in front of each of the learner's scores, so that an arm that is owed its share waits
        for the contexts in which it costs least; see `evenhand.quotas.shadow_prices`. Or the lowest and the highest
        mean reward of an arm in any context, where the learner takes any reward, or these means lie in less than its
        range: with a range that is too narrow, prices cannot rise far enough, and plays are forced.
    arms : labels, where `shares` has none.
    seed : seed of the learner's random choices.

    Raises
    ------
    SharesError
        If a share is not in [0, 1], there is not one share per arm, the promise cannot be kept, or no rule is known
        that keeps it; the message names the clauses that clash. With `priced` also if more is promised than shares of
        single arms, one play a round, or a lottery draws.
    ArgumentError
        If the tolerance is negative or too large to count, there are more plays than arms, or the learner has decided
        before, cannot choose and update, or cannot rank the arms where several are played; with `priced` if it has no
        scores, or the range of the means is not finite.

    Warns
    -----
    UserWarning
        If the shares sum to one exactly and an arm has share 0: that arm can hardly ever be pulled.

    Examples
    --------
    >>> from evenhand.learners import UCB1
    >>> policy = DeadlineLearn(UCB1(), {"red": 0.7, "green": 0.1, "blue": 0.1})
    >>> for _ in range(20):
    ...     decision = policy.ask()
    ...     policy.tell(decision, 1.0 if decision.arm == "blue" else 0.0)
    >>> policy.promise.is_kept(list(policy.pulls.values()), 20)
    True

    Three places a round, of which "d" is always owed one half, while some arms are not on offer:

    >>> policy = DeadlineLearn(UCB1(), {"a": 0, "b": 0, "c": 0, "d": "1/2", "e": 0}, plays=3)
    >>> decision = policy.ask()
    >>> decision.arms
    ('a', 'b', 'c')
    >>> policy.tell(decision, {"a": 1.0, "b": 0.0, "c": 0.0})
    >>> policy.ask(available=["a", "d", "e"]).arms
    ('d', 'e', 'a')

    Source: ours, with the deadlines of Liu and Layland (1973) and the promise of Patil, Ghalme, Nair, Narahari (2021).
    """

    _traits = replace(QuotaPolicy._traits, conditional_arguments=("hard_caps",))
    _now: PromiseState
    """What is promised now."""
    _asked: int | None = None
    """The weight of the decision that is being taken, -1 for one that is told later; None where none is."""

    def __init__(
        self,
        learner: object,
        shares: Shares | Any,
        tolerance: float = 0.0,
        plays: int = 1,
        caps: object = None,
        cap_tolerance: float = 0.0,
        *,
        lottery: float | None = None,
        hard_caps: bool = False,
        windows: object = None,
        priced: bool | Sequence[float] = False,
        arms: int | Sequence[Label] | None = None,
        seed: Seed = None,
    ) -> None:
        said = {"tolerance": tolerance, "plays": plays, "caps": caps, "cap_tolerance": cap_tolerance}
        promise = read_owed(learner, shares, said | {"windows": windows}, arms)
        self.plays = promise.plays
        self._traits = replace(self._traits, plays=self.plays)
        self.lottery = None if lottery is None else real("lottery", lottery, low=0.0, high=1.0)
        self.hard_caps, self._drawn = yes_or_no("hard_caps", hard_caps), self.lottery is not None
        if self.hard_caps and not self._drawn:
            raise ArgumentError(expected("hard_caps", "False without a lottery", True, "leave it out"))
        what = f"True, False, or {RANGE}"
        self.priced = priced if isinstance(priced, bool) else read_range(priced, "priced", what, SUCH_AS)
        self._priced = self.priced is not False
        if self._priced:
            check_priceable(promise, self.lottery)
        self._take(PromiseState.of(promise, self.lottery))
        check_tolerance(promise)
        warn_of_idle_arms(promise)
        self._set_up(learner, promise, seed)

    def _take(self, now: PromiseState) -> None:
        """Promise this from now on."""
        self._now, self.promise, self.retired, self._rule = now, now.promise, now.retired, now.rule
        caps, self.cap_tolerance = self.promise.caps, self.promise.cap_tolerance
        self.caps = None if caps is None else dict(zip(self.promise.arms, caps, strict=True))

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments; the promise as a whole where they cannot express it."""
        return self._now.as_arguments(super().config())

    def _must_hold(self) -> bool:
        if self._priced:
            self._largest_price = largest_price(self._proposer.given, self.priced)
        if self.plays > 1 and not self._proposer.ranks:
            what = "a learner that ranks the arms, as several are played"
            raise ArgumentError(expected("learner", what, type(self.learner).__name__, "UCB1 and Thompson do"))
        return self.lottery is None and holds_proposals(self.learner, self.promise, bool(self._traits.contextual))

    @property
    @locked
    def prices(self) -> dict[Label, float] | None:
        """How much more than its score each arm is worth now, because it is owed a share; None without `priced`."""
        if not self._priced:
            return None
        engine, none = self._engine, [0.0] * len(self._labels)
        return dict(zip(self._labels, none if engine is None else engine.state.learner.prices.tolist(), strict=True))

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before trusting its numbers, and what each price means, in sentences."""
        vain = (IN_VAIN,) if self._priced and not self._traits.contextual else ()
        caps = {"": (), None: (SOFT,)}.get(self._why_hard, (HARD.format(self._why_hard),))
        worth = (WORTH.format(arm, figure(price, 3)) for arm, price in (self.prices or {}).items() if price)
        arms = () if self._proposer.takes_new_arms(self._labels) else (CLOSED.format(name_of(self.learner)),)
        return (*super().notes, *caps, *vain, *arms, *worth)

    @property
    def _why_hard(self) -> str | None:
        """What a lottery lacks for soft caps, None where it has them; "" where there are no lottery or no caps."""
        under, floor = self._proposer, self.lottery
        among = isinstance(under, KernelProposer) and hears_among(under.learner._kernels)
        return "" if floor is None else why_hard(self.promise, floor, hard_caps=self.hard_caps, among=among)

    def _around(self, learner: Any) -> Any:
        return priced_state(len(self._labels), learner) if self._priced else super()._around(learner)

    @property
    def _may_come(self) -> Any:
        return has_room if self._now.composed else always

    def _bound(self, learner: Kernels) -> Kernels:
        if self._priced:
            return with_prices(learner, super()._bound, self._may_come)
        if self._traits.defers_refusals:
            return with_pending_proposal(learner, super()._bound, self._may_come)
        if self.lottery is None:
            return super()._bound(learner)
        ranking = learner.rank or bind(rank_proposal, learner_choose=learner.choose)
        update = bind(update_learner, learner_update=learner.update)
        return draw_for(learner, update, self.plays, ranking)

    def _distribution(self, why: int) -> Floats | None:
        """Return the distribution (n_arms,) of the decision just taken; for several plays, each arm's probability of
        being played. With a learner from elsewhere, the probabilities are conditional on its proposal."""
        if self.lottery is None or self._kernels.probability is unknown_probability:
            return super()._distribution(why)
        return self.engine.state.chances.copy()

    def _slate_chance(self) -> float | None:
        return None if self.lottery is None else float(self.engine.state.slate_chance[0])

    @property
    def windows(self) -> dict[Any, tuple[int, int]] | None:
        """The window of each arm, or tuple of arms, that has one, as (plays, rounds); None where none has."""
        return {key_of(members): window for members, window in self.promise.windows} or None

    @replaceable
    def shares(self) -> dict[Any, Fraction]:
        """The share of each arm and of each set of arms, exactly as it was read."""
        return dict(zip(self.promise.arms, self.promise.shares, strict=True)) | dict(self.promise.sets)

    def _quota_parameters(self, learner: object) -> Any:
        if self._priced:
            learner = priced_parameters(self.promise, self._largest_price, learner)
        soft = self._why_hard is None
        return self._now.parameters(learner, soft_rounds(self.promise, self.lottery or 0.0) if soft else NEVER_SOFT)

    def _quota_memory(self, learner: object) -> Any:
        return self._now.memory(learner, self._stream())

    @locked
    def add(self, arm: Label, share: object = 0, *, cap: object = None) -> int:
        """Put a new arm on offer, or a retired one again, and return after how many rounds its promise begins.

        All other clauses continue. The arm's cap counts from now on, and its share too, or w rounds later where plays
        owed to others fill the next rounds: w is at most ceil(n_arms / share) with one play a round and floors alone.

        Raises
        ------
        SharesError
            If the share or the cap is not a number from 0 to 1, or the promise cannot be kept with them.
        ArgumentError
            If the arm is on offer already, or the learner cannot take a new arm.
        """
        then, at, wait = self._now.add(arm, share, cap, self._standing)
        if self._priced:
            check_priceable(then.promise, None)
        if then.promise.arms != self.arms:
            self._grow(then.promise.arms)
        self._continue(then, at)
        self.engine.state.gone[Labels(then.promise.arms).place(arm)] = 0
        return wait

    @locked
    def retire(self, arm: Label) -> None:
        """Take an arm off offer until `add` puts it back; other clauses continue, and its open tickets may be told.

        Raises
        ------
        UnknownArmError
            If there is no such arm.
        ArgumentError
            If it was retired before, or too few arms would be left.
        SharesError
            If the promise to the other arms cannot be kept without it, as with caps that sum to less than one.
        """
        self._continue(*self._now.retire(arm, self._standing))

    @locked
    def change(self, shares: object) -> dict[Any, Any]:
        """Promise other shares, or another `eh.Promise`, from now on: every clause counts from this change.

        A floor's shortfall is carried over to the new floor of the same arms where that can be kept, the largest first.
        What could not be carried over, less than alpha + 1 plays per floor, is returned: a dict arm -> plays, a set of
        arms as a tuple. Caps and windows begin anew. New shares leave the rest of the promise as it is, also the sets
        of arms unless they name some; a new promise replaces all of it, for the same arms and plays a round.

        Raises
        ------
        SharesError
            If this cannot be promised for the arms on offer.
        ArgumentError
            If the promise is for other arms, or for more or fewer plays a round.
        """
        then, at, dropped = self._now.change(shares, self._standing)
        if self._priced:
            check_priceable(then.promise, None)
        self._continue(then, at)
        self.engine.state.gone[:] = 0
        return dropped

    def ask(
        self, contexts: object = None, *, available: object = None, weight: object = None, scores: object = None
    ) -> Decision:
        """Take the next decision and hand out its ticket.

        Parameters
        ----------
        contexts, available, scores : as any policy takes them; arms that were retired are never on offer.
        weight : what the decision weighs, where the promise is of a weight that is known when asking.

        Raises
        ------
        ArgumentError
            If the promise does not hold among these arms, a score is refused, a weight is missing, not wanted or larger
            than promised, or too many decisions wait for theirs.
        ContextError
            If contexts are missing, not wanted, of another shape, or not finite.
        """
        if available is None and weight is None and scores is None and self.promise.weight is None:
            return super().ask(contexts)
        with self._lock:
            self._asked = self._weights.to_ask(weight)
            try:
                decision = super().ask(contexts, available=available, scores=scores)
            finally:
                self._asked = None
            self._forget_the_gone()
            return decision

    @locked
    def tell(self, decision: Decision | int, reward: Any, *, weight: object = None) -> None:
        """Record the reward of a ticket, and its weight where the promise is about weights that are told later.

        Raises
        ------
        ArgumentError
            If a weight is missing, not wanted, or not from 0 to the largest.
        RewardError, UnknownTicketError, ClosedTicketError, ForeignTicketError
            As without weights.
        """
        weights = self._weights
        if not weights.told_later:
            weights.refuse(weight)
            super().tell(decision, reward)
            return
        index = self.tickets.find(decision)[1].said[2]
        whole = weights.counted(weight)
        super().tell(decision, reward)
        weights.close(index, whole)

    @locked
    def forget(self, decision: Decision | int) -> None:
        """Close a ticket that will never be told, also not its weight: that counts as 0 for good."""
        index = self.tickets.find(decision)[1].said[2]
        super().forget(decision)
        if self._weights.told_later:
            self._weights.close(index)

    @locked
    def choose(self, contexts: object = None) -> int:
        """Take the next decision without a ticket and return the arm's index.

        Raises
        ------
        ArgumentError
            If the promise is about weights, which need a ticket.
        """
        self._weights.refuse_without_ticket("choose")
        return super().choose(contexts)

    @property
    def _weights(self) -> DecisionWeights:
        return DecisionWeights(self.promise, None if self._engine is None else self._engine.state)

    def _round_shown(self, contexts: object = None, *, available: object = None, weight: object = None) -> Any:
        return super()._round_shown(contexts, available=available), amount_of(weight)

    def _inputs(self) -> dict[str, Any] | None:
        if self._asked is not None:
            self.engine.state.weight[0] = self._asked
        return super()._inputs()

    def _on_offer(self) -> list[int]:
        return [place for place in super()._on_offer() if place not in self._now.gone]

    def _offer(self, available: list[int]) -> Ints:
        self._now.check_offer(available)
        self._rank()
        return self.engine.offer(available)

    def _forget_the_gone(self) -> None:
        """Hold no proposal of an arm that was retired."""
        pending = self.engine.state.learner
        if self._traits.defers_refusals and pending.proposal[0] in self._now.gone:
            pending.proposal[0] = -1

    def _to_ranking(self) -> PythonCalls:
        self._rank()
        calls = self.engine.calls
        assert isinstance(calls, PythonCalls)
        return calls

    def _rank(self) -> None:
        """Go over to a rule that takes arms that are not on offer; nothing is forgotten."""
        if not self._now.composed:
            self._go_on(*self._now.ranking(self.engine.state))

    def _standing(self) -> tuple[ClausePositions, int]:
        """Return where the clauses stand, and after how many rounds."""
        self.tickets.token  # noqa: B018, tickets handed out before and after a change are the same policy's
        return self._now.positions(self.engine.params, self.engine.state), self.round

    def _continue(self, then: PromiseState, at: ClausePositions) -> None:
        """Go on with another promise from where its clauses stand."""
        before = self.engine.state
        then, state = then.written(at)
        state.pulls[: before.pulls.size] = before.pulls
        if self._now.composed:
            state.gone[: before.gone.size] = before.gone
        kept = {} if self.lottery is None else {"stream": before.stream}
        self._go_on(then, state._replace(learner=before.learner, **kept))
        state.offered[:] = 1
        state.offered[then.gone] = 0
        self._forget_the_gone()

    def _go_on(self, then: PromiseState, state: RuleState) -> None:
        """Go on under another rule, in this state."""
        self._take(then)
        params = self._quota_parameters(self._proposer.arrays[0])
        if self._priced:
            for array in state.learner[:2]:
                array[params.learner.shares == 0] = 0
        self._bind_kernels()
        arms, work = len(self._labels), self._call_work(params)
        self.engine.replace(self._kernels, params, state, arms=arms, work=work)

    def _grow(self, arms: tuple[Label, ...]) -> None:
        """Give the learner, the labels and the counts of open tickets room for one more arm."""
        self._proposer.grow(arms)
        self.arms, engine = arms, self.engine
        around = self._around(self._proposer.arrays[1])
        if self._priced:
            for mine, before in zip(around[:2], engine.state.learner[:2], strict=True):
                mine[: before.size] = before
        engine.state = engine.state._replace(learner=around)

    def _restore_variant(self, snapshot: dict[str, Any]) -> None:
        if snapshot.get("composed") is True:
            self._rank()
        retired, rounded = tuple(snapshot.get("retired", ())), tuple(snapshot.get("rounded", ()))
        self._take(replace(self._now, retired=retired, rounded=rounded))

    @locked
    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs to continue exactly here."""
        return super().snapshot() | self._now.saved()

    def _call_work(self, params: object) -> int:
        return super()._call_work(params) + self._now.look_work(params)

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> DeadlineLearn:
        """Return the policy that `snapshot` was taken of."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # it was said when the policy was made
            return super().restored(snapshot)

    @classmethod
    def _examples(cls) -> Iterator[tuple[DeadlineLearn, Any]]:
        yield cls(UCB1(seed=1), {"a": 0.7, "b": 0.1, "c": 0.1}, seed=1), BernoulliArms({"a": 0.3, "b": 0.8, "c": 0.5})
        yield cls(Thompson(seed=1), ["1/2", "1/3", "1/6"], tolerance=1.5, seed=2), BernoulliArms([0.1, 0.2, 0.9])
        capped = cls(UCB1(seed=1), {"a": 0.3, "b": 0.0, "c": 0.1}, 1.0, caps={"b": 0.4}, seed=3)
        yield capped, BernoulliArms({"a": 0.3, "b": 0.8, "c": 0.5})
        together = cls(Thompson(seed=1), {("a", "b"): "1/2", ("a", "b", "c"): "2/3", "c": "1/10"}, seed=4)
        yield together, BernoulliArms({"a": 0.3, "b": 0.4, "c": 0.9})
        drawn = cls(UCB1(seed=1), Promise({"a": 0.3, "b": 0.0, "c": 0.1}, caps={"b": 0.4}), lottery=0.5, seed=5)
        yield drawn, BernoulliArms({"a": 0.3, "b": 0.8, "c": 0.5})
        rotating = cls(Thompson(seed=1), Promise(windows={0: 7, 1: 50, 2: 60, 3: 70}, offers="all"), seed=6)
        yield rotating, BernoulliArms([0.2, 0.9, 0.4, 0.3])
        of_sets = cls(UCB1(seed=1), {("a", "b"): 1.2, "c": 0.4, "d": 0.0}, plays=2, seed=7)
        yield of_sets, BernoulliArms({"a": 0.3, "b": 0.8, "c": 0.5, "d": 0.9})
