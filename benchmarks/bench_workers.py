"""What several workers decide in the time in which one decides, against bare inserts.

python -m benchmarks.bench_workers [--out DIR] [--quick]

A conversation is one ask and one tell, each on disk before it returns; a bare one is two committed inserts of rows of
the same size. Each worker is a process whose policy is compiled, as in a service or after some thousand rounds: on
SQLite with a file of its own, on PostgreSQL with rows of its own on one server. The processes begin together, and their
conversations are divided by the time until the last has ended.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg
from tests.studies.postgres import server

import evenhand as eh
from benchmarks.timing import Measure, interleaved, report
from evenhand.studies import Operation, Study

SHARES = {"ads": 0.2, "news": 0.3, "sports": 0.1}
ROW = "x" * 330
"""As long as the entries of a decision and of its report are on average."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.out is not None:
        os.environ["BENCHMARKS_OUT"] = str(arguments.out)
    size, turns = (60, 2) if arguments.quick else (300, 5)
    with tempfile.TemporaryDirectory() as folder, server() as url:
        found = [*on_files(Path(folder), size, turns), *on_server(url.format(database="postgres"), size, turns)]
        report("workers", "Studies with several workers", found)


# ---------------------------------------------------------------------- processes


def bare_file(place: str, number: int, size: int) -> Any:
    connection = sqlite3.connect(f"{place}-bare{number}", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS entries (number INTEGER PRIMARY KEY, entry TEXT)")

    def work() -> None:
        for _ in range(2 * size):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO entries (entry) VALUES (?)", (ROW,))
            connection.execute("COMMIT")

    return work


def bare_row(place: str, number: int, size: int) -> Any:
    connection = psycopg.connect(place)
    connection.execute(f"CREATE TABLE IF NOT EXISTS bare{number} (number bigserial PRIMARY KEY, entry text)")
    connection.commit()

    def work() -> None:
        for _ in range(2 * size):
            connection.execute(f"INSERT INTO bare{number} (entry) VALUES (%s)", (ROW,))
            connection.commit()

    return work


def worker(place: str, number: int, size: int) -> Any:
    study = Study.open(place, "ads", worker=f"w{number + 1}")
    study.compile()
    for _ in range(30):
        study.tell(study.ask(), 0.5)

    def work() -> None:
        for _ in range(size):
            study.tell(study.ask(), 0.5)

    return work


def batches(place: str, number: int, size: int) -> Any:
    study = Study.open(place, "ads", worker=f"w{number + 1}")
    study.compile()
    study.tell(study.ask(), 0.5)

    def work() -> None:
        decisions = study.perform([Operation("ask")] * 100)
        for _ in range(max(2, size // 10)):
            told = [Operation("tell", one.id, {"reward": 0.5}) for one in decisions]
            decisions = study.perform([*told, *[Operation("ask")] * 100])[100:]

    return work


def process(make: Any, place: str, number: int, size: int, barrier: Any, times: Any) -> None:
    work = make(place, number, size)
    barrier.wait()
    began = time.monotonic()
    work()
    times.put((began, time.monotonic()))


def rate(make: Any, place: str, processes: int, size: int, each: int) -> float:
    """Return how many conversations a second so many processes have together."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["evenhand.studies", "evenhand.quotas", "psycopg"])
    barrier, times = context.Barrier(processes), context.Queue()
    started = [
        context.Process(target=process, args=(make, place, number, size, barrier, times)) for number in range(processes)
    ]
    for one in started:
        one.start()
    found = [times.get() for _ in started]
    for one in started:
        one.join()
    return processes * each / (max(end for _, end in found) - min(began for began, _ in found))


def create(place: Any, workers: int) -> None:
    policy = eh.quotas.DeadlineLearn(eh.learners.UCB1(), SHARES, 40.0, seed=1)
    Study.create(place, policy, name="ads", workers=workers).close()


# ---------------------------------------------------------------------- measures


def on_files(folder: Path, size: int, turns: int) -> list[Measure]:
    place = str(folder / "ads.evenhand")
    create(place, 2)
    many = max(2, size // 10)
    cases = {
        "bare": lambda: rate(bare_file, place, 1, size, size),
        "bare two": lambda: rate(bare_file, place, 2, size, size),
        "one": lambda: rate(worker, place, 1, size, size),
        "two": lambda: rate(worker, place, 2, size, size),
        "batches": lambda: rate(batches, place, 1, size, 100 * many),
    }
    found = interleaved(cases, turns)
    middle = {name: statistics.median(values) for name, values in found.items()}
    gain, floor = quotient(found, "two", "one"), quotient(found, "bare two", "bare")
    return [
        Measure("files: one worker", middle["one"], "conversations/s"),
        Measure("files: two workers against one", gain, "times", 0.9 * floor, True, "limit: 0.9 of the next"),
        Measure("files: two bare inserters against one", floor, "times"),
        Measure("files: one worker against two bare inserts", quotient(found, "one", "bare"), "times", 0.8, True),
        Measure("files: 100 in a transaction against one by one", quotient(found, "batches", "one"), "times", 20, True),
    ]


def on_server(url: str, size: int, turns: int) -> list[Measure]:
    create(url, 8)
    cases = {
        "one": lambda: rate(worker, url, 1, size // 2, size // 2),
        "eight": lambda: rate(worker, url, 8, size // 2, size // 2),
        "bare": lambda: rate(bare_row, url, 1, size // 2, size // 2),
        "bare eight": lambda: rate(bare_row, url, 8, size // 2, size // 2),
    }
    found = interleaved(cases, turns)
    return [
        Measure("PostgreSQL: one worker", statistics.median(found["one"]), "conversations/s"),
        Measure("PostgreSQL: eight workers against one", quotient(found, "eight", "one"), "times", 4, True),
        Measure("PostgreSQL: eight bare inserters against one", quotient(found, "bare eight", "bare"), "times"),
        Measure("PostgreSQL: eight against eight bare", quotient(found, "eight", "bare eight"), "times", 0.5, True),
    ]


def quotient(found: dict[str, list[float]], above: str, below: str) -> float:
    return statistics.median(a / b for a, b in zip(found[above], found[below], strict=True))


if __name__ == "__main__":
    main()
