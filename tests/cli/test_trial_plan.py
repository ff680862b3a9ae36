"""A trial that is planned: power, type I error and successes of simulated trials."""

import pandas as pd

from evenhand.errors import ArgumentError
from tests.cli.shell import answer, as_json, cells, refused

PLAN = ["simulate", "--means", "old=0.2,new=0.7", "--rounds", 60, "--replications", 3, "--seed", 1, "--jobs", 1]
LOTTERY = ["-p", "deadline-learn+epsilon-greedy:lottery=1,epsilon=1", "--shares", "0.3", "-p", "ucb1"]
NAMED = ["--missing", 0.1, "--control", "old"]


def test_a_plan_states_each_arm_and_each_trial(tmp_path):
    printed = answer(*PLAN, *LOTTERY, *NAMED, "--out", tmp_path)
    assert "0.1 of the rewards missing" in printed
    written = pd.read_csv("characteristics.csv").query("policy == @LOTTERY[1] and variable == 'patients'")
    rows = {row[0]: row for row in cells(printed.partition("ucb1: each arm")[0].partition("3 simulated trials)")[2])}
    means = [f"{one.mean:.4g} +- {one.standard_error:.2g}" for one in written.drop(columns="level").itertuples()]
    assert rows["plays"][1:] == means  # too wide for a screen, so it is turned
    assert rows["shown to differ"][1] == "-"
    coverage = pd.read_csv("characteristics.csv").query("policy == @LOTTERY[1] and variable == 'coverage'")
    assert coverage["standard_error"].tolist()[1:] == [0.0]  # 3 of 3: an error of 0 would say too much
    assert rows["coverage"][2] == f"1 ({0.025 ** (1 / 3):.2g} to 1)"
    assert "\nucb1: no arm could be compared with the control. That takes" in printed
    assert f"\n{LOTTERY[1]}: no arm could" not in printed
    body = as_json(*PLAN, *LOTTERY, *NAMED)
    assert body["missing"] == 0.1
    found = pd.DataFrame(body["characteristics"])
    assert found[found.variable == "patients"].groupby("policy")["mean"].sum().tolist() == [60, 60, 60]
    equal = found[(found.policy == "equal allocation") & (found.arm == "new")].set_index("variable")
    assert abs(equal.loc["patients", "mean"] - 30) < 4 * (60 / 4 / 3) ** 0.5
    assert 0 < equal.loc["width", "mean"] < 1
    certain = found[(found.policy == "ucb1") & found.variable.isin(["shown", "coverage", "any_shown"])]
    assert certain["mean"].isna().all()


def test_what_no_trial_can_be_planned_for_is_refused():
    newer = "--control: expected one of the arms ['old', 'new'], got 'newer'"
    refused(ArgumentError, newer, *PLAN, "--control", "newer")
    changing = ["simulate", "quotas/drifting-arms", "--rounds", 5, "--control", 0]
    refused(ArgumentError, "--control: expected a world with outcomes of 0 and 1", *changing)
    refused(ArgumentError, "--means, new: expected a number", *PLAN[:1], "--means", "old=0.2,new=much")
    refused(ArgumentError, "missing: expected", *PLAN, "--missing", 1)
