"""How fast the group rules are: against a bare compiled LinUCB loop, as t grows, and online against river.

python -m benchmarks.bench_groups [--out DIR] [--quick]

n = 10 arms, d = 5 features, contexts drawn in the loop.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from functools import partial

import numpy as np
from river import bandit

from benchmarks.timing import Measure, interleaved, options, ratio, report, seconds
from evenhand.groups import BiasedLinearArms, GroupFairTopInterval, IntervalChaining, LinearThompson, TopInterval
from evenhand.kernels.compose import entry, kernel
from evenhand.kernels.random import normal, uniform
from evenhand.rng import stream
from evenhand.simulation import simulate

ARMS, FEATURES = 10, 5
LINUCB, FAIR = "bare LinUCB loop, Sherman-Morrison updates", "GroupFairTopInterval"


@entry
@kernel
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


def simulated(policy: object, rounds: int) -> None:
    world = BiasedLinearArms(arms=ARMS, sensitive=ARMS // 2, dimension=FEATURES)
    simulate(policy, world, rounds=rounds, seed=1, checkpoints=1, jobs=1)


def compiled(repetitions: int, quick: bool) -> list[Measure]:
    rounds = 100_000 if quick else 500_000
    groups = BiasedLinearArms(arms=ARMS, sensitive=ARMS // 2).groups
    fair = GroupFairTopInterval(groups, "sensitive", horizon=10 * rounds)
    policies = {
        FAIR: fair,
        f"{FAIR}, no horizon": GroupFairTopInterval(groups, "sensitive"),
        f"{FAIR}, pooled": GroupFairTopInterval(groups, horizon=rounds),
        "TopInterval": TopInterval(groups),
        "IntervalChaining": IntervalChaining(groups),
        "LinearThompson": LinearThompson(groups),
    }
    cases: dict[str, Callable[[], float]] = {LINUCB: lambda: seconds(lambda: bare(rounds)) / rounds}
    for name, policy in policies.items():
        cases[name] = partial(lambda policy: seconds(lambda: simulated(policy, rounds)) / rounds, policy)
    late = f"{FAIR}, ten times the rounds"
    cases[late] = lambda: seconds(lambda: simulated(fair, 10 * rounds)) / (10 * rounds)
    found = interleaved(cases, repetitions)
    measures = [Measure(LINUCB, 1e9 * statistics.median(found[LINUCB]), "ns a round")]
    for name in policies:
        each = statistics.median(found[name])
        limit = 1.0 if name == FAIR else None
        measures.append(Measure(name, 1e-6 / each, "million rounds/s", limit, more_is_better=True))
        times = ratio(found[name], found[LINUCB])
        measures.append(Measure(f"{name} against the bare loop", times, "times", 4.0 if name == FAIR else None))
    measures.append(Measure(f"a round of {late} against one", ratio(found[late], found[FAIR]), "times", 1.1))
    return measures


def online_river(shown: list[dict[int, float]]) -> None:
    policy = bandit.LinUCBDisjoint(alpha=1.0, seed=1)
    for context in shown:
        arm = policy.pull(range(ARMS), context=context)
        policy.update(arm, context, 1.0)


def online_ours(shown: np.ndarray) -> None:
    groups = ["s"] * (ARMS // 2) + ["r"] * (ARMS // 2)
    policy = GroupFairTopInterval(groups, "s", horizon=len(shown), seed=1)
    policy._begin(FEATURES)
    policy.engine.compile()
    for contexts in shown:
        policy.tell(policy.ask(contexts), 1.0)


def online(repetitions: int, quick: bool) -> list[Measure]:
    rounds, few = 5000, 500
    shown = np.random.default_rng(1).uniform(0, 1, (rounds, ARMS, FEATURES))
    theirs = [dict(enumerate(row)) for row in shown[:few, 0].tolist()]
    name = "river's LinUCBDisjoint pull + update"
    cases = {
        FAIR: lambda: seconds(lambda: online_ours(shown)) / rounds,
        name: lambda: seconds(lambda: online_river(theirs)) / few,
    }
    found = interleaved(cases, repetitions)
    mine, other = statistics.median(found[FAIR]), statistics.median(found[name])
    remark = f"river: {1e6 * other:.0f} us"
    return [
        Measure(f"{FAIR}.ask + tell", 1e6 * mine, "us", 30.0),
        Measure(f"{name} against it", ratio(found[name], found[FAIR]), "times", 1.0, True, remark),
    ]


def main() -> None:
    arguments = options(__doc__)
    repetitions = 3 if arguments.quick else 10
    measures = [m for section in (compiled, online) for m in section(repetitions, arguments.quick)]
    report("groups", "Groups", measures)


if __name__ == "__main__":
    main()
