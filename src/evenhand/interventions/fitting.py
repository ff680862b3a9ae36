"""Tables from data: how often each state was seen in each row of a table, and the posterior under a Dirichlet prior.

A row of a table, the law of a node given states of its parents, has a Dirichlet prior that counts as much as
`smoothing` observations. For a node with at most one parent its mean is even (W. Perks, 1947). With more parents many
rows hold few observations, and an even mean would pull them all towards each other; there part of the mean is the
prediction of a logistic regression on the main effects of the parents, fitted to the same data. That alone would be far
too sure of a rare state in a row where it was not seen, so part remains even: in all rows together as much as in the
table of the two parents with the fewest states, and at most 2 sqrt(rows). The even mean of a measured node, whose
states are its extremes, is that of all its numbers.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any

import numpy as np
from scipy.special import softmax

from evenhand.arguments import real
from evenhand.data.tables import check_empty, column, levels_of, numbers, order_is_known, places_in
from evenhand.errors import ArgumentError, TableError, expected, expected_one_of
from evenhand.frames import as_pandas
from evenhand.interventions.edges import parents_of, read_edges, read_latent
from evenhand.kernels.arrays import Floats

COUNT = "count"
MOST_STATES = 100
MOST_MEASURED = 12
_MEASURED = re.compile(
    r"[+-]?(\d*[.,](?!0+$)\d+|\d+(?=[eE]))([eE][+-]?\d+)?|\d{1,4}([-./])\d{1,2}\3\d{1,4}([ T]\d.*)?|\d{1,2}:\d{2}.*"
)
"""How fractions, dates and times are written; whole numbers, such as ages in years, are none, nor is 7.0."""
MOST_ENTRIES = 10**7
SHARED = 10.0
GROUP_THEM = "group them first, --cut COLUMN=25,45 in the shell, pandas.cut in Python"


def posterior_means(counts: Mapping[str, Floats], smoothing: float, measured: Container[str] = ()) -> dict[str, Floats]:
    """Return the tables of these counts under a prior of this weight."""
    weights = {node: seen + smoothing * prior_means(seen, node in measured) for node, seen in counts.items()}
    return {node: weight / weight.sum(-1, keepdims=True) for node, weight in weights.items()}


def prior_means(counts: Floats, measured: bool = False) -> Floats:
    """Return the mean of the prior of each row: even for at most one parent, else partly by a logistic regression.

    >>> prior_means(np.array([[9.0, 1.0], [1.0, 9.0]])).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    >>> prior_means(np.array([[9.0, 1.0], [3.0, 7.0]]), measured=True).tolist()
    [[0.6, 0.4], [0.6, 0.4]]
    >>> prior_means(np.array([[[[9.0, 1.0], [5.0, 5.0]], [[5.0, 5.0], [0.0, 0.0]]]] * 2))[0, ..., 1].round(2)
    array([[0.36, 0.47],
           [0.47, 0.6 ]])
    """
    *above, states = counts.shape
    rows = counts.reshape(-1, states)
    even = rows.sum(0) / rows.sum() if measured and rows.any() else np.full(states, 1.0 / states)
    fewest = np.prod(sorted(size for size in above if size > 1)[:2])
    share = min(fewest, 2.0 * len(rows) ** 0.5) / len(rows) if len(above) > 1 else 1.0
    predicted = _predicted(counts) if share < 1.0 and states > 1 else even
    return np.asarray(np.broadcast_to(share * even + (1.0 - share) * predicted, counts.shape))


def _predicted(counts: Floats) -> Floats:
    """Return what a logistic regression on the main effects of the parents says of each row."""
    *above, states = counts.shape
    from sklearn.linear_model import LogisticRegression

    seen = np.argwhere(counts.sum(-1) > 0) if counts.any() else np.argwhere(np.ones(above))
    columns = [np.eye(size)[:, int(size == 2) :] for size in above]
    design = np.hstack([code[at] for code, at in zip(columns, seen.T, strict=True)])
    # One observation, spread evenly, keeps every state possible, also one that was never seen.
    times = counts[tuple(seen.T)] + 1.0 / (len(seen) * states)
    model = LogisticRegression(max_iter=10_000, tol=1e-6)
    model.fit(np.repeat(design, states, axis=0), np.tile(np.arange(states), len(seen)), times.reshape(-1))
    score, first = np.broadcast_to(model.intercept_, (*above, len(model.intercept_))), 0
    for axis, code in enumerate(columns):
        effect = code @ model.coef_[:, first : first + code.shape[1]].T
        score = score + effect.reshape([len(effect) if at == axis else 1 for at in range(len(above))] + [-1])
        first += code.shape[1]
    return np.asarray(softmax(np.concatenate([0.0 * score, score], -1) if states == 2 else score, -1))


def fitted(frame: Any, edges: Any, smoothing: Any, latent: Any, measured: str | None) -> dict[str, Any]:
    """Return the arguments of a `CausalModel`: states counted by those of the parents, tables by their posterior mean.

    A measured node has its lowest and its highest number as states, and a number between them counts for both in part,
    so that each row of its table has the mean of its numbers. Its `precision` says how much less than such two states
    the numbers of each row vary.

    Raises
    ------
    ArgumentError
        If edges, latent or smoothing are not as wanted.
    TableError
        If a column is missing, has an empty cell or too many different values, or `count` holds no numbers >= 0.
    """
    frame = as_pandas(frame)
    smoothing = real("smoothing", smoothing, above=0)
    arrows, arcs = read_edges(edges)
    arcs += read_latent(latent)
    parents = parents_of(arrows, arcs)
    columns = {node: column(frame, node) for node in parents}
    leaves = [node for node in parents if not any(node in above for above in parents.values())]
    if measured is not None and not (isinstance(measured, str) and measured in leaves):
        raise ArgumentError(expected_one_of("measured", leaves, measured, what="a node without arrows from it, one of"))
    states: dict[str, list[Any]] = {}
    codes: dict[str, Any] = {}
    for node in parents:
        if node == measured:
            states[node], codes[node] = _between(frame, node)
        else:
            states[node] = _states(node, columns[node], frame)
            codes[node] = places_in(columns[node], states[node])
    weighted = COUNT in frame.columns and COUNT not in parents
    times = numbers(frame, COUNT, low=0.0) if weighted else np.ones(len(frame))
    if not times.any():
        raise TableError(expected(f"column {COUNT!r}", "a row that was seen", 0))
    counts = {node: _counted(node, above, states, codes, times) for node, above in parents.items()}
    precision = {
        node: _precision(counts[node], codes, parents[node], codes[node], times) for node in leaves if node == measured
    }
    tables = posterior_means(counts, smoothing, precision)
    unordered = [node for node in parents if node != measured and not order_is_known(states[node], frame[node])]
    graph = {"states": states, "parents": parents, "latent": arcs, "unordered": unordered}
    distinct, at = np.unique(np.stack([*codes.values()], axis=1), axis=0, return_inverse=True)
    rows = np.column_stack([distinct, np.bincount(at.reshape(-1), times)])
    return graph | {"tables": tables, "counts": counts, "smoothing": smoothing, "rows": rows, "precision": precision}


def is_measured(values: Any) -> bool:
    """Return whether these are numbers, and more different ones than a node may have states."""
    different = np.unique(np.asarray(values, np.float64))
    most = MOST_MEASURED if (different % 1.0).any() else MOST_STATES
    return len(different) > most and bool(np.isfinite(different).all())


def _between(frame: Any, node: str) -> tuple[list[Any], Floats]:
    """Return the lowest and the highest number of a column, and where each number (n,) lies between them."""
    values = numbers(frame, node)
    low, high = float(values.min()), float(values.max())
    if low == high:
        raise TableError(expected(f"column {node!r}", "numbers that differ", low))
    return [repr(low), repr(high)], (values - low) / (high - low)


def _precision(counts: Floats, codes: Mapping[str, Any], above: list[str], place: Floats, times: Floats) -> Floats:
    """Return for each row the variance of two states with its mean over that of its numbers. In a row with few numbers
    the variance is drawn, with the weight of `SHARED` numbers, towards that of all rows in proportion to p (1 - p), and
    that, with the weight of one, towards the largest possible: few rows, or equal numbers, do not show that none vary.
    """
    total = counts.sum(-1)
    means = np.divide(counts[..., 1], total, where=total > 0, out=np.zeros_like(total))
    row = tuple(codes[name] for name in above)
    squares = np.zeros_like(total)
    np.add.at(squares, row, times * (place - means[row]) ** 2)
    free, binary = np.maximum(total - 1.0, 0.0), means * (1.0 - means)
    mean = counts[..., 1].sum() / total.sum()
    usual = ((free * binary).sum() + mean * (1.0 - mean)) / (squares.sum() + mean * (1.0 - mean))
    spread = (squares + SHARED * binary / usual) / (free + SHARED)
    return np.asarray(np.divide(binary, spread, where=spread > 0, out=np.full_like(total, usual)))


def _states(node: str, values: Any, frame: Any) -> list[Any]:
    check_empty(node, values == "" if values.dtype == object else [])
    found = levels_of(values, frame[node])
    measured = [state for state in found if isinstance(state, str) and _MEASURED.fullmatch(state)]
    fractions = f"states: at most {MOST_MEASURED} different fractions or dates such as {next(iter(measured), '')!r}"
    different = f"at most {MOST_STATES} different values"
    hint = f"each takes a row of the table: {GROUP_THEM}; the numbers of an outcome may stay if no arrow leaves it"
    for some, most, what in ((measured, MOST_MEASURED, fractions), (found, MOST_STATES, different)):
        if len(some) > most:
            raise TableError(expected(f"column {node!r}", what, len(some), hint))
    return found


def _counted(
    node: str, above: list[str], states: Mapping[str, list[Any]], codes: Mapping[str, Any], times: Floats
) -> Floats:
    axes = [*above, node]
    shape = tuple(len(states[name]) for name in axes)
    if np.prod([float(size) for size in shape]) > MOST_ENTRIES:
        what = f"a table of at most {MOST_ENTRIES:,} entries"
        raise TableError(expected(f"the parents of {node!r}", what, shape, "leave out arrows, or group their values"))
    found, lower = np.zeros(shape), np.floor(codes[node]).astype(np.int64)
    part = codes[node] - lower
    for place, share in ((lower, 1.0 - part), (np.minimum(lower + 1, shape[-1] - 1), part)):
        flat = np.ravel_multi_index([*(codes[name] for name in above), place], shape)
        found += np.bincount(flat, times * share, found.size).reshape(shape)
    return found
