"""Four replicas of the service on one study in PostgreSQL, of which one is killed: as docs/workers.md says."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from fractions import Fraction

import httpx
import pytest

from evenhand.studies import Study
from tests.cli.shell import answer
from tests.studies.postgres import binaries, server
from tests.waiting import until

pytestmark = pytest.mark.slow

SHARES = {"ads": Fraction(1, 5), "news": Fraction(3, 10)}
VISITS, REPLICAS = 120, 4


@contextmanager
def replica(store):
    """Serve a store in a process of its own, and yield the process and its address."""
    command = [sys.executable, "-m", "evenhand", "serve", "--store", store, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        printed = iter(process.stdout.readline, "")
        yield process, next(found[1] for line in printed if (found := re.search(r"page +(http://[\d.:]+)/", line)))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_one_of_four_replicas_is_killed_and_nothing_is_lost():
    if binaries() is None:
        pytest.skip("no PostgreSQL server is installed: apt-get install postgresql")
    with server() as url, ExitStack() as stack:
        store = url.format(database="postgres")
        shares = ",".join(f"{arm}={float(share)}" for arm, share in SHARES.items())
        answer("new", store, "--name", "front-page", "--policy", "deadline-learn", "--shares", shares)
        key = json.loads(answer("keys", store, "add", "--role", "both", "--json"))["key"]
        headers = {"Authorization": f"Bearer {key}"}
        running = [stack.enter_context(replica(store)) for _ in range(REPLICAS)]
        client = stack.enter_context(httpx.Client(headers=headers, timeout=60, trust_env=False))
        done = {}

        def visit(number):
            """Ask under a key and report, each at a replica that answers."""
            tried = iter(range(number, number + 1000))

            def sent(path, body, **more):
                def answered():
                    try:
                        address = running[next(tried) % REPLICAS][1]
                        said = client.post(f"{address}/studies/front-page/{path}", json=body, **more)
                    except httpx.TransportError:
                        return None
                    assert said.status_code == 200, said.text
                    return said.json()

                return until(answered)

            decision = sent("ask", {}, headers={"Idempotency-Key": f"visit {number}"})
            told = sent("tell", {"ticket": decision["ticket"], "reward": float(decision["arm"] == "news")})
            assert told["status"] in ("told", "already told")
            done[number] = decision["id"], decision["arm"]

        with ThreadPoolExecutor(REPLICAS) as pool:
            visits = [pool.submit(visit, number) for number in range(VISITS)]
            until(lambda: len(done) > VISITS // 3 or any(one.done() and one.exception() for one in visits))
            os.kill(running[1][0].pid, signal.SIGKILL)
            for one in visits:
                one.result()
        study = Study.open(store)
        log = study.frame()
        assert dict(zip(log["ticket"], log["arm"], strict=True)) == dict(done.values())
        assert log["status"].eq("told").all()
        for t in range(1, VISITS + 1):
            for arm, share in SHARES.items():
                assert log["arm"][:t].eq(arm).sum() >= int(share * t)
        assert "The log is whole and replays" in answer("verify", store)
        study.close()
