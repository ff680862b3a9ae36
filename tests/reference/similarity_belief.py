"""The belief about a diagonal metric where answers may be wrong, on a grid, and the e-value of its misfit by loops."""

import math

import numpy as np
from scipy.integrate import quad


def weight(wrong, answers):
    """Return int_0^(1/2) r^wrong (1 - r)^(answers - wrong + 3) dr."""
    return quad(lambda r: r**wrong * (1.0 - r) ** (answers - wrong + 3), 0.0, 0.5, epsabs=0.0, epsrel=1e-10)[0]


def grid(directions, squares, unfair, radius, points):
    """Return the points (n, m) of a grid over diagonal metrics within the radius, and their probabilities."""
    axis = (np.arange(points) + 0.5) / points * radius
    metrics = np.stack(np.meshgrid(*[axis] * directions.shape[1], indexing="ij"), axis=-1).reshape(
        -1, directions.shape[1]
    )
    metrics = metrics[np.linalg.norm(metrics, axis=1) <= radius]
    wrong = np.zeros(len(metrics), int)
    for u, square, said in zip(directions, squares, unfair, strict=True):
        wrong += (metrics @ u > square) if said else (metrics @ u < square)
    table = [weight(k, len(squares)) for k in range(len(squares) + 1)]
    chances = np.array(table)[wrong]
    return metrics, chances / chances.sum()


def evidence(wrong, unfair, region):
    """Return ln of the bet on a region and on what is expected, against one rate, with lists of bools."""
    n, bad = len(wrong), sum(wrong)
    most = sum(k * math.log(k / n) for k in (bad, n - bad) if k)
    total = -most
    for inside in (True, False):
        for side in (True, False):
            cell = [w for w, u, here in zip(wrong, unfair, region, strict=True) if here == inside and u == side]
            for place, one in enumerate(cell):  # the KT estimator, one answer after another
                share = (sum(cell[:place]) + 0.5) / (place + 1.0)
                total += math.log(share if one else 1.0 - share)
    return total
