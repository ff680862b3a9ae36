"""Replay a policy that learns on the rewards of a log.

Where the log's chances never change and no contexts are named, every arm has a queue of its logged rewards, and the
policy's k-th pull of it gets the k-th; the replay ends at the first empty queue. Otherwise a row is taken if the policy
decides as the log did, and then with probability min p / p, so that every arm of a taken row has the policy's own
chance; the policy has never seen the rows that are not taken. Either way a round is distributed as one of the policy's
own. Rewards that a learner collected are replayed in their order: how many an arm has depends on what they were, so
that a shuffled queue begins with later ones too often. The value refers to a number of rounds that is fixed before
rewards are seen, or to one of few that are, for which choice its interval allows: runs that are chosen by their length
are biased.

Source: T. Mandel, Y.-E. Liu, E. Brunskill, Z. Popovic, "Offline evaluation of online reinforcement learning
algorithms", AAAI 2016.
"""

from __future__ import annotations

import copy
from bisect import bisect_left
from typing import Any, NamedTuple

import numpy as np

from evenhand.data.contexts import OWN_ROWS
from evenhand.errors import ArgumentError, ContextError, UnknownArmError, Wording, expected, none_for
from evenhand.evaluation.logged import Logged
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import flat
from evenhand.labels import Labels
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.traits import traits_of
from evenhand.protocol import Label, Learner, Policy
from evenhand.quotas import DeadlineLearn
from evenhand.rng import generator, stream
from evenhand.simulation.loop import begins_anew

LONG = 50_000
"""Rows times arms from which a policy is compiled before it is replayed."""


class Replayed(NamedTuple):
    """The arms that were played and their rewards (n_rounds,)."""

    arms: list[Label]
    rewards: Floats


def learns(policy: Any) -> bool:
    """Return whether a policy decides by what it was told, so that it has to be replayed; a learner alone does too."""
    return not isinstance(policy, type) and (isinstance(policy, Policy) or _is_learner(policy))


def _is_learner(policy: Any) -> bool:
    return not isinstance(policy, Policy) and isinstance(policy, Learner)


def read_learner(name: str, policy: Any, logged: Logged) -> Any:
    """Return a policy that has not decided yet, for the arms of a log; of a learner alone one that promises nothing.

    Raises
    ------
    ArgumentError
        If it has decided, plays several arms in a round, or cannot be copied.
    ContextError
        If it looks at contexts and none are named, or others than it has learned, or in another order.
    UnknownArmError
        If its arms are not those of the log.
    """
    if _is_learner(policy):
        policy = DeadlineLearn(copy.deepcopy(policy), dict.fromkeys(logged.arms, 0), seed=0)
    traits = traits_of(policy)
    if traits.plays != 1:
        raise ArgumentError(expected(name, "a policy that plays one arm in a round", f"plays={traits.plays}"))
    if traits.arms is not None and isinstance(policy, KernelPolicy) and traits.dimension is not None and policy.round:
        got, hint = f"one at round {policy.round}", "pass policy.fresh()"
        raise ArgumentError(expected(name, "one that has not decided yet", got, hint))
    looks, contextual = bool(traits.contextual), logged.contexts is not None
    if looks and not contextual:
        raise ContextError(expected("contexts", f"columns or an array, as {type(policy).__name__} uses contexts", None))
    if looks and traits.own_rows and logged.contexts is not None and logged.contexts.ndim == 2:
        what = "an array (n_rows, n_arms, d), with a row for each arm"
        raise ContextError(expected("contexts", what, Wording("one row for all arms"), OWN_ROWS))
    width = None if logged.contexts is None else logged.contexts.shape[-1]
    if looks and traits.dimension not in (None, width):
        raise ContextError(expected("contexts", f"{traits.dimension} numbers per row, as {name} has", width))
    known = policy.contexts.table_columns if looks and isinstance(policy, KernelPolicy) else None
    if known is not None and logged.columns not in (None, known):
        hint = "name them in the order in which it has learned"
        raise ContextError(
            expected("contexts", Wording("the columns ", known, f", as {name} has"), logged.columns, hint)
        )
    arms = traits.arms
    if arms is None and begins_anew(policy):
        policy = policy.fresh(arms=list(logged.arms))
        arms = policy.arms
    if arms is not None:
        places = Labels(arms).places(logged.arms)
        codes = {place: code for code, place in reversed([*enumerate(places)]) if place >= 0}
        lacking = [arm for code, arm in enumerate(logged.arms) if codes.get(places[code]) != code]
        untried = [arm for place, arm in enumerate(arms) if place not in codes]
        if lacking:
            got, hint = none_for(lacking[0], arms), "make the policy for the arms of the log"
            raise UnknownArmError(expected(name, "a policy that knows every arm of the log", got, hint))
        if untried:
            hint = "the log has no reward of it; run an experiment that tries it"
            raise UnknownArmError(expected(name, "a policy with only arms of the log", untried[0], hint))
    return policy


def _arms_of(policy: Any, logged: Logged) -> Labels:
    """Return the arms of the log in their order, under the names that a policy has for them."""
    return Labels(map(Labels(traits_of(policy).arms or ()).label, logged.arms))


def _code(decision: Any, arms: Labels) -> int:
    try:
        arm = decision.arm
    except AttributeError:
        hint = "ask returns an eh.Decision, or an object with its id, arm and index"
        raise UnknownArmError(expected("policy", "a decision for an arm of the log", decision, hint)) from None
    code = arms.place(arm)
    if code is None:
        raise UnknownArmError(expected("policy", "a decision for an arm of the log", arm))
    return code


def rounds_of(policy: Any, logged: Logged) -> tuple[int, int]:
    """Return how many rounds every queue replay lasts, and how many one may last, whatever the policy learns: the
    promise of the other arms limits the pulls that one arm can have, and its own uses up its rows."""
    counts = np.bincount(logged.codes, minlength=len(logged.arms))
    least, rows = int(counts.min()), int(counts.sum())
    promise = traits_of(policy).promise
    if promise is None or promise.sets or traits_of(policy).holds_when != "at every round":
        return least, rows
    shares = promise.floats()
    counts = counts[_arms_of(policy, logged).places(promise.arms)]

    def owed(round: int) -> Any:
        return np.maximum(np.floor(shares * round * (1 - 1e-12)) - promise.slack, 0)

    lengths = range(rows + 1)
    sure = bisect_left(lengths, True, least + 1, key=lambda t: (t - (owed(t).sum() - owed(t)) > counts).any()) - 1
    return sure, bisect_left(lengths, True, sure + 1, key=lambda t: (owed(t) > counts).any()) - 1


def replay(policy: Any, logged: Logged, rounds: int, seed: int, number: int) -> Replayed:
    """Play a copy of a policy on the log for so many rounds, or to the end.

    The first replay, of `number` 0, has its own random numbers and the rewards in the order of the log; every other one
    has others, and shuffled rewards where the log's chances are known never to change.
    """
    mine = copy.deepcopy(policy)
    if isinstance(mine, KernelPolicy):
        if traits_of(mine).contextual and logged.contexts is not None:
            mine._begin(logged.contexts.shape[-1])
        if traits_of(mine).compiled and logged.codes.size * len(logged.arms) >= LONG:
            mine.engine.compile()
        words = [array for array in flat(mine.engine.state) if number and array.dtype == np.uint64 and array.size]
        for place, array in enumerate(words):
            array[:] = stream(seed, number, place)
    random = generator(seed, number)
    rows: Ints = np.arange(len(logged.codes))
    if number and logged.fixed and not logged.counted:
        random.shuffle(rows)
    if logged.fixed and logged.contexts is None:
        return _by_queues(mine, logged, rows, rounds)
    taken = rows[random.random(len(rows)) < least_chance(logged) / logged.chances[rows]]
    return _by_rejection(mine, logged, taken, rounds)


def _by_queues(policy: Any, logged: Logged, rows: Ints, rounds: int) -> Replayed:
    codes = logged.codes[rows]
    counts = np.bincount(codes, minlength=len(logged.arms))
    order = rows[np.argsort(codes, kind="stable")]
    queues = [iter(part) for part in np.split(logged.rewards[order], np.cumsum(counts)[:-1])]
    known = _arms_of(policy, logged)
    arms: list[Label] = []
    rewards: list[float] = []
    while len(arms) < rounds:
        decision = policy.ask()
        reward = next(queues[_code(decision, known)], None)
        if reward is None:
            break
        policy.tell(decision, reward)
        arms.append(decision.arm)
        rewards.append(reward)
    return Replayed(arms, np.array(rewards))


def _by_rejection(policy: Any, logged: Logged, taken: Ints, rounds: int) -> Replayed:
    """Play a policy on the rows that the coin lets pass. One that looks at no contexts decides once and waits for a row
    of its arm, which comes at the same rate whatever the arm."""
    looks, ours = bool(traits_of(policy).contextual), isinstance(policy, KernelPolicy)
    known = _arms_of(policy, logged)
    arms: list[Label] = []
    rewards: list[float] = []
    decision: Any = None if looks else policy.ask()
    for row in taken.tolist():
        if len(arms) == rounds:
            break
        kept = policy
        if looks and ours:
            round, before = policy.round, [array.copy() for array in flat(policy.engine.state)]
        elif looks:
            policy = copy.deepcopy(policy)  # a decision that is not taken must leave no trace
        if looks:
            decision = policy.ask(_shown(policy, logged, row, known))
        if _code(decision, known) != logged.codes[row]:
            if looks and ours:
                _retract(policy, decision, round, before)
            policy = kept
            continue
        policy.tell(decision, float(logged.rewards[row]))
        arms.append(decision.arm)
        rewards.append(float(logged.rewards[row]))
        decision = None if looks else policy.ask()
    return Replayed(arms, np.array(rewards))


def _shown(policy: Any, logged: Logged, row: int, known: Labels) -> Floats:
    """Return the contexts of a row (n_arms, dimension) in the order of the policy's arms."""
    assert logged.contexts is not None
    shown: Floats = logged.contexts[row]
    order = known.places(traits_of(policy).arms or logged.arms)
    return shown[order] if shown.ndim == 2 else np.tile(shown, (len(order), 1))


def least_chance(logged: Logged) -> float:
    """Return the least chance of any arm in any row, of those that were drawn where not all are known."""
    return float(logged.chances.min() if logged.every is None else logged.every[logged.every > 0].min())


def _retract(policy: Any, decision: Any, round: int, before: list[Any]) -> None:
    """Undo a decision, but for the random numbers that it has used: the next one draws others."""
    policy.forget(decision)
    # Random numbers stay used: drawn again, the next decision would depend on this refusal, and taken rows be biased.
    for now, then in zip(flat(policy.engine.state), before, strict=True):
        if now.dtype != np.uint64:
            now[...] = then
    policy.engine.round = round
