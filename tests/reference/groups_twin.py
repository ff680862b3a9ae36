"""The interval policies as the paper writes them: every row kept, every inverse computed anew. Slow and obvious.

Random choices come from the same stream as the policy's own, drawn by the same two functions, so that arms can be
compared round by round.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import norm

from evenhand.kernels.compose import entry
from evenhand.kernels.random import below, uniform
from evenhand.rng import stream

below, uniform = entry(below), entry(uniform)
CUT_OFF = 1e-10


class Rows:
    """The rows and answers of one regression."""

    def __init__(self):
        self.x, self.y = [], []

    def fit(self, x):
        """Return the prediction at x and x (X'X)^+ x'."""
        if not self.x:
            return 0.0, 0.0
        inverse = np.linalg.pinv(np.array(self.x), rcond=CUT_OFF)
        return float(x @ inverse @ np.array(self.y)), float((x @ inverse) @ (x @ inverse))


class Twin:
    """TopInterval, IntervalChaining and GroupFairTopInterval in one."""

    def __init__(
        self,
        codes,
        *,
        seed,
        corrected=(),
        target=None,
        shift=0.0,
        pick="top",
        preset="paper",
        delta=0.1,
        noise_scale=1.0,
        horizon=None,
        exploration=1 / 3,
        cold_start=None,
    ):
        self.codes, self.n, self.stream = list(codes), len(codes), stream(seed)
        self.corrected, self.target, self.shift, self.pick, self.preset = corrected, target, shift, pick, preset
        self.delta, self.sigma, self.horizon, self.exploration = delta, noise_scale, horizon or 0, exploration
        self.cold = cold_start or ("infinite" if preset == "paper" else "minimum_norm")
        self.arms = [Rows() for _ in codes]
        self.groups = {g: Rows() for g in [*set(codes), "pool"]}

    def width(self, rows, x, level):
        needed = len(x) if self.cold == "infinite" else 1
        if len(rows.x) < needed:
            return math.inf
        variance = rows.fit(x)[1]
        z = abs(norm.ppf(level)) * self.sigma
        return z * math.sqrt(variance) if self.preset == "paper" else z * variance

    def interval(self, i, x, t):
        late = max(self.horizon, t)
        middle = self.arms[i].fit(x)[0]
        half = self.width(self.arms[i], x, self.delta / (2 * self.n * (t if self.preset == "paper" else late)))
        g = self.codes[i]
        if g in self.corrected:

            def b(group):
                size = self.n if group == "pool" else self.codes.count(group)
                return self.width(self.groups[group], x, self.delta / (2 * (self.n / size) * late))

            middle += (self.shift if self.target is None else self.groups[self.target].fit(x)[0]) - self.groups[g].fit(
                x
            )[0]
            half += b(g) + (0.0 if self.target is None else b(self.target))
        return middle, half

    def choose(self, contexts, t):
        if uniform(self.stream) < t**-self.exploration:
            return below(self.stream, self.n)
        intervals = [self.interval(i, x, t) for i, x in enumerate(contexts)]
        uppers = [m + h for m, h in intervals]
        best = int(np.argmax(uppers))
        if math.isinf(uppers[best]) and self.preset == "paper":
            infinite = [i for i in range(self.n) if math.isinf(uppers[i])]
            best = min(infinite, key=lambda i: (len(self.arms[i].x), i))
        if self.pick == "top":
            return best
        chain = self.two_sweeps(intervals, best) if self.preset == "authors" else self.closure(intervals, best)
        if self.pick == "within":
            chain = self.closure(intervals, best, [i for i in range(self.n) if self.codes[i] == self.codes[best]])
        return sorted(chain)[below(self.stream, len(chain))]

    def closure(self, intervals, top, among=None):
        chain, old = {top}, set()
        ends = [(m - h, m + h) for m, h in intervals]
        while chain != old:
            old = set(chain)
            for i in range(self.n) if among is None else among:
                if any(ends[i][0] <= ends[j][1] and ends[j][0] <= ends[i][1] for j in old):
                    chain.add(i)
        return chain

    def two_sweeps(self, intervals, top):
        ends = [(m - h, m + h) for m, h in intervals]
        (low, high), chain = ends[top], {top}
        for _ in range(2):
            for i, (lower, upper) in enumerate(ends):
                if low <= lower <= high:
                    high = max(high, upper)
                    chain.add(i)
                elif low <= upper <= high:
                    low = upper if lower < low else low
                    chain.add(i)
                elif upper >= high and lower <= low:
                    low, high = lower, upper
                    chain.add(i)
        return chain

    def update(self, i, x, y):
        for rows in (self.arms[i], self.groups[self.codes[i]], self.groups["pool"]):
            rows.x.append(np.array(x))
            rows.y.append(y)
