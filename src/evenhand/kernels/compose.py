"""Kernels: plain functions over arrays, compiled, composed by name, cached on disk.

A kernel is written with `@kernel` and may call other kernels as globals. Where a kernel is a *template* (its callee is
not known when it is written: a quota rule over any learner, the simulation loop over any policy), `bind` fills the open
names. numba can cache a function on disk only if it closes over nothing; `bind` therefore clones the template with the
kernels as its globals, under a name that carries a fingerprint of all code that is reached. So a warm start
loads machine code, and a changed callee is never served stale.
"""

from __future__ import annotations

import dis
import functools
import hashlib
from collections.abc import Callable
from types import FunctionType
from typing import Any

from numba import njit
from numba.core.dispatcher import Dispatcher

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
"""No interpreter lock; IEEE division; no reference counting, which would cost ten times the arithmetic of a round. The
last means
that a kernel allocates nothing: scratch arrays are fields of its state. Kernels are inlined by force for the same
reason."""

__all__ = ["OPEN", "bind", "direct", "entry", "fingerprint", "interpreted", "kernel", "routine"]

OPEN: Any = None
"""What the open names of a template stand for until `bind` fills them."""


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` as part of others; nothing is cached by itself."""
    return njit(**OPTIONS, forceinline=True)(function)


def routine(function: Callable[..., Any]) -> Any:
    """Like `kernel`, but called rather than inlined: for long code with many callers, which would take minutes to
    compile."""
    return njit(**OPTIONS)(function)


@functools.cache
def _bind(template: Dispatcher, names: tuple[tuple[str, Any], ...], cached: bool) -> Any:
    source = _python(template)
    clone = _clone(source, {**source.__globals__, **dict(names)})
    digest = fingerprint(clone)
    clone.__qualname__ = f"{source.__name__}_{digest}"
    inlined = not cached and bool(template.targetoptions.get("forceinline"))
    return njit(**OPTIONS, cache=cached, forceinline=inlined)(clone)


def bind(template: Any, **names: Any) -> Any:
    """Return the template with its open names filled by kernels, classes or constants.

    >>> @kernel
    ... def twice(x):
    ...     return 2 * x
    >>> inner = OPEN
    >>> @kernel
    ... def template(x):
    ...     return inner(x) + 1
    >>> int(bind(template, inner=twice)(20))
    41
    """
    return _bind(template, tuple(sorted(names.items())), False)


def entry(template: Any, **names: Any) -> Any:
    """Like `bind`, for functions called from Python: the machine code is cached on disk."""
    return _bind(template, tuple(sorted(names.items())), True)


def direct(entered: Any, *examples: Any) -> Any:
    """Return the machine code of an entry for arguments of the very types of `examples`, and no other.

    A call costs a third of what it does where numba first looks at every argument's type, and tuples of arrays cost no
    more than their arrays.

    >>> @kernel
    ... def total(pair):
    ...     return pair[0] + pair[1]
    >>> direct(bind(total), (1, 2.5))((2, 0.5))
    2.5
    """
    if not isinstance(entered, Dispatcher):
        return entered
    return entered.compile(tuple(entered.typeof_pyval(example) for example in examples))


@functools.cache
def interpreted(function: Any) -> Any:
    """Return the kernel as uncompiled Python, all that it calls included.

    >>> @kernel
    ... def twice(x):
    ...     return 2 * x
    >>> interpreted(twice)(4)
    8
    """
    source = _python(function)
    called = {
        name: interpreted(value)
        for name, value in source.__globals__.items()
        if isinstance(value, Dispatcher) and name in _names(source)
    }
    return _clone(source, {**source.__globals__, **called})


def fingerprint(function: Any) -> str:
    """Return a digest of the code of a kernel and of all kernels and constants that it reaches."""
    digest = hashlib.sha256(repr(OPTIONS).encode())
    _digest(function, digest, set())
    return digest.hexdigest()[:16]


def _digest(function: Any, digest: Any, seen: set[int]) -> None:
    source = _python(function)
    if id(source.__code__) in seen:
        digest.update(source.__name__.encode())
        return
    seen.add(id(source.__code__))
    code = source.__code__
    digest.update(code.co_code + repr((code.co_consts, code.co_names, code.co_varnames)).encode())
    for name in sorted(_names(source)):
        value = source.__globals__.get(name)
        digest.update(name.encode())
        if isinstance(value, Dispatcher):
            _digest(value, digest, seen)
        elif isinstance(value, type):
            digest.update(f"{value.__module__}.{value.__qualname__}{getattr(value, '_fields', '')}".encode())
        elif isinstance(value, (bool, int, float, str, bytes, tuple)):
            digest.update(repr(value).encode())


def _names(source: FunctionType) -> set[str]:
    return {step.argval for step in dis.get_instructions(source) if step.opname == "LOAD_GLOBAL"}


def _python(function: Any) -> FunctionType:
    return function.py_func if isinstance(function, Dispatcher) else function


def _clone(source: FunctionType, namespace: dict[str, Any]) -> FunctionType:
    clone = FunctionType(source.__code__, namespace, source.__name__, source.__defaults__)
    clone.__module__, clone.__qualname__ = source.__module__, source.__qualname__
    return clone
