"""How many conversations a second a study on PostgreSQL takes, against a bare lock, insert and commit.

python -m benchmarks.bench_postgresql [--out DIR] [--quick] [--against CHECKOUT]

The server is one of its own on this machine, with fsync on; all take turns, by the clock. With `--against` another
checkout of evenhand takes turns with this one.
"""

from __future__ import annotations

import statistics
import time
from functools import partial
from pathlib import Path

import psycopg
from tests.studies.postgres import server

from benchmarks.converse import Talker
from benchmarks.timing import Measure, interleaved, options, ratio, report

ROW = "x" * 330
"""As long as the entries of a decision and of its report are on average."""


def main() -> None:
    arguments = options(__doc__, {"against": Path})
    size, turns = (30, 3) if arguments.quick else (100, 20)
    with server("") as url:
        report("postgresql", "Studies on PostgreSQL", measures(url, size, turns, arguments.against))


def measures(url: str, size: int, turns: int, against: Path | None) -> list[Measure]:
    checkouts = {"study": None} if against is None else {"study": None, "other": against}
    with psycopg.connect(url.format(database="postgres"), autocommit=True) as connection:
        for name in checkouts:
            connection.execute(f"CREATE DATABASE {name}")
        connection.execute("CREATE TABLE studies (id bigint PRIMARY KEY)")
        connection.execute("INSERT INTO studies VALUES (1)")
        connection.execute("CREATE TABLE bare (number bigserial PRIMARY KEY, entry text)")
        connection.autocommit = False

        def bare() -> float:
            began = time.perf_counter()
            for _ in range(2 * size):
                connection.execute("SELECT id FROM studies WHERE id = 1 FOR UPDATE")
                connection.execute("INSERT INTO bare (entry) VALUES (%s)", (ROW,))
                connection.commit()
            return (time.perf_counter() - began) / size

        talkers = {name: Talker(url.format(database=name), checkout) for name, checkout in checkouts.items()}
        cases = {name: partial(talker.seconds, size) for name, talker in talkers.items()}
        found = interleaved({**cases, "bare": bare}, turns)
        for talker in talkers.values():
            talker.end()
    rates = {name: 1 / statistics.median(values) for name, values in found.items()}
    return [
        Measure("ask + tell", rates["study"], "a second"),
        Measure("two bare locks, inserts and commits", rates["bare"], "a second"),
        *(
            Measure(f"  ask + tell of {name} against them", 1 / ratio(found[name], found["bare"]), "of their rate")
            for name in checkouts
        ),
    ]


if __name__ == "__main__":
    main()
