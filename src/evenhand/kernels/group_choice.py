"""Which group next: that of the largest value, or one drawn by weights."""

from __future__ import annotations

from evenhand.kernels.arrays import Bools, Floats, Ints, Words
from evenhand.kernels.compose import kernel
from evenhand.kernels.random import below, uniform

RANDOM, FIRST, LEAST = 0, 1, 2
"""How equals are told apart: by chance, by the lowest index, by the fewest samples."""


@kernel
def largest(values: Floats, available: Bools, ties: int, samples: Ints, costs: Floats, stream: Words) -> int:
    """Return the available index with the largest value; equals by cost first, then as `ties` says; -1 if none is
    available.
    """
    best, equals = -1, 0
    for z in range(values.size):
        if not available[z]:
            continue
        if best < 0 or values[z] > values[best] or (values[z] == values[best] and costs[z] < costs[best]):
            best, equals = z, 1
        elif values[z] == values[best] and costs[z] == costs[best]:
            equals += 1
            if ties == RANDOM:
                if below(stream, equals) == 0:
                    best = z
            elif ties == LEAST and samples[z] < samples[best]:
                best = z
    return best


@kernel
def drawn(weights: Floats, available: Bools, stream: Words) -> int:
    """Return an available index drawn with probability proportional to its weight."""
    total = 0.0
    for z in range(weights.size):
        if available[z]:
            total += weights[z]
    mark, last = uniform(stream) * total, -1
    for z in range(weights.size):
        if available[z] and weights[z] > 0.0:
            last = z
            mark -= weights[z]
            if mark < 0.0:
                return z
    return last
