"""Worlds of individuals: drawn from a distribution, shown by an adversary, or taken from a table."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.errors import ArgumentError, TableError, wanted
from evenhand.kernels.compose import OPEN, entry, kernel
from evenhand.online import packer
from evenhand.protocol import Decision
from evenhand.registry import register
from evenhand.rng import stream
from evenhand.similarity import rule
from evenhand.similarity import stage as stages
from evenhand.similarity.known import KnownDistance
from evenhand.similarity.lipschitz_ucb import Lipschitz, checked_theta
from evenhand.similarity.oracles import Auditor, MahalanobisOracle
from evenhand.similarity.program import Select, checked_select
from evenhand.similarity.stage import SCORES, Stage, appear, measure, play
from evenhand.tables import numbers

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Appearance", "LinearContexts", "TableIndividuals"]

Appearance = Literal["orthant", "ball", "clustered", "adversarial"]
KINDS = {
    "orthant": stages.ORTHANT,
    "ball": stages.BALL,
    "clustered": stages.CLUSTERED,
    "adversarial": stages.ADVERSARIAL,
}
ROUNDS_A_CALL = 1 << 16

pack = OPEN


@kernel
def _appear(stage: Any, *belief: Any) -> None:
    appear(stage, pack(*belief))


class Individuals:
    """The common part of the worlds: k individuals a round, an oracle, and the measures of fairness and regret.

    A policy of evenhand with a `MahalanobisOracle` runs compiled; everything else is stepped through the same
    kernels.
    """

    scores = SCORES
    units: ClassVar[dict[str, str]] = {
        "regret": "expected reward lost against the best fair distribution, so far",
        "violations": "pairs treated more differently than their distance plus the precision, so far",
        "violated_rounds": "rounds with such a pair, so far",
        "violations_above_zero": "pairs treated more differently than their distance, so far",
        "verdicts": "pairs on which the auditor's verdict was used, so far",
        "contradictions": "verdicts that contradicted every metric, so far",
        "metric_updates": "verdicts that taught the metric, so far",
    }

    def __init__(
        self,
        oracle: Auditor,
        individuals: int,
        select: Select,
        precision: float,
        noise: float,
        truth: MahalanobisOracle | None,
    ) -> None:
        if not isinstance(individuals, (int, np.integer)) or isinstance(individuals, bool) or individuals < 1:
            raise ArgumentError(wanted("individuals", "a whole number >= 1", individuals))
        for name, value in (("precision", precision), ("noise", noise)):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < np.inf:
                raise ArgumentError(wanted(name, "a number >= 0", value))
        if not callable(oracle):
            raise ArgumentError(wanted("oracle", "a callable of contexts and probabilities", oracle))
        measured = oracle if isinstance(oracle, MahalanobisOracle) else truth
        if measured is None:
            raise ArgumentError(
                wanted("truth", "a MahalanobisOracle to measure against, where the oracle is another callable", truth)
            )
        checked_select(select)
        self.oracle, self.truth, self.individuals, self.select = oracle, measured, int(individuals), select
        self.precision, self.noise = float(precision), float(noise)
        self.arms = tuple(range(self.individuals))

    def stage(self, stream: NDArray[np.uint64]) -> Stage:
        """Return the state before the first round."""
        raise NotImplementedError

    # ------------------------------------------------------------------ stepped from Python

    def reset(self, seed: int) -> None:
        """Start anew from a seed."""
        self._stage = self.stage(stream(seed, 0))
        judges = [self.oracle, self.truth] if self.oracle is not self.truth else [self.truth]
        for judge in judges:
            if hasattr(judge, "reset"):
                judge.reset(seed + 1)
        self.watch(None)

    def watch(self, policy: Any) -> None:
        """Let an adversary see what this policy believes of the metric; None for nothing."""
        learner = getattr(policy, "metric", None)
        if learner is None:
            learner = KnownDistance(np.zeros((1, self._stage.contexts.shape[1])))
            learner.begin(self._stage.contexts.shape[1])
        self._watched = learner

    @property
    def totals(self) -> NDArray[np.float64]:
        """The scores so far."""
        return self._stage.totals

    @property
    def expected(self) -> NDArray[np.float64]:
        """What each individual of the round is expected to bring (k,)."""
        return self._stage.rewards.copy()

    def observe(self) -> tuple[NDArray[np.float64]]:
        """Begin a round and return the contexts (k, d)."""
        belief = self._watched.state
        entry(_appear, pack=packer(belief))(self._stage, *belief[:-1], *belief.simplex)
        return (self._stage.contexts.copy(),)

    def respond(self, ticket: Decision) -> tuple[Any, list[tuple[int, int]]]:
        """Return the reward of whoever was drawn and the pairs that the oracle calls unfair, for `tell`."""
        assert ticket.probabilities is not None
        entry(measure)(self._stage, self.truth.truth, ticket.probabilities)
        violations = self.oracle(self._stage.contexts.copy(), ticket.probabilities)
        outcomes = self._stage.rewards + self._stage.noise
        drawn: Any = ticket.arm
        if isinstance(drawn, tuple):
            return [float(outcomes[i]) for i in drawn], violations
        return (float(outcomes[drawn]) if drawn >= 0 else None), violations

    # ------------------------------------------------------------------ simulated

    def replicate(
        self,
        policy: Any,
        *,
        policy_seed: int,
        world_seed: int,
        checkpoints: NDArray[np.int64],
        stop: Callable[[int], None],
        compiled: bool = True,
    ) -> dict[str, tuple[tuple[str, ...], NDArray[Any]]]:
        """Run one replication of a fresh copy of `policy`; return the history variables, for `eh.simulate`."""
        policy = policy.fresh(seed=policy_seed) if hasattr(policy, "fresh") else copy.deepcopy(policy)
        world = copy.deepcopy(self)
        world.reset(world_seed)
        trace = np.zeros((len(checkpoints), len(SCORES)))
        if compiled and isinstance(policy, Lipschitz) and world.oracle is world.truth:
            world._play(policy, trace, checkpoints, stop)
        else:
            world._step(policy, trace, checkpoints, stop)
        return {name: (("round",), trace[:, n]) for n, name in enumerate(SCORES)}

    def _play(
        self, policy: Lipschitz, trace: NDArray[np.float64], checkpoints: NDArray[np.int64], stop: Callable[[int], None]
    ) -> None:
        policy.prepare(*self._stage.contexts.shape)
        decide, judge = rule.rule_kernels(policy.metric.learn_kernel())
        function = entry(play, decide=decide, judge=judge)
        done, row, final = 0, 0, int(checkpoints[-1])
        while done < final:
            policy.metric.make_room(4 * self.individuals**2)
            state = policy._params, policy._mind, policy.metric.state, self._stage, self.truth.truth
            done, row = function(*state, trace, checkpoints, done + 1, min(final, done + ROUNDS_A_CALL), row)
            stop(done)

    def _step(
        self, policy: Any, trace: NDArray[np.float64], checkpoints: NDArray[np.int64], stop: Callable[[int], None]
    ) -> None:
        self.watch(policy)
        row, totals = 0, self._stage.totals
        for round in range(1, int(checkpoints[-1]) + 1):
            (contexts,) = self.observe()
            decision = policy.ask(contexts)
            reward, violations = self.respond(decision)
            if isinstance(policy, Lipschitz):
                totals[4] += len(set(violations) | policy.undecided(decision))
            policy.tell(decision, reward, violations)
            if round == checkpoints[row]:
                learner = getattr(policy, "metric", None)
                totals[6] = np.nan if learner is None else learner.state.tally[0]
                trace[row] = totals
                row += 1
            if round % 1000 == 0:
                stop(round)
        stop(int(checkpoints[-1]))


@register("similarity/linear-contexts", "world")
class LinearContexts(Individuals):
    """Individuals whose expected reward is linear in their contexts, judged by an oracle.

    Parameters
    ----------
    theta : the weights (d,): an individual with context x brings <x, theta> plus normal noise.
    oracle : the auditor, usually a `MahalanobisOracle`.
    individuals : k, shown every round.
    contexts : how they appear. "orthant": |N(0, I)| scaled to length 1; "ball": uniform in the unit ball;
    "clustered": around one of the
        `clusters` points; "adversarial": pairs that the policy knows least, the widest of 16 random ones.
    noise : standard deviation of rewards.
    select : "one" individual a round or "many", as the policy does.
    precision : epsilon; `violations` counts pairs treated more differently than their distance plus this.
    clusters : centres (c, d) for "clustered"; None takes the unit vectors.
    spread : standard deviation around the centres.
    truth : the oracle to measure against, where `oracle` is another callable.

    Raises
    ------
    ArgumentError
        If an argument is out of range.

    Examples
    --------
    >>> import evenhand as eh
    >>> from evenhand.similarity import LipschitzUCB
    >>> world = LinearContexts([0.6, 0.4], MahalanobisOracle([[0.5, 0.2]]), individuals=3)
    >>> history = eh.simulate(LipschitzUCB(2), world, rounds=500, seed=1, jobs=1)
    >>> bool(history.violated_rounds[0, 0, -1] < 50)
    True

    Source: Gillen, Jung, Kearns, Roth (2018), Section 2.
    """

    def __init__(
        self,
        theta: ArrayLike,
        oracle: Auditor,
        *,
        individuals: int = 5,
        contexts: Appearance = "orthant",
        noise: float = 0.1,
        select: Select = "one",
        precision: float = 0.02,
        clusters: ArrayLike | None = None,
        spread: float = 0.05,
        truth: MahalanobisOracle | None = None,
    ) -> None:
        super().__init__(oracle, individuals, select, precision, noise, truth)
        if contexts not in KINDS:
            raise ArgumentError(wanted("contexts", f"one of {list(KINDS)}", contexts))
        self.theta, self.contexts = checked_theta(theta), contexts
        d = self.theta.size
        if self.truth.A.shape[1] != d:
            raise ArgumentError(
                wanted("oracle", f"a matrix A with {d} columns, one a weight in theta", self.truth.A.shape)
            )
        self.clusters = np.eye(d) if clusters is None else np.array(clusters, dtype=np.float64)
        if self.clusters.ndim != 2 or self.clusters.shape[1] != d or not np.isfinite(self.clusters).all():
            raise ArgumentError(wanted("clusters", f"finite centres of shape (c, {d})", self.clusters.shape))
        self.spread = float(spread)

    def stage(self, stream: NDArray[np.uint64]) -> Stage:
        numbers = [float(KINDS[self.contexts]), self.noise, self.precision, float(self.select == "one")]
        rows = np.zeros(len(self.clusters))
        return stages.stage(numbers, self.theta, self.clusters, rows, self.spread, self.individuals, stream)

    @classmethod
    def examples(cls) -> Iterator[LinearContexts]:
        oracle = MahalanobisOracle([[0.4, 0.1]], seed=3)
        yield cls([0.5, 0.3], oracle, individuals=3)
        yield cls([0.5, -0.3], oracle, individuals=4, contexts="adversarial", select="many")


@register("similarity/table-individuals", "world")
class TableIndividuals(Individuals):
    """Real individuals: k random rows of a table a round, with replacement.

    Features are centred and scaled so that the longest row has length 1; rewards are the table's, plus noise if
    wanted. Regret is measured against the best fair distribution for the rows' own rewards, which no linear rule may
    reach.

    Parameters
    ----------
    frame : the table, a row an individual.
    features : names of the columns that describe an individual.
    reward : name of the column with what an individual brings, any finite numbers.
    oracle : the auditor over the scaled features, as in `rows`.
    individuals, noise, select, precision, truth : as in `LinearContexts`.

    Raises
    ------
    TableError
        If a column is missing, twice, or holds anything but finite numbers; row and column are named.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [30, 40, 50], "income": [1.0, 2.0, 4.0], "repaid": [0, 1, 1]})
    >>> oracle = MahalanobisOracle([[0.5, 0.5]])
    >>> world = TableIndividuals(table, features=["age", "income"], reward="repaid", oracle=oracle, individuals=2)
    >>> world.reset(1)
    >>> world.observe()[0].shape
    (2, 2)
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        *,
        features: Sequence[str],
        reward: str,
        oracle: Auditor,
        individuals: int = 5,
        noise: float = 0.0,
        select: Select = "one",
        precision: float = 0.02,
        truth: MahalanobisOracle | None = None,
    ) -> None:
        if isinstance(features, str) or len(features) == 0:
            raise TableError(wanted("features", "a list of column names", features))
        super().__init__(oracle, individuals, select, precision, noise, truth)
        raw = np.stack([numbers(frame, name) for name in features], axis=1)
        spread = raw.std(axis=0)
        rows = (raw - raw.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        self.features, self.reward = list(features), reward
        self.rows = rows / max(float(np.sqrt((rows * rows).sum(axis=1)).max()), 1e-300)
        self.rewards = numbers(frame, reward)
        if self.truth.A.shape[1] != len(self.features):
            raise ArgumentError(
                wanted("oracle", f"a matrix A with {len(self.features)} columns, one a feature", self.truth.A.shape)
            )

    def stage(self, stream: NDArray[np.uint64]) -> Stage:
        numbers = [float(stages.TABLE), self.noise, self.precision, float(self.select == "one")]
        theta = np.zeros(len(self.features))
        return stages.stage(numbers, theta, self.rows, self.rewards, 0.0, self.individuals, stream)

    @property
    def shown(self) -> NDArray[np.int64]:
        """The table's rows that the round shows (k,)."""
        return self._stage.rows.copy()

    @classmethod
    def examples(cls) -> Iterator[TableIndividuals]:
        import pandas as pd

        table = pd.DataFrame({"age": [30, 40, 50, 60], "income": [1.0, 2.0, 4.0, 3.0], "repaid": [0, 1, 1, 0]})
        oracle = MahalanobisOracle([[0.5, 0.5]], seed=2)
        yield cls(table, features=["age", "income"], reward="repaid", oracle=oracle, individuals=3)
