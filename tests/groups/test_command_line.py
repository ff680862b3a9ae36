"""`evenhand simulate` on worlds with groups and on the user's own table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evenhand.errors import EvenhandError
from evenhand.groups import BiasedLinearArms, GroupFairTopInterval
from evenhand.quotas import FairLearn
from tests.cli.shell import answer, as_json, call, refused

pytestmark = pytest.mark.slow

SEEDED = ("--replications", 2, "--seed", 1, "--jobs", 1)
SHORT = (*SEEDED, "--rounds", 300)


@pytest.fixture
def loans(tmp_path):
    rng = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame({"age_band": rng.choice(["old", "young"], n), "sex": rng.choice(["F", "M"], n)})
    frame["income"] = rng.gamma(3, 12000, n).round()
    frame["repaid"] = 0.2 * frame["income"] * np.where(frame["sex"] == "F", 0.8, 1.0) + rng.normal(0, 50, n)
    path = tmp_path / "loans.csv"
    frame.to_csv(path, index=False)
    return ["simulate", "--data", path, "--arm", "age_band,sex", "--group", "sex", "--reward", "repaid"]


def test_own_table(loans, tmp_path):
    body = as_json(*loans, "--sensitive", "F", "--out", tmp_path / "out", *SHORT)
    named = [row["policy"] for row in body["policies"]]
    assert named == ["group-fair-top-interval", "top-interval"]
    for row in body["policies"]:
        assert row["share_of_F"] + row["share_of_M"] == pytest.approx(1.0)
        assert 0 <= row["selection_rate_ratio"] <= 1
    rows = [(b["group"], b["reference"], b["feature"]) for b in body["bias"]]
    assert rows == [("F", "M", "income"), ("F", "M", "intercept")]
    assert body["bias"][0]["low"] < -0.04 < body["bias"][0]["high"] + 0.02
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"history.nc", "bias.csv", "bias.png", "groups.png", "perceived_regret.png"} <= written
    assert (body["bias_level"], body["bias_intervals"]) == (0.95, "all hold together; intercept: at the average person")
    table = pd.read_csv(tmp_path / "out" / "bias.csv")
    assert table["made_with"].str.contains("^seed 1; .*; evenhand ").all()
    assert ({*table["level"]}, {*table["intervals"]}) == ({body["bias_level"]}, {body["bias_intervals"]})


def test_the_form_that_lifts_a_group_has_a_name_of_its_own_and_its_warning_stands_before_the_tables(loans):
    lifted = (*loans, "--sensitive", "F", *SHORT, "-p")
    usual = as_json(*lifted, "group-fair-top-interval")
    assert usual["policies"][0]["share_of_F"] < 0.65
    assert ["choices are drawn at random" in note for note in usual["notes"]] == [True]
    words = " ".join(answer(*lifted, "two-group-top-interval").split())
    assert words.index("adds both groups' widths") < words.index("Rewards (means over")
    found = as_json(*lifted, "fair-learn+two-group-top-interval", "--shares", 0.1)
    assert any("widths" in note for note in found["notes"])


def test_a_group_that_says_too_little_is_left_out_and_a_column_of_ages_refused(loans, tmp_path):
    """A stray row of a third sex has an interval of hundreds; of years the most are as unknown."""
    frame = pd.read_csv(tmp_path / "loans.csv").assign(years=lambda f: 18 + f.index // 2 % 60)
    frame.loc[0, "sex"] = "X"
    frame.to_csv(tmp_path / "loans.csv", index=False)
    given = (*loans[:3], "--reward", "repaid", "--features", "income", "-p", "top-interval", *SHORT, "--group")
    words = " ".join(answer(*given, "sex").split())
    assert words.count("Mean repaid is") == 2
    assert words.count("1 of 3 groups of 'sex', with under 1% of the rows") == 1
    few = pd.concat([frame] * 2).assign(sex=["X"] * 9 + ["F", "M"] * 395 + ["F"])
    few.assign(repaid=few.index % 2).to_csv(tmp_path / "loans.csv", index=False)
    words = " ".join(answer(*given, "sex").split())
    assert words.count("Mean repaid is") == 2
    assert "1 of 3 groups of 'sex', with 1% of the rows, have too few rows to be compared: 'X'." in words
    assert words.count("of 3 groups") == 1
    refused(EvenhandError, "--group: expected groups with enough rows to be compared, got 60 groups", *given, "years")


def test_an_interval_of_two_replications_keeps_within_the_rewards_of_the_table(loans):
    rows, repaid = as_json(*loans, *SEEDED, "--rounds", 6)["policies"], pd.read_csv(loans[2])["repaid"]
    assert all(repaid.min() <= row["reward_low"] <= row["reward_a_round"] <= row["reward_high"] for row in rows)
    assert any(row["reward_low"] == pytest.approx(repaid.min()) for row in rows)
    assert all(row["reward_high"] <= repaid.max() for row in rows)


def test_registered_world():
    world = ("simulate", "groups/biased-linear-arms", *SHORT, "-p")
    body = as_json(*world, "group-fair-top-interval")
    assert {"true_regret", "biased_regret", "perceived_regret", "share_of_sensitive"} <= set(body["policies"][0])
    assert {(row["group"], row["reference"]) for row in body["bias"]} == {("sensitive", "reference")}
    said = "of the bias, if the groups' arms are worth the same on average; from one conversation of"
    assert body["bias_intervals"].startswith(said)
    assert body["bias_policy"] == "group-fair-top-interval"
    assert "bias" not in as_json(*world, "top-interval")


def test_the_bias_is_that_of_the_policy_which_learned_it(tmp_path):
    """Played again from Python, with the settings that the shell was given, through the quota as well."""
    world = BiasedLinearArms(arms=6, sensitive=3)
    policy = FairLearn(GroupFairTopInterval(world.groups, intercept=True, cold_start="minimum_norm"), 0.05, arms=6)
    policy = policy.fresh(seed=1)
    world.reset(1)
    for _ in range(60):
        decision = policy.ask(*world.observe())
        policy.tell(decision, *world.respond(decision))
    spec = "fair-learn+group-fair-top-interval:intercept=true,horizon=null"
    given = ["-p", "top-interval", "-p", spec, "--shares", 0.05, "--out", tmp_path]
    given += ["--rounds", 60, "--replications", 1, "--seed", 1]
    said = answer("simulate", "groups/biased-linear-arms:arms=6,sensitive=3", *given)
    table = pd.read_csv(tmp_path / "bias.csv")
    numbers = ["bias", "low", "high"]
    pd.testing.assert_frame_equal(table[numbers], policy.learner.bias("reference")[numbers])
    assert {*table["policy"]} == {spec}
    assert f"Bias by feature that {spec}"[:40] in " ".join(said.split())


def test_a_bias_without_an_interval_is_shown_with_the_reason():
    """Of a single reference arm nobody knows how much arms of its group differ."""
    world = "groups/biased-linear-arms:arms=4,groups=r,s,s,s,sensitive=s"
    arguments = ("simulate", world, "-p", "group-fair-top-interval", *SHORT)
    found, words = as_json(*arguments)["bias"], " ".join(answer(*arguments).split())
    assert [(row["group"], row["low"]) for row in found] == [("s", None), ("s", None)]
    for row in found:
        assert f"│ s │ r │ {row['feature']} │ {row['bias']:.4g} │ - │ - │" in words
    assert "No interval (-): these plays, or one arm of a group, do not show how much its arms differ." in words


@pytest.mark.parametrize(
    ("named", "learner"),
    [
        ([], "group-fair-top-interval"),
        (["-p", "top-interval"], "top-interval"),
        (["-p", "two-group-top-interval", "--sensitive", "F"], "two-group-top-interval"),
    ],
)
def test_a_policy_of_groups_is_compared_under_the_promise_of_a_file(loans, tmp_path, named, learner):
    (tmp_path / "p.toml").write_text("[shares]\nF = 0.3\n")
    by_group = (*loans[:3], *loans[5:], "--promise", tmp_path / "p.toml", *named, *SEEDED, "--rounds", 40)
    rows = {row["policy"]: row["promise_kept"] for row in as_json(*by_group)["policies"]}
    assert list(rows) == [learner, f"{learner} under the promise"]
    assert rows[f"{learner} under the promise"] is True


def test_a_sensitive_group_of_two_people_is_refused_before_others_are_answered(loans):
    frame = pd.read_csv(loans[2])
    frame.loc[:1, "sex"] = "unknown"
    frame.to_csv(loans[2], index=False)
    done = call(*loans, "--sensitive", "unknown", *SHORT)
    assert "expected a group with enough rows to be compared, got 'unknown', which has 2" in str(done.exception)
    assert not done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sensitive", "X"], "sensitive"),
        (["quotas/bernoulli-arms"], "--data: expected nothing together with WORLD"),
        (["-p", "two-group-top-interval"], "two-group-top-interval: needs --sensitive GROUP"),
    ],
)
def test_refusals(loans, arguments, words):
    refused(EvenhandError, words, *loans, *arguments, *SHORT)


def test_group_rules_need_groups():
    refused(EvenhandError, "--group", "simulate", "quotas/bernoulli-arms", "-p", "top-interval", *SHORT)
