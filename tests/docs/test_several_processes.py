"""Three processes under a split promise, one of them killed and started again: what the page shows is done."""

import csv
import random
from fractions import Fraction

import pytest

from tests.tasks.pages import follow, write_scripts

SHARES = {"ads": Fraction(1, 5), "news": Fraction(3, 10)}
TOLERANCE = 5


@pytest.mark.slow
def test_three_processes_keep_a_split_promise_though_one_is_killed_and_started_again(tmp_path):
    write_scripts("workers.md", tmp_path)
    follow("workers.md", tmp_path)
    logs = []
    for number in range(3):
        with (tmp_path / f"{number}.csv").open(newline="") as file:
            logs.append([row["arm"] for row in csv.DictReader(file)])
    first, second, again = map(len, logs)
    assert first == second == 200 <= again < 400
    turns = [number for number, log in enumerate(logs) for _ in log]
    for seed in range(30):
        random.Random(seed).shuffle(turns)
        left = [iter(log) for log in logs]
        counts = dict.fromkeys(SHARES, 0)
        for t, number in enumerate(turns, 1):
            arm = next(left[number])
            if arm in counts:
                counts[arm] += 1
            assert all(counts[arm] >= int(share * t) - TOLERANCE for arm, share in SHARES.items())
