"""How long calls take while four processes converse on one study, in a file and on PostgreSQL.

python -m benchmarks.bench_processes [--out DIR] [--quick] [--against CHECKOUT] [--folder DIR]

Four processes ask and tell as fast as they can, for the same number of conversations each. With `--against` those of
another checkout take turns with these. The file, and the server's files, are in `--folder`.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

import psycopg
from tests.studies import postgres

from benchmarks.converse import Talker, converse
from benchmarks.timing import Measure, options, report

PROCESSES = 4


def main() -> None:
    arguments = options(__doc__, {"against": Path, "folder": Path})
    postgres.PLACE = str(arguments.folder or tempfile.gettempdir())
    checkouts = {"": None} if arguments.against is None else {"": None, "other: ": arguments.against}
    size, turns = (50, 1) if arguments.quick else (300, 5)
    measures: list[Measure] = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        places = {name: f"{folder}/{n}.evenhand" for n, name in enumerate(checkouts)}
        measures += load("a file", places, checkouts, size, turns)
    with postgres.server("") as url:
        admin = psycopg.connect(url.format(database="postgres"), autocommit=True)
        for n in range(len(checkouts)):
            admin.execute(f"CREATE DATABASE store{n}")
        places = {name: url.format(database=f"store{n}") for n, name in enumerate(checkouts)}
        measures += load("PostgreSQL", places, checkouts, size, turns)
        admin.close()
    report("processes", "Four processes on one study", measures)


def load(where: str, places: dict[str, str], checkouts: dict[str, Path | None], size: int, turns: int) -> list[Measure]:
    """Return how long each call took, and how many conversations there were a second."""
    waits: dict[str, list[float]] = {name: [] for name in checkouts}
    rates: dict[str, list[float]] = {name: [] for name in checkouts}
    talkers = {}
    for name, checkout in checkouts.items():
        talkers[name] = [Talker(places[name], checkout)]
        talkers[name][0].seconds(1)  # it makes the study
        talkers[name] += [Talker(places[name], checkout) for _ in range(PROCESSES - 1)]
        converse(*talkers[name], size=20)
    for _ in range(turns):
        for name, four in talkers.items():
            seen, wall = converse(*four, size=size)
            waits[name] += seen
            rates[name].append(PROCESSES * size / wall)
    for four in talkers.values():
        for talker in four:
            talker.end()
    measures = []
    for name, seen in waits.items():
        ranks = statistics.quantiles(seen, n=1000)
        for percent, limit in ((50, None), (99, None), (99.9, 1000)):
            value = ranks[round(percent * 10) - 1] * 1e3
            measures.append(Measure(f"{where}: {name}p{percent} of a call", value, "ms", limit))
        measures.append(Measure(f"{where}: {name}worst of {len(seen):,} calls", max(seen) * 1e3, "ms"))
        measures.append(Measure(f"{where}: {name}conversations", statistics.median(rates[name]), "a second"))
    return measures


if __name__ == "__main__":
    main()
