"""What trials show if the model's tables are exact: version 1 of the tests, which saved searches keep.

Over tables that were fitted to data its answers are wrong more often than they say: new searches use `bets` or
`normal`. Searches that began with it go on as they would have.

A contrast gives each cell c a weight h(c) = sum over k, s of a_ks P_ks(c); its value is theta = sum of h(c) E[Y | c].
E_k[Y | do(S = s)], gaps and differences of outcomes are contrasts; `mass` is the sum of the a_ks: 1, 0 and 0. Trials, n
of them, n_js of candidate j with S = s, have the mixture q = sum_js n_js P_js / n, and x = h(c)/q(c) (y - 1/2) + mass/2
has the mean theta over them. Where h has mass and q none, nothing is known.

Bets. The trials of one delivery, whose numbers were fixed before their cells were seen. A gambler who stakes the share
g of what can be lost at most multiplies the stake by 1 + g (x - m) / (m - min x) at every trial. Where theta <= m the
stake is no larger in expectation than it was: candidates are drawn by quota, but prod_j (1 + l (m_j - m))^n_j <= (1 + l
(theta - m))^n. So theta > m is shown once the mean stake over several g reaches 1 / level, after any delivery, whatever
decided on the next one (Ville's inequality).

Normal. The mean of x over all trials less z standard errors, at level / looks, as if one trial more had shown the
largest weight that there can be, so that no error is zero. No theorem holds, at small numbers least of all.

Source: ours; bets after I. Waudby-Smith, A. Ramdas, "Estimating Means of Bounded Random Variables by Betting" (2024).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.interventions.cells import Cells
from evenhand.interventions.estimators import inverse
from evenhand.interventions.shown import Contrast

__all__ = ["GivenBets", "GivenDelivery", "GivenNormal"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
STAKES = np.geomspace(0.002, 0.95, 16)
HALVINGS = 24


class GivenDelivery(NamedTuple):
    """Trials that were planned together: how many of each candidate and value of S (K, S), and what was seen, by
    profile and state of Y."""

    trials: Floats
    seen: Floats


class Weighed(NamedTuple):
    """Trials as contrasts see them: 2x - mass of each kind of trial (T, kinds), how many there were of each (kinds,),
    the largest |2x - mass| that there can be (T,), infinite where nothing is known."""

    swings: Floats
    counts: Floats
    most: Floats


class GivenShown:
    """What deliveries show of contrasts, on the scale where outcomes lie in [0, 1]."""

    def __init__(self, cells: Cells, deliveries: Sequence[GivenDelivery]) -> None:
        self._cells = cells
        self._deliveries = [delivery for delivery in deliveries if delivery.trials.any()]

    def exceed(self, contrasts: Sequence[Contrast], limit: float, level: float) -> Bools:
        """Return which contrasts (T,) are shown to be larger than the limit; each is wrong with probability `level`."""
        raise NotImplementedError

    def lower(self, contrasts: Sequence[Contrast], level: float) -> Floats:
        """Return the largest limits (T,) that the contrasts are shown to exceed."""
        raise NotImplementedError

    def estimate(self, contrasts: Sequence[Contrast]) -> Floats:
        """Return the means of x over all trials (T,), not a number where nothing is known."""
        weights, mass = self._weights(contrasts)
        every = self._weighed(self._together(), weights)
        means = (mass + every.swings @ every.counts / max(every.counts.sum(), 1.0)) / 2.0
        return np.where(np.isfinite(every.most), means, np.nan)

    def _weights(self, contrasts: Sequence[Contrast]) -> tuple[Floats, float]:
        """Return the contrasts' weights (T, profiles), and their common mass."""
        density = self._cells.density
        outcomes = np.einsum("ksg,s->kg", density, self._cells.prior)
        weights = np.zeros((len(contrasts), density.shape[2]))
        for row, contrast in zip(weights, contrasts, strict=True):
            for k, s, sign in contrast.terms:
                row += sign * (outcomes[k] if s is None else density[k, s])
        return weights, float(sum(sign for *_, sign in contrasts[0].terms)) if contrasts else 0.0

    def _together(self) -> GivenDelivery:
        nothing = GivenDelivery(np.zeros(self._cells.density.shape[:2]), np.zeros(self._cells.base.shape))
        return GivenDelivery(*(np.sum(parts, axis=0) for parts in zip(nothing, *self._deliveries, strict=True)))

    def _weighed(self, delivery: GivenDelivery, weights: Floats) -> Weighed:
        trials, seen = delivery
        mixture = np.tensordot(trials, self._cells.density, 2) / max(trials.sum(), 1.0)
        possible = self._cells.base.sum(1) > 0
        ratios = weights * inverse(mixture)
        unknown = ((weights != 0) & (mixture == 0) & possible).any(1)
        profile, level = np.nonzero(seen)
        swings = ratios[:, profile] * (2.0 * self._cells.scores[level] - 1.0)
        return Weighed(swings, seen[profile, level], np.where(unknown, np.inf, np.abs(ratios[:, possible]).max(1)))


class GivenBets(GivenShown):
    """Bets on each delivery; valid after every one of them, whatever decided on the next."""

    def exceed(self, contrasts: Sequence[Contrast], limit: float, level: float) -> Bools:
        weights, mass = self._weights(contrasts)
        return self._gained(self._played(weights), np.full(len(weights), limit), mass) >= -math.log(level)

    def lower(self, contrasts: Sequence[Contrast], level: float) -> Floats:
        weights, mass = self._weights(contrasts)
        low, high = np.full(len(weights), _least(mass)), np.ones(len(weights))
        played = self._played(weights)
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            shown = self._gained(played, middle, mass) >= -math.log(level)
            low, high = np.where(shown, middle, low), np.where(shown, high, middle)
        return low

    def _played(self, weights: Floats) -> list[Weighed]:
        return [self._weighed(delivery, weights) for delivery in self._deliveries]

    def _gained(self, played: list[Weighed], limits: Floats, mass: float) -> Floats:
        """Return the logarithm of the mean stake (T,) against contrasts at most the limits (T,)."""
        gained = np.zeros((len(STAKES), len(limits)))
        for swings, counts, most in played:
            room = 2.0 * limits - mass + most
            plays = np.isfinite(room) & (room > 0)
            odds = np.zeros_like(swings)
            odds[plays] = (swings[plays] + most[plays, None]) / room[plays, None] - 1.0
            gained += np.where(room > 0, np.log1p(STAKES[:, None, None] * odds) @ counts, np.inf)
        return np.asarray(np.logaddexp.reduce(gained, axis=0) - math.log(len(STAKES)))


class GivenNormal(GivenShown):
    """Normal intervals of the means over all trials, for a number of looks at them."""

    def __init__(self, cells: Cells, deliveries: Sequence[GivenDelivery], looks: int) -> None:
        super().__init__(cells, deliveries)
        self._looks = looks

    def exceed(self, contrasts: Sequence[Contrast], limit: float, level: float) -> Bools:
        return self.lower(contrasts, level) > limit

    def lower(self, contrasts: Sequence[Contrast], level: float) -> Floats:
        weights, mass = self._weights(contrasts)
        if not self._deliveries:
            return np.full(len(weights), _least(mass))
        z = -NormalDist().inv_cdf(level / self._looks)
        swings, counts, most = self._weighed(self._together(), weights)
        n = max(float(counts.sum()), 1.0)
        middle = swings @ counts / n
        error = np.sqrt(np.maximum(swings**2 @ counts / n - middle**2, 0.0) / n)
        low = (mass + middle - z * np.hypot(error, most / n)) / 2.0
        return np.maximum(low, _least(mass))


def _least(mass: float) -> float:
    """Return what a contrast is at least, whatever the trials: 0 for an outcome, -1 for a gap and for -outcome."""
    return max(mass - 1.0, -1.0)
