"""The short way of requests for one operation: the same answers, metrics and log lines as from the application."""

import re
import socket
import time
from contextlib import suppress

import pytest

from evenhand.service.direct import Direct
from evenhand.service.routing import Endpoint

TICKET = re.compile(r"ads\.\d+\.[0-9a-f]{16}")


def said(served, role, path, **given):
    """Return what an answer says, without what no two answers share."""
    answer = served.send(role, "POST", path, **given)
    headers = {name: value for name, value in answer.headers.items() if name not in ("date", "x-request-id")}
    return answer.status_code, list(headers.items()), TICKET.sub("TICKET", answer.text)


def conversation(served):
    """Return all answers to requests good and bad."""
    served.create()
    served.app.state.admission.guard._age = float("inf")
    ticket = served.ask().json()["ticket"]
    other = served.ask(headers={"Idempotency-Key": "a"}).json()["ticket"]
    ask, tell, forget = (f"/studies/ads/{verb}" for verb in ("ask", "tell", "forget"))
    requests = [
        ("decide", ask, {}),
        ("decide", ask, {"json": {"segment": "mobile"}}),
        ("decide", ask, {"json": {"contexts": [[1.0]]}}),
        ("decide", ask, {"headers": {"Idempotency-Key": "a"}}),
        ("decide", ask, {"headers": {"Idempotency-Key": "a b"}}),
        ("decide", ask, {"json": {"nonsense": 1}}),
        ("decide", ask, {"json": [1]}),
        ("decide", ask, {"content": b"{"}),
        ("decide", ask, {"content": b"{", "headers": {"Content-Type": "application/json"}}),
        ("decide", ask, {"json": {"count": 2}}),
        ("decide", ask, {"json": {"count": 0}}),
        ("decide", ask, {"content": rb'{"b\u0061tch": [{}, {}]}', "headers": {"Content-Type": "application/json"}}),
        ("decide", ask, {"headers": {"Authorization": "Bearer eh_decide_no_such_key"}}),
        ("decide", ask, {"headers": {"Authorization": "Basic x"}}),
        ("read", ask, {}),
        ("report", tell, {"json": {"ticket": ticket, "reward": 1.0}}),
        ("report", tell, {"json": {"ticket": ticket, "reward": 1.0}}),
        ("report", tell, {"json": {"ticket": ticket, "reward": 0.5}}),
        ("report", tell, {"json": {"ticket": "ads.1.0000000000000000", "reward": 0.5}}),
        ("report", tell, {"json": {"ticket": 1, "reward": 0.5}}),
        ("report", tell, {"json": {"ticket": other, "reward": "much"}}),
        ("report", tell, {"json": {"ticket": other, "reward": {"a": 1.0}}}),
        ("report", tell, {"json": {"ticket": other, "samples": {"a": [1]}}}),
        ("report", forget, {"json": {"ticket": other}}),
        ("report", forget, {"json": {"ticket": other}}),
        ("report", "/studies/none/tell", {"json": {"ticket": other}}),
        ("report", tell + "?a=1", {"json": {"ticket": other}}),
    ]
    return [said(served, role, path, **given) for role, path, given in requests]


def test_answers_metrics_and_log_are_those_of_the_application(serving, monkeypatch):
    direct, whole, called = serving(), serving(), []
    run = Endpoint.__call__
    monkeypatch.setattr(Endpoint, "__call__", lambda self, *given: called.append(self.template) or run(self, *given))
    found = conversation(direct)
    through = [template for template in called if template.startswith("/studies/{name}/")]
    assert len(through) == 6, "two counts, a batch, a table, a study that is not open, and a query"
    with monkeypatch.context() as patched:
        patched.setattr(Direct, "begin", lambda *_: False)
        assert conversation(whole) == found
    counted, logged = zip(*(traces(served) for served in (direct, whole)), strict=True)
    assert counted[0] == counted[1]
    assert logged[0] == logged[1]


def traces(served):
    """Return the counters of a service, and its log without what no two logs share."""
    text = served.send("read", "GET", "/metrics").text
    counters = [line for line in text.splitlines() if "_seconds" not in line and "_created" not in line]
    lines = [
        {name: line.get(name) for name in ("event", "method", "route", "status", "study")} for line in served.lines()
    ]
    return counters, lines


def connected(served):
    host, port = served.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=60)


def request(served, *headers):
    lines = ["POST /studies/ads/ask HTTP/1.1", "Host: a", f"Authorization: Bearer {served.keys['decide']}", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


def answers(connection, count):
    """Return so many answers, the first first."""
    received = b""
    while received.count(b'"ticket"') < count:
        part = connection.recv(2**16)
        assert part, received
        received += part
    return received


@pytest.fixture
def opened(serving):
    served = serving()
    served.create()
    served.ask()
    return served


def test_requests_sent_together_are_answered_in_their_order(opened):
    ids = [f"n{i}" for i in range(5)]
    with connected(opened) as connection:
        connection.sendall(b"".join(request(opened, f"X-Request-Id: {id}") for id in ids))
        received = answers(connection, 5)
    assert re.findall(rb"x-request-id: (\w+)", received) == [id.encode() for id in ids]
    assert opened.read("/studies/ads")["decisions"] == 6


@pytest.mark.parametrize("header", ["Connection: close", "Content-Length: 2"])
def test_a_connection_is_closed_where_the_client_wishes_it_alone(opened, header):
    body = b"{}" if header.startswith("Content-Length") else b""
    with connected(opened) as connection:
        connection.sendall(request(opened, header, "Content-Type: application/json") + body)
        received = answers(connection, 1)
        assert (b"connection: close" in received) is (header == "Connection: close")
        if header == "Connection: close":
            assert connection.recv(100) == b""
        else:
            connection.sendall(request(opened))
            answers(connection, 1)


def test_a_body_that_comes_after_its_head_is_waited_for(opened):
    with connected(opened) as connection:
        connection.sendall(request(opened, "Content-Type: application/json", "Content-Length: 2"))
        time.sleep(0.1)
        connection.sendall(b"{}")
        assert answers(connection, 1).startswith(b"HTTP/1.1 200")


def test_who_goes_away_before_the_answer_has_decided_all_the_same(opened):
    with connected(opened) as connection:
        connection.sendall(request(opened))
    start = time.monotonic()
    while opened.read("/studies/ads")["decisions"] < 2 and time.monotonic() - start < 20:
        time.sleep(0.02)
    assert opened.read("/studies/ads")["decisions"] == 2
    assert opened.ask().status_code == 200


def test_a_connection_is_kept_from_its_last_use_on(opened):
    opened.server.config.timeout_keep_alive = 0.4
    with connected(opened) as connection:
        for pause in (0.0, 0.3, 0.3):
            time.sleep(pause)
            with suppress(OSError):
                connection.sendall(request(opened))
            used = time.monotonic()
            answers(connection, 1)
        assert connection.recv(100) == b""
        assert time.monotonic() - used >= 0.4
