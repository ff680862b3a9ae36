"""What is computed from the log of each simulated trial, and the operating characteristics that follow from it."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

import evenhand as eh
from evenhand.errors import ArgumentError
from evenhand.learners import UCB1, EpsilonGreedy
from evenhand.quotas import BernoulliArms, DeadlineLearn

RATES = {"control": 0.2, "A": 0.2, "B": 0.7}
SHARES = dict.fromkeys(RATES, 0.25)
RULE = DeadlineLearn(EpsilonGreedy(0.5), SHARES, 2, lottery=1)
WORLD = BernoulliArms(RATES)
SMALL = {"rounds": 80, "replications": 6, "seed": 1, "delay": ("geometric", 5), "missing": 0.1, "checkpoints": 4}


def kept(logs):
    """An analysis that keeps the logs which it is given."""

    def analyse(log):
        logs.append(log)
        return eh.effects(log, control="control").arms

    return analyse


@pytest.fixture(scope="module")
def trials():
    logs = []
    return eh.simulate(RULE, WORLD, **SMALL, jobs=1, backend="sequential", analyse=kept(logs)), logs


def test_a_trial_that_is_analysed_is_the_one_of_the_compiled_loop(trials):
    history, logs = trials
    plain = eh.simulate(RULE, WORLD, **SMALL, jobs=1)
    assert all(history[name].identical(plain[name]) for name in plain)
    assert history.attrs["missing"] == 0.1
    assert any(log["reward"].isna().any() for log in logs)
    for log, pulls in zip(logs, history.pulls.values[0, :, -1], strict=True):
        assert log["arm"].value_counts().reindex([*RATES]).tolist() == pulls.tolist()
        chances = log[[f"propensity_{arm}" for arm in RATES]].to_numpy()
        assert np.allclose(chances.sum(axis=1), 1)
        assert (chances >= 0.25 - 1e-9).sum() > 80
        assert log["status"].eq("forgotten").tolist() == log["reward"].isna().tolist()


def test_operating_characteristics_are_those_counted_from_the_logs(trials):
    history, logs = trials
    table = eh.trials.operating_characteristics(history, RATES, control="control").set_index(["variable", "arm"])
    mean, error = table["mean"], table["standard_error"]
    found = [eh.effects(log, control="control").arms.set_index("arm") for log in logs]
    for arm in RATES:
        plays = np.array([(log["arm"] == arm).sum() for log in logs])
        assert mean["patients", arm] == pytest.approx(plays.mean())
        assert error["patients", arm] == pytest.approx(plays.std(ddof=1) / 6**0.5)
        lost = [((log["arm"] == arm) & log["reward"].isna()).sum() for log in logs]
        assert mean["missing", arm] == pytest.approx(np.mean(lost))
        most = [1 / len(m) if arm in (m := log["arm"].mode().tolist()) else 0 for log in logs]
        assert mean["most_used", arm] == pytest.approx(np.mean(most))
    for arm in ("A", "B"):
        effect = RATES[arm] - 0.2
        rows = [one.loc[arm] for one in found]
        assert mean["shown", arm] == pytest.approx(np.mean([row.adjusted <= 0.05 for row in rows]))
        assert mean["bias", arm] == pytest.approx(np.mean([row.difference - effect for row in rows]))
        assert mean["coverage", arm] == pytest.approx(np.mean([row.low <= effect <= row.high for row in rows]))
        assert mean["width", arm] == pytest.approx(np.mean([row.high - row.low for row in rows]))
        covered = [row.low <= effect <= row.high for row in rows if not np.isnan(row.low)]
        ends = binomtest(sum(covered), len(covered)).proportion_ci(0.95, "exact")
        assert table.loc[("coverage", arm), ["low", "high"]].tolist() == pytest.approx([ends.low, ends.high])
    assert np.isnan(table.loc[("shown", "control"), ["mean", "low", "high"]].to_numpy(float)).all()
    whole = table.reset_index().set_index("variable")["mean"]
    assert whole["successes"] == pytest.approx(float(history.reward[0, :, -1].mean()))
    assert whole["successes_equal"] == pytest.approx(80 * np.mean([*RATES.values()]))
    assert whole["any_shown"] == pytest.approx(np.mean([(one.adjusted <= 0.05).any() for one in found]))


def test_a_trial_without_a_comparison_shows_nothing_for_any_arm_either():
    rule, rates = DeadlineLearn(EpsilonGreedy(1.0), {"c": 0, "a": 0}, lottery=1), {"c": 0, "a": 1}
    found = eh.trials.operating(rule, rates, patients=14, control="c", missing=0.6, replications=50, seed=1, jobs=1)
    shown, whole = found[found.arm == "a"].set_index("variable"), found[found.arm.isna()].set_index("variable")
    columns = ["mean", "low", "high"]
    assert whole.loc["any_shown", columns].tolist() == shown.loc["shown", columns].tolist()


def test_what_cannot_be_analysed_is_refused_by_name(trials):
    history, _ = trials
    small = {"rounds": 5, "seed": 1, "jobs": 1, "backend": "sequential"}
    for given in (3, lambda log: 1.0, lambda log: pd.DataFrame({"arm": ["A"], "x": ["b"]})):
        with pytest.raises(ArgumentError, match=r"^analyse: expected a function"):
            eh.simulate(RULE, WORLD, **small, analyse=given)
    with pytest.raises(ArgumentError, match=r"^analyse: expected columns that are no variables .* got 'reward'"):
        eh.simulate(RULE, WORLD, **small, analyse=lambda log: pd.DataFrame({"arm": ["A"], "reward": [1.0]}))
    two = DeadlineLearn(UCB1(), SHARES, plays=2)
    with pytest.raises(ArgumentError, match=r"^policies\['DeadlineLearn'\]: expected a policy that asks for one arm"):
        eh.simulate(two, WORLD, **small, analyse=len)
    ask = eh.trials.operating_characteristics
    with pytest.raises(ArgumentError, match=r"^history: expected a simulation with effects"):
        ask(eh.simulate(RULE, WORLD, **small), RATES, control="control")
    with pytest.raises(ArgumentError, match=r"^control: "):
        ask(history, RATES, control="D")
    with pytest.raises(ArgumentError, match=r"^means: expected a rate for each of the 3 arms"):
        ask(history, [0.2, 0.2], control="control")
    with pytest.raises(ArgumentError, match=r"^alpha: "):
        ask(history, RATES, control="control", alpha=0)
