"""Studies with several workers from a shell: five commands start four of them, two are killed, one is added."""

import json
import os
import re
import signal
import subprocess
import urllib.request

import pytest

from evenhand.errors import ArgumentError, FencedError, SharesError, UnknownWorkerError
from tests.cli.shell import answer, asked, evenhand, refused

NEW = ["-p", "deadline-learn", "--shares", "a=0.2,b=0.3", "--tolerance", "5", "--seed", "1"]


def test_workers_are_created_asked_listed_added_and_ended(tmp_path):
    store = tmp_path / "ads.evenhand"
    made = answer("new", store, *NEW, "--workers", "2")
    assert "It has the workers w1 to w2" in made
    assert f"evenhand ask {store} --worker w1" in made
    (first,) = asked(store, "--worker", "w1")
    (second,) = asked(store, "--worker", "w2")
    assert (first["id"], second["id"]) == (10**12 + 1, 2 * 10**12 + 1)
    assert answer("tell", store, first["ticket"], "1").strip() == "told"
    assert answer("tell", store, second["id"], "0").strip() == "told"
    assert answer("join", store, "spare").startswith("spare joined")
    assert json.loads(answer("join", store, "more", "--json")) == {"status": "joined", "worker": "more"}
    assert answer("leave", store, "w2").strip() == "w2 left"
    shown = json.loads(answer("workers", store, "--json"))
    states = {row["worker"]: (row["state"], row["rounds"]) for row in shown["workers"]}
    assert states == {"w1": ("working", 1), "w2": ("left", 1), "spare": ("working", 0), "more": ("working", 0)}
    shown = answer("workers", store)
    assert "decisions are left" in shown
    assert " s ago" in shown or " min ago" in shown
    assert "whole and replays" in answer("verify", store)
    assert json.loads(answer("verify", store, "--json"))["room"]["a"] > 0
    refused(UnknownWorkerError, "no worker of 'ads' is named 'w9'", "ask", store, "--worker", "w9")
    refused(FencedError, "worker 'w2' has left", "ask", store, "--worker", "w2")
    refused(ArgumentError, "--worker", "ask", store)
    refused(ArgumentError, "WORKER: wanted a new name, got 'w1'", "join", store, "w1")
    refused(UnknownWorkerError, "is named 'w9'", "leave", store, "w9")


def test_a_store_in_a_folder_with_spaces_and_how_often_its_workers_exchange(tmp_path):
    store = tmp_path / "a folder" / "ads.evenhand"
    store.parent.mkdir()
    answer("new", store, *NEW, "--workers", "2", "--exchange-rounds", "3", "--exchange-seconds", "3600")
    assert f"evenhand ask '{store}' --worker w3" in answer("join", store, "w3")
    for worker in ("w1", "w2"):
        asked(store, "--worker", worker, "--count", "4")
    rows = {row["worker"]: row for row in json.loads(answer("workers", store, "--json"))["workers"]}
    assert [rows[worker]["lag"] for worker in ("w1", "w2", "w3")] == [4, 0, 8]
    said = answer("verify", store)
    assert "In any order of the workers' decisions it was kept too; arm b is nearest to the limit" in said
    bad = ["new", tmp_path / "bad.evenhand", *NEW, "--exchange-rounds", "0"]
    refused(ArgumentError, "--exchange-rounds: wanted", *bad, "--workers", "2")
    refused(ArgumentError, "--exchange-rounds: wanted --workers 2 or more beside it, got 0", *bad)
    assert not (tmp_path / "bad.evenhand").exists()


def test_what_cannot_be_kept_is_refused_and_a_serial_beginning_is_announced(tmp_path):
    halves = ["-p", "deadline-learn", "--shares", "a=1/2,b=1/2"]
    refused(SharesError, "a tolerance of 2 is enough", "new", tmp_path / "no.evenhand", *halves, "--workers", "4")
    some = ["-p", "deadline-learn", "--shares", "a=1/2,b=1/4", "--workers", "4"]
    made = answer("new", tmp_path / "ads.evenhand", *some)
    assert "The first 15 decisions are taken one after another" in made
    found = json.loads(answer("new", tmp_path / "more.evenhand", *some, "--json"))
    assert (found["workers"], found["burn_in"]) == (4, 15)


def test_a_study_with_one_log_has_no_workers(tmp_path):
    store = tmp_path / "ads.evenhand"
    answer("new", store, *NEW)
    assert "one log, which any number of processes share" in answer("workers", store)
    refused(ArgumentError, "which has one log", "join", store, "w2")
    refused(UnknownWorkerError, "has one log and no worker 'w1'", "ask", store, "--worker", "w1")


def started(store, keys):
    """Start a process that serves a store; return it, its address and the key of its page."""
    process = evenhand("serve", "--store", store, "--port", "0", stderr=subprocess.DEVNULL)
    lines = []
    while not lines or not lines[-1].startswith("More keys"):
        lines.append(process.stdout.readline())
        assert lines[-1], lines
    text = "".join(lines)
    keys |= dict(re.findall(r"^  (decide|report) +(\S+)$", text, re.MULTILINE))
    page = re.search(r"page +(http://\S+)/#key=(\S+)", text)
    return process, page[1], page[2]


def sent(url, key, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url + path, data, headers), timeout=60) as answered:
        return json.load(answered)


@pytest.mark.slow
def test_four_workers_two_killed_one_added_one_promise(tmp_path):
    store, keys, running = str(tmp_path / "ads.evenhand"), {}, []
    try:
        answer("new", store, *NEW, "--workers", "4")
        running = [started(store, keys) for _ in range(4)]
        tickets = []
        for n in range(40):
            _, url, _ = running[n % 4]
            tickets.append(sent(url, keys["decide"], "/studies/ads/ask", {})["ticket"])
        for process, _, _ in running[:2]:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()
        added = started(store, keys)
        running = [*running[2:], added]
        for n in range(30):
            _, url, _ = running[n % 3]
            tickets.append(sent(url, keys["decide"], "/studies/ads/ask", {})["ticket"])
        for n, ticket in enumerate(tickets):
            told = sent(running[n % 3][1], keys["report"], "/studies/ads/tell", {"ticket": ticket, "reward": 1.0})
            assert told["status"] == "told"
        _, url, page_key = added
        state = sent(url, page_key, "/studies/ads")
        assert state["decisions"] == state["told"] == 70
        assert sum(row["rounds"] for row in state["workers"]) == 70
        assert len({ticket.split(".")[1] for ticket in tickets}) == 70
        assert all(one["pulls"] > 0 for one in state["room"])
        assert state["promise"]["kept"] is True
        assert sent(url, page_key, "/studies/ads/audit")["problems"] == []
        assert "whole and replays" in answer("verify", store)
    finally:
        for process, _, _ in running:
            process.kill()
            process.wait()
            process.stdout.close()
