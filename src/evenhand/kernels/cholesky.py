"""Cholesky factors of positive definite matrices, and linear systems solved by them."""

from __future__ import annotations

import math

from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import kernel

LEAST = 1e-15
"""The least pivot, as a part of its diagonal entry: below it is rounding."""


@kernel
def factorize(matrix: Floats, factor: Floats) -> None:
    """Fill the lower triangle of `factor` with L, L L' = matrix."""
    for j in range(matrix.shape[0]):
        pivot = matrix[j, j]
        for k in range(j):
            pivot -= factor[j, k] * factor[j, k]
        pivot = math.sqrt(max(pivot, LEAST * matrix[j, j]))
        factor[j, j] = pivot
        for i in range(j + 1, matrix.shape[0]):
            value = matrix[i, j]
            for k in range(j):
                value -= factor[i, k] * factor[j, k]
            factor[i, j] = value / pivot


@kernel
def solve(factor: Floats, right: Floats, solution: Floats) -> None:
    """Fill `solution` with that of L L' solution = right."""
    d = right.size
    for i in range(d):
        value = right[i]
        for k in range(i):
            value -= factor[i, k] * solution[k]
        solution[i] = value / factor[i, i]
    for back in range(d):
        i = d - 1 - back
        value = solution[i]
        for k in range(i + 1, d):
            value -= factor[k, i] * solution[k]
        solution[i] = value / factor[i, i]
