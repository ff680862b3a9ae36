"""How long people wait before evenhand does anything: imports, commands and first decisions against importing numba."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from benchmarks.timing import Measure, child, interleaved, options, ratio, report

DECISIONS = 10_000
COMMAND = ("-m", "evenhand")
FIRST = "from evenhand.quotas import FairUCB; policy = FairUCB([0.05] * 10); policy.tell(policy.ask(), 1.0)"
MOST = 20
"""Microseconds of the processor that the first decision may take once a policy is compiled."""
COMPILED = """
import sys, time
import evenhand as eh
from evenhand.policy.rehearsal import compile_ahead
from evenhand.quotas import DeadlineLearn, FairUCB
shares = [0.05] * 10
policy = {{
    "FairUCB": lambda: FairUCB(shares),
    "DeadlineLearn over UCB1": lambda: DeadlineLearn(eh.learners.UCB1(), shares),
    "DeadlineLearn over Thompson": lambda: DeadlineLearn(eh.learners.Thompson(), shares),
}}[sys.argv[1]]()
{compile}
time.process_time_ns()  # the first reading of the clock takes 5 us by itself
before = time.process_time_ns()
policy.ask()
print((time.process_time_ns() - before) / 1000)
"""
POLICIES = ("FairUCB", "DeadlineLearn over UCB1", "DeadlineLearn over Thompson")
NEW_STUDY = f"""
import sys
import evenhand as eh
from evenhand.studies import Ask
with eh.Study.create(sys.argv[1], eh.quotas.FairUCB([0.3, 0.3, 0.3]), name="open") as study:
    for _ in range({DECISIONS} // 1000):
        study.run([Ask()] * 1000)
"""


def main() -> None:
    arguments = options(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "open.evenhand")
        child("-c", NEW_STUDY, store)
        commands = {
            "import numba": ("-c", "import numba"),
            "an empty Python process": ("-c", "pass"),
            "import evenhand": ("-c", "import evenhand"),
            "evenhand --help": (*COMMAND, "--help"),
            "the first decision of a fresh process": ("-c", FIRST),
            f"evenhand ask, a study of {DECISIONS:,} open decisions": (*COMMAND, "ask", store),
        }
        cases = {name: lambda name=name: child(*commands[name]).processor for name in commands}
        found = interleaved(cases, 3 if arguments.quick else 10)
    limits = dict(zip(list(commands)[2:], (0.4, 0.5, None, 1.2), strict=True))
    numba = found["import numba"]
    measures = [
        Measure(
            name,
            ratio(found[name], numba),
            "times import numba",
            limits.get(name),
            remark=f"{statistics.median(found[name]):.2f} s of the processor",
        )
        for name in commands
    ]
    report("start", "Before anything happens", measures + first_decisions(3 if arguments.quick else 10))


def first_decisions(repetitions: int) -> list[Measure]:
    """Return what the first decision of a new process takes, by itself: once compiled, and as plain Python."""
    ways = {"compiled before": "compile_ahead(policy)", "plain Python": ""}
    cases = {
        f"first decision, {policy}, {way}": (COMPILED.format(compile=line), policy)
        for policy in POLICIES
        for way, line in ways.items()
    }
    found = interleaved(
        {name: lambda name=name: float(child("-c", *cases[name]).output) for name in cases}, repetitions
    )
    limits = {name: MOST if "compiled" in name else None for name in cases}
    return [Measure(name, statistics.median(found[name]), "us of the processor", limits[name]) for name in cases]


if __name__ == "__main__":
    main()
