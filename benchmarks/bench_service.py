"""How fast a served study is: conversations a second over HTTP, by the clock.

python -m benchmarks.bench_service [--out DIR] [--quick] [--against CHECKOUT]

The service is one process with one worker, as `evenhand serve` starts it, only warnings logged; the load comes from a
second process over kept-alive connections. A conversation is one ask and one tell: two calls, or its part of two.
With `--against` the service of another checkout takes turns with this one, in memory; what is compared is how many
conversations each holds in a second of its own processor time.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import orjson

import evenhand as eh
from benchmarks.timing import Measure, child, interleaved, options, ratio, report
from evenhand.studies import Study

SHARES = {"ads": 0.2, "news": 0.3, "sports": 0.1}
SERVE = "import sys; from evenhand.service.run import serve; serve(sys.argv[1], port=0, log_level='warning')"
CREATE = {"name": "ads", "policy": {"policy": "quotas/fair-ucb", "shares": SHARES, "seed": 1}}


def main() -> None:
    arguments = options(__doc__, {"against": Path})
    scale, turns = (1, 1) if arguments.quick else (5, 5)
    if arguments.against is not None:
        report("service-against", f"Against {arguments.against}", against(arguments.against, 400 * scale, turns))
        return
    measures: list[Measure] = []
    with tempfile.TemporaryDirectory() as folder:
        file = f"sqlite:///{folder}/ads.evenhand"
        Study.create(file, eh.quotas.FairUCB(SHARES, seed=1), name="ads").close()
        for place, store, goals in (("in memory", "sqlite://", (5_000, None)), ("on disk", file, (None, 500))):
            with served(store) as (port, keys, _):
                for connections, batch, size in ((4, 100, 4_000), (32, 1, 800), (1, 1, 200)):
                    goal = goals[0] if batch > 1 else goals[1] if connections > 1 else None
                    runs = [load(port, keys, connections, batch, size * scale) for _ in range(turns + 1)][1:]
                    what = f"{place}, {connections} connection{'s' * (connections > 1)}, {batch} at a time"
                    remark = "p50 {:.3g} ms, p99 {:.3g} ms a call".format(
                        *(median(r[p] for r in runs) for p in ("p50", "p99"))
                    )
                    rate = median(run["rate"] for run in runs)
                    measures.append(Measure(what, rate, "conversations a second", goal, goal is not None, remark))
    report("service", "Studies over HTTP, one worker", measures)


def against(checkout: Path, size: int, turns: int) -> list[Measure]:
    """Return how many conversations this service holds in a second of its processor time, and another one's."""
    measures: list[Measure] = []
    with served("sqlite://") as mine, served("sqlite://", checkout) as theirs:
        for connections, batch, goal in ((32, 1, 2.0), (1, 1, None), (4, 100, None)):
            many = size * (5 if batch > 1 else 1)

            def rate(port: int, keys: dict[str, str], process: int) -> float:
                before = processor_seconds(process)
                load(port, keys, connections, batch, many)  # noqa: B023
                return many / (processor_seconds(process) - before)  # noqa: B023

            found = interleaved({"this": partial(rate, *mine), "other": partial(rate, *theirs)}, turns)
            what = f"{connections} connection{'s' * (connections > 1)}, {batch} at a time"
            unit = "conversations a core second"
            measures += [Measure(f"{what}: {name}", median(values), unit) for name, values in found.items()]
            measures.append(
                Measure(f"{what}: this against it", ratio(found["this"], found["other"]), "times", goal, True)
            )
    return measures


def processor_seconds(process: int) -> float:
    """Return how long a process has used the processor."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(store: str, checkout: Path | None = None) -> Iterator[tuple[int, dict[str, str], int]]:
    """Start the service in a process of its own; yield its port, its keys and the process's number."""
    environment = os.environ | ({} if checkout is None else {"PYTHONPATH": str(checkout / "src")})
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, store], stdout=subprocess.PIPE, text=True, env=environment, cwd=checkout
    )
    try:
        assert process.stdout is not None
        lines = ""
        while "Stop with" not in lines:
            lines += process.stdout.readline()
        port = int(re.findall(r":(\d+)/#key", lines)[0])
        keys = dict(re.findall(r"(decide|report)\s+(eh_\S+)", lines))
        if "no studies yet" in lines:
            create(port, keys["decide"])
        yield port, keys, process.pid
    finally:
        process.terminate()
        process.wait()


def create(port: int, key: str) -> None:
    """Create the study over HTTP."""
    import httpx

    answer = httpx.post(f"http://127.0.0.1:{port}/studies", json=CREATE, headers={"Authorization": f"Bearer {key}"})
    answer.raise_for_status()


def load(port: int, keys: dict[str, str], connections: int, batch: int, size: int) -> dict[str, Any]:
    """Return the figures of one load."""
    numbers = [str(number) for number in (connections, batch, size)]
    return orjson.loads(
        child("-m", "benchmarks.http_load", str(port), "ads", keys["decide"], keys["report"], *numbers).output
    )


if __name__ == "__main__":
    main()
