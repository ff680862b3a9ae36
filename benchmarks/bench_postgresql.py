"""How many conversations a second a study on PostgreSQL takes, against a bare lock, insert and commit.

python -m benchmarks.bench_postgresql [--out DIR] [--quick]

The server is one of its own on this machine, with fsync on; both take turns in one process, by the clock.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
from tests.studies.postgres import server

import evenhand as eh
from benchmarks.timing import Measure, interleaved, ratio, report
from evenhand.studies import Study

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
    size, turns = (30, 3) if arguments.quick else (100, 20)
    with server() as url:
        report("postgresql", "Studies on PostgreSQL", measures(url.format(database="postgres"), size, turns))


def measures(url: str, size: int, turns: int) -> list[Measure]:
    study = Study.create(url, eh.quotas.FairUCB(SHARES, seed=1), name="ads")
    with study, psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE bare (number bigserial PRIMARY KEY, entry text)")
        connection.commit()

        def bare() -> None:
            for _ in range(2):
                connection.execute("SELECT id FROM studies WHERE id = 1 FOR UPDATE")
                connection.execute("INSERT INTO bare (entry) VALUES (%s)", (ROW,))
                connection.commit()

        def converse() -> None:
            study.tell(study.ask(), 0.5)

        def timed(work: Callable[[], None]) -> float:
            began = time.perf_counter()
            for _ in range(size):
                work()
            return (time.perf_counter() - began) / size

        found = interleaved({"study": lambda: timed(converse), "bare": lambda: timed(bare)}, turns)
    return [
        Measure("ask + tell", 1 / statistics.median(found["study"]), "a second"),
        Measure("two bare locks, inserts and commits", 1 / statistics.median(found["bare"]), "a second"),
        Measure("  ask + tell against them", 1 / ratio(found["study"], found["bare"]), "of their rate", 0.5, True),
    ]


if __name__ == "__main__":
    main()
