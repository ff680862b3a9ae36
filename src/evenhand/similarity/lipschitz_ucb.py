"""LipschitzUCB: optimism about rewards under a fairness program whose metric is learned from an auditor's verdicts.

Each round solves the fair program for upper confidence bounds of the rewards and the metric learner's distances,
draws from its solution, and learns twice: the reward of whoever was drawn, and for each pair whether the gap |p_i -
p_j| of the round was above its distance.

Source: S. Gillen, C. Jung, M. Kearns, A. Roth, "Online Learning with an Unknown Fairness Metric" (NeurIPS 2018),
Algorithms 1 (L_known) and 2 (L_full), Theorems 1, 3 and 4. `margin` is ours.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arguments import one_of, real, whole, yes_or_no
from evenhand.data.rows import in_step
from evenhand.errors import ArgumentError, ContextError, VerdictError, Wording, expected
from evenhand.frames import frame_or_value
from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import flat
from evenhand.labels import in_columns, in_order
from evenhand.parameters import Parameters, locked, require_fresh
from evenhand.policy.ask_tell import AskTell
from evenhand.policy.traits import Traits
from evenhand.protocol import Chance, Decision
from evenhand.registry import register
from evenhand.rng import Seed, draw_seed, stream
from evenhand.similarity.exact_learners import EllipsoidDistance
from evenhand.similarity.lazy_kernels import RoundKernels, round_kernels
from evenhand.similarity.learner import DistanceLearner
from evenhand.similarity.metric import EQUAL
from evenhand.similarity.moments import MomentDistance
from evenhand.similarity.oracles import MahalanobisOracle
from evenhand.similarity.program import Select, read_select
from evenhand.similarity.reading import (
    MOST_FEATURES,
    MOST_INDIVIDUALS,
    Pairs,
    RoundTicket,
    read_contexts,
    read_rewards,
    read_theta,
    read_verdicts,
)
from evenhand.similarity.rule import ALL, EXPLICIT, FIRST, RoundParams, new_state, resized
from evenhand.similarity.scale import Scale, read_scale
from evenhand.similarity.verdict_learning import (
    ROBUST_BELIEF_WARNING,
    learn_verdicts,
    named_pairs,
    switch_to_robust_belief,
    switches_on_contradiction,
)
from evenhand.similarity.verdicts import Suspect, read_auditor

DRAWN, NOBODY = "drawn from the round's fair distribution", "nobody: the fair distribution leaves probability unused"
OnContradiction = Literal["robust", "refuse"]
Silence = Literal["acceptable", "acceptable unless another is named", "nothing"]
SILENCES = {"nothing": EXPLICIT, "acceptable": ALL, "acceptable unless another is named": FIRST}


@register("similarity/lipschitz-ucb")
class LipschitzUCB(AskTell, Parameters):
    """Choose with fair probabilities while learning rewards from experience and the metric from an auditor.

    Parameters
    ----------
    dimension : d, how many numbers describe an individual; with `theta` it is the number of weights.
    theta : the weights of the rewards (d,), where they are known: an individual with context x has the reward
        <x, theta>, and only the metric is learned. `delta`, `ridge` and `noise_scale` concern learned rewards.
    precision : epsilon; a pair whose distance is known this closely needs no more verdicts.
    metric : a metric learner, copied without what it has learned; None for `MomentDistance(precision=precision)`.
    select : "one" individual per round, or "many", each drawn independently.
    margin : use the certified lower end of a distance once its interval is narrow, so that the remaining error is on
        the safe side; False is as in the paper.
    delta : the probability with which a confidence bound of a reward may ever fail.
    ridge : lambda of the ridge regression.
    noise_scale : the rewards' noise is sub-Gaussian with this scale.
    individuals : k, where every round shows the same number; needed where each pair has a metric learner of its own.
    silence : what it means that the auditor does not name a pair: "acceptable" (the paper), "acceptable unless another
        is named" (an auditor who names one pair whenever there is one), or "nothing" (flags come now and then: only
        pairs called acceptable raise distances; without any such verdict the policy treats everybody alike).
    scale : one scale for everybody, `Scale.of(pool)` or `Scale(centre, unit)`; None takes contexts as they are. With a
        scale, people are described in `ask`, `verdict` and `distances` in the units of the pool. Rewards are linear in
        the scaled features; a column of ones gives them an intercept.
    on_contradiction : what to do with a verdict that no metric agrees with together with those before: "refuse" it, or
        switch from an exact learner to a "robust" belief, a `PosteriorDistance` that is told every answer again and
        learns how many are wrong. One warning says so; intervals are then measured, not certified.
    seed : the seed of the draws.

    Attributes
    ----------
    notes : plain data for the program that keeps the policy: saved and loaded with it, and never read here.

    Raises
    ------
    ArgumentError
        If an argument is out of range.

    Examples
    --------
    >>> policy = LipschitzUCB(2, seed=1)
    >>> oracle = MahalanobisOracle([[0.3, 0.0]])
    >>> decision = policy.ask([[1.0, 0.0], [0.0, 1.0]])
    >>> policy.tell(decision, 0.8, violations=oracle([[1.0, 0.0], [0.0, 1.0]], decision.probabilities))

    Source: Gillen, Jung, Kearns, Roth (2018), Algorithm 2, Theorem 4: O(k^2 d^2 log(d ||A'A||_F / epsilon))
    violations above epsilon with probability 1; Theorem 3: regret O(k^2 d^2 log(.) + k^3 epsilon T + d sqrt(T) log(T
    / delta)). With a shared learner the k^2 of the first two terms is not needed.
    """

    _tickets_live_in_log = True
    _traits = Traits(
        audited=True, work="pairs", conditional_arguments=("delta", "ridge", "noise_scale", "on_contradiction")
    )

    def __init__(
        self,
        dimension: int | None = None,
        *,
        theta: ArrayLike | None = None,
        precision: float = 0.02,
        metric: DistanceLearner | None = None,
        select: Select = "one",
        margin: bool = True,
        delta: float = 0.05,
        ridge: float = 1.0,
        noise_scale: float = 1.0,
        individuals: int | None = None,
        silence: Silence = "acceptable",
        scale: Scale | None = None,
        on_contradiction: OnContradiction = "refuse",
        seed: Seed = None,
    ) -> None:
        super().__init__()
        one = read_select(select)
        self.theta = None if theta is None else read_theta(theta)
        size = None if self.theta is None else self.theta.size
        self.dimension = whole("dimension", size if dimension is None else dimension, low=1, high=MOST_FEATURES)
        if size not in (None, self.dimension):
            raise ArgumentError(expected("dimension", f"{size}, one a weight in theta", dimension, "leave it out"))
        self.select = select
        self.margin, self.precision = yes_or_no("margin", margin), real("precision", precision, above=0, below=1)
        self.delta, self.ridge = real("delta", delta, above=0, below=1), real("ridge", ridge, above=0)
        self.noise_scale = real("noise_scale", noise_scale, above=0)
        self.silence = one_of("silence", silence, SILENCES)
        self.scale = read_scale(scale, self.dimension)
        self.on_contradiction = one_of("on_contradiction", on_contradiction, ("robust", "refuse"))
        if individuals is not None:
            individuals = whole("individuals", individuals, low=1, high=MOST_INDIVIDUALS)
        given = MomentDistance(precision=precision) if metric is None else metric
        if not isinstance(given, DistanceLearner):
            raise ArgumentError(expected("metric", "a metric learner such as MomentDistance(), or None", metric))
        self.seed = draw_seed(seed)
        hint = "pass metric.fresh(), or tell the verdicts to the policy's own `metric`"
        learner: DistanceLearner = require_fresh("metric", given, hint).fresh()
        if not learner.shared and individuals is None:
            what = "the number of individuals per round, as each pair has its own learner"
            raise ArgumentError(expected("individuals", what, individuals))
        self.individuals = individuals
        k = 2 if individuals is None else individuals
        learner.begin(self.dimension, k * (k - 1) // 2)
        numbers = self.precision, self.delta, self.ridge, self.noise_scale
        weights = np.zeros(0) if self.theta is None else self.theta
        self.params = RoundParams(one, self.margin, *numbers, learner.shared, SILENCES[silence], weights)
        self._state = new_state(self.dimension, k, self.ridge, stream(self.seed))
        self.round = 0
        self.notes: dict[str, Any] = {}
        self._columns = None if self.scale is None else self.scale.features
        """The columns of the contexts in their order, where these came as data frames."""
        self.exact: DistanceLearner | None = None
        """The learner that the policy began with, once it has gone over to a robust belief."""
        self.adopt(learner)

    # ------------------------------------------------------------------ the conversation

    @locked
    def ask(self, contexts: ArrayLike) -> Decision:
        """Decide about the individuals of a round, contexts (k, d) with norms of at most 1 on the policy's scale.

        The decision's `index` is the position of whoever was drawn, -1 for nobody; its `arm` is the same, or with
        `select="many"` the tuple of all positions drawn.

        Raises
        ------
        ContextError
            If contexts have another shape, are not finite, or have a norm above 1 on the scale, or there are more
            pairs than the metric learner takes in a round.
        """
        shown, columns = self._read(contexts)
        k = len(shown)
        self.prepare(k)
        self.metric._make_room(2 * k * k)
        state, metric = flat(self._state), self.metric.arrays
        first = int(self._kernels.ask(shown, self.round + 1, self.params, state, metric))
        self.round += 1
        self._columns = columns
        ticket = RoundTicket(shown, self._state.p.copy(), self._state.chosen.copy(), np.triu(self._state.undecided & 1))
        for i, j, pair in self.pairs(k):
            for _ in range(self._state.undecided[j, i]):
                self.metric.log.record_fact(shown[i], shown[j], pair)
        said = (self.round, *ticket.drawn(self.select))
        number = self.tickets.hand_out((said, ticket))
        why = (DRAWN, "drawn") if first >= 0 else (NOBODY, "other")
        if caveat := self.metric.caveat():
            why = f"{why[0]}; {caveat}", why[1]
        decision = Decision(number, *said, Chance(ticket.probabilities.copy()), *why, token=self.tickets.token)
        self._last = decision.arm, why[0]
        return decision

    @locked
    def tell(
        self,
        decision: Decision | int,
        reward: float | Sequence[float] | None = None,
        violations: Pairs | bool = (),
        *,
        acceptable: Pairs = (),
        auditor: str | None = None,
    ) -> None:
        """Record the reward, and the pairs that the auditor calls treated too differently.

        Parameters
        ----------
        decision : the ticket, or its id; it may come late and out of order.
        reward : the reward of whoever was drawn; with `select="many"` one number for each; None for nobody.
        violations : pairs (i, j) of positions. The parameter `silence` of the policy says what it means that a pair is
            not among them. True, "something was unfair", raises a VerdictError that asks which pair.
        acceptable : pairs that the auditor looked at and found acceptable.
        auditor : the auditor's name, where several people audit.

        Raises
        ------
        RewardError
            If there is not one finite number for each individual drawn.
        VerdictError
            If a pair does not exist, was treated equally, is in both lists, or contradicts all metrics where
            `on_contradiction` is "refuse". Nothing has changed.
        UnknownTicketError, ClosedTicketError, ForeignTicketError
            If the ticket was never handed out, was told or forgotten before, or is another policy's.
        """
        number, (_, ticket) = self.tickets.find(decision)
        doublings = self.metric.doublings
        rewards = read_rewards(reward, ticket)
        said = read_verdicts(ticket, named_pairs(self, number, violations), acceptable)
        before = self.exact
        learn_verdicts(self, ticket, said, read_auditor(auditor))
        for i, value in zip(np.flatnonzero(ticket.chosen), rewards, strict=True):
            self._kernels.learn_reward(ticket.contexts[i], value, flat(self._state))
        del self.tickets.open[number]
        if self.exact is not before:
            warnings.warn(ROBUST_BELIEF_WARNING, stacklevel=3)
        else:
            self.metric._warn_if_grown(doublings)

    @locked
    def verdict(self, x: ArrayLike, y: ArrayLike, gap: float, unfair: bool, *, auditor: str | None = None) -> int:
        """Take a verdict outside any decision: that treating x (d,) and y (d,) differently by `gap` was unfair or not.

        Returns the verdict's id, for `withdraw`. With `on_contradiction="robust"` a verdict that no metric agrees with
        makes the policy switch to a belief that allows for wrong ones, which one warning says.

        Raises
        ------
        ArgumentError, VerdictError
            As `verdict` of the metric learner does.
        """
        number, gone_over = self.judge(x, y, gap, unfair, auditor=auditor)
        if gone_over:
            warnings.warn(ROBUST_BELIEF_WARNING, stacklevel=3)
        return number

    @locked
    def judge(
        self, x: ArrayLike, y: ArrayLike, gap: float, unfair: bool, *, auditor: str | None = None
    ) -> tuple[int, bool]:
        """Do what `verdict` does, but return with the id whether the policy switched, instead of warning."""
        x, y = in_step(("x", x), ("y", y))
        if self._columns is not None:
            x, y = (in_order(person, [self._columns], name) for name, person in (("x", x), ("y", y)))
        if self.scale is not None:
            x, y = self.scale([np.asarray(x), np.asarray(y)])
        try:
            return self.metric.verdict(x, y, gap, unfair, auditor=auditor), False
        except VerdictError:
            if not switches_on_contradiction(self) or (unfair and gap <= EQUAL) or np.array_equal(x, y):
                raise
        switch_to_robust_belief(self)
        return self.metric.verdict(x, y, gap, unfair, auditor=auditor), True

    @locked
    def withdraw(self, verdict: int) -> None:
        """Take a verdict back: the policy believes what it would if the verdict had never been given.

        Raises
        ------
        VerdictError
            If there is no such verdict.
        """
        self.metric.withdraw(verdict)

    @locked
    def suspects(self) -> list[Suspect]:
        """Return each verdict with the probability that it is wrong, the largest first; [] where all are trusted."""
        return self.metric.suspects()

    @locked
    def forget(self, decision: Decision | int) -> None:
        """Close a ticket about which nothing will ever be told."""
        del self.tickets.open[self.tickets.find(decision)[0]]

    @property
    @locked
    def certificate(self) -> float:
        """The sum over all rounds of epsilon times the prices of all pairs.

        In a round where every pair was allowed its distance minus epsilon, that round's part bounds, by duality, the
        cost of not knowing the metric: regret is at most this part plus what optimism added to the rewards of
        whoever may be drawn, which is zero where rewards are known.
        """
        return float(self._state.certificate[0])

    @locked
    def distances(self, contexts: ArrayLike) -> Floats:
        """Return the believed distances (low, guess, high), each (k, k), between individuals with contexts (k, d)."""
        shown, _ = self._read(contexts)
        table = np.zeros((3, len(shown), len(shown)))
        for i, j, number in self.pairs(len(shown)):
            table[:, i, j] = table[:, j, i] = self.metric.bounds(shown[i], shown[j], pair=number)
        return table

    @locked
    def questions(self, decision: Decision | int) -> list[tuple[int, int]]:
        """Return the pairs of an open decision about which a verdict would be informative, the most informative first.

        A verdict leaves the part of a pair's interval on one side of the gap; pairs are sorted by how much any verdict
        is certain to remove. Pairs with probabilities 1 and 0 are among them, those treated equally are not.
        """
        ticket = self.tickets.find(decision)[1][1]
        x, gaps, value = ticket.contexts, ticket.gaps, {}
        for i, j, number in self.pairs(len(x)):
            worth = self.metric.value_of_asking(x[i], x[j], min(float(gaps[i, j]), 1.0), pair=number)
            if worth >= 0.0:
                value[i, j] = worth
        return sorted(value, key=lambda pair: -value[pair])

    @locked
    def undecided(self, decision: Decision | int) -> set[tuple[int, int]]:
        """Return the pairs of an open decision whose distance was not yet known to the precision when it was
        taken."""
        ticket = self.tickets.find(decision)[1][1]
        return {(int(i), int(j)) for i, j in np.argwhere(ticket.undecided)}

    @locked
    def prepare(self, k: int) -> None:
        """Prepare for k individuals per round.

        Raises
        ------
        ContextError
            If there are more pairs than the metric learner takes in a round.
        """
        most, pairs = self.metric.most_pairs, k * (k - 1) // 2
        if most is not None and pairs > most:
            hint = "a verdict takes a random walk; show fewer, use MomentDistance(), or pass most_pairs=None and wait"
            what = f"individuals with at most {most} pairs for {type(self.metric).__name__}"
            raise ContextError(expected("contexts", what, Wording(f"{k} with {pairs} pairs"), hint))
        if k != self._state.p.size:
            self._state = resized(self._state, k)

    def _facts(self) -> dict[str, Any]:
        caveat = self.metric.caveat()
        facts = {"metric": self.metric, "rounds": self.round, "verdicts of auditors": len(self.metric.verdicts)}
        scale = {} if self.scale is None else {"scale": str(self.scale)}
        return facts | scale | ({"caveat": caveat} if caveat else {})

    # ------------------------------------------------------------------ copies and files

    def fresh(self, *, arms: object = None, seed: Seed = None) -> Self:
        """Return a policy of the same configuration that remembers nothing; `arms` is there for simulations and
        unused."""
        return self._made_again(seed=self.seed if seed is None else seed)

    @property
    def _has_history(self) -> bool:
        """Whether it has decided or learned anything since it was made."""
        return super()._has_history or self.metric._has_history

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().config(), "metric": (self.exact or self.metric).fresh()}

    @locked
    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs to continue exactly here."""
        return {
            "config": {**self.config(), "metric": None},
            "metric": self.metric,
            "exact": self.exact,
            "columns": self._columns,
            "round": self.round,
            "tickets": self.tickets.snapshot(),
            "size": self._state.p.size,
            "mind": list(flat(self._state)),
            "notes": self.notes,
        }

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the policy that `snapshot` was taken of."""
        learner, exact = snapshot["metric"], snapshot["exact"]
        policy = cls(**{**snapshot["config"], "metric": (exact or learner).fresh()})
        policy.adopt(learner)
        policy.exact, policy.notes, policy._columns = exact, snapshot["notes"], snapshot["columns"]
        policy.round = snapshot["round"]
        policy.tickets.restore_all(snapshot["tickets"])
        policy._state = new_state(policy.dimension, snapshot["size"], 1.0, stream(0))
        for own, kept in zip(flat(policy._state), snapshot["mind"], strict=True):
            own[...] = kept
        return policy

    # ------------------------------------------------------------------ inside

    @property
    def _kernels(self) -> RoundKernels:
        """What is called in a round, for the metric learner that it has."""
        return round_kernels(self.metric._update_kernel, self.metric.plain_work)

    def adopt(self, learner: DistanceLearner) -> None:
        """Make a metric learner this policy's own: they have one lock, as users may ask and teach it meanwhile."""
        self.metric, learner.taken_at = learner, self.precision
        self._lock = learner._lock

    def _ticket_to_saved(self, remembered: Any) -> tuple[Any, ...]:
        (round, _, _), ticket = remembered
        return round, *ticket

    def _extra_log_fields(self, remembered: tuple[Any, ...]) -> dict[str, Any]:
        """Return which pairs were undecided when an open decision was taken: a log must say it beside the decision."""
        return {"undecided": np.argwhere(remembered[1].undecided).tolist()}

    def _ticket_from_log(self, decided: dict[str, Any], shown: dict[str, Any]) -> tuple[Any, ...]:
        contexts, self._columns = self._read(shown["contexts"])
        k, drawn = len(contexts), decided["arm"] if self.select == "many" else [decided["index"]]
        chosen, undecided = np.zeros(k, np.int64), np.zeros((k, k), np.int64)
        chosen[[i for i in drawn if i >= 0]] = 1
        for i, j in decided["undecided"]:
            undecided[i, j] = 1
        return decided["round"], contexts, np.array(decided["probabilities"], np.float64), chosen, undecided

    def _ticket_from_saved(self, round: int, *arrays: Any) -> tuple[Any, ...]:
        ticket = RoundTicket(*arrays)
        return (round, *ticket.drawn(self.select)), ticket

    def _round_shown(self, contexts: ArrayLike) -> Any:
        """Return what a round shows as the policy reads it, equal for two rounds that show the same."""
        return self._read(contexts)[0].tolist()

    def _read(self, contexts: object) -> tuple[Floats, list[str] | None]:
        """Return contexts (k, d), and the order of their columns: of data frames that of the first one."""
        table, columns = in_columns(frame_or_value(contexts, "contexts"), self._columns, "contexts")
        return read_contexts(table, self.dimension, self.individuals, self.scale), columns

    def pairs(self, k: int) -> list[tuple[int, int, int]]:
        """Return all pairs (i, j) of k individuals, each with the number of its learner."""
        pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
        return [(i, j, 0 if self.metric.shared else number) for number, (i, j) in enumerate(pairs)]

    @classmethod
    def _examples(cls) -> Iterator[tuple[Self, Any]]:
        from evenhand.similarity import LinearContexts

        world = LinearContexts([0.5, 0.3], MahalanobisOracle([[0.4, 0.1]], seed=3), individuals=3)
        yield cls(2, seed=1), world
        yield cls(2, metric=EllipsoidDistance(shared=False), individuals=3, margin=False, seed=1), world
