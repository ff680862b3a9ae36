"""Run many seeds of the simulated service, and say of each that breaks how to run it again: `make simulate`.

python -m tests.service.simulated_seeds --seeds 1000 [--first 0] [--jobs 2]
"""

from __future__ import annotations

import argparse
import os
import sys
from multiprocessing import Pool

from tests.service.simulated import run


def broken(seed: int) -> tuple[int, str]:
    """Run a seed; return it, and how it broke, "" where it did not."""
    try:
        run(seed)
    except Exception as error:
        return seed, f"{type(error).__name__}: {error}"
    return seed, ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    failed = 0
    with Pool(given.jobs) as pool:
        for seed, how in pool.imap_unordered(broken, range(given.first, given.first + given.seeds), 50):
            if how:
                failed += 1
                again = f"python -m tests.service.simulated_seeds --seeds 1 --first {seed}"
                sys.stdout.write(f"{how}\nseed {seed} broke; again: {again}\n")
    sys.stdout.write(f"{given.seeds} seeds, {failed} broke\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
