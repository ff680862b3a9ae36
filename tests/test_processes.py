"""Policies, studies and stores in processes that are forked while a thread uses them, and what is not pickled."""

import copy
import gc
import pickle
import threading
from contextlib import contextmanager

import joblib
import pytest

import evenhand as eh
from evenhand.errors import EvenhandError, StoreError
from evenhand.jobs import run_all
from evenhand.processes import HOOKS, Lock
from evenhand.studies import Store, Study
from tests.forks import forked

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def policy():
    return eh.quotas.FairUCB({"a": 0.2, "b": 0.3}, seed=1)


@contextmanager
def used_elsewhere(lock):
    """Have another thread hold a lock."""
    held, done = threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    yield
    done.set()
    thread.join()


def test_a_policy_that_another_thread_was_using_is_refused_in_a_child():
    one, other = policy(), policy()
    with used_elsewhere(one._lock):
        asked, saved, apart = forked(lambda: one.ask().id, lambda: len(pickle.dumps(one)), lambda: other.ask().id)
    for said in (asked, saved):
        assert said.startswith("EvenhandError: this process was forked while another thread was using this object")
    assert (apart, one.ask().id) == (1, 1)
    assert forked(lambda: one.ask().id) == [2]


def test_a_lock_that_the_forking_thread_holds_is_held_by_its_child():
    lock = Lock()
    with lock:
        assert forked(lambda: lock.acquire(blocking=False)) == [True]


def test_a_study_that_another_thread_was_using_reads_its_log_anew_in_a_child(tmp_path):
    study = Study.create(tmp_path / "ads.evenhand", policy(), name="ads")
    study.ask()
    with used_elsewhere(study.state.lock):
        study.state.seen.policy.ask()  # half of a transaction
        assert forked(lambda: study.ask().id, lambda: len(study.open_tickets)) in ([2, 1], [2, 2])
    study.state.seen = None
    assert study.ask().id == 3
    assert study.verify().ok


def test_a_child_does_not_read_the_log_anew_without_need(tmp_path):
    study = Study.create(tmp_path / "ads.evenhand", policy(), name="ads")
    study.ask()
    seen = study.state.seen
    assert forked(lambda: study.state.seen is seen) == [True]


def test_a_study_in_memory_belongs_to_its_process():
    study = Study.create(":memory:", policy(), name="ads")
    (said,) = forked(lambda: study.ask().id)
    assert said.startswith("StoreError: sqlite://: a store in memory belongs to the process that made it; name a file")
    assert study.ask().id == 1


def test_what_is_gone_is_not_renewed():
    gc.collect()
    before = len(HOOKS)
    one = policy()
    assert len(HOOKS) > before
    del one
    gc.collect()
    assert len(HOOKS) == before


@pytest.mark.parametrize("copied", [pickle.dumps, copy.deepcopy, joblib.hash])
def test_a_study_is_not_pickled_and_the_refusal_says_how_to_open_it(tmp_path, copied):
    study = Study.create(tmp_path / "ads.evenhand", policy(), name="ads")
    for thing in (study, study.store, study.log, study.state, {"mine": study}):
        with pytest.raises(EvenhandError, match=r"ads.evenhand.* cannot be pickled or copied.*Study.open\('/"):
            copied(thing)
    with pytest.raises(EvenhandError, match=r"cannot be pickled or copied.*make the study anew in each process"):
        copied(Store.at(":memory:", create=True))


def test_a_study_does_not_go_to_a_worker(tmp_path):
    study = Study.create(tmp_path / "ads.evenhand", policy(), name="ads")
    with pytest.raises((EvenhandError, pickle.PicklingError)) as refused:
        joblib.Parallel(2)(joblib.delayed(Study.ask)(one) for one in [study] * 2)
    assert "Study.open" in str(refused.value) + str(refused.value.__cause__)
    with pytest.raises(StoreError):
        Study.open(tmp_path / "none.evenhand")


def test_a_child_of_a_process_with_workers_has_workers_of_its_own():
    def twice(numbers):
        return run_all(abs, [(number,) for number in numbers], 2)

    def work():
        found = twice([-3, -4])
        joblib.externals.loky.get_reusable_executor().shutdown()
        return found

    assert twice([-1, -2]) == [1, 2]
    assert forked(work) == [[3, 4]]
    assert twice([-5, -6]) == [5, 6]
