"""Calls hooks, such as monitors, for every study at a fixed interval, in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from evenhand.errors import EvenhandError
from evenhand.studies import Store, Study

__all__ = ["Hook", "Scheduler"]

Hook = Callable[[Study], Any]
LONGEST = 10.0
"""Seconds that stopping waits for the hooks that are running."""


class Scheduler:
    """A thread that calls each hook with each study every `interval` seconds; a failing hook stops no other.

    It opens the studies for itself, so that a slow hook delays no decision.
    """

    def __init__(self, store: Store, hooks: Sequence[Hook], interval: float, log: Any) -> None:
        self._store, self._hooks, self._interval, self._log = store, tuple(hooks), interval, log
        self._studies: dict[str, Study] = {}
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._failing: dict[tuple[str, Hook | None], str] = {}

    def start(self) -> None:
        """Start the thread, if there are hooks."""
        if self._hooks:
            self._thread = threading.Thread(target=self._run, name="evenhand scheduler", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop after the running hooks; do not wait longer than 10 seconds for them."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(LONGEST)

    def run_once(self) -> None:
        """Call every hook with every study."""
        try:
            for name in self._store.names():
                if name not in self._studies:
                    self._studies[name] = Study.open(self._store, name)
            self._failing.pop(("the store", None), None)
        except EvenhandError as error:
            self._log_failure("the store", None, error)
            return
        for name, study in self._studies.items():
            for hook in self._hooks:
                try:
                    hook(study)
                    self._failing.pop((name, hook), None)
                except Exception as error:
                    self._log_failure(name, hook, error)

    def _run(self) -> None:
        while not self._over.wait(self._interval):
            self.run_once()

    def _log_failure(self, where: str, hook: Hook | None, error: Exception) -> None:
        """Log a failure once, until it passes or changes; a defect with its traceback."""
        why = f"{type(error).__name__}: {error}"
        if self._log is None or self._failing.get((where, hook)) == why:
            return
        self._failing[where, hook] = why
        traceback = {} if isinstance(error, EvenhandError) else {"exc_info": error}
        self._log.error("watch failed", study=where, why=why, **traceback)
