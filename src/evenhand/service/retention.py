"""Retention: contexts of subjects are erased when they are too old."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from evenhand.studies import SharedStudy, Study

__all__ = ["Retention"]

EVERY = 3_600.0
"""Seconds between two erasures of a study."""


class Retention:
    """A hook for the scheduler: erases a study's contexts that are older than some days, once an hour.

    Contexts that are not encrypted, because their ask named no subject, stay.
    """

    def __init__(self, days: float, log: Any, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._days, self._log, self._clock = days, log, clock
        self._next: dict[str, float] = {}

    def __call__(self, study: Study) -> None:
        if isinstance(study, SharedStudy) or self._clock() < self._next.get(study.name, 0.0):
            return
        erased = study.erase(older_than=self._days * 86_400)
        self._next[study.name] = self._clock() + EVERY
        if erased.subjects and self._log is not None:
            self._log.info("erased", study=study.name, **erased._asdict())
