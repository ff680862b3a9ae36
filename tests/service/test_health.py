"""Whether the process lives, whether its store takes writes, and long reading that leaves room for both."""

from __future__ import annotations

import asyncio
import gzip
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from sqlalchemy import event

from evenhand.errors import StoreError
from evenhand.service.errors import HttpRefusal
from evenhand.service.jobs import Lane, Recent
from evenhand.service.routes import system
from evenhand.studies import Store, Study
from tests.waiting import until, until_async

# ---------------------------------------------------------------------- a full disk


def test_a_store_that_may_not_grow_is_not_ready(serving, tmp_path):
    store, most = Store.at(tmp_path / "ads.evenhand", create=True), [0]

    @event.listens_for(store._engine, "begin")
    def limited(connection):
        pages = most[0] and connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages or 2**30}")

    served = serving(store)
    served.create()
    assert served.ask().status_code == 200
    most[0] = 1
    assert served.http.get("/livez").json()["status"] == "ok"
    answer = served.http.get("/readyz")
    assert (answer.status_code, answer.json()["error"]["name"]) == (503, "StoreError")
    assert answer.headers["Retry-After"] == "1"
    assert "full" in next(line["why"] for line in served.lines() if line["event"] == "store")
    assert {served.ask(json={"count": 100}).status_code for _ in range(3)} == {503}
    before = served.read("/studies/ads")["decisions"]
    most[0] = 0
    until(lambda: served.http.get("/readyz").status_code == 200, 0.05)
    assert served.http.get("/readyz").json()["studies"] == 1
    assert served.ask().json()["id"] == before + 1
    served.stop()
    assert Study.open(store).verify().ok
    store.close()


# ---------------------------------------------------------------------- readiness


class Slow:
    """A store that counts its writes, and takes its time."""

    url = "slow"

    def __init__(self, seconds):
        self.seconds, self.error, self.writes = seconds, None, 0

    def check_writable(self):
        self.writes += 1
        time.sleep(self.seconds)
        if self.error:
            raise self.error

    def names(self):
        return ["ads"]


def test_one_write_a_second_answers_all_who_ask():
    store, now = Slow(0.05), [0.0]

    async def asked():
        readiness = Recent(lambda: system.written(store), clock=lambda: now[0])

        async def all_told(at, error=None):
            now[0], store.error = at, error
            found = await asyncio.gather(*(readiness.result() for _ in range(20)), return_exceptions=True)
            return {str(one) for one in found}, store.writes

        full = StoreError("full")
        return [await all_told(0.0), await all_told(0.9), await all_told(1.1, full), await all_told(3.0)]

    assert asyncio.run(asked()) == [({"1"}, 1), ({"1"}, 1), ({"full"}, 2), ({"1"}, 3)]


def test_a_store_that_does_not_answer_is_not_ready_and_is_asked_no_more(monkeypatch):
    monkeypatch.setattr(system, "PATIENCE", 0.05)
    store = Slow(0.5)

    async def asked():
        readiness = Recent(lambda: system.written(store), age=0.0)
        state = SimpleNamespace(readiness=readiness, sessions=SimpleNamespace(store=store))
        request = SimpleNamespace(app=SimpleNamespace(state=state))
        for _ in range(3):
            with pytest.raises(StoreError, match=r"slow: the store accepted no write within 0\.05 seconds"):
                await system.ready(request)

    asyncio.run(asked())
    assert store.writes == 1


# ---------------------------------------------------------------------- long reading


def test_a_job_that_fails_or_is_left_gives_its_place_back_when_it_ends():
    free, lane = threading.Event(), Lane("audits", 1, 60, queues=False)

    async def left():
        with pytest.raises(ZeroDivisionError):
            await lane.run(lambda: 1 / 0)
        gone = asyncio.create_task(lane.run(free.wait))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        with pytest.raises(HttpRefusal):
            await lane.run(lambda: "too early: the job goes on")
        free.set()
        await until_async(lambda: not lane._places.locked())
        return await lane.run(lambda: "done")

    assert asyncio.run(left()) == "done"


@pytest.mark.parametrize("path", ["/audit", "/history?format=json"])
def test_long_reading_holds_up_nothing_else(serving, monkeypatch, path):
    """Two run, all others are told to wait at once; health, decisions and other reading go on meanwhile."""
    served, free = serving(), threading.Event()
    for name in ("ads", "news"):
        served.create(name)
    first = served.read(f"/studies/ads{path}")
    finding = SimpleNamespace(as_dict=lambda: first)
    monkeypatch.setattr("evenhand.service.sessions.Session.audit", lambda session: free.wait(60) and finding)
    exported = b"[]", "text", ""
    monkeypatch.setattr("evenhand.service.routes.views.export_log", lambda *_: exported if free.wait(60) else None)
    with ThreadPoolExecutor(60) as pool:
        asked = [pool.submit(served.send, "read", "GET", f"/studies/{name}{path}") for name in ("ads", "news") * 30]
        until(lambda: sum(one.done() for one in asked) == 58)
        for quick in ("/livez", "/readyz", "/docs", "/"):
            assert served.http.get(quick).status_code == 200
        assert served.ask().status_code == 200
        assert served.read("/studies/ads")["decisions"] == 1
        assert sum(one.done() for one in asked) == 58, "all that was answered while the two were not"
        refused = [one.result() for one in asked if one.done()]
        assert {(one.status_code, one.json()["error"]["name"]) for one in refused} == {(503, "BusyError")}
        assert {one.headers["Retry-After"] for one in refused} == {"5"}
        free.set()
        assert [one.result().status_code for one in asked].count(200) == 2
    assert served.send("read", "GET", f"/studies/ads{path}").status_code == 200


@pytest.mark.parametrize("accept", ["gzip", "identity"])
def test_a_large_answer_is_compressed_for_those_who_can_read_it(serving, monkeypatch, accept):
    """By a thread: the event loop answers others meanwhile."""
    served, threads, compress = serving(), [], gzip.compress
    monkeypatch.setattr(
        "evenhand.service.bodies.gzip.compress",
        lambda *given, **named: threads.append(threading.current_thread()) or compress(*given, **named),
    )
    served.create("many", {"policy": "quotas/fair-ucb", "shares": {f"arm {i}": 0.0 for i in range(900)}, "seed": 1})
    answer = served.send("read", "GET", "/studies/many", headers={"Accept-Encoding": accept})
    assert answer.headers.get("Content-Encoding", "identity") == accept
    assert "Accept-Encoding" in answer.headers.get("Vary", "") or accept == "identity"
    assert len(answer.json()["arms"]) == 900
    assert len(answer.content) > 2**16 > int(answer.headers["Content-Length"]) or accept == "identity"
    assert [thread is served.thread for thread in threads] == [False] * (accept == "gzip")
    head = served.send("read", "HEAD", "/studies/many", headers={"Accept-Encoding": accept})
    assert (head.content, head.headers["Content-Length"]) == (b"", answer.headers["Content-Length"])
