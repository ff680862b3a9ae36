"""What Prometheus reads is what happened."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from evenhand.service import metrics
from evenhand.service.metrics import Metrics, StudyGauges


def read(text):
    """Return the samples of an exposition, by name and labels."""
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_requests_decisions_tells_and_refusals_are_counted(served):
    tickets = [one["ticket"] for one in served.ask(json={"count": 5}).json()["decisions"]]
    served.tell({"batch": [{"ticket": ticket, "reward": 1.0} for ticket in tickets[:3]] + [{"ticket": 1}]})
    served.tell({"ticket": tickets[0], "reward": 1.0})
    served.tell({"ticket": tickets[0], "reward": 0.0})
    served.send("report", "POST", "/studies/ads/forget", json={"ticket": tickets[4]})
    served.http.get("/studies")
    served.read("/studies/ads")
    served.send("read", "GET", "/studies/none")
    answer = served.send("read", "GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    found = read(answer.text)
    counts = {"decisions_total": 5, "tells_total": 3, "forgotten_total": 1, "open_tickets": 1, "promise_kept": 1}
    counts["worst_shortfall"] = pytest.approx(served.read("/studies/ads")["promise"]["worst_shortfall"])
    assert {name: found[f"evenhand_{name}", "ads"] for name in counts} == counts
    for name in ("TicketError", "ContradictionError", "AuthenticationError", "UnknownStudyError"):
        assert found["evenhand_refusals_total", name] == 1
    assert found["evenhand_requests_total", "/studies/{name}/tell", "200", "POST"] == 2
    assert found["evenhand_requests_total", "/studies/{name}/tell", "409", "POST"] == 1
    assert found["evenhand_request_seconds_count", "/studies/{name}/tell"] == 3


def test_labels_do_not_grow_with_what_strangers_send(served):
    for i, method in enumerate(("PUT", "PATCH", "PROPFIND", "TRACE", "SEARCH")):
        served.http.get(f"/nothing{i}")
        served.http.request(method, "/studies")
        served.send("read", "GET", f"/studies/none{i}")
    found = read(served.send("read", "GET", "/metrics").text)
    labels = {name[1:] for name in found if name[0] == "evenhand_requests_total"}
    assert ("404", "GET", "other") in labels
    assert ("/studies", "405", "other") in labels
    assert not any("none" in label or "PROPFIND" in label for name in labels for label in name)


def test_metrics_are_for_keys_that_may_read_unless_they_are_opened(serving):
    opened = serving(open_metrics=True)
    assert "evenhand_requests_total" in opened.http.get("/metrics").text
    assert opened.http.get("/metrics", headers={"Authorization": "Bearer nobody"}).status_code == 200
    assert opened.http.get("/studies").status_code == 401


def test_studies_beyond_the_limit_share_a_label_and_what_a_study_lacks_has_no_gauge(monkeypatch):
    monkeypatch.setattr(metrics, "MOST", 2)
    counters = Metrics()
    for name in ("a", "b", "c", "d", "a"):
        counters.count("ask", name, 1)
    gauges = [StudyGauges(name, {"open_tickets": 3.0}, {60: 2}) for name in "abcd"]
    found = read(counters.exposition(gauges).decode())
    decided = {name[1]: value for name, value in found.items() if name[0] == "evenhand_decisions_total"}
    assert decided == {"a": 2, "b": 1, "other": 2}
    assert [name[1] for name in found if name[0] == "evenhand_open_tickets"] == ["a", "b"]
    assert (found["evenhand_open_tickets", "a"], found["evenhand_overdue_tickets", "60", "a"]) == (3, 2)
    assert not [name for name in found if name[0] in ("evenhand_promise_kept", "evenhand_worst_shortfall")]
