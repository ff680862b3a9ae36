"""Vertices of a box cut by half-spaces, kept so that the next linear program over it begins near its optimum.

Where the same body is asked about many directions, `ascend` begins at the kept vertex that reaches the farthest and
climbs along edges, by the primal simplex method (Dantzig 1951): at the vertex x of a basis B, u = B'y; an edge on which
y is negative leads up. It ends with y >= 0, which proves the bound u.x <= limits.y as in `halfspaces.support`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import kernel, routine
from evenhand.kernels.halfspaces import Simplex, compare, exchange, express, locate

UNREACHED = np.inf
"""What `ascend` returns when it cannot say: no vertex is kept, or none of the edges it tried led to the optimum."""

DESCENT = 1e-12
"""A multiplier above minus this counts as not negative."""

FLAT = 1e-11
"""An edge that closes in on a constraint more slowly than this, a unit of its length, never reaches it."""


@kernel
def begin(cuts: Floats, limits: Floats, low: Floats, high: Floats, basis: Ints, work: Simplex) -> Any:
    """Enter a basis: its costs and, by Gauss-Jordan elimination with pivots by rows, its inverse; return whether it
    has one."""
    m = basis.size
    for i in range(m):
        member = basis[i]
        work.basis[i] = member
        for j in range(m):
            work.inverse[j, i] = cuts[j, member] if member >= 0 else 0.0
        if member >= 0:
            work.costs[i] = limits[member]
        elif member >= -m:
            work.inverse[-1 - member, i] = 1.0
            work.costs[i] = high[-1 - member]
        else:
            work.inverse[-1 - member - m, i] = -1.0
            work.costs[i] = -low[-1 - member - m]
    return invert(work.inverse, work.order)


@kernel
def invert(matrix: Floats, order: Ints) -> Any:
    """Invert a matrix in its place; return False where it is singular."""
    m = order.size
    for c in range(m):
        top, largest = c, abs(matrix[c, c])
        for i in range(c + 1, m):
            if abs(matrix[i, c]) > largest:
                top, largest = i, abs(matrix[i, c])
        if largest < 1e-10:
            return False
        order[c] = top
        for j in range(m):
            matrix[c, j], matrix[top, j] = matrix[top, j], matrix[c, j]
        pivot = 1.0 / matrix[c, c]
        matrix[c, c] = 1.0
        for j in range(m):
            matrix[c, j] *= pivot
        for i in range(m):
            if i != c:
                times = matrix[i, c]
                matrix[i, c] = 0.0
                for j in range(m):
                    matrix[i, j] -= times * matrix[c, j]
    for back in range(m):
        c = m - 1 - back
        if order[c] != c:
            for i in range(m):
                matrix[i, c], matrix[i, order[c]] = matrix[i, order[c]], matrix[i, c]
    return True


@routine
def ascend(
    cuts: Floats,
    limits: Floats,
    count: int,
    low: Floats,
    high: Floats,
    u: Floats,
    vertices: Floats,
    bases: Ints,
    kept: Ints,
    excess: Floats,
    slopes: Floats,
    work: Simplex,
) -> Any:
    """Return an upper bound of u.x over the set, attained at `work.point`, from the vertices kept; or `UNREACHED`.

    The other arguments are those of `halfspaces.support`; `vertices` (capacity, m), `bases` (capacity, m) and `kept`
    (2,) are the store that `keep` fills. A vertex that is reached anew is kept.
    """
    m = u.size
    nearest, reach = -1, -np.inf
    for v in range(kept[0]):
        along = 0.0
        for j in range(m):
            along += u[j] * vertices[v, j]
        if along > reach:
            nearest, reach = v, along
    if nearest < 0 or not begin(cuts, limits, low, high, bases[nearest], work):
        return UNREACHED
    locate(work)
    compare(cuts, limits, count, work.point, excess)
    for step in range(10 * m + 10):
        leaving = steepest(u, work)
        if leaving < 0:
            if step > 0:
                keep(vertices, bases, kept, work)
            return settle(cuts, limits, low, high, u, work)
        if not follow(cuts, limits, count, low, high, leaving, excess, slopes, work):
            return UNREACHED
    return UNREACHED


@routine
def settle(cuts: Floats, limits: Floats, low: Floats, high: Floats, u: Floats, work: Simplex) -> Any:
    """Return the bound that the basis of `work` proves, and its point, computed anew from the basis in order: the same
    to the last bit whichever way led to it."""
    m = u.size
    for i in range(1, m):
        member, place = work.basis[i], i
        while place > 0 and work.basis[place - 1] > member:
            work.basis[place] = work.basis[place - 1]
            place -= 1
        work.basis[place] = member
    # Rounding depends on the edges walked: without a fresh inverse two ways to one vertex differ in the last bit, and
    # in time in a decision.
    if not begin(cuts, limits, low, high, work.basis, work):
        return UNREACHED
    steepest(u, work)
    locate(work)
    return proven(cuts, low, high, work)


@kernel
def steepest(u: Floats, work: Simplex) -> Any:
    """Set the multipliers y of u; return the member of the basis whose edge leads up the most steeply, or -1."""
    m = u.size
    leaving, steepness = -1, 0.0
    for i in range(m):
        y, square = 0.0, 0.0
        for j in range(m):
            y += work.inverse[i, j] * u[j]
            square += work.inverse[i, j] * work.inverse[i, j]
        work.duals[i] = y
        if y < -DESCENT and y * y > steepness * square:
            leaving, steepness = i, y * y / square
    return leaving


@kernel
def follow(
    cuts: Floats,
    limits: Floats,
    count: int,
    low: Floats,
    high: Floats,
    leaving: int,
    excess: Floats,
    slopes: Floats,
    work: Simplex,
) -> Any:
    """Walk the edge off the constraint `leaving` until another holds, which takes its place; return False if none
    does."""
    m = work.point.size
    for r in range(count):
        slopes[r] = 0.0
    for j in range(m):
        for r in range(count):
            slopes[r] -= cuts[j, r] * work.inverse[leaving, j]
    entering, move = -2 * m - 1, np.inf
    for r in range(count):
        if slopes[r] > FLAT and -excess[r] < move * slopes[r]:
            entering, move = r, -excess[r] / slopes[r]
    for j in range(m):
        ahead = -work.inverse[leaving, j]
        if ahead > FLAT and high[j] - work.point[j] < move * ahead:
            entering, move = -1 - j, (high[j] - work.point[j]) / ahead
        if ahead < -FLAT and work.point[j] - low[j] < move * -ahead:
            entering, move = -1 - j - m, (low[j] - work.point[j]) / ahead
    if entering == -2 * m - 1:
        return False
    # At a degenerate vertex the way is 0 but for rounding; a step backwards would leave the set.
    move = max(move, 0.0)
    for j in range(m):
        work.point[j] -= move * work.inverse[leaving, j]
    for r in range(count):
        excess[r] += move * slopes[r]
    express(cuts, entering, work)
    exchange(limits, low, high, leaving, entering, work)
    return True


@kernel
def proven(cuts: Floats, low: Floats, high: Floats, work: Simplex) -> Any:
    """Return the bound that the multipliers prove; one that is negative by rounding speaks of the opposite side, which
    the box limits."""
    m = work.duals.size
    bound = 0.0
    for i in range(m):
        y, member = work.duals[i], work.basis[i]
        if y >= 0.0:
            bound += y * work.costs[i]
        elif member >= 0:
            for j in range(m):
                bound += max(y * cuts[j, member] * low[j], y * cuts[j, member] * high[j])
        elif member >= -m:
            bound += y * low[-1 - member]
        else:
            bound -= y * high[-1 - member - m]
    return bound


@kernel
def keep(vertices: Floats, bases: Ints, kept: Ints, work: Simplex) -> Any:
    """Keep the vertex of `work`, in the place of the oldest where all are taken; `kept` is (how many, the next
    place)."""
    capacity = vertices.shape[0]
    if capacity == 0:
        return
    place = kept[1] % capacity
    for j in range(work.point.size):
        vertices[place, j] = work.point[j]
        bases[place, j] = work.basis[j]
    kept[0] = max(kept[0], place + 1)
    kept[1] = (place + 1) % capacity


@kernel
def discard(cuts: Floats, limits: Floats, row: int, vertices: Floats, bases: Ints, kept: Ints) -> Any:
    """Discard the vertices that the half-space of a row cuts off; the rest keep their order."""
    m = vertices.shape[1]
    left = 0
    for v in range(kept[0]):
        along = 0.0
        for j in range(m):
            along += cuts[j, row] * vertices[v, j]
        if along <= limits[row]:
            for j in range(m):
                vertices[left, j] = vertices[v, j]
                bases[left, j] = bases[v, j]
            left += 1
    if left < kept[0]:
        kept[0], kept[1] = left, left
