"""Cells: what has to be observed of a trial, and how candidates and sensitive values change its probability.

A cell is a state of V, its parents, C, its parents and Y, the sensitive attributes left out; C are the children of
the sensitive attributes through which they reach Y. Under candidate k and do(S = s) its probability is

    density[k, s, cell] * base[cell],   density = P_k(V | pa(V)) * product over X in C of P(X | pa(X)),

with S = s among the parents; only the density changes from candidate to candidate. Cells with the same density for
every k and s carry the same weights, so they are merged into *profiles*: the number of trials, and the sums of Y and
Y^2 in each profile are all that a search needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Cells", "Evidence"]

Floats = NDArray[np.float64]


class Evidence(NamedTuple):
    """What was observed, by kind of trial (0: S as it came, 1: do(S)), candidate, value of S, and profile.

    Attributes
    ----------
    trials : (2, K, S) how many.
    first, second : (2, K, S, profiles) sums of the outcome, scaled to [0, 1], and of its square.
    seen : (profiles, Y states) how often each was seen, over all trials.
    """

    trials: Floats
    first: Floats
    second: Floats
    seen: Floats

    def __add__(self, other: object) -> Evidence:
        assert isinstance(other, Evidence)
        return Evidence(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


@dataclass(frozen=True)
class Cells:
    """The cells of a problem.

    Attributes
    ----------
    nodes, shape : the observed nodes besides S, and how many states each has; a cell's number is its flat index.
    density : (K, S, profiles) the part of a cell's probability that candidates and sensitive values change.
    base : (profiles, Y states) the other part, summed over the cells of a profile.
    profile : (cells,) the profile of a cell, -1 where the cell is impossible.
    cell_base : (cells,) the other part, cell by cell.
    level : (cells,) the state of Y in a cell.
    scores : (Y states,) the outcome's numbers, scaled to [0, 1].
    prior : (S,) the law of S.
    """

    nodes: tuple[str, ...]
    shape: tuple[int, ...]
    density: Floats
    base: Floats
    profile: NDArray[np.int64]
    cell_base: Floats
    level: NDArray[np.int64]
    scores: Floats
    prior: Floats

    @property
    def law(self) -> Floats:
        """(K, S, profiles): the probability of a profile under candidate k and do(S = s)."""
        return self.density * self.base.sum(1)

    @property
    def means(self) -> Floats:
        """(K, S): the expected outcome, scaled, under candidate k and do(S = s)."""
        return self.density @ (self.base @ self.scores)

    def evidence(self, counts: Floats) -> Evidence:
        """Return the sufficient statistics of `counts` (2, K, S, profiles, Y states)."""
        first = counts @ self.scores
        binary = bool(((self.scores == 0.0) | (self.scores == 1.0)).all())
        second = first if binary else counts @ self.scores**2
        return Evidence(counts.sum((3, 4)), first, second, counts.sum((0, 1, 2)))

    def nothing(self) -> Evidence:
        """Return the statistics of no trial at all."""
        k, s, profiles = self.density.shape
        sums = np.zeros((2, k, s, profiles))
        return Evidence(np.zeros((2, k, s)), sums, sums.copy(), np.zeros(self.base.shape))


def merged(
    nodes: tuple[str, ...],
    shape: tuple[int, ...],
    density: Floats,
    cell_base: Floats,
    possible: NDArray[np.bool_],
    level: NDArray[np.int64],
    scores: Floats,
    prior: Floats,
) -> Cells:
    """Return the cells with those of equal density merged; `density` is (K, S, cells)."""
    k, s, _ = density.shape
    columns = np.ascontiguousarray(density[:, :, possible].reshape(k * s, -1))
    rows, numbers = np.unique(columns, axis=1, return_inverse=True)
    profile = np.full(possible.size, -1)
    profile[possible] = numbers.reshape(-1)
    base = np.zeros((rows.shape[1], scores.size))
    np.add.at(base, (profile[possible], level[possible]), cell_base[possible])
    return Cells(nodes, shape, rows.reshape(k, s, -1), base, profile, cell_base, level, scores, prior)
