"""The check of reasons: a play is called owed where a floor forced it, and nowhere else."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from typing import Any

from evenhand.checks.play import SEED, Skip
from evenhand.kernels.compose import interpreted
from evenhand.policy.traits import traits_of
from evenhand.promises.laminar import look_uncapped, take
from evenhand.promises.promise import Promise
from evenhand.promises.rule_arrays import rule_parameters, rule_state
from evenhand.quotas.quota_policy import QuotaPolicy

MOST_ROUNDS, MOST_SLATES, CHANGES = 100, 2_000, 0.2


class _Floors:
    """What floors and windows alone refuse, with all caps taken away, after the plays that were entered."""

    def __init__(self, promise: Promise, horizon: int | None) -> None:
        self._promise, self._now = promise, 0
        self._params, self._state = rule_parameters(promise, ()), rule_state(promise, ())
        self._horizon = horizon
        self._slates = [*itertools.combinations(range(len(promise.arms)), promise.plays)]

    def refuse(self, slate: Sequence[int]) -> bool:
        """Return whether they could not all be kept if these arms were played now."""
        self._state.chosen[:] = slate
        return bool(interpreted(look_uncapped)(self._params, self._state, self._now)[0] < 0)

    def recount(self, decision: Any) -> None:
        """See that what a reason says can be true, whatever was wished for, and enter the play."""
        slate, code = decision.indexes, decision.reason_code
        true = code != "absent" and (code != "capped" or self._promise.caps is not None)
        if code == "forced":  # another rule than ours may play an arm as soon as it is behind, or by the horizon
            rounds, pulls, promise = self._horizon or self._now, self._state.pulls.tolist(), self._promise
            true = any(promise.shares[arm] * rounds - pulls[arm] > promise.slack for arm in slate)
            true = true or any(map(self.refuse, self._slates))
        assert true, f"in round {self._now + 1} {decision.reason!r} ({code}) is said of {[*slate]}, which cannot be"
        self._state.chosen[:] = slate
        interpreted(take)(self._params, self._state, self._now)
        self._now += 1


class _Wishes:
    """A learner that ranks the arms anyhow, alike for some rounds, as a cap would else not bind, and remembers how."""

    def __init__(self, arms: int) -> None:
        self._random, self._ranking = random.Random(SEED), [*range(arms)]
        self.last: list[int] = []

    def choose(self) -> list[int]:
        if self._random.random() < CHANGES:
            self._random.shuffle(self._ranking)
        self.last = [*self._ranking]
        return self.last

    def update(self, index: int, reward: float) -> None:
        pass


def check_reasons(policy: Any, world: Any, rounds: int) -> None:
    """See that a play is called owed, "forced", where floors and windows alone would refuse the learner's wish, and
    "capped" or "absent" only where a cap, or an absent arm, may leave fewer."""
    promise, horizon = traits_of(policy).promise, traits_of(policy).horizon
    if not isinstance(promise, Promise) or math.comb(len(promise.arms), promise.plays) > MOST_SLATES:
        raise Skip("promises nothing that is counted in plays, or has too many slates to recount")
    rounds, floors = min(rounds, MOST_ROUNDS, horizon or rounds), _Floors(promise, horizon)
    world.reset(SEED)
    for _ in range(rounds):
        decision = policy.ask(*world.observe())
        policy.tell(decision, *world.respond(decision))
        floors.recount(decision)
    config = policy.config() if isinstance(policy, QuotaPolicy) else {}
    if "learner" not in config or policy._drawn or policy._priced or traits_of(policy).contextual:
        return
    floors, policy = _Floors(promise, horizon), type(policy)(**config | {"learner": _Wishes(len(promise.arms))})
    for _ in range(rounds):
        policy.learner.last = []
        decision = policy.ask()
        wished, forced = policy.learner.last[: promise.plays], decision.reason_code == "forced"
        which = f"{wished} was wished for, which floors and windows {'grant' if forced else 'refuse'}"
        said = f"in round {decision.round} the reason is {decision.reason!r} ({decision.reason_code})"
        assert not wished or forced == floors.refuse(wished), f"{said}, where {which}"
        policy.tell(decision, [0.0] * promise.plays if promise.plays > 1 else 0.0)
        floors.recount(decision)
