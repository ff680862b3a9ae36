"""Ratios on a machine that others use too: repetitions taken in turns, medians, a table and a file."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from evenhand.cli.output import table

__all__ = ["Child", "Measure", "child", "interleaved", "options", "ratio", "report", "seconds"]


@dataclass(frozen=True)
class Measure:
    """A figure and what was aimed at; `limit` is the least where more is better, the most otherwise."""

    what: str
    value: float
    unit: str
    limit: float | None = None
    more_is_better: bool = False
    remark: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the figure is on the right side of its limit, None where it has none."""
        if self.limit is None:
            return None
        return self.value >= self.limit if self.more_is_better else self.value <= self.limit

    @property
    def target(self) -> str:
        """The limit in words."""
        if self.limit is None:
            return ""
        return f"{'at least' if self.more_is_better else 'at most'} {self.limit:g} {self.unit}"


@dataclass(frozen=True)
class Child:
    """What a process of its own took."""

    wall: float
    processor: float
    output: str


def options(description: str | None, more: Mapping[str, type] | None = None) -> argparse.Namespace:
    """Return what was typed after a benchmark's name, read by these types; `report` finds the folder of --out."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder for the figures as JSON")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions of less work; its figures are rough")
    for option, kind in (more or {}).items():
        parser.add_argument(f"--{option}", type=kind)
    given = parser.parse_args()
    if given.out:
        os.environ["BENCHMARKS_OUT"] = str(given.out)
    return given


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """Return how long a call takes: of the processor's time, or of the wall clock's with `time.perf_counter`."""
    started = clock()
    work()
    return clock() - started


def interleaved(cases: Mapping[str, Callable[[], float]], repetitions: int) -> dict[str, list[float]]:
    """Take every case's figure in turns, so that a busy minute of the machine falls on all; the first turn warms up."""
    found: dict[str, list[float]] = {name: [] for name in cases}
    for turn in range(repetitions + 1):
        for name, measure in cases.items():
            value = measure()
            if turn:
                found[name].append(value)
    return found


def ratio(slow: Sequence[float], fast: Sequence[float]) -> float:
    """Return the median over the turns of how many times as long `slow` takes."""
    return statistics.median(s / f for s, f in zip(slow, fast, strict=True))


def child(*arguments: str) -> Child:
    """Run a process to its end and return what it took.

    Raises
    ------
    subprocess.CalledProcessError
        If it fails.
    """
    before, started = os.times(), time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True)
    wall, after = time.perf_counter() - started, os.times()
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return Child(wall, processor, done.stdout)


def report(name: str, title: str, measures: Sequence[Measure]) -> None:
    """Print the figures as a table; write them below the folder BENCHMARKS_OUT where it is set."""
    verdict = {True: "yes", False: "no", None: ""}
    rows = [(m.what, f"{m.value:.4g} {m.unit}", m.target, verdict[m.met], m.remark) for m in measures]
    table(title, ["what", "measured", "target", "met", "remark"], rows)
    if folder := os.environ.get("BENCHMARKS_OUT"):
        body = {
            "title": title,
            "machine": {"cores": os.cpu_count(), "processor": platform.processor() or platform.machine()},
            "python": platform.python_version(),
            "measures": [asdict(m) | {"target": m.target, "met": m.met} for m in measures],
        }
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / f"{name}.json").write_text(json.dumps(body, indent=2) + "\n")
