"""Receivers that do not answer as they should: each fails within the deadline and holds up nothing else."""

from __future__ import annotations

import signal
import socket
import threading
from contextlib import contextmanager, suppress

import httpx
import pytest

from evenhand.errors import ArgumentError
from evenhand.quotas import FairUCB
from evenhand.service.notifications import Notifier
from evenhand.service.scheduler import Scheduler
from evenhand.service.webhooks import post
from evenhand.studies import Store, Study
from evenhand.studies.monitoring import monitors
from tests.service.test_notifications import Log, webhook
from tests.service.test_run import started
from tests.waiting import until

__all__ = ["webhook"]

PATIENCE = 0.3


@contextmanager
def receiver(behave, accepting=True):
    """Listen on a port, and let `behave` have each connection on a thread of its own; yields the address."""
    over = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0), backlog=0 if not accepting else 16)

    def serve(connection):
        with connection, suppress(OSError):
            connection.settimeout(30)
            behave(connection, over)

    def accept():
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()

    if accepting:
        threading.Thread(target=accept, daemon=True).start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/hook"
    over.set()
    with suppress(OSError):
        listening.shutdown(socket.SHUT_RDWR)
    listening.close()


def repeated(first, drip, pause):
    """Return a receiver that sends something at once and something else again and again."""

    def behave(connection, over):
        connection.recv(2**16)
        connection.sendall(first)
        while not over.wait(pause):
            connection.sendall(drip)

    return behave


def silent(connection, over):
    over.wait(30)


def closing(connection, over):
    connection.recv(2**16)


HEAD = b"HTTP/1.1 200 OK\r\n"
STUCK = {
    "silent": silent,
    "drips its head": repeated(HEAD, b"X: y\r\n", 0.05),
    "drips one header": repeated(HEAD + b"X: ", b"y", 0.05),
    "drips its status": repeated(b"HTTP/1.1 200 ", b"O", 0.05),
    "goes on for ever with 100 Continue": repeated(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.01),
}
TAKING = {
    "an endless body": repeated(HEAD + b"Content-Type: text/plain\r\n\r\n", b"x" * 2**16, 0.0001),
    "a body that drips": repeated(HEAD + b"Content-Length: 1000000\r\n\r\n", b"x", 0.05),
    "a body that never comes": repeated(HEAD + b"Content-Length: 10\r\n\r\n", b"", 0.05),
    "an endless chunk": repeated(HEAD + b"Transfer-Encoding: chunked\r\n\r\nfffffff\r\n", b"x" * 2**16, 0.0001),
}


@pytest.mark.parametrize("behave", STUCK.values(), ids=STUCK)
def test_one_deadline_holds_for_the_whole_call(behave):
    with receiver(behave) as address, pytest.raises(TimeoutError):
        post(address, {}, patience=PATIENCE)


def test_a_receiver_that_never_accepts_has_the_same_deadline():
    """Its queue of connections is full, so that the next one is never made."""
    with receiver(silent, accepting=False) as address:
        port = int(address.split(":")[2].split("/")[0])
        waiting = [socket.socket() for _ in range(8)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        with pytest.raises(TimeoutError):
            post(address, {}, patience=PATIENCE)
        for one in waiting:
            one.close()


def test_a_name_that_is_looked_up_for_ever_has_the_same_deadline(monkeypatch):
    hanging, lookup = threading.Event(), socket.getaddrinfo

    def slow(host, *given, **named):
        if host in ("hanging.example", b"hanging.example"):
            hanging.wait(60)
        return lookup(host, *given, **named)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    with pytest.raises(TimeoutError):
        post("http://hanging.example/hook", {}, patience=PATIENCE)
    (stuck,) = [thread for thread in threading.enumerate() if thread.name == "evenhand lookup"]
    assert stuck.daemon, "the end of the process does not wait for it"
    hanging.set()
    stuck.join()


@pytest.mark.parametrize("behave", TAKING.values(), ids=TAKING)
def test_the_head_of_an_answer_is_enough(behave):
    with receiver(behave) as address:
        post(address, {}, patience=20)


@pytest.mark.parametrize(
    ("behave", "error"),
    [
        (closing, httpx.RemoteProtocolError),
        (repeated(b"SSH-2.0-OpenSSH\r\n\r\n", b"", 0.05), httpx.RemoteProtocolError),
        (repeated(HEAD + b"X: " + b"y" * 2**20, b"y" * 2**16, 0.001), httpx.RemoteProtocolError),
        (repeated(b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\n\r\n", b"", 0.05), httpx.HTTPStatusError),
        (repeated(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", b"", 0.05), httpx.HTTPStatusError),
    ],
    ids=["closes", "is no HTTP", "a huge head", "redirects", "fails"],
)
def test_what_is_no_acceptance_is_a_failure(behave, error):
    with receiver(behave) as address, pytest.raises(error):
        post(address, {}, patience=20)


def alerted(store, name, *addresses):
    """A study of which each address is to be told one alert."""
    study = Study.create(store, FairUCB([0.3, 0.3], seed=1), name=name)
    for address in addresses:
        monitors.add(study, "reward", threshold=0.5, window=2, webhook=address)
    for _ in range(2):
        study.tell(study.ask(), 0.1)
    study.statistics()
    return study


def test_one_receiver_that_drips_holds_up_neither_others_nor_the_monitors(webhook, monkeypatch):
    store, log, late = Store.at(":memory:", create=True), Log(), threading.Event()

    def patient(address, *given, **named):
        if address != webhook.url:
            late.wait(60)
        post(address, *given, **named)

    monkeypatch.setattr("evenhand.service.notifications.post", patient)
    with receiver(STUCK["drips its head"]) as stuck:
        studies = [alerted(store, "ads", stuck, stuck, webhook.url), alerted(store, "news", stuck, webhook.url)]
        alarms = Notifier(log, patience=1.0)
        for study in studies:
            alarms(study)
            assert alarms._posting[stuck].is_alive(), "measuring waits for nobody"
        alarms._posting[webhook.url].join()
        alarms(studies[1])
        alarms._posting[webhook.url].join()
        assert sorted(one["study"] for one in webhook.posted) == ["ads", "news"]
        late.set()
        alarms.wait()
        assert [fields["why"] for event, fields in log if event == "webhook failed"] == ["TimeoutError"]
        assert len([thread for thread in threading.enumerate() if thread.name == "evenhand webhook"]) == 0


def test_an_alert_goes_out_at_last_when_the_receiver_is_well_again(webhook):
    """However many alerts there were since: none is forgotten behind the hundred newest."""
    study = alerted(Store.at(":memory:", create=True), "ads", webhook.url)
    alarms, now = Notifier(None, clock=lambda: now[0]), [0.0]
    webhook.statuses = [500] * 10**6
    for reward in [1.0, 0.1] * 60:
        monitors.watch(study)
        for _ in range(2):
            study.tell(study.ask(), reward)
    monitors.watch(study)
    alarms(study)
    alarms.wait()
    tried = len(webhook.posted)
    webhook.statuses, now[0] = [], 10.0
    alarms(study)
    alarms.wait()
    numbers = [one["alert"] for one in webhook.posted[tried:]]
    assert numbers == sorted(numbers)
    assert len(numbers) == tried == 61
    assert monitors.undelivered(study) == []


def test_stopping_waits_for_no_receiver(monkeypatch):
    store, late = Store.at(":memory:", create=True), threading.Event()
    monkeypatch.setattr("evenhand.service.notifications.post", lambda *given, **named: late.wait(60))
    with receiver(STUCK["drips its head"]) as stuck:
        alerted(store, "ads", stuck)
        alarms = Notifier(None, patience=2.0)
        watch = Scheduler(store, [alarms], 0.01, None)
        watch.start()
        until(lambda: alarms._posting)
        watch.stop()
        assert alarms._posting[stuck].is_alive()
        late.set()
        alarms.wait()


def test_stopping_leaves_a_round_alone_that_does_not_end(monkeypatch):
    monkeypatch.setattr("evenhand.service.scheduler.LONGEST", 0.1)
    store, free = Store.at(":memory:", create=True), threading.Event()
    alerted(store, "ads")
    entered = threading.Event()
    watch = Scheduler(store, [lambda study: entered.set() or free.wait(60)], 0.01, None)
    watch.start()
    entered.wait(60)
    watch.stop()
    assert not free.is_set()
    assert any(thread.name == watch._thread.name and thread.is_alive() for thread in threading.enumerate())
    free.set()


def test_a_service_ends_while_a_receiver_drips(tmp_path):
    """A process of its own: posting begins at once, and SIGTERM ends it long before the receiver would."""
    posted = threading.Event()

    def behave(connection, over):
        posted.set()
        STUCK["drips its head"](connection, over)

    with receiver(behave) as stuck:
        store = Store.at(tmp_path / "ads.evenhand", create=True)
        alerted(store, "ads", stuck)
        store.close()
        with started(tmp_path) as (process, _, _):
            assert posted.wait(60)
            process.send_signal(signal.SIGTERM)
            assert process.wait() == 0


INSIDE = [
    "169.254.169.254",
    "169.254.0.1",
    "fe80::1",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "fd00:ec2::254",
    "100.100.100.200",
]


def written(machine):
    return f"http://[{machine}]/hook" if ":" in machine else f"http://{machine}:8080/hook"


@pytest.mark.parametrize(
    "address",
    [
        *map(written, INSIDE),
        "http://[fe80::1%25eth0]/hook",
        "http://example.org/\r\nX-Injected: 1",
        "http://example.org\r\n/hook",
        "http://example.org/\n",
        "http://example.org/\thook",
        "http://example.org/a b",
        "http://example.org/\x1b[2J",
        "http://b\u00fccher.example/",
        "ftp://example.org/",
        "http:///hook",
        "http://example.org:0/",
    ],
)
def test_an_address_that_cannot_be_posted_to_is_refused_at_the_door(address):
    study = Study.create(":memory:", FairUCB([0.3, 0.3], seed=1), name="ads")
    with pytest.raises(ArgumentError, match="webhook: wanted"):
        monitors.add(study, "reward", threshold=0.5, window=2, webhook=address)
    assert monitors.listed(study) == []


@pytest.mark.parametrize("machine", INSIDE)
def test_a_name_that_leads_inside_is_refused_when_it_is_looked_up(monkeypatch, machine):
    """It could have led elsewhere when the monitor was set; one bad address among good ones is enough."""
    family = socket.AF_INET6 if ":" in machine else socket.AF_INET
    found = [(family, socket.SOCK_STREAM, 6, "", (one, 80)) for one in ("127.0.0.1", machine)]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *given, **named: found)
    with pytest.raises(ArgumentError, match="webhook: wanted no link-local address"):
        post("http://rebound.example/hook", {}, patience=20)


@pytest.mark.parametrize("address", [*map(written, INSIDE), "http://0xa9fea9fe/", "http://2852039166/"])
def test_an_address_that_an_older_version_stored_is_not_posted_to(address):
    with pytest.raises(ArgumentError, match="webhook: wanted no link-local address"):
        post(address, {}, patience=20)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_receivers_on_the_same_machine_are_posted_to(webhook, host):
    post(webhook.url.replace("127.0.0.1", host), {"alert": 1}, patience=20)
    assert webhook.posted == [{"alert": 1}]
