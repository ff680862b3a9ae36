"""Run many seeds of the simulated service, and say of each that breaks how to run it again: `make simulate`.

    python -m tests.service.simulated_seeds --seeds 1000 [--first 0] [--jobs 2] [--store memory] [--record FILE]

The store lies in memory, in a file, or in PostgreSQL. With a record, a run that was interrupted goes on where it
stopped.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.service.simulated import run
from tests.service.simulated_databases import MEMORY, place_of_process
from tests.studies.postgres import server

CHUNK = 50
"""Seeds that one process runs before it reports."""


def run_chunk(seeds: range, home: str) -> tuple[range, list[tuple[int, str]]]:
    """Run seeds; return those that broke, and how."""
    broken, place = [], place_of_process(home)
    for seed in seeds:
        try:
            run(seed, place)
        except Exception as error:
            broken.append((seed, f"{type(error).__name__}: {error}"))
    return seeds, broken


def chunks(first: int, seeds: int, record: Path | None) -> Iterator[range]:
    """Yield the seeds that are to be run, without those that the record names."""
    done = set() if record is None or not record.exists() else {line.split()[0] for line in record.open()}
    for start in range(first, first + seeds, CHUNK):
        chunk = range(start, min(start + CHUNK, first + seeds))
        if shown(chunk) not in done:
            yield chunk


def shown(chunk: range) -> str:
    return f"{chunk.start}-{chunk.stop - 1}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--store", choices=("memory", "file", "postgresql"), default="memory")
    parser.add_argument("--record", type=Path, help="a file of the seeds that were run; they are not run again")
    given = parser.parse_args()
    left = list(chunks(given.first, given.seeds, given.record))
    started, ran, failed = time.monotonic(), 0, 0
    with ExitStack() as stack, suppress(KeyboardInterrupt):
        home = MEMORY
        if given.store == "file":
            home = stack.enter_context(TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
        elif given.store == "postgresql":
            home = stack.enter_context(server())
        pool = stack.enter_context(Pool(given.jobs))
        for chunk, broken in pool.imap_unordered(partial(run_chunk, home=home), left):
            ran, failed = ran + len(chunk), failed + len(broken)
            for seed, how in broken:
                again = f"python -m tests.service.simulated_seeds --seeds 1 --first {seed} --store {given.store}"
                sys.stdout.write(f"{how}\nseed {seed} broke; again: {again}\n")
            if given.record is not None:
                with given.record.open("a") as record:
                    record.write(f"{shown(chunk)} {' '.join(str(seed) for seed, _ in broken) or 'sound'}\n")
            seconds = time.monotonic() - started
            sys.stdout.write(f"{ran} of {sum(map(len, left))} seeds, {failed} broke, {seconds:.0f} s\n")
            sys.stdout.flush()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
