"""Does the table fit the graph? Tests of the independences that a graph asserts.

Two nodes without an arrow between them are independent given the parents of the later one. Each such pair is tested in
strata of these parents by the generalised Cochran-Mantel-Haenszel statistic, which for two states each is the usual
one. Where a stratum expects fewer than 5 in a cell, its law is that of tables drawn at random with the same margins,
that is, of a permutation within the strata; elsewhere it is a chi-square law. Holm's method keeps the probability of
refuting a right graph at most .05. An association that differs in sign between the strata may go unnoticed.

The numbers of a measured node count as above their median or not.

Not tested are pairs whose later node shares an unobserved cause, and pairs of sensitive attributes: no arrow may lead
to one, and gaps do not depend on how often they occur together.

Source: J. Landis, E. Heyman, G. Koch, "Average Partial Association in Three-way Contingency Tables" (1978), for the
statistic; S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure" (1979).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from evenhand.interventions.model import CausalModel
from evenhand.interventions.structure import Structure
from evenhand.kernels.arrays import Floats, Ints
from evenhand.rng import Seed, draw_seed, generator

ERROR = 0.05
EXPECTED = 5.0
FIRST_DRAWS, DRAWS = 199, 9_999
"""Random tables that show that a pair is not remarkable, and those that measure how remarkable it is."""
AT_ONCE = 2_000_000
"""Cells of random tables that are held in memory."""


def graph_tests(model: CausalModel, structure: Structure, seed: Seed = 0, *, lot: tuple[str, ...] | None = None) -> Any:
    """Return a data frame with a row for each independence that is tested: `earlier`, `later`, `given`, the number of
    `strata` and of those `dropped` because they have no contrast, `p`, and whether it is `refuted`. V depends on
    `lot` alone, where it was drawn by lot."""
    import pandas as pd

    columns = ["earlier", "later", "given", "strata", "dropped", "p"]
    random, found = generator(draw_seed(seed)), []
    parents = {**model.parents, structure.intervene: lot} if lot is not None else model.parents
    pairs = asserted(model, structure, parents) if _can_be_tested(model) else []
    for earlier, later in pairs:
        strata = _strata(model, earlier, later, parents[later])
        tables = strata[((strata.sum(2) > 0).sum(1) > 1) & ((strata.sum(1) > 0).sum(1) > 1)]
        p = _probability(tables, max(DRAWS, 100 * len(pairs)), random) if len(tables) else 1.0
        found.append((earlier, later, parents[later], len(strata), len(strata) - len(tables), p))
    frame = pd.DataFrame(found, columns=columns).sort_values("p", kind="stable", ignore_index=True)
    left = len(frame) - np.arange(len(frame))
    return frame.assign(refuted=np.logical_and.accumulate(frame["p"].to_numpy(np.float64) <= ERROR / left))


def _can_be_tested(model: CausalModel) -> bool:
    return model.rows is not None and bool((model.rows[:, -1] % 1.0 == 0.0).all())


def untested(model: CausalModel) -> tuple[str, ...]:
    """Say why the graph of a fitted model is not tested, if it is not."""
    why = "The table was not tested against the graph: its column 'count' holds fractions, and the tests need people."
    return () if model.counts is None or _can_be_tested(model) else (why,)


def asserted(model: CausalModel, structure: Structure, parents: Mapping[str, Collection[str]]) -> list[tuple[str, str]]:
    """Return the pairs (earlier, later) of nodes above the outcome that are said to be independent given the parents of
    the later one."""
    above = model.ancestors([structure.outcome, *structure.sensitive])
    order = [*structure.sensitive, *(n for n in model.order if n in above and n not in structure.sensitive)]
    confounded = {node for arc in model.latent for node in arc}
    return [
        (earlier, later)
        for at, later in enumerate(order)
        if later not in confounded and later not in structure.sensitive
        for earlier in order[:at]
        if earlier not in parents[later]
    ]


def in_words(test: Any, drawn: str | None = None) -> str:
    """Say what a refuted independence means, and what to do; `drawn` is the node that was drawn by lot."""
    given = f" given {', '.join(test.given)}" if test.given else ""
    dropped = f"; {test.dropped} of {test.strata} strata have no contrast" if test.dropped else ""
    by_lot = test.later == drawn
    chance = "if the lot took account of it, " if by_lot else ""
    hint = f"{chance}add an arrow {test.earlier} -> {test.later}"
    says = f"{'The lot' if by_lot else 'Your graph'} says that {test.earlier} and {test.later} are unrelated{given}"
    return f"{says}; the table says otherwise (p = {test.p:.2g}{dropped}): {hint}."


def _strata(model: CausalModel, earlier: str, later: str, parents: Collection[str]) -> Floats:
    """Return the table of the two nodes in each stratum of parents that was seen, (K, r, c)."""
    assert model.rows is not None
    places, times, place = model.rows[:, :-1].copy(), model.rows[:, -1], list(model.states)
    for node in model.precision:
        column = places[:, place.index(node)]
        column[:] = column > np.median(np.repeat(column, times.astype(np.int64)))
    codes = places.astype(np.int64)
    given = codes[:, [place.index(node) for node in parents]]
    strata, number = np.unique(given, axis=0, return_inverse=True)
    tables = np.zeros((len(strata), len(model.states[earlier]), len(model.states[later])))
    np.add.at(tables, (number.reshape(-1), codes[:, place.index(earlier)], codes[:, place.index(later)]), times)
    return tables


class Margins(NamedTuple):
    """Row and column sums (K, r) and (K, c) of tables."""

    rows: Floats
    columns: Floats

    def expected(self) -> Floats:
        return self.rows[:, :, None] * self.columns[:, None] / self.rows.sum(1)[:, None, None]

    def covariance(self) -> Floats:
        """Return the covariance (r c, r c) of the sum of the tables, given the margins."""
        total = self.rows.sum(1)
        rows, columns = (total[:, None, None] * _diagonal(sums) - sums[:, :, None] * sums[:, None] for sums in self)
        size = self.rows.shape[1] * self.columns.shape[1]
        weights = 1.0 / (total**2 * (total - 1.0))
        return np.einsum("kab,kcd,k->acbd", rows, columns, weights).reshape(size, size)

    def drawn(self, draws: int, random: np.random.Generator) -> Ints:
        """Return sums over the strata of tables drawn with these margins, (draws, r, c)."""
        rows, columns = (sums.astype(np.int64) for sums in self)
        found = np.zeros((draws, rows.shape[1], columns.shape[1]), np.int64)
        left = np.broadcast_to(columns, (draws, *columns.shape)).copy()
        for row in range(rows.shape[1]):
            expected = np.broadcast_to(rows[:, row], left.shape[:2]).copy()
            for column in range(columns.shape[1]):
                got = random.hypergeometric(left[:, :, column], left[:, :, column + 1 :].sum(2), expected)
                found[:, row, column] = got.sum(1)
                left[:, :, column] -= got
                expected -= got
        return found


def _diagonal(sums: Floats) -> Floats:
    return sums[:, :, None] * np.eye(sums.shape[1])


def _probability(tables: Floats, draws: int, random: np.random.Generator) -> float:
    """Return the probability of an association at least as strong, were there none in any stratum."""
    from scipy.stats import chi2

    margins = Margins(tables.sum(2), tables.sum(1))
    expected, covariance = margins.expected(), margins.covariance()
    inverse = np.linalg.pinv(covariance, hermitian=True)

    def statistic(sums: Any) -> Any:
        off = (sums - expected.sum(0)).reshape(*np.shape(sums)[:-2], -1)
        return np.einsum("...a,ab,...b->...", off, inverse, off)

    seen = statistic(tables.sum(0))
    if expected[expected > 0].min() >= EXPECTED:
        return float(chi2.sf(seen, np.linalg.matrix_rank(covariance, hermitian=True)))
    size, more, done, p = max(1, AT_ONCE // tables[:, 0].size), 0, 0, 1.0
    for goal in (FIRST_DRAWS, draws):
        while done < goal:
            some = margins.drawn(min(size, goal - done), random)
            more, done = more + int((statistic(some) >= seen * (1.0 - 1e-9)).sum()), done + len(some)
        p = (1 + more) / (1 + done)
        if p > ERROR:
            break
    return p
