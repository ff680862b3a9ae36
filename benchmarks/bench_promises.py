"""What a promise in a changing world costs: a simulated round against that of DeadlineLearn with floors alone.

python -m benchmarks.bench_promises [--out DIR] [--quick]
"""

from __future__ import annotations

from typing import Any

import evenhand as eh
from benchmarks.timing import Measure, interleaved, options, ratio, report, seconds
from evenhand.learners import UCB1
from evenhand.promises.promise import Promise
from evenhand.quotas import BernoulliArms, DeadlineLearn

ARMS = 10
FLOOR = 0.05
MOST = 2.0
"""A simulated round may cost so many times that of floors alone, for ten arms."""


def policies() -> dict[str, Any]:
    """Return a policy for each promise, all over UCB1."""
    floors = [FLOOR] * ARMS
    spaced = {arm: 25 + 5 * arm for arm in range(ARMS - 1)}
    windows = Promise(dict.fromkeys(range(ARMS), 0), windows=spaced, offers="all")
    sets = {(0, 1, 2): 0.2, tuple(range(6)): 0.4} | dict.fromkeys(range(ARMS), FLOOR / 2)
    return {
        "floors": DeadlineLearn(UCB1(), floors),
        "three arms a round": DeadlineLearn(UCB1(), [3 * FLOOR] * ARMS, plays=3),
        "caps": DeadlineLearn(UCB1(), floors, caps=dict.fromkeys(range(5), 0.5)),
        "nested sets": DeadlineLearn(UCB1(), sets, arms=ARMS),
        "windows": DeadlineLearn(UCB1(), windows),
    }


def rounds_of(repetitions: int, quick: bool) -> list[Measure]:
    """Return nanoseconds a round, and how many times as long as floors alone."""
    world = BernoulliArms([0.05 + 0.09 * arm for arm in range(ARMS)])
    rounds = 50_000 if quick else 500_000

    def play(policy: Any) -> float:
        return seconds(lambda: eh.simulate(policy, world, rounds=rounds, seed=1, checkpoints=1, jobs=1)) / rounds

    made = policies()
    found = interleaved({name: lambda policy=policy: play(policy) for name, policy in made.items()}, repetitions)
    measures = [Measure("floors alone, a simulated round", 1e9 * min(found["floors"]), "ns")]
    for name, policy in made.items():
        if name != "floors":
            times = ratio(found[name], found["floors"])
            a_play = f"{1e9 * min(found[name]) / policy.plays:.0f} ns a play"
            measures.append(Measure(f"{name}, a simulated round", times, "times", MOST, remark=a_play))
    return measures


def main() -> None:
    arguments = options(__doc__)
    measures = rounds_of(3 if arguments.quick else 10, arguments.quick)
    report("promises", "Promises in a changing world", measures)


if __name__ == "__main__":
    main()
