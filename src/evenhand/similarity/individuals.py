"""What the worlds share: k individuals per round, an oracle, and the measures of fairness and regret; compiled or run
step by step."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arguments import real, whole
from evenhand.errors import ArgumentError, Wording, expected
from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.kernels.compose import entry, kernel
from evenhand.kernels.fair_program import tree
from evenhand.policy.traits import traits_of
from evenhand.protocol import Decision, Policy, Seeded
from evenhand.rng import stream
from evenhand.similarity.environment import (
    ADVERSARIAL,
    CANDIDATES,
    CERTIFICATE,
    METRIC_UPDATES,
    SCORES,
    UNITS,
    VERDICTS,
    Environment,
    measure,
    play,
    show,
)
from evenhand.similarity.exact_learners import KnownDistance
from evenhand.similarity.lazy_kernels import lazy_kernel
from evenhand.similarity.lipschitz_ucb import LipschitzUCB
from evenhand.similarity.metric import learn_kernel
from evenhand.similarity.metric_state import TEACHING, pack_metric
from evenhand.similarity.oracles import Auditor, MahalanobisOracle
from evenhand.similarity.program import Select, read_select
from evenhand.similarity.reading import LARGEST_REWARD, MOST_INDIVIDUALS
from evenhand.similarity.rule import rule_kernels
from evenhand.simulation.loop import begins_anew

ROUNDS_A_CALL = 1 << 16


@kernel
def _show(world: Any, metric: Any) -> None:
    show(world, pack_metric(*metric))


def _round_work(world: Environment, *arguments: object) -> int:
    """Return about how many array entries a kernel touches in a round of the world."""
    k, d = map(int, world.contexts.shape)
    searched = CANDIDATES * k * d**4 // 2 if world.kind == ADVERSARIAL else 0
    return k * k * (20 + d) + 50 * k**3 + searched


show_round, measure_round = (lazy_kernel(entry(one), _round_work) for one in (_show, measure))


class Individuals:
    """The common part of the worlds: k individuals per round, an oracle, and the measures of fairness and regret.

    A policy of evenhand with a `MahalanobisOracle` runs compiled, unless a contradiction may change its metric
    learner; everything else is stepped through the same kernels.
    """

    scores = SCORES
    units = UNITS
    population: tuple[int, Floats, Floats, Floats, float]
    """How individuals appear: `kind`, `theta`, `centres`, `table_rewards` and `spread` of an `Environment`."""

    def __init__(
        self,
        oracle: Auditor,
        individuals: int,
        select: Select,
        precision: float,
        noise: float,
        truth: MahalanobisOracle | None,
    ) -> None:
        self.individuals = whole("individuals", individuals, low=1, high=MOST_INDIVIDUALS)
        self.precision = real("precision", precision, low=0)
        self.noise = real("noise", noise, low=0, high=LARGEST_REWARD)
        if not callable(oracle):
            raise ArgumentError(expected("oracle", "a callable of contexts and probabilities", oracle))
        measured = oracle if isinstance(oracle, MahalanobisOracle) else truth
        if not isinstance(measured, MahalanobisOracle) or not isinstance(truth, MahalanobisOracle | None):
            what = "a MahalanobisOracle to measure against, where the oracle is another callable"
            raise ArgumentError(expected("truth", what, truth))
        read_select(select)
        self.oracle, self.truth, self.select = oracle, measured, select
        self.arms = tuple(range(self.individuals))
        self._environment: Any = None

    def environment(self, stream: Words) -> Environment:
        """Return the state before the first round."""
        kind, theta, centres, rewards, spread = self.population
        k, d = self.individuals, centres.shape[1]
        return Environment(
            kind,
            self.noise,
            self.precision,
            self.select == "one",
            theta,
            centres,
            rewards,
            spread,
            stream,
            np.zeros((k, d)),
            np.zeros(k),
            np.zeros(k),
            np.zeros((k, k)),
            np.zeros(k),
            np.zeros((k, k), np.int64),
            np.zeros((k, k), np.int64),
            np.zeros(k, np.int64),
            np.zeros((2, d)),
            np.zeros((2, d)),
            np.zeros(len(SCORES)),
            tree(k),
        )

    def check_policy(self, name: str, policy: object) -> None:
        """Refuse a policy that does not choose among individuals with verdicts, or among others than these.

        Raises
        ------
        ArgumentError
            If so; the message calls the policy `name`.
        """
        traits = traits_of(policy)
        if not isinstance(policy, Policy) or traits.arms is not None:
            what, got = "a policy that chooses among individuals by contexts", f"a {type(policy).__name__}"
            raise ArgumentError(expected(name, what, got, "such as LipschitzUCB(dimension)"))
        k, d = self.individuals, self.population[2].shape[1]
        mine = getattr(policy, "individuals", None) or k, traits.dimension or d
        if mine != (k, d):
            want = f"a world that shows {mine[0]} individuals with {mine[1]} features"
            raise ArgumentError(expected("world", want, Wording(f"{k} with {d}")))
        select = getattr(policy, "select", None)
        if select not in (None, self.select):
            what = f"a policy with select={self.select!r}, as the world has"
            raise ArgumentError(expected(name, what, select, f"give the world select={select!r}"))

    # ------------------------------------------------------------------ stepped from Python

    def reset(self, seed: int) -> None:
        """Start anew from a seed."""
        self._environment = self.environment(stream(whole("seed", seed, low=0), 0))
        judges = [self.oracle, self.truth] if self.oracle is not self.truth else [self.truth]
        for judge in judges:
            if isinstance(judge, Seeded):
                judge.reset(seed + 1)
        self.watch(None)

    def watch(self, policy: object) -> None:
        """Let an adversary see what this policy believes about the metric; None shows it nothing."""
        learner: Any = policy.metric if isinstance(policy, LipschitzUCB) else None
        if learner is None:
            learner = KnownDistance(np.zeros((1, self._environment.contexts.shape[1])))
            learner.begin(self._environment.contexts.shape[1])
        self._watched = learner

    @property
    def totals(self) -> Floats:
        """The scores so far."""
        return self._environment.totals

    def observe(self) -> tuple[Floats]:
        """Begin a round and return the contexts (k, d).

        Raises
        ------
        ArgumentError
            If the world was never reset.
        """
        if self._environment is None:
            raise ArgumentError(
                expected("world", "one that was reset, world.reset(seed), before its first round", self)
            )
        show_round(self._environment, self._watched.arrays)
        return (self._environment.contexts.copy(),)

    def respond(self, ticket: Decision) -> tuple[Any, list[tuple[int, int]]]:
        """Return the reward of whoever was drawn and the pairs that the oracle calls unfair, for `tell`.

        A decision without probabilities was certain: probability one for its index, zero for the others.

        Raises
        ------
        ArgumentError
            If the ticket is not a decision about as many individuals as the world shows.
        """
        if self._environment is None or not hasattr(ticket, "probabilities"):
            raise ArgumentError(expected("ticket", "a Decision about the individuals of the round", ticket))
        p = ticket.probabilities
        if p is None:
            p = np.arange(self.individuals) == ticket.index
        p = np.ascontiguousarray(p, dtype=np.float64)
        if p.shape != (self.individuals,):
            raise ArgumentError(expected("ticket", f"a Decision about {self.individuals} individuals", p.shape))
        measure_round(self._environment, self.truth.truth, p)
        violations = self.oracle(self._environment.contexts.copy(), p)
        outcomes = self._environment.rewards + self._environment.noises
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
        checkpoints: Ints,
        stop: Callable[[int], None],
        compiled: bool = True,
    ) -> dict[str, tuple[tuple[str, ...], NDArray[Any]]]:
        """Run one replication of a fresh copy of `policy`; return the history variables, for `eh.simulate`."""
        policy = policy.fresh(seed=policy_seed) if begins_anew(policy) else copy.deepcopy(policy)
        world = copy.deepcopy(self)
        world.reset(world_seed)
        trace = np.zeros((len(checkpoints), len(SCORES)))
        plain = isinstance(policy, LipschitzUCB) and policy.on_contradiction == "refuse" and policy.scale is None
        fast = compiled and plain and not policy.metric.stepped and world.oracle is world.truth
        run = world._play if fast else world._step
        run(policy, trace, checkpoints, stop)
        return {name: (("round",), trace[:, n]) for n, name in enumerate(SCORES)}

    def _play(self, policy: LipschitzUCB, trace: Floats, checkpoints: Ints, stop: Callable[[int], None]) -> None:
        policy.prepare(self.individuals)
        decide, learn_verdicts = rule_kernels(learn_kernel(policy.metric._update_kernel))
        function = entry(play, decide=decide, learn_verdicts=learn_verdicts)
        done, row, final = 0, 0, int(checkpoints[-1])
        while done < final:
            policy.metric._make_room(4 * self.individuals**2)
            state = policy.params, policy._state, policy.metric.state, self._environment, self.truth.truth
            done, row = function(*state, trace, checkpoints, done + 1, min(final, done + ROUNDS_A_CALL), row)
            stop(done)
        policy.metric._warn_if_grown(0)

    def _step(self, policy: Any, trace: Floats, checkpoints: Ints, stop: Callable[[int], None]) -> None:
        self.watch(policy)
        row, totals, learns = 0, self._environment.totals, isinstance(policy, LipschitzUCB)
        for round in range(1, int(checkpoints[-1]) + 1):
            (contexts,) = self.observe()
            decision = policy.ask(contexts)
            reward, violations = self.respond(decision)
            if learns:
                totals[VERDICTS] += len(set(violations) | policy.undecided(decision))
            policy.tell(decision, reward, violations)
            if round == checkpoints[row]:
                totals[METRIC_UPDATES] = policy.metric.state.tally[TEACHING] if learns else np.nan
                totals[CERTIFICATE] = policy.certificate if learns else np.nan
                trace[row] = totals
                row += 1
            if round % 1000 == 0:
                stop(round)
        stop(int(checkpoints[-1]))
