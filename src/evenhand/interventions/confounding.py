"""What an unobserved cause of a given strength may do to outcomes and gaps: Tan's marginal sensitivity model.

The cause u may change the odds of V = v, given V's parents x, by a factor of at most the strength L, either way. With
e = P(v | x), z the other parents of Y (and of what stands between V and Y), and the observed law of Y given x, z and
v, whose mean is m,

    E[Y_v | x, z] lies in e m + (1 - e) [q-, q+],

where for q+ the top 1/(L + 1) of Y's mass weighs L and the rest 1/L, and for q- the bottom. Weights in [1/L, L] whose
mean is 1 have a standard deviation of at most (L - 1) / sqrt(L), and the mean moves by their covariance with Y, so by
at most (L - 1) / sqrt(L) standard deviations of Y: of a measured Y, of which the two ends are the law, this is less.
These means depend on S only through x and z, so that outcomes, gaps and leads are sums of them with ONE weight each,
over all values of S; which means are jointly possible is said below. The deployed candidate is observed with the effect
of the cause, and does not move. For a cause of S and Y the same intervals hold with e = P(S = s), for each candidate,
the law of Y being that of a candidate under S = s; then outcomes, in which S comes as it does, do not move, and gaps
do. What one cause can do to several candidates at once may be less: those ranges are on the safe side.

Source: Z. Tan, "A Distributional Approach for Causal Inference Using Propensity Scores" (2006), the model; J. Dorn, K.
Guo, "Sharp Sensitivity Analysis for Inverse Propensity Weighting via Quantile Balancing" (2023), the ends.

The joint range of the means E[Y_v | x, z], with latent laws as linear programs, is ours.

Given x, the parents of V, the cause u has one law, whatever z, Y's other parents. pi(u) = P(v | x, u) is one of the
laws whose odds are within the strength L of those of e = P(v | x): e/(e + L (1 - e)) <= pi_v <= L e/(L e + 1 - e). To
split pi(u) into the vertices pi_j of these laws keeps every moment, and given pi(u) the Y_v are free. So the means are
exactly those of weights w_j and masses g_jzvl >= 0 with

    sum_j w_j pi_jv = e_v,    sum_l g_jzvl = w_j,    sum_j pi_jv g_jzvl = e_v P(Y = l | x, z, v),
    E[Y_v | x, z] = sum_jl l g_jzvl.

With two values of V the weights are fixed, and every mean may be anywhere in e m + (1 - e) [q-, q+] at once; with more
these intervals are wider than the joint range. Above six values there are too many vertices, and of a
measured outcome no law is known: there the intervals are used instead.
"""

from __future__ import annotations

from itertools import permutations, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.errors import EvenhandError
from evenhand.interventions.group_means import CANDIDATE, factors_below
from evenhand.interventions.inference import eliminate
from evenhand.kernels.arrays import Floats

if TYPE_CHECKING:
    from evenhand.interventions import Problem

MOST_VALUES = 6
QUICK = {"presolve": False}
"""The programs are small: to simplify them first takes longer than to solve them."""
RARE = 1e-9
"""A share of 0 stands for one that is too rare to be seen."""


class Program(NamedTuple):
    """Means (n,) as `chosen @ y` over y >= 0 with `equal @ y = right`; n is `shape`, (X, Z, V)."""

    shape: tuple[int, ...]
    chosen: Any
    equal: Any
    right: Floats

    def tied(self, weights: Floats) -> bool:
        """Return whether a sum of the means has two values of V at one x, whose ends need not go together."""
        return bool(((weights.reshape(self.shape) != 0).any(1).sum(1) > 1).any())


class MeanBounds:
    """Which means (n,) there may be: anywhere between `low` and `high`, and where there is a program, as it says."""

    def __init__(self, low: Floats, high: Floats, program: Program | None = None) -> None:
        self.low, self.high, self._program = low, high, program
        self._found: dict[bytes, float] = {}

    def least(self, weights: Floats) -> Floats:
        """Return the least values of sums (T, n) of the means, each by itself."""
        ends = np.maximum(weights, 0.0) @ self.low + np.minimum(weights, 0.0) @ self.high
        for number, row in enumerate(weights):
            if self._program is not None and self._program.tied(row):
                key = (row + 0.0).tobytes()  # a gap is its reverse's other end: -0.0 and 0.0 are one weight
                ends[number] = self._found[key] = self._found[key] if key in self._found else self.value(row)
        return np.asarray(ends)

    def value(self, weights: Floats, limits: Floats | None = None, ends: Floats | None = None) -> float:
        """Return the least value of a sum (n,) of the means where `limits` (m, n) @ means <= `ends` (m,), infinite
        where no means are so."""
        from scipy.optimize import linprog

        if self._program is None:
            found = linprog(weights, limits, ends, bounds=np.stack([self.low, self.high], axis=1), method="highs")
        else:
            _, chosen, equal, right = self._program
            above = None if limits is None else limits @ chosen
            found = linprog(weights @ chosen, above, ends, equal, right, (0, None), method="highs", options=QUICK)
        if found.status == 2:
            return np.inf
        if found.status != 0:
            raise EvenhandError(f"sensitivity: the linear program was not solved: {found.message}")
        return float(found.fun)


def latent_laws(low: Floats, high: Floats, law: Floats, shares: Floats, scores: Floats, strength: float) -> MeanBounds:
    """Return the means (X * Z * V,) that there may be, from observed laws (X, Z, V, Y states) and shares (X, V)."""
    values = shares.shape[1]
    if values == 2 or values > MOST_VALUES or strength == 1.0:
        return MeanBounds(low, high)
    from scipy.sparse import block_diag

    blocks = [_block(law[x], shares[x], scores, strength) for x in range(len(law))]
    chosen, equal = (block_diag([block[part] for block in blocks], format="csr") for part in (0, 1))
    return MeanBounds(low, high, Program(law.shape[:3], chosen, equal, np.concatenate([block[2] for block in blocks])))


def _block(law: Floats, shares: Floats, scores: Floats, strength: float) -> tuple[Floats, Floats, Floats]:
    """Return map, equations and right side of one x, over y = (w_j, g_jzvl); the last equations divided by e_v."""
    # The equations are divided by the shares: a 0 would make them infinite, and HiGHS would give up.
    shares = np.maximum(shares, RARE)
    ratios = _vertices(shares / shares.sum(), strength)
    j, (z, v, levels) = len(ratios), law.shape
    size = j * (1 + z * v * levels)
    place = j + np.arange(size - j).reshape(j, z, v, levels)
    chosen = np.zeros((z, v, size))
    equal = np.zeros((v + j * z * v + z * v * levels, size))
    equal[:v, :j] = ratios.T
    sums, laws = equal[v : v + j * z * v].reshape(j, z, v, size), equal[v + j * z * v :].reshape(z, v, levels, size)
    for a, b in product(range(z), range(v)):
        for one in range(j):
            chosen[a, b, place[one, a, b]] = scores
            sums[one, a, b, one], sums[one, a, b, place[one, a, b]] = -1.0, 1.0
            for level in range(levels):
                laws[a, b, level, place[one, a, b, level]] = ratios[one, b]
    right = np.concatenate([np.ones(v), np.zeros(j * z * v), law.reshape(-1)])
    return chosen.reshape(z * v, size), equal, right


def _vertices(shares: Floats, strength: float) -> Floats:
    """Return the vertices (J, V) of the laws within the strength, as ratios pi_jv / e_v: all values but one at an
    end."""
    values = len(shares)
    low, high = 1.0 / (shares + strength * (1.0 - shares)), strength / (strength * shares + 1.0 - shares)
    found = []
    for free in range(values):
        others = [v for v in range(values) if v != free]
        for ends in product((0, 1), repeat=values - 1):
            ratios = np.zeros(values)
            ratios[others] = np.where(ends, high[others], low[others])
            ratios[free] = (1.0 - ratios[others] @ shares[others]) / shares[free]
            if low[free] - 1e-12 <= ratios[free] <= high[free] + 1e-12:
                found.append(np.clip(ratios, low, high))
    return np.array(found)


class Terms(NamedTuple):
    """Numbers that are sums of means: weights (T, means), and the parts that do not move (T,)."""

    weights: Floats
    fixed: Floats


class Confounding(NamedTuple):
    """Means that an unobserved cause may move, and what is made of them.

    Attributes
    ----------
    law : (X, Z, V, Y states) the observed law of the outcome behind each mean.
    spread : (X, Z, V) the standard deviation of that outcome.
    shares : (X, V) the share e of people of whom the mean is observed.
    scores : (Y states,) the outcome's numbers, scaled to [0, 1].
    outcomes : (K,) the candidates' outcomes.
    gaps : (pairs * K,) their gaps, by ordered pair and candidate.
    joint : whether the means of one x are those of one cause; else each is bounded by itself.
    """

    law: Floats
    spread: Floats
    shares: Floats
    scores: Floats
    outcomes: Terms
    gaps: Terms
    joint: bool

    def means(self, strength: float) -> MeanBounds:
        """Return the means (X * Z * V,) that there may be under a cause of this strength."""
        law, order = self.law.reshape(-1, self.scores.size), np.argsort(self.scores)
        shares = np.broadcast_to(self.shares[:, None], self.law.shape[:-1]).reshape(-1)
        ends = (_tilted(law[:, by], self.scores[by], strength) for by in (order, order[::-1]))
        mean, most = law @ self.scores, (strength - 1.0) / np.sqrt(strength) * self.spread.reshape(-1)
        low, high = (mean + (1.0 - shares) * np.clip(end - mean, -most, most) for end in ends)
        return (
            latent_laws(low, high, self.law, self.shares, self.scores, strength)
            if self.joint
            else MeanBounds(low, high)
        )


def bounds(terms: Terms, means: MeanBounds) -> tuple[Floats, Floats]:
    """Return the least and the largest value of each number (T,)."""
    return terms.fixed + means.least(terms.weights), terms.fixed - means.least(-terms.weights)


def confounded_values(problem: Problem) -> Confounding:
    """Return what a cause of V and Y may move."""
    model, structure, prior = problem.model, problem.structure, problem.cells.prior
    v, y = structure.intervene, structure.outcome
    sizes = {node: len(states) for node, states in model.states.items()} | {CANDIDATE: 1}
    parents, others = model.parents[v], _other_parents(problem)
    above = [*parents, *others]
    shape = [int(np.prod([sizes[node] for node in nodes])) for nodes in (parents, others)]
    even = np.full((1, *model.shape(v)), 1.0 / sizes[v])
    law, square = (
        _law(problem, [*above, v, y], even, sizes, tables).reshape(*shape, sizes[v], -1)
        for tables in (model.tables, _of_squares(problem))
    )
    shares = model.tables.get(v, problem.tables[0]).reshape(shape[0], -1)
    reach = _reach(problem, above, even, sizes).reshape(-1, *shape, 1)
    observed = reach * shares[:, None] * (law @ problem.scores)
    weights, fixed = [], []
    for table, own in zip(problem.tables, problem.own, strict=True):
        moved = (1.0 - own) * reach * table.reshape(shape[0], 1, -1)
        weights.append(moved.reshape(len(prior), -1))
        fixed.append(own * observed.reshape(len(prior), -1).sum(1))
    terms = _terms(np.array(weights), np.array(fixed), prior)
    spread = _spread(law, square, problem.scores)
    return Confounding(law, spread, shares, problem.scores, *terms, joint=y not in model.precision)


def _other_parents(problem: Problem) -> list[str]:
    """Return the parents, besides V and its own, of the outcome and of all that stands between V and it."""
    model, v = problem.model, problem.structure.intervene
    above = model.ancestors([problem.structure.outcome])
    below = {node for node in above if v in model.ancestors([node])}
    found = {parent for node in below - {v} for parent in model.parents[node]}
    return sorted(found - below - set(model.parents[v]))


def _of_squares(problem: Problem) -> dict[str, Floats]:
    """Return the tables with those of the outcome's square in place of a measured outcome's, both in [0, 1]."""
    model, y = problem.model, problem.structure.outcome
    if y not in model.precision:
        return model.tables
    mean = model.tables[y][..., 1]
    square = mean**2 + mean * (1.0 - mean) / np.maximum(model.precision[y], 1.0)
    return {**model.tables, y: np.stack([1.0 - square, square], axis=-1)}


def _spread(law: Floats, square: Floats, scores: Floats) -> Floats:
    """Return the standard deviation of the outcome from its law and that of its square."""
    return np.asarray(np.sqrt(np.maximum(square @ scores**2 - (law @ scores) ** 2, 0.0)))


def _law(problem: Problem, nodes: list[str], even: Floats, sizes: dict[str, int], tables: dict[str, Floats]) -> Floats:
    """Return the law of the last node given the others, evenly spread where these cannot be."""
    model, structure = problem.model, problem.structure
    factors = factors_below(model, structure, even, tables, set(nodes))
    factors += [((attribute,), tables[attribute]) for attribute in structure.sensitive]
    joint = eliminate(factors, nodes, sizes)
    total = joint.sum(-1, keepdims=True)
    return np.divide(joint, total, out=np.full_like(joint, 1.0 / joint.shape[-1]), where=total > 0)


def _reach(problem: Problem, nodes: list[str], even: Floats, sizes: dict[str, int]) -> Floats:
    """Return the probability of states of nodes above V given each value of S, (S, ...)."""
    model, structure = problem.model, problem.structure
    factors = factors_below(model, structure, even, model.tables, set(nodes))
    found = []
    for group in np.ndindex(*(sizes[attribute] for attribute in structure.sensitive)):
        held = [((a,), np.eye(sizes[a])[at]) for a, at in zip(structure.sensitive, group, strict=True)]
        found.append(eliminate([*factors, *held], nodes, sizes))
    return np.array(found)


def confounded_groups(problem: Problem) -> Confounding:
    """Return what a cause of S and Y may move."""
    model, structure = problem.model, problem.structure
    sizes = {node: len(states) for node, states in model.states.items()} | {CANDIDATE: len(problem.candidates)}
    prior, found = problem.cells.prior, []
    k, groups = len(problem.candidates), len(prior)
    for tables in (model.tables, _of_squares(problem)):
        factors = factors_below(model, structure, problem.tables, tables, {structure.outcome})
        law = eliminate(factors, [CANDIDATE, *structure.sensitive, structure.outcome], sizes)
        found.append(law.reshape(k, 1, groups, -1))
    law, square = found
    gaps = _terms(np.eye(k * groups).reshape(k, groups, -1), np.zeros((k, groups)), prior)[1]
    outcomes = Terms(np.zeros((k, k * groups)), (law[:, 0] @ problem.scores) @ prior)
    spread = _spread(law, square, problem.scores)
    return Confounding(law, spread, np.tile(prior, (k, 1)), problem.scores, outcomes, gaps, joint=False)


def _terms(weights: Floats, fixed: Floats, prior: Floats) -> tuple[Terms, Terms]:
    """Return outcomes and gaps from E_k[Y | do(S = s)] as weights (K, S, effects) and fixed parts (K, S)."""
    pairs = list(permutations(range(len(prior)), 2))
    gaps = np.concatenate([weights[:, a] - weights[:, b] for a, b in pairs])
    still = np.concatenate([fixed[:, a] - fixed[:, b] for a, b in pairs])
    return Terms(np.einsum("ksn,s->kn", weights, prior), fixed @ prior), Terms(gaps, still)


def _tilted(law: Floats, scores: Floats, strength: float) -> Floats:
    """Return the mean once the first 1/(strength + 1) of the mass weighs more by the strength, and the rest less; with
    scores in ascending order the lowest mean that there can be, in descending order the highest."""
    before = np.cumsum(law, axis=1) - law
    first = np.clip(1.0 / (strength + 1.0) - before, 0.0, law)
    return np.asarray((strength * first + (law - first) / strength) @ scores)
