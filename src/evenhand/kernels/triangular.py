"""Triangular systems with a factor whose rows lie at the start of a larger table; a zero on the diagonal gives a
zero.
"""

from __future__ import annotations

from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import kernel


@kernel
def forward(factor: Floats, right: Floats, solution: Floats) -> None:
    """Set solution (n,) so that L solution = right, L the lower triangle of the first n rows and columns."""
    for i in range(right.size):
        row = factor[i]
        a0, a1, a2, a3 = right[i], 0.0, 0.0, 0.0
        j = 0
        while j + 4 <= i:
            a0 -= row[j] * solution[j]
            a1 -= row[j + 1] * solution[j + 1]
            a2 -= row[j + 2] * solution[j + 2]
            a3 -= row[j + 3] * solution[j + 3]
            j += 4
        while j < i:
            a0 -= row[j] * solution[j]
            j += 1
        solution[i] = ((a0 + a1) + (a2 + a3)) / row[i] if row[i] > 0.0 else 0.0


@kernel
def backward(factor: Floats, solution: Floats) -> None:
    """Set solution (n,), at first the right side, so that L' solution = right."""
    for i in range(solution.size - 1, -1, -1):
        row = factor[i]
        value = solution[i] / row[i] if row[i] > 0.0 else 0.0
        solution[i] = value
        for j in range(i):
            solution[j] -= row[j] * value
