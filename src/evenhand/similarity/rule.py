"""The rule of a round, as kernels: what to expect of each individual, how differently pairs may be treated, whom to
draw, what was learned.

Source: S. Gillen, C. Jung, M. Kearns, A. Roth, "Online Learning with an Unknown Fairness Metric" (NeurIPS 2018),
Algorithms 1 and 2; Y. Abbasi-Yadkori, D. Pal, C. Szepesvari, "Improved Algorithms for Linear Stochastic Bandits"
(NeurIPS 2011), Theorem 2: the bounds.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.kernels.compose import OPEN, bind, kernel, routine
from evenhand.kernels.fair_program import Tree, prices, solve, tree
from evenhand.kernels.random import uniform
from evenhand.similarity.metric import CONTRADICTED, NOTHING, PROGRAMS, TOLERANCE, certified, direct, interval, width

__all__ = [
    "ALL",
    "EXPLICIT",
    "FIRST",
    "Mind",
    "RuleParams",
    "decide",
    "draw",
    "gain",
    "judge",
    "mind",
    "resized",
    "rule_kernels",
]

PASSES = 4
"""How often a round's program may be solved again because a certificate moved one of its tight pairs."""

learn = OPEN


class RuleParams(NamedTuple):
    """What never changes, as an array of numbers and the rewards' weights where they are known (d,), else (0,)."""

    numbers: NDArray[np.float64]
    theta: NDArray[np.float64]


ONE, MARGIN, PRECISION, DELTA, RIDGE, NOISE, SHARED, SILENCE = range(8)
"""Where `RuleParams.numbers` holds: 1 to select one; 1 to play certified lower bounds of narrow pairs; epsilon; the
failure
probability; lambda; the noise scale; 1 where pairs share a learner; what silence about a pair means."""

EXPLICIT, ALL, FIRST = range(3)
"""Silence means nothing; or that the pair was treated acceptably; or that, where no pair at all is named."""


class Mind(NamedTuple):
    """State of a policy for contexts (k, d); the fields below `theta` are scratch of the round."""

    stream: NDArray[np.uint64]
    inverse: NDArray[np.float64]
    """(d, d): of the regularised Gram matrix."""
    response: NDArray[np.float64]
    """(d,): the sum of rewards times contexts."""
    theta: NDArray[np.float64]
    """(d,): the ridge estimate."""
    image: NDArray[np.float64]
    """(d,)"""
    rewards: NDArray[np.float64]
    """(k,): optimistic."""
    allowed: NDArray[np.float64]
    """(k, k): how differently pairs may be treated."""
    undecided: NDArray[np.int64]
    """(k, k), i < j: [i, j] is 1 where the distance is not yet known to the precision, 2 where that was certified in
    this round; [j, i] is how often the metric learned in this round that its square is not negative."""
    p: NDArray[np.float64]
    """(k,)"""
    chosen: NDArray[np.int64]
    """(k,): 1 for who was drawn."""
    steps: NDArray[np.int64]
    """(2,): steps of the fair program, rounds in which it passed its cap."""
    certificate: NDArray[np.float64]
    """(1,): epsilon times the prices of all pairs, summed over all rounds."""
    tree: Tree


def mind(d: int, k: int, ridge: float, stream: NDArray[np.uint64]) -> Mind:
    """Return the state before the first round."""
    return Mind(
        stream, np.eye(d) / ridge, np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(k), np.zeros((k, k)),
        np.zeros((k, k), np.int64), np.zeros(k), np.zeros(k, np.int64), np.zeros(2, np.int64), np.zeros(1),
        tree(k),
    )  # fmt: skip


def resized(old: Mind, k: int) -> Mind:
    """Return the state with scratch for another number of individuals."""
    new = mind(old.theta.size, k, 1.0, old.stream)
    kept = ("inverse", "response", "theta", "steps", "certificate")
    return new._replace(**{name: getattr(old, name) for name in kept})


@routine
def expect(params: Any, mind: Any, contexts: Any, round: Any) -> Any:
    """Write what each individual is expected to bring: known, or the ridge estimate plus its width, at most 1."""
    d = contexts.shape[1]
    known = params.theta.size > 0
    numbers = params.numbers
    spread = numbers[NOISE] * math.sqrt(2.0 * d * math.log((1.0 + round / numbers[RIDGE]) / numbers[DELTA]))
    spread += math.sqrt(numbers[RIDGE])
    for i in range(contexts.shape[0]):
        mean, square = 0.0, 0.0
        for a in range(d):
            mean += contexts[i, a] * (params.theta[a] if known else mind.theta[a])
            along = 0.0
            for b in range(d):
                along += mind.inverse[a, b] * contexts[i, b]
            square += contexts[i, a] * along
        mind.rewards[i] = mean if known else mean + min(1.0, math.sqrt(max(square, 0.0)) * spread)


@kernel
def narrow(belief: Any, low: Any, high: Any, precision: Any) -> Any:
    """Say whether an interval is as narrow as verdicts can make it."""
    slack = belief.options[TOLERANCE]
    return width(low * low + slack, high * high - slack) <= precision


@kernel
def limit(params: Any, mind: Any, belief: Any, i: Any, j: Any, low: Any, guess: Any, high: Any) -> Any:
    """Enter how differently a pair may be treated: the guess, or the lower end once the pair is narrow."""
    settled = narrow(belief, low, high, params.numbers[PRECISION])
    allowed = low if settled and params.numbers[MARGIN] > 0.0 else guess
    mind.allowed[i, j] = allowed
    mind.allowed[j, i] = allowed
    mind.undecided[i, j] = 0 if settled else 1


@kernel
def pair_number(params: Any, k: Any, i: Any, j: Any) -> Any:
    return 0 if params.numbers[SHARED] > 0.0 else i * (2 * k - i - 1) // 2 + j - i - 1


@routine
def decide(params: Any, mind: Any, belief: Any, contexts: Any, round: Any) -> Any:
    """Write the round's distribution to `mind.p`. A template over `learn`."""
    k = contexts.shape[0]
    precision = params.numbers[PRECISION]
    one = params.numbers[ONE] > 0.0
    expect(params, mind, contexts, round)
    for i in range(k):
        for j in range(i + 1, k):
            copy = pair_number(params, k, i, j)
            direct(belief, contexts[i], contexts[j])
            low, guess, high = interval(belief, copy)
            mind.undecided[j, i] = 0
            for _ in range(3):
                if guess > 0.0 or narrow(belief, low, high, precision):
                    break
                if learn(belief, copy, 0.0, False, precision) != NOTHING:
                    mind.undecided[j, i] += 1
                low, guess, high = interval(belief, copy)
            limit(params, mind, belief, i, j, low, guess, high)
    price = 0.0
    for _ in range(PASSES):
        steps, price = solve(mind.rewards, mind.allowed, one, mind.p, mind.tree)
        mind.steps[0] += max(steps, 0)
        if steps < 0:
            mind.steps[1] += 1
        if belief.options[PROGRAMS] == 0.0 or not certify(params, mind, belief, contexts):
            break
    prices(mind.rewards, price, mind.tree)
    for i in range(k):
        if 0 <= mind.tree.parent[i] < k:
            mind.certificate[0] += precision * max(mind.tree.sums[i], 0.0)


@routine
def certify(params: Any, mind: Any, belief: Any, contexts: Any) -> Any:
    """Certify the pairs of the program's basis that were not certified in this round; return whether a limit
    moved."""
    k = contexts.shape[0]
    moved = False
    for node in range(k):
        parent = mind.tree.parent[node]
        if 0 <= parent < k:
            i, j = min(node, parent), max(node, parent)
            if mind.undecided[i, j] < 2:
                before = mind.allowed[i, j]
                direct(belief, contexts[i], contexts[j])
                if belief.length[0] > 0.0:
                    low, guess, high = certified(belief, pair_number(params, k, i, j))
                    limit(params, mind, belief, i, j, low, guess, high)
                mind.undecided[i, j] += 2
                moved = moved or abs(mind.allowed[i, j] - before) > 1e-12
    return moved


@kernel
def draw(params: Any, mind: Any) -> Any:
    """Draw from `mind.p` into `mind.chosen`; return the first who was drawn, or -1 for nobody."""
    first = -1
    one = params.numbers[ONE] > 0.0
    rest = uniform(mind.stream) if one else 0.0
    for i in range(mind.p.size):
        mind.chosen[i] = 0
        if one:
            if first < 0 and rest < mind.p[i]:
                mind.chosen[i] = 1
                first = i
            rest -= mind.p[i]
        elif uniform(mind.stream) < mind.p[i]:
            mind.chosen[i] = 1
            if first < 0:
                first = i
    return first


@kernel
def gain(mind: Any, x: Any, reward: Any) -> Any:
    """Learn a reward: one step of ridge regression (Sherman and Morrison 1950)."""
    d = x.size
    square = 1.0
    for a in range(d):
        along = 0.0
        for b in range(d):
            along += mind.inverse[a, b] * x[b]
        mind.image[a] = along
        square += x[a] * along
        mind.response[a] += reward * x[a]
    for a in range(d):
        for b in range(d):
            mind.inverse[a, b] -= mind.image[a] * mind.image[b] / square
    for a in range(d):
        along = 0.0
        for b in range(d):
            along += mind.inverse[a, b] * mind.response[b]
        mind.theta[a] = along


@routine
def judge(params: Any, belief: Any, contexts: Any, p: Any, undecided: Any, said: Any, status: Any) -> Any:
    """Learn the auditor's verdicts, said (k, k): 1 unfair, -1 acceptable, 0 silent; write what came of each to
    `status`.

    Returns how many contradicted every metric. A template over `learn`.
    """
    k = contexts.shape[0]
    contradicted, named = 0, 0
    for i in range(k):
        for j in range(i + 1, k):
            if said[i, j] > 0:
                named += 1
    meaning = params.numbers[SILENCE]
    telling = meaning == ALL or (meaning == FIRST and named == 0)
    for i in range(k):
        for j in range(i + 1, k):
            status[i, j] = NOTHING
            silent = telling and undecided[i, j] & 1 == 1
            if said[i, j] != 0 or silent:
                direct(belief, contexts[i], contexts[j])
                copy = pair_number(params, k, i, j)
                status[i, j] = learn(belief, copy, abs(p[i] - p[j]), said[i, j] > 0, params.numbers[PRECISION])
                if status[i, j] == CONTRADICTED:
                    contradicted += 1
    return contradicted


def rule_kernels(learn: Any) -> tuple[Any, Any]:
    """Return (decide, judge) over a metric learner's `learn`."""
    return bind(decide, learn=learn), bind(judge, learn=learn)
