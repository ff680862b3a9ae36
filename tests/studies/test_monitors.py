"""Monitors: what is measured, when an alert is raised and cleared, by whom, and what cannot be watched."""

import threading

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError
from evenhand.promises.promise import Promise
from evenhand.protocol import Decision
from evenhand.studies import Operation, Store, Study
from evenhand.studies.monitoring import monitors
from evenhand.studies.monitoring.metrics import measure
from evenhand.studies.statistics.statistics import WATCHED
from tests.naming import named
from tests.studies.worker import nursery

SECOND = 1_000_000


class Scripted:
    """Decides for the arm that it is told."""

    kept = "at every round"

    def __init__(self, tolerance=0.0, round=0):
        self.promise = Promise({"ads": 0.5, "news": 0.25}, tolerance)
        self.arms, self.round, self.open_tickets = self.promise.arms, round, ()

    def ask(self, index):
        self.round += 1
        return Decision(self.round, self.round, self.arms[index], index, None, "as it was told")

    def tell(self, decision, reward):
        pass

    def forget(self, decision):
        pass

    def snapshot(self):
        return {"tolerance": self.promise.tolerance, "round": self.round}

    @classmethod
    def restored(cls, snapshot):
        return cls(**snapshot)


@pytest.fixture
def scripted(scratch_registry):
    scratch_registry(Scripted)
    return lambda place=":memory:", tolerance=0.0: Study.create(place, Scripted(tolerance), name="ads")


@pytest.fixture
def study(scripted):
    return scripted()


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set."""
    time = [1_700_000_000 * SECOND]
    for module in ("log.transaction", "monitoring.monitors"):
        monkeypatch.setattr(f"evenhand.studies.{module}.now", lambda: time[0])
    return time


def asked(study, *indices):
    return study.perform([Operation("ask", given={"index": index}) for index in indices])


def told(study, *rewards):
    for reward in rewards:
        (decision,) = asked(study, 0)
        study.tell(decision, reward)


def value(study, monitor, at=0):
    return measure(monitor, study.statistics(), at)


def seen(study):
    """What a look at the monitors changes: (metric, value, whether it was cleared)."""
    return [(alert.monitor.metric, alert.value, alert.cleared is not None) for alert in monitors.watch(study)]


# ---------------------------------------------------------------------- what is measured


def test_shortfall_is_judged_at_every_round_above_its_threshold(study):
    monitor = monitors.add(study, "shortfall", threshold=0.5)
    assert value(study, monitor) is None
    asked(study, 0, 0)
    assert (value(study, monitor), seen(study)) == (0.5, [])
    asked(study, 0)
    assert seen(study) == [("shortfall", 0.75, False)]
    asked(study, 0)
    assert seen(study) == []
    asked(study, 1)
    assert (value(study, monitor), seen(study)) == (0.25, [("shortfall", 0.75, True)])


def test_shortfall_takes_the_tolerance_off(scripted):
    study = scripted(tolerance=1.5)
    monitor = monitors.add(study, "shortfall", threshold=0)
    asked(study, 1, 1)
    assert (value(study, monitor), seen(study)) == (0.0, [])
    asked(study, 1)
    assert seen(study) == [("shortfall", 0.5, False)]


def test_shortfall_of_one_arm(study):
    one, other = (monitors.add(study, "shortfall", threshold=0.9, subject=arm) for arm in ("ads", "news"))
    asked(study, 1, 1)
    assert (value(study, one), value(study, other)) == (1.0, -1.5)
    assert [alert.monitor for alert in monitors.watch(study)] == [one]


def test_reward_is_judged_over_a_full_window_below_its_threshold(study):
    monitor = monitors.add(study, "reward", threshold=0.5, window=4)
    told(study, 0.0, 0.0, 0.0)
    assert (value(study, monitor), seen(study)) == (None, [])
    told(study, 0.0)
    assert seen(study) == [("reward", 0.0, False)]
    told(study, 1.0)
    assert (value(study, monitor), seen(study)) == (0.25, [])
    told(study, 1.0)
    assert (value(study, monitor), seen(study)) == (0.5, [("reward", 0.0, True)])


def test_drift_compares_the_window_with_all_before(study):
    monitor = monitors.add(study, "drift", threshold=0.5, window=4)
    asked(study, 0, 1, 0, 1, 0, 1, 0)
    assert value(study, monitor) is None
    asked(study, 1)
    assert value(study, monitor) == 0.0
    asked(study, 0, 0, 0, 0)
    assert (value(study, monitor), seen(study)) == (0.5, [])
    study = study_with(study, [0] * 5 + [1] * 3 + [0] * 4)
    assert value(study, monitor) == pytest.approx(3 / 8)
    study = study_with(study, [0, 0, 0, 0, 1, 1, 1])
    assert value(study, monitor) is None


def study_with(study, indices):
    other = Study.create(":memory:", Scripted(), name="other")
    asked(other, *indices)
    return other


def test_drift_is_raised_above_its_threshold_and_cleared(study):
    monitors.add(study, "drift", threshold=0.7, window=4)
    asked(study, 0, 0, 0, 1, 1, 1, 1)
    assert seen(study) == []
    asked(study, 1)
    assert seen(study) == [("drift", 0.75, False)]
    asked(study, 0)
    assert seen(study) == [("drift", 0.75, True)]


def test_drift_of_groups_as_they_were_in_each_round():
    policy = eh.groups.TopInterval({"a": "F", "b": "M"}, seed=1)
    study = Study.create(":memory:", policy)
    monitor = monitors.add(study, "drift", threshold=0.9, window=3, subject="F")
    for groups in [["F", "F"]] * 3 + [["M", "M"]] * 3:
        assert value(study, monitor) is None
        study.tell(study.ask(np.eye(2), groups), 0.5)
    assert value(study, monitor) == 1.0
    with pytest.raises(ArgumentError, match="subject: wanted one of"):
        monitors.add(study, "drift", threshold=0.9, window=3, subject="a")


def test_overdue_counts_tickets_open_for_longer_than_the_window(study, clock):
    monitor = monitors.add(study, "overdue", threshold=1, window=60)
    asked(study, 0, 0)
    start = clock[0]
    clock[0] = start + 60 * SECOND
    assert (value(study, monitor, clock[0]), seen(study)) == (0.0, [])
    asked(study, 0)
    clock[0] += 1
    assert seen(study) == [("overdue", 2.0, False)]
    study.tell(1, 1.0)
    assert seen(study) == [("overdue", 2.0, True)]
    study.forget(2)
    assert value(study, monitor, clock[0]) == 0.0
    assert value(study, monitor, clock[0] + 100 * SECOND) == 1.0


def test_nothing_to_judge_raises_nothing(study):
    monitors.add(study, "shortfall", threshold=-100)
    monitors.add(study, "reward", threshold=100, window=1)
    monitors.add(study, "drift", threshold=-1, window=1)
    assert seen(study) == []
    told(study, 0.5)
    assert [metric for metric, *_ in seen(study)] == ["shortfall", "reward"]


# ---------------------------------------------------------------------- alerts


def test_an_alert_holds_what_was_seen_and_when(study, clock):
    monitor = monitors.add(study, "reward", threshold=0.5, window=1, webhook="https://example.org/hook")
    told(study, 0.25)
    clock[0] += SECOND
    (alert,) = monitors.watch(study)
    assert (alert.monitor, alert.value, alert.sequence) == (monitor, 0.25, 2)
    assert alert.raised.timestamp() == clock[0] / SECOND
    assert (alert.cleared, alert.delivered) == (None, None)
    assert monitors.watch(study) == []
    assert monitors.alerts(study) == monitors.alerts(study, standing=True) == [alert]
    monitors.delivered(study, alert)
    assert monitors.alerts(study)[0].delivered.timestamp() == clock[0] / SECOND
    told(study, 0.75)
    clock[0] += SECOND
    (cleared,) = monitors.watch(study)
    assert (cleared.id, cleared.raised, cleared.delivered) == (alert.id, alert.raised, None)
    assert cleared.cleared.timestamp() == clock[0] / SECOND
    assert monitors.alerts(study, standing=True) == []
    monitors.delivered(study, alert)
    assert monitors.alerts(study)[0].delivered is None
    monitors.delivered(study, cleared)
    assert monitors.alerts(study)[0].delivered is not None
    told(study, 0.0)
    assert [again.id for again in monitors.watch(study)] == [alert.id + 1]
    assert [one.id for one in monitors.alerts(study)] == [alert.id + 1, alert.id]
    assert len(monitors.alerts(study, limit=1)) == 1


def test_removing_a_monitor_clears_its_alert_and_keeps_the_record(study):
    first, second = (monitors.add(study, "reward", threshold=0.5, window=1) for _ in range(2))
    told(study, 0.0)
    assert len(monitors.watch(study)) == 2
    monitors.remove(study, first.id)
    assert monitors.listed(study) == [second]
    assert [alert.monitor.id for alert in monitors.alerts(study, standing=True)] == [second.id]
    assert len(monitors.alerts(study)) == 2
    assert monitors.watch(study) == []
    for number in (first.id, 99):
        with pytest.raises(ArgumentError, match=rf"monitor: wanted one of \[{second.id}\], got {number}"):
            monitors.remove(study, number)


def test_a_monitor_that_is_removed_while_it_is_measured_raises_nothing(study, monkeypatch):
    monitor = monitors.add(study, "reward", threshold=0.5, window=1)
    told(study, 0.0)

    def overtaken(one, statistics, at):
        monitors.remove(study, monitor.id)
        return 0.0

    monkeypatch.setattr(monitors, "measure", overtaken)
    assert monitors.watch(study) == []
    assert monitors.alerts(study) == []


def test_more_alerts_than_are_listed_at_once(study):
    for _ in range(130):
        monitors.add(study, "reward", threshold=0.5, window=1)
    told(study, 0.0)
    assert len({alert.id for alert in monitors.watch(study)}) == 130
    assert monitors.watch(study) == []
    assert len(monitors.alerts(study)) == 100
    told(study, 1.0)
    assert len([alert for alert in monitors.watch(study) if alert.cleared]) == 130


def test_monitors_of_another_study_are_its_own(study):
    other = Study.create(study.store, Scripted(), name="other")
    mine = monitors.add(study, "reward", threshold=0.5, window=1)
    told(other, 0.0)
    assert monitors.watch(other) == monitors.listed(other) == []
    told(study, 0.0)
    assert len(monitors.watch(study)) == 1
    assert monitors.alerts(other) == []
    with pytest.raises(ArgumentError, match="monitor: wanted one of"):
        monitors.remove(other, mine.id)


# ---------------------------------------------------------------------- many that watch


def test_threads_that_watch_raise_one_alert(tmp_path, scripted):
    study = scripted(tmp_path / "ads.evenhand")
    monitors.add(study, "reward", threshold=0.5, window=1)
    told(study, 0.0)
    watchers = [study, Study.open(study.store), *(Study.open(tmp_path / "ads.evenhand") for _ in range(2))]
    start, found, raised = threading.Barrier(4), [], []

    def work(watcher):
        try:
            start.wait(60)
            found.extend(monitors.watch(watcher))
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=work, args=(watcher,), daemon=True) for watcher in watchers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert raised == []
    assert len(found) == len(monitors.alerts(study)) == 1
    for watcher in watchers:
        watcher.close()


def look(place, gate):
    study = Study.open(place, "ads")
    study.statistics()
    gate.wait(60)
    monitors.watch(study)
    study.close()


def test_processes_that_watch_raise_one_alert(shared):
    study = Study.create(shared, eh.quotas.FairUCB({"ads": 0.2, "news": 0.3}, seed=1), name="ads")
    monitors.add(study, "reward", threshold=0.5, window=1)
    study.tell(study.ask(), 0.0)
    gate = nursery().Barrier(3)
    workers = [nursery().Process(target=look, args=(shared, gate)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
        assert worker.exitcode == 0
    assert len(monitors.alerts(study)) == 1
    study.close()


def test_monitors_stay_in_the_store(shared):
    study = Study.create(shared, eh.quotas.FairUCB({"ads": 0.2, "news": 0.3}, seed=1), name="ads")
    monitor = monitors.add(study, "shortfall", threshold=np.float32(0.5), subject="news", webhook="http://h:8080/x")
    assert monitor == (1, "shortfall", 0.5, 0, "news", "http://h:8080/x")
    study.close()
    store = Store.at(shared)
    assert monitors.listed(Study.open(store)) == [monitor]
    store.close()


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize("metric", ["", "regret", None, 7, ["reward"]], ids=named)
def test_a_metric_that_there_is_not_is_refused(study, metric):
    with pytest.raises(ArgumentError, match="metric: wanted one of shortfall, drift, reward, overdue, got"):
        monitors.add(study, metric, threshold=1, window=1)


@pytest.mark.parametrize(
    "threshold",
    [None, "1", True, float("nan"), float("inf"), -float("inf"), 10**400, [1], np.ones(2), 1j, np.complex128(1)],
    ids=named,
)
def test_a_threshold_that_is_no_finite_number_is_refused(study, threshold):
    with pytest.raises(ArgumentError, match="threshold: wanted a finite number, got"):
        monitors.add(study, "reward", threshold=threshold, window=1)


@pytest.mark.parametrize("metric", ["reward", "drift", "overdue"])
@pytest.mark.parametrize("window", [0, -1, 1.5, True, "7", None, 10**9 + 1], ids=named)
def test_a_window_that_is_none_is_refused(study, metric, window):
    with pytest.raises(ArgumentError, match=r"window: wanted a whole number of (decisions|rewards|seconds), 1"):
        monitors.add(study, metric, threshold=1, window=window)


@pytest.mark.parametrize(("metric", "longest"), [("reward", WATCHED), ("drift", WATCHED), ("overdue", 10**9)])
def test_the_longest_window(study, metric, longest):
    assert monitors.add(study, metric, threshold=1, window=np.int64(longest)).window == longest
    with pytest.raises(ArgumentError, match="window: wanted a whole number"):
        monitors.add(study, metric, threshold=1, window=longest + 1)


def test_a_shortfall_has_no_window_and_needs_a_promise(study):
    with pytest.raises(ArgumentError, match="window: wanted none for shortfall, which is judged at every round, got 5"):
        monitors.add(study, "shortfall", threshold=1, window=5)
    plain = Study.create(":memory:", eh.learners.UCB1(arms=2))
    with pytest.raises(ArgumentError, match="metric: wanted another one: this policy promises no shares"):
        monitors.add(plain, "shortfall", threshold=1)


@pytest.mark.parametrize(
    ("metric", "subject", "said"),
    [
        ("shortfall", "sports", r"one of \['ads', 'news'\], got 'sports'"),
        ("drift", 0, r"one of \['ads', 'news'\], got 0"),
        ("reward", "ads", "none for reward"),
        ("overdue", "ads", "none for overdue"),
    ],
)
def test_a_subject_that_there_is_not_is_refused(study, metric, subject, said):
    with pytest.raises(ArgumentError, match=f"subject: wanted {said}"):
        monitors.add(study, metric, threshold=1, window=0 if metric == "shortfall" else 1, subject=subject)


def test_a_subject_whose_label_is_a_number():
    study = Study.create(":memory:", eh.quotas.FairUCB([0.3, 0.3], seed=1))
    monitor = monitors.add(study, "shortfall", threshold=0.2, subject=1)
    assert monitor.subject == "1"
    decision = study.ask()
    assert value(study, monitor) == pytest.approx(0.3 - (decision.index == 1))


@pytest.mark.parametrize(
    "webhook",
    ["", "example.org", "ftp://example.org", "http://", "https:///x", "http://[bad", "http://h:99999", 7, b"x"],
    ids=named,
)
def test_a_webhook_that_is_no_address_is_refused(study, webhook):
    with pytest.raises(ArgumentError, match="webhook: wanted an address that begins with http:// or https://"):
        monitors.add(study, "reward", threshold=1, window=1, webhook=webhook)
    assert monitors.listed(study) == []
