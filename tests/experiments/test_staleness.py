"""The cost of staleness: what is above the known ratios is said, and the promise over all workers is counted."""

import math

import pandas as pd
import pytest

from evenhand.experiments.framework import Claim, Runner, find
from evenhand.experiments.workers.staleness import KNOWN, POLICIES, Settings, _verdict

CLAIM = Claim("no more than is known", "before", "three standard errors")
FULL = Settings(32_000, 200, 1, (4, 16), (1, 10, 100, 1000))


@pytest.mark.parametrize(
    ("ratio", "error", "reproduced"),
    [(1.00, 0.01, True), (1.12, 0.01, True), (1.16, 0.01, False), (1.16, 0.05, True), (0.2, 0.01, True)],
)
def test_a_ratio_is_within_the_known_one_up_to_three_errors_of_both(ratio, error, reproduced):
    names = ["workers", "exchange_rounds", "ratio", "standard_error", "known"]
    rows = pd.DataFrame([(4, 100.0, ratio, error, 1.00), (4, math.inf, 9.0, 0.1, math.nan)], columns=names)
    verdict = _verdict(CLAIM, rows, FULL)
    assert (verdict.word == "reproduced") is reproduced
    assert verdict.measured == ("all 1 ratios within it" if reproduced else verdict.measured)
    if not reproduced:
        assert verdict.measured == "above it: 1.16 +- 0.01, known 1.00 (4 workers, every 100)"


def test_every_way_is_known():
    (one,) = find("workers/staleness")
    assert {name for name, _ in KNOWN} == set(POLICIES)
    for workers in one.full.workers:
        assert all(set(KNOWN[name, workers]) == {*one.full.exchanges, None} for name in POLICIES)


@pytest.mark.slow
def test_it_plays_alone_together_and_without_exchange():
    report = find("workers/staleness")[0].run(quick=True, runner=Runner(jobs=1))
    table = report.data["table"]
    assert len(table) == 3 * len(POLICIES)
    assert (table[table["workers"] == 1]["ratio"] == 1).all()
    assert set(report.figures) == {"regret", "interval", "promise"}
    assert report.verdicts[-1].word == "reproduced"
