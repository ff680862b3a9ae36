"""Bets on candidates' outcomes and gaps: no law of S, of a parent of V, or of the outcome is taken as known.

S is an observed root, so E_k[Y | do(S = s)] = E_k[Y | S = s], and in the ratio of a row's probabilities under k and j
all cancels but the candidates' own tables, known because they were run. A delivery has n_js rows of candidate j with
S = s, n_s = sum_j n_js. With x the parents of V without S and Q_s(v|x) = sum_j n_js P_j(v|x,s) / n_s, the row
(s, x, v, y) gives for the gap between a and b, over the n = n_a + n_b rows of either,

    X = +- (n / n_s) [P_k/Q_s (y - c0) + b_k - kappa_s] + kappa_a - kappa_b,    + for s = a.

The guesses c0(x, v) of the outcome, b_k = sum_v P_k c0, and kappa_s of the mean of b_k come from EARLIER deliveries:
good ones sharpen the bets, wrong ones do no harm. For a lead only natural rows count: X is the difference of two
[P/Q (y - c0) + b] with Q = sum_j n_j P_j / n. Where S reaches Y through V alone, every row counts for every gap: X =
h/Q (y - c0) + sum_v h c0, h = P_k(v|x,a) - P_k(v|x,b). For a candidate of unknown law, the table of a fitted model,
only its own rows count, with y - kappa in place of the bracket, and they count for no other.

Sixteen gamblers stake shares g against "theta <= m": a row multiplies the stake by 1 + g (X - m) / (m - min X). Given
the counts, rows of (j, s) are independent with mean theta_js, sum_js n_js theta_js = n theta, and everything else was
fixed before; the stake is expected to become prod_js (1 + l (theta_js - m))^n_js <= (1 + l (theta - m))^n <= 1. So
theta > m is shown once the mean stake reaches 1 / level, after any delivery, whatever decided on the next (Ville).

Source: ours; bets after I. Waudby-Smith, A. Ramdas, "Estimating Means of Bounded Random Variables by Betting" (2024).

Estimates are those by the tables of all rows:

    E_k[Y | do(S = s)] = sum_x P(x|s) sum_v P_k(v|x,s) E[Y | s,x,v],    E_k[Y] = sum_s P(s) E_k[Y | do(S = s)],

with every law but the candidates' own from counts, smoothed as the tables of fitted models are (see `fitting`). Where S
reaches Y through V alone, neither E[Y | s,x,v] nor P(x|s) depends on s. A candidate of unknown law has the mean of its
own rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenhand.interventions.cells import CellCounts
from evenhand.interventions.estimators import inverse
from evenhand.kernels.arrays import Bools, Floats

Contrast = tuple[tuple[int, int | None, int], ...]
"""A sum of expected outcomes; of each the candidate, the value of S or None where S comes as it does, and 1 or -1."""
STAKES = np.geomspace(0.002, 0.95, 16)
HALVINGS = 24
NEAR = 1e-12
"""No bet at limits this near to the least X: rounding alone would decide it."""


def outcome(k: int, sign: int = 1) -> Contrast:
    """Return E_k[Y], or -E_k[Y]."""
    return ((k, None, sign),)


def lead(k: int, j: int) -> Contrast:
    """Return E_k[Y] - E_j[Y]."""
    return (k, None, 1), (j, None, -1)


def gap(k: int, a: int, b: int) -> Contrast:
    """Return E_k[Y | do(S = a)] - E_k[Y | do(S = b)]."""
    return (k, a, 1), (k, b, -1)


def least(contrast: Contrast) -> float:
    """Return what a contrast is at least, on the scale where outcomes lie in [0, 1]."""
    return float(sum(min(sign, 0) for *_, sign in contrast))


def most(contrast: Contrast) -> float:
    """Return what a contrast is at most, on the scale where outcomes lie in [0, 1]."""
    return float(sum(max(sign, 0) for *_, sign in contrast))


class PlugIn:
    """Estimates of contrasts.

    Parameters
    ----------
    counts : what was seen.
    through_v : whether S reaches Y through V alone.
    """

    def __init__(self, counts: CellCounts, *, through_v: bool) -> None:
        rows, self._rules, self._unknown = counts.rows, counts.rules, counts.unknown
        of_y, of_x = rows.sum((0, 1)), rows.sum((0, 1, 4, 5))
        drawn = np.einsum("js,jsxv->sxv", rows.sum((0, 3, 4, 5))[~self._unknown], self._rules[~self._unknown])
        drawn = drawn + of_y.sum(-1)
        if through_v:
            of_y, of_x, drawn = (np.broadcast_to(part.sum(0), part.shape) for part in (of_y, of_x, drawn))
        self._means, self._own = _law(of_y) @ counts.scores, _law(rows.sum((0, 3, 4))) @ counts.scores
        self._of_x, self._of_s = _law(of_x), _law(rows[0].sum((0, 2, 3, 4)))
        self._blind, self._speaks = drawn == 0, of_x.sum(-1) > 0
        self._natural = rows[0].any()
        self._own_seen = rows.sum((0, 3, 4, 5)) > 0

    def __call__(self, contrast: Contrast) -> float:
        """Return the estimate; not a number where nothing is known."""
        if not all(self._known(k, s) for k, s, _ in contrast):
            return math.nan
        groups, found = len(self._of_s), 0.0
        for k, s, sign in contrast:
            weights = self._of_s if s is None else np.eye(groups)[s]
            known = (self._of_x * (self._rules[k] * self._means).sum(-1)).sum(-1)
            found += sign * float(weights @ (self._own[k] if self._unknown[k] else known))
        return found

    def _known(self, k: int, s: int | None) -> bool:
        groups = [s] if s is not None else [*range(len(self._of_s))]
        if s is None and not self._natural:
            return False
        if self._unknown[k]:
            return bool(self._own_seen[k, groups].all())
        return bool(self._speaks[groups].all() and not (self._blind & (self._rules[k] > 0))[groups].any())


def _law(seen: Floats) -> Floats:
    """Return a smoothed table."""
    weights = seen + 1.0 / seen.shape[-1]
    return np.asarray(weights / weights.sum(-1, keepdims=True))


class BetRows(NamedTuple):
    """Weighted rows that estimate one quantity: X of each kind of row, how many there were, which can occur."""

    values: Floats
    times: Floats
    possible: Bools


class Play(NamedTuple):
    """The rows of a delivery as a contrast sees them: X, how many there were, and the least that X can be."""

    values: Floats
    times: Floats
    least: float


class Bets:
    """Bets on every delivery; valid after each, whatever decided on the next.

    Parameters
    ----------
    counts : what was seen before the first delivery; `learn` adds to it.
    through_v : whether S reaches Y through V alone.
    """

    def __init__(self, counts: CellCounts, through_v: bool) -> None:
        self._counts, self._through_v = counts, through_v
        self._looks: list[BettingLook] = []
        self._kept: dict[tuple[Contrast, float], tuple[int, Floats]] = {}

    def learn(self, rows: Floats, logged: bool) -> None:
        """Bet on a delivery, but not on logged rows of unknown law, and then learn from all of it."""
        played = rows.copy()
        if logged:
            played[:, self._counts.unknown] = 0.0
        # The guesses must come from earlier deliveries alone: learned first, a bet would know what it bets on.
        self._looks.append(BettingLook(self._counts, played, self._through_v))
        self._counts.rows += rows

    def exceed(self, contrasts: Sequence[Contrast], limit: float, level: float) -> Bools:
        """Return which contrasts (T,) are shown to be larger than the limit; each is wrong with probability `level`."""
        return np.array([_mean(self._staked(one, limit)) >= -math.log(level) for one in contrasts], bool)

    def lower(self, contrasts: Sequence[Contrast], level: float) -> Floats:
        """Return the largest limits (T,) that the contrasts were shown to exceed after any delivery."""
        return np.array([self._end(one, -math.log(level)) for one in contrasts])

    def estimate(self, contrasts: Sequence[Contrast]) -> Floats:
        """Return estimates (T,) by the tables of all rows, not a number where nothing is known."""
        tables = PlugIn(self._counts, through_v=self._through_v)
        return np.array([tables(one) for one in contrasts])

    def _staked(self, contrast: Contrast, limit: float) -> Floats:
        """Return the logarithms of the stakes (16,); those after past deliveries are kept."""
        done, stakes = self._kept.get((contrast, limit), (0, np.zeros(len(STAKES))))
        for look in self._looks[done:]:
            play = look.play(contrast)
            stakes = stakes if play is None else stakes + _gained(play, limit)
        self._kept[contrast, limit] = len(self._looks), stakes
        return stakes

    def _end(self, contrast: Contrast, enough: float) -> float:
        plays = [play for look in self._looks if (play := look.play(contrast)) is not None]
        low, high = least(contrast), most(contrast)
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            stakes = np.cumsum([_gained(play, middle) for play in plays], axis=0)
            low, high = (middle, high) if max(map(_mean, stakes), default=0.0) >= enough else (low, middle)
        return low


class BettingLook:
    """The rows (2, K, S, X, V, Y states) of one delivery, and what was guessed before it."""

    def __init__(self, before: CellCounts, rows: Floats, through_v: bool) -> None:
        self._rules, self._unknown, self._scores = before.rules, before.unknown, before.scores
        self._rows, self._through_v = rows, through_v
        self._guesses = before.guesses()
        self._centres, self._centres_natural = before.centres(self._guesses)
        known = rows[:, ~self._unknown]
        self._known = self._rules[~self._unknown]
        self._seen, self._seen_natural = known.sum((0, 1)), known[0].sum(0)
        self._of_groups, self._of_candidates = known.sum((0, 3, 4, 5)), known[0].sum((1, 2, 3, 4))

    def play(self, contrast: Contrast) -> Play | None:
        """Return the rows as the contrast sees them; None where they say nothing."""
        (k, s, sign), *rest = contrast
        if rest and s is not None and self._through_v and not self._unknown[k]:
            a, b = (s, rest[0][1]) if sign > 0 else (rest[0][1], s)
            assert a is not None
            assert b is not None
            part = self._difference(k, a, b)
        elif rest and s is None and not self._unknown[[k, rest[0][0]]].any():
            one, other = self._mean(k, None), self._mean(rest[0][0], None)
            part = None
            if one is not None and other is not None:  # the same rows speak of both means
                part = BetRows(sign * (one.values - other.values), one.times, one.possible)
        else:
            part = self._apart(contrast)
        if part is None:
            return None
        seen = part.times > 0
        return Play(part.values[seen], part.times[seen], float(part.values[part.possible].min()))

    def _apart(self, contrast: Contrast) -> BetRows | None:
        """Return the rows of means that different rows speak of, each about its centre, in one sum."""
        centres = [self._centres_natural[k] if s is None else self._centres[k, s] for k, s, _ in contrast]
        signs = [sign for *_, sign in contrast]
        middle = float(np.dot(signs, centres))
        parts = [self._mean(k, s) for k, s, _ in contrast]
        if any(part is None for part in parts):
            return None
        there = [part for part in parts if part is not None]
        n = sum(part.times.sum() for part in there)
        values = [
            sign * n / part.times.sum() * (part.values - centre) + middle
            for part, sign, centre in zip(there, signs, centres, strict=True)
        ]
        return BetRows(
            *map(np.concatenate, (values, [part.times for part in there], [part.possible for part in there]))
        )

    def _mean(self, k: int, s: int | None) -> BetRows | None:
        """Return the rows that speak of E_k[Y | S = s], or of E_k[Y] where s is None."""
        if self._unknown[k]:
            own = self._rows[0, k].sum((0, 1, 2)) if s is None else self._rows[:, k, s].sum((0, 1, 2))
            return BetRows(self._scores, own, np.ones(own.shape, bool)) if own.any() else None
        if s is None:
            rule, seen = self._rules[k], self._seen_natural
            mixture = np.tensordot(self._of_candidates, self._known, 1)
        else:
            rule, seen = self._rules[k, s], self._seen[s]
            mixture = np.tensordot(self._of_groups[:, s], self._known[:, s], 1)
        return self._weighed(rule, (rule * self._guesses).sum(-1), mixture, seen)

    def _difference(self, k: int, a: int, b: int) -> BetRows | None:
        """Return the rows of every value of S as they speak of a gap, where S reaches Y through V alone."""
        change = self._rules[k, a] - self._rules[k, b]
        mixture = np.tensordot(self._of_groups, self._known, 2)
        return self._weighed(change, (change * self._guesses).sum(-1), mixture, self._seen.sum(0))

    def _weighed(self, tops: Floats, expected: Floats, mixture: Floats, seen: Floats) -> BetRows | None:
        """Return top / Q (y - c0) + expected, where Q is the mixture (..., X, V) by the number of rows; None where a
        top has mass and Q has none, or there is no row."""
        n = seen.sum()
        if n == 0 or ((tops != 0) & (mixture == 0)).any():
            return None
        ratios = tops * n * inverse(mixture)
        values = ratios[..., None] * (self._scores - self._guesses[..., None]) + expected[..., None, None]
        return BetRows(values.ravel(), seen.ravel(), np.broadcast_to(mixture[..., None] > 0, values.shape).ravel())


def _gained(play: Play, limit: float) -> Floats:
    """Return the logarithms of the factors of the stakes (16,) against "at most the limit"."""
    room = limit - play.least
    if abs(room) <= NEAR:
        return np.zeros(len(STAKES))
    # Every X lies above the limit, so the claim is impossible: any factor is fair, an infinite one too.
    if room < 0:
        return np.full(len(STAKES), np.inf)
    odds = (play.values - play.least) / room - 1.0
    return np.asarray(np.log1p(STAKES[:, None] * odds) @ play.times)


def _mean(stakes: Floats) -> float:
    return float(np.logaddexp.reduce(stakes)) - math.log(len(STAKES))
