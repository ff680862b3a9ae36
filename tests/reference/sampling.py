"""Slow, obvious twins of `evenhand.sampling`, written from the paper."""

from __future__ import annotations

import math

import numpy as np


def mann_kendall(values):
    """S and its tie-corrected variance by their definitions."""
    n = len(values)
    score = sum(np.sign(values[j] - values[i]) for i in range(n) for j in range(i + 1, n))
    ties = [list(values).count(v) for v in set(values)]
    variance = (n * (n - 1) * (2 * n + 5) - sum(q * (q - 1) * (2 * q + 5) for q in ties)) / 18
    return score, variance


def vc_deviation(n, d, m, delta):
    """The printed bound with the square of pi and the union over groups and sample sizes."""
    if 2 * n < d:
        return math.inf
    return 2 * math.sqrt(
        (2 * d * math.log(2 * math.e * n / d) + 2 * math.log(2 * n**2 * math.pi**2 * m / (3 * delta))) / n
    )


def theory_bounds(risks, samples, e, constant):
    """Equation (4), group by group."""
    total = sum(samples)
    share = [n / total for n in samples]
    shared = sum(share[z] * e(samples[z]) for z in range(len(samples)))
    return [risks[z] + e(samples[z]) + 2 * constant / share[z] * shared for z in range(len(samples))]


class OptimisticLoop:
    """A_opt with batch 1 on two classes, refitted with scikit-learn each round; the tie rule is the lowest index."""

    def __init__(self, m, exploration, trend, xi, window=20):
        self.m, self.c0, self.c1, self.xi, self.window = m, exploration, trend, xi, window
        self.train = [[] for _ in range(m)]
        self.validate = [[] for _ in range(m)]
        self.series = [[] for _ in range(m)]
        self.model = None
        self.order = []

    def predict(self, x):
        if self.model is None:
            return self.first_label()
        return self.model.predict(np.array([x]))[0]

    def first_label(self):
        return self.order[0][1]

    def choose(self):
        counts = [len(rows) for rows in self.train]
        if min(counts) == 0 or min(counts) < sum(counts) ** self.xi:
            return counts.index(min(counts))
        bounds = []
        for z in range(self.m):
            wrong = np.mean([self.predict(x) != y for x, y in self.validate[z]])
            bound = wrong + self.c0 / math.sqrt(counts[z])
            if self.c1:
                score, variance = mann_kendall(self.series[z][-self.window :])
                bound += self.c1 * score / math.sqrt(variance) if variance > 0 else 0.0
            bounds.append(bound)
        return int(np.argmax(bounds))

    def learn(self, z, X, y):
        from sklearn.linear_model import LogisticRegression

        self.train[z].append((X[0], y[0]))
        self.validate[z].append((X[1], y[1]))
        self.order = [*self.order, (X[0], y[0])]
        labels = [label for _, label in self.order]
        if len(set(labels)) == 2:
            self.model = LogisticRegression(solver="newton-cholesky", tol=1e-12, max_iter=1000)
            self.model.fit(np.array([x for x, _ in self.order]), labels)
        self.series[z].append(np.mean([self.predict(x) == y for x, y in self.validate[z]]))
