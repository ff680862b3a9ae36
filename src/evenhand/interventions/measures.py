"""How often searches name the right candidate, measured over simulated trials.

Trials are drawn as sufficient statistics: one multinomial per candidate and kind of trial, however many there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from evenhand.arguments import whole
from evenhand.errors import ArgumentError, expected
from evenhand.interventions.cells import Cells, Evidence
from evenhand.interventions.search import Search
from evenhand.kernels.arrays import Ints
from evenhand.parameters import require_fresh
from evenhand.rng import Seed, draw_seed, generator


class EvidenceDraws:
    """Draw the evidence of a plan from the exact law of the cells, or of those of a true model of the same nodes."""

    def __init__(self, cells: Cells, truth: Cells | None = None) -> None:
        law = cells.law_of(cells if truth is None else truth)
        law = law / law.sum((2, 3), keepdims=True)
        k, values = law.shape[:2]
        self._cells = cells
        self._shape = law.shape[2:]
        self._natural = (law * (cells if truth is None else truth).prior[:, None, None]).reshape(k, -1)
        self._forced = law.reshape(k * values, -1)

    def __call__(self, plan: Ints, random: np.random.Generator) -> Evidence:
        """Return what the trials (1 + S, K) of a plan show."""
        k, values = self._cells.density.shape[:2]
        counts = np.zeros((2, k, values, *self._shape))
        chosen = np.flatnonzero(plan[0])
        counts[0, chosen] = random.multinomial(plan[0, chosen], self._natural[chosen]).reshape(-1, values, *self._shape)
        trials = plan[1:].T.reshape(-1)
        chosen = np.flatnonzero(trials)
        drawn = random.multinomial(trials[chosen], self._forced[chosen]).reshape(-1, *self._shape)
        counts[1].reshape(-1, *self._shape)[chosen] = drawn
        return self._cells.evidence(counts)


def replay(search: Search, draws: EvidenceDraws, random: np.random.Generator) -> tuple[int | None, str]:
    """Run a search from start to end on simulated trials; return the number of the candidate named, and the status."""
    search._begin()
    while not search.finished:
        search.absorb(draws(search.plan(), random))
    return search._choice()


def simulated_searches(searches: Mapping[str, Search], *, replications: int = 100, seed: Seed = None) -> Any:
    """Return a data frame with one row per search and replication: the answer, whether it is right, and its cost.

    Parameters
    ----------
    searches : name -> search; copies of them run.
    replications : how often each runs.
    seed : the same seed gives the same frame.

    Returns
    -------
    pandas.DataFrame
        Columns search, replication, candidate (None: no fair one), status, correct (it is `problem.best(tolerance)`),
        phases, trials, cost.

    Raises
    ------
    ArgumentError
        If a search rests on a log or has begun, or `replications` is not a number >= 1.

    Examples
    --------
    >>> from evenhand.interventions import CSR
    >>> frame = simulated_searches({"csr": next(CSR._examples())[0]}, replications=20, seed=1)
    >>> len(frame), bool(frame["correct"].mean() > 0.5)
    (20, True)
    """
    import pandas as pd

    replications = whole("replications", replications, low=1)
    for name, search in searches.items():
        require_fresh(f"searches[{name!r}]", search, "pass search.fresh(): every replication starts without memory")
        if not search.problem.exact:
            what = "a problem over a complete model"
            raise ArgumentError(expected(f"searches[{name!r}]", what, "one with a log"))
    base, rows = draw_seed(seed), []
    for number, (name, given) in enumerate(searches.items()):
        search, problem, draws = given.fresh(), given.problem, EvidenceDraws(given.problem.cells)
        truth = problem.best(np.inf if search.tolerance is None else search.tolerance)
        for replication in range(replications):
            chosen, status = replay(search, draws, generator(base, number, replication))
            candidate = None if chosen is None else problem.candidates[chosen]
            took = search.phase, search.trials, search.cost
            rows.append((name, replication, candidate, status, candidate == truth, *took))
    names = ["search", "replication", "candidate", "status", "correct", "phases", "trials", "cost"]
    return pd.DataFrame(rows, columns=names)
