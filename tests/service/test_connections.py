"""Connections that send too much, too slowly, half a request, or are too many; connections that do not read."""

from __future__ import annotations

import json
import re
import socket
import threading
from contextlib import ExitStack, suppress

import pytest
from evenhand.service.limits.connections import PART, Connection, Flow, _network
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from evenhand.service.bodies import LIMITS
from tests.waiting import until

ASK = b"POST /studies/ads/ask HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
GET = b"GET /livez HTTP/1.1\r\nHost: a\r\n"


def connected(served, source="127.0.0.1"):
    host, port = served.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=60, source_address=(source, 0))


def answer(connection):
    """Return the status and the error of an answer after which the connection is closed; None where there is none."""
    received = b""
    while part := connection.recv(2**16):
        received += part
    if not received:
        return None
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"connection: close" in head.lower()
    return int(head.split()[1]), json.loads(body)["error"]


def sent(connection, *parts):
    """Send until the server has had enough."""
    with suppress(OSError):
        for part in parts:
            connection.sendall(part)


def authorized(served):
    return ASK + b"Authorization: Bearer " + served.keys["decide"].encode() + b"\r\n"


# ---------------------------------------------------------------------- too slow


def test_who_sends_nothing_is_not_waited_for(serving):
    served = serving(limits=LIMITS._replace(head_seconds=0.2))
    with connected(served) as silent:
        assert answer(silent) is None


@pytest.mark.parametrize("part", [b"G", GET, ASK + b"X: a"])
def test_who_sends_half_a_head_is_not_waited_for(serving, part):
    served = serving(limits=LIMITS._replace(head_seconds=0.2))
    with connected(served) as half:
        half.sendall(part)
        status, error = answer(half)
    assert (status, error["name"]) == (408, "TooSlowError")
    assert error["message"] == "the head of the request did not arrive within 0.2 seconds"
    assert served.http.get("/livez").status_code == 200


@pytest.mark.parametrize("drip", [b"X: a\r\n", b"\r\n"], ids=["headers", "empty lines"])
def test_a_head_that_drips_has_the_same_time(serving, drip):
    """A byte now and then renews nothing: not on a new connection, and not on one that was served before."""
    served = serving(limits=LIMITS._replace(head_seconds=0.3))
    for first in (b"", GET + b"\r\n"):
        with connected(served) as slow:
            slow.sendall(first)
            if first:
                assert slow.recv(1000).startswith(b"HTTP/1.1 200")
            if drip != b"\r\n":
                slow.sendall(GET)
            with suppress(OSError):
                until(lambda slow=slow: slow.sendall(drip), 0.05)


def test_who_sends_half_a_body_is_not_waited_for(serving):
    served = serving(limits=LIMITS._replace(body_seconds=0.2))
    served.create()
    with connected(served) as half:
        half.sendall(authorized(served) + b"Content-Length: 20\r\n\r\n{")
        status, error = answer(half)
    assert (status, error["message"]) == (408, "the body of the request did not arrive within 0.2 seconds")
    assert served.read("/studies/ads")["decisions"] == 0


def test_a_body_that_nobody_wants_any_more_is_not_waited_for(serving):
    served = serving(limits=LIMITS._replace(body_seconds=0.2))
    with connected(served) as half:
        half.sendall(ASK + b"Content-Length: 20\r\n\r\n")
        received = b""
        while part := half.recv(1000):
            received += part
    assert received.startswith(b"HTTP/1.1 401")
    assert received.count(b"HTTP/1.1") == 1


def test_a_body_has_its_own_time_and_a_complete_request_any(serving):
    served = serving(limits=LIMITS._replace(head_seconds=0.3))
    served.create()
    with connected(served) as slow:
        for _ in range(2):
            slow.sendall(authorized(served) + b"Content-Length: 2\r\n\r\n")
            with connected(served) as half:
                assert answer(half) is None, "by now a head would be late"
            slow.sendall(b"{}")
            assert slow.recv(1000).startswith(b"HTTP/1.1 200")


def test_who_waits_for_an_answer_may_wait_longer_than_a_head_may_take(serving, monkeypatch):
    served = serving(limits=LIMITS._replace(head_seconds=0.2))
    served.create()
    session = served.app.state.sessions.open("ads")
    found = session.audit()
    late = threading.Event()
    monkeypatch.setattr(session, "audit", lambda: late.wait(60) and found)
    key = served.keys["read"].encode()
    with connected(served) as waiting:
        waiting.sendall(b"GET /studies/ads/audit HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + key + b"\r\n\r\n\r\n")
        for _ in range(2):
            with connected(served) as half:
                assert answer(half) is None, "by now a head would be late"
        late.set()
        assert waiting.recv(1000).startswith(b"HTTP/1.1 200")


def test_who_does_not_read_its_answers_is_cut_off(serving):
    served = serving(limits=LIMITS._replace(answer_seconds=0.2))
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.settimeout(60)
        host, port = served.url.removeprefix("http://").split(":")
        deaf.connect((host, int(port)))
        page = b"GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n"
        with pytest.raises(ConnectionError):
            until(lambda: deaf.sendall(page * 20), 0.01)
    until(lambda: not served.server.server_state.tasks)
    assert not served.server.server_state.connections


# ---------------------------------------------------------------------- too much


def test_a_header_of_61_mebibytes_is_refused_long_before_it_has_come(served):
    with connected(served) as large:
        large.sendall(GET + b"X: ")
        taken = 0
        with suppress(OSError):
            for _ in range(61):
                large.sendall(b"x" * 2**20)
                taken += 1
        assert taken < 20, "the sockets' own buffers hold the rest"
        status, error = answer(large)
    assert (status, error["name"]) == (431, "TooLargeError")
    assert error["message"] == "the head of the request is larger than 100 headers and 65536 bytes"


def test_a_million_headers_are_refused(served):
    with connected(served) as many:
        sent(many, GET, *[b"a: b\r\n" * 10_000] * 100, b"\r\n")
        assert answer(many)[0] == 431


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (b"a: b\r\n" * 99, 200),
        (b"a: b\r\n" * 100, 431),
        (b"a: " + b"b" * 65_000 + b"\r\n", 200),
        (b"a: " + b"b" * 66_000 + b"\r\n", 431),
        (b"a" * 66_000 + b": b\r\n", 431),
    ],
    ids=["100 headers", "101 headers", "64 KB", "66 KB", "a name of 66 KB"],
)
def test_the_limits_of_a_head_hold_where_it_comes_in_one_piece_too(served, headers, status):
    with connected(served) as one:
        one.sendall(GET + headers + b"\r\n")
        assert one.recv(1000).startswith(b"HTTP/1.1 %d" % status)


def test_an_address_is_part_of_the_head(served):
    with connected(served) as long:
        long.sendall(b"GET /" + b"x" * 66_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n")
        assert answer(long)[0] == 431


@pytest.mark.parametrize(
    "endless",
    [b"1;" + b"x" * 2**16, b"0\r\nX: " + b"x" * 2**16, b"0\r\n" + b"a: b\r\n" * 10_000],
    ids=["a chunk's extension", "a trailer", "trailers"],
)
def test_what_stands_around_a_body_is_limited_as_well(served, endless):
    """A body in chunks may carry extensions and trailers, which are of no use to anybody."""
    with connected(served) as chunked:
        chunked.sendall(authorized(served) + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{ \r\n")
        sent(chunked, endless, *[endless[-30_000:]] * 2000)
        assert answer(chunked)[0] == 431
    assert served.read("/studies/ads")["decisions"] == 0


def test_a_large_body_is_no_large_head(served):
    body = b'{"batch": [' + b",".join([b"{}"] * 10) + b" " * 2**20 + b"]}"
    with connected(served) as large:
        large.sendall(authorized(served) + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert large.recv(1000).startswith(b"HTTP/1.1 200")
    assert served.read("/studies/ads")["decisions"] == 10


def test_what_is_no_http_is_refused_in_the_form_of_every_refusal(served):
    with connected(served) as other:
        other.sendall(b"\x16\x03\x01\x00 hello\r\n\r\n")
        status, error = answer(other)
    assert (status, error["name"]) == (400, "BadRequestError")
    assert error["message"] == "the request cannot be read as HTTP/1.1"


# ---------------------------------------------------------------------- too many


def test_a_thousand_half_requests_from_one_address_leave_room_for_others(served):
    with ExitStack() as held:
        for _ in range(1010):
            half = held.enter_context(connected(served))
            sent(half, GET)
        with connected(served) as own:
            status, error = answer(own)
        assert (status, error["name"]) == (503, "BusyError")
        assert error["message"] == "100 connections are open from this address; nothing was done"
        with connected(served, "127.0.0.2") as other:
            other.sendall(GET + b"\r\n")
            assert other.recv(1000).startswith(b"HTTP/1.1 200")
        assert len(served.server.server_state.connections) <= 101
    assert served.http.get("/livez").status_code == 200, "there is room again"


def test_more_connections_than_there_is_room_for_are_told_to_come_later(serving):
    served = serving(limits=LIMITS._replace(connections=1))
    with connected(served) as one:
        one.sendall(GET + b"\r\n")
        assert one.recv(1000).startswith(b"HTTP/1.1 200"), "it is connected"
        refused = served.http.get("/livez")
    assert (refused.status_code, refused.json()["error"]["name"]) == (503, "BusyError")
    assert refused.headers["Retry-After"] == "1"
    until(lambda: served.http.get("/livez").status_code == 200)
    found = served.send("read", "GET", "/metrics").text
    assert 'evenhand_refusals_total{name="BusyError"}' in found


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:1", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("", ""),
    ],
)
def test_an_address_of_ipv6_stands_for_its_network(address, counted):
    assert _network(address) == counted


# ---------------------------------------------------------------------- requests that are sent ahead


def answers(connection, count, mark=b'"ticket"'):
    """Return what is received until so many answers have come."""
    received = b""
    while received.count(mark) < count:
        part = connection.recv(2**16)
        assert part, received[-1000:]
        received += part
    return received


def asking(served, *headers, body=b""):
    lines = [*headers, b"Content-Length: %d" % len(body)]
    return authorized(served) + b"\r\n".join([*lines, b"", body])


def test_requests_sent_ahead_are_answered_in_their_order(served):
    ids = [b"n%d" % i for i in range(200)]
    with connected(served) as one:
        one.sendall(b"".join(asking(served, b"X-Request-Id: " + id, body=b"{}") for id in ids))
        received = answers(one, len(ids))
    assert re.findall(rb"x-request-id: (\w+)", received) == ids
    assert served.read("/studies/ads")["decisions"] == len(ids)


@pytest.mark.parametrize("body", [None, b"{}", b" " * 3000 + b"{}"], ids=["without a body", "small", "3 KB"])
def test_what_one_connection_sends_ahead_takes_bounded_memory(served, monkeypatch, body):
    """Without a bound, all 32,768 requests of the first case waited parsed, a few kilobytes each."""
    waiting, unparsed = [], []
    begin, receive = Connection.on_headers_complete, Connection.data_received
    monkeypatch.setattr(
        Connection, "on_headers_complete", lambda self: (begin(self), waiting.append(len(self.pipeline)))[0]
    )
    monkeypatch.setattr(
        Connection, "data_received", lambda self, data: (receive(self, data), unparsed.append(len(self._unparsed)))[0]
    )
    request = GET + b"\r\n" if body is None else asking(served, body=body)
    count = 2**20 // len(request) if body is None else 300
    with connected(served) as one:
        sending = threading.Thread(target=one.sendall, args=(request * count,))
        sending.start()
        received = answers(one, count, b"HTTP/1.1 200 OK")
        sending.join()
    assert received.count(b"HTTP/1.1 200 OK") == len(waiting) == count
    assert max(waiting) <= PART // len(request) + 1
    assert max(unparsed) <= 2**18, "what one read of the network brings"


def test_a_body_sent_ahead_has_its_time_once_it_is_read(serving, monkeypatch):
    """The second body has arrived, but is parsed only after the first response, which takes longer than a body may."""
    served = serving(limits=LIMITS._replace(body_seconds=0.2))
    served.create()
    session = served.app.state.sessions.open("ads")
    found = session.audit()
    late = threading.Event()
    monkeypatch.setattr(session, "audit", lambda: late.wait(60) and found)
    key = served.keys["read"].encode()
    slow = b"GET /studies/ads/audit HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + key + b"\r\n\r\n"
    with connected(served) as one, connected(served) as half:
        one.sendall(slow + asking(served, body=b" " * 3000 + b"{}"))
        half.sendall(authorized(served) + b"Content-Length: 20\r\n\r\n{")
        assert answer(half)[0] == 408, "by now a body would be late"
        late.set()
        assert answers(one, 1).count(b"HTTP/1.1 200") == 2


@pytest.mark.parametrize("header", [b"Connection: close", b"X: a"])
def test_a_connection_is_closed_where_the_client_wishes_it_alone(served, header):
    with connected(served) as one:
        one.sendall(asking(served, header, body=b"{}"))
        received = answers(one, 1)
        assert (b"connection: close" in received) is (header == b"Connection: close")
        if header == b"Connection: close":
            assert one.recv(100) == b""
        else:
            one.sendall(asking(served))
            answers(one, 1)


def of_server(served, connection):
    """Return the server's end of a connection."""
    name = connection.getsockname()
    return until(lambda: [one for one in list(served.server.server_state.connections) if one.client == name])[0]


def test_a_body_that_comes_after_its_head_is_waited_for(served):
    with connected(served) as one:
        one.sendall(authorized(served) + b"Content-Length: 2\r\n\r\n")
        until(lambda: of_server(served, one).cycle is not None)
        one.sendall(b"{}")
        assert answers(one, 1).startswith(b"HTTP/1.1 200")


def test_who_goes_away_before_the_answer_has_decided_all_the_same(served):
    with connected(served) as one:
        one.sendall(asking(served))
    until(lambda: served.read("/studies/ads")["decisions"] == 1)
    assert served.ask().status_code == 200


def test_a_connection_is_kept_from_its_last_use_on(served):
    timers = []

    def begun(connection):
        timer = connection.timeout_keep_alive_task
        return timer is not None and timer not in timers

    with connected(served) as one:
        for _ in range(3):
            one.sendall(asking(served))
            answers(one, 1)
            connection = of_server(served, one)
            until(lambda connection=connection: begun(connection))
            timers.append(connection.timeout_keep_alive_task)
        assert [timer.cancelled() for timer in timers] == [True, True, False]
        connection.timeout_keep_alive = 0.05
        one.sendall(asking(served))
        answers(one, 1)
        assert one.recv(100) == b"", "it is closed when its time is over"


@pytest.mark.parametrize(("own", "base"), [(Connection, HttpToolsProtocol), (Flow, FlowControl)])
def test_nothing_private_of_uvicorn_is_used(own, base):
    """What begins with an underscore may change with any release of uvicorn, as `_start_asgi_task` came with 0.45."""
    private = {name for name in dir(base) if name.startswith("_") and not name.startswith("__")}
    used = {name for code in vars(own).values() if hasattr(code, "__code__") for name in code.__code__.co_names}
    assert not private & (used | set(vars(own)))


# ---------------------------------------------------------------------- Host


@pytest.mark.parametrize(
    ("hosts", "version", "status", "message"),
    [
        ([], b"1.1", 400, "wanted the header Host once, got none"),
        ([b"a", b"b"], b"1.1", 400, "wanted the header Host once, got it 2 times"),
        ([b"a", b"a"], b"1.0", 400, "wanted the header Host once, got it 2 times"),
        ([b"a b"], b"1.1", 400, "wanted a host in the header Host, got 'a b'"),
        ([b"a/b@c"], b"1.1", 400, "wanted a host in the header Host, got 'a/b@c'"),
        ([], b"1.0", 200, None),
        ([b""], b"1.1", 200, None),
        ([b"[::1]:8000"], b"1.1", 200, None),
        ([b"localhost"], b"1.1", 200, None),
    ],
)
def test_a_request_names_its_host_once(served, hosts, version, status, message):
    lines = [b"GET /livez HTTP/" + version, *[b"Host: " + host for host in hosts], b"Connection: close", b"", b""]
    with connected(served) as one:
        one.sendall(b"\r\n".join(lines))
        received = b""
        while part := one.recv(2**16):
            received += part
    head, _, body = received.partition(b"\r\n\r\n")
    assert int(head.split()[1]) == status
    if message is not None:
        assert json.loads(body)["error"] == {"name": "BadRequestError", "message": message}
