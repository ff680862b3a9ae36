"""Problem 1 of Besson, Kaufmann, Maillard and Seznec (2022): three arms, four changes, one arm at a time.

The means are those of the authors' package SMPyBandits (`configuration_nonstationary.py`, problem 1), the changes
evenly spaced; T = 20,000. The discount and the window are set by the number of changes, which GLR-klUCB does not know.

Source: L. Besson, E. Kaufmann, O.-A. Maillard, J. Seznec, "Efficient Change-Point Detection for Tackling
Piecewise-Stationary Bandits", Journal of Machine Learning Research 23 (2022), the section on experiments; L. Besson,
E. Kaufmann, "The Generalized Likelihood Ratio Test meets klUCB" (2019), the abstract.
"""

from __future__ import annotations

from typing import Any

from evenhand.experiments.changing.comparison import TOLERANCE, Settings, compare, order
from evenhand.experiments.framework import Claim, Report, Runner, experiment
from evenhand.learners import GLRKLUCB, KLUCB, DiscountedThompson, DiscountedUCB, SlidingWindowUCB
from evenhand.quotas import BernoulliArms, ChangingArms
from evenhand.simulation import simulate

__all__ = ["besson_problem_1"]

MEANS = [[0.3, 0.5, 0.9], [0.3, 0.2, 0.9], [0.3, 0.2, 0.1], [0.7, 0.2, 0.1], [0.7, 0.5, 0.1]]
NEEDS = {"rounds": 20_000, "replications": 100}
GLOBAL, LOCAL = "GLR-klUCB, global", "GLR-klUCB, local"
PLAIN = Claim("GLR-klUCB loses less than klUCB, which forgets nothing", "experiments", TOLERANCE, NEEDS)
PASSIVE = Claim(
    "GLR-klUCB loses less than learners that forget at a fixed pace", "experiments, 2019 abstract", TOLERANCE, NEEDS
)
RESTARTS = Claim("Local restarts lose less than global ones", "experiments, 2019 abstract", TOLERANCE, NEEDS)


@experiment(
    "changing/besson-problem-1",
    "Learners for abrupt changes: one arm at a time",
    full=Settings(rounds=20_000, replications=200, seed=12),
    quick=Settings(rounds=20_000, replications=5, seed=12),
)
def besson_problem_1(settings: Settings, runner: Runner) -> Report:
    """Run all learners, and KL-UCB told of every change for comparison."""
    T, count = settings.rounds, len(MEANS) - 1
    world = ChangingArms(MEANS, [1 + T * n // len(MEANS) for n in range(1, len(MEANS))])
    learners: dict[str, Any] = {
        "klUCB": KLUCB(),
        "D-UCB": DiscountedUCB(horizon=T, changes=count),
        "SW-UCB": SlidingWindowUCB(horizon=T, changes=count),
        "D-Thompson": DiscountedThompson(horizon=T, changes=count),
        GLOBAL: GLRKLUCB(T),
        LOCAL: GLRKLUCB(T, "local"),
    }
    report = compare(learners, world, settings, runner)
    history = report.data["history"]
    report.verdicts = [
        order(PLAIN, history, [GLOBAL, LOCAL], ["klUCB"], settings),
        order(PASSIVE, history, [GLOBAL, LOCAL], ["D-UCB", "SW-UCB", "D-Thompson"], settings),
        order(RESTARTS, history, [LOCAL], [GLOBAL], settings),
    ]
    told = _told_of_changes(settings, runner)
    report.remarks.append(f"klUCB that is told of every change and begins anew at each loses {told:.0f}.")
    return report


def _told_of_changes(settings: Settings, runner: Runner) -> float:
    """Return the regret of KL-UCB that is restarted at each change."""
    length, total = settings.rounds // len(MEANS), 0.0
    for stretch, means in enumerate(MEANS):
        history = simulate(
            KLUCB(),
            BernoulliArms(means),
            rounds=length,
            replications=settings.replications,
            seed=settings.seed + stretch,
            checkpoints=[length],
            jobs=runner.jobs,
        )
        total += float(history.regret.isel(round=-1).mean())
    return total
