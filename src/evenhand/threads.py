"""Several threads that use one policy at once, switched as often as they can be, for checks and tests."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from evenhand.errors import ContractError

PATIENCE = 600.0
"""Seconds after which threads that have not come to an end wait for one another."""
SWITCHES = 400
"""After how many lines of a thread another may go on; what comes later runs at full speed."""
TRACING = threading.Lock()
"""Python installs one trace function at a time, and raises where audit hooks let two threads do it at once."""


def run_together(calls: Sequence[Callable[[], Any]], packages: Collection[str] = ("evenhand",)) -> list[Any]:
    """Run each call in a thread of its own, all at once, and return what they return; raise what the first raised.

    After each of the first lines of the code in `packages` another thread may go on, so that what can go wrong between
    two lines does go wrong.

    >>> run_together([lambda: 1, lambda: 2])
    [1, 2]

    Raises
    ------
    ContractError
        If the threads do not come to an end.
    """
    start = threading.Barrier(len(calls))
    results: list[Any] = [None] * len(calls)
    errors: list[BaseException] = []

    def run(number: int, call: Callable[[], Any]) -> None:
        left = SWITCHES

        def give_way(frame: Any, event: str, argument: object) -> Any:
            nonlocal left
            if left == 0 or frame.f_globals.get("__name__", "").partition(".")[0] not in packages:
                return None
            left -= 1
            time.sleep(0)
            return give_way

        try:
            start.wait(PATIENCE)
            with TRACING:
                sys.settrace(give_way)
            results[number] = call()
        except BaseException as error:
            errors.append(error)
        finally:
            with TRACING:
                sys.settrace(None)

    threads = [threading.Thread(target=run, args=one, daemon=True) for one in enumerate(calls)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
    finally:
        sys.setswitchinterval(interval)
    if errors:
        raise errors[0]
    if any(thread.is_alive() for thread in threads):
        raise ContractError(f"after {PATIENCE:g} seconds the threads wait for one another")
    return results
