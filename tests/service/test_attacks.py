"""What strangers send to hold the service up: clear answers, bounded memory, and sound studies answered meanwhile."""

from __future__ import annotations

import json
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from evenhand.client.connection import CONNECTIONS
from evenhand.service import run
from evenhand.service.bodies import read_body
from tests.service.conftest import POLICY
from tests.service.test_run import bearer, keys_in, started
from tests.waiting import until

GROWTH = 200 * 2**20
"""Bytes by which the process may grow: a flood that is parsed ahead takes gigabytes."""
ASK = b"POST /studies/ads/ask HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
GET = b"GET /livez HTTP/1.1\r\nHost: a\r\n"
LIST = b"GET /studies HTTP/1.1\r\nHost: a\r\n\r\n"


LIMITS = httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS)


class Attacked:
    """The service in a process of its own, with the study "ads" and whoever uses it honestly."""

    def __init__(self, process, lines, url):
        self.process, self.url, self.keys = process, url, keys_in(lines)
        self.http = httpx.Client(base_url=url, trust_env=False, timeout=120, limits=LIMITS, verify=False)
        assert self.post("decide", "/studies", {"name": "ads", "policy": POLICY}).status_code == 201

    def post(self, role, path, body):
        return self.http.post(path, json=body, headers=bearer(self.keys[role]))

    def converse(self):
        """Ask once and tell once."""
        asked = self.post("decide", "/studies/ads/ask", {})
        assert asked.status_code == 200, asked.text
        told = self.post("report", "/studies/ads/tell", {"ticket": asked.json()["ticket"], "reward": 1.0})
        assert told.json()["status"] == "told"
        return asked.json()["id"]

    def peak(self):
        """The most memory that the process ever held, in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1))


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    with started(tmp_path_factory.mktemp("attacked")) as parts:
        one = Attacked(*parts)
        with closing(one.http):
            yield one


def connected(url):
    address = urlsplit(url)
    return socket.create_connection((address.hostname, address.port), timeout=60)


def authorized(keys):
    return ASK + b"Authorization: Bearer " + keys["decide"].encode() + b"\r\n"


def answers(connection, count=1, mark=b"HTTP/1.1 "):
    """Return what is received until so many answers have begun, or the connection is closed."""
    received = b""
    while received.count(mark) < count and (part := connection.recv(2**16)):
        received += part
    return received


def status(received):
    return int(received.split()[1])


def error(received):
    return json.loads(received.partition(b"\r\n\r\n")[2])["error"]["name"]


def sent(connection, *parts):
    """Send until the service has had enough."""
    with suppress(OSError):
        for part in parts:
            connection.sendall(part)


# ---------------------------------------------------------------------- what is answered, and how

CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
SENT = {
    "a body that says it is too large": (lambda keys: [authorized(keys) + b"Content-Length: 99999999\r\n\r\n{"], 413),
    "a body that is": (lambda keys: [authorized(keys) + CHUNKED, *[b"100000\r\n" + b" " * 2**20 + b"\r\n"] * 61], 413),
    "a large head": (lambda keys: [GET + b"X: ", *[b"x" * 2**20] * 61], 400),
    "many headers": (lambda keys: [GET, *[b"a: b\r\n" * 10_000] * 100], 400),
    "no HTTP": (lambda keys: [b"\x16\x03\x01\x00 hello\r\n\r\n"], 400),
}


@pytest.mark.parametrize("what", SENT)
def test_what_cannot_be_is_refused_and_the_next_request_answered(attacked, what):
    parts, expected = SENT[what]
    before = attacked.peak()
    with connected(attacked.url) as one:
        sending = threading.Thread(target=sent, args=(one, *parts(attacked.keys)))
        sending.start()
        received = b""
        with suppress(OSError):
            received = answers(one)
            one.shutdown(socket.SHUT_RDWR)
        sending.join()
    assert status(received) == expected
    attacked.converse()
    assert attacked.peak() - before < GROWTH


def test_a_body_that_does_not_come_is_not_waited_for(serving, monkeypatch):
    monkeypatch.setattr(read_body, "__defaults__", (0.2,))
    served = serving()
    served.create()
    with connected(served.url) as slow:
        slow.sendall(authorized(served.keys) + b"Content-Length: 20\r\n\r\n{")
        assert served.ask().status_code == 200, "others are answered meanwhile"
        received = answers(slow, 2)
    assert (status(received), error(received)) == (408, "TooSlowError")
    assert b"connection: close" in received.lower()
    assert served.read("/studies/ads")["decisions"] == 1


def test_more_connections_than_there_is_room_for_are_told_to_come_later(serving, monkeypatch):
    monkeypatch.setattr(run, "CONNECTIONS", 2)
    served = serving()
    with connected(served.url) as one:
        one.sendall(GET + b"\r\n")
        assert status(answers(one)) == 200, "it is connected"
        assert served.http.get("/livez").status_code == 503
    until(lambda: served.http.get("/livez").status_code == 200)


# ---------------------------------------------------------------------- many at once


def test_of_32_clients_at_once_every_one_is_answered(attacked):
    with ThreadPoolExecutor(32) as pool:
        ids = list(pool.map(lambda _: attacked.converse(), range(320)))
    assert len(set(ids)) == 320


def test_a_flood_of_requests_sent_ahead_without_a_key_takes_bounded_memory(attacked):
    """As long as a sound study is asked and told 100 times, one connection sends what it can, and reads nothing."""
    before, over = attacked.peak(), threading.Event()

    def flood():
        with suppress(OSError):
            while not over.is_set():
                one.sendall(LIST * 2000)

    with connected(attacked.url) as one, ExitStack() as ending:
        thread = threading.Thread(target=flood)
        thread.start()
        ending.callback(thread.join)
        ending.callback(one.shutdown, socket.SHUT_RDWR)
        ending.callback(over.set)
        for _ in range(100):
            attacked.converse()
    assert attacked.peak() - before < GROWTH


# ---------------------------------------------------------------------- requests that are sent ahead, or broken off


def test_who_goes_away_before_the_answer_has_decided_all_the_same(served):
    with connected(served.url) as one:
        one.sendall(authorized(served.keys) + b"Content-Length: 2\r\n\r\n{}")
    until(lambda: served.read("/studies/ads")["decisions"] == 1)
    assert served.ask().status_code == 200


WRONG = [([], b"1.1"), ([b"a", b"b"], b"1.1"), ([b"a", b"a"], b"1.0"), ([b"a b"], b"1.1"), ([b"a/b@c"], b"1.1")]
RIGHT = [([], b"1.0"), ([b""], b"1.1"), ([b"[::1]:8000"], b"1.1"), ([b"localhost"], b"1.1")]


def test_a_request_names_its_host_once(served):
    for hosts, version in [*WRONG, *RIGHT]:
        lines = [b"GET /livez HTTP/" + version, *[b"Host: " + host for host in hosts], b"Connection: close", b"", b""]
        with connected(served.url) as one:
            one.sendall(b"\r\n".join(lines))
            assert status(answers(one)) == (400 if (hosts, version) in WRONG else 200), hosts


@pytest.mark.parametrize(("size", "expected"), [(2**16, 200), (2**16 + 1, 400), (200_000, 400)])
def test_a_head_that_comes_at_once_is_bounded_too(served, size, expected):
    begun = b"GET /livez?a=b HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: "
    with connected(served.url) as one:
        one.sendall(begun + b"x" * (size - len(begun) - 4) + b"\r\n\r\n")
        assert status(answers(one)) == expected
