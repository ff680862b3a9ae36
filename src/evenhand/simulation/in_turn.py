"""Several workers that decide in turn, compiled: the state of each is a row, and one kernel takes whose turn it is.

What `evenhand.simulation.team.Team` does when it is stepped from Python, to the last bit. Rounds are the world's; a
worker's own round, the number of its decisions, follows from them. `beginning` rounds are decided first, by a policy of
their own; its open tickets stand behind those of the workers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import OPEN, bind, kernel
from evenhand.kernels.stacked import row_of, stack
from evenhand.policy.policy import Kernels, Ticket, unknown
from evenhand.simulation.exchange import Exchange

__all__ = ["TeamParams", "TeamState", "in_turn"]

row_first = choose_first = probability_first = learn_first = OPEN
row = choose_each = probability_each = learn = exchange = OPEN


class TeamParams(NamedTuple):
    workers: int
    beginning: int
    every: int
    """After how many own rounds a worker exchanges, 0 for never."""
    order: Ints
    """(workers,): the workers in the order of their names."""
    first: Any
    """The parameters of the serial beginning's policy."""
    each: Any
    """The parameters of each worker's policy."""


class TeamState(NamedTuple):
    turn: Ints
    """(1,): who decided last; `workers` stands for the serial beginning."""
    open: Ints
    """(workers + 1, n_arms): the open tickets of each worker."""
    waiting: Ints
    """(workers + 1, n_arms): the same and those that the others reported."""
    heard: Ints
    """(workers,): the rounds of the others that they reported."""
    first: Any
    members: Any
    shared: Any


@kernel
def whose(params: TeamParams, round: int) -> tuple[int, int]:
    """Return who decides in a round, and in how many rounds he decided before."""
    after = round - 1 - params.beginning
    if after < 0:
        return params.workers, round - 1
    before = after // params.workers
    return after - before * params.workers, before


@kernel
def choose(params: TeamParams, state: TeamState, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    worker, before = whose(params, round)
    state.turn[0] = worker
    own = before + 1
    if worker == params.workers:
        arm, why = choose_first(params.first, row_first(state.first, 0), contexts, own, state.open[worker])
    else:
        if params.every > 0 and before % params.every == 0:
            exchange(params, state, worker, before)
        own += state.heard[worker]
        arm, why = choose_each(params.each, row(state.members, worker), contexts, own, state.waiting[worker])
    if 0 <= arm < state.open.shape[1]:
        state.open[worker, arm] += 1
        state.waiting[worker, arm] += 1
    return arm, why


@kernel
def probability(params: TeamParams, state: TeamState, index: int) -> float:
    worker = state.turn[0]
    if worker == params.workers:
        return probability_first(params.first, row_first(state.first, 0), index)
    return probability_each(params.each, row(state.members, worker), index)


@kernel
def update(params: TeamParams, state: TeamState, contexts: Floats, index: int, reward: float, ticket: Ticket) -> None:
    worker, before = whose(params, ticket.round)
    own = Ticket(before + 1, ticket.probability)
    if worker == params.workers:
        learn_first(params, state, contexts, index, reward, own)
    else:
        learn(params, state, worker, contexts, index, reward, own)
    state.open[worker, index] -= 1
    state.waiting[worker, index] -= 1


@kernel
def no_row(arrays: Any, row: int) -> int:
    """Stand for the serial beginning's state where there is none, as the next three for its kernels."""
    return 0


@kernel
def nobody(params: Any, state: Any, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    return -1, 0


@kernel
def learns_nothing(params: Any, state: Any, contexts: Floats, index: int, reward: float, ticket: Ticket) -> None:
    return


def in_turn(
    first: Any, members: list[Any], beginning: int, every: int, order: list[int], how: Exchange
) -> tuple[Kernels, TeamParams, TeamState]:
    """Return kernels, parameters and state of workers before their first round.

    Parameters
    ----------
    first : the policy of the serial beginning.
    members : the policies of the workers.
    beginning : the rounds of the serial beginning.
    every : after how many own rounds a worker exchanges, 0 for never, or in Python.
    order : the workers in the order of their names.
    how : how they learn and exchange.
    """
    member, workers = members[0], len(members)
    ours = {"row": row_of(member._state), "row_first": row_of(first._state) if beginning else no_row}
    chooses = {"choose_first": first.kernels.choose if beginning else nobody, "choose_each": member.kernels.choose}
    chances = {"probability_first": unknown, "probability_each": member.kernels.probability}
    if beginning:
        chances["probability_first"] = first.kernels.probability
    kernels = Kernels(
        bind(choose, **ours, **chooses, exchange=how.exchange),
        bind(update, learn=how.learn, learn_first=how.learn_first if beginning else learns_nothing),
        bind(probability, **ours, **chances),
    )
    tickets = np.zeros((workers + 1, len(member._labels)), np.int64)
    params = TeamParams(workers, beginning, every, np.array(order, np.int64), first._params, member._params)
    stacked = stack([first._state]), stack(one._state for one in members), how.shared
    state = TeamState(np.zeros(1, np.int64), tickets, tickets.copy(), np.zeros(workers, np.int64), *stacked)
    return kernels, params, state
