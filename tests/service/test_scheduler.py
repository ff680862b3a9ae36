"""What is called with every study in the background."""

from __future__ import annotations

import threading

from evenhand.errors import StoreError
from evenhand.quotas import FairUCB
from evenhand.service.scheduler import Scheduler
from evenhand.studies import Store, Study


class Log(list):
    """Keeps what is logged."""

    def error(self, event, **fields):
        self.append((event, fields["study"], fields["why"], "exc_info" in fields))


def store_with(*names):
    store = Store.at(":memory:", create=True)
    for name in names:
        Study.create(store, FairUCB([0.2, 0.3], seed=1), name=name)
    return store


def test_each_hook_is_called_with_each_study_and_a_failure_stops_no_other():
    seen, log = [], Log()

    def fails(study):
        raise RuntimeError(f"no {study.name}")

    Scheduler(store_with("a", "b"), [fails, lambda study: seen.append(study.name)], 1.0, log).run_once()
    assert seen == ["a", "b"]
    assert log == [
        ("watch failed", "a", "RuntimeError: no a", True),
        ("watch failed", "b", "RuntimeError: no b", True),
    ]


def test_a_store_that_is_gone_is_noted(monkeypatch):
    store, log = store_with("a"), Log()

    why = "gone"

    def gone():
        raise StoreError(why)

    watch = Scheduler(store, [lambda study: None], 1.0, log)
    with monkeypatch.context() as patched:
        patched.setattr(store, "names", gone)
        watch.run_once()
        watch.run_once()
        why = "gone for good"
        watch.run_once()
    watch.run_once()
    monkeypatch.setattr(store, "names", gone)
    watch.run_once()
    words = ["gone", "gone for good", "gone for good"]
    assert log == [("watch failed", "the store", f"StoreError: {one}", False) for one in words], "each change once"


def test_a_hook_that_fails_again_and_again_is_noted_once():
    log, fails = Log(), True

    def hook(study):
        if fails:
            raise RuntimeError("no")

    watch = Scheduler(store_with("a"), [hook], 1.0, log)
    watch.run_once()
    watch.run_once()
    fails = False
    watch.run_once()
    fails = True
    watch.run_once()
    assert len(log) == 2


def test_a_service_watches_while_it_runs_and_stops_with_it(serving):
    calls, third = [], threading.Event()

    def hook(study):
        calls.append(study.name)
        if len(calls) == 3:
            third.set()

    served = serving(hooks=[hook], interval=0.001)
    served.create()
    assert third.wait(60)
    served.stop()
    count = len(calls)
    assert not [thread for thread in threading.enumerate() if thread.name == "evenhand watch"]
    assert len(calls) == count
    assert set(calls) == {"ads"}
