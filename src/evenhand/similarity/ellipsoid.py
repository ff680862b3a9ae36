"""An ellipsoid around all metrics that agree with the verdicts, cut through its middle and wrapped anew.

With depth alpha = sign (<c, u> - value) / ||L'u|| the half-space sign <G, u> <= sign value leaves a part of {c + L z : |z| <= 1}
whose smallest enclosing ellipsoid has the centre c - sign tau L w and the axes sqrt(delta) (L - (1 - sqrt(1 - sigma)) L w w'), w = L'u / ||L'u||,
tau = (1 + m alpha)/(m + 1), sigma = 2 (1 + m alpha)/((m + 1)(1 + alpha)), delta = m^2 (1 - alpha^2)/(m^2 - 1). Its volume shrinks when alpha > -1/m.

Source: M. C. Cohen, I. Lobel, R. Paes Leme, "Feature-based Dynamic Pricing" (EC 2016): O(m^2 log(m/epsilon)) mistakes above
epsilon; M. Grötschel, L. Lovász, A. Schrijver, "Geometric Algorithms and Combinatorial Optimization" (1988), (3.1.16): the formulas.
"""

from __future__ import annotations

import math

from evenhand.kernels.compose import kernel
from evenhand.similarity.metric import CONTRADICTED, LOGS, NOTHING, TAUGHT, append, project, squeeze, width

__all__ = ["cut"]

DEEPEST = 0.9
"""Cuts deeper than this are taken at this depth, which keeps more, so that no axis collapses in floating point."""


@kernel
def cut(state, copy, value, sign, precision):
    m = state.u.size
    mid, half = project(state, copy)
    depth = sign * (mid - value)
    if depth > half * (1.0 + 1e-9) + 1e-12:
        return CONTRADICTED
    length = state.length[0]
    if depth * m <= -half or width((mid - half) * length, (mid + half) * length) <= precision:
        return NOTHING
    if state.options[LOGS] > 0.0:
        append(state, copy, value, sign)
    depth = min(depth / half, DEEPEST)
    stride = sign * (1.0 + m * depth) / ((m + 1.0) * half)
    for i in range(m):
        along = 0.0
        for j in range(m):
            along += state.factor[copy, i, j] * state.image[j]
        state.centre[copy, i] -= stride * along
    if m == 1:
        state.factor[copy, 0, 0] *= 0.5 * (1.0 - depth)
        return TAUGHT
    squeeze(state, copy, half, 2.0 * (1.0 + m * depth) / ((m + 1.0) * (1.0 + depth)))
    stretch = math.sqrt(m * m * (1.0 - depth * depth) / (m * m - 1.0))
    for i in range(m):
        for j in range(m):
            state.factor[copy, i, j] *= stretch
    return TAUGHT
