"""The fair program, solved exactly by a parametric climb over its constraint tree.

    maximise  sum_i w_i a_i p_i   subject to  |p_i - p_j| <= c_ij,  0 <= p_i <= 1  and  sum_i w_i p_i <= budget.

The budget is 1 for one choice and infinite for many; a weight w_i is how many alike people i stands for, mostly 1.

All constraints but the last are differences, if a *floor* with p = 0 counts as one more individual. At a price b of
the budget the optimum is the highest point that pays: as b falls from max a to 0 it only rises. A basis is a tree of
tight constraints rooted at the floor. The tree falls apart first at the subtree with the largest mean reward that
hangs on a constraint which holds it down; that subtree rises until a new constraint holds it, and so on until the
budget is spent or nothing pays any more. A step costs O(k^2).

Where a price is zero the optimum is not unique; `nearest_to_uniform` then minimises sum_i w_i (p_i - q)^2 over the
optimal face, q being the same chance for all, by an active-set method over the same kind of tree. Both are capped in
their steps: ties could make them cycle.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import kernel, routine

CAPPED = -1
"""The status of a climb that passed its step cap."""

TIE = 1e-12
"""A price below this, relative to the largest reward, counts as zero."""


class Tree(NamedTuple):
    """Scratch for k individuals; node k is the floor."""

    parent: Ints
    """(k,): the node that each hangs on, k for the floor, -1 for the root of a floating tree."""
    upper: Ints
    """(k,): 1 where the node is the upper end of the constraint to its parent, 0 where it is the lower end."""
    sums: Floats
    """(k,): the subtree's total, of rewards or of gradients."""
    sizes: Floats
    """(k,): the subtree's number of nodes."""
    root: Ints
    """(k,): which component a node belongs to."""
    shift: Floats
    """(k,): the component's move in `nearest_to_uniform`."""
    start: Floats
    """(k,): the point before a move."""
    rigid: Ints
    """(k,): 1 where the constraint to the parent has a price and stays tight."""
    weights: Floats
    """(k,): how many people each node stands for; no scratch, but read."""


def tree(k: int) -> Tree:
    """Return scratch for k individuals."""
    parent, upper, root, rigid = np.zeros((4, k), np.int64)
    sums, sizes, shift, start = np.zeros((4, k))
    return Tree(parent, upper, sums, sizes, root, shift, start, rigid, np.ones(k))


@routine
def solve(rewards: Floats, distances: Floats, budget: float, p: Floats, tree: Tree) -> Any:
    """Write the optimum closest to uniform to `p`; return (steps or CAPPED, the price of the budget)."""
    steps, price = climb(rewards, distances, budget, p, tree)
    if steps != CAPPED and mark_rigid(rewards, price, tree):
        nearest_to_uniform(distances, budget, price > 0.0, p, tree)
    return steps, price


@routine
def climb(rewards: Floats, distances: Floats, budget: float, p: Floats, tree: Tree) -> Any:
    """Write an optimal vertex to `p` and its basis to `tree`; return (steps or CAPPED, the price of the budget)."""
    k = rewards.size
    for i in range(k):
        p[i] = 0.0
        tree.parent[i] = k
        tree.upper[i] = 0
    left = budget
    for step in range(40 * k + 40):
        total(rewards, 0.0, tree)
        best, price = -1, 0.0
        for i in range(k):
            if tree.upper[i] == 0 and tree.parent[i] >= 0:
                mean = tree.sums[i] / tree.sizes[i]
                if mean > price or (best >= 0 and mean == price and tree.sizes[i] > tree.sizes[best]):
                    best, price = i, mean
        if best < 0:
            return step, 0.0
        tree.parent[best] = -1
        colour(tree)
        rise, above, below = left / tree.sizes[best], -1, k
        for i in range(k):
            if tree.root[i] == best:
                if budget > 1.0 and 1.0 - p[i] < rise:
                    rise, above, below = 1.0 - p[i], i, k
                for j in range(k):
                    if tree.root[j] != best and distances[i, j] - p[i] + p[j] < rise:
                        rise, above, below = distances[i, j] - p[i] + p[j], i, j
        # Rounding may leave a constraint violated by an ulp. A negative rise would take back probability, and the climb
        # could repeat the same steps until its cap.
        rise = max(rise, 0.0)
        for i in range(k):
            if tree.root[i] == best:
                p[i] += rise
        if above < 0:
            return step, price
        left -= rise * tree.sizes[best]
        hang(above, below, 1, tree)
    return CAPPED, 0.0


@kernel
def total(values: Floats, offset: float, tree: Tree) -> Any:
    """Sum values - offset and count people over every subtree."""
    k = values.size
    for i in range(k):
        tree.sums[i] = 0.0
        tree.sizes[i] = 0.0
    for i in range(k):
        node = i
        while 0 <= node < k:
            tree.sums[node] += tree.weights[i] * (values[i] - offset)
            tree.sizes[node] += tree.weights[i]
            node = tree.parent[node]


@kernel
def colour(tree: Tree) -> Any:
    """Name every node's component by its root: k for the floor's, else the floating tree's top."""
    k = tree.parent.size
    for i in range(k):
        node = i
        while node < k and tree.parent[node] >= 0:
            node = tree.parent[node]
        tree.root[i] = node


@kernel
def hang(node: int, parent: int, upper: int, tree: Tree) -> Any:
    """Turn the floating tree of `node` so that `node` is its top, and hang it on `parent`."""
    rigid = 0
    while True:
        above, side, stiff = tree.parent[node], tree.upper[node], tree.rigid[node]
        tree.parent[node], tree.upper[node], tree.rigid[node] = parent, upper, rigid
        if above < 0:
            return
        parent, node, upper, rigid = node, above, 1 - side, stiff


@kernel
def prices(rewards: Floats, price: float, tree: Tree) -> Any:
    """Write to `tree.sums` the price of each node's constraint to its parent; 0 for a floating root."""
    total(rewards, price, tree)
    for i in range(rewards.size):
        if tree.parent[i] < 0:
            tree.sums[i] = 0.0
        elif tree.upper[i] == 0:
            tree.sums[i] = -tree.sums[i]


@kernel
def mark_rigid(rewards: Floats, price: float, tree: Tree) -> Any:
    """Mark the constraints that have a price; return whether one has none, so that the optimum may not be unique."""
    prices(rewards, price, tree)
    scale = 0.0
    for i in range(rewards.size):
        scale = max(scale, abs(rewards[i]))
    tied = False
    for i in range(rewards.size):
        tree.rigid[i] = 1 if tree.sums[i] > TIE * scale else 0
        if tree.parent[i] >= 0 and tree.rigid[i] == 0:
            tied = True
    return tied


@routine
def nearest_to_uniform(distances: Floats, budget: float, spent: bool, p: Floats, tree: Tree) -> Any:
    """Move `p` to the point of the optimal face that is closest to uniform; `spent` holds the mass at the budget."""
    k = p.size
    for i in range(k):
        if tree.parent[i] >= 0 and tree.rigid[i] == 0:
            tree.parent[i] = -1
        tree.start[i] = p[i]
    bounded = budget < np.inf
    approach(distances, budget, bounded and spent, p, tree)
    if bounded and not spent:
        mass, before = 0.0, 0.0
        for i in range(k):
            mass += tree.weights[i] * p[i]
            before += tree.weights[i] * tree.start[i]
        if mass > budget:
            for i in range(k):
                p[i] = tree.start[i] + (p[i] - tree.start[i]) * (budget - before) / (mass - before)
                if tree.parent[i] >= 0 and tree.rigid[i] == 0:
                    tree.parent[i] = -1
            approach(distances, budget, True, p, tree)


@routine
def approach(distances: Floats, budget: float, fixed_mass: bool, p: Floats, tree: Tree) -> Any:
    k = p.size
    people = 0.0
    for i in range(k):
        people += tree.weights[i]
    target = (budget if budget < np.inf else 1.0) / people
    for _ in range(40 * k + 40):
        colour(tree)
        price = aim(target, budget, fixed_mass, p, tree)
        part, above, below = 1.0, -1, -1
        for i in range(k):
            speed = tree.shift[i]
            if tree.root[i] != k:
                if speed < -1e-14 and p[i] < part * -speed:
                    part, above, below = p[i] / -speed, k, i
                if budget > 1.0 and speed > 1e-14 and 1.0 - p[i] < part * speed:
                    part, above, below = (1.0 - p[i]) / speed, i, k
            for j in range(k):
                closing = speed - tree.shift[j]
                if tree.root[i] != tree.root[j] and closing > 1e-14:
                    slack = distances[i, j] - p[i] + p[j]
                    if slack < part * closing:
                        part, above, below = slack / closing, i, j
        part = max(part, 0.0)
        for i in range(k):
            p[i] += part * tree.shift[i]
        if above < 0 and below < 0:
            worst = loosest(target - price, p, tree)
            if worst < 0:
                return
            tree.parent[worst] = -1
        elif above == k or tree.root[min(above, k - 1)] == k:
            hang(below, above, 0, tree)
        else:
            hang(above, below, 1, tree)


@kernel
def aim(target: float, budget: float, fixed_mass: bool, p: Floats, tree: Tree) -> Any:
    """Write each component's move to its own optimum to `tree.shift`; return the price of the mass."""
    k = p.size
    mass, demand, free = 0.0, 0.0, 0.0
    for i in range(k):
        mass += tree.weights[i] * p[i]
        if tree.root[i] != k:
            demand += tree.weights[i] * (target - p[i])
            free += tree.weights[i]
    price = 0.0
    if fixed_mass and free > 0.0:
        price = (demand - (budget - mass)) / free
    for i in range(k):
        tree.sums[i] = 0.0
        tree.sizes[i] = 0.0
    for i in range(k):
        if tree.root[i] != k:
            tree.sums[tree.root[i]] += tree.weights[i] * (target - p[i])
            tree.sizes[tree.root[i]] += tree.weights[i]
    for i in range(k):
        tree.shift[i] = 0.0
        if tree.root[i] != k:
            tree.shift[i] = tree.sums[tree.root[i]] / tree.sizes[tree.root[i]] - price
    return price


@kernel
def loosest(target: float, p: Floats, tree: Tree) -> Any:
    """Return the node whose constraint, not rigid, holds it back the most from its own optimum, or -1."""
    total(p, target, tree)
    worst, gain = -1, 1e-12
    for i in range(p.size):
        if tree.parent[i] >= 0 and tree.rigid[i] == 0:
            pull = tree.sums[i] if tree.upper[i] == 1 else -tree.sums[i]
            if pull > gain:
                worst, gain = i, pull
    return worst
