"""The fair program by slow and obvious means: HiGHS for the optimum, a bisection-free quadratic program for the tie
rule."""

from __future__ import annotations

import highspy
import numpy as np
from scipy.optimize import minimize


class HighsProgram:
    """max a.p subject to |p_i - p_j| <= c_ij, 0 <= p <= 1 and, for one choice, sum p <= 1; hot-started for its size."""

    def __init__(self, k: int, one: bool) -> None:
        self.k = k
        self.pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
        self.highs = highspy.Highs()
        self.highs.setOptionValue("output_flag", False)
        for _ in range(k):
            self.highs.addVar(0.0, 1.0)
        self.highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
        for i, j in self.pairs:
            self.highs.addRow(-np.inf, np.inf, 2, np.array([i, j]), np.array([1.0, -1.0]))
        if one:
            self.highs.addRow(-np.inf, 1.0, k, np.arange(k), np.ones(k))

    def solve(self, rewards: np.ndarray, distances: np.ndarray) -> tuple[float, np.ndarray]:
        limits = np.array([distances[pair] for pair in self.pairs])
        n = len(self.pairs)
        self.highs.changeColsCost(self.k, np.arange(self.k, dtype=np.int32), np.asarray(rewards, dtype=float))
        if n:
            self.highs.changeRowsBounds(n, np.arange(n, dtype=np.int32), -limits, limits)
        self.highs.run()
        return self.highs.getInfo().objective_function_value, np.array(self.highs.getSolution().col_value)


def nearest_to_uniform(rewards: np.ndarray, distances: np.ndarray, one: bool, value: float) -> np.ndarray:
    """Among all p with a.p >= value, the one with the least sum_i (p_i - 1/k)^2, by sequential quadratic
    programming."""
    k = len(rewards)
    rows, limits = [rewards], [value - 1e-10]
    for i in range(k):
        for j in range(k):
            if i != j:
                row = np.zeros(k)
                row[i], row[j] = -1.0, 1.0
                rows.append(row)
                limits.append(-distances[i, j])
    if one:
        rows.append(-np.ones(k))
        limits.append(-1.0)
    matrix, bound = np.array(rows), np.array(limits)
    found = minimize(
        lambda p: 10 * ((p - 1 / k) ** 2).sum(),
        np.full(k, 0.5 / k),
        jac=lambda p: 20 * (p - 1 / k),
        bounds=[(0, 1)] * k,
        constraints={"type": "ineq", "fun": lambda p: matrix @ p - bound, "jac": lambda p: matrix},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return found.x if found.success else None
