"""A learner under a quota rule: the kernels of a rule, and the templates that put a learner under one.

A rule is three kernels over the quota's own arrays:

    forced(params, state, round) -> the arm that must be played now, or -1
    settled(params, state, round, wish) -> the arm that is played when the learner wishes `wish`
    served(params, state, round, arm) -> None, keeps the books

A rule that chooses among rankings, for several arms a round or arms that are not always on offer, is two kernels:

    pick(params, state, now) -> why the arms in `state.chosen`, which it fills, are not simply the first of those in
        `state.scores`: 0 (or False) if they are, 1 (or True) if a deadline forces an arm, and see `promises.selection`
    grant(params, state, now, wish) -> whether `wish` is played, where that is quickly seen; the same, of one arm

Around them stands any learner: ours inside the same compiled function, a foreign one called from Python between the
kernels.
"""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import OPEN, Gradual, bind, entry, flat, kernel, packer
from evenhand.policy.kernel_set import FORCED, Chances, Kernels, Ticket, drawn, reason, unknown
from evenhand.promises.selection import BY_CAP, BY_DEADLINE, BY_LOT, BY_NO_RANK

WISH = reason("the learner's wish", "learner")
CAPPED = reason("an arm ranked higher has reached its cap", "forced")
UNRANKED = reason("the learner ranked no other arm on offer")
LOT = reason("drawn by lottery", "drawn")


class Rule(NamedTuple):
    """The kernels of a quota rule, see the head of this module.

    `kept` names the fields of its state on which `forced` and `settled` depend, where the others only save time while
    they are zero; "*" for all.
    """

    forced: Any
    settled: Any
    served: Any
    kept: tuple[str, ...] = ("*",)


class Ranking(NamedTuple):
    """The kernels of a rule that chooses among rankings, see the head of this module."""

    pick: Any
    grant: Any


forced = settled = served = redistributed = settle_each = learner_choose = learner_update = pack_params = pack_state = (
    OPEN
)
pick = grant = learner_rank = OPEN
split = 0


class NoLearner(NamedTuple):
    """Stands where the arrays of a compiled learner would be."""

    nothing: Floats


@kernel
def explain_cause(cause: int, why: int) -> int:
    """Return the reason of a decision: the learner's own, `why`, where nothing else is the cause."""
    if cause == BY_DEADLINE:
        why = FORCED
    elif cause == BY_CAP:
        why = CAPPED
    elif cause == BY_NO_RANK:
        why = UNRANKED
    elif cause == BY_LOT:
        why = LOT
    return why


@kernel
def _choose(params: Any, state: Any, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    must = forced(params, state, round)
    arm, why = must, FORCED
    if must < 0:
        wish, why = learner_choose(params.learner, state.learner, contexts, round, waiting)
        arm = settled(params, state, round, wish)
        if arm != wish:
            why = FORCED
    redistributed(params, state, round, must)
    served(params, state, round, arm)
    return arm, why


@kernel
def choose_ranked(params: Any, state: Any, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    """Have the learner rank all arms, and return the best one that may be played, with the cause."""
    why = learner_rank(params.learner, state.learner, contexts, round, waiting, state.scores)
    why = explain_cause(pick(params, state, round - 1), why)
    return state.chosen[0], why


@kernel
def choose_first(params: Any, state: Any, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    """Do what `choose_ranked` does, but ask the learner for the best arm first and for a ranking only if need be."""
    wish, why = learner_choose(params.learner, state.learner, contexts, round, waiting)
    if not grant(params, state, round - 1, wish):
        learner_rank(params.learner, state.learner, contexts, round, waiting, state.scores)
        why = explain_cause(pick(params, state, round - 1), why)
        wish = state.chosen[0]
    return wish, why


@kernel
def rank_wish(params: Any, state: Any, contexts: Floats, round: int, waiting: Ints, scores: Floats) -> int:
    """Stand for the `rank` of a learner that only knows the best arm."""
    wish, why = learner_choose(params, state, contexts, round, waiting)
    for arm in range(scores.size):
        scores[arm] = -math.inf
    scores[wish] = 0.0
    return why


@kernel
def update_learner(params: Any, state: Any, contexts: Floats, index: int, reward: float, ticket: Ticket) -> None:
    """Tell the learner inside."""
    learner_update(params.learner, state.learner, contexts, index, reward, ticket)


@kernel
def _nothing_known(params: Any, state: Any, round: int, must: int) -> None:
    """Stand for `_settle_all` where the learner's distribution is not known, or trivial."""


@kernel
def _settle_all(params: Any, state: Any, round: int, must: int) -> None:
    settle_each(params, state, round, must, state.learner.probabilities)


@kernel
def _settle_each(params: Any, state: Any, round: int, must: int, probabilities: Floats) -> None:
    """Turn the distribution of the learner's wishes into that of the arms that are played, in place."""
    for wish in range(probabilities.size):
        if probabilities[wish] > 0.0:
            arm = must if must >= 0 else settled(params, state, round, wish)
            if arm != wish:
                chance = probabilities[wish]
                probabilities[wish] = 0.0
                probabilities[arm] += chance


@kernel
def _drawn_inside(params: Any, state: Any, index: int) -> float:
    return state.learner.probabilities[index]


@kernel
def as_wished(params: Any, state: Any, round: int, wish: int) -> int:
    """The `settled` of a rule that never overrules a learner once it has asked it."""
    return wish


@kernel
def forced_alone(round: int, *arrays: Any) -> int:
    """Return the arm that the rule forces, -1 for none."""
    return forced(pack_params(*arrays[:split]), pack_state(*arrays[split:]), round)


@kernel
def settle_alone(round: int, wish: int, *arrays: Any) -> int:
    """Return the arm that is played where the learner wishes one, and enter it."""
    params, state = pack_params(*arrays[:split]), pack_state(*arrays[split:])
    arm = settled(params, state, round, wish)
    served(params, state, round, arm)
    return arm


@kernel
def pick_alone(round: int, *arrays: Any) -> int:
    """Return what a learner that only knows its best arm would play, of the arms that may be played."""
    return pick(pack_params(*arrays[:split]), pack_state(*arrays[split:]), round - 1)


def compose(learner: Kernels, rule: Rule) -> Kernels:
    """Return the kernels of a learner under a rule."""
    known, each = learner.probability is drawn, bind(_settle_each, settled=rule.settled)
    redistribute = bind(_settle_all, settle_each=each) if known else _nothing_known
    callees = {"forced": rule.forced, "settled": rule.settled, "served": rule.served, "redistributed": redistribute}
    return Kernels(
        bind(_choose, learner_choose=learner.choose, **callees),
        bind(update_learner, learner_update=learner.update),
        _drawn_inside if known else learner.probability,
        chances=None if known or learner.chances is None else under_rule(rule, each, learner.chances),
    )


NOT_KNOWN = Kernels(as_wished, update_learner, unknown)
"""Of a learner from elsewhere, which is called between the rule's kernels."""


# ---------------------------------------------------------------------- probabilities


PLAIN_CALLS = 100
"""How many decisions are gone through as plain Python before the kernels are compiled."""


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
    must = gradual(forced_alone, ("forced", must_play), *packers(params, state))(round, *flat(params), *flat(state))
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
