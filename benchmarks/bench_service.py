"""How fast a served study is: conversations a second over HTTP, by the clock.

python -m benchmarks.bench_service [--out DIR] [--quick]

The service is one process with one worker, as `evenhand serve` starts it, only warnings logged; the load comes from a
second process over kept-alive connections. A conversation is one ask and one tell: two calls, or its part of two.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import orjson

import evenhand as eh
from benchmarks.timing import Measure, child, report
from evenhand.studies import Study

SHARES = {"ads": 0.2, "news": 0.3, "sports": 0.1}
SERVE = "import sys; from evenhand.service.run import serve; serve(sys.argv[1], port=0, log_level='warning')"
CREATE = {"name": "ads", "policy": {"policy": "quotas/fair-ucb", "shares": SHARES, "seed": 1}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.out is not None:
        os.environ["BENCHMARKS_OUT"] = str(arguments.out)
    scale, turns = (1, 1) if arguments.quick else (5, 5)
    measures: list[Measure] = []
    with tempfile.TemporaryDirectory() as folder:
        file = f"sqlite:///{folder}/ads.evenhand"
        Study.create(file, eh.quotas.FairUCB(SHARES, seed=1), name="ads").close()
        for place, store, goals in (("in memory", "sqlite://", (5_000, None)), ("on disk", file, (None, 500))):
            with served(store) as (port, keys):
                for connections, batch, size in ((4, 100, 4_000), (32, 1, 800), (1, 1, 200)):
                    goal = goals[0] if batch > 1 else goals[1] if connections > 1 else None
                    runs = [load(port, keys, connections, batch, size * scale) for _ in range(turns + 1)][1:]
                    what = f"{place}, {connections} connection{'s' * (connections > 1)}, {batch} at a time"
                    remark = "p50 {:.3g} ms, p99 {:.3g} ms a call".format(
                        *(median(r[p] for r in runs) for p in ("p50", "p99"))
                    )
                    rate = median(run["rate"] for run in runs)
                    measures.append(Measure(what, rate, "conversations a second", goal, goal is not None, remark))
    report("service", "Studies over HTTP, one worker", measures)


@contextmanager
def served(store: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Start the service in a process of its own; yield its port and its keys."""
    process = subprocess.Popen([sys.executable, "-c", SERVE, store], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        lines = ""
        while "Stop with" not in lines:
            lines += process.stdout.readline()
        port = int(re.findall(r":(\d+)/#key", lines)[0])
        keys = dict(re.findall(r"(decide|report)\s+(eh_\S+)", lines))
        if "no studies yet" in lines:
            create(port, keys["decide"])
        yield port, keys
    finally:
        process.terminate()
        process.wait()


def create(port: int, key: str) -> None:
    """Create the study over HTTP."""
    import httpx

    answer = httpx.post(f"http://127.0.0.1:{port}/studies", json=CREATE, headers={"Authorization": f"Bearer {key}"})
    answer.raise_for_status()


def load(port: int, keys: dict[str, str], connections: int, batch: int, size: int) -> dict[str, Any]:
    """Return the figures of one load."""
    numbers = [str(number) for number in (connections, batch, size)]
    return orjson.loads(
        child("-m", "benchmarks.http_load", str(port), "ads", keys["decide"], keys["report"], *numbers).output
    )


if __name__ == "__main__":
    main()
