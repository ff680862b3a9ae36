"""Least squares that learns row by row, at a cost that does not grow with the rows: several regressions side by side;
and linear systems with positive definite matrices, solved by Cholesky factors.

For rows X and answers y a regression keeps beta = X^+ y, the least squares solution of smallest norm, and a square
root S of the inverse Gram matrix, (X'X)^+ = S S'. A row x that lies in the span of earlier ones is Potter's square
root update, with f = S'x and a = 1 + f'f:

    S <- S - S f f' / (a + sqrt(a)),    beta <- beta + S f (y - x'beta) / a,

which is Sherman and Morrison's in a form where S S' cannot turn negative. A row with a part c outside the span is
Greville's step, with u = c / |c|^2: S <- [S - u f', u], beta <- beta + u (y - x'beta). Outside means |c| > 1e-10 |x|,
c found by orthogonalizing twice. No Gram matrix is formed, so features of very different size cost no more digits than
the data themselves have.

A ridge regression starts from S = I / sqrt(lambda) and full rank; nothing else differs. A regression with an intercept
has one coefficient more than there are features: every row ends with a 1 that nobody passes.

Sources: T. N. E. Greville, "Some Applications of the Pseudoinverse of a Matrix", SIAM Review 2 (1960); J. E. Potter's
update as in G. J. Bierman, "Factorization Methods for Discrete Sequential Estimation" (1977), section II.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import kernel

OUTSIDE = 1e-20
"""The square of the relative size from which on a row's part outside the span of earlier rows counts."""
LEAST = 1e-15
"""The least pivot, as a part of its diagonal entry: below it is rounding."""


class Regressions(NamedTuple):
    """State of m regressions with d coefficients; with an intercept the last one belongs to it."""

    coefficients: Floats
    """(m, d): beta."""
    factors: Floats
    """(m, d, d): the columns of S as rows, `ranks` of them in use."""
    basis: Floats
    """(m, d, d): an orthonormal basis of the rows seen, as rows; not needed any more once the rank is d."""
    ranks: Ints
    samples: Ints
    squares: Floats
    """(m,): the sum of squared residuals."""
    lengths: Floats
    """(m,): the Frobenius norm of S, so that |S'x| <= lengths |x|."""
    scratch: Floats
    """(2, d): f and the direction of the update; a third row says that there is an intercept."""


def regressions(count: int, dimension: int, ridge: float = 0.0, intercept: bool = False) -> Regressions:
    """Return `count` regressions on `dimension` features that have seen nothing; `ridge` > 0 penalizes ridge |beta|^2,
    0 asks for the smallest norm."""
    d = dimension + intercept
    factors = np.zeros((count, d, d))
    if ridge > 0:
        factors[:] = np.eye(d) / math.sqrt(ridge)
    return Regressions(
        np.zeros((count, d)),
        factors,
        np.zeros((count, d, d)),
        np.full(count, d if ridge > 0 else 0, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count),
        np.full(count, math.sqrt(d / ridge) if ridge > 0 else 0.0),
        np.zeros((2 + intercept, d)),
    )


@kernel
def dot(a: Floats, x: Floats) -> float:
    """Return a'x over the entries of `a`."""
    total = 0.0
    for j in range(a.size):
        total += a[j] * x[j]
    return total


@kernel
def intercept(fit: Regressions) -> int:
    """Return 1 where the last coefficient belongs to an intercept, else 0."""
    return fit.scratch.shape[0] - 2


@kernel
def product(fit: Regressions, a: Floats, x: Floats) -> float:
    """Return a'x, or a'(x, 1) with an intercept; entries of x after the features do not count."""
    total = 0.0
    features = a.size - intercept(fit)
    for j in range(features):
        total += a[j] * x[j]
    if features < a.size:
        total += a[features]
    return total


@kernel
def spread(fit: Regressions, row: int, x: Floats) -> float:
    """Return x'(X'X)^+ x, the variance of the prediction at x for noise of variance 1."""
    factors = fit.factors[row]
    total = 0.0
    for i in range(fit.ranks[row]):
        f = product(fit, factors[i], x)
        total += f * f
    return total


@kernel
def learn(fit: Regressions, row: int, x: Floats, y: float) -> None:
    """Let the regression see the features x with the answer y."""
    coefficients, factors = fit.coefficients[row], fit.factors[row]
    f, along = fit.scratch[0], fit.scratch[1]
    d, rank = coefficients.size, fit.ranks[row]
    error = y - product(fit, coefficients, x)
    fit.samples[row] += 1
    a = 1.0
    for i in range(rank):
        f[i] = product(fit, factors[i], x)
        a += f[i] * f[i]
    size = outside(fit.basis[row], rank, x, along, d - intercept(fit)) if rank < d else 0.0
    if size > 0.0:
        for j in range(d):
            fit.basis[row, rank, j] = along[j] / math.sqrt(size)
            along[j] /= size
            factors[rank, j] = along[j]
        fit.ranks[row] = rank + 1
        shrink, gain = 1.0, 1.0
    else:
        for j in range(d):
            along[j] = 0.0
        for i in range(rank):
            for j in range(d):
                along[j] += factors[i, j] * f[i]
        shrink, gain = 1.0 / (a + math.sqrt(a)), 1.0 / a
        fit.squares[row] += error * error * gain
    total = 0.0
    for i in range(rank):
        step = shrink * f[i]
        for j in range(d):
            factors[i, j] -= step * along[j]
            total += factors[i, j] * factors[i, j]
    for j in range(d):
        coefficients[j] += gain * error * along[j]
        if size > 0.0:
            total += along[j] * along[j]
    fit.lengths[row] = math.sqrt(total)


@kernel
def outside(basis: Floats, rank: int, x: Floats, part: Floats, features: int) -> float:
    """Fill `part` with what of x lies outside the span of the basis; return its squared size, 0 where that is
    rounding."""
    whole = 0.0
    for j in range(part.size):
        part[j] = x[j] if j < features else 1.0
        whole += part[j] * part[j]
    for _ in range(2):  # Gram-Schmidt once leaves rounding that looks like a new direction and would raise the rank
        for i in range(rank):
            along = dot(basis[i], part)
            for j in range(part.size):
                part[j] -= along * basis[i, j]
    size = dot(part, part)
    return size if size > OUTSIDE * whole else 0.0


@kernel
def factorize(matrix: Floats, factor: Floats, floor: float) -> None:
    """Fill the lower triangle of `factor` with L, L L' = matrix, whose pivots are at least the floor; `factor` may be
    the matrix itself."""
    for j in range(matrix.shape[0]):
        pivot = matrix[j, j]
        for k in range(j):
            pivot -= factor[j, k] * factor[j, k]
        # Of a nearly singular matrix a pivot may come out negative, and its root would make everything after it nan.
        pivot = math.sqrt(max(pivot, LEAST * matrix[j, j], floor))
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
