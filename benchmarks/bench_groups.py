"""How fast the group rules are: against a bare compiled LinUCB loop, against the clock as t grows, and against river.

Run with `python benchmarks/bench_groups.py`; every row is a ratio within this one run. n = 10 arms, d = 5 features.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from numba import njit

from evenhand.groups import BiasedLinearArms, GroupFairTopInterval, IntervalChaining, LinearThompson, TopInterval
from evenhand.kernels.compose import OPTIONS
from evenhand.kernels.random import normal, uniform
from evenhand.rng import stream
from evenhand.simulation import simulate

ARMS, FEATURES = 10, 5
ROUNDS, LONG = 300_000, 3_000_000
REPEATS = 3


@njit(**OPTIONS)
def lin_ucb(stream, inverse, sums, theta, truth, contexts, scratch, rounds):
    """Bare LinUCB, disjoint arms, Sherman-Morrison updates: contexts drawn in the loop, nothing counted."""
    arms, d = contexts.shape
    for _ in range(rounds):
        best, highest = 0, -math.inf
        for i in range(arms):
            for j in range(d):
                contexts[i, j] = uniform(stream)
            index, spread = 0.0, 0.0
            for j in range(d):
                index += theta[i, j] * contexts[i, j]
                along = 0.0
                for k in range(d):
                    along += inverse[i, j, k] * contexts[i, k]
                spread += along * contexts[i, j]
            index += math.sqrt(spread)
            if index > highest:
                best, highest = i, index
        reward, scale = normal(stream), 1.0
        for j in range(d):
            reward += truth[best, j] * contexts[best, j]
            scratch[j] = 0.0
            for k in range(d):
                scratch[j] += inverse[best, j, k] * contexts[best, k]
            scale += scratch[j] * contexts[best, j]
        for j in range(d):
            sums[best, j] += reward * contexts[best, j]
            for k in range(d):
                inverse[best, j, k] -= scratch[j] * scratch[k] / scale
        for j in range(d):
            theta[best, j] = 0.0
            for k in range(d):
                theta[best, j] += inverse[best, j, k] * sums[best, k]


def bare(rounds: int) -> None:
    inverse = np.repeat(np.eye(FEATURES)[None], ARMS, axis=0)
    truth = np.random.default_rng(1).uniform(30, 40, (ARMS, FEATURES))
    zeros = np.zeros((ARMS, FEATURES))
    lin_ucb(stream(1), inverse, zeros.copy(), zeros.copy(), truth, zeros.copy(), np.zeros(FEATURES), rounds)


def best_of(function: Callable[[], object]) -> float:
    """Return the least processor time in seconds of some calls, after one that compiles."""
    function()
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def simulated(policy: object, rounds: int) -> Callable[[], object]:
    world = BiasedLinearArms(arms=ARMS, sensitive=ARMS // 2, dimension=FEATURES)
    return lambda: simulate(policy, world, rounds=rounds, seed=1, checkpoints=1, jobs=1)


def online_river(rounds: int) -> Callable[[], object] | None:
    try:
        from river import bandit
    except ImportError:
        return None
    rng = np.random.default_rng(1)
    shown = [dict(enumerate(row)) for row in rng.uniform(0, 1, (rounds, FEATURES)).tolist()]

    def talk() -> None:
        policy = bandit.LinUCBDisjoint(alpha=1.0, seed=1)
        for context in shown:
            arm = policy.pull(range(ARMS), context=context)
            policy.update(arm, context, 1.0)

    return talk


def online_ours(rounds: int) -> Callable[[], object]:
    groups = ["s"] * (ARMS // 2) + ["r"] * (ARMS // 2)
    shown = np.random.default_rng(1).uniform(0, 1, (rounds, ARMS, FEATURES))

    def talk() -> None:
        policy = GroupFairTopInterval(groups, "s", horizon=rounds, seed=1)
        for contexts in shown:
            policy.tell(policy.ask(contexts), 1.0)

    return talk


def main() -> None:
    groups = BiasedLinearArms(arms=ARMS, sensitive=ARMS // 2).groups
    policies = {
        "GroupFairTopInterval, two groups": GroupFairTopInterval(groups, "sensitive", horizon=LONG),
        "GroupFairTopInterval, no horizon": GroupFairTopInterval(groups, "sensitive"),
        "GroupFairTopInterval, pooled": GroupFairTopInterval(groups, horizon=LONG),
        "TopInterval": TopInterval(groups),
        "IntervalChaining": IntervalChaining(groups),
        "LinearThompson": LinearThompson(groups),
    }
    base = best_of(lambda: bare(ROUNDS)) / ROUNDS
    print(f"{'compiled simulation, one core':40} {'ns a round':>10} {'M rounds/s':>11} {'times LinUCB':>13}")
    print(f"{'bare LinUCB loop':40} {base * 1e9:10.0f} {1e-6 / base:11.2f} {1.0:13.2f}")
    for name, policy in policies.items():
        each = best_of(simulated(policy, ROUNDS)) / ROUNDS
        print(f"{name:40} {each * 1e9:10.0f} {1e-6 / each:11.2f} {each / base:13.2f}")
    fair = policies["GroupFairTopInterval, two groups"]
    early, late = best_of(simulated(fair, ROUNDS)) / ROUNDS, best_of(simulated(fair, LONG)) / LONG
    print(f"\na round among {LONG:,} against one among {ROUNDS:,}: {late / early:.2f} times")
    mine = best_of(online_ours(5000)) / 5000
    print(f"\n{'online, ask + tell':40} {'us a round':>10}")
    print(f"{'GroupFairTopInterval':40} {mine * 1e6:10.1f}")
    if (river := online_river(2000)) is not None:
        theirs = best_of(river) / 2000
        print(f"{'river LinUCBDisjoint':40} {theirs * 1e6:10.1f}   {theirs / mine:.1f} times ours")


if __name__ == "__main__":
    main()
