"""One replication: the compiled loop over kernels, and its twin that steps the same conversation from Python."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from evenhand.arguments import is_whole
from evenhand.errors import ContractError, wanted
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import OPEN, bind, entry, interpreted, kernel
from evenhand.learners.adapter import said_by
from evenhand.metrics.limits import Limits, rounds_broken
from evenhand.metrics.shares import Tally, count, violations, worst
from evenhand.policy.policy import KernelPolicy, Ticket, is_forced
from evenhand.policy.traits import traits_of
from evenhand.protocol import Decision
from evenhand.rng import child
from evenhand.simulation.clocks import (
    ON_CLOCKS,
    PLAIN,
    Clocks,
    Plain,
    fresh_books,
    no_limits,
    nothing_set,
    set_offer,
    set_segment,
)
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
from evenhand.simulation.given import Course
from evenhand.simulation.world import KernelWorld

__all__ = ["Trace", "foreign_learner", "replicate", "runs_compiled"]

NO_SUCH_ARM = -1
ROUNDS_A_CALL = 1 << 22
"""Between two calls the user's wish to stop is heard; about 40 ms."""


class Trace(NamedTuple):
    """What a replication leaves behind at its checkpoints, a row each."""

    pulls: Ints
    worst: Floats
    violations: Ints
    behind: Floats
    """(n_checkpoints,): the largest r_i t - N_i now, by the clock of each arm."""
    limits: Ints
    """(n_checkpoints,): rounds in which promises beside the floors of arms were broken."""
    forced: Ints
    reward: Floats
    totals: Floats
    """(n_checkpoints, n_scores): the world's scores, cumulative."""


class Running(NamedTuple):
    """Sums that go on from checkpoint to checkpoint; the last four are those of promises that were made before."""

    forced: Ints
    reward: Floats
    totals: Floats
    pulls: Ints
    """(n_segments * n_arms,)"""
    worst: Floats
    """(n_arms,)"""
    violations: Ints
    """(n_arms,)"""
    limits: Ints
    """(1,)"""


observe = choose = probability = respond = learn = deliver = score = OPEN
offer = enter_segment = tick = place_of = arm_clock = limit_clock = enter_limits = write = OPEN


@kernel
def note(trace: Trace, row: int, clocks: Any, tally: Tally, limits: Limits, running: Running, round: int) -> None:
    broken, behind, arms = running.limits[0], -math.inf, trace.pulls.shape[1]
    for i in range(limits.kinds.size):
        clock = limit_clock(clocks, i, round)
        if clock > 0:
            broken += rounds_broken(limits, i, clock)
    for arm in range(arms):
        trace.pulls[row, arm] = 0
        trace.worst[row, arm] = running.worst[arm]
        trace.violations[row, arm] = running.violations[arm]
    for place in range(tally.pulls.size):
        arm, clock = place % arms, arm_clock(clocks, place, round)
        trace.pulls[row, arm] += running.pulls[place] + tally.pulls[place]
        if clock > 0:
            behind = max(behind, tally.shares[place] * clock - tally.pulls[place])
            trace.worst[row, arm] = max(trace.worst[row, arm], worst(tally, place, clock))
            trace.violations[row, arm] += violations(tally, place, clock)
    trace.limits[row], trace.behind[row] = broken, behind
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
    clocks: Any,
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
        enter_segment(clocks, state, round)
        offer(clocks, state, round)
        tick(clocks, limits, round)
        arm, why = choose(params, state, contexts, round, waiting)
        if arm < 0 or arm >= running.worst.size:
            return NO_SUCH_ARM
        ticket = Ticket(round, probability(params, state, arm))
        reward = respond(world, world_state, contexts, arm)
        learn(pending, waiting, params, state, contexts, arm, reward, ticket)
        score(world, world_state, contexts, arm, reward, running.totals)
        place = place_of(clocks, arm)
        count(tally, place, arm_clock(clocks, place, round))
        enter_limits(clocks, limits, place, round)
        if is_forced(why):
            running.forced[0] += 1
        running.reward[0] += reward
        deliver(pending, waiting, params, state, round)
        if round == checkpoints[row]:
            write(trace, row, clocks, tally, limits, running, round)
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
    clocks: Any,
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
        enter_segment(clocks, state, round)
        offer(clocks, state, round)
        tick(clocks, limits, round)
        _, why = choose(params, state, contexts, round, waiting)
        for arm in state.chosen:
            if arm >= running.worst.size:
                return NO_SUCH_ARM
            if arm >= 0:
                ticket = Ticket(round, probability(params, state, arm))
                reward = respond(world, world_state, contexts, arm)
                learn(pending, waiting, params, state, contexts, arm, reward, ticket)
                score(world, world_state, contexts, arm, reward, running.totals)
                place = place_of(clocks, arm)
                count(tally, place, arm_clock(clocks, place, round))
                enter_limits(clocks, limits, place, round)
                running.reward[0] += reward
        if is_forced(why):
            running.forced[0] += 1
        deliver(pending, waiting, params, state, round)
        if round == checkpoints[row]:
            write(trace, row, clocks, tally, limits, running, round)
            row += 1
    return row


Books = tuple[Tally, Limits, Clocks | Plain]


class _Run(NamedTuple):
    """A replication on its way."""

    policy: Any
    world: Any
    pending: Pending | None
    running: Running
    trace: Trace
    checkpoints: Ints
    stop: Callable[[int], None]
    compiled: bool
    course: Course | None
    due: dict[int, list[Callable[[], None]]]
    """What is told at the end of each round to come, where the loop is stepped from Python."""


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
    course: Course | None = None,
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
    segments = max(1, 0 if course is None else len(course.segments))
    trace = Trace(
        np.zeros((rows, arms), np.int64),
        np.zeros((rows, arms)),
        np.zeros((rows, arms), np.int64),
        np.zeros(rows),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.zeros(rows),
        np.zeros((rows, scores)),
    )
    running = Running(
        np.zeros(1, np.int64),
        np.zeros(1),
        np.zeros(scores),
        np.zeros(segments * arms, np.int64),
        np.full(arms, -math.inf),
        np.zeros(arms, np.int64),
        np.zeros(1, np.int64),
    )
    in_kernels = runs_compiled(policy, world, course)
    if in_kernels:
        policy.begin(world.dimension)
        if course is not None:
            said = course.arguments(1)
            available = None if course.offers is None else np.flatnonzero(course.offers[0]).tolist()
            if said:
                policy._set_round(available, said.get("segment"))
    plays, shown = (policy.plays, world._shown) if in_kernels else (0, np.zeros((0, 0)))
    pending = None if delay is None else delay.pending(world_seed, int(checkpoints[-1]), plays, shown)
    run = _Run(policy, world, pending, running, trace, checkpoints, stop, compiled, course, {})
    changes, row, seen = (() if course is None else course.changes), 0, np.zeros(segments, np.int64)
    ends = [*(round - 1 for round, _ in changes), int(checkpoints[-1])]
    for first, last, new in zip([1, *(round for round, _ in changes)], ends, [None, *changes], strict=True):
        if new is not None:
            policy.change(new[1])
            promise = policy.promise
        kept = policy.stack_segments(course.segments) if in_kernels and course is not None and course.segments else None
        nothing = np.zeros(0, np.int64)
        books = fresh_books(promise, world.arms, course, seen, nothing if kept is None else kept)
        row = (_play if in_kernels else _step)(run, books, first, last, row)
        _keep_sums(running, books, last)
        if kept is not None and course is not None:
            policy.take_segments(course.segments, kept, running.pulls.reshape(segments, arms), seen)
    return trace


def _keep_sums(running: Running, books: Books, last: int) -> None:
    """Add what a promise has shown up to its last round to the sums of those before."""
    tally, limits, clocks = books
    arms = len(running.worst)
    running.pulls[:] += tally.pulls
    for place in range(tally.pulls.size):
        clock = clocks.arms[place] if isinstance(clocks, Clocks) else last
        if clock:
            running.worst[place % arms] = max(running.worst[place % arms], worst(tally, place, clock))
            running.violations[place % arms] += violations(tally, place, clock)
    for i in range(limits.kinds.size):
        clock = clocks.limits[i] if isinstance(clocks, Clocks) else last
        running.limits[0] += rounds_broken(limits, i, clock) if clock else 0


def runs_compiled(policy: Any, world: Any, course: Course | None = None) -> bool:
    """Say whether policy and world both have kernels, and the policy those that rounds with segments need."""
    if course is not None and course.segments and getattr(policy, "segment_kernel", None) is None:
        return False
    return isinstance(policy, KernelPolicy) and isinstance(world, KernelWorld) and traits_of(policy).compiled


def foreign_learner(policy: Any) -> Any:
    """Return the learner from elsewhere that the policy is or is built on, or None; such a one is copied as it is."""
    while hasattr(policy, "fresh"):
        policy = traits_of(policy).learner
    return policy


def _play(run: _Run, books: Books, first: int, last: int, row: int) -> int:
    policy, world, pending, checkpoints = run.policy, run.world, run.pending, run.checkpoints
    tally, others, clocks = books
    kernels = policy.kernels
    named = {"choose": kernels.choose, "probability": kernels.probability, **world.kernels._asdict()}
    named["learn"] = bind(learn_at_once if pending is None else learn_later, update=kernels.update)
    named["deliver"] = nothing_due if pending is None else bind(tell_due, update=kernels.update)
    named |= {name: one for name, one in _counting(books).items() if name != "limit_clock"}
    named["offer"] = nothing_set if run.course is None or run.course.offers is None else set_offer
    segmented = run.course is not None and run.course.segments
    named["enter_segment"] = bind(set_segment, enter_segment=policy.segment_kernel) if segmented else nothing_set
    function = entry(play if policy.plays == 1 else play_slates, **named)
    if not run.compiled:
        function = interpreted(function.uncompiled)
    core = (policy._params, policy._state, *world._core)
    late = AtOnce(np.zeros(0)) if pending is None else pending
    fixed = (*core, world._shown, policy._waiting, late, clocks, tally, others, run.running, run.trace, checkpoints)
    while first <= last:
        end = min(last, first + ROUNDS_A_CALL - 1)
        row = function(*fixed, first, end, row)
        if row == NO_SUCH_ARM:
            raise ContractError(
                f"{type(policy).__name__}: choose returned an arm that is none of the {len(world.arms)}"
            )
        first = end + 1
        policy.round = end
        run.stop(end)
    return row


def _counting(books: Books) -> dict[str, Any]:
    """Return the kernels that count rounds: all alike, or by clocks."""
    _, others, clocks = books
    kernels = dict(ON_CLOCKS if isinstance(clocks, Clocks) else PLAIN)
    if not others.kinds.size:
        kernels["enter_limits"] = no_limits
    read = {name: kernels[name] for name in ("arm_clock", "limit_clock")}
    return kernels | {"write": bind(note, **read)}


def _step(run: _Run, books: Books, first: int, last: int, row: int) -> int:
    policy, world, pending, due, running = run.policy, run.world, run.pending, run.due, run.running
    tally, others, clocks = books
    kernels = _counting(books)
    begin, add, add_limits, draw = entry(kernels["tick"]), entry(count), entry(kernels["enter_limits"]), entry(wait)
    note_row = entry(kernels["write"])
    asks, slate = hasattr(policy, "ask"), None
    for round in range(first, last + 1):
        observed = world.observe()
        if run.course is not None:
            begin(clocks, others, round)
        if asks:
            decision = policy.ask(*observed, **({} if run.course is None else run.course.arguments(round)))
            slate = getattr(decision, "slate", None)
            given = [getattr(decision, "index", None)] if slate is None else slate[1]
            indexes = [_index(policy, decision, index, world.arms) for index in given]
        else:
            chosen = next(iter(said_by(policy, observed, range(len(world.arms)))), None)
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
            place = kernels["place_of"](clocks, index)
            add(tally, place, int(kernels["arm_clock"](clocks, place, round)))
            if others.kinds.size:
                add_limits(clocks, others, place, round)
        running.forced[0] += getattr(decision, "reason_code", "") == "forced"
        running.reward[0] += sum(rewards)
        running.totals[:] = world.totals
        if round == run.checkpoints[row]:
            note_row(run.trace, row, clocks, tally, others, running, round)
            row += 1
        if round % 1000 == 0:
            run.stop(round)
    run.stop(last)
    return row


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
