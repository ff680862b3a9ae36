"""A box cut by half-spaces: how far it reaches in a direction, certified, and a random walk inside it.

`support` maximises u.x over {x : low <= x <= high, cuts x <= limits} through the dual program min limits.y + high.y+
- low.y-, cuts'y + y+ - y- = u, y >= 0, by the primal simplex method: the box gives the first basis for nothing.
Every y on the way proves the bound u.x <= (its cost), so that stopping early is loose but never wrong.

`walk` is hit-and-run (Smith 1984) along directions shaped by a factor of the body's covariance.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.kernels.compose import kernel, routine
from evenhand.kernels.random import normal, uniform

EMPTY = -np.inf
"""What `support` returns when nothing satisfies all cuts."""

VIOLATION = 1e-11


class Simplex(NamedTuple):
    """Scratch in m dimensions; after `support`, `point` is where the bound is attained."""

    inverse: Floats
    """(m, m): of the basis, whose columns are cuts and sides of the box."""
    duals: Floats
    """(m,): y of the basis."""
    costs: Floats
    """(m,): limits of the basis."""
    point: Floats
    """(m,): x of the basis."""
    column: Floats
    """(m,): the entering constraint in terms of the basis."""
    basis: Ints
    """(m,): the constraints of the basis: a cut by its number, the upper side of coordinate j as -1 - j, its lower side
    as -1 - j - m."""
    order: Ints
    """(m,): how rows were exchanged."""
    exact: Ints
    """(1,): whether the bound is attained."""


def simplex(m: int) -> Simplex:
    """Return scratch for m dimensions."""
    duals, costs, point, column = np.zeros((4, m))
    basis, order = np.zeros((2, m), np.int64)
    return Simplex(np.zeros((m, m)), duals, costs, point, column, basis, order, np.zeros(1, np.int64))


@kernel
def compare(cuts: Floats, limits: Floats, count: int, x: Floats, excess: Floats) -> Any:
    """Write to `excess` by how much x breaks each cut."""
    for r in range(count):
        excess[r] = -limits[r]
    for j in range(x.size):
        for r in range(count):
            excess[r] += cuts[j, r] * x[j]


@kernel
def locate(work: Simplex) -> Any:
    """Set the point of the basis."""
    m = work.point.size
    for j in range(m):
        work.point[j] = 0.0
    for i in range(m):
        for j in range(m):
            work.point[j] += work.costs[i] * work.inverse[i, j]


@kernel
def most_broken(cuts: Floats, limits: Floats, count: int, low: Floats, high: Floats, x: Floats, excess: Floats) -> Any:
    """Return the constraint that x breaks most, numbered as `basis` does, count where none is broken."""
    m = x.size
    # A basis is exact only up to rounding: without the margin a constraint in the basis would enter again and again.
    entering, worst = count, VIOLATION
    for j in range(m):
        if x[j] - high[j] > worst:
            entering, worst = -1 - j, x[j] - high[j]
        if low[j] - x[j] > worst:
            entering, worst = -1 - j - m, low[j] - x[j]
    compare(cuts, limits, count, x, excess)
    for r in range(count):
        if excess[r] > worst:
            entering, worst = r, excess[r]
    return entering


@kernel
def express(cuts: Floats, entering: int, work: Simplex) -> Any:
    """Write a constraint in terms of the basis into `work.column`."""
    m = work.point.size
    for i in range(m):
        if entering >= 0:
            entry = 0.0
            for j in range(m):
                entry += work.inverse[i, j] * cuts[j, entering]
        elif entering >= -m:
            entry = work.inverse[i, -1 - entering]
        else:
            entry = -work.inverse[i, -1 - entering - m]
        work.column[i] = entry


@kernel
def exchange(limits: Floats, low: Floats, high: Floats, leaving: int, entering: int, work: Simplex) -> Any:
    """Put the constraint that `express` has written into the place of a member of the basis."""
    m = work.point.size
    pivot = 1.0 / work.column[leaving]
    for j in range(m):
        work.inverse[leaving, j] *= pivot
    for i in range(m):
        if i != leaving:
            for j in range(m):
                work.inverse[i, j] -= work.column[i] * work.inverse[leaving, j]
    work.basis[leaving] = entering
    if entering >= 0:
        work.costs[leaving] = limits[entering]
    elif entering >= -m:
        work.costs[leaving] = high[-1 - entering]
    else:
        work.costs[leaving] = -low[-1 - entering - m]


@routine
def support(
    cuts: Floats, limits: Floats, count: int, low: Floats, high: Floats, u: Floats, excess: Floats, work: Simplex
) -> Any:
    """Return an upper bound of u.x over the set, attained unless the step cap was passed; EMPTY if the set is.

    `cuts` is (m, capacity), a column each of `count` half-spaces, so that all are compared at once; `excess`
    (capacity,) is scratch.
    """
    m = u.size
    work.exact[0] = 0
    for i in range(m):
        for j in range(m):
            work.inverse[i, j] = 0.0
        sign = 1.0 if u[i] >= 0.0 else -1.0
        work.inverse[i, i] = sign
        work.duals[i] = abs(u[i])
        work.costs[i] = high[i] if sign > 0.0 else -low[i]
        work.basis[i] = -1 - i if sign > 0.0 else -1 - i - m
    for _ in range(20 * m + 20):
        locate(work)
        entering = most_broken(cuts, limits, count, low, high, work.point, excess)
        if entering == count:
            work.exact[0] = 1
            break
        express(cuts, entering, work)
        leaving, ratio = -1, np.inf
        for i in range(m):
            if work.column[i] > 1e-12 and work.duals[i] < ratio * work.column[i]:
                leaving, ratio = i, work.duals[i] / work.column[i]
        if leaving < 0:
            return EMPTY
        for i in range(m):
            # Every y >= 0 proves a bound; one of -1e-17 by rounding would prove a wrong one.
            work.duals[i] = max(work.duals[i] - ratio * work.column[i], 0.0)
        work.duals[leaving] = ratio
        exchange(limits, low, high, leaving, entering, work)
    bound = 0.0
    for i in range(m):
        bound += work.costs[i] * work.duals[i]
    return bound


@routine
def walk(
    cuts: Floats,
    limits: Floats,
    count: int,
    low: Floats,
    high: Floats,
    factor: Floats,
    x: Floats,
    direction: Floats,
    excess: Floats,
    slopes: Floats,
    stream: Words,
) -> Any:
    """Take one step of hit-and-run from `x`, along `factor` times a normal vector; stay where the chord is not
    finite."""
    m = x.size
    for i in range(m):
        direction[i] = 0.0
    for j in range(m):
        z = normal(stream)
        for i in range(m):
            direction[i] += factor[i, j] * z
    back, ahead = -np.inf, np.inf
    for i in range(m):
        if direction[i] > 1e-300:
            back, ahead = max(back, (low[i] - x[i]) / direction[i]), min(ahead, (high[i] - x[i]) / direction[i])
        elif direction[i] < -1e-300:
            back, ahead = max(back, (high[i] - x[i]) / direction[i]), min(ahead, (low[i] - x[i]) / direction[i])
    compare(cuts, limits, count, x, excess)
    for r in range(count):
        slopes[r] = 0.0
    for j in range(m):
        for r in range(count):
            slopes[r] += cuts[j, r] * direction[j]
    for r in range(count):
        if slopes[r] > 1e-300:
            ahead = min(ahead, -excess[r] / slopes[r])
        elif slopes[r] < -1e-300:
            back = max(back, -excess[r] / slopes[r])
    move = back + (ahead - back) * uniform(stream)
    if ahead > back and math.isfinite(move):
        for i in range(m):
            x[i] += move * direction[i]
