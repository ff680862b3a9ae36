"""Chances of many people from those of a few: no two of all differ by more than a norm that no distance falls below.

A norm n with n(z) <= d(z) for each distance d that the answers leave possible is a largest fair difference. The program
is solved for people who stand for all. Then p(x) = min over them of p(c) + n(x - c) and p(x) = max of p(c) - n(x - c)
give everybody a chance, so that any two differ by at most n(x - y) (E. J. McShane, "Extension of range of functions",
1934), and so does the middle of both; a shift that gives out all places, and 0 and 1 as ends, change nothing of this.

For sums of absolute differences n has the least weight of each feature. Otherwise it is the largest of linear
functions, each as long as a grid of directions allows: between its points a distance falls by at most their own
distance times the longest, which is taken off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.similarity.forms import hull
from evenhand.similarity.learner import DistanceLearner

STAND_FOR, AT_ONCE = 600, 2000
"""So many people stand for all; so many are compared with them at a time."""
DIRECTIONS, FACETS = 30_000, 200
"""About the most directions of the grid, and linear functions of the norm."""
LENGTH, SHORT = 0.25, 0.01
"""Of the differences whose least and largest distances are asked for: a distance ends at 1, whatever is possible."""


class Norm(NamedTuple):
    """A norm of differences: the sum, or the largest, of the absolute entries of their products with a matrix."""

    axes: Floats
    """(d, entries)"""
    kind: Literal["cityblock", "chebyshev"]

    def between(self, some: Floats, others: Floats) -> Floats:
        """Return the norms (n, k) of the differences of people (n, d) and (k, d)."""
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(some @ self.axes, others @ self.axes, self.kind))


def largest_fair_norm(metrics: Sequence[DistanceLearner], dimension: int) -> Norm:
    """Return a norm that no distance falls below which these metrics leave possible."""

    def low(units: Floats) -> Floats:
        return hull(metrics, LENGTH * units)[0] / LENGTH

    axes = np.eye(dimension)
    if dimension == 1 or all(metric.structure == "absolute" for metric in metrics):
        return Norm(np.diag(low(axes)), "cityblock")
    longest = float(np.linalg.norm(hull(metrics, SHORT * axes)[1] / SHORT))
    units, width = directions(dimension, DIRECTIONS)
    ends = np.maximum(low(units) - 2.0 * width * longest, 0.0)
    some, _ = directions(dimension, FACETS)
    lengths = np.array([(ends / np.maximum(np.abs(units @ unit), 1e-300)).min() for unit in some])
    return Norm((some * lengths[:, None]).T, "chebyshev")


def directions(dimension: int, most: int) -> tuple[Floats, float]:
    """Return about so many unit vectors (n, d), opposite ones once, and how far any other may be from the next of them:
    the middles of squares on a cube, whose points come closer to each other on the ball inside.

    >>> units, width = directions(2, 100)
    >>> units.shape, width
    ((100, 2), 0.02)
    """
    side = max(1, int((most / dimension) ** (1.0 / (dimension - 1))))
    middles = (2.0 * np.arange(side) + 1.0) / side - 1.0
    face = np.array(np.meshgrid(*[middles] * (dimension - 1))).reshape(dimension - 1, -1).T
    cube = np.concatenate([np.insert(face, axis, 1.0, axis=1) for axis in range(dimension)])
    return cube / np.linalg.norm(cube, axis=1, keepdims=True), float(np.sqrt(dimension - 1.0) / side)


def standing_for(people: Floats) -> tuple[Ints, Ints]:
    """Return the rows of people who stand for all (k,), and who of them stands for each (n,)."""
    from scipy.cluster.vq import kmeans2
    from scipy.spatial import cKDTree

    middles, _ = kmeans2(people, STAND_FOR, minit="points", rng=np.random.default_rng(0))
    rows = np.unique(cKDTree(people).query(middles)[1])
    return rows, cKDTree(people[rows]).query(people)[1]


def extended(chances: Floats, centres: Floats, people: Floats, norm: Norm, places: int) -> Floats:
    """Return the chance of each person (n, d), from those of the people at the centres; they add up to the places."""
    blocks = range(0, len(people), AT_ONCE)
    apart = (norm.between(people[n : n + AT_ONCE], centres) for n in blocks)
    parts = [0.5 * ((chances + away).min(axis=1) + (chances - away).max(axis=1)) for away in apart]
    found, low, high = np.concatenate(parts), -2.0, 2.0
    for _ in range(100):
        shift = 0.5 * (low + high)
        low, high = (shift, high) if (found + shift).clip(0.0, 1.0).sum() < places else (low, shift)
    return np.asarray((found + high).clip(0.0, 1.0))
