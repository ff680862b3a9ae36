"""One replication: the compiled loop over kernels, and its twin that steps the same conversation from Python."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.arguments import is_whole
from evenhand.errors import ContractError, expected
from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.kernels.compose import OPEN, bind, entry, interpreted, kernel
from evenhand.learners.adapter import learner_facts, said_by
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.kernel_set import RewardContext, is_forced
from evenhand.policy.traits import traits_of
from evenhand.promises.books import ClauseCounts
from evenhand.promises.clause_counts import ClauseRates, Counts
from evenhand.promises.round_kernels import settle
from evenhand.protocol import Decision, Policy, Renewable
from evenhand.rng import child
from evenhand.simulation.counting import Trace, all_offered, count, empty_trace, note, open_books, set_offer
from evenhand.simulation.delay import Delay, Pending, learn_at_once, learn_later, lose, nothing_due, tell_due, wait
from evenhand.simulation.schedule import RoundSchedule
from evenhand.simulation.world import KernelWorld

if TYPE_CHECKING:
    import pandas as pd

NO_SUCH_ARM = -1
ROUNDS_A_CALL = 1 << 22
"""Between two calls an interruption is heard; about 40 ms."""


observe = choose = probability = respond = learn = deliver = score = OPEN
offer = slots = arm_at = OPEN


@kernel
def one_slot(state: object) -> int:
    return 1


@kernel
def all_slots(state: Any) -> int:
    """Return how many arms a policy plays together, which it leaves in its state."""
    size: int = state.chosen.size
    return size


@kernel
def same_arm(state: object, arm: int, slot: int) -> int:
    return arm


@kernel
def arm_there(state: Any, arm: int, slot: int) -> int:
    there: int = state.chosen[slot]
    return there


@kernel
def play(
    params: object,
    state: object,
    world: object,
    world_state: object,
    contexts: Floats,
    waiting: Ints,
    pending: object,
    offers: Bools,
    rates: ClauseRates,
    counts: Counts,
    before: Trace,
    trace: Trace,
    checkpoints: Ints,
    first: int,
    last: int,
    row: int,
) -> int:
    """Play rounds first .. last and note the checkpoints on the way; return the next checkpoint's row.

    The policy plays `slots` arms; one of the slots may be free, -1. `learn` passes a reward on at once, or puts it
    into `pending`, from where `deliver` tells it when it is due.

    An arm that is none ends the loop. To know that arms are not negative also saves a fifth of the time: the compiler
    leaves out what Python's indices from the end would need at every array.
    """
    totals = before.totals[0]
    for round in range(first, last + 1):
        # The world draws here whatever is played later; a draw that hung on the arm would end common random numbers.
        observe(world, world_state, contexts, round)
        counts.tick[0] += 1
        paused = offer(offers, state, rates, counts, round)
        first_arm, why = choose(params, state, contexts, round, waiting)
        played = 0
        for slot in range(slots(state)):
            arm = arm_at(state, first_arm, slot)
            if arm >= trace.pulls.shape[1]:
                return NO_SUCH_ARM
            if arm >= 0:
                ticket = RewardContext(round, probability(params, state, arm))
                reward = respond(world, world_state, contexts, arm)
                learn(pending, waiting, params, state, contexts, arm, reward, ticket)
                score(world, world_state, contexts, arm, reward, totals)
                before.reward[0] += reward
                count(rates, counts, arm, round)
                played += 1
        if played == 0:
            return NO_SUCH_ARM
        # Clauses are judged once a round, after all its plays: between two of them a slate would look broken.
        settle(rates, counts, 0, paused, round)
        if is_forced(why):
            before.forced[0] += 1
        deliver(pending, waiting, params, state, round)
        if round == checkpoints[row]:
            note(trace, row, rates, counts, before)
            row += 1
    return row


class _Run(NamedTuple):
    """A replication on its way."""

    policy: Any
    world: Any
    pending: Pending | None
    before: Trace
    trace: Trace
    checkpoints: Ints
    stop: Callable[[int], None]
    compiled: bool
    schedule: RoundSchedule
    due: dict[int, list[Callable[[], None]]]
    """What is told at the end of each round to come, where the loop is stepped from Python."""
    log: list[tuple[Decision, float]] | None


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
    schedule: RoundSchedule | None = None,
    learned: pd.DataFrame | None = None,
    log: list[tuple[Decision, float]] | None = None,
) -> Trace:
    """Run one replication of a fresh copy of `policy`, once it has `learned` from a log, in `world` and return its
    trace; `stop` is called now and then with the rounds done. Where a `log` is given, each decision is added to it with
    its reward, nan for a missing one.

    `compiled=False` runs the very same kernels as plain Python, for checks.
    """
    policy = policy.fresh(arms=world.arms, seed=policy_seed) if begins_anew(policy) else copy.deepcopy(policy)
    if (reseed := reseeding(policy)) is not None:
        reseed(child(policy_seed, 1))
    if learned is not None:
        policy.learn(learned)
    world = copy.copy(world) if isinstance(world, KernelWorld) else copy.deepcopy(world)
    world.reset(world_seed)
    schedule = RoundSchedule(world.arms) if schedule is None else schedule
    arms, scores, rows = len(world.arms), len(world.scores), len(checkpoints)
    changes, row = schedule.changes, 0
    trace, before = empty_trace(rows, arms, scores), empty_trace(1, arms, scores)
    in_kernels = runs_compiled(policy, world) and log is None
    if in_kernels:
        policy._begin(world.dimension)
        if (offered := schedule.on_offer(1)) is not None:
            policy._offer(offered)
    plays, shown = (policy.engine.plays, world._shown) if in_kernels else (0, np.zeros((0, 0)))
    pending = None if delay is None else delay.pending(world_seed, int(checkpoints[-1]), plays, shown)
    run = _Run(policy, world, pending, before, trace, checkpoints, stop, compiled, schedule, {}, log)
    ends = [*(round - 1 for round, _ in changes), int(checkpoints[-1])]
    books = open_books(promise, world.arms, 0)
    for first, last, new in zip([1, *(round for round, _ in changes)], ends, [None, *changes], strict=True):
        if new is not None:
            note(before, 0, books.rates, books.counts, before)
            policy.change(new[1])
            books = open_books(policy.promise, world.arms, first - 1)
        row = (_play if in_kernels else _step)(run, books, first, last, row)
    return trace


def runs_compiled(policy: object, world: object) -> bool:
    """Return whether policy and world both have kernels."""
    return isinstance(policy, KernelPolicy) and isinstance(world, KernelWorld) and traits_of(policy).compiled


def begins_anew(policy: object) -> bool:
    """Return whether a policy can be made again without memory; others are copied as they are."""
    return isinstance(policy, Renewable)


def foreign_learner(policy: object) -> Any:
    """Return the learner from elsewhere that the policy is or is built on, or None; such a one is copied as it is."""
    while begins_anew(policy):
        policy = traits_of(policy).learner
    return policy


def reseeding(policy: object) -> Callable[[int], None] | None:
    """Return what seeds the learner from elsewhere that the policy is or is built on; None where nothing does."""
    found: Callable[[int], None] | None = learner_facts(foreign_learner(policy)).reseed
    return found


def _play(run: _Run, books: ClauseCounts, first: int, last: int, row: int) -> int:
    policy, world, pending, checkpoints = run.policy, run.world, run.pending, run.checkpoints
    offers = np.zeros((0, 0), np.bool_) if run.schedule.offers is None else run.schedule.offers
    kernels = policy._kernels
    named = {"choose": kernels.choose, "probability": kernels.probability, **world._kernels._asdict()}
    named["learn"] = bind(learn_at_once if pending is None else learn_later, update=kernels.update)
    named["deliver"] = nothing_due if pending is None else bind(tell_due, update=kernels.update)
    slots, arm_at = (one_slot, same_arm) if policy.engine.plays == 1 else (all_slots, arm_there)
    named |= {"slots": slots, "arm_at": arm_at}
    named["offer"] = set_offer if len(offers) else all_offered
    function = entry(play, **named)
    if not run.compiled:
        function = interpreted(function.uncompiled)
    core = (policy.engine.params, policy.engine.state, *world._core)
    late = np.zeros(0) if pending is None else pending
    counted = offers, books.rates, books.counts, run.before, run.trace
    fixed = (*core, world._shown, policy.engine.waiting, late, *counted, checkpoints)
    while first <= last:
        end = min(last, first + ROUNDS_A_CALL - 1)
        row = function(*fixed, first, end, row)
        if row == NO_SUCH_ARM:
            raise ContractError(f"{type(policy).__name__}: choose returned an index outside the {len(world.arms)} arms")
        first = end + 1
        policy.engine.round = end
        run.stop(end)
    return row


def _step(run: _Run, books: ClauseCounts, first: int, last: int, row: int) -> int:
    policy, world, sums, schedule = run.policy, run.world, run.before, run.schedule
    draw, is_lost, note_row = entry(wait), entry(lose), entry(note)
    asks, slate, why = isinstance(policy, Policy), None, None
    for round in range(first, last + 1):
        observed = read_shown(world)
        if asks:
            decision = policy.ask(*observed, **schedule.arguments(round))
            index, slate, why = (getattr(decision, name, None) for name in ("index", "slate", "reason_code"))
            given = [index] if slate is None else slate[1]
            indexes = [_index(policy, decision, index, world.arms) for index in given]
        else:
            chosen = next(iter(said_by(policy, observed, range(len(world.arms)))), None)
            indexes = [_index(policy, chosen, chosen, world.arms)]
            decision = Decision(round, round, world.arms[indexes[0]], indexes[0])
        rewards = read_rewards(world, world.respond(decision), None if slate is None else len(indexes))
        due, missing = round, False
        if run.pending is not None:
            due, missing = round + int(draw(run.pending)), bool(is_lost(run.pending))
        tell: list[Callable[[], None]] = []
        if missing and asks and "forget" in dir(type(policy)):
            tell = [partial(policy.forget, decision)]
        elif not missing and asks:
            tell = [partial(policy.tell, decision, rewards[0] if slate is None else rewards)]
        elif not missing:
            tell = [partial(policy.update, *observed, indexes[0], rewards[0])]
        run.due.setdefault(due, []).extend(tell)
        if run.log is not None:
            run.log.append((decision, math.nan if missing else sum(rewards)))
        for one in run.due.pop(round, ()):
            one()
        books.enter(indexes, schedule.on_offer(round))
        sums.forced[0] += why == "forced"
        sums.reward[0] += sum(rewards)
        sums.totals[0] = world.totals
        if not np.isfinite(sums.totals[0]).all():
            raise ContractError(expected(type(world).__name__, "finite totals", world.totals))
        if round == run.checkpoints[row]:
            note_row(run.trace, row, books.rates, books.counts, sums)
            row += 1
        if round % 1000 == 0:
            run.stop(round)
    run.stop(last)
    return row


def _index(policy: object, said: object, index: Any, arms: Any) -> int:
    if not is_whole(index) or not 0 <= index < len(arms):
        what = f"a decision whose index is a whole number from 0 to {len(arms) - 1}"
        raise ContractError(expected(type(policy).__name__, what, said))
    return int(index)


def read_shown(world: Any) -> tuple[Any, ...]:
    """Begin a round of a world and return what it shows.

    Raises
    ------
    ContractError
        If that is no tuple.
    """
    observed = world.observe()
    if not isinstance(observed, tuple):
        what = "observe to return a tuple of what the round shows, () for nothing"
        raise ContractError(expected(type(world).__name__, what, observed))
    return observed


def read_rewards(world: Any, happened: Any, arms: int | None) -> list[float]:
    """Return the reward that a world pays, or that of each of so many arms.

    Raises
    ------
    ContractError
        If these are no numbers, or not one for each.
    """
    try:
        (given,) = happened
        rewards = [given] if arms is None else list(given)
        truths = [one for one in rewards if isinstance(one, (bool, np.bool_, np.ndarray))]
        if len(rewards) != (arms or 1) or any(np.asarray(one).dtype == np.bool_ for one in truths):
            raise ValueError
        return [float(reward) for reward in rewards]
    except (TypeError, ValueError, OverflowError) as error:
        several = "one number, the reward" if arms is None else f"a list of {arms} numbers, one reward per arm"
        what = f"respond to return a tuple of {several}"
        raise ContractError(expected(type(world).__name__, what, happened)) from error
