"""The experiments run, and each claim comes with a verdict and a measured number."""

from dataclasses import replace

import pytest

from evenhand.experiments.framework import Runner, find
from evenhand.experiments.similarity.settings import Grid, Single
from evenhand.similarity import regret_bound, violations_bound

pytestmark = pytest.mark.slow


def tiny(settings):
    if isinstance(settings, Grid):
        return replace(settings, rounds=60, replications=2, dimensions=(2,), individuals=(3,))
    if isinstance(settings, Single):
        return replace(settings, rounds=60, replications=2, dimension=2, individuals=3)
    return replace(settings, rounds=40)


@pytest.mark.parametrize(
    "name", ["violations", "shared", "regret", "baselines", "many", "noise", "learners", "adversary", "diabetes"]
)
def test_runs_small_and_gives_verdicts_and_pictures(name, tmp_path):
    (entry,) = find(f"similarity/{name}")
    report = entry.function(tiny(entry.quick), Runner(jobs=1))
    assert report.verdicts
    assert all(verdict.measured and verdict.claim.tolerance for verdict in report.verdicts)
    assert report.figures or name == "learners"
    entry.write(report, tmp_path, quick=True)
    written = (tmp_path / "report.md").read_text()
    assert all(f"| {verdict.text} |" in written for verdict in report.verdicts)


@pytest.mark.data
def test_compas_holds_what_propublica_kept(data_folder, monkeypatch):
    from evenhand.datasets.compas_two_years import load_compas_two_years

    monkeypatch.setenv("EVENHAND_DATA", str(data_folder))
    frame = load_compas_two_years()
    assert len(frame) == 6172
    assert frame.free.sum() == 3363
    assert not frame.isna().any().any()


def test_bounds_grow_as_the_theorems_say():
    A = [[0.5, 0.0], [0.0, 0.5]]
    one = violations_bound(A, individuals=4, precision=0.01)
    assert violations_bound(A, individuals=8, precision=0.01) == pytest.approx(4 * one)
    assert violations_bound(A, individuals=4, precision=0.01, many=True) == pytest.approx(4 * one)
    assert violations_bound(A, individuals=4, precision=1e-4) > one
    assert regret_bound(A, individuals=4, rounds=100, precision=0.01) > one
