"""The state of the metric learners, as arrays that kernels share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.kernels.halfspaces import Simplex, simplex

__all__ = [
    "CUT_ERROR", "GROWTH", "LOGS", "PROGRAMS", "REACH", "SPREAD", "THIN", "TOLERANCE", "Belief", "belief",
]  # fmt: skip

CUT_ERROR, TOLERANCE, GROWTH, LOGS, REACH, SPREAD, PROGRAMS, THIN = range(8)
"""Where `Belief.options` holds: the rate of wrong verdicts; how far d^2 may be from any Mahalanobis distance; how
often the radius may
double; 1 where half-spaces are logged; the reach; the prior's factor relative to its radius; 1 where linear programs
certify; the width below which a direction counts as thin."""


class Belief(NamedTuple):
    """State of `copies` learners of a metric with m coordinates; capacity half-spaces each."""

    centre: NDArray[np.float64]
    """(copies, m)"""
    factor: NDArray[np.float64]
    """(copies, m, m)"""
    radius: NDArray[np.float64]
    """(copies,): at least the Frobenius norm of G."""
    cuts: NDArray[np.float64]
    """(copies, m, capacity): unit normals of the half-spaces <cuts, G> <= limits, a column each."""
    limits: NDArray[np.float64]
    """(copies, capacity)"""
    counts: NDArray[np.int64]
    """(copies,): how many half-spaces are logged."""
    doublings: NDArray[np.int64]
    """(copies,): how often the radius was doubled."""
    thin: NDArray[np.int64]
    """(copies,): how many of the factor's columns, the last ones, are directions split off as thin."""
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    scales: NDArray[np.float64]
    """(m,): coordinate n of G is scales[n] G[rows[n], columns[n]]."""
    options: NDArray[np.float64]
    tally: NDArray[np.int64]
    """(2,): verdicts that taught, verdicts that contradicted all metrics."""
    stream: NDArray[np.uint64]
    u: NDArray[np.float64]
    """(m,): the direction that was set last, of unit length, and its original length in `length`."""
    length: NDArray[np.float64]
    image: NDArray[np.float64]
    """(m,): scratch, L'u."""
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    """(m,): scratch, the box around all G of the radius."""
    point: NDArray[np.float64]
    step: NDArray[np.float64]
    moments: NDArray[np.float64]
    """(m,), (m,), (m + 1, m): scratch of random walks."""
    excess: NDArray[np.float64]
    slopes: NDArray[np.float64]
    """(capacity,): scratch."""
    simplex: Simplex


def belief(
    coordinates: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]],
    copies: int,
    radius: float,
    options: list[float],
    stream: NDArray[np.uint64],
) -> Belief:
    """Return the state of learners that were told nothing, before their prior; `coordinates` are (rows, columns,
    scales)."""
    rows, columns, scales = coordinates
    m, n = rows.size, copies
    capacity = 32 * m
    return Belief(
        centre=np.zeros((n, m)),
        factor=np.zeros((n, m, m)),
        radius=np.full(n, radius),
        cuts=np.zeros((n, m, capacity)),
        limits=np.zeros((n, capacity)),
        counts=np.zeros(n, np.int64),
        doublings=np.zeros(n, np.int64),
        thin=np.zeros(n, np.int64),
        rows=rows,
        columns=columns,
        scales=scales,
        options=np.array(options),
        tally=np.zeros(2, np.int64),
        stream=stream,
        u=np.zeros(m),
        length=np.zeros(1),
        image=np.zeros(m),
        low=np.zeros(m),
        high=np.zeros(m),
        point=np.zeros(m),
        step=np.zeros(m),
        moments=np.zeros((m + 1, m)),
        excess=np.zeros(capacity),
        slopes=np.zeros(capacity),
        simplex=simplex(m),
    )
