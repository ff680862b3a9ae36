"""How long a writer waits for its turn while four processes converse on one SQLite file.

python -m benchmarks.bench_processes [--out DIR] [--quick]

Four processes ask and tell as fast as they can, for the same number of conversations each: once by evenhand's queue,
once with SQLite's own waiting, in turns.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import evenhand as eh
from benchmarks.timing import Measure, report
from evenhand.studies import Study
from evenhand.studies.store import store

SHARES = {"ads": 0.2, "news": 0.3, "sports": 0.1}
PROCESSES = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.out is not None:
        os.environ["BENCHMARKS_OUT"] = str(arguments.out)
    size, turns = (50, 1) if arguments.quick else (200, 2)
    report("processes", "Four processes on one SQLite file", measures(size, turns))


def measures(size: int, turns: int) -> list[Measure]:
    found: dict[bool, list[list[float]]] = {True: [], False: []}
    rates: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(turns):
        for fair in (True, False):
            waits, wall = load(fair, size)
            found[fair].append(waits)
            rates[fair].append(PROCESSES * size / wall)

    def of(fair: bool, percent: int) -> float:
        return statistics.median(statistics.quantiles(waits, n=100)[percent - 1] * 1e3 for waits in found[fair])

    worst = {fair: max(max(waits) for waits in found[fair]) * 1e3 for fair in found}
    return [
        Measure("p50 of a call", of(True, 50), "ms"),
        Measure("p99 of a call", of(True, 99), "ms", 50),
        Measure("  SQLite's own waiting against it", of(False, 99) / of(True, 99), "times", 1, True),
        Measure("worst of all calls", worst[True], "ms"),
        Measure("  SQLite's own waiting against it", worst[False] / worst[True], "times"),
        Measure("conversations of all four", statistics.median(rates[True]), "a second"),
        Measure(
            "  against SQLite's own waiting", statistics.median(rates[True]) / statistics.median(rates[False]), "times"
        ),
    ]


def load(fair: bool, size: int) -> tuple[list[float], float]:
    """Return how long each call took, and all of them together."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder) / "ads.evenhand")
        Study.create(place, eh.quotas.FairUCB(SHARES, seed=1), name="ads").close()
        begin, results = context.Barrier(PROCESSES + 1), context.Queue()
        workers = [context.Process(target=work, args=(place, fair, size, begin, results)) for _ in range(PROCESSES)]
        for worker in workers:
            worker.start()
        begin.wait()
        started = time.perf_counter()
        waits = [wait for _ in workers for wait in results.get()]
        wall = time.perf_counter() - started
        for worker in workers:
            worker.join()
    return waits, wall


def work(place: str, fair: bool, size: int, begin: Any, results: Any) -> None:
    if not fair:
        store.queued = lambda *_: nullcontext()  # type: ignore[assignment]
    study = Study.open(place)
    study.tell(study.ask(), 0.5)
    waits = []
    begin.wait()
    for n in range(size):
        began = time.perf_counter()
        decision = study.ask()
        asked = time.perf_counter()
        study.tell(decision, (n % 5) / 4)
        waits.extend((asked - began, time.perf_counter() - asked))
    results.put(waits)


if __name__ == "__main__":
    main()
