"""What an ask costs while many tickets are open: in memory, and from a process that opens the file anew.

python -m benchmarks.bench_open [--out DIR] [--quick]

The same study is asked with 1,000, then 40,000, then 1,000,000 open tickets, a snapshot after every 1,000 entries
included: what is measured are all asks between two sizes' marks, the slowest one too.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import evenhand as eh
from benchmarks.timing import Measure, options, report
from evenhand.studies import Study

SHARES = {"ads": 0.2, "news": 0.3, "sports": 0.1}
ASKS = 3_000
"""As many as three snapshots fall in."""


def main() -> None:
    arguments = options(__doc__)
    sizes = (1_000, 10_000) if arguments.quick else (1_000, 40_000, 1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        report("open", "Studies with many open tickets", measures(Path(folder) / "ads.evenhand", sizes))


def measures(place: Path, sizes: tuple[int, ...]) -> list[Measure]:
    study = Study.create(place, eh.quotas.FairUCB(SHARES, seed=1), name="ads")
    found: list[Measure] = []
    handed, first = 0, (0.0, 0.0)
    for size in sizes:
        while handed < size:
            count = min(10_000, size - handed)
            handed += len(study.ask(count=count))
        waits = []
        for _ in range(ASKS):
            began = time.perf_counter()
            study.ask()
            waits.append(time.perf_counter() - began)
        handed += ASKS
        study.state.snapshot_if_small()
        began = time.perf_counter()
        with Study.open(place) as anew:
            anew.ask()
        once = time.perf_counter() - began
        handed += 1
        median = statistics.median(waits)
        first = first if found else (median, once)
        found += [
            Measure(f"ask with {size:,} open, median", median * 1e3, "ms"),
            Measure("  against the smallest", median / first[0], "times", 1.5 if first[0] != median else None),
            Measure("  the slowest of 3,000, three snapshots included", max(waits) * 1e3, "ms"),
            Measure("  open the file, ask, close it", once * 1e3, "ms"),
        ]
    return found


if __name__ == "__main__":
    main()
