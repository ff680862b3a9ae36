"""Claims: judged where the settings are large enough or the numbers leave no doubt, inconclusive elsewhere."""

import json
import sys

import numpy as np
import pytest
from scipy.stats import norm, ttest_1samp
from typer.testing import CliRunner

from evenhand.cli import app
from evenhand.experiments import framework
from evenhand.experiments.framework import CLEAR, Claim, Report, catalogue, certainty, experiment, find
from tests.naming import named

EXACT = Claim("it is exact", "Theorem 0", "equal")
LARGE = Claim("it grows", "Figure 0", "above 0", {"rounds": 100, "budgets": 10})


def settings(rounds=100, budgets=(1, 10)):
    return {"rounds": rounds, "budgets": budgets}


@pytest.mark.parametrize("reproduced", [True, False])
def test_a_claim_without_needs_is_judged_at_any_size(reproduced):
    verdict = EXACT.verdict(reproduced, "1 and 1")
    assert verdict.conclusive
    assert verdict.word == verdict.text == ("reproduced" if reproduced else "not reproduced")


@pytest.mark.parametrize("reproduced", [True, False])
@pytest.mark.parametrize(
    ("run", "lacking"),
    [
        (settings(), {}),
        (settings(rounds=99), {"rounds": 100}),
        (settings(budgets=(1, 9)), {"budgets": 10}),
        (settings(rounds=1, budgets=(2,)), {"rounds": 100, "budgets": 10}),
    ],
    ids=named,
)
def test_a_claim_is_inconclusive_where_a_setting_is_too_small(reproduced, run, lacking):
    verdict = LARGE.verdict(reproduced, "7", run)
    assert verdict.conclusive == (not lacking)
    assert verdict.as_dict()["needs"] == lacking
    if lacking:
        assert verdict.word == verdict.as_dict()["verdict"] == "inconclusive"
        assert verdict.text == "inconclusive: needs " + ", ".join(f"{k} >= {v}" for k, v in lacking.items())


@pytest.mark.parametrize("reproduced", [True, False])
@pytest.mark.parametrize(("sure", "word"), [(CLEAR, None), (CLEAR - 0.01, "inconclusive"), (np.nan, "inconclusive")])
def test_numbers_without_doubt_are_judged_in_small_settings(reproduced, sure, word):
    verdict = LARGE.verdict(reproduced, "7", settings(rounds=3), certainty=sure)
    assert verdict.word == (word or ("reproduced" if reproduced else "not reproduced"))


@pytest.mark.parametrize("runs", [2, 4, 12, 1000])
def test_certainty_is_that_of_a_t_test(runs):
    values = np.random.default_rng(runs).normal(0.5, 1.0, runs)
    normal = certainty(values.mean(), values.std(ddof=1) / np.sqrt(runs), runs)
    assert 2 * norm.sf(normal) == pytest.approx(ttest_1samp(values, 0.0).pvalue)


def test_certainty_of_several_is_that_of_the_least():
    assert certainty([1.0, 0.2], [0.1, 0.1], 50) == certainty(0.2, 0.1, 50)
    assert certainty([1.0, -0.5], [0.1, 0.1], 50) == certainty(0.5, 0.1, 50)
    assert certainty([1.0, 0.5], [0.0, 0.0], 50) == np.inf
    assert certainty([1.0], [0.1], 1) == 0.0


@pytest.mark.parametrize("module", sorted({one.function.__module__ for one in catalogue()}))
def test_full_settings_judge_every_claim(module):
    """A claim whose needs name only settings of experiments of its module has them met in full by one of these."""
    sizes = [one.settings for one in catalogue() if one.function.__module__ == module]
    for claim in [part for part in vars(sys.modules[module]).values() if isinstance(part, Claim)]:
        able = [full for full in sizes if {*claim.needs} <= {*full}]
        assert not able or any(claim.verdict(True, "", full).conclusive for full in able), claim


@pytest.fixture
def trial(monkeypatch):
    catalogue()
    monkeypatch.setattr(framework, "_experiments", dict(framework._experiments))

    def enter(*verdicts):
        @experiment("quotas/trial", "A trial", full=settings(), quick=settings(rounds=5))
        def run(given, runner):
            """Return verdicts, judged in these settings."""
            return Report(verdicts=[claim.verdict(reproduced, "7", given) for claim, reproduced in verdicts])

        return find("quotas/trial")[0]

    return enter


def reproduce(tmp_path, *options):
    return CliRunner().invoke(app, ["reproduce", "quotas/trial", "--out", str(tmp_path), *options])


@pytest.mark.parametrize(
    ("verdicts", "quick", "full"),
    [
        ([(EXACT, True), (LARGE, False)], 0, 1),
        ([(EXACT, False), (LARGE, True)], 1, 1),
        ([(EXACT, True), (LARGE, True)], 0, 0),
        ([(LARGE, False)], 0, 1),
    ],
    ids=["small", "exact", "all", "alone"],
)
def test_strict_judges_conclusive_claims_alone(verdicts, quick, full, trial, tmp_path):
    trial(*verdicts)
    assert reproduce(tmp_path, "--quick", "--strict").exit_code == quick
    assert reproduce(tmp_path, "--strict").exit_code == full
    assert reproduce(tmp_path, "--quick").exit_code == reproduce(tmp_path).exit_code == 0


def test_table_report_and_json_say_inconclusive_and_what_is_needed(trial, tmp_path):
    trial((LARGE, False), (EXACT, False))
    said = " ".join(reproduce(tmp_path, "--quick").output.split())
    assert "inconclusive" in said
    written = (tmp_path / "quotas/trial/quick/report.md").read_text()
    assert "| inconclusive: needs rounds >= 100 |" in written
    assert "| not reproduced |" in written
    (body,) = json.loads(reproduce(tmp_path, "--quick", "--json").output)
    assert [(v["verdict"], v["needs"]) for v in body["verdicts"]] == [
        ("inconclusive", {"rounds": 100}),
        ("not reproduced", {}),
    ]


@pytest.mark.parametrize(
    ("slope", "word"), [(0.2, "reproduced"), (0.45, "inconclusive"), (0.55, "inconclusive"), (0.8, "not reproduced")]
)
def test_a_slope_whose_interval_holds_the_limit_tells_nothing(slope, word):
    claim = Claim("it grows slowly", "Theorem 0", "below 0.5", {"trials": 10})
    verdict = framework.slower(claim, slope, 0.1, 0.5, "here", {"trials": 20})
    assert verdict.word == word
    assert verdict.lacking == ({"trials": 80} if word == "inconclusive" else {})
