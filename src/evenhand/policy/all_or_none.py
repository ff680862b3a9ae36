"""Rewards of which all are learned or none: where a learner from elsewhere fails half-way, the policy goes back."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from evenhand.errors import ArgumentError
from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import flat
from evenhand.policy import validation


@contextmanager
def all_or_none(policy: Any) -> Iterator[None]:
    """Take back whatever a policy is told in a block that fails, as where a learner from elsewhere raises: the policy
    goes on with a copy of that learner, made before the block.

    Raises
    ------
    ArgumentError
        If such a learner cannot be copied; nothing was told then.
    """
    if policy._reversible or not policy._begun:  # within another such block, which takes back all
        yield
        return
    arrays, tickets = [*flat(policy._state), policy._waiting], dict(policy.tickets.open)
    kept = [array.copy() for array in arrays]
    learner = None if policy.compiled else policy.learner
    try:
        before = copy.deepcopy(learner)
    except Exception as error:
        mend = "give it a __deepcopy__, or tell each decision by itself"
        why = f"copy.deepcopy, as many rewards are learned or none, cannot copy its {type(learner).__name__}: {error}"
        raise ArgumentError(f"learner: {why}; {mend}") from error
    policy._reversible = True
    try:
        yield
    except BaseException as error:
        for array, old in zip(arrays, kept, strict=True):
            array[...] = old
        policy.tickets.open = tickets
        if learner is not None:
            policy.learner = before
        error.add_note("nothing was recorded: the same call can be repeated")
        raise
    finally:
        policy._reversible = False


def tell_slate(policy: Any, slate: tuple[int, ...], shown: Floats, reward: Any, ticket: tuple[int, float]) -> None:
    """Have a policy learn the reward of each arm of a round that played several."""
    paid = validation.slate_rewards(policy, slate, reward)
    with nullcontext() if policy.compiled else all_or_none(policy):  # a kernel does not fail half-way
        for index, one in paid:
            policy._update(shown, index, one, ticket)
            policy._waiting[index] -= 1
