"""Auditors: who points at the pairs that were treated too differently."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arguments import array, one_of, real
from evenhand.data.rows import in_step
from evenhand.errors import ArgumentError, Wording, expected
from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.kernels.compose import entry, kernel
from evenhand.kernels.random import uniform
from evenhand.rng import Seed, draw_seed, stream
from evenhand.similarity.lazy_kernels import lazy_kernel
from evenhand.similarity.reading import LARGEST_FEATURE

Pair = tuple[int, int]
Auditor = Callable[[Floats, Floats], list[Pair]]
"""Anything that takes contexts (k, d) and probabilities (k,) and returns the pairs that were treated too
differently."""

TIGHT = 1e-9
"""A gap exceeds a distance only if it does so by more than this, relatively and absolutely: below, it is rounding."""


class Truth(NamedTuple):
    """What an oracle knows: A (r, d), how often it errs, and whether it names the worst pair alone."""

    A: Floats
    error_rate: float
    names_one: bool
    stream: Words


@kernel
def true_distance(truth: Truth, x: Floats, y: Floats) -> Any:
    """Return ||A(x - y)||_2."""
    square = 0.0
    for row in range(truth.A.shape[0]):
        along = 0.0
        for a in range(x.size):
            along += truth.A[row, a] * (x[a] - y[a])
        square += along * along
    return math.sqrt(square)


@kernel
def flag(contexts: Floats, p: Floats, said: Ints, truth: Truth) -> Any:
    """Write 1 for every pair that is called unfair to `said`, 0 for the others; return how many."""
    k = p.size
    named, worst, first, second = 0, -1.0, -1, -1
    for i in range(k):
        for j in range(i + 1, k):
            gap = abs(p[i] - p[j])
            d = true_distance(truth, contexts[i], contexts[j])
            unfair = gap > d * (1.0 + TIGHT) + TIGHT
            if truth.error_rate > 0.0 and uniform(truth.stream) < truth.error_rate and gap > TIGHT:
                unfair = not unfair
            said[i, j] = 1 if unfair else 0
            if unfair:
                named += 1
                if gap - d > worst:
                    worst, first, second = gap - d, i, j
    if truth.names_one and named > 0:
        for i in range(k):
            for j in range(i + 1, k):
                said[i, j] = 0
        said[first, second] = 1
        named = 1
    return named


@kernel
def _distances(contexts: Floats, out: Floats, truth: Truth) -> Any:
    for i in range(contexts.shape[0]):
        for j in range(contexts.shape[0]):
            out[i, j] = true_distance(truth, contexts[i], contexts[j])


def _pairs_work(contexts: Floats, *arguments: object) -> int:
    return 10 * len(contexts) ** 2 * int(contexts.shape[1])


_flag_entry, _distances_entry = (lazy_kernel(entry(one), _pairs_work) for one in (flag, _distances))


class MahalanobisOracle:
    """The auditor of the paper: a pair is treated unfairly when |p_i - p_j| > d(x_i, x_j) = ||A(x_i - x_j)||_2.

    Parameters
    ----------
    A : the matrix (r, d), of any rank.
    names : "all" violated pairs, or only the worst "one" whenever there is one. With "one", a shared learner only takes
        longer: a round with a violation teaches about one pair, a round without teaches about all.
    error_rate : the probability that a verdict is wrong. Use `MomentDistance` with an `error_rate` at least as large;
        with other learners nothing is guaranteed.
    seed : the seed of the errors.

    Raises
    ------
    ArgumentError
        If A is not a finite matrix, or a number is out of range.

    Examples
    --------
    >>> oracle = MahalanobisOracle([[0.5, 0.0]])
    >>> oracle([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]], [0.8, 0.2, 0.8])
    [(0, 1), (1, 2)]

    Source: Gillen, Jung, Kearns, Roth (2018), Definition 3 and Section 2.1.
    """

    def __init__(
        self,
        A: ArrayLike,
        *,
        names: Literal["all", "one"] = "all",
        error_rate: float = 0.0,
        seed: Seed = None,
    ) -> None:
        self.A, self.names, self.seed = read_matrix(A), one_of("names", names, ("all", "one")), draw_seed(seed)
        self.error_rate = real("error_rate", error_rate, low=0, below=0.5)
        self.reset(self.seed)

    def reset(self, seed: int) -> None:
        """Start the stream of errors anew."""
        self.truth = Truth(self.A, self.error_rate, self.names == "one", stream(seed))

    def __call__(self, contexts: ArrayLike, probabilities: ArrayLike) -> list[Pair]:
        """Return the pairs (i, j), i < j, that are called unfair.

        Raises
        ------
        ArgumentError
            If contexts are not finite numbers of shape (k, d), or probabilities not k numbers in [0, 1], or they carry
            different row labels.
        """
        contexts, probabilities = in_step(("contexts", contexts), ("probabilities", probabilities))
        x = self._checked(contexts)
        p = array("probabilities", probabilities, f"{len(x)} numbers, one per context", dimensions=1)
        if p.size != len(x):
            raise ArgumentError(expected("probabilities", f"{len(x)} numbers, one per context", p.size))
        if p.min() < -TIGHT or p.max() > 1.0 + TIGHT:
            raise ArgumentError(expected("probabilities", "numbers in [0, 1]", p.tolist()))
        said = np.zeros((p.size, p.size), np.int64)
        _flag_entry(x, p, said, self.truth)
        return [(int(i), int(j)) for i, j in np.argwhere(said)]

    def distances(self, contexts: ArrayLike) -> Floats:
        """Return the true distances (k, k) between individuals with contexts (k, d).

        Raises
        ------
        ArgumentError
            If contexts are not finite numbers of shape (k, d).
        """
        x = self._checked(contexts)
        out = np.zeros((len(x), len(x)))
        _distances_entry(x, out, self.truth)
        return out

    def _checked(self, contexts: ArrayLike) -> Floats:
        what = f"finite numbers of shape (k, {self.A.shape[1]})"
        x = array("contexts", contexts, what, dimensions=2, largest=LARGEST_FEATURE)
        if x.shape[1] != self.A.shape[1]:
            raise ArgumentError(expected("contexts", what, Wording(f"an array of shape {x.shape}")))
        return x


def read_matrix(A: ArrayLike) -> Floats:
    """Return A as a finite matrix (r, d), refusing anything else."""
    return array("A", A, "a finite matrix (r, d)", dimensions=2, largest=LARGEST_FEATURE)
