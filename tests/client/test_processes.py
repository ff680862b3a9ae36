"""Clients in forked processes, under several event loops, pickled, and beside a proxy."""

from __future__ import annotations

import asyncio
import copy
import gc
import logging
import pickle
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from openfeature.evaluation_context import EvaluationContext
from openfeature.track import TrackingEventDetails

from evenhand.client import AsyncClient, Client
from evenhand.client.openfeature import EvenhandProvider
from evenhand.errors import ArgumentError, EvenhandError, ServiceError
from evenhand.processes import renew_in_child
from tests.forks import forked
from tests.waiting import until

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def asker(client):
    """What asks of the study "ads" under a key, whichever client it is."""
    if isinstance(client, Client):
        return lambda key: client.study("ads").ask(key=key)
    return lambda key: asyncio.run(client.study("ads").ask(key=key))


BOTH = pytest.mark.parametrize("kind", [Client, AsyncClient])


@pytest.fixture
def ignored():
    """A loop that has ended leaves its connections to the collector, which says so."""
    yield
    gc.collect()


UNCLOSED = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


@UNCLOSED
@BOTH
def test_forked_processes_and_their_parent_get_the_decisions_of_their_own_keys(served, kind, ignored):
    client = kind(served.url, key=served.key)
    ask = asker(client)
    first = ask("before").id
    works = [lambda key=key: [ask(f"{key}-{i}").id for i in range(5)] for key in range(4)]
    answers = forked(*works)
    with Client(served.url, key=served.key) as other:
        wanted = [[other.study("ads").ask(key=f"{key}-{i}").id for i in range(5)] for key in range(4)]
    assert answers == wanted
    assert ask("before").id == first
    assert ask("after").id == 22


def test_a_client_that_a_child_closes_stays_open_in_its_parent(served):
    with Client(served.url, key=served.key) as client:
        study = client.study("ads")
        study.ask()
        assert forked(lambda: [study.ask().id, client.close()]) == [[2, None]]
        assert [study.ask().id for _ in range(3)] == [3, 4, 5]


class Slow(BaseHTTPRequestHandler):
    """A service whose decision has the key as its ticket; it answers the key "slow" when it may."""

    protocol_version = "HTTP/1.1"
    arrived, may = threading.Event(), threading.Event()

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        key = self.headers["Idempotency-Key"]
        if key == "slow":
            self.arrived.set()
            self.may.wait()
        body = b'{"ticket": "%s", "id": 1}' % key.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *given):
        pass


@UNCLOSED
@BOTH
def test_a_process_that_is_forked_while_its_parent_waits_for_a_decision_gets_its_own(kind, ignored):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ask, told = asker(kind(f"http://127.0.0.1:{server.server_port}", key="k")), []
    asking = threading.Thread(target=lambda: told.append(ask("slow").ticket))
    asking.start()
    until(Slow.arrived.is_set)
    assert forked(lambda: ask("one").ticket, lambda: ask("two").ticket) == ["one", "two"]
    Slow.may.set()
    asking.join()
    assert (told, ask("three").ticket) == (["slow"], "three")
    server.shutdown()
    server.server_close()


def test_children_do_not_come_back_together(served):
    with Client(served.url, key=served.key) as client, Client(served.url, key=served.key, seed=1) as seeded:
        pauses = forked(*[lambda: client._connection._backoff(5)] * 2, *[lambda: seeded._connection._backoff(5)] * 2)
    assert pauses[0] != pauses[1]
    assert pauses[2] == pauses[3]


def test_a_transport_of_ones_own_stays_with_its_process():
    decided = httpx.MockTransport(lambda request: httpx.Response(200, json={"ticket": "ads.1.00", "id": 1}))
    with Client("http://x", key="k", transport=decided) as client:
        ask = asker(client)
        assert forked(lambda: ask("a").id)[0].startswith("ServiceError: a forked process cannot use")
        assert ask("a").id == 1


@UNCLOSED
def test_one_client_under_several_event_loops(served, ignored):
    async def two(client):
        return [one.id for one in await asyncio.gather(*(client.study("ads").ask() for _ in range(2)))]

    client = AsyncClient(served.url, key=served.key)
    assert sorted(asyncio.run(two(client))) == [1, 2]
    assert sorted(asyncio.run(two(client))) == [3, 4]
    assert len(client._connection._clients) == 1
    threads = [threading.Thread(target=lambda: asyncio.run(two(client))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    async def end():
        async with client:
            await asyncio.to_thread(asyncio.run, client.close())
            first = (await client.study("ads").ask()).id
        await asyncio.to_thread(asyncio.run, two(client))
        with pytest.raises(ServiceError, match="closed"):
            await client.study("ads").ask()
        return first

    assert asyncio.run(end()) == 9
    assert sorted(asyncio.run(two(client))) == [12, 13]


# Events


def told(served):
    return served.read("/studies/ads")["told"]


@pytest.fixture
def warned(monkeypatch):
    """What is logged, in a child too, where nothing captures it."""
    words = []
    log = logging.getLogger("evenhand.client.openfeature")
    monkeypatch.setattr(log, "handle", lambda record: words.append(record.getMessage()))
    return words


def decide(provider, visitor):
    return provider.resolve_string_details("ads", "none", EvaluationContext(visitor))


def buy(provider, visitor, value=1.0):
    provider.track("buy", EvaluationContext(visitor), TrackingEventDetails(value))
    provider.shutdown()


@pytest.fixture
def provider(served):
    """Return a provider whose event "buy" rewards the study "ads"."""
    with Client(served.url, key=served.key) as client:
        yield lambda **settings: EvenhandProvider(client, events={"buy": "ads"}, **settings)


@pytest.mark.parametrize("sticky", [True, False])
def test_the_events_of_a_child_are_sent_and_those_of_its_parent_once(served, provider, warned, sticky):
    one = provider(sticky=sticky)
    for visitor in ("ann", "bob"):
        decide(one, visitor)

    def work():
        decide(one, "eve")
        for visitor in ("ann", "eve"):
            buy(one, visitor)
        return warned

    assert forked(work) == [[]]
    assert told(served) == 2
    buy(one, "bob")
    assert (told(served), warned) == (3, [])


def test_an_event_rewards_the_decision_of_its_key_wherever_it_was_taken_and_another_is_warned_of(
    served, provider, warned
):
    sticky, plain = provider(sticky=True, remember=1), provider()
    forked(lambda: decide(sticky, "eve").value, lambda: decide(plain, "carl").value)
    for visitor in ("ann", "bob"):
        decide(sticky, visitor)
    for visitor in ("ann", "bob", "eve"):
        buy(sticky, visitor)
    assert (told(served), warned) == (3, [])
    for one, visitor in ((sticky, "nobody"), (sticky, None), (plain, "carl")):
        buy(one, visitor)
    assert told(served) == 3
    assert served.read("/studies/ads")["decisions"] == 4
    whose = [words.partition(" was not told: ")[0].removeprefix("the event 'buy' of ") for words in warned]
    assert whose == ["'nobody'", "None", "'carl'"]


def test_a_provider_that_was_forked_in_the_middle_of_an_evaluation(served, provider):
    one = provider()
    with one._lock:
        assert forked(lambda: decide(one, "ann").reason)[0] == "SPLIT"


# Copies


@pytest.mark.parametrize("copied", [pickle.dumps, copy.deepcopy])
@BOTH
def test_a_client_is_not_pickled(kind, copied):
    one = kind("http://127.0.0.1:9", key="eh_both_1_secret")
    for thing in (one, one.study("ads"), *([EvenhandProvider(one)] if kind is Client else [])):
        with pytest.raises(EvenhandError, match=r"cannot be pickled or copied.*make one in each process") as refused:
            copied(thing)
        assert "secret" not in str(refused.value)


# Addresses and proxies


@pytest.mark.parametrize("url", ["http://x/\n", " http://x", "\thttp://x\r\n"])
def test_an_address_is_stripped_as_a_key_is(url, monkeypatch):
    monkeypatch.setenv("EVENHAND_URL", url)
    assert [Client(given, key="k\n")._connection.url for given in (url, None)] == ["http://x"] * 2


SPACED = ["http://a b", "http://a\nb", "http://a\0", "http:// a", "https://a/b c", " "]
NONE = ["http://a:b", "http://a:99999", "http://[::1", "http://:80", "http://", "http://a/#key=k", "http://a/?a=b", 7]


@pytest.mark.parametrize("url", [*SPACED, *NONE])
def test_an_address_that_is_none_is_refused_by_name(url):
    with pytest.raises(ArgumentError, match=r"^url: expected the address of a service"):
        Client(url, key="k")


SOCKS = "socks5://127.0.0.1:9"


@pytest.fixture
def proxied(monkeypatch):
    """Set the only variables of the environment about proxies."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return lambda **variables: [monkeypatch.setenv(name, value) for name, value in variables.items()]


@UNCLOSED
@pytest.mark.parametrize("proxy", [SOCKS, "http://127.0.0.1:9", "foo://x"])
@BOTH
def test_a_service_on_this_machine_is_reached_without_a_proxy(served, proxied, proxy, kind, ignored):
    proxied(ALL_PROXY=proxy, HTTP_PROXY=proxy)
    assert asker(kind(served.url, key=served.key))("a").id == 1


@pytest.mark.parametrize("host", ["localhost", "shop.localhost", "127.8.8.8", "0.0.0.0", "[::1]"])
def test_what_this_machine_is_called(proxied, host):
    proxied(ALL_PROXY=SOCKS)
    Client(f"http://{host}:8000", key="k").close()


@pytest.mark.parametrize("url", [["http://localhost:8", "https://localhost:9"], "HTTPS://127.0.0.1:9"])
def test_the_certificate_of_a_service_is_checked(url):
    with Client(url, key="k") as client:
        assert client._connection.http()._transport._pool._ssl_context.verify_mode == ssl.CERT_REQUIRED


@pytest.mark.parametrize("variables", [{"ALL_PROXY": SOCKS}, {"https_proxy": "foo://me:secret@x"}], ids=str)
@BOTH
def test_a_proxy_that_cannot_be_used_is_refused_by_the_name_of_its_variable(proxied, variables, kind):
    proxied(**variables)
    (name,) = variables
    with pytest.raises(ArgumentError, match=rf"^{name}: the proxy cannot be used.*NO_PROXY") as refused:
        kind("http://evenhand.test", key="k")
    assert "secret" not in str(refused.value)
    proxied(NO_PROXY="example.org, evenhand.test")
    kind("http://evenhand.test", key="k")


def test_a_proxy_that_does_not_answer_is_named(proxied, unhurried):
    proxied(ALL_PROXY="http://127.0.0.1:9")
    with (
        Client("http://evenhand.test", key="k", retries=0) as client,
        pytest.raises(ServiceError, match="that the proxy in ALL_PROXY works"),
    ):
        client.study("ads").ask()


def test_a_hook_may_be_registered_while_a_fork_waits():
    """As by a transaction of another thread, for which it waits."""

    class Owner:
        pass

    first, second, begun, registered, said = Owner(), Owner(), threading.Event(), threading.Event(), []

    def rest(_):
        begun.set()
        said.append(registered.wait(5))

    def register():
        begun.wait()
        renew_in_child(second, lambda _: None, rest=lambda _: said.append("the second rests"))
        registered.set()

    thread = threading.Thread(target=register)
    thread.start()
    renew_in_child(first, lambda _: None, rest=rest)
    forked(lambda: 1)
    thread.join()
    assert said == [True, "the second rests"]
