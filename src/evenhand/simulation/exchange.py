"""What workers in a simulation learn from each other, compiled: what `evenhand.policy.pooling` does, to the last bit.

A worker that has taken in reports decides by its own statistics plus those of the others, added in the order of their
names: first the serial beginning's, then "w1", "w10", "w2". Workers decide in turn, so of the others each holds the
report of this turn, if they come before it, or of the turn before; the two last reports of each are kept.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.kernels.compose import OPEN, bind, kernel
from evenhand.kernels.flatten import names
from evenhand.kernels.stacked import copier, row_of, stack
from evenhand.policy.policy import KernelPolicy, Ticket

__all__ = ["Exchange", "Shared", "adding", "alone", "beside", "derive_kernel"]

row = row_beside = update = derive = learned = read = write = read_first = OPEN


class Exchange(NamedTuple):
    """How workers learn: kernels for a reward of theirs and of the serial beginning, one that exchanges before a
    decision, and arrays of what they share."""

    learn: Any
    learn_first: Any
    exchange: Any
    shared: Any


class Shared(NamedTuple):
    """What workers whose statistics add know of each other: for each n statistics, and its k arms' open tickets."""

    own: Floats
    """(workers, n + k): what each learned itself."""
    start: Floats
    """(workers, n + k): what each took in from the serial beginning."""
    reports: Floats
    """(2, workers, n + k): the last two reports of each, the one with an even number at 0."""
    others: Floats
    """(workers, n + k): the sum of what each took in."""
    whole: Bools
    """(workers, n + k): whether all of that are whole numbers."""
    total: Floats
    """(workers, n + k): what each decides by."""
    now: Floats
    """(n,): scratch."""
    turns: Ints
    """(workers,): the number of each one's last report."""
    joined: Bools
    """(workers,): whether it has taken in any."""


@kernel
def learn_alone(
    params: Any, state: Any, worker: int, contexts: Floats, index: int, reward: float, ticket: Ticket
) -> None:
    update(params.each, row(state.members, worker), contexts, index, reward, ticket)


@kernel
def learn_first(params: Any, state: Any, contexts: Floats, index: int, reward: float, ticket: Ticket) -> None:
    update(params.first, row(state.first, 0), contexts, index, reward, ticket)


@kernel
def no_exchange(params: Any, state: Any, worker: int, before: int) -> None:
    """Stand for `exchange` where nothing is exchanged, or in Python."""


@kernel
def learn_beside(
    params: Any, state: Any, worker: int, contexts: Floats, index: int, reward: float, ticket: Ticket
) -> None:
    """Learn a reward twice: for the total, and for what the worker knows itself."""
    update(params.each, row(state.members, worker), contexts, index, reward, ticket)
    update(params.each, row_beside(state.members, worker, state.shared, worker), contexts, index, reward, ticket)


@kernel
def learn_first_beside(params: Any, state: Any, contexts: Floats, index: int, reward: float, ticket: Ticket) -> None:
    update(params.first, row(state.first, 0), contexts, index, reward, ticket)
    mine = row_beside(state.first, 0, state.shared, params.workers)
    update(params.first, mine, contexts, index, reward, ticket)


@kernel
def learn_adding(
    params: Any, state: Any, worker: int, contexts: Floats, index: int, reward: float, ticket: Ticket
) -> None:
    """Learn a reward by the worker's own statistics, and add the others' again."""
    shared, member = state.shared, row(state.members, worker)
    if shared.joined[worker]:
        write(state.members, worker, shared.own[worker], 0)
    update(params.each, member, contexts, index, reward, ticket)
    if shared.joined[worker]:
        read(state.members, worker, shared.now, 0)
        for i in range(shared.now.size):
            if shared.now[i] != shared.own[worker, i]:
                shared.own[worker, i] = shared.now[i]
                shared.total[worker, i] = total_of(params, shared, worker, i)
        write(state.members, worker, shared.total[worker], 0)
        derive(learned(member))


@kernel
def exchange(params: Any, state: Any, worker: int, before: int) -> None:
    """Publish what a worker has learned, and have it take in what the others last published."""
    shared, arms = state.shared, state.open.shape[1]
    statistics, turn = shared.now.size, before // params.every
    own, start = shared.own[worker], shared.start[worker]
    if not shared.joined[worker]:
        read(state.members, worker, own, 0)
    for arm in range(arms):
        own[statistics + arm] = state.open[worker, arm]
    shared.turns[worker] = turn
    if turn > 0:
        for i in range(own.size):
            shared.reports[turn % 2, worker, i] = own[i]
    elif params.beginning > 0:
        read_first(state.first, 0, start, 0)
        for arm in range(arms):
            start[statistics + arm] = state.open[params.workers, arm]
    later = params.workers - 1 - worker
    if params.beginning > 0 or turn > 1 or (turn == 1 and worker > 0):
        shared.joined[worker] = True
        state.heard[worker] = params.beginning + params.every * (worker * turn + later * max(0, turn - 1))
        add_others(params, shared, worker)
        for i in range(own.size):
            shared.total[worker, i] = total_of(params, shared, worker, i)
        for arm in range(arms):
            state.waiting[worker, arm] = int(shared.total[worker, statistics + arm])
        write(state.members, worker, shared.total[worker], 0)
        derive(learned(row(state.members, worker)))


@kernel
def held(shared: Shared, worker: int, other: int) -> int:
    """Return where among the last two reports of another worker the one stands that a worker took in."""
    return (shared.turns[worker] + (other > worker)) % 2


@kernel
def add_others(params: Any, shared: Shared, worker: int) -> None:
    """Add up what a worker took in."""
    others, whole = shared.others[worker], shared.whole[worker]
    for i in range(others.size):
        others[i] = shared.start[worker, i]
        whole[i] = others[i] == math.floor(others[i])
    for other in params.order:
        if other != worker:
            report = shared.reports[held(shared, worker, other), other]
            for i in range(others.size):
                others[i] += report[i]
                whole[i] &= report[i] == math.floor(report[i])


@kernel
def total_of(params: Any, shared: Shared, worker: int, i: int) -> float:
    """Return one statistic of a worker plus those of the others.

    Whole numbers have the same sum in any order, others have not: they are added again, one by one.
    """
    total = shared.own[worker, i]
    if shared.whole[worker, i] and total == math.floor(total):
        return total + shared.others[worker, i]
    total += shared.start[worker, i]
    for other in params.order:
        if other != worker:
            total += shared.reports[held(shared, worker, other), other, i]
    return total


@kernel
def itself(state: Any) -> Any:
    """Return the learner's state of a learner."""
    return state


@kernel
def inside(state: Any) -> Any:
    """Return the learner's state of a learner under a rule."""
    return state.learner


@kernel
def nothing(state: Any) -> None:
    """Derive nothing."""


def alone(first: Any, members: list[Any]) -> Exchange:
    """Return how workers learn that exchange nothing; `first` is the policy of the serial beginning."""
    learn = bind(learn_alone, **_learning(members[0]))
    return Exchange(learn, bind(learn_first, **_learning(first)), no_exchange, ())


def beside(first: Any, members: list[Any]) -> Exchange:
    """Return how workers learn that keep what they learned beside a total, and exchange in Python."""
    shared = stack(one.pool.beside(one._learned) for one in (*members, first))
    learn, learn_too = (
        bind(template, **_learning(one), row_beside=row_of(one._state, len(shared)))
        for template, one in ((learn_beside, members[0]), (learn_first_beside, first))
    )
    return Exchange(learn, learn_too, no_exchange, shared)


def adding(first: Any, members: list[Any]) -> Exchange:
    """Return how workers learn whose statistics add."""
    member, workers = members[0], len(members)
    read, write = copier(_places(member))
    ours = {
        "read": read,
        "write": write,
        "derive": derive_kernel(member),
        "learned": itself if member._learned is member._state else inside,
    }
    statistics = sum(getattr(member._learned, name).size for name in member.pool.fields)
    each = (workers, statistics + len(member._labels))
    shared = Shared(
        np.zeros(each),
        np.zeros(each),
        np.zeros((2, *each)),
        np.zeros(each),
        np.zeros(each, np.bool_),
        np.zeros(each),
        np.zeros(statistics),
        np.zeros(workers, np.int64),
        np.zeros(workers, np.bool_),
    )
    return Exchange(
        bind(learn_adding, **_learning(member), **ours),
        bind(learn_first, **_learning(first)),
        bind(exchange, row=row_of(member._state), read_first=copier(_places(first))[0], **ours),
        shared,
    )


def derive_kernel(policy: Any) -> Any:
    """Return the kernel that does what `derive` of a policy's learner does; None where there is none.

    It counts only in the class that states it: a class below may derive otherwise.
    """
    learner = getattr(policy, "learner", policy)
    own = vars(type(learner)).get("derive_kernel")
    return nothing if own is None and type(learner).derive is KernelPolicy.derive else own


def _learning(policy: Any) -> dict[str, Any]:
    return {"update": policy.kernels.update, "row": row_of(policy._state)}


def _places(policy: Any) -> list[int]:
    """Return where in the flat state the fields stand that add."""
    inner = "" if policy._learned is policy._state else "learner."
    return [names(policy._state).index(inner + name) for name in policy.pool.fields]
