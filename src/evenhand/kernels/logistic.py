"""Logistic regression that is refitted after every few rows: warm-started Newton steps with a Cholesky factor that
is kept.

The objective is C sum_i s_i ln(1 + exp(-t_i (w.x_i + b))) + |w|^2 / 2 with t = 2y - 1, rows' weights s_i and a free
intercept b, as scikit-learn's `LogisticRegression` has it. Three facts make a refit cheap. At the old optimum the
gradient of the old rows is zero, so the first step needs the new rows alone. The factor L of the Hessian takes each
new row as a rank-one update, and stays good while the coefficients move little. And the ratio of two successive
steps bounds what a third one would still change, so the sweep that would only confirm convergence is saved. Where a
step does not shrink the gradient four times, the factor is rebuilt, and an Armijo rule on the objective guards the
step.

`coef`, `gradient` and `step` have d + 1 entries, the intercept last; `factor` is (d + 1, d + 1), lower triangular.
"""

from __future__ import annotations

import math

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import kernel
from evenhand.kernels.linear import factorize

SHRINK = 16.0
"""By which factor the squared gradient norm must shrink for a kept factor to stay: four times, squared."""
FLOOR = 1e-12
"""Added to a vanishing pivot, so that a saturated intercept does not divide by zero."""
SMALLEST = 1e-9
"""The shortest step that is tried; a shorter one would be lost in rounding."""
LIMIT = 200


@kernel
def margin(x: Floats, coef: Floats) -> float:
    """Return w.x + b; four partial sums let the processor add them side by side."""
    d = x.size
    a0, a1, a2, a3 = coef[d], 0.0, 0.0, 0.0
    j = 0
    while j + 4 <= d:
        a0 += x[j] * coef[j]
        a1 += x[j + 1] * coef[j + 1]
        a2 += x[j + 2] * coef[j + 2]
        a3 += x[j + 3] * coef[j + 3]
        j += 4
    while j < d:
        a0 += x[j] * coef[j]
        j += 1
    return (a0 + a1) + (a2 + a3)


@kernel
def sigmoid(m: float) -> float:
    """Return 1 / (1 + exp(-m)) without overflow."""
    if m >= 0.0:
        return 1.0 / (1.0 + math.exp(-m))
    e = math.exp(m)
    return e / (1.0 + e)


@kernel
def add_gradient(
    X: Floats, y: Ints, weight: Floats, first: int, rows: int, C: float, coef: Floats, gradient: Floats
) -> None:
    """Add to `gradient` what the rows first .. rows - 1 contribute."""
    d = X.shape[1]
    for i in range(first, rows):
        x = X[i]
        g = C * weight[i] * (sigmoid(margin(x, coef)) - y[i])
        if g != 0.0:
            for j in range(d):
                gradient[j] += g * x[j]
            gradient[d] += g


@kernel
def sweep(X: Floats, y: Ints, weight: Floats, rows: int, C: float, coef: Floats, gradient: Floats) -> None:
    """Set `gradient` to that of the objective over all rows."""
    d = X.shape[1]
    for j in range(d):
        gradient[j] = coef[j]
    gradient[d] = 0.0
    add_gradient(X, y, weight, 0, rows, C, coef, gradient)


@kernel
def objective(X: Floats, y: Ints, weight: Floats, rows: int, C: float, coef: Floats) -> float:
    """Return the objective at `coef`."""
    total = 0.0
    for i in range(rows):
        m = margin(X[i], coef)
        if y[i] > 0.5:
            m = -m
        # log(1 + exp(m)) as it stands overflows from m = 710 on, which separable rows reach.
        total += weight[i] * (max(m, 0.0) + math.log1p(math.exp(-abs(m))))
    total *= C
    for j in range(coef.size - 1):
        total += 0.5 * coef[j] * coef[j]
    return total


@kernel
def rebuild(X: Floats, y: Ints, weight: Floats, rows: int, C: float, coef: Floats, factor: Floats) -> None:
    """Set `factor` to the Cholesky factor of the Hessian at `coef`."""
    d = X.shape[1]
    for j in range(d + 1):
        for k in range(j + 1):
            factor[j, k] = 0.0
        factor[j, j] = 1.0
    factor[d, d] = 0.0
    for i in range(rows):
        x = X[i]
        p = sigmoid(margin(x, coef))
        h = C * weight[i] * p * (1.0 - p)
        last = factor[d]
        for j in range(d):
            c = h * x[j]
            if c != 0.0:
                row = factor[j]
                for k in range(j + 1):
                    row[k] += c * x[k]
                last[j] += c
        last[d] += h
    factorize(factor, factor, FLOOR)


@kernel
def absorb(x: Floats, scale: float, factor: Floats, scratch: Floats) -> None:
    """Update `factor` for the Hessian plus scale^2 (x, 1)(x, 1)^T (Golub and Van Loan 2013, section 6.5.4)."""
    d = x.size
    for j in range(d):
        scratch[j] = scale * x[j]
    scratch[d] = scale
    for j in range(d + 1):
        if scratch[j] != 0.0:
            pivot = factor[j, j]
            r = math.hypot(pivot, scratch[j])
            c, s = r / pivot, scratch[j] / pivot
            factor[j, j] = r
            for k in range(j + 1, d + 1):
                factor[k, j] = (factor[k, j] + s * scratch[k]) / c
                scratch[k] = c * scratch[k] - s * factor[k, j]


@kernel
def newton_step(factor: Floats, gradient: Floats, step: Floats) -> tuple[float, float]:
    """Set step = -H^-1 gradient and return (gradient . H^-1 gradient, the step's largest entry)."""
    size = gradient.size
    squared = 0.0
    for j in range(size):
        value = -gradient[j]
        for k in range(j):
            value -= factor[j, k] * step[k]
        step[j] = value / factor[j, j]
        squared += step[j] * step[j]
    largest = 0.0
    for j in range(size - 1, -1, -1):
        value = step[j]
        for k in range(j + 1, size):
            value -= factor[k, j] * step[k]
        step[j] = value / factor[j, j]
        largest = max(largest, abs(step[j]))
    return squared, largest


@kernel
def move(start: Floats, step: Floats, scale: float, target: Floats) -> None:
    """Set target = start + scale step."""
    for j in range(start.size):
        target[j] = start[j] + scale * step[j]


@kernel
def guarded_step(
    X: Floats,
    y: Ints,
    weight: Floats,
    rows: int,
    C: float,
    coef: Floats,
    gradient: Floats,
    step: Floats,
    trial: Floats,
    factor: Floats,
) -> None:
    """Move `coef` by a Newton step with the exact Hessian, halved until the objective falls (Armijo)."""
    rebuild(X, y, weight, rows, C, coef, factor)
    sweep(X, y, weight, rows, C, coef, gradient)
    squared, _ = newton_step(factor, gradient, step)
    value = objective(X, y, weight, rows, C, coef)
    scale = 1.0
    while scale > SMALLEST:
        move(coef, step, scale, trial)
        if objective(X, y, weight, rows, C, trial) <= value - 1e-4 * scale * squared:
            move(trial, step, 0.0, coef)
            return
        scale *= 0.5


@kernel
def refit(
    X: Floats,
    y: Ints,
    weight: Floats,
    known: int,
    rows: int,
    C: float,
    tolerance: float,
    patience: float,
    coef: Floats,
    gradient: Floats,
    step: Floats,
    trial: Floats,
    factor: Floats,
) -> int:
    """Move `coef` to the optimum over the first `rows` rows and return the number of Newton steps.

    `coef` and `factor` belong to the optimum over the first `known` rows; known = 0 says that `factor` belongs to
    nothing.
    """
    if known == 0:
        rebuild(X, y, weight, rows, C, coef, factor)
        sweep(X, y, weight, rows, C, coef, gradient)
    else:
        for j in range(coef.size):
            gradient[j] = 0.0
        add_gradient(X, y, weight, known, rows, C, coef, gradient)
        for i in range(known, rows):
            p = sigmoid(margin(X[i], coef))
            absorb(X[i], math.sqrt(C * weight[i] * p * (1.0 - p)), factor, step)
    before, largest = newton_step(factor, gradient, step)
    for steps in range(1, LIMIT):
        move(coef, step, 1.0, trial)
        sweep(X, y, weight, rows, C, trial, gradient)
        after, largest = newton_step(factor, gradient, step)
        if after * SHRINK <= before or largest <= tolerance:
            move(trial, step, 0.0, coef)
            if largest * math.sqrt(after / before) <= tolerance or largest <= tolerance:
                move(coef, step, 1.0, coef)
                return steps + 1
            # The factor belongs to an older point: slow progress shows that it no longer fits, and only then is
            # O(n d^2) for a new one cheaper than more steps.
            if after * patience > before:
                rebuild(X, y, weight, rows, C, coef, factor)
                after, largest = newton_step(factor, gradient, step)
            before = after
        else:
            guarded_step(X, y, weight, rows, C, coef, gradient, step, trial, factor)
            sweep(X, y, weight, rows, C, coef, gradient)
            before, largest = newton_step(factor, gradient, step)
    return LIMIT
