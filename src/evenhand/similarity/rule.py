"""The rule of a round, as kernels: each individual's expected reward, how differently pairs may be treated, whom to
draw, and what is learned.

Source: S. Gillen, C. Jung, M. Kearns, A. Roth, "Online Learning with an Unknown Fairness Metric" (NeurIPS 2018),
Algorithms 1 and 2; Y. Abbasi-Yadkori, D. Pal, C. Szepesvari, "Improved Algorithms for Linear Stochastic Bandits"
(NeurIPS 2011), Theorem 2: the bounds.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.kernels.compose import OPEN, Kernel, bind, kernel, routine
from evenhand.kernels.fair_program import Tree, prices, solve, tree
from evenhand.kernels.random import uniform
from evenhand.similarity.metric import CONTRADICTED, NOTHING, direct, ends, interval, rooted, width
from evenhand.similarity.metric_state import MetricState

PASSES = 4
"""How often a round's program may be solved again because a certificate moved one of its tight pairs."""

learn = OPEN
EXPLICIT, ALL, FIRST = range(3)
"""Silence means nothing; or that the pair was treated acceptably; or that, where no pair at all is named."""


class RoundParams(NamedTuple):
    """What never changes."""

    one: bool
    """Whether one individual is selected a round, rather than each independently."""
    margin: bool
    """Whether certified lower ends of narrow pairs are played."""
    precision: float
    """epsilon."""
    delta: float
    """The failure probability."""
    ridge: float
    """lambda."""
    noise_scale: float
    shared: bool
    """Whether all pairs share a metric learner."""
    silence: int
    """What it means that nothing is said about a pair: `EXPLICIT`, `ALL` or `FIRST`."""
    theta: Floats
    """The rewards' weights where they are known (d,), else (0,)."""


class PolicyState(NamedTuple):
    """State of a policy for contexts (k, d); the fields below `theta` are scratch of the round."""

    stream: Words
    inverse: Floats
    """(d, d): of the regularised Gram matrix."""
    response: Floats
    """(d,): the sum of rewards times contexts."""
    theta: Floats
    """(d,): the ridge estimate."""
    image: Floats
    """(d,)"""
    rewards: Floats
    """(k,): optimistic."""
    allowed: Floats
    """(k, k): how differently pairs may be treated."""
    undecided: Ints
    """(k, k), i < j: [i, j] is 1 where the distance is not yet known to the precision, 2 where that was certified in
    this round; [j, i] is how often the metric learned in this round that its square is not negative."""
    p: Floats
    """(k,)"""
    chosen: Ints
    """(k,): 1 for who was drawn."""
    certificate: Floats
    """(1,): epsilon times the prices of all pairs, summed over all rounds."""
    tree: Tree


def new_state(d: int, k: int, ridge: float, stream: Words) -> PolicyState:
    """Return the state before the first round."""
    return PolicyState(
        stream,
        np.eye(d) / ridge,
        np.zeros(d),
        np.zeros(d),
        np.zeros(d),
        np.zeros(k),
        np.zeros((k, k)),
        np.zeros((k, k), np.int64),
        np.zeros(k),
        np.zeros(k, np.int64),
        np.zeros(1),
        tree(k),
    )


def resized(old: PolicyState, k: int) -> PolicyState:
    """Return the state with scratch for another number of individuals."""
    new = new_state(old.theta.size, k, 1.0, old.stream)
    return new._replace(inverse=old.inverse, response=old.response, theta=old.theta, certificate=old.certificate)


@routine
def expect(params: RoundParams, state: PolicyState, contexts: Floats, round: int) -> Any:
    """Write what each individual is expected to bring: known, or the ridge estimate plus its width, at most 1."""
    d = contexts.shape[1]
    known = params.theta.size > 0
    spread = params.noise_scale * math.sqrt(2.0 * d * math.log((1.0 + round / params.ridge) / params.delta))
    spread += math.sqrt(params.ridge)
    for i in range(contexts.shape[0]):
        mean, square = 0.0, 0.0
        for a in range(d):
            mean += contexts[i, a] * (params.theta[a] if known else state.theta[a])
            along = 0.0
            for b in range(d):
                along += state.inverse[a, b] * contexts[i, b]
            square += contexts[i, a] * along
        state.rewards[i] = mean if known else mean + min(1.0, math.sqrt(max(square, 0.0)) * spread)


@kernel
def narrow(metric: MetricState, low: float, high: float, precision: float) -> Any:
    """Return whether an interval is as narrow as verdicts can make it."""
    slack = metric.tolerance
    if metric.linear:
        return width(metric, low + slack, high - slack) <= precision
    return width(metric, low * low + slack, high * high - slack) <= precision


@kernel
def set_limit(
    params: RoundParams, state: PolicyState, metric: MetricState, i: int, j: int, low: float, guess: float, high: float
) -> Any:
    """Enter how differently a pair may be treated: the guess, or the lower end once the pair is narrow."""
    settled = narrow(metric, low, high, params.precision)
    allowed = low if settled and params.margin else guess
    state.allowed[i, j] = allowed
    state.allowed[j, i] = allowed
    state.undecided[i, j] = 0 if settled else 1


@kernel
def pair_number(params: RoundParams, k: int, i: int, j: int) -> Any:
    return 0 if params.shared else i * (2 * k - i - 1) // 2 + j - i - 1


@routine
def decide(params: RoundParams, state: PolicyState, metric: MetricState, contexts: Floats, round: int) -> Any:
    """Write the round's distribution to `state.p`. A template over `learn`."""
    k = contexts.shape[0]
    precision = params.precision
    budget = 1.0 if params.one else np.inf
    expect(params, state, contexts, round)
    for i in range(k):
        for j in range(i + 1, k):
            copy = pair_number(params, k, i, j)
            direct(metric, contexts[i], contexts[j])
            low, guess, high = interval(metric, copy)
            state.undecided[j, i] = 0
            # A guess of 0 for want of knowledge would treat the two alike, and a pair treated alike teaches nothing.
            for _ in range(3):
                if guess > 0.0 or narrow(metric, low, high, precision):
                    break
                if learn(metric, copy, 0.0, False, precision) != NOTHING:
                    state.undecided[j, i] += 1
                low, guess, high = interval(metric, copy)
            set_limit(params, state, metric, i, j, low, guess, high)
    price = 0.0
    for _ in range(PASSES):
        _, price = solve(state.rewards, state.allowed, budget, state.p, state.tree)
        if not metric.programs or not certify(params, state, metric, contexts):
            break
    prices(state.rewards, price, state.tree)
    for i in range(k):
        if 0 <= state.tree.parent[i] < k:
            state.certificate[0] += precision * max(state.tree.sums[i], 0.0)


@routine
def certify(params: RoundParams, state: PolicyState, metric: MetricState, contexts: Floats) -> Any:
    """Certify the pairs of the program's basis that were not certified in this round; return whether a limit
    moved."""
    k = contexts.shape[0]
    moved = False
    # Pairs outside the basis are left: they bind nothing, and k^2 linear programs a round would take too long.
    for node in range(k):
        parent = state.tree.parent[node]
        if 0 <= parent < k:
            i, j = min(node, parent), max(node, parent)
            if state.undecided[i, j] < 2:
                before = state.allowed[i, j]
                direct(metric, contexts[i], contexts[j])
                if metric.length[0] > 0.0:
                    least, guess, most = ends(metric, pair_number(params, k, i, j))
                    set_limit(params, state, metric, i, j, rooted(metric, least), guess, rooted(metric, most))
                state.undecided[i, j] += 2
                moved = moved or abs(state.allowed[i, j] - before) > 1e-12
    return moved


@kernel
def draw(params: RoundParams, state: PolicyState) -> Any:
    """Draw from `state.p` into `state.chosen`; return the first who was drawn, or -1 for nobody."""
    first = -1
    one = params.one
    rest = uniform(state.stream) if one else 0.0
    for i in range(state.p.size):
        state.chosen[i] = 0
        if one:
            if first < 0 and rest < state.p[i]:
                state.chosen[i] = 1
                first = i
            rest -= state.p[i]
        elif uniform(state.stream) < state.p[i]:
            state.chosen[i] = 1
            if first < 0:
                first = i
    return first


@kernel
def learn_reward(state: PolicyState, x: Floats, reward: float) -> Any:
    """Learn a reward: one step of ridge regression (Sherman and Morrison 1950)."""
    d = x.size
    square = 1.0
    for a in range(d):
        along = 0.0
        for b in range(d):
            along += state.inverse[a, b] * x[b]
        state.image[a] = along
        square += x[a] * along
        state.response[a] += reward * x[a]
    for a in range(d):
        for b in range(d):
            state.inverse[a, b] -= state.image[a] * state.image[b] / square
    # Moved step by step, theta would keep the rounding of every round; from the response it is as exact as the inverse.
    for a in range(d):
        along = 0.0
        for b in range(d):
            along += state.inverse[a, b] * state.response[b]
        state.theta[a] = along


@routine
def learn_verdicts(
    params: RoundParams, metric: MetricState, contexts: Floats, p: Floats, undecided: Ints, said: Ints, status: Ints
) -> Any:
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
    meaning = params.silence
    telling = meaning == ALL or (meaning == FIRST and named == 0)
    for i in range(k):
        for j in range(i + 1, k):
            status[i, j] = NOTHING
            silent = telling and undecided[i, j] & 1 == 1
            if said[i, j] != 0 or silent:
                direct(metric, contexts[i], contexts[j])
                copy = pair_number(params, k, i, j)
                status[i, j] = learn(metric, copy, abs(p[i] - p[j]), said[i, j] > 0, params.precision)
                if status[i, j] == CONTRADICTED:
                    contradicted += 1
    return contradicted


def rule_kernels(learn: Kernel) -> tuple[Any, Any]:
    """Return (decide, learn_verdicts) over a metric learner's `learn`."""
    return bind(decide, learn=learn), bind(learn_verdicts, learn=learn)
