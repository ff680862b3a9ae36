"""Contrasts by the tables of all rows.

    E_k[Y | do(S = s)] = sum_x P(x|s) sum_v P_k(v|x,s) E[Y | s,x,v],    E_k[Y] = sum_s P(s) E_k[Y | do(S = s)],

with every law but the candidates' own from counts, smoothed as the tables of fitted models are (see `fitting`). Where S
reaches Y through V alone, neither E[Y | s,x,v] nor P(x|s) hangs on s. A candidate of unknown law has the mean of its
own rows.
"""

from __future__ import annotations

import math

import numpy as np

from evenhand.interventions.counts import Counts
from evenhand.interventions.fitting import dirichlet
from evenhand.interventions.shown import Contrast
from evenhand.kernels.arrays import Floats


class PlugIn:
    """Estimates of contrasts.

    Parameters
    ----------
    counts : what was seen.
    through_v : whether S reaches Y through V alone.
    """

    def __init__(self, counts: Counts, *, through_v: bool) -> None:
        rows, self._rules, self._unknown = counts.rows, counts.rules, counts.unknown
        of_y, of_x = rows.sum((0, 1)), rows.sum((0, 1, 4, 5))
        drawn = np.einsum("js,jsxv->sxv", rows.sum((0, 3, 4, 5))[~self._unknown], self._rules[~self._unknown])
        drawn = drawn + of_y.sum(-1)
        if through_v:
            of_y, of_x, drawn = (np.broadcast_to(part.sum(0), part.shape) for part in (of_y, of_x, drawn))
        self._means, self._own = _mean(of_y, counts.scores), _mean(rows.sum((0, 3, 4)), counts.scores)
        self._of_x, self._of_s = _law(of_x), _law(rows[0].sum((0, 2, 3, 4)))
        self._blind, self._speaks = drawn == 0, of_x.sum(-1) > 0
        self._natural = rows[0].any()
        self._own_seen = rows.sum((0, 3, 4, 5)) > 0

    def __call__(self, contrast: Contrast) -> float:
        """Return the estimate; not a number where nothing is known."""
        if not all(self._known(k, s) for k, s, _ in contrast.terms):
            return math.nan
        groups, found = len(self._of_s), 0.0
        for k, s, sign in contrast.terms:
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
    weights = dirichlet(seen, 1.0)
    return np.asarray(weights / weights.sum(-1, keepdims=True))


def _mean(seen: Floats, scores: Floats) -> Floats:
    """Return the mean of Y under a smoothed table."""
    return np.asarray(_law(seen) @ scores)
