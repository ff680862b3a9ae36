"""Quota rules with one mistake each about caps, sets, windows, slates, arms on offer, segments or changes."""

from __future__ import annotations

from evenhand.protocol import Decision
from evenhand.quotas import DeadlineLearn


class Planted(DeadlineLearn):
    """The rule itself, with the constructor that `check_promise` calls."""

    def __init__(
        self, learner, shares, tolerance=0.0, plays=1, caps=None, cap_tolerance=0.0, *, arms=None, seed=None
    ) -> None:
        super().__init__(learner, shares, tolerance, plays, caps, cap_tolerance, arms=arms, seed=seed)


class ForgetsOwnClocks(Planted):
    """Deadlines go on while an arm is not on offer."""

    def ask(self, *seen, available=None, **rest):
        decision = super().ask(*seen, available=available, **rest)
        for place, arm in enumerate(self.arms if available is not None else ()):
            if arm not in available and self._state.whole[place] < 1 << 60:
                self._state.whole[place] -= 1
        return decision


class IgnoresACapAtATie(Planted):
    """One play more than the cap."""

    def __init__(
        self, learner, shares, tolerance=0.0, plays=1, caps=None, cap_tolerance=0.0, *, arms=None, seed=None
    ) -> None:
        more = cap_tolerance + (caps is not None)
        super().__init__(learner, shares, tolerance, plays, caps, more, arms=arms, seed=seed)


class DropsALagSilently(Planted):
    """Says that nothing is dropped at a change."""

    def change(self, shares):
        super().change(shares)
        return {}


class IsLateWithSlates(Planted):
    """One play behind where several arms are played."""

    def __init__(
        self, learner, shares, tolerance=0.0, plays=1, caps=None, cap_tolerance=0.0, *, arms=None, seed=None
    ) -> None:
        super().__init__(learner, shares, tolerance + (plays > 1), plays, caps, cap_tolerance, arms=arms, seed=seed)


class ForgetsSets(Planted):
    """Keeps the floors of single arms alone."""

    def __init__(
        self, learner, shares, tolerance=0.0, plays=1, caps=None, cap_tolerance=0.0, *, arms=None, seed=None
    ) -> None:
        if isinstance(shares, dict):
            shares = {arm: share for arm, share in shares.items() if not isinstance(arm, tuple)}
        super().__init__(learner, shares, tolerance, plays, caps, cap_tolerance, arms=arms, seed=seed)


class CountsOverSegments(Planted):
    """Keeps one promise over all segments."""

    def ask(self, *seen, segment=None, **rest):
        return super().ask(*seen, **rest)


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
