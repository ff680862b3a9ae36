"""The fair program: the best distribution over individuals under which no pair is treated more differently than its
distance.

Source: S. Gillen, C. Jung, M. Kearns, A. Roth, "Online Learning with an Unknown Fairness Metric" (NeurIPS 2018),
Section 2: the linear program of the best fair policy; Appendix A: many choices a round. The solver is
`evenhand.kernels.fair_program`.
"""

from __future__ import annotations

import math
import threading
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arguments import array, one_of, yes_or_no
from evenhand.data.rows import in_step
from evenhand.errors import ArgumentError, Wording, expected
from evenhand.frames import has_row_labels
from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import entry, kernel
from evenhand.kernels.fair_program import CAPPED, Tree, prices, solve, tree
from evenhand.similarity.lazy_kernels import lazy_kernel

Select = Literal["one", "many"]

LARGEST = 1e300
"""The largest reward: sums of millions of them stay finite."""


class FairProgram(NamedTuple):
    """A solved fair program.

    Attributes
    ----------
    probabilities : the optimum (k,) that is closest to uniform.
    value : sum_i p_i rewards_i.
    budget_price : the reward per unit of additional probability; 0 where the budget is not spent, or `select` is
    "many".
    prices : the reward per unit of additional distance for each pair (k, k), at [i, j] where p_i is the larger one.
    tight : the pairs (i, j), p_i >= p_j, whose constraints are tight in the optimum's basis, those with a price first.
    """

    probabilities: Floats
    value: float
    budget_price: float
    prices: Floats
    tight: list[tuple[int, int]]


@kernel
def _solve(rewards: Floats, distances: Floats, budget: float, p: Floats, tree: Tree) -> Any:
    k = rewards.size
    for i in range(k):
        if not abs(rewards[i]) <= LARGEST:
            return -2, 0.0
        for j in range(i, k):
            if not (distances[i, j] >= 0.0 and distances[j, i] >= 0.0):
                return -3, 0.0
            if abs(distances[i, j] - distances[j, i]) > 1e-9 * min(distances[i, j], distances[j, i]) + 1e-12:
                return -4, 0.0
    return solve(rewards, distances, budget, p, tree)


def _work(rewards: Floats, *arguments: object) -> int:
    return 50 * len(rewards) ** 3


_solve_entry, _prices_entry = (lazy_kernel(entry(one), _work) for one in (_solve, prices))


class _Scratch(threading.local):
    """Trees by number of individuals, each thread's own: the kernels run without the interpreter lock."""

    def __init__(self) -> None:
        self.trees: dict[int, Tree] = {}


_scratch = _Scratch()


@overload
def fair_distribution(
    rewards: ArrayLike, distances: ArrayLike, *, select: Select = "one", details: Literal[False] = False
) -> Floats: ...
@overload
def fair_distribution(
    rewards: ArrayLike, distances: ArrayLike, *, select: Select = "one", details: Literal[True]
) -> FairProgram: ...
def fair_distribution(
    rewards: ArrayLike, distances: ArrayLike, *, select: Select = "one", details: bool = False
) -> Floats | FairProgram:
    """Return the distribution with the highest expected reward under which similar individuals are treated similarly.

    It maximises sum_i p_i rewards_i subject to |p_i - p_j| <= distances_ij, p >= 0 and sum_i p_i <= 1: the remaining
    probability is for nobody. With `select="many"` individuals are drawn independently and p_i <= 1 replaces the sum.
    Of several optimal distributions it is the one with the least sum_i (p_i - 1/k)^2.

    Parameters
    ----------
    rewards : the expected reward of each of the k individuals, of any sign, (k,).
    distances : the largest difference of treatment allowed for each pair, symmetric, >= 0, inf for no limit, (k, k).
        Labels of rows and columns are matched with each other and with those of the rewards.
    select : "one" individual per round or "many".
    details : return the prices and the tight pairs as well, as a `FairProgram`.

    Raises
    ------
    ArgumentError
        If shapes or labels do not match, rewards are not finite numbers, or distances are negative, NaN or asymmetric;
        the diagonal is read as well, and may hold any distance.

    Examples
    --------
    >>> fair_distribution([0.9, 0.5, 0.1], [[0, 0.1, 1], [0.1, 0, 1], [1, 1, 0]])
    array([0.55, 0.45, 0.  ])
    >>> fair_distribution([1, 1, 1, 0], [[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]]).round(3)
    array([0.333, 0.333, 0.333, 0.   ])

    Source: Gillen, Jung, Kearns, Roth (2018), Section 2 and Appendix A. The solver agrees with HiGHS to 1e-12; should
    it ever exceed its step limit, HiGHS solves the program instead.
    """
    budget, details = 1.0 if read_select(select) else math.inf, yes_or_no("details", details)
    rewards, distances = _in_order(rewards, distances)
    a = _read("rewards", rewards, "a list of at least one number", 1)
    k = a.size
    table = f"a {k} x {k} table, one row and column per reward"
    c = _read("distances", distances, table, 2)
    if c.shape != (k, k):
        raise ArgumentError(expected("distances", table, Wording(f"an array of shape {c.shape}")))
    if details:
        return solved(a, c, budget, np.ones(k))
    p, _, scratch = _climbed(a, c, budget, 1.0)
    return _by_highs(a, c, budget, np.ones(k)).probabilities if scratch is None else p


def solved(a: Floats, c: Floats, budget: float, weights: Floats) -> FairProgram:
    """Return the solved program of rewards (k,) and distances (k, k) under sum_i weights_i p_i <= budget, where each i
    stands for `weights_i` people who are alike.

    Raises
    ------
    ArgumentError
        If the numbers are not what `fair_distribution` wants.
    """
    p, price, scratch = _climbed(a, c, budget, weights)
    return _by_highs(a, c, budget, weights) if scratch is None else _described(a, p, price, scratch)


def _climbed(a: Floats, c: Floats, budget: float, weights: Floats | float) -> tuple[Floats, float, Tree | None]:
    """Return the optimum, the price of the budget and the tree; no tree where the climb passed its step cap."""
    k = a.size
    scratch = _scratch.trees.get(k)
    if scratch is None:
        scratch = _scratch.trees[k] = tree(k)
    scratch.weights[:] = weights
    p = np.empty(k)
    steps, price = _solve_entry(a, c, budget, p, scratch)
    if steps < 0 and steps != CAPPED:
        _refuse(steps, a, c)
    return p, price, None if steps == CAPPED else scratch


def _in_order(rewards: object, distances: Any) -> tuple[Any, Any]:
    """Return rewards, and distances with rows and columns in the order of the rewards."""
    rewards, distances = in_step(("rewards", rewards), ("distances", distances))
    by_rewards, by_distances = map(has_row_labels, (rewards, distances))
    if by_distances:
        people = ("rewards", rewards) if by_rewards else ("distances", distances)
        distances = in_step(people, ("columns of distances", distances.T))[1].T
    return rewards, distances


def read_select(select: str) -> bool:
    """Return whether one individual is selected a round, refusing anything but "one" and "many"."""
    return one_of("select", select, ("one", "many")) == "one"


def _read(name: str, value: Any, what: str, dimensions: int) -> Floats:
    """Return numbers as an array; one that is ready for the kernels, which look at every number, is taken as it is."""
    ready = type(value) is np.ndarray and value.dtype == np.float64 and value.flags.c_contiguous
    if ready and value.ndim == dimensions and value.size:
        return value
    return array(name, value, what, dimensions=dimensions, infinite=True)


def _refuse(status: int, a: Floats, c: Floats) -> None:
    if status == -2:
        raise ArgumentError(expected("rewards", f"finite numbers of at most {LARGEST:g}", a.tolist()))
    if status == -3:
        i, j = np.argwhere(~(c >= 0))[0]
        raise ArgumentError(expected(f"distances[{i}, {j}]", "a number >= 0", float(c[i, j])))
    with np.errstate(invalid="ignore"):
        i, j = np.argwhere(np.abs(c - c.T) > 1e-9 * np.minimum(c, c.T) + 1e-12)[0]
    raise ArgumentError(
        expected(
            f"distances[{i}, {j}]", f"distances[{j}, {i}] = {c[j, i]:g}", float(c[i, j]), "distances are symmetric"
        )
    )


def _described(a: Floats, p: Floats, price: float, scratch: Tree) -> FairProgram:
    k = a.size
    _prices_entry(a, price, scratch)
    table, tight = np.zeros((k, k)), []
    for node, parent in enumerate(scratch.parent):
        if 0 <= parent < k:
            pair = (node, int(parent)) if scratch.upper[node] else (int(parent), node)
            table[pair] = max(scratch.sums[node], 0.0)
            tight.append(pair)
    tight.sort(key=lambda pair: -table[pair])
    return FairProgram(p, float((a * scratch.weights) @ p), price, table, tight)


def _by_highs(a: Floats, c: Floats, budget: float, weights: Floats) -> FairProgram:
    from scipy.optimize import linprog

    k = a.size
    pairs = [(i, j) for i in range(k) for j in range(k) if i != j and math.isfinite(c[i, j])]
    rows = np.zeros((len(pairs) + 1, k))
    for row, (i, j) in zip(rows, pairs, strict=False):
        row[i], row[j] = 1.0, -1.0
    rows[-1] = weights
    limits = np.array([c[pair] for pair in pairs] + [min(budget, float(weights.sum()))])
    found = linprog(-a * weights, A_ub=rows, b_ub=limits, bounds=(0.0, 1.0), method="highs-ds")
    p = np.clip(found.x, 0.0, 1.0)
    table, duals = np.zeros((k, k)), -found.ineqlin.marginals
    for pair, dual in zip(pairs, duals, strict=False):
        table[pair] = dual
    tight = [pair for pair in pairs if p[pair[0]] - p[pair[1]] >= c[pair] - 1e-9]
    tight.sort(key=lambda pair: -table[pair])
    price = float(duals[-1]) if math.isfinite(budget) else 0.0
    return FairProgram(p, float((a * weights) @ p), price, table, tight)
