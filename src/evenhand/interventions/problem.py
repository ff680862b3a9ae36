"""The problem: which of K candidate tables for one node is best among those whose outcome hardly depends on S?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from itertools import permutations, starmap
from typing import Any, Self

import numpy as np

from evenhand.arguments import as_float, real, yes_or_no
from evenhand.errors import ArgumentError, Wording, expected, expected_one_of
from evenhand.interventions.allocation_program import AllocationProgram, Plan, TrialNeeds
from evenhand.interventions.cells import Cells
from evenhand.interventions.estimators import Clipped, Mixture, gap_divergence, inverse, outcome_divergence
from evenhand.interventions.graph_tests import graph_tests, in_words, untested
from evenhand.interventions.model import CausalModel
from evenhand.interventions.posterior import Posterior, drawn_posterior
from evenhand.interventions.recommendation import EXACT, Recommendation, report
from evenhand.interventions.rules import opened
from evenhand.interventions.sensitivity import Sensitivity
from evenhand.interventions.structure import (
    Candidates,
    Structure,
    cell_base,
    cell_density,
    own_tables,
    read_candidates,
    read_scores,
    read_structure,
    require_identified,
    through_v_alone,
)
from evenhand.interventions.trial_tables import coded_log
from evenhand.kernels.arrays import Floats
from evenhand.labels import Labels
from evenhand.protocol import Label
from evenhand.rng import Seed

ROUNDING = 1e-12
"""By what part of the largest outcome two equal ones may differ in floating point."""


class Problem:
    """Which candidate has the best expected outcome among those that are counterfactually fair?

    Candidate k replaces the table of the node V by its own. Its gap for values a, b of the sensitive root S is
    zeta_k^{a,b} = E_k[Y | do(S = a)] - E_k[Y | do(S = b)]; it is fair at tolerance E when every |zeta_k^{a,b}| < E.
    Several attributes count as one whose values are all combinations: every ordered pair of combinations must be
    fair.

    Parameters
    ----------
    model : the causal model; needed are S, the children of S with their parents, V and its parents, and Y. Where
        tables of their ancestors are missing, a `log` is needed instead.
    intervene, sensitive, outcome : the nodes V, S (one or several, all roots) and Y.
    candidates : dict label -> candidate, or a list of candidates; the first is deployed. A candidate is a table,
        shaped as V's own table in the model; None, that table itself; or a rule: a function of a dict
        parent -> state, a mapping by the states of V's parents, or one state for everybody. A rule gives a state of V,
        or a dict state -> probability; states that it does not name have probability 0.
    values : dict state of Y -> number; may be left out where the states are numbers, or True and False.
    log : data frame of trials of the deployed candidate, S as it came, with the columns of S and of every node of
        `nodes`; its frequencies are then the law of what the candidates do not change, and nothing is exact. A column
        `candidate` may name each trial's candidate.
    randomised : whether V was drawn by lot in the data of the model. Rules may then name every column that V does not
        change, {"age": {"young": "low", "old": "high"}}, without an arrow from it to V.

    Attributes
    ----------
    candidates : labels of the candidates, the deployed one first.
    lot : the nodes by which V was drawn by lot, none in most trials; None where it was not.
    groups : values of S.
    nodes : the nodes that must be observed in a trial besides S.

    Raises
    ------
    ArgumentError
        If a node is unknown, S has parents, a table does not fit or gives zero where another does not, a rule fails,
        the outcome has no numbers, tables are missing, or latent arcs of the model leave the answer unidentified.

    Examples
    --------
    >>> model = CausalModel.from_tables(
    ...     {"sex": ["f", "m"], "dose": [0, 1], "cured": [0, 1]},
    ...     {"sex": [], "dose": ["sex"], "cured": ["dose"]},
    ...     {"sex": [0.5, 0.5], "dose": [[0.8, 0.2], [0.4, 0.6]], "cured": [[0.7, 0.3], [0.1, 0.9]]},
    ... )
    >>> problem = Problem(model, intervene="dose", sensitive="sex", outcome="cured", candidates={
    ...     "now": [[0.8, 0.2], [0.4, 0.6]],
    ...     "same for all": [[0.5, 0.5], [0.5, 0.5]],
    ...     "more": [[0.4, 0.6], [0.1, 0.9]],
    ... })
    >>> problem.outcomes.round(2)
    array([0.54, 0.6 , 0.75])
    >>> problem.gaps["f", "m"].round(2)
    array([-0.24,  0.  , -0.18])
    >>> problem.best(tolerance=0.1)
    'same for all'
    >>> problem.recommend(tolerance=0.1).table["verdict"].tolist()
    ['unfair', 'certified', 'unfair']

    Source: R. Gao and H. Feng, "Identifying Best Fair Intervention" (2021).
    """

    def __init__(
        self,
        model: CausalModel,
        *,
        intervene: str,
        sensitive: str | Sequence[str],
        outcome: str,
        candidates: Mapping[Any, Any] | Sequence[Any],
        values: Mapping[Any, float] | None = None,
        log: Any = None,
        randomised: bool = False,
    ) -> None:
        structure = read_structure(model, intervene, sensitive, outcome)
        require_identified(model, structure)
        self.lot = model.parents[intervene] if yes_or_no("randomised", randomised) else None
        if self.lot is not None:
            model = opened(model, intervene, candidates)
            structure = read_structure(model, intervene, sensitive, outcome)
        read = read_candidates(model, intervene, candidates)
        read = read._replace(notes=(*read.notes, *untested(model)))
        self._pose(model, structure, read, read_scores(model, outcome, values))
        self.exact = log is None
        self._complete(*(cell_base(model, structure) if log is None else self._logged(log)))

    @property
    def groups(self) -> tuple[Any, ...]:
        """The values of S: states, or tuples of states where there are several attributes."""
        return self.structure.groups

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes that must be observed in every trial besides S."""
        return self.structure.nodes

    @property
    def pairs(self) -> tuple[tuple[Any, Any], ...]:
        """The ordered pairs (a, b) of values of S."""
        return tuple(permutations(self.groups, 2))

    def by_pair(self, of: Callable[[int, int], Floats]) -> dict[tuple[Any, Any], Floats]:
        """Return `of(a, b)`, called with the positions of each ordered pair, by the pair of values of S."""
        return dict(zip(self.pairs, starmap(of, permutations(range(len(self.groups)), 2)), strict=True))

    @property
    def scale(self) -> float:
        """The outcome's range: the highest number minus the lowest."""
        return self.high - self.low

    def number(self, label: Label) -> int:
        """Return a candidate's position."""
        position = Labels(self.candidates).place(label)
        if position is None:
            raise ArgumentError(expected_one_of("candidate", self.candidates, label))
        return position

    @property
    def outcomes(self) -> Floats:
        """Exact E_k[Y] (K,), in the outcome's units."""
        return self.low + self.scale * (self._exact().means @ self.cells.prior)

    @property
    def gaps(self) -> dict[tuple[Any, Any], Floats]:
        """Exact counterfactual gaps zeta_k^{a,b} (K,) by ordered pair, in the outcome's units."""
        means = self.scale * self._exact().means
        return self.by_pair(lambda a, b: means[:, a] - means[:, b])

    def posterior(self, *, draws: int = 4000, seed: Seed = None, smoothing: float | None = None) -> Posterior:
        """Draw outcomes and gaps from the posterior of the tables of a fitted model.

        Parameters
        ----------
        draws : how many draws; fewer than 135 can show nothing at a level of 0.95.
        seed : the same seed gives the same draws.
        smoothing : another weight of the prior than the model's, to see what hangs on it.

        Raises
        ------
        ArgumentError
            If the model was not fitted to data, the number of draws is not from 1 to 100,000, or the weight is not a
            number > 0.
        """
        return drawn_posterior(self, draws, seed, smoothing)

    @cached_property
    def graph_tests(self) -> Any:
        """What the data of a fitted model say of each independence that its graph asserts: a data frame with the
        columns `earlier`, `later`, `given`, `strata`, `dropped` (those without a contrast), `p` and `refuted` (by
        Holm's method, at .05 over all rows)."""
        return graph_tests(self.model, self.structure, lot=self.lot)

    @cached_property
    def refuted(self) -> tuple[str, ...]:
        """What the graph asserts and the data of a fitted model contradict, one sentence for each."""
        found = () if self.model.counts is None else self.graph_tests.query("refuted").itertuples()
        return tuple(in_words(test, None if self.lot is None else self.structure.intervene) for test in found)

    def sensitivity(self, *, tolerance: float, between: tuple[str, str] = ("V", "Y")) -> Sensitivity:
        """Say how strong an unobserved cause has to be to change the answer.

        Parameters
        ----------
        tolerance : E, in the outcome's units.
        between : the two nodes that share the cause: ("V", "Y") or ("S", "Y"), or these nodes by their names.

        Raises
        ------
        ArgumentError
            If the tolerance is not a number > 0, `between` are other nodes, or the problem rests on a log.
        """
        return Sensitivity(self, tolerance=tolerance, between=between)

    @cached_property
    def outcome_divergence(self) -> Floats:
        """M (K, K): entry [k, j] says how badly samples of j inform about the outcome of k."""
        return outcome_divergence(self.cells.density, self.cells.law, self.cells.prior)

    @cached_property
    def gap_divergence(self) -> dict[tuple[Any, Any], Floats]:
        """D^{a,b} (K, K) by ordered pair: how badly samples of j under do(S = b) inform about the gap of k."""
        return self.by_pair(partial(gap_divergence, self.cells.density, self.cells.law))

    def allocate(
        self,
        costs: Any,
        budget: float,
        *,
        among: Sequence[Label] | None = None,
        rows: TrialNeeds = TrialNeeds(),  # noqa: B008
    ) -> tuple[float, Floats]:
        """Solve the allocation program: how to split trials so that every candidate is known as well as can be.

        Parameters
        ----------
        costs : cost of a trial, (K,) or a dict label -> cost.
        budget : the mean cost that may be spent per trial.
        among : the candidates that remain; all by default.
        rows : what the trials have to serve, see `TrialNeeds`.

        Returns
        -------
        tuple
            The program's value t, and the shares (1 + S, K): S as it comes in row 0, do(S = s) in row 1 + s. The
            optimum need not be unique.

        Raises
        ------
        ArgumentError
            If costs do not fit, no candidate is cheap enough, or a label is unknown.

        Source: Gao and Feng (2021), the allocation problem of CSR.
        """
        budget = real("budget", budget, low=0)
        chosen = np.ones(len(self.candidates), bool)
        if among is not None:
            chosen = np.isin(np.arange(len(self.candidates)), [self.number(label) for label in among])
            if not chosen.any():
                raise ArgumentError(expected("among", "at least one candidate", among))
        plan: Plan = self.program(self.read_costs(costs), budget, rows).solve(chosen)
        return plan.value, plan.shares.copy()

    def best(self, tolerance: float) -> Label | None:
        """Return the candidate with the highest exact outcome among the fair ones, the first of those equal up to
        rounding, or None where none is fair.

        Raises
        ------
        ArgumentError
            If the tolerance is not a number > 0 (infinity: every candidate is fair), or the problem rests on a log.
        """
        if not (isinstance(tolerance, float) and tolerance == math.inf):
            tolerance = real("tolerance", tolerance, above=0)
        worst = np.abs(list(self.gaps.values())).max(0)
        outcomes = np.where(worst < tolerance, self.outcomes, -np.inf)
        if not np.isfinite(outcomes).any():
            return None
        equal = outcomes >= outcomes.max() - ROUNDING * np.abs(self.outcomes).max()
        return self.candidates[int(equal.argmax())]

    def recommend(self, tolerance: float) -> Recommendation:
        """Return the exact answer by the model's tables, with every candidate's outcome and gaps.

        Raises
        ------
        ArgumentError
            As `best` does.
        """
        best, gaps = self.best(tolerance), np.array(list(self.gaps.values()))
        fair = np.abs(gaps).max(0) < tolerance
        names = np.where(fair, "fair", "unfair").astype(object)
        names[[label == best for label in self.candidates]] = "certified"
        ends = ((self.outcomes - self.low) / self.scale,) * 3, (gaps / self.scale,) * 3
        table = report(self, *ends, names.tolist(), {}).drop(columns=["phase", "reason"])
        found = Recommendation(best, "none_is_fair" if best is None else "certified", table)
        found.confidence, found.notes = 1.0, (EXACT, *self.notes)
        return found.over(self)

    # ------------------------------------------------------------------ for searches

    def program(self, costs: Floats, budget: float, rows: TrialNeeds) -> AllocationProgram:
        """Return the allocation program for these costs, kept for the next caller."""
        key = (costs.tobytes(), float(budget), rows)
        if key not in self._programs:
            cells, size, unknown = self.cells, len(self.groups), np.array(self.own)
            gaps = dict(zip(permutations(range(size), 2), self.gap_divergence.values(), strict=True))
            if rows.tested and (unknown.any() or not through_v_alone(self.model, self.structure)):
                gaps = {(s, s): outcome_divergence(cells.density, cells.law, np.eye(size)[s]) for s in range(size)}
            speaks = np.eye(len(unknown)) if rows.tested else np.ones((len(unknown),) * 2)
            speaks[np.ix_(~unknown, ~unknown)] = 1.0
            gap, outcome = {of: inverse(gaps[of]) * speaks for of in gaps}, inverse(self.outcome_divergence) * speaks
            self._programs[key] = AllocationProgram(outcome, gap, self.cells.prior, costs, budget, rows)
        return self._programs[key]

    @cached_property
    def clipped(self) -> Clipped:
        """The paper's estimators."""
        return Clipped(self.cells, self.outcome_divergence, list(self.gap_divergence.values()))

    @cached_property
    def mixture(self) -> Mixture:
        """The estimators with mixture weights."""
        return Mixture(self.cells)

    def read_costs(self, costs: Any) -> Floats:
        """Return the cost of a trial of each candidate (K,); None means 0 for the deployed one and 1 for the others."""
        if costs is None:
            return np.array([0.0] + [1.0] * (len(self.candidates) - 1))
        what = f"{len(self.candidates)} finite numbers >= 0, or a dict candidate -> cost"
        given = Labels(self.candidates).read(costs, "costs", what)
        if isinstance(given, dict):
            unknown = [label for label in given if label not in self.candidates]
            missing = [label for label in self.candidates if label not in given]
            if unknown or missing:
                got = f"unknown {unknown}, missing {missing}"
                raise ArgumentError(expected("costs", "a cost for each candidate", got))
            given = [given[label] for label in self.candidates]
        array = np.array([as_float(cost) for cost in given])
        if array.shape != (len(self.candidates),) or not np.isfinite(array).all() or (array < 0).any():
            raise ArgumentError(expected("costs", f"{len(self.candidates)} finite numbers >= 0", costs))
        return array

    def check_support(self, *, gaps: bool, pooled: bool) -> None:
        """Refuse rules about whose gaps no planned trial is informative.

        Trials of a candidate say nothing about one that gives values which it never gives; they are left out there, and
        the allocation program gives them no weight. But no trial at all may be informative about a gap of a rule that
        gives different values for different S, where no other candidate gives both.

        Raises
        ------
        ArgumentError
            If there is one; it is named.
        """
        for a, b in self.pairs if any(self.ruled) and gaps else ():
            reached = np.isfinite(self.gap_divergence[a, b]).any(1)
            if pooled:
                reached |= np.isfinite(self.gap_divergence[b, a]).any(1)
            if not reached.all():
                label = self.candidates[int(np.flatnonzero(~reached)[0])]
                what = f"a candidate whose trials can show its gap between {a!r} and {b!r}, its own or another's"
                hint = "add a candidate that gives every value with some probability"
                got = "values that depend on it with certainty"
                raise ArgumentError(expected(f"candidates[{label!r}]", what, got, hint))

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs."""
        return {
            "model": self.model.config(),
            "nodes": [self.structure.intervene, list(self.structure.sensitive), self.structure.outcome],
            "candidates": [list(self.candidates), self.tables, list(self.ruled), list(self.own), list(self.notes)],
            "scores": [self.scores, self.low, self.high],
            "lot": self.lot,
            "exact": self.exact,
            "prior": self.cells.prior,
            "base": self.cells.cell_base,
        }

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the problem that `snapshot` was taken of."""
        problem, model = cls.__new__(cls), CausalModel(**snapshot["model"])
        structure = read_structure(model, *snapshot["nodes"])
        labels, tables, *more = snapshot["candidates"]
        problem._pose(model, structure, Candidates(tuple(labels), tables, *map(tuple, more)), snapshot["scores"])
        problem.exact, problem.lot = snapshot["exact"], None if snapshot["lot"] is None else tuple(snapshot["lot"])
        problem._complete(snapshot["prior"], snapshot["base"])
        return problem

    # ------------------------------------------------------------------ inside

    def _pose(
        self, model: CausalModel, structure: Structure, read: Candidates, scores: tuple[Floats, float, float]
    ) -> None:
        self.model, self.structure = model, structure
        self.candidates, self.tables, self.ruled, self.own, notes = read
        self.notes = (*model.notes, *notes)
        self.scores, self.low, self.high = scores

    def _complete(self, prior: Floats, base: Floats) -> None:
        density = cell_density(self.model, self.structure, self.tables)
        rules, place = own_tables(self.model, self.structure, self.tables)
        shape = tuple(len(self.model.states[node]) for node in self.nodes)
        self.cells: Cells = Cells.merged(
            density,
            possible=(density > 0).any((0, 1)) & ((base > 0) | (not self.exact)),
            cell_base=base,
            level=np.indices(shape)[self.nodes.index(self.structure.outcome)].reshape(-1),
            scores=self.scores,
            shape=shape,
            prior=prior,
            rules=rules,
            place=place,
        )
        self._programs: dict[Any, AllocationProgram] = {}

    def _logged(self, log: Any) -> tuple[Floats, Floats]:
        trials, counts = coded_log(self.model, self.structure, log, self.candidates)
        density = cell_density(self.model, self.structure, self.tables)
        mixture = np.tensordot(trials, density, 2)
        blind = np.flatnonzero(((density.max(1) > 0) & (mixture == 0)).any(1))
        if blind.size:
            label, hint = self.candidates[blind[0]], "log a candidate that gives it, or add it to the logged one"
            what = f"trials of all values that the candidate {label!r} gives"
            raise ArgumentError(expected("log", what, Wording("no such trials"), hint))
        return trials.sum(0) / trials.sum(), counts * inverse(mixture)

    def _exact(self) -> Cells:
        if not self.exact:
            hint = "estimates come from recommend() of a search"
            raise ArgumentError(expected("model", "every table above the outcome", Wording("a log"), hint))
        return self.cells

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_programs": {}}

    def __repr__(self) -> str:
        s = self.structure
        return (
            f"Problem({len(self.candidates)} candidates for {s.intervene!r}, "
            f"sensitive {list(s.sensitive)}, outcome {s.outcome!r})"
        )
