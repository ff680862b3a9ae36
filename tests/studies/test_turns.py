"""Writers of one file come in the order in which they asked to, and nobody who dies or hangs holds up the others."""

import os
import subprocess
import sys
import threading

import pytest

import evenhand as eh
from evenhand.studies import Store, Study
from evenhand.studies.store.turns import COUNTER, wait_turn
from tests.waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere writers wait as SQLite has them wait")
PATIENCE = 60


@pytest.fixture
def path(tmp_path):
    """A file that is written to by turns."""
    (tmp_path / "ads.evenhand").touch(0o600)
    return tmp_path / "ads.evenhand"


HOLDING = """
import signal, sys
from evenhand.studies.store.turns import wait_turn
with wait_turn(sys.argv[1], 60):
    print("in", flush=True)
    signal.pause()
"""


def drawn(store):
    """The number that was drawn last."""
    with open(f"{store}-queue", "rb") as file:
        return COUNTER.unpack(file.read(COUNTER.size).ljust(COUNTER.size, b"\0"))[0]


def in_order(store, enter, writers=6):
    """Have writers ask for their turn one after another while nobody can have it; the order in which they had it."""
    order, threads = [], []

    def write(which):
        with enter():
            order.append(which)

    with enter():
        for which in range(writers):
            before = drawn(store)
            threads.append(threading.Thread(target=write, args=(which,)))
            threads[-1].start()
            until(lambda before=before: drawn(store) != before)
        assert order == []
    for thread in threads:
        thread.join(PATIENCE)
    return order


def test_writers_come_in_the_order_in_which_they_asked(path):
    assert in_order(path, lambda: wait_turn(str(path), PATIENCE)) == list(range(6))


def test_a_store_s_writers_come_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Study.create("ads.evenhand", eh.quotas.FairUCB({"a": 0.2, "b": 0.3}))
    stores = [Store.at("ads.evenhand") for _ in range(7)]
    path = tmp_path / "ads.evenhand"
    assert in_order(path, lambda: stores.pop().writing()) == list(range(6))
    assert (tmp_path / "ads.evenhand-queue").stat().st_mode & 0o777 == 0o600


def test_one_process_writes_on_for_a_slice_and_then_draws_a_number_again(path, monkeypatch):
    monkeypatch.setattr("evenhand.studies.store.turns.SLICE", 3600.0)
    for _ in range(3):
        with wait_turn(str(path), PATIENCE):
            assert drawn(path) == 1
    monkeypatch.setattr("evenhand.studies.store.turns.slices", {})
    monkeypatch.setattr("evenhand.studies.store.turns.SLICE", 0.0)
    for number in (2, 3):
        with wait_turn(str(path), PATIENCE):
            assert drawn(path) == number


def holder(path):
    process = subprocess.Popen([sys.executable, "-c", HOLDING, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "in\n"
    return process


def test_who_dies_lets_the_next_one_in(path):
    process = holder(path)
    entered = threading.Event()

    def wait():
        with wait_turn(str(path), PATIENCE):
            entered.set()

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert not entered.wait(0.1)
    process.kill()
    process.wait()
    process.stdout.close()
    assert entered.wait(PATIENCE / 2)
    waiting.join()


def test_who_hangs_is_waited_for_no_longer_than_patience_lasts(path):
    order = []
    with wait_turn(str(path), PATIENCE):
        order.append("hangs")
        with wait_turn(str(path), 0.1):
            order.append("had no patience left")
        order.append("hung")
    with wait_turn(str(path), PATIENCE):
        order.append("the next one")
    assert order == ["hangs", "had no patience left", "hung", "the next one"]


@pytest.mark.parametrize("content", [b"", b"\xff" * 8, b"x", b"\xff" * 64])
def test_whatever_the_file_holds_there_is_a_turn(path, content):
    path.with_name("ads.evenhand-queue").write_bytes(content)
    assert in_order(path, lambda: wait_turn(str(path), PATIENCE), writers=3) == [0, 1, 2]


def test_without_a_place_for_a_queue_writers_go_on(tmp_path):
    with wait_turn(str(tmp_path / "nowhere" / "ads.evenhand"), PATIENCE):
        pass
    assert not (tmp_path / "nowhere").exists()


def test_what_fails_in_its_turn_is_raised_and_lets_the_next_one_in(path):
    open_files = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(OSError, match="the disk is full"), wait_turn(str(path), PATIENCE):
            raise OSError("the disk is full")
    assert len(os.listdir("/proc/self/fd")) == open_files
