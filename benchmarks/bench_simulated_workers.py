"""What a simulated round of several workers takes, compiled: against Python, and against one worker.

python -m benchmarks.bench_simulated_workers [--out DIR] [--quick]

Rewards of zero and one, ten arms, an exchange every 100 own rounds. All cases are taken in turns, in processor time.
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tests.reference.stepped import Stepped

from benchmarks.timing import Measure, interleaved, ratio, report, seconds
from evenhand.learners import MOSS, UCB1, Thompson
from evenhand.quotas import BernoulliArms, DeadlineLearn
from evenhand.simulation.loop import replicate
from evenhand.simulation.team import Team

WORLD = BernoulliArms([0.6, *[0.5] * 9])
POLICIES: dict[str, Any] = {
    "UCB1": UCB1(arms=10),
    "MOSS": MOSS(arms=10),
    "Thompson": Thompson(arms=10),
    "DeadlineLearn over UCB1": DeadlineLearn(UCB1(), [0.05] * 10, 100),
}
MANY = 100
STEPPED = 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.out is not None:
        os.environ["BENCHMARKS_OUT"] = str(arguments.out)
    rounds, turns = (100_000, 2) if arguments.quick else (400_000, 7)
    title = "Simulated workers, processor time of a round"
    report("simulated_workers", title, [one for name in POLICIES for one in measured(name, rounds, turns)])


def a_round(policy: Any, rounds: int) -> float:
    """Return the processor time of a round, in nanoseconds, without what is made before the first."""
    checkpoints = np.array([rounds])
    call = {"policy_seed": 1, "world_seed": 2, "stop": lambda done: None}
    whole = seconds(partial(replicate, policy, WORLD, None, checkpoints=checkpoints, **call))
    before = seconds(partial(replicate, policy, WORLD, None, checkpoints=checkpoints[:1] // rounds, **call))
    return 1e9 * (whole - before) / (rounds - 1)


def measured(name: str, rounds: int, turns: int) -> list[Measure]:
    policy = POLICIES[name]
    cases = {
        "one": partial(a_round, policy, rounds),
        "four": partial(a_round, Team(policy, 4, 100), rounds),
        "sixteen": partial(a_round, Team(policy, 16, 100), rounds),
        "many": partial(a_round, Team(policy, MANY, 100), rounds),
        "python": partial(a_round, Stepped(Team(policy, 16, 100)), STEPPED),
    }
    found = interleaved(cases, turns)
    return [
        Measure(f"{name}: one worker", min(found["one"]), "ns"),
        Measure(f"{name}: 16 workers", min(found["sixteen"]), "ns"),
        Measure(f"{name}: Python against compiled, 16 workers", ratio(found["python"], found["sixteen"]), "times"),
        Measure(f"{name}: 16 workers against one", ratio(found["sixteen"], found["one"]), "times"),
        Measure(f"{name}: 16 workers against 4", ratio(found["sixteen"], found["four"]), "times"),
        Measure(f"{name}: {MANY} workers against 4", ratio(found["many"], found["four"]), "times"),
    ]


if __name__ == "__main__":
    main()
