"""Several workers that decide at the same time, as one policy: what distribution costs, before one pays for it.

The workers take turns, which is one of the orders in which their decisions may come, and each keeps its part of the
promise on its own rounds. What they learn they exchange every so many rounds of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from evenhand.kernels.arrays import Ints
from evenhand.kernels.stacked import row_of, rows
from evenhand.policy.policy import KernelPolicy, Kernels
from evenhand.policy.pooling import Pool
from evenhand.policy.traits import traits_of
from evenhand.protocol import Decision, Label
from evenhand.rng import Seed, child, draw_seed
from evenhand.simulation.exchange import adding, alone, beside, derive_kernel
from evenhand.simulation.in_turn import in_turn
from evenhand.simulation.sharing import beginner, plan_of, shared_promise, worker_of

__all__ = ["Team"]

MOST_WORKERS = 1000
STRETCH = 1 << 18
"""Rounds between two times in which the user's wish to stop is heard, about 50 ms."""
BEGINNING = "the serial beginning"


class Team:
    """A policy that so many copies of another one decide in turn.

    Parameters
    ----------
    policy : a learner, or `DeadlineLearn`.
    workers : how many.
    exchange_rounds : after how many of its own rounds a worker exchanges what it learned with the others; None for
        never.
    seed : of the workers' streams.
    compiled : whether a simulation may compile it; it is stepped from Python where its policy has no kernels, or its
        statistics no kernel that adds them.

    Attributes
    ----------
    kernels : as those of a policy, once `begin` was called.

    Raises
    ------
    ArgumentError
        If several workers cannot keep what the policy promises, or its statistics do not add over workers.
    SharesError
        If the tolerance is too small for so many; the message names the least that is enough.
    """

    kernels: Kernels
    _params: Any
    _state: Any
    _waiting: Ints

    def __init__(
        self, policy: Any, workers: int, exchange_rounds: int | None, seed: Seed = None, *, compiled: bool = True
    ) -> None:
        self.policy, self.workers, self.exchange_rounds = policy, workers, exchange_rounds
        self.seed = draw_seed(policy.seed if seed is None else seed)
        traits = traits_of(policy)
        self.arms, self.promise, self.kept = traits.arms, traits.promise, traits.kept
        self.reward_range, self.contextual, self.dimension = traits.reward_range, traits.contextual, traits.dimension
        self.learner, self.membership, self.groups = traits.learner, traits.membership, traits.groups
        self._plan = plan_of(shared_promise(policy), workers)
        self._beginning = 0 if self._plan is None else self._plan.rounds
        self.plays = traits.plays
        self.compiled = compiled and traits.compiled and self.plays == 1
        if exchange_rounds is not None:
            self.compiled = _adds_compiled(policy) and self.compiled
        self._members: list[Any] = []
        self._asked: list[int] = []
        self._reports: dict[str, dict[str, Any]] = {}
        self._open: dict[tuple[str | None, int], int] = {}
        self.round = 0

    def config(self) -> dict[str, Any]:
        """Return what the decisions depend on."""
        return {"policy": self.policy, "workers": self.workers, "exchange_rounds": self.exchange_rounds}

    def fresh(self, *, arms: Sequence[Label] | None = None, seed: Seed = None) -> Self:
        """Return a team without memory; `arms` names the arms of a learner that has none yet."""
        made = type(self)(self.policy, self.workers, self.exchange_rounds, seed, compiled=self.compiled)
        made._members = [made._member(number, arms) for number in range(self.workers + 1)]
        made._asked = [0] * len(made._members)
        return made

    def _member(self, number: int, arms: Sequence[Label] | None) -> Any:
        """Return the policy of a worker from 1 on, or of the serial beginning, 0."""
        if self._plan is None:
            made = self.policy.fresh(arms=arms, seed=child(self.seed, number))
        elif number:
            made = worker_of(self.policy, self._plan.endowment, child(self.seed, number))
        else:
            made = beginner(self.policy, self._plan.pulls, self._plan.rounds, child(self.seed, 0))
        if self.exchange_rounds is not None:
            made.begin_exchange()
        return made

    # ------------------------------------------------------------------ compiled

    def begin(self, dimension: int) -> None:
        """Make ready for the compiled loop, with contexts (n_arms, dimension)."""
        for one in self._members:
            one.begin(dimension)
        first, *members = self._members
        pool = members[0].pool
        self._in_python = pool is not None and pool.beside(members[0]._learned) is not None
        way = alone if pool is None else beside if self._in_python else adding
        every = 0 if self._in_python else self.exchange_rounds or 0
        order = sorted(range(self.workers), key=lambda worker: _name(worker + 1))
        made = in_turn(first, members, self._beginning, every, order, way(first, members))
        self.kernels, self._params, self._state = made
        self._waiting = np.zeros(len(first._labels), np.int64)
        if self._in_python:
            for number, one in enumerate(self._members):
                self._lay_out(number, one)

    def _lay_out(self, number: int, member: Any) -> None:
        """Have a member work on its rows of the compiled state, so that it can report and take in."""
        state, last = self._state, number - 1 if number else self.workers
        member._state = row_of(member._state)(state.members if number else state.first, max(0, number - 1))
        member._waiting = state.open[last]
        member.pool.keep_in(rows(len(state.shared))(state.shared, last))

    def prepare(self, round: int) -> int:
        """Exchange in Python what is to be exchanged before a round; return the last round before the next time."""
        after = round - 1 - self._beginning
        if not self._in_python:
            return round + STRETCH - 1
        if after < 0:
            return self._beginning
        assert self.exchange_rounds is not None
        before, worker = divmod(after, self.workers)
        turn, since = divmod(before, self.exchange_rounds)
        if not since:
            number, members, state = worker + 1, self._members, self._state
            self._asked[0] = members[0].round = self._beginning
            self._asked[number] = members[number].round = before
            self._exchange(number)
            pool = members[number].pool
            state.heard[worker], state.waiting[worker] = pool.rounds, pool.waiting(state.open[worker])
            if number < self.workers:
                return round
        return self._beginning + (turn + 1) * self.exchange_rounds * self.workers

    # ------------------------------------------------------------------ stepped from Python

    def ask(self, *observed: Any) -> Decision:
        """Have the worker whose turn it is decide."""
        before = self._beginning
        number = 0 if self.round < before else 1 + (self.round - before) % self.workers
        if self.exchange_rounds and number and self._asked[number] % self.exchange_rounds == 0:
            self._exchange(number)
        decision: Decision = self._members[number].ask(*observed)
        self.round += 1
        self._asked[number] += 1
        self._open[decision.token, decision.id] = number
        return decision

    def tell(self, decision: Decision, reward: Any) -> None:
        """Tell the worker that decided."""
        self._members[self._open.pop((decision.token, decision.id))].tell(decision, reward)

    def _exchange(self, number: int) -> None:
        """Publish what a worker learned, and take in what the others last published."""
        for one in (0, number):
            report = self._members[one].report() if self._asked[one] else None
            if report is not None:
                self._reports[_name(one)] = {**report, "number": self._asked[one]}
        others = {name: report for name, report in self._reports.items() if name != _name(number)}
        if others:
            self._members[number].take_in(others)


def _name(number: int) -> str:
    return f"w{number}" if number else BEGINNING


def _adds_compiled(policy: KernelPolicy) -> bool:
    """Say whether what a policy exchanges can be added up by kernels, or is added up in Python between them.

    Raises
    ------
    ArgumentError
        If it exchanges nothing.
    """
    pool = policy.new_pool()
    if type(pool).beside is not Pool.beside:
        return True
    return type(pool) is Pool and derive_kernel(policy) is not None
