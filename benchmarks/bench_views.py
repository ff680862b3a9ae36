"""How long the first view of a restarted service takes, from the log and from a summary, and an audit.

python -m benchmarks.bench_views [--out DIR] [--quick]

Each is measured in a process of its own, by its processor time and its largest resident set.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import evenhand as eh
from benchmarks.timing import Measure, options, report
from evenhand.service.sessions import Session
from evenhand.studies import Ask, Study, Tell

SHARES = {"ads": 0.2, "news": 0.3, "sports": 0.1}
BATCH = 500


def main() -> None:
    arguments = options(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "ads.evenhand"
        report("views", "The first view of a long log", measures(place, 10_000 if arguments.quick else 500_000))


def measures(place: Path, decisions: int) -> list[Measure]:
    with Study.create(place, eh.quotas.FairUCB(SHARES, seed=1), name="ads") as study:
        for _ in range(decisions // BATCH):
            asked = study.run([Ask()] * BATCH)
            study.run([Tell(ticket=one, given={"reward": float(one.id % 3 == 0)}) for one in asked])
    found = []
    parts = {"from the log": (view, None), "from a summary": (view, 1.0), "an audit": (audit, 10.0)}
    for what, (done, limit) in parts.items():
        seconds, memory = alone(partial(done, place))
        found += [Measure(what, seconds, "s", limit), Measure("  largest resident set", memory, "MiB", 300.0)]
    return found


def alone(done: Callable[[], tuple[float, float]]) -> tuple[float, float]:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(done).result()


def view(place: Path) -> tuple[float, float]:
    session = Session(Study.open(place))
    began = time.process_time()
    with session.reading():
        spent = time.process_time() - began
        memory = largest()
    return spent, memory


def audit(place: Path) -> tuple[float, float]:
    began = time.process_time()
    assert Study.open(place).verify().ok
    return time.process_time() - began, largest()


def largest() -> float:
    """Return this process's largest resident set in MiB; that of `getrusage` begins with the parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


if __name__ == "__main__":
    main()
