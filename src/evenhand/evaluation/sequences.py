"""Bounds on a mean that hold at every round at once, by betting.

Let z_t >= -k_t have the conditional mean theta, k_t and the stake g_t in (0, 1] known before round t. Of every bet c

    K_t(theta) = mean over c of prod_i (1 + c g_i ((z_i + k_i) / (theta + k_i) - 1))

is a non-negative martingale from 1, so it ever reaches 1/d with probability at most d (Ville's inequality). It falls in
theta: the lower bound is where it equals 1/d, found by bisection. An upper bound is a lower bound of -z.

Only how often each step was seen is kept. z + k is rounded down to ten binary digits, which makes the bound a little
lower; k and g are rounded before the row is looked at, which changes the bet alone.

Source: I. Waudby-Smith, L. Wu, A. Ramdas, N. Karampatziakis, P. Mineiro, "Anytime-valid off-policy inference for
contextual bandits" (2022); S. Howard, A. Ramdas, J. McAuliffe, J. Sekhon, "Time-uniform, nonparametric, nonasymptotic
confidence sequences", Annals of Statistics 49 (2021), for `running_mean`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from evenhand.kernels.arrays import Floats, Ints

__all__ = ["BETS", "Steps", "closed_form", "lower_bound", "refutes", "running_mean"]

BETS = np.array([0.99, 0.9, 0.7, *(2.0**-j for j in range(1, 18))])
DIGITS = 42
"""Binary digits of z + k that are dropped, of 52."""
PER_OCTAVE, LEAST_OCTAVE, STAKES = 8, -60, 64
EVERY_STAKE = STAKES - 1
HALVINGS = 32


class Steps:
    """How often each step z, with its k and its stake, was seen."""

    def __init__(self) -> None:
        self._codes: Ints = np.zeros(0, np.int64)
        self._times: Ints = np.zeros(0, np.int64)

    def add(self, values: Floats, least: Floats | float = 0.0, stakes: Floats | None = None) -> None:
        """Take in values z (n,) that are at least -`least`, and their stakes in (0, 1], 1 by default."""
        octave = _octave(np.broadcast_to(np.asarray(least, np.float64), values.shape))
        above = np.maximum(values + _shift(octave), 0.0)
        stake = np.full(values.shape, EVERY_STAKE) if stakes is None else (stakes * STAKES).astype(np.int64) - 1
        codes = (above.view(np.int64) >> DIGITS) << 20 | octave << 6 | np.clip(stake, 0, EVERY_STAKE)
        found, times = np.unique(codes, return_counts=True)
        self._codes, where = np.unique(np.concatenate([self._codes, found]), return_inverse=True)
        both = np.concatenate([self._times, times])
        self._times = np.bincount(where, both, len(self._codes)).astype(np.int64)

    def log_wealth(self, theta: float) -> float:
        """Return ln K(theta), infinite where no mean can be so small."""
        shift = _shift(self._codes >> 6 & 0x3FFF)
        if self._codes.size and theta + shift.min() <= 0:
            possible = theta + shift.min() == 0 and (self._codes >> 20).max() == 0
            return 0.0 if possible else math.inf
        above = ((self._codes >> 20) << DIGITS).view(np.float64)
        stake = ((self._codes & EVERY_STAKE) + 1) / STAKES
        gain = stake * (above / (theta + shift) - 1)
        return _log_mean((self._times[:, None] * np.log1p(BETS * gain[:, None])).sum(axis=0))


def refutes(books: Sequence[Steps], theta: float, error: float) -> bool:
    """Return whether a mean of `theta` is refuted: the mean of the books' K(theta) is 1 / error or more."""
    return _log_mean(np.array([book.log_wealth(theta) for book in books])) >= -math.log(error)


def lower_bound(books: Sequence[Steps], error: float, low: float, high: float) -> float:
    """Return the bound below theta, which is known to lie in [low, high]; `error` is the chance that it is ever above.

    Several books are steps of the same mean; the wealth is divided evenly among them.

    Examples
    --------
    >>> steps = Steps()
    >>> steps.add(np.array([0.0, 1.0, 1.0, 0.0] * 100))
    >>> round(lower_bound([steps], 0.025, 0.0, 1.0), 2)
    0.41
    """
    if not refutes(books, low, error):
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if refutes(books, middle, error) else (low, middle)
    return low


def _log_mean(logs: Floats) -> float:
    """Return the logarithm of the mean of exp(logs)."""
    most = float(logs.max())
    return most if math.isinf(most) else most + math.log(np.exp(logs - most).mean())


def _octave(least: Floats) -> Ints:
    """Return the number of the least k on the grid that is not below `least`, 0 for 0."""
    with np.errstate(divide="ignore"):
        exact = np.ceil(PER_OCTAVE * (np.log2(least) - LEAST_OCTAVE) - 1e-9)
    return np.where(least > 0, np.maximum(exact, 1), 0).astype(np.int64)


def _shift(octave: Ints) -> Floats:
    return np.where(octave > 0, np.exp2(octave / PER_OCTAVE + LEAST_OCTAVE) * (1 + 1e-9), 0.0)


def closed_form(values: Floats, error: float, *, least: float = 0.0) -> Floats:
    """Return the bound below a constant mean after each value (n,), from formulas alone; `Steps` is tighter.

    Values are at least -`least`. The stakes follow the past variance (empirical Bernstein).
    """
    xi = values / (1 + least)
    n = np.arange(1, len(xi) + 1)
    cut = np.minimum(xi, 1 / (1 + least))
    past = np.concatenate([[0.0], np.cumsum(cut)[:-1]])
    centre = np.minimum(past / np.maximum(n - 1, 1), 1 / (1 + least))
    squares = (xi - centre) ** 2
    spread = np.concatenate([[0.25], (0.25 + np.cumsum(np.minimum(squares, 1.0))[:-1]) / n[1:]])
    stake = np.minimum(0.5, np.sqrt(2 * math.log(1 / error) / (spread * n * np.log1p(n))))
    lost = np.cumsum(squares * (-np.log1p(-stake) - stake))
    bound = (np.cumsum(stake * xi) - math.log(1 / error) - lost) / np.cumsum(stake)
    return np.asarray((1 + least) * bound, np.float64)


def running_mean(values: Floats, error: float) -> Floats:
    """Return the bound below the running mean of the conditional means of values in [0, 1], after each (n,).

    These means may differ from round to round and depend on the past, as the rewards of a policy that learns do. Of
    several runs, values (n_runs, n), the bound is of the mean over the runs; it then holds after each round by itself,
    of one run after all of them at once.

    Two bounds share the error: empirical Bernstein; and for rewards that are mostly 0 or 1 that of exp(l sum z) against
    its largest expectation, prod_i (1 + m_i (e^l - 1)) <= (1 + m (e^l - 1))^n, m the mean of the m_i.
    """
    runs = np.atleast_2d(values)
    n = np.arange(1, runs.shape[1] + 1)
    total = np.cumsum(runs, axis=1)
    centre = np.column_stack([np.zeros(len(runs)), total[:, :-1] / n[:-1]])
    spread = np.cumsum((runs - centre) ** 2, axis=1).mean(axis=0)
    stakes, tilts = BETS[BETS <= 0.9], 2.0 ** (2 - np.arange(20) / 2)
    paid, fee = total.mean(axis=0), math.log(2 / error)
    fees = fee + math.log(len(stakes)) + spread[:, None] * (-np.log1p(-stakes) - stakes)
    bernstein = (paid - (fees / stakes).min(axis=1)) / n
    tilted = (tilts * paid[:, None] - fee - math.log(len(tilts))) / n[:, None]
    bernoulli = (np.expm1(tilted) / np.expm1(tilts)).max(axis=1)
    return np.asarray(np.maximum(np.maximum(bernstein, bernoulli), 0.0), np.float64)
