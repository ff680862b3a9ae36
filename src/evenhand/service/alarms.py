"""Alerts made known: in the log, and to the webhooks that monitors name."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import httpx

from evenhand.studies import Study, monitors
from evenhand.studies.monitors import Alert

__all__ = ["Alarms"]

PATIENCE = 3.0
"""Seconds that a webhook may take."""
LONGEST = 60.0
"""Seconds between two attempts at most."""


class Alarms:
    """Called with a study now and then: measures its monitors, logs what changed, posts what was not posted yet.

    A webhook is sent JSON by POST, at least once for each alert that is raised and each that is cleared; where it does
    not answer with 2xx it is tried again, after 1, 2, 4, ... seconds.
    """

    def __init__(self, log: Any, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._log, self._clock = log, clock
        self._later: dict[tuple[int, bool], tuple[float, float]] = {}
        self._http = httpx.Client(timeout=PATIENCE, follow_redirects=False)

    def __call__(self, study: Study) -> None:
        for alert in monitors.watch(study):
            if self._log is not None:
                self._log.warning("alert", **_told(study, alert))
        for alert in monitors.alerts(study):
            if alert.monitor.webhook is not None and alert.delivered is None:
                self._post(study, alert, alert.monitor.webhook)

    def _post(self, study: Study, alert: Alert, webhook: str) -> None:
        key = alert.id, alert.cleared is not None
        due, wait = self._later.get(key, (0.0, 1.0))
        if self._clock() < due:
            return
        try:
            self._http.post(webhook, json=_told(study, alert)).raise_for_status()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            self._later[key] = self._clock() + wait, min(2 * wait, LONGEST)
            if self._log is not None:
                told = _told(study, alert)
                self._log.warning("webhook failed", study=study.name, alert=told["alert"], why=type(error).__name__)
        else:
            self._later.pop(key, None)
            monitors.delivered(study, alert)


def _told(study: Study, alert: Alert) -> dict[str, Any]:
    row = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in alert.row().items()}
    number = row.pop("id")
    return {"study": study.name, "alert": number, "state": "cleared" if alert.cleared else "raised", **row}
