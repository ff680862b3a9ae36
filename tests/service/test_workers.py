"""Processes of a service as the workers of a study: each takes one that is free, and a tell may arrive anywhere."""

from __future__ import annotations

import threading

import pytest

import evenhand as eh
from evenhand.errors import FencedError
from evenhand.service import leases
from evenhand.studies import Operation, Store, Study
from tests.service.conftest import Served
from tests.waiting import until

POLICY = {"policy": "quotas/deadline-learn", "learner": "learners/ucb1", "shares": {"a": 0.2, "b": 0.3}, "tolerance": 5}


@pytest.fixture
def replicas(tmp_path):
    """Three services over one store, whose study has two workers."""
    path = tmp_path / "ads.evenhand"
    made = []
    for _ in range(3):
        store = Store.at(path, create=True)
        made.append(Served(store))
    body = {"name": "ads", "policy": POLICY, "workers": 2}
    answer = made[0].send("decide", "POST", "/studies", json=body)
    assert answer.status_code == 201, answer.text
    yield made
    for one in made:
        one.stop()
        one.store.close()


def worker_of(answer):
    assert answer.status_code == 200, answer.text
    return answer.json()["id"] // 10**12


def test_each_process_is_a_worker_of_its_own_and_a_tell_may_arrive_anywhere(replicas):
    first, second, _ = replicas
    asked = [first.ask(), second.ask()]
    assert sorted(map(worker_of, asked)) == [1, 2]
    for answer, other in zip(asked, (second, first), strict=True):
        told = other.tell({"ticket": answer.json()["ticket"], "reward": 1.0})
        assert told.json()["status"] == "told"
        assert first.tell({"ticket": answer.json()["ticket"], "reward": 1.0}).json()["status"] == "already told"
    many = first.ask(json={"count": 20}).json()["decisions"]
    rows = [{"ticket": one["ticket"], "reward": 0.5} for one in many]
    assert {row["status"] for row in second.tell({"batch": rows}).json()["results"]} == {"told"}
    state = second.read("/studies/ads")
    assert [row["state"] for row in state["workers"]] == ["working", "working"]
    assert sum(row["rounds"] for row in state["workers"]) == state["decisions"] == 22
    assert all(one["pulls"] > 0 for one in state["room"])
    assert state["promise"]["kept"] is True
    assert second.read("/studies/ads/audit")["ok"] is True
    assert second.read("/studies/ads/series?first=5&last=10")["round"] == [5, 6, 7, 8, 9, 10]
    page = second.read("/studies/ads/decisions", params={"limit": 5})
    assert len(page["decisions"]) == 5
    more = second.read("/studies/ads/decisions", params={"limit": 5, "before": page["next"]})
    assert not {row["id"] for row in page["decisions"]} & {row["id"] for row in more["decisions"]}
    assert "worker" in second.send("read", "GET", "/studies/ads/history", params={"format": "csv"}).text.splitlines()[0]


def test_a_process_without_a_worker_says_so_and_others_go_on(replicas):
    first, second, third = replicas
    for one in (first, second):
        assert one.ask().status_code == 200
    refused = third.ask()
    assert refused.status_code == 503
    assert refused.json()["error"]["name"] == "FencedError"
    told = third.tell({"ticket": first.ask().json()["ticket"], "reward": 1.0})
    assert told.json()["status"] == "told"


def test_a_worker_joins_and_leaves_while_services_decide(replicas):
    first, second, third = replicas
    for one in (first, second):
        assert one.ask().status_code == 200
    assert third.ask().status_code == 503
    Study.open(first.store, "ads").join("w9").release()
    assert worker_of(third.ask()) == 3
    Study.open(second.store, "ads").leave("w9")
    assert third.ask().status_code == 503
    assert first.read("/studies/ads/audit")["ok"] is True


def test_a_process_that_stops_gives_its_worker_to_the_next(replicas):
    first, second, third = replicas
    assert worker_of(first.ask()) == 1
    assert worker_of(second.ask()) == 2
    first.stop()
    assert worker_of(third.ask()) == 1


def test_a_process_whose_worker_was_claimed_takes_another(tmp_path, monkeypatch):
    path = tmp_path / "ads.evenhand"
    served = Served(Store.at(path, create=True))
    try:
        body = {"name": "ads", "policy": POLICY, "workers": 2}
        assert served.send("decide", "POST", "/studies", json=body).status_code == 201
        assert worker_of(served.ask()) == 1
        other = Study.open(path, "ads", worker="w1")
        other.ask()
        assert worker_of(served.ask()) == 2
        assert other.verify().ok
    finally:
        served.stop()
        served.store.close()


def test_a_worker_is_not_let_go_while_it_decides(monkeypatch):
    tried = threading.Event()

    class Slow:
        def __init__(self):
            self.worker, self.busy, self.renewed = None, False, []

        def lease(self, seconds):
            self.worker = "w1"

        def perform(self, operations):
            self.busy = True
            tried.wait(0.3)
            self.busy = False
            return ["a" for _ in operations]

        def renew(self):
            self.renewed.append(self.busy)
            tried.set()

        def release(self):
            self.worker = None

    monkeypatch.setattr(leases, "LEASE", 0.03)
    study = Slow()
    leasing = leases.Leasing(study)
    assert leasing.perform([Operation("ask")]) == ["a"]
    until(lambda: study.renewed)
    leasing.stop()
    assert not any(study.renewed)


def test_a_lease_that_is_not_renewed_ends(tmp_path, monkeypatch):
    clock = [10**15]
    monkeypatch.setattr("evenhand.studies.workers.worker_logs.now", lambda: clock[0])
    Study.create(tmp_path / "ads.evenhand", eh.learners.UCB1(arms=2), workers=2)
    made = [Study.open(tmp_path / "ads.evenhand") for _ in range(3)]
    assert [one.lease(leases.LEASE) for one in made[:2]] == ["w1", "w2"]
    with pytest.raises(FencedError, match="every worker of 'ads' is held by a live process"):
        made[2].lease(leases.LEASE)
    clock[0] += 10_000_000
    made[1].renew()
    clock[0] += 10_000_000
    assert made[2].lease(leases.LEASE) == "w1"
    made[0].renew()
    assert made[0].worker is None
    made[2].release()
    assert made[0].lease(leases.LEASE) == "w1"
    assert made[0].ask().round == 1


def test_a_process_that_died_on_this_machine_holds_nothing(tmp_path, monkeypatch):
    Study.create(tmp_path / "ads.evenhand", eh.learners.UCB1(arms=2), workers=2)
    with monkeypatch.context() as dead:
        dead.setattr("evenhand.studies.workers.worker_logs.os.getpid", lambda: 2**22 + 17)
        Study.open(tmp_path / "ads.evenhand").lease(leases.LEASE)
    assert Study.open(tmp_path / "ads.evenhand").lease(leases.LEASE) == "w1"
