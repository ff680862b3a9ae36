"""Quota rules with one mistake each about caps, sets, windows, slates, arms on offer, changes, or about what
they say of their decisions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evenhand.protocol import Decision
from evenhand.quotas import DeadlineLearn


class Planted(DeadlineLearn):
    """The rule itself, with the constructor that `check_promise` calls, but for what it takes for `promised`."""

    def __init__(
        self, learner, shares, tolerance=0.0, plays=1, caps=None, cap_tolerance=0.0, *, arms=None, seed=None
    ) -> None:
        super().__init__(learner, *self.promised(shares, tolerance, plays, caps, cap_tolerance), arms=arms, seed=seed)

    def promised(self, *given):
        return given


class ForgetsOwnClocks(Planted):
    """Deadlines go on while an arm is not on offer."""

    change = None

    def ask(self, *seen, available=None, **rest):
        decision = super().ask(*seen, available=available, **rest)
        for place, arm in enumerate(self.arms if available is not None else ()):
            if arm not in available and self.engine.state.whole[place] < 1 << 60:
                self.engine.state.whole[place] -= 1
        return decision


class IgnoresACapAtATie(Planted):
    """One play more than the cap."""

    def promised(self, shares, tolerance, plays, caps, ahead):
        return shares, tolerance, plays, caps, ahead + (caps is not None)


class DropsALagSilently(Planted):
    """Says that nothing is dropped at a change."""

    def change(self, shares):
        super().change(shares)
        return {}


class IsLateWithSlates(Planted):
    """One play behind where several arms are played."""

    def promised(self, shares, tolerance, plays, caps, ahead):
        return shares, tolerance + (plays > 1), plays, caps, ahead


class ForgetsSets(Planted):
    """Keeps the floors of single arms alone."""

    def promised(self, shares, *rest):
        if isinstance(shares, dict):
            shares = {arm: share for arm, share in shares.items() if not isinstance(arm, tuple)}
        return shares, *rest


class Stated:
    """Decides rightly, and says something else."""

    def ask(self, *seen, **rest):
        decision = super().ask(*seen, **rest)
        return replace(decision, chance=self.said(decision), reason_code=self.code(decision))

    def said(self, decision):
        return decision.chance

    def code(self, decision):
        return decision.reason_code


class AlwaysSaysForced(Stated, Planted):
    """Says forced of granted proposals too."""

    def code(self, decision):
        return "forced"


class NeverSaysForced(Stated, Planted):
    """Says that a refused proposal was the learner's."""

    def code(self, decision):
        return "learner"


class Drawn(DeadlineLearn):
    """The rule by lottery, with the constructor that `check_promise` calls."""

    def __init__(self, learner, shares, tolerance=0.0, plays=1, *, lottery=None, arms=None, seed=None) -> None:
        super().__init__(learner, shares, tolerance, plays, lottery=lottery, arms=arms, seed=seed)


class StatesEvenChances(Stated, Drawn):
    """Says half of every chance, and shares the other half out evenly."""

    exact = False

    def said(self, decision):
        chances = decision.probabilities
        if chances is None:
            return None
        drawn = chances > 0
        return np.where(drawn, 0.5 * chances + 0.5 * chances.sum() / drawn.sum(), 0.0)


class ForgetsTheFloor(Drawn):
    """Draws with a tenth of the floor that is asked for."""

    def __init__(self, learner, shares, tolerance=0.0, plays=1, *, lottery=None, arms=None, seed=None) -> None:
        lower = None if lottery is None else lottery / 10
        super().__init__(learner, shares, tolerance, plays, lottery=lower, arms=arms, seed=seed)


class IsStricterThanItSays(Planted):
    """Keeps a promise without tolerance, and says that it refuses no proposal that could be granted."""

    def promised(self, shares, tolerance, *rest):
        return shares, 0.0, *rest


class PlaysAnArmTwice(Planted):
    """Shows the first arm of a slate twice."""

    def ask(self, *seen, **rest):
        decision = super().ask(*seen, **rest)
        if decision.slate is not None:
            labels, places = decision.slate
            twice = (labels[0], labels[0], *labels[2:]), (places[0], places[0], *places[2:])
            decision = replace(decision, slate=twice)
        return decision


class ServesTheWindowThatEndsFirst:
    """Earliest deadline first, which wastes early services: it fails for windows of 2, 4 and 4."""

    def __init__(self, windows, arms) -> None:
        self.arms = arms
        self.windows = {arm: rounds // plays for arm, (plays, rounds) in windows.items()}
        self.left, self.round = dict(self.windows), 0

    def ask(self):
        self.round += 1
        arm = min(self.left, key=self.left.get)
        self.left = {other: left - 1 for other, left in self.left.items()} | {arm: self.windows[arm]}
        return Decision(self.round, self.round, arm, arm, None, "")

    def tell(self, decision, reward):
        pass
