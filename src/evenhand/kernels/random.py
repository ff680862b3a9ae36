"""Random numbers for kernels: xoshiro256+ over a state of four words (Blackman and Vigna 2021), and what is drawn from
it."""

from __future__ import annotations

import math

import numpy as np

from evenhand.kernels.arrays import Floats, Words
from evenhand.kernels.compose import kernel

_23 = np.uint64(23)
_17 = np.uint64(17)
_45 = np.uint64(45)
_19 = np.uint64(19)
_11 = np.uint64(11)


@kernel
def uniform(stream: Words) -> float:
    """Return a double in [0, 1) with 53 random bits."""
    s0, s1, s2, s3 = stream[0], stream[1], stream[2], stream[3]
    result = s0 + s3
    t = s1 << _17
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= t
    s3 = (s3 << _45) | (s3 >> _19)
    stream[0], stream[1], stream[2], stream[3] = s0, s1, s2, s3
    return float(result >> _11) * 1.1102230246251565e-16


@kernel
def below(stream: Words, bound: int) -> int:
    """Return an integer in {0, ..., bound - 1}; the bias is under bound / 2^53."""
    return int(uniform(stream) * bound)


@kernel
def draw(stream: Words, probabilities: Floats) -> int:
    """Return the index of an entry of a distribution, drawn by it; never one of probability 0."""
    left, index = uniform(stream), -1
    for i in range(probabilities.size):
        if probabilities[i] > 0.0:  # else rounding in the sum could end the walk at an arm that must not be played
            index = i
            left -= probabilities[i]
            if left < 0.0:
                break
    return index


@kernel
def normal(stream: Words) -> float:
    """Return a standard normal by the polar method (Marsaglia and Bray 1964), its second value thrown away."""
    while True:
        x = 2.0 * uniform(stream) - 1.0
        y = 2.0 * uniform(stream) - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            return x * math.sqrt(-2.0 * math.log(square) / square)


@kernel
def gamma(stream: Words, shape: float) -> float:
    """Return a gamma variate with the given shape >= 1 and scale 1 (Marsaglia and Tsang 2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(stream)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = uniform(stream)
        if u < 1.0 - 0.0331 * x * x * x * x:
            return d * v
        if math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
            return d * v


@kernel
def beta(stream: Words, a: float, b: float) -> float:
    """Return a Beta(a, b) variate, a and b >= 1."""
    x = gamma(stream, a)
    return x / (x + gamma(stream, b))
