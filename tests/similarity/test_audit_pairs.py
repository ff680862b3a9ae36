"""A person audits at the terminal."""

import pandas as pd
import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand.cli import app

RUN = CliRunner()


@pytest.fixture
def people(tmp_path):
    file = tmp_path / "people.csv"
    frame = pd.DataFrame({"age": [30, 40, 50, 35, 61], "income": [1.0, 2.0, 4.0, 3.0, 0.5], "repaid": [0, 1, 1, 0, 1]})
    frame.to_csv(file, index=False)
    return [str(file), "--features", "age, income", "--reward", "repaid", "--seed", "3"]


def test_verdicts_are_taken_kept_and_taken_up_again(people, tmp_path):
    state = tmp_path / "policy.eh"
    first = RUN.invoke(
        app, ["audit-pairs", *people, "--rounds", "6", "--state", str(state)], input="a\nu\nwhat\n\n" + "a\n" * 40
    )
    assert first.exit_code == 0, first.output
    assert "[u]nfair" in first.output
    assert "Please answer" in first.output
    assert "probability" in first.output
    assert "repaid" not in first.output.replace("--reward repaid", "")
    policy = eh.load(state)
    given = len(policy.metric.verdicts)
    assert given > 2
    assert {v.unfair for v in policy.metric.verdicts} == {True, False}
    second = RUN.invoke(app, ["audit-pairs", *people, "--rounds", "20", "--state", str(state)], input="q\n")
    assert second.exit_code == 0, second.output
    assert "0 verdicts given" in second.output
    assert eh.load(state).round > 6


def test_unsure_teaches_nothing(people):
    done = RUN.invoke(app, ["audit-pairs", *people, "--rounds", "4"], input="\n" * 40)
    assert done.exit_code == 0, done.output
    assert "0 verdicts given, 0 in the log" in done.output


def test_a_foreign_state_is_refused(people, tmp_path):
    state = tmp_path / "other.eh"
    eh.save(eh.quotas.FairUCB([0.2, 0.2]), state)
    refused = RUN.invoke(app, ["audit-pairs", *people, "--state", str(state)])
    assert refused.exit_code != 0
    assert "--state: wanted a LipschitzUCB for 2 features" in str(refused.exception)
