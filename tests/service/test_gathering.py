"""Connections that send half a request, and too many of them."""

from __future__ import annotations

import socket

from evenhand.service.gathering import Gathering

ASK = b"POST /studies/ads/ask HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"


def connected(served):
    host, port = served.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=60)


def test_who_sends_half_a_head_is_not_waited_for(serving, monkeypatch):
    monkeypatch.setattr(Gathering, "head", 0.2)
    served = serving()
    for sent in (b"", ASK):
        with connected(served) as half:
            half.sendall(sent)
            assert half.recv(100) == b"", "closed without an answer"
    assert served.http.get("/healthz").status_code == 200


def test_who_sends_half_a_body_is_not_waited_for(served, monkeypatch):
    monkeypatch.setattr(Gathering, "body", 0.2)
    key = served.keys["decide"].encode()
    with connected(served) as half:
        half.sendall(ASK + b"Authorization: Bearer " + key + b"\r\nContent-Length: 20\r\n\r\n{")
        assert half.recv(100) == b"", "closed without an answer"
    assert served.read("/studies/ads")["decisions"] == 0


def test_a_body_has_its_own_time_and_a_complete_request_any(served, monkeypatch):
    monkeypatch.setattr(Gathering, "head", 0.05)
    key = served.keys["decide"].encode()
    with connected(served) as slow:
        for _ in range(2):
            slow.sendall(ASK + b"Authorization: Bearer " + key + b"\r\nContent-Length: 2\r\n\r\n")
            served.http.get("/healthz")
            with connected(served) as half:
                assert half.recv(100) == b"", "by now a head would be late"
            slow.sendall(b"{}")
            assert slow.recv(1000).startswith(b"HTTP/1.1 200")


def test_more_connections_than_there_is_room_for_are_told_to_come_later(served, monkeypatch):
    with connected(served) as other:
        other.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        assert other.recv(1000).startswith(b"HTTP/1.1 200"), "it is connected"
        monkeypatch.setattr(Gathering, "most", 1)
        answer = served.http.get("/healthz")
    assert (answer.status_code, answer.json()["error"]["name"]) == (503, "BusyError")
    assert answer.headers["Retry-After"] == "1"
