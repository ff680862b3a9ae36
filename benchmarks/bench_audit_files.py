"""Audits of Parquet files, row group by row group, against the audit of a data frame in memory.

python -m benchmarks.bench_audit_files [--out DIR] [--quick] [--rows 100000000 --folder DIR]
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import evenhand as eh
from benchmarks.timing import Measure, interleaved, options, ratio, report, seconds

ARMS, SHARE = 100, 0.005
WANTED = 20.0
"""Million rows a second and core."""


def write(path: Path, rows: int) -> None:
    """Write a log of arms drawn at random, a million rows at a time."""
    random, labels = np.random.default_rng(1), pa.array([f"item {arm}" for arm in range(ARMS)])
    with pq.ParquetWriter(path, pa.schema([("item", pa.string())])) as file:
        for start in range(0, rows, 1 << 20):
            codes = pa.array(random.integers(ARMS, size=min(1 << 20, rows - start)), pa.int32())
            table = pa.table({"item": pa.DictionaryArray.from_arrays(codes, labels).cast(pa.string())})
            file.write_table(table, row_group_size=1 << 20)


def once(folder: Path, rows: int) -> list[Measure]:
    """Return what one audit of a large file takes."""
    path = folder / "large.parquet"
    write(path, rows)
    size = path.stat().st_size
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, used = time.perf_counter(), time.process_time()
    finding = eh.audit.promise(str(path), arm="item", shares=SHARE)
    wall, used = time.perf_counter() - started, time.process_time() - used
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    path.unlink()
    assert finding.rounds == rows
    return [
        Measure(f"{rows:,} rows, {ARMS} arms", size / 2**20, "MiB", remark="as Parquet"),
        Measure("all of them, all cores, by the clock", rows / wall / 1e6, "million rows a second"),
        Measure("all of them, of the processor's time", rows / used / 1e6, "million rows a second", WANTED, True),
        Measure("peak memory above that before", grown / 1024, "MiB"),
    ]


def turns(folder: Path, rows: int, repetitions: int) -> list[Measure]:
    """Return files against a data frame, in turns, on one core."""
    path = folder / "small.parquet"
    write(path, rows)
    frame = pd.read_parquet(path)

    def files() -> float:
        return seconds(lambda: eh.audit.promise(str(path), arm="item", shares=SHARE, jobs=1))

    def memory() -> float:
        return seconds(lambda: eh.audit.promise(frame, arm="item", shares=SHARE))

    found = interleaved({"files": files, "memory": memory}, repetitions)
    speed = [rows / np.median(found[name]) / 1e6 for name in ("files", "memory")]
    unit = "million rows a second"
    return [
        Measure(f"files, one core, {rows:,} rows", float(speed[0]), unit, WANTED, True),
        Measure("a data frame in memory, one core", float(speed[1]), unit),
        Measure("the data frame against the files", ratio(found["memory"], found["files"]), "times"),
    ]


def main() -> None:
    arguments = options(__doc__, {"rows": int, "folder": Path})
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        measures = turns(Path(folder), 200_000 if arguments.quick else 1_000_000, 3 if arguments.quick else 5)
        if arguments.rows:
            measures += once(Path(folder), arguments.rows)
    report("audit_files", "Audits of files", measures)


if __name__ == "__main__":
    main()
