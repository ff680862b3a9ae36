"""The state of the metric learners, as arrays that kernels share; and which entries of A'A they learn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.arguments import is_whole
from evenhand.errors import ArgumentError, expected
from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.kernels.compose import flat, names, packer
from evenhand.kernels.halfspaces import Simplex, simplex
from evenhand.rng import stream
from evenhand.saving.saved import fill

Structure = Literal["symmetric", "full", "diagonal", "absolute"] | Sequence[Sequence[int]]
TEACHING, CONTRADICTING = 0, 1
"""Where `MetricState.tally` counts the verdicts that taught, and those that contradicted every metric."""
VERTICES = 64
"""How many vertices are kept for the next linear programs: of twice as many, few more would be near."""
COPIED = ["centre", "factor", "radius", "cuts", "limits", "counts", "doublings", "thin", "vertices", "bases", "kept"]
"""The fields of a `MetricState` with an axis of copies."""
UNSAVED = ("simplex.basis", "simplex.order", "simplex.exact")
"""Scratch that is always written before it is read."""


def coordinates(dimension: int, structure: Structure) -> tuple[Ints, Ints, Floats]:
    """Return (rows, columns, scales) of the coordinates of G under a structure.

    "symmetric" has d(d+1)/2, off-diagonal ones scaled by sqrt 2 so that norms agree; "full" has d^2 as in the paper;
    "diagonal" has d; a list of blocks, each a list of features, is symmetric within blocks and zero between them.
    "absolute" has d as well: weights of |x_i - y_i|, whose sum is the distance itself.

    >>> [len(coordinates(4, s)[0]) for s in ("symmetric", "full", "diagonal", [[0, 1], [2, 3]])]
    [10, 16, 4, 6]

    Raises
    ------
    ArgumentError
        If the structure is none of these, or blocks do not name every feature once.
    """
    blocks = _blocks(dimension, read_structure(structure))
    if structure == "full":
        pairs = [(i, j) for i in blocks[0] for j in blocks[0]]
    else:
        pairs = [(i, j) for block in blocks for i in block for j in block if i <= j]
    rows, columns = np.array(pairs, dtype=np.int64).T.copy()
    return rows, columns, np.where((rows == columns) | (structure == "full"), 1.0, math.sqrt(2.0))


def count(dimension: int, structure: Structure) -> int:
    """Return the number of coordinates m.

    >>> count(4, "symmetric"), count(4, [[0, 1], [2, 3]])
    (10, 6)
    """
    if structure == "full":
        return dimension**2
    return sum(len(block) * (len(block) + 1) // 2 for block in _blocks(dimension, structure))


def read_structure(structure: Any) -> Structure:
    """Return a structure, blocks as lists of ints.

    Raises
    ------
    ArgumentError
        If it is no known word, and no blocks that name the features 0, 1, ... once each.
    """
    if isinstance(structure, str) and structure in ("symmetric", "full", "diagonal", "absolute"):
        return structure  # type: ignore[return-value]
    try:
        blocks = [list(block) for block in structure]
    except TypeError:
        blocks = []
    features = [feature for block in blocks for feature in block]
    if not features or not all(map(is_whole, features)) or sorted(features) != list(range(len(features))):
        named = "blocks that name each feature 0, 1, ... once, such as [[0, 1], [2]]"
        raise ArgumentError(expected("structure", f'"symmetric", "full", "diagonal", "absolute" or {named}', structure))
    return [[int(feature) for feature in block] for block in blocks]


def _blocks(dimension: int, structure: Structure) -> list[Sequence[int]]:
    """Return the features of each block within which entries are learned."""
    if isinstance(structure, str):
        features = range(dimension)
        return [[feature] for feature in features] if structure in ("diagonal", "absolute") else [features]
    if sum(map(len, structure)) != dimension:
        raise ArgumentError(expected("structure", f"blocks that name each of {dimension} features once", structure))
    return list(structure)


class MetricState(NamedTuple):
    """State of `copies` learners of a metric with m coordinates; capacity half-spaces each."""

    centre: Floats
    """(copies, m)"""
    factor: Floats
    """(copies, m, m)"""
    radius: Floats
    """(copies,): at least the Frobenius norm of G."""
    cuts: Floats
    """(copies, m, capacity): unit normals of the half-spaces <cuts, G> <= limits, a column each."""
    limits: Floats
    """(copies, capacity)"""
    counts: Ints
    """(copies,): how many half-spaces are logged."""
    doublings: Ints
    """(copies,): how often the radius was doubled."""
    thin: Ints
    """(copies,): how many of the factor's columns, the last ones, are directions split off as thin."""
    rows: Ints
    columns: Ints
    scales: Floats
    """(m,): coordinate n of G is scales[n] G[rows[n], columns[n]]."""
    error_rate: float
    """The rate of wrong verdicts that the belief assumes."""
    tolerance: float
    """How far d^2 may be from any Mahalanobis distance."""
    most_doublings: int
    """How often the radius may double."""
    logs: bool
    """Whether half-spaces are logged."""
    prior_radius: float
    """How far the ellipsoid reaches in standard units."""
    spread: float
    """The prior's factor relative to its radius."""
    programs: bool
    """Whether linear programs certify."""
    linear: bool
    """Whether the distance is linear in the coordinates, rather than its square."""
    thin_width: float
    """The width below which a direction counts as thin."""
    vertices: Floats
    """(copies, VERTICES, m): where linear programs ended, the points that the next ones begin at."""
    bases: Ints
    """(copies, VERTICES, m): the constraints that hold there, as in `Simplex`."""
    kept: Ints
    """(copies, 2): how many are kept, and the place of the next."""
    tally: Ints
    """(2,): see `TEACHING`."""
    stream: Words
    u: Floats
    """(m,): the direction that was set last, of unit length, and its original length in `length`."""
    length: Floats
    image: Floats
    """(m,): scratch, L'u."""
    low: Floats
    high: Floats
    """(m,): scratch, the box around all G of the radius."""
    point: Floats
    step: Floats
    moments: Floats
    """(m,), (m,), (m + 1, m): scratch of random walks."""
    excess: Floats
    slopes: Floats
    """(capacity,): scratch."""
    simplex: Simplex


def directions(state: MetricState, away: Floats) -> Floats:
    """Return the coordinates (..., m) of zz', or |z|, for differences z (..., d) of two individuals."""
    if state.linear:
        return np.abs(away)
    found: Floats = state.scales * away[..., state.rows] * away[..., state.columns]
    return found


def matrix(state: MetricState, coordinates: Floats) -> Floats:
    """Return the symmetric G (d, d) of coordinates (m,)."""
    d = 1 + int(state.rows.max())
    half = np.zeros((d, d))
    half[state.rows, state.columns] = 0.5 * state.scales * coordinates
    return half + half.T


def level(state: MetricState, gap: Any) -> Any:
    """Return the value that a distance is compared in: its square, or itself where that is linear."""
    return gap if state.linear else gap * gap


def root(state: MetricState, value: float) -> float:
    """Return the distance of a value that it is compared in, 0 for what rounding made negative."""
    return max(value, 0.0) if state.linear else math.sqrt(max(value, 0.0))


DEFAULTS: dict[str, Any] = {
    "error_rate": 0.0,
    "tolerance": 0.0,
    "most_doublings": 0,
    "logs": False,
    "prior_radius": 1.0,
    "spread": 1.0,
    "programs": False,
    "linear": False,
    "thin_width": 0.0,
}
"""The options of a learner that keeps an ellipsoid of its radius, and no log."""


def empty_state(
    coordinates: tuple[Ints, Ints, Floats], copies: int, radius: float, random: Words, **options: Any
) -> MetricState:
    """Return the state of learners that were told nothing, before their prior.

    Parameters
    ----------
    coordinates : (rows, columns, scales).
    options : the fields that differ from `DEFAULTS`.
    """
    rows, columns, scales = coordinates
    options = DEFAULTS | options
    m, n, places = rows.size, copies, VERTICES if options["programs"] else 0
    capacity = 32 * m
    lengths = {"u": m, "length": 1, "image": m, "low": m, "high": m, "point": m, "step": m}
    scratch: dict[str, Any] = {name: np.zeros(size) for name, size in lengths.items()}
    return MetricState(
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
        vertices=np.zeros((n, places, m)),
        bases=np.zeros((n, places, m), np.int64),
        kept=np.zeros((n, 2), np.int64),
        tally=np.zeros(2, np.int64),
        stream=random,
        moments=np.zeros((m + 1, m)),
        excess=np.zeros(capacity),
        slopes=np.zeros(capacity),
        simplex=simplex(m),
        **scratch,
        **options,
    )


def grown(state: MetricState, capacity: int) -> MetricState:
    """Return the state with room for so many half-spaces in each copy's log, at least as many as before."""
    more = capacity - state.limits.shape[1]
    return state._replace(
        cuts=np.pad(state.cuts, [(0, 0), (0, 0), (0, more)]),
        limits=np.pad(state.limits, [(0, 0), (0, more)]),
        excess=np.zeros(capacity),
        slopes=np.zeros(capacity),
    )


pack_metric = packer(empty_state((np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1)), 1, 1.0, stream(0)))
"""The kernel that builds a `MetricState` from its flat fields."""

# ------------------------------------------------------------------ files


def saved_arrays(state: MetricState) -> dict[str, NDArray[Any]]:
    """Return what a file keeps of a state, by name, in the order of the file: the numbers follow from the arguments."""
    every = zip(names(state), flat(state), strict=True)
    return {name: value for name, value in every if type(value) is np.ndarray and name not in UNSAVED}


def restored_state(fresh: MetricState, saved: list[NDArray[Any]]) -> MetricState:
    """Return the state of which a file kept these arrays; `fresh` has the same configuration and no verdicts."""
    limits = saved[list(saved_arrays(fresh)).index("limits")]
    fresh = grown(fresh, max(limits.shape[1], fresh.limits.shape[1]))
    for (name, own), kept in zip(saved_arrays(fresh).items(), saved, strict=True):
        fill(own, kept, f"metric.{name}")
    return fresh
