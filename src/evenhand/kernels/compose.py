"""Kernels: plain functions over arrays, composed by name, compiled when something calls them from Python.

A kernel is written with `@kernel` and may call other kernels as globals. Called by itself it runs as plain Python;
`entry` compiles it with all that it reaches, at the first call, and only then is numba imported. Where a kernel is a
*template* (its callee is not known when it is written: a quota rule over any learner, the simulation loop over any
policy), `bind` fills the open names. numba can cache a function on disk only if it closes over nothing; `bind`
therefore clones the template with the kernels as its globals, under a name that carries a fingerprint of all code that
is reached. So a warm start loads machine code, and a changed callee is never served stale.

NamedTuples of arrays cross the border to Python flat, which is fast, and a kernel rebuilds them inside: see `packer`.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FunctionType
from typing import Any, TypeGuard

import numpy as np

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
"""No interpreter lock; IEEE division; no reference counting, which would cost ten times the arithmetic of a round. A
kernel therefore allocates nothing: scratch arrays are fields of its state. Kernels are inlined by force for the same
reason. Nothing calls them from C or, but for entries, from Python; the wrappers for that would take a third of the time
of compilation."""

OPEN: Any = None
"""What the open names of a template stand for until `bind` fills them."""
DEEPEST = 4_000
"""The depth of Python's calls that compiling needs."""


class Kernel:
    """A function that compiles as part of others, and runs as plain Python when it is called by itself."""

    __name__: str

    def __init__(self, function: FunctionType, inline: bool, origin: tuple[Any, ...] | None = None) -> None:
        functools.update_wrapper(self, function)
        self.function, self.inline, self._origin = function, inline, origin

    def __call__(self, *arguments: object) -> Any:
        """Run the kernel, and all kernels that it calls, uncompiled."""
        return self.function(*arguments)

    def __reduce__(self) -> Any:
        if self._origin is not None:
            return bind_names, self._origin
        module = sys.modules.get(self.__module__)
        by_name = self.__module__ != "__main__" and getattr(module, self.__name__, None) is self
        return self.__name__ if by_name else (Kernel, (self.function, self.inline))


class EntryPoint:
    """A kernel that is called from Python: compiled at the first call, its machine code cached on disk."""

    def __init__(self, uncompiled: Kernel) -> None:
        self.uncompiled = uncompiled

    def __call__(self, *arguments: object) -> Any:
        """Run the kernel compiled."""
        return self.compiled(*arguments)

    @functools.cached_property
    def compiled(self) -> Any:
        """numba's dispatcher; it compiles calls inside calls by recursion, deeper than Python allows by default."""
        sys.setrecursionlimit(max(sys.getrecursionlimit(), DEEPEST))
        return _compiled(self.uncompiled, True)


def kernel(function: Callable[..., Any]) -> Any:
    """Return `function` as a kernel, inlined into every kernel that calls it.

    The kernels of a policy take these arguments, in this order; a kernel takes as many of them as its kind needs.

    params : the NamedTuple that `_parameters` returns; it never changes.
    state : the NamedTuple of arrays that `_memory` returns, changed in place.
    contexts : what the round shows, (n_arms, d); (0, 0) where it shows nothing.
    round : the round t = 1, 2, ...
    waiting : (n_arms,), how many decisions for each arm have not been told yet.
    index, reward : the arm that was played, and what it paid.
    """
    return Kernel(function, True)  # type: ignore[arg-type]


def routine(function: Callable[..., Any]) -> Any:
    """Return `function` as a kernel that is called rather than inlined.

    Use it for long code with many callers, which would take minutes to compile inline.
    """
    return Kernel(function, False)  # type: ignore[arg-type]


@functools.cache
def bind_names(template: Kernel, names: tuple[tuple[str, Any], ...]) -> Kernel:
    """Return the template with the open names filled, the same kernel for the same names; see `bind`."""
    clone = _clone(template.function, dict(names))
    clone.__qualname__ = f"{clone.__name__}_{fingerprint(clone)}"
    return Kernel(clone, template.inline, (template, names))


def bind(template: Kernel, **names: object) -> Any:
    """Return the template with its open names filled by kernels, classes or constants.

    >>> @kernel
    ... def twice(x):
    ...     return 2 * x
    >>> inner = OPEN
    >>> @kernel
    ... def template(x):
    ...     return inner(x) + 1
    >>> bind(template, inner=twice)(20), int(entry(template, inner=twice)(20))
    (41, 41)
    """
    return bind_names(template, tuple(sorted(names.items())))


_entry = functools.cache(EntryPoint)


def entry(template: Kernel, **names: object) -> Any:
    """Like `bind`, for functions called from Python, which run compiled."""
    return _entry(bind(template, **names))


def direct(entered: EntryPoint, *examples: object) -> Any:
    """Return the machine code of an entry for arguments of the very types of `examples`, and no other.

    A call costs a third of what it does where numba first looks at every argument's type, and tuples of arrays cost no
    more than their arrays.

    >>> @kernel
    ... def total(pair):
    ...     return pair[0] + pair[1]
    >>> direct(entry(total), (1, 2.5))((2, 0.5))
    2.5
    """
    dispatcher = entered.compiled
    if isinstance(dispatcher, FunctionType):  # numba's compiler is switched off
        return dispatcher
    return dispatcher.compile(tuple(dispatcher.typeof_pyval(example) for example in examples))


def interpreted(uncompiled: Kernel) -> Callable[..., Any]:
    """Return the kernel as plain Python whose arithmetic is that of the machine: integers wrap, 1.0 / 0.0 is infinite.

    >>> @kernel
    ... def inverse(x):
    ...     return 1.0 / x
    >>> float(interpreted(inverse)(np.float64(0.0)))
    inf
    """

    def run(*arguments: object) -> Any:
        with np.errstate(all="ignore"):
            return uncompiled.function(*arguments)

    return run


class LazyKernel:
    """An entry that runs as plain Python at first and is compiled when it has been called often enough.

    A program that takes a handful of decisions never waits for a compiler; both ways give the same numbers.

    Parameters
    ----------
    entered : the entry.
    examples : its arguments, see `direct`; None for those of the call at which it is compiled.
    calls : how many calls run as plain Python.
    replace : is given the machine code when there is one, to call from there on.
    cost : for how many calls one with these arguments counts; one by default.
    """

    def __init__(
        self,
        entered: EntryPoint,
        examples: tuple[Any, ...] | None,
        calls: int,
        replace: Callable[[Any], None] | None = None,
        *,
        cost: Callable[..., int] | None = None,
    ) -> None:
        self._entered, self._examples, self._left, self._replace = entered, examples, calls, replace
        self._plain, self._cost = interpreted(entered.uncompiled), cost
        self._compiled: Any = None

    def __call__(self, *arguments: object) -> Any:
        """Run the entry, whichever way."""
        if self._compiled is None:
            self._left -= 1 if self._cost is None else self._cost(*arguments)
            if self._left >= 0:
                result = self._plain(*arguments)
                return tuple(map(_as_python, result)) if isinstance(result, tuple) else _as_python(result)
            self.compile(*arguments)
        return self._compiled(*arguments)

    @property
    def is_compiled(self) -> bool:
        """Whether there is machine code already."""
        return self._compiled is not None

    def compile(self, *arguments: object) -> Any:
        """Compile now, for arguments like these where no examples were given, and return the machine code."""
        self._compiled = direct(self._entered, *(arguments if self._examples is None else self._examples))
        if self._replace is not None:
            self._replace(self._compiled)
        return self._compiled


def _as_python(value: object) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def compiles() -> bool:
    """Return whether kernels become machine code; with NUMBA_DISABLE_JIT=1 all of them run as plain Python."""
    from numba import config

    return not config.DISABLE_JIT  # type: ignore[attr-defined]


@functools.cache
def _compiled(uncompiled: Kernel, cached: bool = False) -> Any:
    from numba import njit

    if not compiles():
        return interpreted(uncompiled)
    source = uncompiled.function
    reached = {name: source.__globals__.get(name) for name in _names(source)}
    called = {name: _compiled(value) for name, value in reached.items() if isinstance(value, Kernel)}
    options = dict(OPTIONS)
    if not cached:
        options |= {"forceinline": uncompiled.inline, "no_cpython_wrapper": True, "pipeline_class": _part_compiler()}
    compiled = njit(**options)(_clone(source, called))
    if cached:
        # Only entries are cached: a part's key would hold the addresses of the functions that it calls, and never hit.
        with suppress(RuntimeError):  # a kernel typed into a shell has no file
            compiled.enable_caching()
    return compiled


@functools.cache
def _part_compiler() -> type[Any]:
    """Return numba's compiler for kernels that are parts of others: their code is optimised once, as part of an entry.

    numba would optimise it at each level of calls anew, together with all code that it calls.
    """
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler

    class Part(JITCodeLibrary):
        def _optimize_final_module(self) -> None:
            pass

    class PartCompiler(Compiler):
        def __init__(self, typing: Any, target: Any, library: Any, *more: Any) -> None:
            super().__init__(typing, target, Part(target.codegen(), "part") if library is None else library, *more)

    return PartCompiler


def fingerprint(function: Any) -> str:
    """Return a digest of the code of a kernel and of all kernels and constants that it reaches."""
    digest = hashlib.sha256(repr(OPTIONS).encode())
    _digest(function.function if isinstance(function, Kernel) else function, digest, set())
    return digest.hexdigest()[:16]


def _digest(source: FunctionType, digest: Any, seen: set[int]) -> None:
    code = source.__code__
    if id(source) in seen:
        digest.update(source.__name__.encode())
        return
    seen.add(id(source))  # not of its code, which a template shares with all that are bound from it
    digest.update(source.__module__.encode())  # machine code on disk names the modules that it came from
    digest.update(code.co_code + repr((code.co_consts, code.co_names, code.co_varnames)).encode())
    for name in sorted(_names(source)):
        value = source.__globals__.get(name)
        digest.update(name.encode())
        if isinstance(value, Kernel):
            _digest(value.function, digest, seen)
        elif isinstance(value, type):
            digest.update(
                f"{value.__module__}.{value.__qualname__}{value._fields if is_named_tuple(value) else ''}".encode()
            )
        elif isinstance(value, (bool, int, float, str, bytes, tuple)):
            digest.update(repr(value).encode())


def _names(source: FunctionType) -> set[str]:
    return {step.argval for step in dis.get_instructions(source) if step.opname == "LOAD_GLOBAL"}


def _clone(source: FunctionType, names: dict[str, Any]) -> FunctionType:
    clone = FunctionType(source.__code__, {**source.__globals__, **names}, source.__name__, source.__defaults__)
    clone.__module__, clone.__qualname__ = source.__module__, source.__qualname__
    return clone


pack_inner = Type = OPEN
own = 0


@kernel
def _pack(*arrays: object) -> Any:
    return Type(*arrays)


@kernel
def _pack_nested(*arrays: object) -> Any:
    return Type(*(arrays[:own] + (pack_inner(*arrays[own:]),)))  # noqa: RUF005, numba knows no other


def is_named_tuple(value: object) -> TypeGuard[Any]:
    """Return whether a value is a NamedTuple, or the class of one."""
    return hasattr(value, "_fields")


def is_nested(value: Any) -> bool:
    """Return whether the last field of a NamedTuple is a NamedTuple."""
    return is_named_tuple(value[-1])


def packer(value: Any) -> Any:
    """Return the kernel that builds NamedTuples like `value` from flat arrays: calls with those are fast."""
    if is_nested(value):
        return bind(_pack_nested, Type=type(value), own=len(value) - 1, pack_inner=packer(value[-1]))
    return bind(_pack, Type=type(value))


def packers(params: object, state: object) -> tuple[tuple[str, Any], ...]:
    """Return what a kernel that takes one tuple of arrays needs to put parameters and state together again."""
    return ("split", len(flat(params))), ("pack_params", packer(params)), ("pack_state", packer(state))


def flat(value: Any) -> tuple[Any, ...]:
    """Return the fields of a NamedTuple, those of an inner one in its last field in its place."""
    if is_nested(value):
        return (*value[:-1], *flat(value[-1]))
    return tuple(value)


def names(value: Any) -> list[str]:
    """Return the names of the fields that `flat` returns, those of an inner NamedTuple behind the name of its field.

    >>> from typing import NamedTuple
    >>> Inner, Outer = NamedTuple("Inner", [("sums", list)]), NamedTuple("Outer", [("pulls", list), ("learner", tuple)])
    >>> names(Outer([], Inner([])))
    ['pulls', 'learner.sums']
    """
    if is_nested(value):
        return [*value._fields[:-1], *(f"{value._fields[-1]}.{name}" for name in names(value[-1]))]
    return list(value._fields)
