"""What probabilities cost: those of Thompson sampling, and a lottery in place of deadlines; how seldom it is forced.

python -m benchmarks.bench_propensities [--out DIR] [--quick]
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import evenhand as eh
from benchmarks.timing import Measure, interleaved, options, ratio, report, seconds
from evenhand.cli.output import table
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import kernel
from evenhand.kernels.probability_of_largest import largest_beta
from evenhand.learners import UCB1, EpsilonGreedy, Thompson
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.kernel_set import Kernels, reason
from evenhand.quotas import BernoulliArms, DeadlineLearn

MEANS = [0.8, 0.78, 0.77, 0.76, 0.75, 0.74, 0.73, 0.72, 0.71, 0.70]
ERROR = 1e-6
WISHED = reason("the arm that it always wishes")


class Nothing(NamedTuple):
    nothing: Floats


@kernel
def first(params: Nothing, state: Nothing, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    return 0, WISHED


@kernel
def rank_first(params: Nothing, state: Nothing, contexts: Floats, round: int, waiting: Ints, scores: Floats) -> int:
    for arm in range(scores.size):
        scores[arm] = -arm
    return WISHED


@kernel
def ignore(params: Nothing, state: Nothing, contexts: Floats, index: int, reward: float) -> None:
    pass


class Stubborn(KernelPolicy):
    """Wishes the first arm in every round, compiled."""

    _kernels = Kernels(first, ignore, rank=rank_first)

    def __init__(self, *, arms: Any = None, seed: Any = None) -> None:
        super().__init__(arms, seed)

    def _parameters(self) -> Nothing:
        return Nothing(np.zeros(0))

    def _memory(self) -> Nothing:
        return Nothing(np.zeros(0))


def told(arms: int) -> Thompson:
    """Return Thompson sampling that has learned from 2,000 rewards of arms about as good as each other."""
    policy, random = Thompson(arms=arms, seed=1), np.random.default_rng(1)
    policy.engine.compile()
    for _ in range(2_000):
        arm = policy.choose()
        policy.update(arm, float(random.random() < 0.7 + 0.1 * arm / arms))
    return policy


def repeated(work: Callable[[], object], times: int) -> Callable[[], float]:
    """Return a function that takes the seconds of one of so many calls."""

    def measure() -> float:
        return seconds(lambda: [work() for _ in range(times)]) / times

    return measure


def monte_carlo(policy: Thompson, draws: int) -> float:
    """Return the seconds a draw takes of all arms at once, vectorised."""
    state, random = policy.engine.state, np.random.default_rng(1)
    a, b = 1 + state.successes, 1 + state.failures
    return seconds(lambda: np.bincount(random.beta(a, b, (draws, a.size)).argmax(axis=1))) / draws


def probabilities(repetitions: int) -> list[Measure]:
    """Time the probabilities of Thompson sampling against its decisions."""
    found = []
    for arms, times in ((2, 2_000), (10, 1_000), (100, 100)):
        policy = told(arms)
        counts = policy.engine.state.successes + 1.0, policy.engine.state.failures + 1.0
        chances = largest_beta(*counts)
        cases = {
            "decision": repeated(policy.choose, 10 * times),
            "probabilities": repeated(lambda counts=counts: largest_beta(*counts), times),
            "draw": lambda policy=policy: monte_carlo(policy, 20_000),
        }
        taken = interleaved(cases, repetitions)
        middle = {name: statistics.median(values) for name, values in taken.items()}
        limit = 60 if arms == 10 else None
        cost = ratio(taken["probabilities"], taken["decision"])
        said = f"{middle['probabilities'] * 1e6:.0f} us against {middle['decision'] * 1e6:.1f} us"
        found.append(
            Measure(f"Thompson's probabilities against choose(), k = {arms}", cost, "times", limit, remark=said)
        )
        worst = float((chances * (1 - chances)).max())
        draws = worst / ERROR**2
        found.append(
            Measure(
                f"Monte Carlo with a standard error of 1e-6 against them, k = {arms}",
                draws * middle["draw"] / middle["probabilities"],
                "times",
                remark=f"from {middle['draw'] * 1e9:.0f} ns a draw, {draws:.1e} draws",
            )
        )
    return found


RULES = {"force": None, "lottery": 0.5}


def lotteries(repetitions: int, rounds: int) -> list[Measure]:
    """Time simulations with a lottery against those without over the same learner."""
    found = []
    world = BernoulliArms(MEANS)
    for learner, name in ((UCB1, "UCB1"), (Thompson, "Thompson"), (EpsilonGreedy, "EpsilonGreedy")):
        policies = {}
        length = rounds // 5 if learner is Thompson else rounds
        for rule, lottery in RULES.items():
            policies[rule] = DeadlineLearn(learner(), [0.05] * len(MEANS), lottery=lottery)
        cases = {
            name: lambda policy=policy, length=length: seconds(
                lambda: eh.simulate(policy, world, rounds=length, seed=1, jobs=1)
            )
            for name, policy in policies.items()
        }
        taken = interleaved(cases, repetitions)
        each = {rule: statistics.median(values) / length * 1e9 for rule, values in taken.items()}
        said = f"{each['lottery']:.0f} ns a round against {each['force']:.0f} ns"
        cost = ratio(taken["lottery"], taken["force"])
        found.append(Measure(f"a lottery over {name} against force over {name}", cost, "times", 1.5, remark=said))
    return found


def forced(rounds: int) -> None:
    """Print how often each rule forces, and what it costs, over a learner that always wishes the first arm."""
    rows = []
    for shares in ([0.1] * 4, [0.6, 0.2, 0.1], [0.5, 0.3, 0.2]):
        world = BernoulliArms([1.0, *[0.0] * (len(shares) - 1)])
        for tolerance in (0, 1, 2, 3, 4, 6, 10, 100):
            ends = [
                eh.simulate(
                    DeadlineLearn(Stubborn(), shares, tolerance, lottery=lottery), world, rounds=rounds, seed=1, jobs=1
                ).isel(round=-1)
                for lottery in RULES.values()
            ]
            often = [f"{float(end['forced'].mean()) / rounds:.1e}" for end in ends]
            lost = float(ends[1]["regret"].mean() - ends[0]["regret"].mean())
            rows.append((", ".join(map(str, shares)), str(tolerance), *often, f"{lost:.0f}"))
    columns = ["shares", "tolerance", "forced without", "forced by lottery", "pulls more"]
    table(f"Forced rounds of {rounds:,}, a learner that always wishes the first arm", columns, rows)


def main() -> None:
    given = options(__doc__)
    begun = time.perf_counter()
    repetitions, rounds = (3, 200_000) if given.quick else (10, 2_000_000)
    report("propensities", "Probabilities", [*probabilities(repetitions), *lotteries(repetitions, rounds)])
    forced(10 * rounds if not given.quick else rounds)
    print(f"{time.perf_counter() - begun:.0f} seconds")


if __name__ == "__main__":
    main()
