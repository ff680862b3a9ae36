"""Policies from plain data: the name of a registered class and the arguments of its constructor.

    {"policy": "quotas/fair-learn", "learner": {"policy": "learners/thompson"}, "shares": {"a": "1/3", "b": 0.2}}

Only registered classes are made, and only from numbers, text, lists and objects: the data cannot cause anything to be
imported, evaluated or read from a file. Objects without such a description (a function, a trained model) need Python.
"""

from __future__ import annotations

import inspect
import math
import types
import typing
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from evenhand import registry
from evenhand.descriptions.limits import check_encoded, check_sizes
from evenhand.descriptions.promises import check_names, parts_of, promise_from, with_sets
from evenhand.errors import ArgumentError, EvenhandError, Wording, expected
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.promises.plain_data import ARGUMENTS

OBJECTS = {"learner": "policy", "inner": "policy", "metric": "part", "model": "part", "scale": "part"}
"""Arguments that take an object, and its kind."""
FROM_PYTHON = {
    "learners/adapter": "it wraps an object of another library",
    "sampling/certification": "it certifies a trained classifier",
    "sampling/estimator-model": "it wraps a classifier of scikit-learn",
}
DEEPEST = 3
"""How deep policies may be nested."""
LARGEST_SEED = 2**63
PLAIN = {bool: "true or false", int: "a whole number", float: "a number", str: "text", type(None): "null"}
PROBLEM = ("model", "intervene", "sensitive", "outcome", "candidates", "values", "randomised")
MODEL = ("states", "parents", "tables")


def policy_from(spec: object, *, bounded: bool = True) -> Any:
    """Return the policy that plain data describes; a policy without a seed gets a random one.

    Parameters
    ----------
    spec : an object with `policy`, a registered name, and the constructor's arguments. An argument that takes an
        object (`learner`, `inner`; `metric`, `model`) is a name or a similar object, with `policy` or `part`. The
        `problem` of a search is {"model": {"states", "parents", "tables"}, "intervene", "sensitive", "outcome",
        "candidates", "values", "randomised"}; a candidate that is null has the model's own table. Beside `shares`,
        `sets` lists shares of sets of arms: [{"arms": ["a", "b"], "share": 0.5}]. In their place `promise` is an object
        that `eh.Promise.from_dict` reads, for policies that take a promise. `encoder` says how a policy reads contexts
        with text: {"columns": {"weather": ["sun", "rain"], "hour": null}}, the arguments of `eh.Encoder`.
    bounded : refuse sizes that would need much memory; keep it on for data that comes over a network.

    Raises
    ------
    RegistryError
        If no policy has that name.
    ArgumentError
        If an argument is missing, unknown, or of the wrong kind; the message names it.

    Examples
    --------
    >>> policy_from({"policy": "quotas/fair-ucb", "shares": {"ads": 0.2, "news": "1/3"}, "seed": 1})
    FairUCB(shares={'ads': Fraction(1, 5), 'news': Fraction(1, 3)}, tolerance=0.0, arms=('ads', 'news'))
    """
    policy = build(_plain(spec, "policy"), bounded=bounded)
    if isinstance(policy, KernelPolicy) and policy.arms is None:
        hint = Wording('such as "arms": ["a", "b"]', shell="such as --arms a,b")
        raise ArgumentError(expected("arms", "a number of arms or a list of labels", None, hint))
    return policy


def build(described: dict[str, Any], *, bounded: bool = False) -> Any:
    """Return the policy of a description whose labels are Python's own; see `policy_from`."""
    return _made(described, "policy", "", 1, bounded)


def _made(spec: object, kind: registry.Kind, where: str, depth: int, bounded: bool) -> Any:
    if isinstance(spec, str) and where:
        spec = {kind: spec}
    if not isinstance(spec, dict) or not isinstance(spec.get(kind), str):
        raise ArgumentError(expected(where or "policy", f'an object with "{kind}", a registered name', spec))
    if depth > DEEPEST:
        raise ArgumentError(expected(where, f"at most {DEEPEST} policies inside one another", spec[kind]))
    entry = registry.get(spec[kind], kind)
    if entry.name in FROM_PYTHON:
        why = FROM_PYTHON[entry.name]
        raise ArgumentError(
            expected(where or "policy", "what plain data can describe", entry.name, f"{why}: use Python")
        )
    given = {name: value for name, value in spec.items() if name != kind}
    promised = given.pop("promise", None) if "lottery" in inspect.signature(entry.cls).parameters else None
    if promised is not None:
        beside = next((name for name in given if name in (*ARGUMENTS, "sets")), None)
        if beside is not None:
            raise ArgumentError(expected(beside, "nothing together with a promise, which states it", given[beside]))
        own = f"{where}.promise" if where else "promise"
        given["shares"] = promise_from(promised, given.get("arms"), own, bounded=bounded)
    sets = given.pop("sets", None) if "shares" in given else None
    encoder = given.pop("encoder", None) if issubclass(entry.cls, KernelPolicy) else None
    arguments = _arguments(entry, given, where, depth, bounded)
    if bounded:
        check_sizes(entry.name, arguments)
    if sets is not None:
        arguments["shares"] = with_sets(arguments["shares"], sets, f"{where}.sets" if where else "sets")
    made = _called(entry.name, entry.cls, arguments)
    if encoder is not None:
        own = f"{where}.encoder" if where else "encoder"
        described = {"part": "learners/encoder", **parts_of(encoder, own, ("columns", "unseen"), optional=("unseen",))}
        made.encode_with(_made(described, "part", own, depth, bounded))
        if bounded:
            check_encoded(made)
    return made


def _arguments(
    entry: registry.RegistryEntry, given: dict[str, Any], where: str, depth: int, bounded: bool
) -> dict[str, Any]:
    """Return the constructor's arguments, each checked by its annotation, objects made."""
    takes = inspect.signature(entry.cls).parameters
    check_names(entry.name, given, takes)
    missing = [name for name, p in takes.items() if p.default is p.empty and given.get(name) is None]
    if missing:
        lacks = ", ".join(missing)
        lacks = Wording(lacks, shell=f"--{lacks}") if lacks == "groups" else lacks
        raise ArgumentError(Wording(f"{where or 'policy'}: {entry.name} needs ", lacks))
    hints: dict[str, Any] = {}
    with suppress(NameError):  # of what was imported for type checkers alone
        hints = typing.get_type_hints(entry.cls.__init__)
    arguments: dict[str, Any] = {}
    for name, value in given.items():
        own = f"{where}.{name}" if where else name
        if name in OBJECTS:
            kind: Any = OBJECTS[name]
            arguments[name] = None if value is None else _made(value, kind, own, depth + 1, bounded)
        elif name == "problem":
            arguments[name] = _problem(value, own, bounded)
        else:
            arguments[name] = _of_kind(value, hints.get(name, Any), own)
            if name == "seed" and value is not None and not 0 <= value < LARGEST_SEED:
                raise ArgumentError(expected(own, "a whole number from 0 to 2^63 - 1, or null", value))
    return arguments


def _problem(spec: object, where: str, bounded: bool) -> Any:
    from evenhand.interventions import CausalModel, Problem

    parts = parts_of(spec, where, PROBLEM, optional=("values", "randomised"))
    tables = parts_of(parts["model"], f"{where}.model", MODEL)
    for name, part in (*((f"model.{n}", tables[n]) for n in MODEL), ("candidates", parts["candidates"])):
        if not isinstance(part, dict):
            raise ArgumentError(expected(f"{where}.{name}", "an object", part))
    if bounded:
        check_sizes("problem", {**tables, "candidates": parts["candidates"]})
    model = _called(where, CausalModel.from_tables, tables)
    return _called(where, Problem, {**parts, "model": model})


def _called(name: str, cls: Any, arguments: dict[str, Any]) -> Any:
    """Call a constructor with plain data; any error about the data becomes an ArgumentError."""
    try:
        with np.errstate(over="raise", invalid="raise"):
            return cls(**arguments)
    except EvenhandError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ArgumentError(f"{name}: cannot be built from these arguments: {error}") from error


def _of_kind(value: object, hint: object, where: str) -> Any:
    """Return a value that its annotation allows; other kinds than plain ones are left to the constructor."""
    choices = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    words: list[str] = []
    for choice in choices:
        if typing.get_origin(choice) is typing.Literal:
            allowed = typing.get_args(choice)
            if value in allowed:
                return value
            words.append("one of " + ", ".join(map(repr, allowed)))
        elif choice in PLAIN:
            if type(value) is choice or (choice is float and type(value) is int):
                return value
            words.append(PLAIN[choice])
        elif choice in (Any, object) or (isinstance(value, (list, dict)) and _collection(choice)):
            return value
        elif _collection(choice):
            words.append("an object" if typing.get_origin(choice) is Mapping else "a list")
    raise ArgumentError(expected(where, " or ".join(words), value))


def _collection(hint: object) -> bool:
    """Return whether an annotation takes a list or an object: dict[str, float], or plain list."""
    origin = typing.get_origin(hint)
    return origin not in (None, Callable) or (isinstance(hint, type) and issubclass(hint, Collection))


def _plain(value: object, where: str, depth: int = 0) -> Any:
    """Return a copy of plain data.

    Raises
    ------
    ArgumentError
        If it is anything else, such as a number that is not finite, or text that no store can hold.
    """
    if depth > 20:
        raise ArgumentError(expected(where, "objects and lists at most 20 deep", "deeper ones"))
    if isinstance(value, Mapping):
        body = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise ArgumentError(expected(where, "objects whose keys are text", key))
            body[_plain(key, where)] = _plain(item, key if depth == 0 else f"{where}.{key}", depth + 1)
        return body
    if isinstance(value, (list, tuple)):
        return [_plain(item, where, depth + 1) for item in value]
    if isinstance(value, str):
        if "\0" in value or any("\ud800" <= sign <= "\udfff" for sign in value):
            raise ArgumentError(expected(where, "text without NUL and without halves of characters", value))
        return value
    if value is None or isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise ArgumentError(expected(where, "numbers, text, true, false, null, lists or objects", value))
