"""Which group next: the Mann-Kendall trend, optimistic bounds on the groups' risks, and the largest of them."""

from __future__ import annotations

import math

from evenhand.kernels.arrays import Bools, Floats, Ints, Words
from evenhand.kernels.compose import kernel
from evenhand.kernels.random import below, uniform

RANDOM, FIRST, LEAST = 0, 1, 2
"""How equals are told apart: by chance, by the lowest index, by the fewest samples."""


@kernel
def mann_kendall(values: Floats, n: int) -> tuple[int, float]:
    """Return (S, variance of S corrected for ties) of the first n values."""
    score, ties = 0, 0
    for i in range(n):
        equal, seen_before = 1, False
        for j in range(n):
            if j < i:
                seen_before = seen_before or values[j] == values[i]
            elif j > i:
                if values[j] > values[i]:
                    score += 1
                elif values[j] < values[i]:
                    score -= 1
                else:
                    equal += 1
        if not seen_before:
            ties += equal * (equal - 1) * (2 * equal + 5)
    return score, (n * (n - 1) * (2 * n + 5) - ties) / 18.0


@kernel
def remember(history: Floats, lengths: Ints, z: int, value: float) -> None:
    """Append `value` to the series history[z]; the oldest leaves when the window is full."""
    series = history[z]
    if lengths[z] == series.size:
        for j in range(series.size - 1):
            series[j] = series[j + 1]
        lengths[z] -= 1
    series[lengths[z]] = value
    lengths[z] += 1


@kernel
def heuristic_bounds(
    sums: Floats,
    counts: Ints,
    samples: Ints,
    exploration: float,
    trend: float,
    history: Floats,
    lengths: Ints,
    bounds: Floats,
) -> None:
    """Set bounds[z] = risk + c0 / sqrt(N) + c1 S / sqrt(var S); infinite where the risk is not known yet."""
    for z in range(bounds.size):
        if counts[z] == 0 or samples[z] == 0:
            bounds[z] = math.inf
            continue
        bounds[z] = sums[z] / counts[z] + exploration / math.sqrt(samples[z])
        if trend != 0.0:
            score, variance = mann_kendall(history[z], lengths[z])
            if variance > 0.0:
                bounds[z] += trend * score / math.sqrt(variance)


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


@kernel
def safe_start(draws: Ints, samples: Ints, available: Bools, first_rounds: int, xi: float) -> tuple[int, int]:
    """Return (z, why): 1, a group with fewer than `first_rounds` draws; 2, one with fewer than t^xi samples (xi >=
    0); 0, neither.
    """
    fewest, least, total = -1, -1, 0
    for z in range(draws.size):
        total += samples[z]
        if available[z]:
            if fewest < 0 or draws[z] < draws[fewest]:
                fewest = z
            if least < 0 or samples[z] < samples[least]:
                least = z
    if draws[fewest] < first_rounds:
        return fewest, 1
    if xi >= 0.0 and samples[least] < total**xi:
        return least, 2
    return -1, 0
