"""Metrics for Prometheus: requests, times, decisions, refusals, and how each study keeps its promise."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector

from evenhand.studies.statistics.gauges import GAUGES

MOST = 100
"""Studies with a label of their own; further ones are counted under "other"."""
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class StudyGauges(NamedTuple):
    """The present state of a study: its gauges by name, and how many tickets are overdue after how many seconds."""

    study: str
    values: Mapping[str, float]
    overdue: Mapping[int, int]


class Metrics:
    """The counters of one service; several processes count together where `PROMETHEUS_MULTIPROC_DIR` is set."""

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
        self._studies: set[str] = set()

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answer."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def count_refusal(self, name: str) -> None:
        """Count a refusal; each refused row of a batch counts."""
        self._refusals.labels(name).inc()

    def count(self, kind: str, study: str, count: int) -> None:
        """Count new decisions, reports or closed tickets of a study."""
        if count:
            self._did[kind].labels(self._label(study)).inc(count)

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
        texts = GAUGES | {"readable": "1 while the log can be read, 0 where it is damaged or a read hangs."}
        for name, text in texts.items():
            gauge = GaugeMetricFamily(f"evenhand_{name}", text, labels=["study"])
            for one in self._studies:
                if name in one.values:
                    gauge.add_metric([one.study], one.values[name])
            yield gauge
        late = GaugeMetricFamily("evenhand_overdue_tickets", "Tickets open for longer.", labels=["study", "seconds"])
        for one in self._studies:
            for seconds, count in one.overdue.items():
                late.add_metric([one.study, str(seconds)], count)
        yield late
