"""The check that a policy's arguments do something: one that changes nothing was forgotten, or a base class answers."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from numbers import Number
from typing import Any, get_args, get_type_hints

import numpy as np

from evenhand.checks.play import SEED, Skip, converse
from evenhand.display.html import notes_of
from evenhand.errors import EvenhandError
from evenhand.kernels.compose import flat, interpreted
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.traits import traits_of
from evenhand.protocol import Configurable

ROUNDS = 60
"""Rounds that most arguments are tried in; one that has changed nothing by then is tried in all rounds of the check."""
PLAIN = (str, Number)
UNTRIED = ("seed", "arms")
"""Arguments that a rule may take in vain: it draws nothing, or its shares name the arms."""


def check_arguments(policy: Any, world: Any, rounds: int) -> list[str]:
    """See that a policy of the same configuration is the same, and that each argument is stated as it was given and
    changes something: decisions and their probabilities, what is learned, scores, the promise, other traits or notes.

    Returns the arguments for which it found no other value that the policy takes, such as free texts. Parameters alone
    are no effect. What it cannot see: that nothing reads what an argument changes in the state; and an
    effect that comes later, with other values or in another world, or through a method alone, which is named wrongly.
    """
    if not isinstance(policy, Configurable):
        raise Skip("has no get_params(), which states its arguments")
    given, short = policy.get_params(deep=False), min(rounds, ROUNDS)
    before = cache(lambda length: _behaviour(_made(policy, given), world, length))
    assert before(short) == _behaviour(policy, world, short), "made anew from get_params(), it differs"
    kinds, untried = _kinds(type(policy)), []
    for name in [name for name in given if name not in (*UNTRIED, *traits_of(policy).conditional_arguments)]:
        others = [*_others(given[name], kinds.get(name))]
        for length in sorted({short, rounds}):
            tried = _tried_in_vain(policy, given, name, others, world, length, before(length))
            if not tried:
                untried += [name] * (tried is not None)
                break
        else:
            raise AssertionError(
                f"the argument {name} changes nothing: {given[name]!r} and {tried} decide, learn and promise alike; "
                f"use it, or name it in Traits(conditional_arguments=({name!r},)) if it matters only now and then"
            )
    return untried


def _tried_in_vain(
    policy: Any, given: Mapping[str, Any], name: str, others: list[Any], world: Any, rounds: int, before: list[Any]
) -> list[Any] | None:
    """Return the values of an argument that change nothing, or None once one does."""
    tried = []
    for other in others:
        try:
            with warnings.catch_warnings():  # which a setting may call for that nobody has chosen
                warnings.simplefilter("ignore")
                made = _made(policy, {**given, name: other})
                after = _behaviour(made, world, rounds)
        except (EvenhandError, TypeError, ValueError):
            continue
        says = made.get_params(deep=False)[name]
        assert says == other or not isinstance(says, PLAIN) or not isinstance(other, PLAIN), (
            f"made with {name}={other!r} it states {name}={says!r}: a class above answers; keep the argument as "
            f"self.{name}, or pass it on"
        )
        if after != before:
            return None
        tried += [other] * (other != given[name])
    return tried


def _made(policy: Any, arguments: Mapping[str, Any]) -> Any:
    return type(policy)(**copy.deepcopy(dict(arguments)))


def _behaviour(policy: Any, world: Any, rounds: int) -> list[Any]:
    """Return what a policy states, decides in some rounds, has learned by then, and how it scores the arms next."""
    world = copy.deepcopy(world)
    world.reset(SEED)
    stated = {name: value for name, value in vars(traits_of(policy)).items() if name not in ("learner", "bias")}
    said: list[Any] = [repr(stated), notes_of(policy)]
    try:
        said += converse(policy, world, rounds)
    except EvenhandError as error:  # such as at its horizon
        said.append(str(error))
    if isinstance(policy, KernelPolicy):
        engine, rank, scores = policy.engine, policy.engine.kernels.rank, np.zeros(len(policy.engine.waiting))
        said += [array.tobytes() for array in flat(engine.state)]
        if rank is not None:
            shown = policy._read_contexts(*world.observe())
            interpreted(rank)(engine.params, engine.state, shown, engine.round + 1, engine.waiting, scores)
        said.append(scores.tolist())
    return said


def _kinds(cls: type[Any]) -> dict[str, Any]:
    try:
        return get_type_hints(cls.__init__)
    except (NameError, TypeError):
        return {}


def _others(value: Any, kind: Any) -> Iterator[Any]:
    """Yield other values that an argument may have: of the same type, or of the types that it is annotated with."""
    for choice in get_args(kind):
        yield from (one for one in get_args(choice) or (choice,) if isinstance(one, str) and one != value)
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, 2 * value + 3, value - 1)
    elif isinstance(value, (float, Fraction)):
        yield from (value / 2, 0.9 * value + 0.05, 2 * value + 1.0)
    elif isinstance(value, Mapping):
        for label, one in value.items():
            yield from ({**value, label: other} for other in _others(one, None))
    elif isinstance(value, (list, tuple)):
        for place, one in enumerate(value):
            yield from ([*value[:place], other, *value[place + 1 :]] for other in _others(one, None))
    elif value is None:
        yield from (2, 0.5, True)
