"""Notifications of alerts: in the log, and to the webhooks of the monitors."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from evenhand.service.webhooks import post
from evenhand.studies import Study
from evenhand.studies.monitoring import monitors
from evenhand.studies.monitoring.monitors import Alert
from evenhand.studies.signing import sign_message

__all__ = ["Notifier"]

PATIENCE = 3.0
"""Seconds that a webhook may take, from the lookup of its name to its response."""
LONGEST = 60.0
"""The most seconds between two attempts."""
AT_ONCE = (0.0, 1.0)
"""For an alert that was not posted yet: when it may be posted, and the seconds until the next attempt."""


class Notifier:
    """A hook for the scheduler: measures a study's monitors, logs new alerts, and posts those not posted yet.

    A webhook receives signed JSON by POST, at least once when an alert is raised and once when it is cleared. If it
    does not answer with 2xx, it is tried again after 1, 2, 4, ... seconds. Each webhook has a daemon thread of its own,
    so that a slow one delays neither the monitors, nor other webhooks, nor the end of the process.
    """

    def __init__(self, log: Any, *, clock: Callable[[], float] = time.monotonic, patience: float = PATIENCE) -> None:
        self._log, self._clock, self._patience = log, clock, patience
        self._later: dict[tuple[int, bool], tuple[float, float]] = {}
        self._posting: dict[str, threading.Thread] = {}

    def __call__(self, study: Study) -> None:
        for alert in monitors.watch(study):
            if self._log is not None:
                self._log.warning("alert", **_message(study, alert))
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
        """Wait until every running post has ended."""
        for thread in list(self._posting.values()):
            thread.join()

    def _post(self, study: Study, alerts: Sequence[Alert], webhook: str) -> None:
        for alert in alerts:
            try:
                post(webhook, _message(study, alert), patience=self._patience, signed=_signer(study, alert))
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


def _signer(study: Study, alert: Alert) -> Callable[[bytes], dict[str, str]]:
    """Return what signs the message of an alert; its id is the same each time that it is posted."""
    id = f"{study.name}.{alert.id}.{'cleared' if alert.cleared else 'raised'}"
    return lambda body: sign_message(monitors.secret(study, alert.monitor), id, int(time.time()), body)


def _message(study: Study, alert: Alert) -> dict[str, Any]:
    row = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in alert.row().items()}
    number = row.pop("id")
    return {"study": study.name, "alert": number, "state": "cleared" if alert.cleared else "raised", **row}
