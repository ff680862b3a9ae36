"""The environment of a policy in a simulation, as kernels: individuals appear, rewards are drawn, an oracle judges, and
the measures are summed."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.kernels.compose import OPEN, kernel, routine
from evenhand.kernels.fair_program import Tree, solve
from evenhand.kernels.random import below, normal, uniform
from evenhand.similarity.metric import direct, interval
from evenhand.similarity.metric_state import TEACHING, MetricState
from evenhand.similarity.oracles import TIGHT, Truth, flag, true_distance
from evenhand.similarity.rule import PolicyState, RoundParams, draw, learn_reward

UNITS = {
    "regret": "expected reward lost against the best fair distribution, so far",
    "violations": "pairs treated more differently than their distance plus the precision, so far",
    "violated_rounds": "rounds with such a pair, so far",
    "violations_above_zero": "pairs treated more differently than their distance, so far",
    "verdicts": "pairs on which the auditor's verdict was used, so far",
    "contradictions": "verdicts that contradicted every metric, so far",
    "metric_updates": "verdicts that taught the metric, so far",
    "certificate": "epsilon times the prices of all pairs, so far",
}
SCORES = tuple(UNITS)
"""What is added up every round, in this order."""
REGRET, VIOLATIONS, VIOLATED_ROUNDS, ABOVE_ZERO, VERDICTS, CONTRADICTIONS, METRIC_UPDATES, CERTIFICATE = range(8)

ORTHANT, BALL, CLUSTERED, ADVERSARIAL, TABLE = range(5)

CANDIDATES = 16
"""From how many random pairs the adversary picks the one the policy knows least."""

decide = OPEN
learn_verdicts = OPEN


class Environment(NamedTuple):
    """State of a world with k individuals a round; fields below `stream` are scratch of the round."""

    kind: int
    """How individuals appear, `ORTHANT` and so on."""
    noise: float
    precision: float
    """epsilon."""
    selects_one: bool
    """Whether one individual is selected a round."""
    theta: Floats
    """(d,); an individual from a table brings `table_rewards` instead."""
    centres: Floats
    """(c, d): of the clusters, or the table's rows."""
    table_rewards: Floats
    """(c,)"""
    spread: float
    """Standard deviation around the clusters' centres."""
    stream: Words
    contexts: Floats
    """(k, d)"""
    rewards: Floats
    """(k,): expected."""
    noises: Floats
    """(k,): of the round."""
    distances: Floats
    """(k, k): true."""
    best: Floats
    """(k,): the best fair distribution."""
    said: Ints
    """(k, k): the oracle's verdicts."""
    status: Ints
    """(k, k): what came of them."""
    rows: Ints
    """(k,): of the table, or the clusters."""
    candidates: Floats
    """(2, d): two individuals that the adversary may show."""
    pair: Floats
    """(2, d): those that it shows."""
    totals: Floats
    """(n_scores,): see `SCORES`."""
    tree: Tree


@kernel
def point(x: Floats, kind: int, stream: Words) -> None:
    """Write a random individual to `x`: |N(0, I)| scaled to length 1, or uniform in the unit ball."""
    d = x.size
    square = 0.0
    for a in range(d):
        x[a] = normal(stream)
        square += x[a] * x[a]
    scale = 1.0 / math.sqrt(square)
    if kind != ORTHANT:
        scale *= uniform(stream) ** (1.0 / d)
    for a in range(d):
        x[a] = abs(x[a]) * scale if kind == ORTHANT else x[a] * scale


@routine
def show(world: Environment, metric: MetricState) -> None:
    """Write the individuals of a round, what each would bring, and the round's noise."""
    k, d = world.contexts.shape
    kind = world.kind
    for i in range(k):
        x = world.contexts[i]
        row = 0
        if kind >= CLUSTERED and kind != ADVERSARIAL:
            row = below(world.stream, world.centres.shape[0])
            world.rows[i] = row
            square = 0.0
            for a in range(d):
                x[a] = world.centres[row, a]
                if kind == CLUSTERED:
                    x[a] += world.spread * normal(world.stream)
                square += x[a] * x[a]
            if square > 1.0:
                for a in range(d):
                    x[a] /= math.sqrt(square)
        elif kind == ADVERSARIAL:
            if i % 2 == 0:
                show_widest_pair(world, metric)
            for a in range(d):
                x[a] = world.pair[i % 2, a]
        else:
            point(x, kind, world.stream)
        world.rewards[i] = 0.0
        if kind == TABLE:
            world.rewards[i] = world.table_rewards[row]
        else:
            for a in range(d):
                world.rewards[i] += world.theta[a] * x[a]
    for i in range(k):
        world.noises[i] = world.noise * normal(world.stream)


@kernel
def show_widest_pair(world: Environment, metric: MetricState) -> None:
    """Keep the pair, of several random ones, whose distance the policy knows least."""
    widest = -1.0
    for _ in range(CANDIDATES):
        point(world.candidates[0], BALL, world.stream)
        point(world.candidates[1], BALL, world.stream)
        direct(metric, world.candidates[0], world.candidates[1])
        low, _guess, high = interval(metric, 0)
        if high - low > widest:
            widest = high - low
            for a in range(world.pair.shape[1]):
                world.pair[0, a] = world.candidates[0, a]
                world.pair[1, a] = world.candidates[1, a]


@routine
def measure(world: Environment, truth: Truth, p: Floats) -> None:
    """Add the round's regret and violations to the totals."""
    k = p.size
    pairs, above_zero, regret = 0, 0, 0.0
    for i in range(k):
        for j in range(i + 1, k):
            d = true_distance(truth, world.contexts[i], world.contexts[j])
            world.distances[i, j] = d
            world.distances[j, i] = d
            gap = abs(p[i] - p[j])
            if gap > d * (1.0 + TIGHT) + TIGHT:
                above_zero += 1
                if gap > d + world.precision:
                    pairs += 1
    solve(world.rewards, world.distances, 1.0 if world.selects_one else np.inf, world.best, world.tree)
    for i in range(k):
        regret += (world.best[i] - p[i]) * world.rewards[i]
    world.totals[REGRET] += regret
    world.totals[VIOLATIONS] += pairs
    world.totals[VIOLATED_ROUNDS] += 1.0 if pairs > 0 else 0.0
    world.totals[ABOVE_ZERO] += above_zero


@routine
def play(
    params: RoundParams,
    state: PolicyState,
    metric: MetricState,
    world: Environment,
    truth: Truth,
    trace: Floats,
    checkpoints: Ints,
    first: int,
    last: int,
    row: int,
) -> tuple[int, int]:
    """Play rounds first .. last and write the totals at the checkpoints on the way to `trace`; stop early when a log
    is nearly full.

    Returns the last round that was played and the next checkpoint's row. A template over `decide` and `learn_verdicts`.
    """
    k = world.contexts.shape[0]
    need = 2 * k * k
    for round in range(first, last + 1):
        for copy in range(metric.counts.size):
            if metric.counts[copy] + need > metric.limits.shape[1]:
                return round - 1, row
        show(world, metric)
        decide(params, state, metric, world.contexts, round)
        draw(params, state)
        measure(world, truth, state.p)
        flag(world.contexts, state.p, world.said, truth)
        for i in range(k):
            for j in range(i + 1, k):
                if world.said[i, j] != 0 or state.undecided[i, j] & 1:
                    world.totals[VERDICTS] += 1.0
        world.totals[CONTRADICTIONS] += learn_verdicts(
            params, metric, world.contexts, state.p, state.undecided, world.said, world.status
        )
        for i in range(k):
            if state.chosen[i] == 1:
                learn_reward(state, world.contexts[i], world.rewards[i] + world.noises[i])
        if round == checkpoints[row]:
            world.totals[METRIC_UPDATES] = metric.tally[TEACHING]
            world.totals[CERTIFICATE] = state.certificate[0]
            for n in range(world.totals.size):
                trace[row, n] = world.totals[n]
            row += 1
    return last, row
