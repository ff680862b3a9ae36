"""The check that a policy's arguments do something: one that changes nothing was forgotten, or a base class answers."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping
from numbers import Number
from typing import Any, get_args, get_type_hints

import numpy as np

from evenhand.checks.play import SEED, Skip, converse
from evenhand.display.html import notes_of
from evenhand.errors import EvenhandError
from evenhand.kernels.compose import flat
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.traits import traits_of
from evenhand.protocol import Configurable

ROUNDS = 60
"""An argument that has changed no decision in so many rounds may still have changed what the policy states or keeps."""
PLAIN = (str, Number)
UNTRIED = ("seed", "arms")
"""Arguments that a rule may take in vain: it draws nothing, or its shares name the arms."""


def check_arguments(policy: Any, world: Any, rounds: int) -> None:
    """See that a policy of the same configuration is the same, and that each argument is stated as it was given and
    changes something."""
    if not isinstance(policy, Configurable):
        raise Skip("has no get_params(), which states its arguments")
    given = policy.get_params(deep=False)
    before = _behaviour(_made(policy, given), world, min(rounds, ROUNDS))
    assert before == _behaviour(policy, world, min(rounds, ROUNDS)), "made anew from get_params(), it differs"
    kinds = _kinds(type(policy))
    for name in [name for name in given if name not in (*UNTRIED, *traits_of(policy).conditional_arguments)]:
        tried = []
        for other in _others(given[name], kinds.get(name)):
            try:
                with warnings.catch_warnings():  # which a setting may call for that nobody has chosen
                    warnings.simplefilter("ignore")
                    made = _made(policy, {**given, name: other})
                    after = _behaviour(made, world, min(rounds, ROUNDS))
            except (EvenhandError, TypeError, ValueError):
                continue
            says = made.get_params(deep=False)[name]
            assert says == other or not isinstance(says, PLAIN) or not isinstance(other, PLAIN), (
                f"made with {name}={other!r} it states {name}={says!r}: a class above answers; keep the argument as "
                f"self.{name}, or pass it on"
            )
            tried += [other] * (other != given[name])
            if after != before:
                break
        else:
            assert not tried, (
                f"the argument {name} changes nothing: {given[name]!r} and {tried} decide and promise alike; use it, "
                f"or name it in Traits(conditional_arguments=({name!r},)) if it matters only now and then"
            )


def _made(policy: Any, arguments: Mapping[str, Any]) -> Any:
    return type(policy)(**copy.deepcopy(dict(arguments)))


def _behaviour(policy: Any, world: Any, rounds: int) -> list[Any]:
    """Return what a policy states, decides in some rounds, and gives to its kernels."""
    world = copy.deepcopy(world)
    world.reset(SEED)
    stated = {name: value for name, value in vars(traits_of(policy)).items() if name not in ("learner", "bias")}
    said: list[Any] = [repr(stated), notes_of(policy)]
    try:
        said += converse(policy, world, rounds)
    except EvenhandError as error:  # such as at its horizon
        said.append(str(error))
    if isinstance(policy, KernelPolicy):
        said += [np.asarray(value).tobytes() for value in flat(policy.engine.params)]
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
    elif isinstance(value, float):
        yield from (value / 2, 0.9 * value + 0.05, 2 * value + 1.0)
    elif isinstance(value, Mapping):
        for label, one in value.items():
            yield from ({**value, label: other} for other in _others(one, None))
    elif isinstance(value, (list, tuple)):
        for place, one in enumerate(value):
            yield from ([*value[:place], other, *value[place + 1 :]] for other in _others(one, None))
    elif value is None:
        yield from (2, 0.5, True)
