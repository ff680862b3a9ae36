"""Contrasts by the tables of all rows, and how far the tables' own errors carry: the delta method.

    E_k[Y | do(S = s)] = sum_x P(x|s) sum_v P_k(v|x,s) E[Y | s,x,v],    E_k[Y] = sum_s P(s) E_k[Y | do(S = s)],

with every law but the candidates' own from counts, smoothed as the tables of fitted models are (see `fitting`). E[Y |
s,x,v] does not hang on s where the graph says so, nor does P(x|s) where S reaches Y through V alone. A candidate of
unknown law has the mean of its own rows. The variance of a mean under a Dirichlet law of mass n is its spread over n +
1; variances of different tables add.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from evenhand.interventions.counts import Counts
from evenhand.interventions.fitting import dirichlet
from evenhand.interventions.shown import Contrast

__all__ = ["PlugIn"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class PlugIn:
    """Estimates and standard errors of contrasts.

    Parameters
    ----------
    counts : what was seen.
    trusted : (K,) of which candidates rows enter E[Y | s, x, v].
    through_v : whether S reaches Y through V alone.
    blocked : whether Y does not hang on S once V and its parents are known.
    """

    def __init__(self, counts: Counts, *, trusted: Bools, through_v: bool, blocked: bool) -> None:
        rows, self._rules, self._unknown = counts.rows, counts.rules, counts.unknown
        self._blocked, self._through_v = blocked, through_v
        of_y = rows[:, trusted].sum((0, 1))
        of_y = np.broadcast_to(of_y.sum(0), of_y.shape) if blocked else of_y
        self._means, self._errors = _mean(of_y, counts.scores)
        self._own, self._own_errors = _mean(rows.sum((0, 3, 4)), counts.scores)
        of_x = rows.sum((0, 1, 4, 5))
        of_x = np.broadcast_to(of_x.sum(0), of_x.shape) if through_v else of_x
        self._of_x, self._of_s = dirichlet(of_x, 1.0), dirichlet(rows[0].sum((0, 2, 3, 4)), 1.0)
        drawn = np.einsum("js,jsxv->sxv", rows.sum((0, 3, 4, 5))[~self._unknown], self._rules[~self._unknown])
        drawn = drawn + of_y.sum(-1)
        self._blind = np.broadcast_to(drawn.sum(0), drawn.shape) == 0 if blocked else drawn == 0
        self._speaks = of_x.sum(-1) > 0
        self._natural = rows[0].any()
        self._own_seen = rows.sum((0, 3, 4, 5)) > 0

    def __call__(self, contrast: Contrast) -> tuple[float, float]:
        """Return estimate and standard error; not a number where nothing is known."""
        if not all(self._known(k, s) for k, s, _ in contrast.terms):
            return math.nan, math.nan
        p_x, p_s = (part / part.sum(-1, keepdims=True) for part in (self._of_x, self._of_s))
        groups = len(p_s)
        tops, own, by_group = np.zeros(self._rules.shape[1:]), np.zeros((2, groups)), np.zeros(groups)
        for k, s, sign in contrast.terms:
            weights = sign * (p_s if s is None else np.eye(groups)[s])
            if self._unknown[k]:
                own += weights * self._own[k], weights**2 * self._own_errors[k]
                mine = self._own[k]
            else:
                tops += weights[:, None, None] * self._rules[k]
                mine = (p_x * (self._rules[k] * self._means).sum(-1)).sum(-1)
            by_group += 0.0 if s is not None else sign * mine
        share = p_x[..., None] * tops
        errors = (share.sum(0) ** 2 * self._errors[0]) if self._blocked else share**2 * self._errors
        inner, mass = (tops * self._means).sum(-1), self._of_x.sum(-1)
        if self._through_v:
            inner, p_x, mass = inner.sum(0, keepdims=True), p_x[:1], mass[:1]
        of_x = (_spread(inner, p_x) / (mass + 1.0)).sum()
        of_s = _spread(by_group, p_s) / (self._of_s.sum() + 1.0)
        middle = float((share * self._means).sum() + own[0].sum())
        return middle, math.sqrt(float(errors.sum() + of_x + of_s + own[1].sum()))

    def _known(self, k: int, s: int | None) -> bool:
        groups = [s] if s is not None else [*range(len(self._of_s))]
        if s is None and not self._natural:
            return False
        if self._unknown[k]:
            return bool(self._own_seen[k, groups].all())
        return bool(self._speaks[groups].all() and not (self._blind & (self._rules[k] > 0))[groups].any())


def _mean(seen: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """Return the mean of Y under a smoothed table, and its variance."""
    weights = dirichlet(seen, 1.0)
    mass = weights.sum(-1)
    mean = weights @ scores / mass
    return mean, (weights @ scores**2 / mass - mean**2) / (mass + 1.0)


def _spread(values: Floats, law: Floats) -> Floats:
    """Return the variance of values (..., n) under a law (..., n)."""
    return np.asarray((law * values**2).sum(-1) - (law * values).sum(-1) ** 2)
