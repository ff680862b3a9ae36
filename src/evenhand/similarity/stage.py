"""What happens around a policy in a simulation, as kernels: individuals appear, rewards come, an oracle judges, the
measures add up."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.kernels.compose import OPEN, kernel, routine
from evenhand.kernels.fair_program import Tree, solve, tree
from evenhand.kernels.random import below, normal, uniform
from evenhand.similarity.metric import direct, interval
from evenhand.similarity.oracles import TIGHT, flag, true_distance
from evenhand.similarity.rule import draw, gain

__all__ = ["SCORES", "Stage", "answer", "appear", "measure", "play", "stage"]

SCORES = (
    "regret", "violations", "violated_rounds", "violations_above_zero", "verdicts", "contradictions", "metric_updates",
    "certificate",
)  # fmt: skip
"""What is added up every round, in this order."""

KIND, NOISE, PRECISION, SELECTS_ONE = range(4)
"""Where `Stage.numbers` holds: how individuals appear; the noise; epsilon; 1 where one individual is selected."""

ORTHANT, BALL, CLUSTERED, ADVERSARIAL, TABLE = range(5)

CANDIDATES = 16
"""From how many random pairs the adversary picks the one the policy knows least."""

decide = OPEN
judge = OPEN


class Stage(NamedTuple):
    """State of a world with k individuals a round; fields below `stream` are scratch of the round."""

    numbers: NDArray[np.float64]
    theta: NDArray[np.float64]
    """(d,); an individual from a table brings `table_rewards` instead."""
    centres: NDArray[np.float64]
    """(c, d): of the clusters, or the table's rows."""
    table_rewards: NDArray[np.float64]
    """(c,)"""
    spread: NDArray[np.float64]
    """(1,): standard deviation around the clusters' centres."""
    stream: NDArray[np.uint64]
    contexts: NDArray[np.float64]
    """(k, d)"""
    rewards: NDArray[np.float64]
    """(k,): expected."""
    noise: NDArray[np.float64]
    """(k,): of the round."""
    distances: NDArray[np.float64]
    """(k, k): true."""
    best: NDArray[np.float64]
    """(k,): the best fair distribution."""
    said: NDArray[np.int64]
    """(k, k): the oracle's verdicts."""
    status: NDArray[np.int64]
    """(k, k): what came of them."""
    rows: NDArray[np.int64]
    """(k,): of the table, or the clusters."""
    pair: NDArray[np.float64]
    """(4, d): the adversary's candidate and the pair it keeps."""
    totals: NDArray[np.float64]
    """(n_scores,)"""
    tree: Tree


def stage(
    numbers: list[float],
    theta: NDArray[np.float64],
    centres: NDArray[np.float64],
    table_rewards: NDArray[np.float64],
    spread: float,
    k: int,
    stream: NDArray[np.uint64],
) -> Stage:
    """Return the state before the first round."""
    d = centres.shape[1]
    return Stage(
        np.array(numbers), theta, centres, table_rewards, np.array([spread]), stream, np.zeros((k, d)), np.zeros(k),
        np.zeros(k), np.zeros((k, k)), np.zeros(k), np.zeros((k, k), np.int64), np.zeros((k, k), np.int64),
        np.zeros(k, np.int64), np.zeros((4, d)), np.zeros(len(SCORES)), tree(k),
    )  # fmt: skip


@kernel
def point(x: Any, kind: int, stream: Any) -> None:
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
def appear(stage: Any, belief: Any) -> None:
    """Write the individuals of a round, what each would bring, and the round's noise."""
    k, d = stage.contexts.shape
    kind = int(stage.numbers[KIND])
    for i in range(k):
        x = stage.contexts[i]
        row = 0
        if kind >= CLUSTERED and kind != ADVERSARIAL:
            row = below(stage.stream, stage.centres.shape[0])
            stage.rows[i] = row
            square = 0.0
            for a in range(d):
                x[a] = stage.centres[row, a]
                if kind == CLUSTERED:
                    x[a] += stage.spread[0] * normal(stage.stream)
                square += x[a] * x[a]
            if square > 1.0:
                for a in range(d):
                    x[a] /= math.sqrt(square)
        elif kind == ADVERSARIAL:
            if i % 2 == 0:
                corner(stage, belief)
            for a in range(d):
                x[a] = stage.pair[2 + i % 2, a]
        else:
            point(x, kind, stage.stream)
        stage.rewards[i] = 0.0
        if kind == TABLE:
            stage.rewards[i] = stage.table_rewards[row]
        else:
            for a in range(d):
                stage.rewards[i] += stage.theta[a] * x[a]
    for i in range(k):
        stage.noise[i] = stage.numbers[NOISE] * normal(stage.stream)


@kernel
def corner(stage: Any, belief: Any) -> None:
    """Keep the pair, of several random ones, whose distance the policy knows least."""
    widest = -1.0
    for _ in range(CANDIDATES):
        point(stage.pair[0], BALL, stage.stream)
        point(stage.pair[1], BALL, stage.stream)
        direct(belief, stage.pair[0], stage.pair[1])
        low, _guess, high = interval(belief, 0)
        if high - low > widest:
            widest = high - low
            for a in range(stage.pair.shape[1]):
                stage.pair[2, a] = stage.pair[0, a]
                stage.pair[3, a] = stage.pair[1, a]


@routine
def measure(stage: Any, truth: Any, p: Any) -> None:
    """Add the round's regret and violations to the totals."""
    k = p.size
    pairs, above_zero, regret = 0, 0, 0.0
    for i in range(k):
        for j in range(i + 1, k):
            d = true_distance(truth, stage.contexts[i], stage.contexts[j])
            stage.distances[i, j] = d
            stage.distances[j, i] = d
            gap = abs(p[i] - p[j])
            if gap > d * (1.0 + TIGHT) + TIGHT:
                above_zero += 1
                if gap > d + stage.numbers[PRECISION]:
                    pairs += 1
    solve(stage.rewards, stage.distances, stage.numbers[SELECTS_ONE] > 0.0, stage.best, stage.tree)
    for i in range(k):
        regret += (stage.best[i] - p[i]) * stage.rewards[i]
    stage.totals[0] += regret
    stage.totals[1] += pairs
    stage.totals[2] += 1.0 if pairs > 0 else 0.0
    stage.totals[3] += above_zero


@kernel
def answer(stage: Any, individual: int) -> float:
    """Return the reward of an individual of this round."""
    reward: float = stage.rewards[individual] + stage.noise[individual]
    return reward


@routine
def play(
    params: Any,
    mind: Any,
    belief: Any,
    stage: Any,
    truth: Any,
    trace: Any,
    checkpoints: Any,
    first: int,
    last: int,
    row: int,
) -> tuple[int, int]:
    """Play rounds first .. last and write the totals at the checkpoints on the way to `trace`; stop early when a log
    is nearly full.

    Returns the last round that was played and the next checkpoint's row. A template over `decide` and `judge`.
    """
    k = stage.contexts.shape[0]
    need = 2 * k * k
    for round in range(first, last + 1):
        for copy in range(belief.counts.size):
            if belief.counts[copy] + need > belief.limits.shape[1]:
                return round - 1, row
        appear(stage, belief)
        decide(params, mind, belief, stage.contexts, round)
        draw(params, mind)
        measure(stage, truth, mind.p)
        flag(truth, stage.contexts, mind.p, stage.said)
        for i in range(k):
            for j in range(i + 1, k):
                if stage.said[i, j] != 0 or mind.undecided[i, j] & 1:
                    stage.totals[4] += 1.0
        stage.totals[5] += judge(params, belief, stage.contexts, mind.p, mind.undecided, stage.said, stage.status)
        for i in range(k):
            if mind.chosen[i] == 1:
                gain(mind, stage.contexts[i], answer(stage, i))
        if round == checkpoints[row]:
            stage.totals[6] = belief.tally[0]
            stage.totals[7] = mind.certificate[0]
            for n in range(stage.totals.size):
                trace[row, n] = stage.totals[n]
            row += 1
    return last, row
