"""The experiments run, and each claim comes with a verdict and a measured number."""

from dataclasses import replace

import pytest

from evenhand.experiments.framework import Runner, find
from evenhand.similarity import regret_bound, violations_bound


@pytest.mark.slow
@pytest.mark.parametrize("name", ["violations", "regret", "many", "adversary"])
def test_runs_small_and_gives_verdicts_and_pictures(name, tmp_path):
    (entry,) = find(f"similarity/{name}")
    small = replace(entry.quick, rounds=60, replications=2, dimensions=(2,), individuals=(3,))
    report = entry.function(small, Runner(jobs=1))
    assert report.verdicts
    assert all(verdict.measured and verdict.claim.tolerance for verdict in report.verdicts)
    assert report.figures
    entry.chosen(quick=True).write(report, tmp_path)
    written = (tmp_path / "report.md").read_text()
    assert all(f"| {verdict.text} |" in written for verdict in report.verdicts)


def test_bounds_grow_as_the_theorems_say():
    A = [[0.5, 0.0], [0.0, 0.5]]
    one = violations_bound(A, individuals=4, precision=0.01)
    assert violations_bound(A, individuals=8, precision=0.01) == pytest.approx(4 * one)
    assert violations_bound(A, individuals=4, precision=0.01, many=True) == pytest.approx(4 * one)
    assert violations_bound(A, individuals=4, precision=1e-4) > one
    assert regret_bound(A, individuals=4, rounds=100, precision=0.01) > one
