"""The probabilities of the arms that are played, from those of the learner's wishes and what the rule does with
each."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import OPEN, Gradual, entry, kernel
from evenhand.kernels.flatten import flat, packer
from evenhand.policy.chances import Chances

PLAIN_CALLS = 100
"""How many decisions are gone through as plain Python before the kernels are compiled."""

forced = settle_each = pack_params = pack_state = OPEN
split = 0


@kernel
def _forced(round: int, arrays: Any) -> int:
    return forced(pack_params(*arrays[:split]), pack_state(*arrays[split:]), round)


@kernel
def _settle(round: int, must: int, probabilities: Floats, arrays: Any) -> None:
    settle_each(pack_params(*arrays[:split]), pack_state(*arrays[split:]), round, must, probabilities)


@cache
def gradual(template: Any, *names: tuple[str, Any]) -> Gradual:
    """Return a function that runs as plain Python at first, and compiled when it is called often."""
    return Gradual(entry(template, **dict(names)), None, PLAIN_CALLS)


def under_rule(rule: Any, each: Any, learner: Chances) -> Chances:
    """Return how the probabilities of a learner with these are computed under a rule; `each` settles all its wishes."""
    kept = ("pulls", *rule.kept, *(f"learner.{name}" for name in learner.kept))
    return Chances(partial(_played, rule.forced, each, learner.of), kept, learner.waiting)


def _played(
    must_play: Any, each: Any, of_learner: Any, params: Any, state: Any, contexts: Floats, round: int, waiting: Ints
) -> Floats:
    must = gradual(_forced, ("forced", must_play), *packers(params, state))(round, (*flat(params), *flat(state)))
    if must >= 0:
        certain = np.zeros(state.pulls.size)
        certain[must] = 1.0
        return certain
    chances: Floats = of_learner(params.learner, state.learner, contexts, round, waiting)
    settle = gradual(_settle, ("settle_each", each), *packers(params, state))
    settle(round, -1, chances, (*flat(params), *flat(state)))
    return chances


def packers(params: Any, state: Any) -> tuple[tuple[str, Any], ...]:
    """Return what puts the arrays of a rule's parameters and state together again."""
    return ("split", len(flat(params))), ("pack_params", packer(params)), ("pack_state", packer(state))
