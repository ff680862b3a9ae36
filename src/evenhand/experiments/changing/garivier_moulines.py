"""The first simulation of Garivier and Moulines (2011): an arm that is the worst becomes the best for a while.

Three Bernoulli arms over 10,000 rounds: 0.5, 0.3 and 0.4, the last one 0.9 from round 3,000 to round 5,000. The paper's
gamma is 1 - 1 / (4 sqrt(T)), its window 4 sqrt(T ln(T)), xi is 1/2 in both. Its UCB1 has the index mean_i + sqrt(xi
ln(t) / N_i), half the width of Auer's; both are run. It compares with EXP3.S; Exp3 stands in its place here.

Source: A. Garivier, E. Moulines, "On Upper-Confidence Bound Policies for Switching Bandit Problems", ALT 2011, the
section on simulations and the abstract.
"""

from __future__ import annotations

import math

from evenhand.experiments.changing.comparison import TOLERANCE, Settings, compare, order
from evenhand.experiments.framework import Claim, Report, Runner, experiment
from evenhand.learners import GLRKLUCB, UCB1, DiscountedUCB, Exp3, SlidingWindowUCB
from evenhand.quotas import ChangingArms

__all__ = ["garivier_moulines"]

NEEDS = {"rounds": 10_000, "replications": 100}
SOFT = Claim("D-UCB and SW-UCB lose less than Exp3 (the paper: EXP3.S)", "abstract, simulations", TOLERANCE, NEEDS)
PLAIN = Claim(
    "D-UCB and SW-UCB lose less than the paper's UCB1, which forgets nothing", "simulations", TOLERANCE, NEEDS
)
AUER = Claim("... and less than Auer's UCB1", "not in the paper", TOLERANCE, NEEDS)
WINDOW = Claim("SW-UCB loses less than D-UCB", "simulations", TOLERANCE, NEEDS)


@experiment(
    "changing/garivier-moulines",
    "Learners for abrupt changes: an arm that becomes the best for a while",
    full=Settings(rounds=10_000, replications=200, seed=11),
    quick=Settings(rounds=10_000, replications=10, seed=11),
)
def garivier_moulines(settings: Settings, runner: Runner) -> Report:
    """Run all learners; the changes scale with the horizon."""
    T = settings.rounds
    world = ChangingArms([[0.5, 0.3, 0.4], [0.5, 0.3, 0.9], [0.5, 0.3, 0.4]], [3 * T // 10, T // 2])
    learners = {
        "UCB1, xi = 1/2": DiscountedUCB(1.0, xi=0.125),
        "UCB1 (Auer)": UCB1(),
        "Exp3": Exp3(horizon=T),
        "D-UCB": DiscountedUCB(horizon=T),
        "SW-UCB": SlidingWindowUCB(math.ceil(4 * math.sqrt(T * math.log(T)))),
        "GLR-klUCB": GLRKLUCB(T),
    }
    report = compare(learners, world, settings, runner)
    history = report.data["history"]
    report.verdicts = [
        order(SOFT, history, ["D-UCB", "SW-UCB"], ["Exp3"], settings),
        order(PLAIN, history, ["D-UCB", "SW-UCB"], ["UCB1, xi = 1/2"], settings),
        order(AUER, history, ["D-UCB", "SW-UCB"], ["UCB1 (Auer)"], settings),
        order(WINDOW, history, ["SW-UCB"], ["D-UCB"], settings),
    ]
    report.remarks.append("GLR-klUCB is later than the paper and no part of it.")
    return report
