"""How long a report on an old ticket takes: rewards mostly come late, when the policy no longer remembers the decision.

python -m benchmarks.bench_late [--out DIR] [--quick]

A study of so many decisions, all open, in an SQLite file and on a PostgreSQL server of its own on this machine. Reports
on old and on new tickets take turns, each in its own transaction, by the clock. The server's tables are not analysed.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator

from tests.studies.postgres import server

import evenhand as eh
from benchmarks.timing import Measure, interleaved, options, report
from evenhand.studies import Ask, Study

SHARES = {"ads": 0.2, "news": 0.3, "sports": 0.1}


def main() -> None:
    arguments = options(__doc__)
    decisions, each, turns = (10_000, 10, 5) if arguments.quick else (1_000_000, 50, 20)
    with tempfile.TemporaryDirectory() as folder, server() as url:
        measures = []
        for where, place in (("SQLite", f"{folder}/ads.evenhand"), ("PostgreSQL", url.format(database="postgres"))):
            study = filled(place, decisions)
            measures += measured(study, where, each, turns)
            study.close()
    report("late", f"Late rewards, {decisions:,} decisions", measures)


def filled(place: str, decisions: int) -> Study:
    study = Study.create(place, eh.quotas.FairUCB(SHARES, seed=1), name="ads")
    for _ in range(decisions // 1_000):
        study.run([Ask()] * 1_000)
    return study


def measured(study: Study, where: str, each: int, turns: int) -> list[Measure]:
    last = study.log.sequence
    old, new = iter(range(1, last)), iter(range(last - 1, 1, -1))

    def timed(tickets: Iterator[int]) -> Callable[[], float]:
        def tell() -> float:
            began = time.perf_counter()
            for _ in range(each):
                study.tell(next(tickets), 0.5)
            return 1e3 * (time.perf_counter() - began) / each

        return tell

    found = interleaved({"old": timed(old), "new": timed(new)}, turns)
    medians = {name: statistics.median(values) for name, values in found.items()}
    return [
        Measure(f"{where}: tell of an old ticket", medians["old"], "ms"),
        Measure(f"{where}: tell of a new ticket", medians["new"], "ms"),
        Measure(f"{where}: what the age adds", medians["old"] - medians["new"], "ms", 1.0),
    ]


if __name__ == "__main__":
    main()
