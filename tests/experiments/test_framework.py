"""Experiments: found by id, run from settings, written with a verdict on every claim."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from evenhand.errors import ArgumentError, RegistryError
from evenhand.experiments import framework
from evenhand.experiments.framework import Claim, Report, Runner, catalogue, experiment, find
from evenhand.plots.style import figure
from evenhand.version import __version__

CLAIM = Claim("it rises | falls", "Figure 0", "the slope is above 0", kind="ours")


@pytest.fixture
def trial(monkeypatch):
    catalogue()
    monkeypatch.setattr(framework, "_experiments", dict(framework._experiments))

    @experiment("quotas/trial", "A trial", full={"rounds": 100}, quick={"rounds": 3})
    def run(settings, runner):
        """Return the settings as data."""
        frame = pd.DataFrame({"round": range(settings["rounds"])})
        drawn, axes = figure()
        axes.plot(frame["round"])
        verdicts = [CLAIM.verdict(settings["rounds"] > 50, f"{settings['rounds']} rounds")]
        return Report({"rounds": frame}, verdicts, {"line": (drawn, frame.assign(level=0.95))}, [f"jobs {runner.jobs}"])

    return find("quotas/trial")[0]


def test_settings_are_data_and_decide(trial):
    assert len(trial.run().data["rounds"]) == 100
    quick = trial.chosen(quick=True).run(Runner(jobs=1))
    assert len(quick.data["rounds"]) == 3
    assert quick.remarks == ["jobs 1"]
    assert [verdict.as_dict()["verdict"] for verdict in trial.run().verdicts] == ["reproduced"]
    assert [verdict.as_dict()["verdict"] for verdict in quick.verdicts] == ["not reproduced"]


def test_a_report_is_written_with_data_pictures_and_verdicts(trial, tmp_path):
    trial.chosen(quick=True).write(trial.chosen(quick=True).run(), tmp_path / "out", ["svg", "pdf"])
    drawn = {"line.csv", "line.svg", "line.pdf"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"rounds.csv", "report.json", "report.md"} | drawn
    table = pd.read_csv(tmp_path / "out" / "line.csv")
    assert table["made_with"][0].startswith(f"quotas/trial; quick settings: rounds=3; evenhand {__version__}; ")
    assert table["level"].tolist() == [0.95] * 3
    assert table["made_with"][0] in (tmp_path / "out" / "line.svg").read_text()
    body = json.loads((tmp_path / "out" / "report.json").read_text())
    assert (body["id"], body["settings"]) == ("quotas/trial", {"rounds": 3})
    assert (body["verdicts"][0]["measured"], body["verdicts"][0]["kind"]) == ("3 rounds", "ours")
    text = (tmp_path / "out" / "report.md").read_text()
    assert r"| it rises \| falls | ours |" in text
    assert "![line](line.svg)" in text
    assert "| not reproduced |" in text


def test_reduced_settings_and_changes_take_the_place_of_the_full_ones(tmp_path):
    (one,) = find("sampling/fashion-mnist")
    assert one.chosen() == one
    reduced = one.chosen(reduced=True, trials=2, device="cpu")
    assert (reduced.size, reduced.full.trials, reduced.full.device) == ("reduced", 2, "cpu")
    assert reduced.full.rounds == one.reduced.rounds == 200
    reduced.write(Report(), tmp_path)
    assert "Settings (reduced)" in (tmp_path / "report.md").read_text()
    with pytest.raises(ArgumentError, match="--reduced: expected one size"):
        one.chosen(quick=True, reduced=True)
    with pytest.raises(
        ArgumentError, match="--reduced: expected an experiment with reduced settings, got 'quotas/fig2'"
    ):
        find("quotas/fig2")[0].chosen(reduced=True)
    for id, changes in (("sampling/adult", {"device": "cpu"}), ("quotas/fig2", {"trials": 2})):
        with pytest.raises(ArgumentError, match=f"--{next(iter(changes))}: expected an experiment with this setting"):
            find(id)[0].chosen(**changes)
    with pytest.raises(ArgumentError) as refused:
        find("quotas/fig2")[0].chosen(trials=2)
    able = str(refused.value).partition("(")[2].partition(")")[0].split(", ")
    assert able == [one.id for one in catalogue("sampling/")]


def test_finished_trials_are_kept_by_picture_experiments_alone(tmp_path):
    from typer.testing import CliRunner

    from evenhand.cli import app

    said = CliRunner().invoke(app, ["reproduce", "sampling/fig8", "--finished-only", "--out", str(tmp_path)])
    assert "--finished-only: expected a picture experiment, got 'sampling/fig8'" in str(said.exception)


def test_a_report_says_what_a_setting_is_a_part_of():
    (one,) = find("quotas/fig2")
    assert "- tolerances (alpha as a part of r T = 0.05 T, from the strict promise to none): (0.0," in one.text(
        Report()
    )


def test_a_picture_says_which_policy_its_panels_leave_out():
    (one,) = find("quotas/fig4")
    report = one.function(replace(one.quick, rounds=60, replications=2), Runner(jobs=1))
    panels = report.figures["fig4"][0].axes
    drawn = [any("DeadlineLearn" in str(line.get_label()) for line in panel.get_lines()) for panel in panels]
    assert drawn == [True, False, False]
    assert ["without DeadlineLearn(UCB1)" in panel.get_title(loc="left") for panel in panels] == [False, True, True]
    assert any("leave DeadlineLearn(UCB1) out" in remark for remark in report.remarks)


def test_an_unknown_experiment_is_refused_with_those_there_are():
    with pytest.raises(RegistryError, match=r"no experiment is named 'quotas/fig99'; there are: .*quotas/fig2"):
        find("quotas/fig99")
