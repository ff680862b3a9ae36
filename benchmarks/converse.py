"""Processes that ask and tell as fast as they can, each with the evenhand of its own checkout.

python -m benchmarks.converse PLACE

It makes the study if there is none. For each number on stdin it holds as many conversations, and prints the seconds of
each call as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import evenhand as eh
from evenhand.errors import EvenhandError
from evenhand.studies import Study

__all__ = ["Talker", "converse"]

SHARES = {"ads": 0.2, "news": 0.3, "sports": 0.1}
HERE = Path(__file__).parents[1]


class Talker:
    """A process that converses with the study at a place.

    Parameters
    ----------
    checkout : the folder whose `src` holds the evenhand that it uses; by default this one.
    """

    def __init__(self, place: str, checkout: Path | None = None) -> None:
        home = str((checkout or HERE).absolute() / "src")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.converse", place],
            cwd=HERE,
            env=os.environ | {"PYTHONPATH": home},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self, size: int) -> None:
        """Have it hold so many conversations."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{size}\n")
        self._process.stdin.flush()

    def waits(self) -> list[float]:
        """Return the seconds of each call since `begin`, once all are over."""
        assert self._process.stdout is not None
        found: list[float] = json.loads(self._process.stdout.readline())
        return found

    def seconds(self, size: int) -> float:
        """Return the seconds of one conversation, by the clock."""
        self.begin(size)
        return sum(self.waits()) / size

    def end(self) -> None:
        self._process.communicate()


def converse(*talkers: Talker, size: int) -> tuple[list[float], float]:
    """Have all talk at the same time; return the seconds of each call, and of all together."""
    began = time.perf_counter()
    for talker in talkers:
        talker.begin(size)
    waits = [wait for talker in talkers for wait in talker.waits()]
    return waits, time.perf_counter() - began


def main(place: str) -> None:
    try:
        study = Study.open(place)
    except EvenhandError:
        study = Study.create(place, eh.quotas.FairUCB(SHARES, seed=1), name="ads")
    study.compile()
    for line in sys.stdin:
        waits = []
        for n in range(int(line)):
            began = time.perf_counter()
            decision = study.ask()
            asked = time.perf_counter()
            study.tell(decision, (n % 5) / 4)
            waits += [asked - began, time.perf_counter() - asked]
        print(json.dumps(waits), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
