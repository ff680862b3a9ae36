"""Random instances under the conditions that the paper states, as it does not print its own: S -> V -> Y, K candidates
P_k(V | S).

V takes 20 values, Y = f(V) with probability 0.99 and 1 - f(V) otherwise, S is fair. Candidates are drawn from a seed
and kept if they meet the stated bounds on divergences; then as many fair and unfair ones are chosen as the setting
asks for, the best fair one `outcome_gap` ahead of the second, and no gap within `margin` of the tolerance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from evenhand.errors import ArgumentError, expected
from evenhand.interventions import CausalModel, Problem
from evenhand.interventions.estimators import gap_divergence, outcome_divergence
from evenhand.kernels.arrays import Bools, Floats, Ints

VALUES = 20
FLIP = 0.01
POOL = 400


class Conditions(NamedTuple):
    """What an instance has to satisfy.

    Attributes
    ----------
    family : how candidates are drawn: "binomial", or "categorical" with the named divergence high, "low", "outcome",
        "gap" or "both".
    tolerance : E.
    fair : how many of the K candidates are fair.
    outcome_gap : by how much the best fair candidate leads the second; others lie below that.
    margin : how far every |gap| stays from the tolerance.
    outcome_divergence, gap_divergence : range of M_k1 and of the larger of the two D_k1, in all candidates but the
        deployed.
    candidates : K.
    """

    family: str
    tolerance: float
    fair: int
    outcome_gap: float
    margin: float
    outcome_divergence: tuple[float, float]
    gap_divergence: tuple[float, float]
    candidates: int = 30


def three_nodes(tables: Floats, score: Floats) -> Problem:
    """Return the problem S -> V -> Y for candidate tables (K, 2, 20) and f (20,)."""
    right = np.where(score[:, None] == np.arange(2), 1.0 - FLIP, FLIP)
    model = CausalModel.from_tables(
        {"S": [0, 1], "V": list(range(VALUES)), "Y": [0, 1]},
        {"S": [], "V": ["S"], "Y": ["V"]},
        {"S": [0.5, 0.5], "V": tables[0], "Y": right},
    )
    return Problem(model, intervene="V", sensitive="S", outcome="Y", candidates=list(tables))


def instance(conditions: Conditions, seed: int) -> Problem:
    """Return an instance that satisfies the conditions; the same one for the same seed.

    Raises
    ------
    ArgumentError
        If none is found among many candidates.
    """
    random = np.random.default_rng(seed)
    for _ in range(60):
        score = (np.arange(VALUES) >= VALUES // 2).astype(float)
        deployed, drawn = _drawn(conditions, random)
        pool = three_nodes(np.concatenate([deployed[None], drawn]), score)
        keep = _admissible(conditions, pool)
        chosen = _chosen(conditions, pool.outcomes[keep], np.abs(pool.gaps[0, 1])[keep], random)
        if chosen is not None:
            return three_nodes(pool.tables[keep][chosen], score)
    raise ArgumentError(expected("conditions", "conditions that random candidates can meet", conditions))


def _drawn(conditions: Conditions, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the deployed candidate's table (2, 20), and a pool of others (POOL, 2, 20)."""
    if conditions.family == "binomial":
        success = np.clip(
            0.5 + random.uniform(-0.17, 0.17, (POOL + 1, 1)) + random.normal(0, 0.05, (POOL + 1, 2)), 0.05, 0.95
        )
        success[0] = 0.5 + random.normal(0, 0.01, 2)
        tables = binom.pmf(np.arange(VALUES), VALUES - 1, success[..., None])
        return tables[0] / tables[0].sum(-1, keepdims=True), tables[1:] / tables[1:].sum(-1, keepdims=True)
    return _categorical(conditions.family, random)


def _categorical(high: str, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Return tables whose outcome divergence, gap divergence, both or neither are high.

    Odd values of V are rare under S = 1 in every table where the gap's divergence is to be high; a few values are
    rare in the deployed table alone where the outcome's is to be.
    """
    base = random.dirichlet(np.full(VALUES, 8.0))
    tables = random.dirichlet(300.0 * base, (POOL + 1, 2))
    lean = random.normal(0.0, 0.4, (POOL + 1, 1, 1)) + random.normal(0.0, 0.12, (POOL + 1, 2, 1))
    lean[0] = 0.0
    tables *= np.exp(lean * np.where(np.arange(VALUES) < VALUES // 2, -1.0, 1.0))
    if high in ("gap", "both"):
        tables[:, 1, 3::14] /= random.uniform(18.0, 30.0)
    if high in ("outcome", "both"):
        tables[0, :, 5::9] /= random.uniform(18.0, 30.0)
    tables /= tables.sum(-1, keepdims=True)
    return tables[0], tables[1:]


def _admissible(conditions: Conditions, problem: Problem) -> Bools:
    """Return which candidates are within the divergence bounds and away from the tolerance, or the deployed one."""
    gaps = np.abs(problem.gaps[0, 1])
    density, law = problem.cells.density, problem.cells.law
    m = outcome_divergence(density, law, problem.cells.prior, samples=1)[:, 0]
    d = np.max([gap_divergence(density, law, a, b, samples=1)[:, 0] for a, b in ((0, 1), (1, 0))], axis=0)
    (m_low, m_high), (d_low, d_high) = conditions.outcome_divergence, conditions.gap_divergence
    keep = (
        (m >= m_low)
        & (m < m_high)
        & (d >= d_low)
        & (d < d_high)
        & (np.abs(gaps - conditions.tolerance) > conditions.margin)
    )
    keep[0] = True
    return np.asarray(keep)


def _chosen(conditions: Conditions, outcomes: Floats, gaps: Floats, random: np.random.Generator) -> Ints | None:
    """Return the positions of K candidates that meet the conditions, the deployed one first, or None."""
    fair = gaps < conditions.tolerance
    others = np.flatnonzero(fair)[1:] if fair[0] else np.flatnonzero(fair)
    unfair = random.permutation(np.setdiff1d(np.flatnonzero(~fair), [0]))
    n_fair = conditions.fair - int(fair[0])
    n_unfair = conditions.candidates - conditions.fair - int(not fair[0])
    if conditions.fair == 0:
        ready = not fair[0] and unfair.size >= n_unfair
        return np.array([0, *unfair[:n_unfair]]) if ready else None
    if n_fair < 2 or unfair.size < n_unfair or others.size < n_fair:
        return None
    for best in random.permutation(others):
        below = outcomes[best] - outcomes
        second = others[np.abs(below[others] - conditions.outcome_gap) < 0.1 * conditions.outcome_gap]
        rest = others[below[others] > conditions.outcome_gap]
        if second.size and rest.size >= n_fair - 2 and (not fair[0] or below[0] >= conditions.outcome_gap):
            rest = random.permutation(np.setdiff1d(rest, second[:1]))[: n_fair - 2]
            if rest.size == n_fair - 2:
                return np.array([0, *random.permutation(np.array([best, second[0], *rest, *unfair[:n_unfair]]))])
    return None
