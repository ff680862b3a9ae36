"""Metrics for Prometheus: requests, times, decisions, refusals, and how each study keeps its promise."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector

__all__ = ["AlertGauge", "Metrics", "StudyGauges"]

MOST = 100
"""Studies with a label of their own; further ones are counted under "other"."""
MONITORS = 20
"""Monitors of a study with labels of their own, the first ones."""
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


GAUGES = {
    "open_tickets": "Tickets neither told nor forgotten.",
    "worst_shortfall": "The most that any arm was ever behind its share, in decisions.",
    "promise_kept": "1 while the promise held at every round, 0 once it was broken.",
    "readable": "1 while the log can be read, 0 where it is damaged or a read hangs.",
}


class AlertGauge(NamedTuple):
    """A monitor of a study: whether its alert is active and acknowledged, and how often it was raised."""

    monitor: int
    metric: str
    active: bool
    acknowledged: bool
    raised: int


class StudyGauges(NamedTuple):
    """The present state of a study, by its gauges."""

    study: str
    open_tickets: int | None
    worst_shortfall: float | None
    promise_kept: bool | None
    readable: bool = True
    alerts: Sequence[AlertGauge] = ()


class Metrics:
    """The counters of one service; several workers count together where `PROMETHEUS_MULTIPROC_DIR` is set."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "evenhand_requests", "Requests answered.", ["method", "route", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "evenhand_request_seconds", "Seconds until the answer.", ["route"], buckets=BUCKETS, registry=self.registry
        )
        self._refusals = Counter("evenhand_refusals", "Refusals by name.", ["name"], registry=self.registry)
        self._did = {
            "ask": Counter("evenhand_decisions", "Decisions handed out.", ["study"], registry=self.registry),
            "tell": Counter("evenhand_tells", "Tickets told.", ["study"], registry=self.registry),
            "forget": Counter("evenhand_forgotten", "Tickets forgotten.", ["study"], registry=self.registry),
        }
        self._request_child, self._seconds_child = cache(self._requests.labels), cache(self._seconds.labels)
        self._did_child = cache(lambda kind, study: self._did[kind].labels(study))
        self._studies: set[str] = set()

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answer."""
        self._request_child(method, route, str(status)).inc()
        self._seconds_child(route).observe(seconds)

    def count_refusal(self, name: str) -> None:
        """Count a refusal; each refused row of a batch counts."""
        self._refusals.labels(name).inc()

    def count(self, kind: str, study: str, count: int) -> None:
        """Count new decisions, reports or closed tickets of a study."""
        if count:
            self._did_child(kind, self._label(study)).inc(count)

    def exposition(self, gauges: Sequence[StudyGauges]) -> bytes:
        """Return the text that Prometheus reads, with the present state of each study."""
        registry = self.registry
        if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)
        return generate_latest(registry) + generate_latest(_Gauges(gauges[:MOST]))

    def _label(self, study: str) -> str:
        if study not in self._studies:
            if len(self._studies) >= MOST:
                return "other"
            self._studies.add(study)
        return study


class _Gauges:
    """A registry of the gauges of all studies at one moment."""

    def __init__(self, studies: Sequence[StudyGauges]) -> None:
        self._studies = studies

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges."""
        gauges = {name: GaugeMetricFamily(f"evenhand_{name}", text, labels=["study"]) for name, text in GAUGES.items()}
        for study in self._studies:
            for name, gauge in gauges.items():
                value = getattr(study, name)
                if value is not None:
                    gauge.add_metric([study.study], float(value))
        yield from gauges.values()
        yield from self._alerts()

    def _alerts(self) -> Iterator[Metric]:
        labels = ["study", "monitor", "metric"]
        active = GaugeMetricFamily("evenhand_alert_active", "1 while a monitor's alert is active.", labels=labels)
        seen = GaugeMetricFamily("evenhand_alert_acknowledged", "1 if the active alert is acknowledged.", labels=labels)
        raised = CounterMetricFamily("evenhand_alerts_raised", "Alerts that a monitor has raised.", labels=labels)
        for study in self._studies:
            for one in study.alerts[:MONITORS]:
                values = study.study, str(one.monitor), one.metric
                active.add_metric(values, one.active)
                seen.add_metric(values, one.active and one.acknowledged)
                raised.add_metric(values, one.raised)
        yield from (active, seen, raised)
