"""What is done for every study every second or so, in the background: monitors hang on to it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from evenhand.errors import EvenhandError
from evenhand.studies import Store, Study

__all__ = ["Hook", "Watch"]

Hook = Callable[[Study], Any]
LONGEST = 10.0
"""Seconds that stopping waits for a round."""


class Watch:
    """A thread that calls each hook with each study, `interval` seconds apart; a hook that fails stops no other.

    The studies are its own, so that a hook that takes its time holds up no decision.
    """

    def __init__(self, store: Store, hooks: Sequence[Hook], interval: float, log: Any) -> None:
        self._store, self._hooks, self._interval, self._log = store, tuple(hooks), interval, log
        self._studies: dict[str, Study] = {}
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._failing: dict[tuple[str, Hook | None], str] = {}

    def start(self) -> None:
        """Begin to watch, where there is anything to call."""
        if self._hooks:
            self._thread = threading.Thread(target=self._run, name="evenhand watch", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End after the round that is under way; a round that takes longer than 10 seconds is left alone."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(LONGEST)

    def round(self) -> None:
        """Call every hook with every study once."""
        try:
            for name in self._store.names():
                if name not in self._studies:
                    self._studies[name] = Study.open(self._store, name)
            self._failing.pop(("the store", None), None)
        except EvenhandError as error:
            self._noted("the store", None, error)
            return
        for name, study in self._studies.items():
            for hook in self._hooks:
                try:
                    hook(study)
                    self._failing.pop((name, hook), None)
                except Exception as error:
                    self._noted(name, hook, error)

    def _run(self) -> None:
        while not self._over.wait(self._interval):
            self.round()

    def _noted(self, where: str, hook: Hook | None, error: Exception) -> None:
        """Log a failure, once until it passes or becomes another; a defect with its traceback."""
        why = f"{type(error).__name__}: {error}"
        if self._log is None or self._failing.get((where, hook)) == why:
            return
        self._failing[where, hook] = why
        traceback = {} if isinstance(error, EvenhandError) else {"exc_info": error}
        self._log.error("watch failed", study=where, why=why, **traceback)
