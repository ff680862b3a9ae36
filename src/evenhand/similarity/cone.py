"""The least distance that any metric A'A leaves possible, by cutting planes.

The linear programs of `metric` look at all symmetric G that agree with the log, also at those that are no A'A. Where
the least one has a direction v with v'Gv < 0, the half-space v'Gv >= 0, which every A'A satisfies, is added and the
program solved again (J. E. Kelley, "The Cutting-Plane Method for Solving Convex Programs", 1960): each end on the way
holds. A cut serves all later pairs. Policies decide by the wider ends, for which they need no such rounds.
"""

from __future__ import annotations

from copy import deepcopy

import numpy as np

from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import LazyKernel, flat
from evenhand.similarity.metric import append
from evenhand.similarity.metric_state import COPIED, MetricState, directions, grown, matrix

ROUNDS, CUTS = 20, 400
"""At most so many programs for a pair, and about so many cuts for all."""
NEGATIVE = 1e-4
"""No cut is made where it would change the square of the pair's distance by less, as far as its length says."""
ROUNDING = 1e-12
"""So far outside a cut, in parts of the radius, a metric still counts as inside."""


class Cone:
    """The metrics that agree with one copy's log, with cuts that leave out what is no metric."""

    def __init__(self, state: MetricState, copy: int, ends: LazyKernel) -> None:
        own = deepcopy(state._replace(**{name: getattr(state, name)[copy : copy + 1] for name in COPIED}))
        self._most = int(own.counts[0]) + CUTS
        self._state = grown(own, max(own.limits.shape[1], self._most + own.u.size))
        self._arrays, self._ends = flat(self._state), ends

    def ends(self, x: Floats, y: Floats) -> tuple[float, float, float]:
        """Return the least square of the distance of a pair, the guess and the largest, as a learner's kernel does."""
        found = None
        for _ in range(ROUNDS):
            least, guess, most = self._ends(x, y, 0, self._arrays)
            if found and not least <= most:  # nothing is left: the log agrees with no A'A
                break
            found = least, guess, most
            if not self._cut():
                break
        assert found
        return found

    def _cut(self) -> bool:
        """Cut off the point at which the last program ended; return whether it is far enough from any metric."""
        state = self._state
        length, count = state.length[0], int(state.counts[0])
        if length == 0.0 or count >= self._most:
            return False
        values, vectors = np.linalg.eigh(matrix(state, state.simplex.point))
        for v in vectors.T[values * length < -NEGATIVE]:
            state.u[:] = directions(state, v)
            state.u[:] /= np.linalg.norm(state.u)
            append(state, 0, -ROUNDING * state.radius[0], -1.0)
        return int(state.counts[0]) > count
