"""One replication: the compiled loop over kernels, and its twin that steps the same conversation from Python."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from evenhand.arguments import is_whole
from evenhand.errors import ContractError, wanted
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import OPEN, bind, entry, interpreted, kernel
from evenhand.metrics.limits import Limits, enter, limits, rounds_broken
from evenhand.metrics.shares import Tally, count, tally, violations, worst
from evenhand.policy import KernelPolicy, Ticket, is_forced
from evenhand.protocol import Decision, Label
from evenhand.rng import child
from evenhand.simulation.delay import (
    AtOnce,
    Delay,
    Pending,
    learn_at_once,
    learn_later,
    nothing_due,
    tell_due,
    wait,
)
from evenhand.simulation.team import Team
from evenhand.simulation.world import KernelWorld
from evenhand.traits import traits_of

__all__ = ["Trace", "foreign_learner", "replicate", "runs_compiled"]

NO_SUCH_ARM = -1
ROUNDS_A_CALL = 1 << 22
"""Between two calls the user's wish to stop is heard; about 40 ms."""


class Trace(NamedTuple):
    """What a replication leaves behind at its checkpoints, a row each."""

    pulls: Ints
    worst: Floats
    violations: Ints
    limits: Ints
    """(n_checkpoints, n_promises): rounds in which each promise beside the floors of arms was broken."""
    forced: Ints
    reward: Floats
    totals: Floats
    """(n_checkpoints, n_scores): the world's scores, cumulative."""


class Running(NamedTuple):
    """Sums that go on from checkpoint to checkpoint."""

    forced: Ints
    reward: Floats
    totals: Floats


observe = choose = probability = respond = learn = deliver = score = enter_limits = OPEN


@kernel
def no_limits(limits: Limits, arm: int, round: int) -> None:
    """Stand for `enter` where nothing is promised beside the floors of arms."""


@kernel
def note(trace: Trace, row: int, tally: Tally, limits: Limits, running: Running, round: int) -> None:
    for i in range(limits.kinds.size):
        trace.limits[row, i] = rounds_broken(limits, i, round)
    for arm in range(tally.pulls.size):
        trace.pulls[row, arm] = tally.pulls[arm]
        trace.worst[row, arm] = worst(tally, arm, round)
        trace.violations[row, arm] = violations(tally, arm, round)
    trace.forced[row] = running.forced[0]
    trace.reward[row] = running.reward[0]
    for i in range(running.totals.size):
        trace.totals[row, i] = running.totals[i]


@kernel
def play(
    params: Any,
    state: Any,
    world: Any,
    world_state: Any,
    contexts: Floats,
    waiting: Ints,
    pending: Any,
    tally: Tally,
    limits: Limits,
    running: Running,
    trace: Trace,
    checkpoints: Ints,
    first: int,
    last: int,
    row: int,
) -> int:
    """Play rounds first .. last and note the checkpoints on the way; return the next checkpoint's row.

    `learn` passes a reward on at once, or puts it into `pending`, from where `deliver` tells it when it is due.

    An arm that is none ends the loop. To know that arms are not negative also saves a fifth of the time: the compiler
    leaves out what Python's indices from the end would need at every array.
    """
    for round in range(first, last + 1):
        observe(world, world_state, contexts, round)
        arm, why = choose(params, state, contexts, round, waiting)
        if arm < 0 or arm >= tally.pulls.size:
            return NO_SUCH_ARM
        ticket = Ticket(round, probability(params, state, arm))
        reward = respond(world, world_state, contexts, arm)
        learn(pending, waiting, params, state, contexts, arm, reward, ticket)
        score(world, world_state, contexts, arm, reward, running.totals)
        count(tally, arm, round)
        enter_limits(limits, arm, round)
        if is_forced(why):
            running.forced[0] += 1
        running.reward[0] += reward
        deliver(pending, waiting, params, state, round)
        if round == checkpoints[row]:
            note(trace, row, tally, limits, running, round)
            row += 1
    return row


@kernel
def play_slates(
    params: Any,
    state: Any,
    world: Any,
    world_state: Any,
    contexts: Floats,
    waiting: Ints,
    pending: Any,
    tally: Tally,
    limits: Limits,
    running: Running,
    trace: Trace,
    checkpoints: Ints,
    first: int,
    last: int,
    row: int,
) -> int:
    """Do what `play` does for a policy that plays several arms a round and leaves them in `state.chosen`."""
    for round in range(first, last + 1):
        observe(world, world_state, contexts, round)
        _, why = choose(params, state, contexts, round, waiting)
        for arm in state.chosen:
            if arm >= tally.pulls.size:
                return NO_SUCH_ARM
            if arm >= 0:
                ticket = Ticket(round, probability(params, state, arm))
                reward = respond(world, world_state, contexts, arm)
                learn(pending, waiting, params, state, contexts, arm, reward, ticket)
                score(world, world_state, contexts, arm, reward, running.totals)
                count(tally, arm, round)
                enter_limits(limits, arm, round)
                running.reward[0] += reward
        if is_forced(why):
            running.forced[0] += 1
        deliver(pending, waiting, params, state, round)
        if round == checkpoints[row]:
            note(trace, row, tally, limits, running, round)
            row += 1
    return row


def replicate(
    policy: Any,
    world: Any,
    promise: Any,
    *,
    policy_seed: int,
    world_seed: int,
    checkpoints: Ints,
    stop: Callable[[int], None],
    compiled: bool = True,
    delay: Delay | None = None,
    windows: dict[Label, tuple[int, int]] | None = None,
) -> Trace:
    """Run one replication of a fresh copy of `policy` in `world` and return its trace; `stop` is called now and then
    with the rounds done.

    `compiled=False` runs the very same kernels as plain Python, for checks.
    """
    policy = policy.fresh(arms=world.arms, seed=policy_seed) if hasattr(policy, "fresh") else copy.deepcopy(policy)
    foreign = foreign_learner(policy)
    if getattr(foreign, "reseed", None) is not None:
        foreign.reseed(child(policy_seed, 1))
    world = copy.copy(world) if isinstance(world, KernelWorld) else copy.deepcopy(world)
    world.reset(world_seed)
    arms, scores, rows = len(world.arms), len(world.scores), len(checkpoints)
    others = limits(promise, windows, world.arms)
    trace = Trace(
        np.zeros((rows, arms), np.int64),
        np.zeros((rows, arms)),
        np.zeros((rows, arms), np.int64),
        np.zeros((rows, others.kinds.size), np.int64),
        np.zeros(rows, np.int64),
        np.zeros(rows),
        np.zeros((rows, scores)),
    )
    running = Running(np.zeros(1, np.int64), np.zeros(1), np.zeros(scores))
    books = tally(promise, arms)
    if runs_compiled(policy, world):
        policy.begin(world.dimension)
        pending = None if delay is None else delay.pending(world_seed, int(checkpoints[-1]), policy.plays, world._shown)
        _play(policy, world, pending, books, others, running, trace, checkpoints, stop, compiled)
    else:
        pending = None if delay is None else delay.pending(world_seed, int(checkpoints[-1]), 0, np.zeros((0, 0)))
        _step(policy, world, pending, books, others, running, trace, checkpoints, stop)
    return trace


def runs_compiled(policy: Any, world: Any) -> bool:
    """Say whether policy and world both have kernels."""
    return isinstance(policy, (KernelPolicy, Team)) and isinstance(world, KernelWorld) and traits_of(policy).compiled


def foreign_learner(policy: Any) -> Any:
    """Return the learner from elsewhere that the policy is or is built on, or None; such a one is copied as it is."""
    while hasattr(policy, "fresh"):
        policy = traits_of(policy).learner
    return policy


def _play(
    policy: KernelPolicy | Team,
    world: KernelWorld,
    pending: Pending | None,
    books: Tally,
    others: Limits,
    running: Running,
    trace: Trace,
    checkpoints: Ints,
    stop: Callable[[int], None],
    compiled: bool,
) -> None:
    kernels = policy.kernels
    named = {"choose": kernels.choose, "probability": kernels.probability, **world.kernels._asdict()}
    named["learn"] = bind(learn_at_once if pending is None else learn_later, update=kernels.update)
    named["deliver"] = nothing_due if pending is None else bind(tell_due, update=kernels.update)
    named["enter_limits"] = enter if others.kinds.size else no_limits
    function = entry(play if policy.plays == 1 else play_slates, **named)
    if not compiled:
        function = interpreted(function.uncompiled)
    core = (policy._params, policy._state, *world._core)
    late = AtOnce(np.zeros(0)) if pending is None else pending
    fixed = (*core, world._shown, policy._waiting, late, books, others, running, trace, checkpoints)
    row, first, final = 0, 1, int(checkpoints[-1])
    while first <= final:
        last = min(final, first + ROUNDS_A_CALL - 1)
        if isinstance(policy, Team):
            last = min(last, policy.prepare(first))
        row = function(*fixed, first, last, row)
        if row == NO_SUCH_ARM:
            raise ContractError(
                f"{type(policy).__name__}: choose returned an arm that is none of the {len(world.arms)}"
            )
        first = last + 1
        stop(last)


def _step(
    policy: Any,
    world: Any,
    pending: Pending | None,
    books: Tally,
    others: Limits,
    running: Running,
    trace: Trace,
    checkpoints: Ints,
    stop: Callable[[int], None],
) -> None:
    add, add_limits, write, draw = entry(count), entry(enter), entry(note), entry(wait)
    due: dict[int, list[Callable[[], None]]] = {}
    asks, row, slate = hasattr(policy, "ask"), 0, None
    for round in range(1, int(checkpoints[-1]) + 1):
        observed = world.observe()
        if asks:
            decision = policy.ask(*observed)
            slate = getattr(decision, "slate", None)
            given = [getattr(decision, "index", None)] if slate is None else slate[1]
            indexes = [_index(policy, decision, index, world.arms) for index in given]
        else:
            chosen = policy.choose(*observed)
            indexes = [_index(policy, chosen, chosen, world.arms)]
            decision = Decision(round, round, world.arms[indexes[0]], indexes[0], None, "")
        rewards = _rewards(world, world.respond(decision), None if slate is None else len(indexes))
        if asks:
            tell = partial(policy.tell, decision, rewards[0] if slate is None else rewards)
        else:
            tell = partial(policy.update, *observed, indexes[0], rewards[0])
        due.setdefault(round if pending is None else round + int(draw(pending)), []).append(tell)
        for one in due.pop(round, ()):
            one()
        for index in indexes:
            add(books, index, round)
            if others.kinds.size:
                add_limits(others, index, round)
        running.forced[0] += getattr(decision, "reason_code", "") == "forced"
        running.reward[0] += sum(rewards)
        running.totals[:] = world.totals
        if round == checkpoints[row]:
            write(trace, row, books, others, running, round)
            row += 1
        if round % 1000 == 0:
            stop(round)
    stop(int(checkpoints[-1]))


def _index(policy: Any, said: Any, index: Any, arms: Any) -> int:
    if not is_whole(index) or not 0 <= index < len(arms):
        what = f"a decision whose index is a whole number from 0 to {len(arms) - 1}"
        raise ContractError(wanted(type(policy).__name__, what, said))
    return int(index)


def _rewards(world: Any, happened: Any, arms: int | None) -> list[float]:
    try:
        (given,) = happened
        rewards = [given] if arms is None else list(given)
        if any(isinstance(reward, bool) or getattr(reward, "dtype", None) == np.bool_ for reward in rewards):
            raise TypeError
        if len(rewards) != (arms or 1):
            raise ValueError
        return [float(reward) for reward in rewards]
    except (TypeError, ValueError, OverflowError) as error:
        several = "one number, the reward" if arms is None else f"a list of {arms} numbers, a reward an arm"
        what = f"respond to return a tuple of {several}"
        raise ContractError(wanted(type(world).__name__, what, happened)) from error
