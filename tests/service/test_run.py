"""`serve`: what it prints, what it refuses, and that a signal ends it with everything written down."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from unittest.mock import Mock

import httpx
import pytest

from evenhand.errors import ArgumentError, StoreError, UnreachableError
from evenhand.quotas import FairUCB
from evenhand.service import run
from evenhand.service.run import serve
from evenhand.studies import Store, Study
from evenhand.studies.keys import list_keys
from tests.service.conftest import POLICY
from tests.waiting import until

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
from evenhand.service.run import serve
if __name__ == "__main__":
    serve(sys.argv[1], port=int(sys.argv[3]), workers=int(sys.argv[2]), create=True)
"""


def test_a_server_that_is_starting_is_waited_for_and_it_is_said(monkeypatch, capsys):
    naps, away, opened = [], UnreachableError("postgresql://db: refused"), Mock()
    monkeypatch.setattr(run.time, "monotonic", lambda: len(naps) * 10.0)
    monkeypatch.setattr(run.time, "sleep", naps.append)
    monkeypatch.setattr(run, "_open", opened)
    opened.side_effect = [away, away, away, "the store"]
    assert run._open_once_there("postgresql://db", None, create=False, wait=60) == "the store"
    assert len(naps) == 3
    assert capsys.readouterr().err == "waiting up to 60 s for the database: postgresql://db: refused\n"
    for place, wait, tried in (("postgresql://db", 20, 3), ("ads.evenhand", 60, 1)):
        naps.clear()
        opened.reset_mock(side_effect=True)
        opened.side_effect = away
        with pytest.raises(UnreachableError):
            run._open_once_there(place, None, create=False, wait=wait)
        assert opened.call_count == tried
    opened.side_effect = StoreError("another version")
    with pytest.raises(StoreError, match="another version"):
        run._open_once_there("postgresql://db", None, create=False, wait=60)


@contextmanager
def started(tmp_path, workers=1, port=0):
    """Serve a file in a process of its own; yields the process, the lines it printed and its address. It is killed."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    words = [sys.executable, program, tmp_path / "ads.evenhand", str(workers), str(port)]
    with (tmp_path / "errors").open("ab") as written:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=written, text=True, start_new_session=True)
    try:
        lines = []
        for line in process.stdout:
            lines.append(line.rstrip())
            if line.startswith("More keys"):
                break
        url = re.search(r"http://127\.0\.0\.1:\d+", "\n".join(lines)).group()
        until(partial(answers, url, process), 0.05)
        yield process, lines, url
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


def answers(url, process):
    assert process.poll() is None
    with suppress(httpx.TransportError):
        return get(f"{url}/readyz").status_code == 200


def get(url, **given):
    return httpx.get(url, trust_env=False, timeout=120, **given)


def post(url, **given):
    return httpx.post(url, trust_env=False, timeout=120, **given)


def keys_in(lines):
    """Return the keys of a first start, by role."""
    return {line.split()[0]: line.split()[1] for line in lines if " eh_" in line and "#key" not in line}


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


def test_a_first_start_prints_a_link_and_keys_that_work_and_the_next_start_none(tmp_path):
    with started(tmp_path) as (process, lines, url):
        keys = keys_in(lines)
        assert set(keys) == {"decide", "report"}
        page = re.search(r"#key=(\S+)", "\n".join(lines)).group(1)
        create = {"name": "ads", "policy": POLICY}
        assert post(f"{url}/studies", json=create, headers=bearer(keys["decide"])).status_code == 201
        ask = f"{url}/studies/ads/ask"
        ticket = post(ask, headers=bearer(keys["decide"])).json()["ticket"]
        reward = {"ticket": ticket, "reward": 1.0}
        told = post(f"{url}/studies/ads/tell", json=reward, headers=bearer(keys["report"]))
        assert told.json()["status"] == "told"
        assert get(f"{url}/studies/ads", headers=bearer(page)).json()["told"] == 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    with started(tmp_path) as (process, lines, url):
        assert keys_in(lines) == {}
        assert "ads" in lines[0]
        assert get(f"{url}/studies/ads", headers=bearer(page)).status_code == 200, "the open page goes on"
        passing = re.search(r"#key=(\S+)", "\n".join(lines)).group(1)
        assert passing != page
        assert get(f"{url}/studies/ads", headers=bearer(passing)).status_code == 200
        assert post(ask.replace(ask[: len(url)], url), headers=bearer(keys["decide"])).json()["id"] == 2
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
    with started(tmp_path) as (_, _, url):
        assert get(f"{url}/studies/ads", headers=bearer(page)).status_code == 200
        assert get(f"{url}/studies/ads", headers=bearer(passing)).status_code == 401
    assert "eh_" not in (tmp_path / "errors").read_text()


def test_what_was_acknowledged_before_a_signal_is_there_afterwards(tmp_path):
    Study.create(tmp_path / "ads.evenhand", FairUCB({"a": 0.2, "b": 0.3}, seed=1), name="ads").close()
    acknowledged = []
    with started(tmp_path) as (process, lines, url):
        key = keys_in(lines)["decide"]

        def ask():
            with httpx.Client(trust_env=False, timeout=120) as http, suppress(httpx.TransportError):
                while (answer := http.post(f"{url}/studies/ads/ask", headers=bearer(key))).status_code == 200:
                    acknowledged.append(answer.json()["id"])

        with ThreadPoolExecutor(4) as pool:
            asking = [pool.submit(ask) for _ in range(4)]
            until(lambda: len(acknowledged) >= 40)
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)
        assert [one.result() for one in asking] == [None] * 4
    study = Study.open(tmp_path / "ads.evenhand")
    found = [event.ticket for event in study.log.events()]
    assert sorted(acknowledged) == sorted(set(acknowledged))
    assert set(acknowledged) <= set(found)
    assert study.verify().ok
    study.close()


def test_several_workers_share_one_study_and_one_key_for_the_page(tmp_path):
    Study.create(tmp_path / "ads.evenhand", FairUCB({"a": 0.2, "b": 0.3}, seed=1), name="ads").close()
    with started(tmp_path, workers=2) as (process, lines, url):
        key = keys_in(lines)["decide"]
        page = re.search(r"#key=(\S+)", "\n".join(lines)).group(1)
        ids = [post(f"{url}/studies/ads/ask", headers=bearer(key)).json()["id"] for _ in range(8)]
        assert ids == list(range(1, 9))
        for _ in range(4):
            assert get(f"{url}/studies/ads", headers=bearer(page)).json()["decisions"] == 8
        text = get(f"{url}/metrics", headers=bearer(page)).text
        assert 'evenhand_decisions_total{study="ads"} 8.0' in text
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0


def test_a_port_that_is_taken_is_refused(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            ArgumentError, match=rf"port: expected a free one on 127\.0\.0\.1, got {port}.*another program"
        ):
            serve(str(tmp_path / "ads.evenhand"), port=port, create=True)
    assert list_keys(Store.at(tmp_path / "ads.evenhand")) == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"port": 70_000}, "port: expected"),
        ({"host": "no such host"}, "host: expected an address of this machine"),
        ({"host": "192.0.2.1"}, "host: expected an address of this machine"),
        ({"workers": 0}, "workers: expected a whole number >= 1"),
        ({"workers": 2}, "workers: expected 1, since a store in memory serves one process, got 2"),
        ({"log_level": "loud"}, "log_level: expected one of 'debug', 'info', 'warning', 'error', got 'loud'"),
        ({"password_file": "/none"}, "password_file: expected a file that can be read, got '/none'; No such file"),
    ],
    ids=["port", "host", "elsewhere", "workers", "memory", "log_level", "password_file"],
)
def test_what_cannot_be_served_is_refused(settings, said):
    with pytest.raises(ArgumentError, match=said):
        serve(":memory:", **settings)


def test_a_mistyped_name_is_refused_and_creates_nothing(tmp_path):
    for place in (str(tmp_path / "typo.evenhand"), f"sqlite:///{tmp_path}/typo.evenhand"):
        with pytest.raises(StoreError, match=r"typo.evenhand: there is no store yet.*`serve --create`"):
            serve(place)
    assert list(tmp_path.iterdir()) == []
