"""What belongs to one process: a forked process begins anew with it, and it is neither pickled nor copied.

Two processes on one connection read each other's answers. The threads of a parent do not run in its child, where a lock
that one of them held is never released.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn, TypeVar
from weakref import WeakKeyDictionary

from evenhand.errors import EvenhandError

T = TypeVar("T")
HOOKS: WeakKeyDictionary[Any, tuple[Callable[[Any], object], ...]] = WeakKeyDictionary()
FORKING, REGISTERING = threading.RLock(), threading.RLock()
"""Held while a thread forks, and while one registers a hook or a process forks: `HOOKS` must not change meanwhile."""

WATCH = "evenhand waits for the parent's end"

INHERITED: list[object] = []
"""What a forked process has from its parent and neither uses nor closes: the parent still uses it."""


def _nothing(owner: object) -> None: ...


def renew_in_child(
    owner: T,
    renew: Callable[[T], object],
    *,
    rest: Callable[[T], object] = _nothing,
    resume: Callable[[T], object] = _nothing,
) -> None:
    """Have `renew(owner)` called in every process that is forked from this one.

    The child keeps what it returns, unused. In this process `rest` is called before the fork and `resume` after it. A
    bound method as one of them would keep its owner alive.
    """
    with REGISTERING:
        HOOKS[owner] = rest, resume, renew


def is_left_held(lock: Any) -> bool:
    """Return whether a thread of the parent, which this forked process does not have, held a lock."""
    if not lock.acquire(blocking=False):
        return True
    lock.release()
    return False


class Lock(type(threading.RLock())):  # type: ignore[misc]
    """A lock that its own thread may take again, so that a learner may read its policy; copies get a new one.

    In a process that was forked while another thread held it, taking it is refused: what it guards may be half changed.
    """

    __slots__ = ()

    def __init__(self) -> None:
        renew_in_child(self, Lock._forked)

    def __reduce__(self) -> tuple[Any, ...]:
        return Lock, ()

    def _forked(self) -> None:
        if is_left_held(self):
            self.__class__ = _Left


class _Left(Lock):
    """The lock of what another thread of the parent was changing when this process was forked."""

    __slots__ = ()

    def acquire(self, *given: object, **named: object) -> NoReturn:
        """Refuse to use what the lock guards."""
        raise EvenhandError(
            "this process was forked while another thread was using this object, which may be half changed; "
            "make it, or load it, anew in each process"
        )

    __enter__ = acquire


def end_with(parent: int) -> None:
    """Let this process, a worker of that parent, end once the parent is gone: killed, it leaves its workers waiting for
    minutes. Does nothing in the parent itself, or where another process hands out the work."""
    if os.getppid() == parent and all(thread.name != WATCH for thread in threading.enumerate()):
        threading.Thread(target=_wait_for_end, args=(parent,), name=WATCH, daemon=True).start()


def _wait_for_end(parent: int) -> NoReturn:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def refuse_copy(what: str, hint: str) -> NoReturn:
    """Refuse to pickle or copy what holds connections of this process.

    Raises
    ------
    EvenhandError
        Always.
    """
    raise EvenhandError(f"{what} cannot be pickled or copied, since its connections belong to this process; {hint}")


def forking_for() -> float:
    """Return for how many seconds the fork that is under way has waited, for all owners together."""
    return time.monotonic() - _began


_began = 0.0
"""When the last fork began."""


def _call(which: int, owners: list[Any]) -> list[Exception]:
    """Call one of the hooks of each owner, and return what failed, which does not keep the others from being called."""
    failed = []
    for owner in owners:
        try:
            left = HOOKS[owner][which](owner)
            if left is not None:
                INHERITED.append(left)
        except Exception as error:
            failed.append(error)
    return failed


def _before() -> None:
    global _began
    FORKING.acquire()
    _began = time.monotonic()
    failed: list[Exception] = []
    rested: list[Any] = []
    REGISTERING.acquire()
    while owners := [owner for owner in list(HOOKS) if not any(owner is other for other in rested)]:
        # What is waited for here, such as a transaction of another thread, may itself register a hook.
        REGISTERING.release()
        failed += _call(0, owners)
        rested += owners
        REGISTERING.acquire()
    if failed:
        raise failed[0]


def _after(which: int) -> None:
    try:
        failed = _call(which, list(HOOKS))
    finally:
        REGISTERING.release()
        FORKING.release()
    if failed:
        raise failed[0]


if sys.platform != "win32":
    os.register_at_fork(before=_before, after_in_parent=partial(_after, 1), after_in_child=partial(_after, 2))
