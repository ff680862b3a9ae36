"""What the means E[Y_v | x, z] may be under a cause of V and Y that nobody recorded: latent laws as linear programs.

Given x, the parents of V, the cause u has one law, whatever z, Y's other parents. pi(u) = P(v | x, u) is one of the
laws whose odds are within the strength L of those of e = P(v | x): e/(e + L (1 - e)) <= pi_v <= L e/(L e + 1 - e). To
split pi(u) into the vertices pi_j of these laws keeps every moment, and given pi(u) the Y_v are free. So the means are
exactly those of weights w_j and masses g_jzvl >= 0 with

    sum_j w_j pi_jv = e_v,    sum_l g_jzvl = w_j,    sum_j pi_jv g_jzvl = e_v P(Y = l | x, z, v),
    E[Y_v | x, z] = sum_jl l g_jzvl.

With two values of V the weights are fixed, and every mean may be anywhere in e m + (1 - e) [q-, q+] at once, see
`confounding`; with more these intervals are wider than what there may be together. Above six values there are too many
vertices, and the intervals stand in for them.

Source: ours, after Z. Tan (2006) for the model.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from evenhand.errors import EvenhandError
from evenhand.kernels.arrays import Floats

MOST_VALUES = 6
QUICK = {"presolve": False}
"""The programs are small: to simplify them first takes longer than to solve them."""
RARE = 1e-9
"""A share of 0 stands for one that is too rare to be seen."""


class Program(NamedTuple):
    """Means (n,) as `chosen @ y` over y >= 0 with `equal @ y = right`; n is `shape`, (X, Z, V)."""

    shape: tuple[int, ...]
    chosen: Any
    equal: Any
    right: Floats

    def tied(self, weights: Floats) -> bool:
        """Return whether a sum of the means has two values of V at one x, whose ends need not go together."""
        return bool(((weights.reshape(self.shape) != 0).any(1).sum(1) > 1).any())


class Means:
    """Which means (n,) there may be: anywhere between `low` and `high`, and where there is a program, as it says."""

    def __init__(self, low: Floats, high: Floats, program: Program | None = None) -> None:
        self.low, self.high, self._program = low, high, program
        self._found: dict[bytes, float] = {}

    def least(self, weights: Floats) -> Floats:
        """Return the least values of sums (T, n) of the means, each by itself."""
        ends = np.maximum(weights, 0.0) @ self.low + np.minimum(weights, 0.0) @ self.high
        for number, row in enumerate(weights):
            if self._program is not None and self._program.tied(row):
                key = (row + 0.0).tobytes()  # a gap is its reverse's other end: -0.0 and 0.0 are one weight
                ends[number] = self._found[key] = self._found[key] if key in self._found else self.value(row)
        return np.asarray(ends)

    def value(self, weights: Floats, limits: Floats | None = None, ends: Floats | None = None) -> float:
        """Return the least value of a sum (n,) of the means where `limits` (m, n) @ means <= `ends` (m,), infinite
        where no means are so."""
        from scipy.optimize import linprog

        if self._program is None:
            found = linprog(weights, limits, ends, bounds=np.stack([self.low, self.high], axis=1), method="highs")
        else:
            _, chosen, equal, right = self._program
            above = None if limits is None else limits @ chosen
            found = linprog(weights @ chosen, above, ends, equal, right, (0, None), method="highs", options=QUICK)
        if found.status == 2:
            return np.inf
        if found.status != 0:
            raise EvenhandError(f"sensitivity: the linear program was not solved: {found.message}")
        return float(found.fun)


def latent_laws(low: Floats, high: Floats, law: Floats, shares: Floats, scores: Floats, strength: float) -> Means:
    """Return the means (X * Z * V,) that there may be, from observed laws (X, Z, V, Y states) and shares (X, V)."""
    values = shares.shape[1]
    if values == 2 or values > MOST_VALUES or strength == 1.0:
        return Means(low, high)
    from scipy.sparse import block_diag

    blocks = [_block(law[x], shares[x], scores, strength) for x in range(len(law))]
    chosen, equal = (block_diag([block[part] for block in blocks], format="csr") for part in (0, 1))
    return Means(low, high, Program(law.shape[:3], chosen, equal, np.concatenate([block[2] for block in blocks])))


def _block(law: Floats, shares: Floats, scores: Floats, strength: float) -> tuple[Floats, Floats, Floats]:
    """Return map, equations and right side of one x, over y = (w_j, g_jzvl); the last equations divided by e_v."""
    shares = np.maximum(shares, RARE)
    ratios = _vertices(shares / shares.sum(), strength)
    j, (z, v, levels) = len(ratios), law.shape
    size = j * (1 + z * v * levels)
    place = j + np.arange(size - j).reshape(j, z, v, levels)
    chosen = np.zeros((z, v, size))
    equal = np.zeros((v + j * z * v + z * v * levels, size))
    equal[:v, :j] = ratios.T
    sums, laws = equal[v : v + j * z * v].reshape(j, z, v, size), equal[v + j * z * v :].reshape(z, v, levels, size)
    for a, b in product(range(z), range(v)):
        for one in range(j):
            chosen[a, b, place[one, a, b]] = scores
            sums[one, a, b, one], sums[one, a, b, place[one, a, b]] = -1.0, 1.0
            for level in range(levels):
                laws[a, b, level, place[one, a, b, level]] = ratios[one, b]
    right = np.concatenate([np.ones(v), np.zeros(j * z * v), law.reshape(-1)])
    return chosen.reshape(z * v, size), equal, right


def _vertices(shares: Floats, strength: float) -> Floats:
    """Return the vertices (J, V) of the laws within the strength, as ratios pi_jv / e_v: all values but one at an
    end."""
    values = len(shares)
    low, high = 1.0 / (shares + strength * (1.0 - shares)), strength / (strength * shares + 1.0 - shares)
    found = []
    for free in range(values):
        others = [v for v in range(values) if v != free]
        for ends in product((0, 1), repeat=values - 1):
            ratios = np.zeros(values)
            ratios[others] = np.where(ends, high[others], low[others])
            ratios[free] = (1.0 - ratios[others] @ shares[others]) / shares[free]
            if low[free] - 1e-12 <= ratios[free] <= high[free] + 1e-12:
                found.append(np.clip(ratios, low, high))
    return np.array(found)
