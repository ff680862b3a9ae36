"""CSR: constrained search by importance sampling, with outcome and fairness pursued in the same phases.

By default candidates are judged by tests, after every delivery of trials, at the level alpha = delta / (K - 1 + P), P
ordered pairs of values of S: k is fair once zeta_k < E is shown for every pair, unfair once zeta_k > E is shown for
one, and worse than a fair k' once mu_k' > mu_k is. Unfair and worse candidates are dropped. The last one left is
certified if it was shown to be fair; if all were unfair, none is fair. Either answer is wrong with probability at most
delta. For let k* be the best fair one. A wrong certificate needs k* to be called unfair (P events), or, by one of the
other K - 1, to be called worse than a fair candidate, or than an unfair one that is called fair: of each candidate's
two events only one is possible. With a slack e > 0 a fair k is certified too once mu_k > mu_k' - e is shown for every
k' that remains; that too takes an event of its own of a candidate whose outcome is below mu_k* - e.

The paper's form: after phase l, F are the remaining candidates with |zeta| + 3/2^l below the tolerance in every
direction. Where F is not empty, candidates with |zeta| - 3/2^l above the tolerance are dropped, and those whose outcome
lies more than 5/2^l below the best of F.

Source: T. Gao and Y. Feng, "Identifying Best Fair Intervention" (2021), algorithm CSR (V1: the estimates use one
phase's samples; V2, `reuse`: all so far); the tests and the pooled form are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from evenhand.arguments import real
from evenhand.errors import ArgumentError, wanted
from evenhand.interventions.bets import Bets, Delivery
from evenhand.interventions.cells import Counts, Evidence
from evenhand.interventions.estimators import Estimates
from evenhand.interventions.problem import Problem
from evenhand.interventions.program import Phase, Rows, looks, schedule
from evenhand.interventions.radius_rules import fair, low, unfair
from evenhand.interventions.report import Ends, Status, of_tests, supposed
from evenhand.interventions.search import GAP_HIGH, OUTCOME_LOW, OUTCOME_NEAR, Search
from evenhand.interventions.structure import through_v_alone
from evenhand.interventions.verdicts import (
    ends_of,
    estimated,
    growth,
    shown_ends,
    shown_fair,
    shown_unfair,
    shown_worse,
)
from evenhand.interventions.worlds import SimulatedTrial
from evenhand.policy.conversation import locked
from evenhand.registry import register


class Deliveries:
    """What was told, delivery by delivery.

    Parameters
    ----------
    problem : the problem.
    """

    def __init__(self, problem: Problem) -> None:
        self.through_v = through_v_alone(problem.model, problem.structure)
        self._counts = Counts(problem.cells, problem.own)
        self.bets = Bets(self._counts, self.through_v)
        self.kept: list[Any] = []
        """The deliveries as files keep them."""

    def add(self, told: Evidence, *, logged: bool) -> None:
        """Take in a delivery."""
        rows = told.rows.reshape(-1)
        at = np.flatnonzero(rows)
        self.learn(Delivery(at, rows[at], logged))

    def learn(self, delivery: Delivery) -> None:
        """Take in a delivery as files keep it."""
        self.kept.append(delivery)
        self.bets.learn(self._counts.dense(delivery.at, delivery.times), delivery.logged)


@register("interventions/csr")
class CSR(Search):
    """Find the best fair candidate, dropping unfair and low ones phase by phase.

    Parameters
    ----------
    problem : the problem.
    tolerance : E, in the outcome's units: a candidate is fair where every |gap| < E.
    budget : T, the number of trials. A search that tests looks after every delivery of max(5 K S, N/4) trials, S values
        of S and N trials so far; the paper's forms spend T in ceil(log2(10 sqrt T)) phases.
    costs : cost of a trial of each candidate, (K,) or label -> cost; by default 0 for the deployed candidate and 1
        for the others.
    mean_cost : how much a trial may cost on average; by default 1 / sqrt(T), the paper's choice: trials of the deployed
        candidate speak of all others. Where they do not, as the table of one is the estimate of a fitted model, and
        where `costs` are given, what a trial costs if every candidate is tried equally often.
    reuse : for the paper's form: use all samples so far (V2) or those of the phase alone (V1).
    pooled : plan and estimate by mixture weights, with one fairness row a pair, natural trials counting for gaps.
        False is the paper's form: candidates are dropped by its radii, and `recommend` speaks in its words.
    delta : of 100 such trials at most 100 delta ever give a wrong answer, "certified" or "none_is_fair"; it is not the
        probability that a given answer is wrong. Answers rest on bets, which keep to it at any number of trials,
        however these were allocated and whatever the model's tables: none of them enters, see `bets`. None: nothing is
        tested, the pooled form too drops by the paper's radii and speaks in its words.
    slack : by how much, in the outcome's units, the certified candidate may be below the best fair one. Above 0
        candidates that are nearly as good as each other need not be told apart.

    Raises
    ------
    ArgumentError
        If the tolerance, a cost, `delta` or `slack` is not as wanted, or a phase would have no trial.

    Examples
    --------
    >>> search, world = next(CSR.examples())
    >>> world.reset(seed=1)
    >>> while not search.finished:
    ...     allocation = search.ask()
    ...     search.tell(allocation, *world.respond(allocation))
    >>> search.recommend()[:2], search.recommend().confidence, search.problem.best(0.1)
    (('even', 'certified'), 0.95, 'even')

    Source: Gao and Feng (2021), algorithm CSR. The bounds of its theorems are vacuous at budgets of practice; its own
    form therefore certifies at no stated confidence.
    """

    certifies = True

    def __init__(
        self, problem: Problem, *, tolerance: float, budget: int,
        costs: Sequence[float] | Mapping[Any, float] | None = None, mean_cost: float | None = None, reuse: bool = True,
        pooled: bool = True, delta: float | None = 0.05, slack: float = 0.0,
    ) -> None:  # fmt: skip
        self.delta = None if delta is None else real("delta", delta, above=0, below=1)
        self.slack = real("slack", slack, low=0)
        self.tested = bool(pooled) and delta is not None
        if self.slack and not self.tested:
            raise ArgumentError(wanted("slack", "0 without tests: the published rules know no slack", slack))
        super().__init__(
            problem, tolerance=tolerance, budget=budget, costs=costs, mean_cost=mean_cost, reuse=reuse, pooled=pooled
        )

    def phases(self) -> list[Phase]:
        if self.tested:
            least = 5 * len(self.problem.candidates) * len(self.problem.groups)
            return looks(self.budget, least, Rows(pooled=True, tested=True))
        return schedule(self.budget, Rows(pooled=self.pooled))

    @locked
    def begin(self) -> None:
        super().begin()
        self._deliveries = Deliveries(self.problem)

    def deliver(self, evidence: Evidence, *, logged: bool) -> None:
        if self.tested:
            self._deliveries.add(evidence, logged=logged)

    def judge(self, estimates: Estimates, radius: float) -> None:
        if self.tested:
            self._judge_by_tests()
        else:
            self._judge_by_radius(estimates, radius)

    def _judge_by_tests(self) -> None:
        tests, groups, limit, level = self._deliveries.bets, len(self.problem.groups), self.limit, self._level
        self.drop(shown_unfair(tests, groups, limit, level, self.remaining), GAP_HIGH)
        self.certified |= shown_fair(tests, groups, limit, level, self.remaining & ~self.certified)
        for best in np.flatnonzero(self.certified & self.remaining):
            if self.remaining[best]:
                self.drop(shown_worse(tests, int(best), level, self.remaining), OUTCOME_LOW)
        self._drop_near(tests, level)
        self.over = self._answer() is not None

    def _drop_near(self, tests: Bets, level: float) -> None:
        """Drop all others where a fair candidate is shown to be at most the slack below each that remains."""
        slack = self.slack / self.problem.scale
        for best in np.flatnonzero(self.certified & self.remaining) if slack else ():
            near = shown_worse(tests, int(best), level, self.remaining, slack)
            if (near | (np.arange(len(near)) == best) | ~self.remaining).all():
                self.drop(near, OUTCOME_NEAR)
                return

    @property
    def _level(self) -> float:
        """The level of each test, such that an answer is wrong with probability at most delta."""
        return (self.delta or 0.0) / (len(self.problem.candidates) - 1 + len(self.problem.pairs))

    def _answer(self) -> tuple[int | None, Status] | None:
        """Return what was shown: the candidate that is left and fair, or that none is; None where neither was."""
        left = np.flatnonzero(self.remaining)
        if len(left) == 1 and self.certified[left[0]]:
            return int(left[0]), "certified"
        unfair = [number for number, (_, why) in self.dropped.items() if why == GAP_HIGH]
        return (None, "none_is_fair") if len(unfair) == len(self.remaining) else None

    @locked
    def choice(self) -> tuple[int | None, Status]:
        if not self.tested:
            return super().choice()
        answer = self._answer()
        if answer is not None:
            return answer
        outcomes, gaps = estimated(self._deliveries.bets, len(self.problem.candidates), len(self.problem.groups))
        fair = self.remaining & (np.abs(gaps).max(0) < self.limit)
        return (int(np.where(fair, outcomes, -np.inf).argmax()) if fair.any() else None), "not_shown"

    @locked
    def more(self) -> int | None:
        number, groups = self.choice()[0], len(self.problem.groups)
        slack = self.slack / self.problem.scale
        times = growth(self._deliveries.bets, number, groups, self.limit, self._level, self.remaining, slack)
        seen = float(self.told.trials.sum())
        return int(float(f"{(times - 1.0) * seen:.2g}")) or 1 if np.isfinite(times) else None

    def verdicts(self) -> list[str]:
        if not self.tested:
            return super().verdicts()
        chosen, status = self.choice()
        left = np.where(self.certified, "fair", "undecided")
        names = np.where(self.remaining, left, "dropped").tolist()
        if chosen is not None and status == "certified":
            names[chosen] = "certified"
        return [str(name) for name in names]

    def ends(self, confidence: float | None) -> tuple[Ends, Ends]:
        if self.tested and confidence is None:
            return shown_ends(self.problem, self._deliveries.bets, (self.delta or 0.0) / ends_of(self.problem))
        return super().ends(confidence)

    def notes(self) -> tuple[str, ...]:
        if not self.tested or self.delta is None:
            return super().notes()
        unknown = [str(k) for k, own in zip(self.problem.candidates, self.problem.own, strict=True) if own]
        graph = supposed(self.problem.structure, unknown, through_v=self._deliveries.through_v)
        return of_tests(self.delta), graph

    def _judge_by_radius(self, estimates: Estimates, radius: float) -> None:
        shown = self.remaining & fair(estimates, self.limit, radius)
        if shown.any() or self.pooled:
            self.drop(unfair(estimates, self.limit, radius), GAP_HIGH)
        if shown.any():
            self.certified = shown
            self.drop(low(estimates, shown, radius), OUTCOME_LOW)
        left = int(self.remaining.sum())
        self.over = left == 0 or (left == 1 and bool((self.remaining & self.certified).any()))

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the search that `snapshot` was taken of."""
        search = super().restored(snapshot)
        for parts in snapshot["deliveries"]:
            search._deliveries.learn(Delivery(*parts))
        return search

    @locked
    def snapshot(self) -> dict[str, Any]:
        return {**super().snapshot(), "deliveries": [list(delivery) for delivery in self._deliveries.kept]}

    @classmethod
    def examples(cls) -> Iterator[tuple[CSR, Any]]:
        """Yield pairs (search, world) for the checks."""
        for world in SimulatedTrial.examples():
            yield cls(world.problem, tolerance=0.1, budget=40_000), world
            yield cls(world.problem, tolerance=0.1, budget=500), world
            yield cls(world.problem, tolerance=0.1, budget=4000, pooled=False), world
