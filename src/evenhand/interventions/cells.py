"""Cells: what has to be observed in a trial, and how candidates and sensitive values change its probability.

A cell is a state of V, its parents, C, its parents and Y, the sensitive attributes left out; C are the children of
the sensitive attributes through which they reach Y. Under candidate k and do(S = s) its probability is

    density[k, s, cell] * base[cell],   density = P_k(V | pa(V)) * product over X in C of P(X | pa(X)),

with S = s among the parents; only the density changes from candidate to candidate. Cells with the same density for
every k and s carry the same weights, so they are merged into *profiles*: the number of trials, and the sums of Y and
Y^2 in each profile are all that the paper's rules need. Tests need how often each *place*, a state of pa(V) and V, was
seen with each state of Y: there only the candidates' own tables enter.

`CellCounts` keeps this for tests: how often each place was seen so far, and guesses based on these counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Bools, Floats, Ints


class Evidence(NamedTuple):
    """What was observed, by kind of trial (0: S as it came, 1: do(S)), candidate, value of S, and profile.

    Attributes
    ----------
    trials : (2, K, S) how many.
    first, second : (2, K, S, profiles) sums of the outcome, scaled to [0, 1], and of its square.
    rows : (2, K, S, places, Y states) how often each was seen.
    """

    trials: Floats
    first: Floats
    second: Floats
    rows: Floats

    def __add__(self, other: object) -> Evidence:
        assert isinstance(other, Evidence)
        return Evidence(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


@dataclass(frozen=True)
class Cells:
    """The cells of a problem.

    Attributes
    ----------
    shape : how many states each of the observed nodes besides S has; a cell's number is its flat index.
    density : (K, S, profiles) the part of a cell's probability that candidates and sensitive values change.
    base : (profiles, Y states) the other part, summed over the cells of a profile.
    profile : (cells,) the profile of a cell, -1 where the cell is impossible.
    cell_base : (cells,) the other part, cell by cell.
    level : (cells,) the state of Y in a cell.
    scores : (Y states,) the outcome's numbers, scaled to [0, 1].
    prior : (S,) the law of S.
    rules : (K, S, X, V) the candidates' own tables, P_k(v | x, s), x a state of pa(V) without S.
    place : (cells,) the place of a cell, x times the states of V plus v.
    """

    shape: tuple[int, ...]
    density: Floats
    base: Floats
    profile: Ints
    cell_base: Floats
    level: Ints
    scores: Floats
    prior: Floats
    rules: Floats
    place: Ints

    @classmethod
    def merged(
        cls, density: Floats, possible: Bools, cell_base: Floats, level: Ints, scores: Floats, **same: Any
    ) -> Cells:
        """Return the cells with those of equal density merged; `density` is (K, S, cells), `same` all other fields."""
        k, s, _ = density.shape
        columns = np.ascontiguousarray(density[:, :, possible].reshape(k * s, -1))
        rows, numbers = np.unique(columns, axis=1, return_inverse=True)
        profile = np.full(possible.size, -1)
        profile[possible] = numbers.reshape(-1)
        base = np.zeros((rows.shape[1], scores.size))
        np.add.at(base, (profile[possible], level[possible]), cell_base[possible])
        own: dict[str, Any] = {"cell_base": cell_base, "level": level, "scores": scores}
        return cls(density=rows.reshape(k, s, -1), base=base, profile=profile, **own, **same)

    @property
    def law(self) -> Floats:
        """(K, S, profiles): the probability of a profile under candidate k and do(S = s)."""
        return self.density * self.base.sum(1)

    @property
    def means(self) -> Floats:
        """(K, S): the expected outcome, scaled, under candidate k and do(S = s)."""
        return self.density @ (self.base @ self.scores)

    def evidence(self, counts: Floats) -> Evidence:
        """Return the sufficient statistics of `counts` (2, K, S, grains, Y states)."""
        profile, place, _ = self.grains
        rows = self.nothing().rows
        order = np.argsort(place, kind="stable")
        named, starts = np.unique(place[order], return_index=True)
        rows[:, :, :, named] = np.add.reduceat(counts[:, :, :, order], starts, axis=3)
        counts = np.add.reduceat(counts, np.unique(profile, return_index=True)[1], axis=3)
        first = counts @ self.scores
        binary = bool(((self.scores == 0.0) | (self.scores == 1.0)).all())
        second = first if binary else counts @ self.scores**2
        return Evidence(counts.sum((3, 4)), first, second, rows)

    @cached_property
    def grains(self) -> tuple[Ints, Ints, Ints]:
        """The parts of profiles that lie in one place: profile and place (grains,), and the grain of each possible
        cell."""
        possible, places = self.profile >= 0, int(np.prod(self.rules.shape[2:]))
        named, numbers = np.unique(self.profile[possible] * places + self.place[possible], return_inverse=True)
        return named // places, named % places, numbers.reshape(-1)

    def law_of(self, truth: Cells) -> Floats:
        """Return the law (K, S, grains, Y states) of these cells under the tables of another model of the same
        nodes."""
        profile, _, grain = self.grains
        possible, cell_law = self.profile >= 0, truth.density[:, :, truth.profile] * truth.cell_base
        law = np.zeros((*self.density.shape[:2], profile.size, self.scores.size))
        flat = law.reshape(-1, profile.size * self.scores.size)
        at = grain * self.scores.size + self.level[possible]
        for row, cells in zip(flat, cell_law[:, :, possible].reshape(len(flat), -1), strict=True):
            row += np.bincount(at, cells, row.size)
        return law

    def nothing(self) -> Evidence:
        """Return the statistics of no trial at all."""
        k, s, profiles = self.density.shape
        sums = np.zeros((2, k, s, profiles))
        rows = np.zeros((2, k, s, int(np.prod(self.rules.shape[2:])), self.scores.size))
        return Evidence(np.zeros((2, k, s)), sums, sums.copy(), rows)


class CellCounts:
    """How often each state (x, v) of pa(V) and V was seen with each state of Y, by kind, candidate and value of S.

    Attributes
    ----------
    rules : (K, S, X, V) the candidates' tables P_k(v | x, s).
    unknown : (K,) which candidates run by a law that is itself an estimate, the table of a fitted model.
    scores : (Y states,) the outcome's numbers, scaled to [0, 1].
    rows : (2, K, S, X, V, Y states) counts; natural rows first, then those under do(S).
    """

    def __init__(self, cells: Cells, unknown: tuple[bool, ...]) -> None:
        self.rules, self.unknown, self.scores = cells.rules, np.array(unknown), cells.scores
        self.rows = np.zeros((2, *self.rules.shape, self.scores.size))

    def dense(self, at: Ints, times: Floats) -> Floats:
        """Return counts in the shape of `rows` from their positions."""
        return np.bincount(at, times, self.rows.size).astype(np.float64).reshape(self.rows.shape)

    def guesses(self) -> Floats:
        """Return guesses of E[Y | x, v] (X, V), 1/2 where nothing was seen."""
        return _smoothed(self.rows.sum((0, 1, 2)), self.scores)

    def centres(self, guesses: Floats) -> tuple[Floats, Floats]:
        """Return guesses of the candidates' outcomes by value of S (K, S), and of natural rows (K,); those of unknown
        law from their own rows, the others from how often each x was seen."""
        drawn = (self.rules * guesses).sum(-1)
        of_x = self.rows.sum((0, 1, 4, 5))
        natural = self.rows[0].sum((0, 3, 4))
        own = self.rows[:, self.unknown].sum((0, 3, 4))
        by_group, overall = _weighed(drawn, of_x, (2,)), _weighed(drawn, natural, (1, 2))
        by_group[self.unknown] = _smoothed(own, self.scores)
        overall[self.unknown] = _smoothed(self.rows[0, self.unknown].sum((1, 2, 3)), self.scores)
        return by_group, overall


def _weighed(values: Floats, weights: Floats, axes: tuple[int, ...]) -> Floats:
    """Return means over axes, evenly weighed where no weight is there."""
    weights = np.broadcast_to(weights, values.shape)
    weights = np.where(weights.sum(axes, keepdims=True) > 0, weights, 1.0)
    return np.asarray((values * weights).sum(axes) / weights.sum(axes))


def _smoothed(seen: Floats, scores: Floats) -> Floats:
    return np.asarray((seen @ scores + 1.0) / (seen.sum(-1) + 2.0))
