"""How long people wait before evenhand does anything: imports and commands, against importing numba."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.timing import Measure, child, interleaved, ratio, report

DECISIONS = 10_000
COMMAND = ("-c", "import sys; from evenhand.cli import main; main()")
OPEN_STUDY = f"""
import sys
import evenhand as eh
from evenhand.studies import Operation
with eh.Study.create(sys.argv[1], eh.quotas.FairUCB([0.3, 0.3, 0.3]), name="open") as study:
    for _ in range({DECISIONS} // 1000):
        study.perform([Operation("ask")] * 1000)
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "open.evenhand")
        child("-c", OPEN_STUDY, store)
        cases: dict[str, Callable[[], float]] = {
            "numba": lambda: child("-c", "import numba").processor,
            "evenhand": lambda: child("-c", "import evenhand").processor,
            "help": lambda: child(*COMMAND, "--help").processor,
            "ask": lambda: child(*COMMAND, "ask", store).processor,
        }
        found = interleaved(cases, 7)
    measures = [
        Measure("import evenhand", ratio(found["evenhand"], found["numba"]), "x import numba", 0.4),
        Measure("evenhand --help", ratio(found["help"], found["numba"]), "x import numba", 0.5),
        Measure(
            f"evenhand ask, {DECISIONS:,} open decisions", ratio(found["ask"], found["numba"]), "x import numba", 1.2
        ),
    ]
    report("start", "Before anything happens", measures)


if __name__ == "__main__":
    main()
