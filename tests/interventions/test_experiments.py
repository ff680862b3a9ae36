import numpy as np
import pandas as pd
import pytest

from evenhand.errors import ArgumentError
from evenhand.experiments.framework import Runner, find
from evenhand.experiments.interventions import constraints
from evenhand.experiments.interventions.curves import error_at, error_curves
from evenhand.experiments.interventions.instances import Conditions, instance
from evenhand.interventions import SimulatedTrial

pytestmark = pytest.mark.slow

SETTINGS = {name: getattr(constraints, name) for name in ("NONE", "LOOSE", "TIGHT", "NO_FAIR")}
for family, (outcome, gap) in constraints.RANGES.items():
    SETTINGS[family] = Conditions(family=family, outcome_divergence=outcome, gap_divergence=gap, **constraints.SETTINGS)


@pytest.mark.parametrize("name", SETTINGS)
def test_instances_meet_the_conditions_that_are_stated(name):
    conditions = SETTINGS[name]
    problem = instance(conditions, seed=2021)
    gaps = np.abs(problem.gaps[0, 1])
    fair = gaps < conditions.tolerance
    assert len(problem.candidates) == 30
    assert fair.sum() == conditions.fair
    assert (np.abs(gaps - conditions.tolerance)[1:] > conditions.margin).all()
    if conditions.fair:
        second, best = np.sort(problem.outcomes[fair])[-2:]
        assert best - second == pytest.approx(conditions.outcome_gap, rel=0.11)
    m = problem.outcome_divergence[1:, 0]
    d = np.max([one[1:, 0] for one in problem.gap_divergence.values()], axis=0)
    for found, (low, high) in ((m, conditions.outcome_divergence), (d, conditions.gap_divergence)):
        assert low <= found.min()
        assert found.max() < high


def test_the_same_seed_gives_the_same_instance():
    one, other = (instance(constraints.LOOSE, seed=1) for _ in range(2))
    assert (one.tables == other.tables).all()


def test_conditions_that_cannot_be_met_are_refused(monkeypatch):
    monkeypatch.setattr("evenhand.experiments.interventions.instances.POOL", 10)
    with pytest.raises(ArgumentError, match="random candidates can meet"):
        instance(constraints.TIGHT._replace(outcome_divergence=(1e6, 1e7), candidates=3, fair=1), seed=1)


def test_curves_are_the_same_for_any_jobs_and_go_on_from_what_is_stored(tmp_path):
    problem = next(SimulatedTrial._examples()).problem
    settings = {"budgets": (300, 600), "runs": 10, "seed": 3}
    names = ["CSR-V2", "SRIS-V2"]
    one = error_curves([problem, problem], 0.1, settings, Runner(jobs=1), names=names)
    two = error_curves([problem, problem], 0.1, settings, Runner(jobs=2, store=tmp_path), names=names)
    pd.testing.assert_frame_equal(one, two)
    kept = sorted(tmp_path.iterdir())
    assert len(kept) == 4
    changed = pd.read_csv(kept[0]).assign(wrong=10)
    changed.to_csv(kept[0], index=False)
    again = error_curves([problem, problem], 0.1, settings, Runner(jobs=1, store=tmp_path), names=names)
    assert not again.equals(two)
    assert (one["runs"] == 20).all()
    assert ((one["error_low"] <= one["error"]) & (one["error"] <= one["error_high"])).all()
    assert error_at(one, "CSR-V2") == one.loc[(one["search"] == "CSR-V2") & (one["budget"] == 600), "error"].item()


@pytest.mark.parametrize("name", ["fig3a", "fig3b", "fig6", "theorem2", pytest.param("fig5", marks=pytest.mark.data)])
def test_small_experiments_report_a_verdict_on_each_claim(name, tmp_path, request):
    if name == "fig5":
        request.getfixturevalue("hepar2")
    one = find(f"interventions/{name}")[0]
    report = one.function({**one.quick, "runs": 5, "instances": 1, "budgets": (1000,)}, Runner(jobs=1))
    one.chosen(quick=True).write(report, tmp_path)
    assert len(report.verdicts) == {"fig5": 1, "fig6": 1}.get(name, 2)
    assert all(picture.stat().st_size > 1000 for picture in tmp_path.glob("*.png"))
    text = (tmp_path / "report.md").read_text()
    assert all(verdict.measured in text for verdict in report.verdicts)
    tables = [table for _, table in report.figures.values()]
    assert tables
    assert all((table["runs"] == 5).all() for table in tables)
