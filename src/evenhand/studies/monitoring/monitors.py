"""Monitors: a metric, a threshold and a window; an alert is raised when the metric passes the threshold.

Monitors are kept in the store. The service and `evenhand monitor STORE check` measure them; each alert is raised once,
however many processes measure.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sqlalchemy import Connection, Select, func, insert, select, update

from evenhand.errors import ArgumentError, wanted
from evenhand.studies.journal import begin, enter, monitor_entry
from evenhand.studies.limits import check_note
from evenhand.studies.log.codec import moment, now
from evenhand.studies.monitoring.metrics import METRICS, Monitor, check, exceeds, measure
from evenhand.studies.signing import webhook_secret
from evenhand.studies.store.schema import ACKNOWLEDGEMENTS, ALERTS, MONITORS

if TYPE_CHECKING:
    from evenhand.studies.study import Study

__all__ = [
    "METRICS", "Alert", "Monitor", "acknowledge", "add", "alerts", "delivered", "listed", "raised", "remove", "secret",
    "undelivered", "watch",
]  # fmt: skip


class Alert(NamedTuple):
    """An alert: its monitor, the value that raised it, the last entry of the log then, when it was raised and cleared,
    and who acknowledged it when, with a note."""

    id: int
    monitor: Monitor
    value: float
    sequence: int
    raised: datetime
    cleared: datetime | None
    delivered: datetime | None
    acknowledged: datetime | None = None
    by: str | None = None
    note: str = ""

    def row(self) -> dict[str, Any]:
        """Return the alert and its monitor as one flat dict, for tables and messages."""
        return {
            "id": self.id,
            "monitor": self.monitor.id,
            "metric": self.monitor.metric,
            "subject": self.monitor.subject,
            "value": self.value,
            "threshold": self.monitor.threshold,
            "sequence": self.sequence,
            "raised": self.raised,
            "cleared": self.cleared,
            "acknowledged": self.acknowledged,
            "by": self.by,
            "note": self.note,
        }


def add(
    study: Study,
    metric: str,
    *,
    threshold: float,
    window: int = 0,
    subject: Any = None,
    webhook: str | None = None,
    actor: str | None = None,
) -> Monitor:
    """Watch a metric of a study from now on; `actor` is who does it, for the store's journal.

    Examples
    --------
    >>> import evenhand as eh
    >>> from evenhand.studies import monitors
    >>> study = eh.Study.create(":memory:", eh.quotas.FairUCB([0.3, 0.3], seed=1))
    >>> monitors.add(study, "reward", threshold=0.5, window=2).metric
    'reward'
    >>> for _ in range(2):
    ...     _ = study.tell(study.ask(), 0.1)
    >>> [(alert.monitor.metric, alert.value) for alert in monitors.watch(study)]
    [('reward', 0.1)]

    Raises
    ------
    ArgumentError
        If there is no such metric, the threshold is no finite number, the window does not fit the metric, the subject
        is no arm or group of the study, or the webhook is no http address, see `check_webhook`.
    """
    check(study.statistics(), metric, threshold, window, subject, webhook)
    row: dict[str, Any] = {
        "study": study._number,
        "metric": metric,
        "threshold": float(threshold),
        "window": int(window),
        "subject": None if subject is None else str(subject),
        "webhook": webhook,
        "created_at": now(),
    }
    with study.store.writing() as connection:
        begin(study.store, connection)
        number = connection.scalar(insert(MONITORS).values(row).returning(MONITORS.c.id))
        assert number is not None
        about = (row[name] for name in ("study", "metric", "subject", "threshold", "window", "webhook"))
        enter(connection, "add monitor", monitor_entry(number, *about), actor)
    return Monitor(number, metric, float(threshold), int(window), row["subject"], webhook)


def remove(study: Study, number: int, *, actor: str | None = None) -> None:
    """Remove a monitor; past alerts stay on record, and an active one is cleared. `actor` is for the store's journal.

    Raises
    ------
    ArgumentError
        If the study has no monitor of that number.
    """
    mine = MONITORS.c.id == number, MONITORS.c.study == study._number, MONITORS.c.removed_at.is_(None)
    with study._log.writing() as (connection, _):
        begin(study.store, connection)
        if not connection.execute(update(MONITORS).where(*mine).values(removed_at=now())).rowcount:
            there = [monitor.id for monitor in _listed(connection, study._number)]
            raise ArgumentError(wanted("monitor", f"one of {there}", number))
        enter(connection, "remove monitor", {f"monitor {number}": None}, actor)
        standing = ALERTS.c.monitor == number, ALERTS.c.cleared_at.is_(None)
        connection.execute(update(ALERTS).where(*standing).values(cleared_at=now()))


def acknowledge(
    study: Study, number: int, *, by: str | None = None, note: str = ""
) -> Literal["acknowledged", "already acknowledged"]:
    """Note that somebody has seen an alert; it stays active until it is cleared.

    Parameters
    ----------
    number : of the alert.
    by : who has seen it; over HTTP the id of the key.
    note : what is done about it, up to 200 characters.

    Raises
    ------
    ArgumentError
        If the study has no alert of that number, or the note is too long or cannot be printed.
    """
    check_note(note)
    mine = select(ALERTS.c.id).join(MONITORS).where(MONITORS.c.study == study._number, ALERTS.c.id == number)
    with study._log.writing() as (connection, _):
        if connection.scalar(mine) is None:
            raise ArgumentError(wanted("alert", "the number of an alert of this study", number))
        if connection.scalar(select(ACKNOWLEDGEMENTS.c.at).where(ACKNOWLEDGEMENTS.c.alert == number)) is not None:
            return "already acknowledged"
        connection.execute(insert(ACKNOWLEDGEMENTS), {"alert": number, "at": now(), "by": by, "note": note})
    return "acknowledged"


def secret(study: Study, monitor: Monitor) -> str:
    """Return the secret with which messages to the monitor's webhook are signed, for the receiver to check them."""
    return webhook_secret(study._secret, monitor.id)


def raised(study: Study) -> dict[int, int]:
    """Return how many alerts each of the study's monitors has raised so far, by its number."""
    count = select(MONITORS.c.id, func.count(ALERTS.c.id)).outerjoin(ALERTS).group_by(MONITORS.c.id)
    with study.store.reading() as connection:
        there = connection.execute(count.where(MONITORS.c.study == study._number, MONITORS.c.removed_at.is_(None)))
        return {row[0]: row[1] for row in there}


def listed(study: Study) -> list[Monitor]:
    """Return the study's monitors."""
    with study.store.reading() as connection:
        return _listed(connection, study._number)


def alerts(study: Study, *, standing: bool = False, limit: int = 100) -> list[Alert]:
    """Return the study's alerts, newest first; with `standing` only the active ones."""
    with study.store.reading() as connection:
        found = _found(study, connection).order_by(ALERTS.c.id.desc()).limit(limit)
        if standing:
            found = found.where(ALERTS.c.cleared_at.is_(None))
        return [_alert(row) for row in connection.execute(found)]


def undelivered(study: Study) -> list[Alert]:
    """Return the alerts, oldest first, whose present state was not posted to their webhooks."""
    waiting = MONITORS.c.webhook.is_not(None), ALERTS.c.delivered_at.is_(None)
    with study.store.reading() as connection:
        found = _found(study, connection).where(*waiting).order_by(ALERTS.c.id)
        return [_alert(row) for row in connection.execute(found)]


def watch(study: Study) -> list[Alert]:
    """Measure every monitor of a study; return the alerts that this raised or cleared."""
    monitors = listed(study)
    if not monitors:
        return []
    statistics, at = study.statistics(), now()
    values = {monitor: measure(monitor, statistics, at) for monitor in monitors}
    calling = {monitor.id for monitor, value in values.items() if exceeds(monitor, value)}
    if calling == {alert.monitor.id for alert in alerts(study, standing=True, limit=len(monitors))}:
        return []
    changed = []
    with study._log.writing() as (connection, _):
        there = _listed(connection, study._number)
        for monitor, value in values.items():
            if monitor not in there:
                continue
            mine = ALERTS.c.monitor == monitor.id, ALERTS.c.cleared_at.is_(None)
            number = connection.scalar(select(ALERTS.c.id).where(*mine))
            if monitor.id in calling and number is None:
                row = {"monitor": monitor.id, "value": value, "sequence": statistics.sequence, "raised_at": at}
                number = connection.scalar(insert(ALERTS).values(row).returning(ALERTS.c.id))
            elif number is not None and monitor.id not in calling:
                connection.execute(update(ALERTS).where(*mine).values(cleared_at=at, delivered_at=None))
            else:
                continue
            changed.append(number)
    with study.store.reading() as connection:
        found = _found(study, connection).where(ALERTS.c.id.in_(changed)).order_by(ALERTS.c.id)
        return [_alert(row) for row in connection.execute(found)]


def delivered(study: Study, alert: Alert) -> None:
    """Note that the present state of an alert was posted to its webhook."""
    same = ALERTS.c.cleared_at.is_(None) if alert.cleared is None else ALERTS.c.cleared_at.is_not(None)
    with study.store.writing() as connection:
        connection.execute(update(ALERTS).where(ALERTS.c.id == alert.id, same).values(delivered_at=now()))


def _found(study: Study, connection: Connection) -> Select[Any]:
    monitor = [MONITORS.c[name] for name in ("metric", "threshold", "window", "subject", "webhook")]
    found = select(ALERTS, *monitor).join(MONITORS).where(MONITORS.c.study == study._number)
    seen = [ACKNOWLEDGEMENTS.c[name] for name in ("at", "by", "note")]
    return found.add_columns(*seen).outerjoin(ACKNOWLEDGEMENTS, ACKNOWLEDGEMENTS.c.alert == ALERTS.c.id)


def _listed(connection: Connection, study: int) -> list[Monitor]:
    mine = select(MONITORS).where(MONITORS.c.study == study, MONITORS.c.removed_at.is_(None)).order_by(MONITORS.c.id)
    return [
        Monitor(row.id, row.metric, row.threshold, row.window, row.subject, row.webhook)
        for row in connection.execute(mine)
    ]


def _alert(row: Any) -> Alert:
    monitor = Monitor(row.monitor, row.metric, row.threshold, row.window, row.subject, row.webhook)
    cleared, done = (None if at is None else moment(at) for at in (row.cleared_at, row.delivered_at))
    alert = Alert(row.id, monitor, row.value, row.sequence, moment(row.raised_at), cleared, done)
    at = getattr(row, "at", None)
    return alert if at is None else alert._replace(acknowledged=moment(at), by=row.by, note=row.note)
