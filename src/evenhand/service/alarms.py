"""Alerts made known: in the log, and to the webhooks that monitors name."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from evenhand.service.webhooks import post
from evenhand.studies import Study, monitors
from evenhand.studies.monitors import Alert

__all__ = ["Alarms"]

PATIENCE = 3.0
"""Seconds that a webhook may take, from the lookup of its name to its answer."""
LONGEST = 60.0
"""Seconds between two attempts at most."""
AT_ONCE = (0.0, 1.0)
"""When an alert may be posted that was not tried yet, and after how many seconds again."""


class Alarms:
    """Called with a study now and then: measures its monitors, logs what changed, posts what was not posted yet.

    A webhook is sent JSON by POST, at least once for each alert that is raised and each that is cleared; where it does
    not answer with 2xx it is tried again, after 1, 2, 4, ... seconds. Each webhook is posted to on a thread of its own,
    which nobody waits for: one that does not answer holds up neither the monitors nor other webhooks, nor the end of
    the process.
    """

    def __init__(self, log: Any, *, clock: Callable[[], float] = time.monotonic, patience: float = PATIENCE) -> None:
        self._log, self._clock, self._patience = log, clock, patience
        self._later: dict[tuple[int, bool], tuple[float, float]] = {}
        self._posting: dict[str, threading.Thread] = {}

    def __call__(self, study: Study) -> None:
        for alert in monitors.watch(study):
            if self._log is not None:
                self._log.warning("alert", **_told(study, alert))
        due: dict[str, list[Alert]] = defaultdict(list)
        for alert in monitors.undelivered(study):
            webhook = alert.monitor.webhook
            if webhook is not None and self._later.get(_key(alert), AT_ONCE)[0] <= self._clock():
                due[webhook].append(alert)
        for webhook, alerts in due.items():
            busy = self._posting.get(webhook)
            if busy is None or not busy.is_alive():
                thread = threading.Thread(
                    target=self._post, args=(study, alerts, webhook), name="evenhand webhook", daemon=True
                )
                self._posting[webhook] = thread
                thread.start()

    def wait(self) -> None:
        """Return when nothing is being posted any more."""
        for thread in list(self._posting.values()):
            thread.join()

    def _post(self, study: Study, alerts: Sequence[Alert], webhook: str) -> None:
        for alert in alerts:
            try:
                post(webhook, _told(study, alert), patience=self._patience)
                monitors.delivered(study, alert)
            except Exception as error:
                wait = self._later.get(_key(alert), AT_ONCE)[1]
                self._later[_key(alert)] = self._clock() + wait, min(2 * wait, LONGEST)
                if self._log is not None:
                    why = type(error).__name__
                    self._log.warning("webhook failed", study=study.name, alert=alert.id, why=why)
                if isinstance(error, TimeoutError):
                    return
            else:
                self._later.pop(_key(alert), None)


def _key(alert: Alert) -> tuple[int, bool]:
    return alert.id, alert.cleared is not None


def _told(study: Study, alert: Alert) -> dict[str, Any]:
    row = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in alert.row().items()}
    number = row.pop("id")
    return {"study": study.name, "alert": number, "state": "cleared" if alert.cleared else "raised", **row}
