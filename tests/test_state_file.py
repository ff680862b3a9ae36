"""Several sessions on one saved file: what one has saved, another never undoes."""

import copy
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.errors import StateFileError
from evenhand.quotas import FairUCB
from evenhand.saving import state, state_file

CHANGED = "it has changed since it was read, so another session has saved to it; nothing was written. What came after"
PROCESSES, DECISIONS = 4, 25

WORKER = """
import sys
import evenhand as eh
from evenhand.errors import StateFileError
path = sys.argv[1]
print("ready", flush=True)
input()
for _ in range(int(sys.argv[2])):
    while True:
        policy = eh.load(path)
        policy.ask()
        try:
            eh.save(policy, path)
            break
        except StateFileError as error:
            assert "another session has saved" in str(error), error
"""
KILLED = """
import os, signal, sys
import evenhand as eh
from evenhand.saving import state
policy = eh.load(sys.argv[1])
state.write = lambda target, data: os.kill(os.getpid(), signal.SIGKILL)
policy.ask()
eh.save(policy, sys.argv[1])
"""


@pytest.fixture
def file(tmp_path):
    eh.save(FairUCB([0.2, 0.2]), tmp_path / "policy.evenhand")
    return tmp_path / "policy.evenhand"


def decided(path):
    return len(eh.load(path).open_tickets)


def after(policy):
    policy.ask()
    return policy


def test_the_second_of_two_who_read_one_file_is_refused_and_nothing_is_lost(file):
    one, other = eh.load(file), eh.load(file)
    eh.save(after(one), file)
    kept = file.read_bytes()
    with pytest.raises(StateFileError, match=f"policy.evenhand: {CHANGED}"):
        eh.save(after(other), file)
    assert file.read_bytes() == kept
    eh.save(after(one), file)
    assert decided(file) == 2
    eh.save(other, file.with_name("elsewhere"))
    with pytest.raises(StateFileError, match=CHANGED):
        eh.save(other, file)


def test_who_saved_to_a_file_is_refused_once_another_has_loaded_and_saved_it(file):
    own = FairUCB([0.2, 0.2])
    eh.save(own, file)
    eh.save(after(own), file)
    eh.save(after(eh.load(file)), file)
    with pytest.raises(StateFileError, match=CHANGED):
        eh.save(after(own), file)
    assert decided(file) == 2


def test_one_file_has_one_name(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    Path("link").symlink_to(file.name)
    one, other = eh.load("link"), eh.load("./policy.evenhand")
    eh.save(after(other), file)
    with pytest.raises(StateFileError, match=f"^link: {CHANGED}"):
        eh.save(after(one), "link")
    eh.save(after(eh.load("link")), "link")
    assert Path("link").is_symlink()
    assert decided(file) == 2


def test_what_loses_nothing_is_saved(file):
    """A file as it was read, touched, or written again with the same contents; one that is gone; a copy of the policy,
    and a policy that has nothing to do with the file."""
    policy = eh.load(file)
    file.write_bytes(file.read_bytes())
    eh.save(after(policy), file)
    file.unlink()
    eh.save(after(policy), file)
    assert decided(file) == 2
    eh.save(copy.deepcopy(policy), file)
    eh.save(FairUCB([0.2, 0.2]), file)
    assert decided(file) == 0


def test_a_file_that_was_not_there_at_the_start_is_not_replaced(file):
    begun = FairUCB([0.2, 0.2])
    file.unlink()
    state_file.remember(begun, file, None)
    eh.save(FairUCB([0.25, 0.25]), file)
    with pytest.raises(StateFileError, match="it was not there at the start, so another session has saved to it"):
        eh.save(begun, file)
    assert eh.load(file).shares == {0: 0.25, 1: 0.25}


def test_a_save_between_the_comparison_and_the_replacement_waits_and_is_refused(file, monkeypatch):
    first, second, write, other = eh.load(file), eh.load(file), state.write, []

    def interrupted(target, data):
        if not other:
            other.append(pool.submit(eh.save, after(second), file))
            with pytest.raises(TimeoutError):
                other[0].result(timeout=0.3)
        write(target, data)

    monkeypatch.setattr(state, "write", interrupted)
    with ThreadPoolExecutor(1) as pool:
        eh.save(after(first), file)
        with pytest.raises(StateFileError, match=CHANGED):
            other[0].result(timeout=30)
    assert decided(file) == 1
    assert [one.name for one in file.parent.iterdir()] == [file.name]


def test_threads_that_save_one_policy_leave_its_last_state(file):
    policy = eh.load(file)
    barrier = threading.Barrier(4)

    def work():
        barrier.wait()
        for _ in range(10):
            policy.ask()
            eh.save(policy, file)

    with ThreadPoolExecutor(4) as pool:
        for one in [pool.submit(work) for _ in range(4)]:
            one.result()
    assert decided(file) == 40


def test_processes_that_try_again_after_a_refusal_lose_no_decision(file):
    """Each of them reads, decides and saves, and begins again where it is refused: every decision is in the file."""
    command = [sys.executable, "-c", WORKER, str(file), str(DECISIONS)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    running = [subprocess.Popen(command, **pipes) for _ in range(PROCESSES)]
    for one in running:
        assert one.stdout.readline() == "ready\n"
    for one in running:
        one.stdin.write("go\n")
        one.stdin.flush()
    for one in running:
        one.communicate(timeout=300)
    assert [one.returncode for one in running] == [0] * PROCESSES
    assert decided(file) == PROCESSES * DECISIONS
    assert [one.name for one in file.parent.iterdir()] == [file.name]


def test_a_process_killed_while_it_saves_locks_nobody_out(file):
    killed = subprocess.run([sys.executable, "-c", KILLED, str(file)], timeout=120)
    assert killed.returncode == -signal.SIGKILL
    assert sorted(one.name for one in file.parent.iterdir()) == [file.name, f"{file.name}.lock"]
    eh.save(after(eh.load(file)), file)
    assert decided(file) == 1
    assert [one.name for one in file.parent.iterdir()] == [file.name]


def test_who_waits_for_too_long_is_told_what_to_do(file, monkeypatch):
    monkeypatch.setattr(state_file, "PATIENCE", 0.05)
    policy = eh.load(file)
    with (
        state_file.locked_file(file),
        pytest.raises(StateFileError, match=r"has been saving to it for .*; delete policy.evenhand.lock if no other"),
    ):
        eh.save(policy, file)
    eh.save(policy, file)


def test_what_is_known_of_files_goes_with_the_policy(file):
    policy, number = eh.load(file), len(state_file._KNOWN)
    del policy
    assert len(state_file._KNOWN) == number - 1


def test_a_file_that_cannot_be_read_is_not_replaced(file):
    policy = eh.load(file)
    file.unlink()
    file.mkdir()
    with pytest.raises(StateFileError, match=r"policy.evenhand: cannot be compared with what it was: Is a directory"):
        eh.save(policy, file)
