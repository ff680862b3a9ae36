"""What every metric learner shares: a guess with an ellipsoid around it, a log of half-spaces, and the log of
verdicts.

The unknown metric is d(x, y) = ||A(x - y)||_2. With G = A'A its square is linear, d^2 = <G, (x - y)(x - y)'>, so "d
< gap" and "d >= gap" are half-spaces in the coordinates of G. A learner keeps a centre c and a factor L; in the
direction u of a pair it believes that d^2 lies in <c, u> +- reach ||L'u||. Learners differ only in `cut`: how a
half-space changes c and L. Where the structure is "absolute", d = <w, |x - y|> is itself linear in the weights w, and
takes the place of its square everywhere.

A kernel state has a leading axis of copies: one where all pairs share the learner, k(k-1)/2 where each has its own.
Distances are never larger than 1, the largest difference two probabilities can have.
"""

from __future__ import annotations

import math
from typing import Any

from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import OPEN, bind, kernel, routine
from evenhand.kernels.halfspaces import support
from evenhand.kernels.vertices import UNREACHED, ascend, discard, keep, settle
from evenhand.similarity.metric_state import CONTRADICTING, TEACHING, MetricState

NOTHING, TAUGHT, MOVED, CONTRADICTED = 0, 1, 2, -1
"""What came of a verdict; it moved the belief where it taught nothing new but put the guess into its place."""

cut = OPEN

EQUAL = 1e-9
"""Probabilities that differ by no more were equal, and a verdict on them proves nothing.

They are sums and differences in [0, 1], each rounded at 1e-16: those of equal individuals differed by at most 1.2e-16
among up to 200 of them. The limit is far above that and far below any useful precision."""


@kernel
def rooted(state: MetricState, value: float) -> Any:
    """Return the distance, within [0, 1], of the value that it is compared in: its square, or itself."""
    value = min(max(value, 0.0), 1.0)
    return value if state.linear else math.sqrt(value)


@kernel
def direct(state: MetricState, x: Floats, y: Floats) -> Any:
    """Set `state.u` to the unit direction of the pair and `state.length` to its length, (x - y)'(x - y) for
    symmetric G."""
    square = 0.0
    for n in range(state.u.size):
        i, j = state.rows[n], state.columns[n]
        state.u[n] = abs(x[n] - y[n]) if state.linear else state.scales[n] * (x[i] - y[i]) * (x[j] - y[j])
        square += state.u[n] * state.u[n]
    length = math.sqrt(square)
    state.length[0] = length
    if length > 0.0:
        for n in range(state.u.size):
            state.u[n] /= length


@kernel
def project(state: MetricState, copy: int) -> Any:
    """Return (<c, u>, ||L'u||) and leave L'u in `state.image`."""
    m = state.u.size
    mid, square = 0.0, 0.0
    for j in range(m):
        state.image[j] = 0.0
    for i in range(m):
        ui = state.u[i]
        mid += state.centre[copy, i] * ui
        for j in range(m):
            state.image[j] += state.factor[copy, i, j] * ui
    for j in range(m):
        square += state.image[j] * state.image[j]
    return mid, math.sqrt(square)


@kernel
def believed(state: MetricState, copy: int) -> Any:
    """Return what `ends` does where no linear programs certify."""
    mid, half = project(state, copy)
    half *= state.prior_radius
    length, slack = state.length[0], state.tolerance
    guess = rooted(state, mid * length)
    return (mid - half) * length - slack, guess, (mid + half) * length + slack


@kernel
def interval(state: MetricState, copy: int) -> Any:
    """Return the belief (low, guess, high) about the distance d of the pair that was set."""
    least, guess, most = believed(state, copy)
    return rooted(state, least), guess, rooted(state, most)


@kernel
def farthest(state: MetricState, copy: int, direction: Floats) -> Any:
    """Return how far the set of all metrics that agree with the log reaches in a direction, by a linear program."""
    cuts, limits, count = state.cuts[copy], state.limits[copy], state.counts[copy]
    return support(cuts, limits, count, state.low, state.high, direction, state.excess, state.simplex)


@routine
def bound(state: MetricState, copy: int, direction: Floats) -> Any:
    """Return what `farthest` does, beginning at a vertex that an earlier program reached where one is kept."""
    cuts, limits, count = state.cuts[copy], state.limits[copy], state.counts[copy]
    low, high, excess, simplex = state.low, state.high, state.excess, state.simplex
    vertices, bases, kept = state.vertices[copy], state.bases[copy], state.kept[copy]
    most = ascend(cuts, limits, count, low, high, direction, vertices, bases, kept, excess, state.slopes, simplex)
    if most == UNREACHED:
        most = support(cuts, limits, count, low, high, direction, excess, simplex)
        if simplex.exact[0] == 1:
            keep(vertices, bases, kept, simplex)
            settled = settle(cuts, limits, low, high, direction, simplex)
            if settled != UNREACHED:
                most = settled
    return most


@routine
def opened(state: MetricState, copy: int) -> Any:
    """Return the certified ends (low, high) of <G, u> over the box and all logged half-spaces, by two linear
    programs."""
    radius = state.radius[copy]
    for n in range(state.u.size):
        state.high[n] = radius
        state.low[n] = 0.0 if state.rows[n] == state.columns[n] else -radius
    high = bound(state, copy, state.u)
    for n in range(state.u.size):
        state.u[n] = -state.u[n]
    low = -bound(state, copy, state.u)
    for n in range(state.u.size):
        state.u[n] = -state.u[n]
    return low, high


@routine
def ends(state: MetricState, copy: int) -> Any:
    """Return the certified ends (least, most) of the square of the distance, not kept within [0, 1], and between them
    the guess, moved well inside."""
    least, guess, most = believed(state, copy)
    if not state.programs:
        return least, guess, most
    length, slack = state.length[0], state.tolerance
    least, most = opened(state, copy)
    least, most = least * length - slack, most * length + slack
    low, high = rooted(state, least), rooted(state, most)
    inside = 0.25 * (high - low)
    return least, min(max(guess, low + inside), high - inside), most


@kernel
def dull(state: MetricState, copy: int, value: float, sign: float) -> Any:
    """Return whether a verdict of "acceptable" is too far below what is believed to be worth two linear programs."""
    mid, half = project(state, copy)
    return sign < 0.0 and value < mid - state.prior_radius * half


@kernel
def width(state: MetricState, low: float, high: float) -> Any:
    """Return the width in d of an interval of what is compared, both ends kept within [0, 1]."""
    return rooted(state, high) - rooted(state, low)


@kernel
def squeeze(state: MetricState, copy: int, norm: float, factor: float) -> Any:
    """Scale the ellipsoid by sqrt(1 - factor) in the direction u: L <- L - (1 - sqrt(1 - factor)) L w w', w = L'u /
    ||L'u||."""
    m = state.u.size
    shrink = (1.0 - math.sqrt(1.0 - factor)) / (norm * norm)
    for i in range(m):
        along = 0.0
        for j in range(m):
            along += state.factor[copy, i, j] * state.image[j]
        for j in range(m):
            state.factor[copy, i, j] -= shrink * along * state.image[j]


@kernel
def append(state: MetricState, copy: int, value: float, sign: float) -> Any:
    """Log the half-space sign <G, u> <= sign value."""
    row = state.counts[copy]
    for n in range(state.u.size):
        state.cuts[copy, n, row] = sign * state.u[n]
    state.limits[copy, row] = sign * value
    state.counts[copy] = row + 1
    discard(state.cuts[copy], state.limits[copy], row, state.vertices[copy], state.bases[copy], state.kept[copy])


@routine
def prior(state: MetricState, copy: int) -> Any:
    """Begin with the ball around (radius / d) I that holds every positive semidefinite G with Frobenius norm <=
    radius."""
    m = state.u.size
    d = 0
    for n in range(m):
        if state.rows[n] == state.columns[n]:
            d += 1
    radius = state.radius[copy]
    ball = radius * math.sqrt(1.0 - 1.0 / d) if d > 1 else 0.5 * radius
    for i in range(m):
        state.centre[copy, i] = 0.0
        if state.rows[i] == state.columns[i]:
            state.centre[copy, i] = radius / d if d > 1 else 0.5 * radius
        for j in range(m):
            state.factor[copy, i, j] = 0.0
        state.factor[copy, i, i] = ball * state.spread
    state.counts[copy] = 0
    state.thin[copy] = 0
    state.kept[copy, 0] = 0
    state.kept[copy, 1] = 0


@routine
def learn(state: MetricState, copy: int, gap: float, unfair: bool, precision: float) -> Any:
    """Take the verdict on the pair that was set, d < gap (unfair) or d >= gap; return what came of it. A template
    over `cut`.

    A gap up to `EQUAL` is rounding and counts as 0. Where the verdict contradicts every metric of the radius, the
    radius is doubled and the log replayed, as often as is allowed.
    """
    if state.length[0] == 0.0 or (unfair and gap <= EQUAL):
        return NOTHING
    if gap <= EQUAL:
        gap = 0.0
    sign = 1.0 if unfair else -1.0
    value = ((gap if state.linear else gap * gap) + sign * state.tolerance) / state.length[0]
    status = cut(state, copy, value, sign, precision)
    if status == TAUGHT:
        state.tally[TEACHING] += 1
    if status == CONTRADICTED:
        if state.doublings[copy] < state.most_doublings:
            append(state, copy, value, sign)
            status = replay(state, copy)
        if status == CONTRADICTED:
            state.tally[CONTRADICTING] += 1
    return status


@routine
def replay(state: MetricState, copy: int) -> Any:
    """Double the radius until the log fits; where no radius that is allowed does, drop the newest half-space and go
    back."""
    total, first = state.counts[copy], state.doublings[copy]
    while state.doublings[copy] < state.most_doublings:
        state.doublings[copy] += 1
        state.radius[copy] *= 2.0
        if again(state, copy, total) == TAUGHT:
            return TAUGHT
    while state.doublings[copy] > first:
        state.doublings[copy] -= 1
        state.radius[copy] *= 0.5
    # Without the newest half-space: kept, it would make every later verdict contradictory.
    again(state, copy, total - 1)
    return CONTRADICTED


@routine
def again(state: MetricState, copy: int, total: int) -> Any:
    """Begin anew and take the first `total` half-spaces of the log, which stays as it is."""
    prior(state, copy)
    for row in range(total):
        for n in range(state.u.size):
            state.u[n] = state.cuts[copy, n, row]
        state.length[0] = 1.0
        if cut(state, copy, state.limits[copy, row], 1.0, 0.0) == CONTRADICTED:
            return CONTRADICTED
        state.counts[copy] = row + 1
        discard(state.cuts[copy], state.limits[copy], row, state.vertices[copy], state.bases[copy], state.kept[copy])
    return TAUGHT


def learn_kernel(cut: object) -> Any:
    """Return the kernel `learn` over a learner's `cut`."""
    return bind(learn, cut=cut, replay=bind(replay, again=bind(again, cut=cut)))
