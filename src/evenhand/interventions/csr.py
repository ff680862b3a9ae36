"""CSR: constrained search by importance sampling, which learns about outcome and fairness in the same phases.

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

Source: R. Gao and H. Feng, "Identifying Best Fair Intervention" (2021), algorithm CSR (V1: the estimates use one
phase's samples; V2, `reuse`: all so far); the tests and the pooled form are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, Self

import numpy as np

from evenhand.arguments import real, yes_or_no
from evenhand.errors import ArgumentError, expected
from evenhand.interventions.allocation_program import Phase, TrialNeeds, looks, schedule
from evenhand.interventions.candidate_bets import Bets, Contrast, gap, lead, least, outcome
from evenhand.interventions.cells import CellCounts, Evidence
from evenhand.interventions.estimators import Estimates
from evenhand.interventions.problem import Problem
from evenhand.interventions.radius_rules import fair, low, unfair
from evenhand.interventions.recommendation import Ends, Status, of_tests, supposed
from evenhand.interventions.search import GAP_HIGH, OUTCOME_LOW, OUTCOME_NEAR, Search
from evenhand.interventions.structure import through_v_alone
from evenhand.interventions.worlds import SimulatedTrial
from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.parameters import locked
from evenhand.registry import register


def gaps_of(candidates: Ints | range, groups: int) -> list[Contrast]:
    """Return the gaps of candidates, by ordered pair of values of S and then by candidate."""
    return [gap(int(k), a, b) for a, b in permutations(range(groups), 2) for k in candidates]


@register("interventions/csr")
class CSR(Search):
    """Find the best fair candidate by dropping unfair candidates and those with low outcomes, phase by phase.

    Parameters
    ----------
    problem : the problem.
    tolerance : E, in the outcome's units: a candidate is fair where every |gap| < E.
    budget : T, the number of trials. A search that tests looks after every delivery of max(5 K S, N/4) trials, S values
        of S and N trials so far; the paper's forms spend T in ceil(log2(10 sqrt T)) phases.
    costs : cost of a trial of each candidate, (K,) or a dict label -> cost; by default 0 for the deployed candidate and
        1 for the others.
    mean_cost : how much a trial may cost on average; by default 1 / sqrt(T), the paper's choice: trials of the deployed
        candidate are informative about all others. Where they are not, as one's table is the estimate of a fitted
        model, and where `costs` are given: the mean cost if every candidate is tried equally often.
    reuse : for the paper's form: use all samples so far (V2) or only those of the phase (V1).
    pooled : plan and estimate by mixture weights, with one fairness row per pair, where natural trials count for gaps.
        False is the paper's form: candidates are dropped by its radii, and `recommend` uses its statuses.
    delta : of 100 such trials at most 100 delta ever give a wrong answer, "certified" or "none_is_fair"; it is not the
        probability that a given answer is wrong. Answers rest on bets, for which this holds at any number of trials,
        however these were allocated and whatever the model's tables, which bets do not use, see `bets`. None: nothing
        is tested, and the pooled form, too, drops by the paper's radii and uses its statuses.
    slack : by how much, in the outcome's units, the certified candidate may be below the best fair one. If it is above
        0, candidates that are nearly equally good need not be told apart.

    Raises
    ------
    ArgumentError
        If the tolerance, a cost, `delta` or `slack` is invalid, or a phase would have no trial.

    Examples
    --------
    >>> search, world = next(CSR._examples())
    >>> world.reset(seed=1)
    >>> while not search.finished:
    ...     allocation = search.ask()
    ...     search.tell(allocation, *world.respond(allocation))
    >>> search.recommend()[:2], search.recommend().confidence, search.problem.best(0.1)
    (('even', 'certified'), 0.95, 'even')

    Source: Gao and Feng (2021), algorithm CSR. The bounds of its theorems are vacuous at practical budgets; its own
    form therefore certifies without a stated confidence.
    """

    certifies = True

    def __init__(
        self,
        problem: Problem,
        *,
        tolerance: float,
        budget: int,
        costs: Sequence[float] | Mapping[Any, float] | None = None,
        mean_cost: float | None = None,
        reuse: bool = True,
        pooled: bool = True,
        delta: float | None = 0.05,
        slack: float = 0.0,
    ) -> None:
        self.delta = None if delta is None else real("delta", delta, above=0, below=1)
        self.slack = real("slack", slack, low=0)
        self._pooled = self.pooled = yes_or_no("pooled", pooled)
        self.tested = self.pooled and delta is not None
        if self.slack and not self.tested:
            raise ArgumentError(expected("slack", "0 without tests: the published rules have no slack", slack))
        super().__init__(problem, tolerance=tolerance, budget=budget, costs=costs, mean_cost=mean_cost, reuse=reuse)

    def phases(self) -> list[Phase]:
        if self.tested:
            least = 5 * len(self.problem.candidates) * len(self.problem.groups)
            return looks(self.budget, least, TrialNeeds(pooled=True, tested=True))
        return schedule(self.budget, TrialNeeds(pooled=self.pooled))

    @locked
    def _begin(self) -> None:
        super()._begin()
        self._through_v = through_v_alone(self.problem.model, self.problem.structure)
        self._counts = CellCounts(self.problem.cells, self.problem.own)
        self._bets, self._delivered = Bets(self._counts, self._through_v), list[list[Any]]()

    def deliver(self, evidence: Evidence, *, logged: bool) -> None:
        if self.tested:
            at = np.flatnonzero(evidence.rows)
            self._take_in(at, evidence.rows.reshape(-1)[at], logged)

    def _take_in(self, at: Ints, times: Floats, logged: bool) -> None:
        """Learn from trials that were told together: which of the (2, K, S, places, Y states) were seen, how often
        each, and whether they were logged before the first plan."""
        self._delivered.append([at, times, logged])
        self._bets.learn(self._counts.dense(at, times), logged)

    def _judge(self, estimates: Estimates, radius: float) -> None:
        if self.tested:
            self._judge_by_tests()
        else:
            self._judge_by_radius(estimates, radius)

    def _judge_by_tests(self) -> None:
        self.drop(np.asarray(self._gaps_above(self.limit, self.remaining).any(0)), GAP_HIGH)
        self.certified |= self._gaps_above(-self.limit, self.remaining & ~self.certified).all(0)
        for best in np.flatnonzero(self.certified & self.remaining):
            if self.remaining[best]:
                self.drop(self._worse_than(int(best)), OUTCOME_LOW)
        self._drop_near()
        self.over = self._answer() is not None

    def _drop_near(self) -> None:
        """Drop all others where a fair candidate is shown to be at most the slack below each that remains."""
        slack = self.slack / self.problem.scale
        for best in np.flatnonzero(self.certified & self.remaining) if slack else ():
            near = self._worse_than(int(best), slack)
            if (near | (np.arange(len(near)) == best) | ~self.remaining).all():
                self.drop(near, OUTCOME_NEAR)
                return

    def _gaps_above(self, limit: float, among: Bools) -> Bools:
        """Return which gaps (pairs, K) are shown to be above the limit, each with probability `_level` wrongly; none of
        candidates that are not among these."""
        found, named = np.zeros((len(self.problem.pairs), len(among)), bool), np.flatnonzero(among)
        shown = self._bets.exceed(gaps_of(named, len(self.problem.groups)), limit, self._level)
        found[:, named] = shown.reshape(len(found), len(named))
        return found

    def _worse_than(self, best: int, slack: float = 0.0) -> Bools:
        """Return which of the candidates that remain (K,) are shown to have an outcome below that of the candidate
        number `best`, or at most the slack above it."""
        rivals = self.remaining & (np.arange(len(self.remaining)) != best)
        leads = [lead(best, int(j)) for j in np.flatnonzero(rivals)]
        rivals[rivals] = self._bets.exceed(leads, -slack, self._level)
        return rivals

    def _estimated(self) -> tuple[Floats, Floats]:
        """Return estimates of the outcomes (K,) and the gaps (pairs, K), not a number where nothing is known."""
        k = len(self.problem.candidates)
        gaps = self._bets.estimate(gaps_of(range(k), len(self.problem.groups))).reshape(-1, k)
        return self._bets.estimate([outcome(number) for number in range(k)]), gaps

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
    def _choice(self) -> tuple[int | None, Status]:
        if not self.tested:
            return super()._choice()
        answer = self._answer()
        if answer is not None:
            return answer
        outcomes, gaps = self._estimated()
        fair = self.remaining & (np.abs(gaps).max(0) < self.limit)
        return (int(np.where(fair, outcomes, -np.inf).argmax()) if fair.any() else None), "not_shown"

    @locked
    def _more(self) -> int | None:
        """Return about how many more trials would show the answer, None where that cannot be said.

        This supposes that the estimates are right and that bounds narrow with the root of the number of trials. The
        answer is that one candidate is fair and each other unfair or worse, or that all are unfair.
        """
        named, groups, limit = self._choice()[0], len(self.problem.groups), self.limit
        others = np.flatnonzero(self.remaining & (np.arange(len(self.remaining)) != named))
        needed = self._times_needed(gaps_of(others, groups), limit).reshape(len(self.problem.pairs), len(others)).min(0)
        if named is not None:
            worse = self._times_needed([lead(named, int(k)) for k in others], -self.slack / self.problem.scale)
            fair = self._times_needed(gaps_of(range(named, named + 1), groups), -limit)
            needed = np.concatenate([fair, np.minimum(needed, worse)])
        times, seen = float(needed.max()), float(self.told.trials.sum())
        return int(float(f"{(times - 1.0) * seen:.2g}")) or 1 if np.isfinite(times) else None

    def _times_needed(self, contrasts: list[Contrast], limit: float) -> Floats:
        """Return how many times the trials (T,) are needed to show that contrasts are above the limit; infinity where
        the estimates say otherwise, or nothing is known."""
        room = self._bets.estimate(contrasts) - limit
        short, known = self._bets.lower(contrasts, self._level) - limit, [least(one) for one in contrasts]
        wide = np.divide(room - short, room, where=(room > 0) & (short + limit > known), out=np.full(len(room), np.inf))
        return np.asarray(np.maximum(wide, 1.0) ** 2)

    def verdicts(self) -> list[str]:
        if not self.tested:
            return super().verdicts()
        chosen, status = self._choice()
        left = np.where(self.certified, "fair", "undecided")
        names = np.where(self.remaining, left, "dropped").tolist()
        if chosen is not None and status == "certified":
            names[chosen] = "certified"
        return [str(name) for name in names]

    def confidence_bounds(self, confidence: float | None) -> tuple[Ends, Ends]:
        if not self.tested or confidence is not None:
            return super().confidence_bounds(confidence)
        k, pairs = len(self.problem.candidates), list(permutations(range(len(self.problem.groups)), 2))
        middles, gaps = self._estimated()
        lowest = self._bets.lower(gaps_of(range(k), len(self.problem.groups)), self._level).reshape(gaps.shape)
        # A gap's upper end is its reverse's lower one, so that both are of one test and no level is spent twice.
        highest = -lowest[[pairs.index((b, a)) for a, b in pairs]]
        low, negated = (
            self._bets.lower([outcome(number, sign) for number in range(k)], self._level) for sign in (1, -1)
        )
        ends = (middles, low, -negated), (gaps, lowest, highest)
        return tuple((middle, *(np.where(np.isnan(middle), np.nan, end) for end in two)) for middle, *two in ends)  # type: ignore[return-value]

    def notes(self) -> tuple[str, ...]:
        if not self.tested or self.delta is None:
            return super().notes()
        unknown = [str(k) for k, own in zip(self.problem.candidates, self.problem.own, strict=True) if own]
        graph = supposed(self.problem.structure, unknown, through_v=self._through_v)
        return of_tests(self.delta, self._level), graph

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
            search._take_in(*parts)
        return search

    @locked
    def snapshot(self) -> dict[str, Any]:
        return {**super().snapshot(), "deliveries": [*self._delivered]}

    @classmethod
    def _examples(cls) -> Iterator[tuple[CSR, Any]]:
        """Yield pairs (search, world) for the checks."""
        for world in SimulatedTrial._examples():
            yield cls(world.problem, tolerance=0.1, budget=40_000), world
            yield cls(world.problem, tolerance=0.1, budget=500), world
            yield cls(world.problem, tolerance=0.1, budget=4000, pooled=False), world
