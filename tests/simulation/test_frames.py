"""Histories as tables, and sweeps over settings."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import t

import evenhand as eh
from evenhand.errors import ArgumentError, TableError
from evenhand.quotas import BernoulliArms, FairUCB
from evenhand.simulation import replication_cache

WORLD = BernoulliArms([0.7, 0.4])


def fair(alpha):
    return {"fair": FairUCB([0.3, 0.3], alpha), "free": eh.learners.UCB1(arms=2)}


def test_a_history_as_a_table_has_students_intervals():
    history = eh.simulate(eh.learners.UCB1(), WORLD, rounds=60, replications=7, seed=1, checkpoints=3, jobs=1)
    found = eh.simulation.frame(history, last=False, level=0.9)
    assert found.columns.tolist() == [
        *("policy", "variable", "round", "arm", "mean", "standard_error", "low", "high", "level", "replications")
    ]
    one = found[(found.variable == "pulls") & (found["round"] == 40) & (found.arm == 1)].iloc[0]
    each = history.pulls.sel(round=40, arm=1).values.ravel()
    low, high = t.interval(0.9, 6, each.mean(), each.std(ddof=1) / np.sqrt(7))
    np.testing.assert_allclose([one["mean"], one.low, one.high], [each.mean(), low, high])
    assert (one.level, one.replications) == (0.9, 7)
    assert len(found[found.variable == "reward"]) == 3
    assert found[found.variable == "reward"].arm.isna().all()
    assert found.attrs == history.attrs


def test_no_interval_ends_below_what_a_variable_is_at_least():
    history = eh.simulate(eh.learners.UCB1(), WORLD, rounds=9, replications=3, seed=1, checkpoints=[1, 9], jobs=1)
    each = np.array([0.0, 0.0, 3.0])
    one = history.copy(deep=True)
    for name in ("regret", "reward"):
        one[name][..., 0] = each
    low, high = t.interval(0.95, 2, 1.0, each.std(ddof=1) / np.sqrt(3))
    found = eh.simulation.frame(one, last=False).query("round == 1").set_index("variable")
    assert low < 0
    np.testing.assert_allclose(found.loc["regret", ["mean", "low", "high"]].astype(float), [1.0, 0.0, high])
    np.testing.assert_allclose(found.loc["reward", ["mean", "low", "high"]].astype(float), [1.0, low, high])
    axes = eh.plots.plot_regret(one)
    assert min(axes.collections[0].get_paths()[0].vertices[:, 1]) == 0.0
    less = one.assign(regret=one.regret - one.regret.isel(replication=2))
    less.regret.attrs["valid_min"] = 0.0  # as it may be kept by arithmetic
    assert eh.simulation.frame(less).set_index("variable").loc["regret", "low"] < 0
    unbounded = [name for name in history.data_vars if "valid_min" not in history[name].attrs]
    assert unbounded == ["reward", "shortfall", "worst_shortfall", "r_regret"]


def test_replications_without_a_value_count_for_no_interval():
    """As of an effect, in trials in which an arm could not be compared."""
    history = eh.simulate(eh.learners.UCB1(), WORLD, rounds=9, replications=5, seed=1, jobs=1)
    each = np.array([1.0, np.nan, 3.0, np.nan, 8.0])
    one = history.assign(reward=history.reward * 0 + xr.DataArray(each, dims="replication"))
    found = eh.simulation.frame(one).set_index("variable").loc["reward"]
    known = each[~np.isnan(each)]
    error = known.std(ddof=1) / np.sqrt(3)
    low, high = t.interval(0.95, 2, 4.0, error)
    np.testing.assert_allclose(found[["mean", "standard_error", "low", "high"]].astype(float), [4.0, error, low, high])
    alone = one.assign(reward=one.reward.where(one.reward > 5))
    found = eh.simulation.frame(alone).set_index("variable").loc["reward"]
    assert found[["standard_error", "low", "high"]].isna().all()


def test_one_replication_has_no_error():
    found = eh.simulation.frame(eh.simulate(eh.learners.UCB1(), WORLD, rounds=9, seed=1, jobs=1))
    assert found[["standard_error", "low", "high"]].isna().all(axis=None)
    assert not found[found.variable == "reward"]["mean"].isna().any()


def test_an_error_that_is_rounding_alone_is_none():
    """Sums of tenths differ in their last digit only."""
    history = eh.simulate(eh.learners.UCB1(), WORLD, rounds=9, replications=3, seed=1, jobs=1).isel(round=[-1])
    each = np.array([0.1 + 0.2, 0.3, 0.3])
    history["regret"] = history.regret.copy(data=1e6 * each[None, :, None])
    history["reward"] = history.reward.copy(data=np.array([1.0, 1.0, 1.0 + 1e-9])[None, :, None])
    found = eh.simulation.frame(history).set_index("variable")["standard_error"]
    assert each.std() > 0
    assert found["regret"] == 0
    assert found["reward"] == pytest.approx(1e-9 / 3, rel=1e-6)


def test_a_sweep_is_the_simulations_of_its_settings():
    grid = {"alpha": [0, 5], "rounds": [40, 80]}
    found = eh.simulation.sweep(fair, lambda alpha: BernoulliArms([0.7, 0.4 + alpha / 100]), grid, seed=3, jobs=1)
    alone = eh.simulate(fair(5), BernoulliArms([0.7, 0.45]), rounds=80, seed=3, checkpoints=1, jobs=1)
    at = (found.alpha == 5) & (found.rounds == 80) & (found.policy == "fair") & (found.variable == "reward")
    assert found[at]["mean"].tolist() == [float(alone.reward.sel(policy="fair").squeeze())]
    assert len(found.groupby(["alpha", "rounds", "policy"])) == 8
    assert {name: found.attrs[name] for name in ("seed", "world")} == {"seed": 3, "world": "BernoulliArms"}
    assert "rounds" not in found.attrs
    assert found.attrs["made_of"][0] == f"evenhand {eh.__version__}"
    begins = sorted(line.partition("(")[0] for line in found.attrs["made_of"][1:])
    assert begins == ["fair: FairUCB", "fair: FairUCB", "free: UCB1", "world: BernoulliArms", "world: BernoulliArms"]


def test_a_sweep_goes_on_where_it_stopped(tmp_path, monkeypatch):
    settings = {"rounds": 30, "replications": 2, "store": tmp_path, "jobs": 1}
    first = eh.simulation.sweep(fair, WORLD, {"alpha": [0, 1]}, **settings)
    played = []
    monkeypatch.setattr(replication_cache.ReplicationCache, "write", lambda self, name, *rest: played.append(name))
    again = eh.simulation.sweep(fair, WORLD, {"alpha": [0, 1, 2]}, **settings)
    assert sorted(played) == ["fair", "fair", "free", "free"]
    assert again[again.alpha < 2].reset_index(drop=True).equals(first)


@pytest.mark.parametrize(
    ("grid", "rounds", "words"),
    [
        ({"alpha": []}, 10, "grid: expected a dict setting -> list of values"),
        ({}, 10, "grid: expected a dict setting -> list of values"),
        ({"alpha": "01"}, 10, "grid: expected a dict setting -> list of values"),
        ({"alpha": [0], "beta": [1]}, 10, "grid: expected settings that make, or a function world=, takes, got 'beta'"),
        ({"alpha": [0]}, None, "rounds: expected a whole number >= 1, here or in the grid"),
    ],
)
def test_a_sweep_over_nothing_is_refused(grid, rounds, words):
    with pytest.raises(ArgumentError, match=words):
        eh.simulation.sweep(fair, WORLD, grid, rounds=rounds)


def test_what_is_no_history_is_refused():
    history = eh.simulate(eh.learners.UCB1(), WORLD, rounds=9, seed=1, jobs=1)
    with pytest.raises(ArgumentError, match=r"history: expected what eh\.simulate returns"):
        eh.simulation.frame(history.isel(policy=0))
    with pytest.raises(ArgumentError, match="level"):
        eh.simulation.frame(history, level=95)
    with pytest.raises(ArgumentError, match="digits"):
        eh.simulation.latex(eh.simulation.frame(history), digits=0)
    with pytest.raises(TableError, match="table: expected a pandas DataFrame"):
        eh.simulation.latex(history)


def test_latex_leaves_out_what_has_no_value_and_puts_a_dash_where_one_is_missing():
    history = eh.simulate(eh.learners.UCB1(), WORLD, rounds=9, replications=2, seed=1, jobs=1)
    head, *rows = eh.simulation.latex(eh.simulation.frame(history)).splitlines()[2:-2]
    assert head.split(" & ")[:5] == ["policy", "variable", "round", "arm", "mean"]
    cells = [row.split(" & ") for row in rows[1:]]
    shown = [("pulls", "0"), ("pulls", "1"), ("reward", "--"), ("forced", "--"), ("regret", "--")]
    assert [(row[1], row[3]) for row in cells] == shown
    one = eh.simulation.frame(history.isel(replication=[0]))
    regret = eh.simulation.latex(one[one.variable == "regret"]).splitlines()
    assert regret[2] == r"policy & variable & round & mean & level & replications \\"
    assert "nan" not in "\n".join([*rows, *regret])
    beside = one.assign(policy="other", mean=one["mean"].fillna(0.25))
    both = eh.simulation.latex(pd.concat([one, beside])[["policy", "variable", "mean"]]).splitlines()
    assert [row.split(" & ")[::2] for row in both if r"worst\_shortfall" in row] == [
        ["UCB1", r"-- \\"],
        ["other", r"0.25 \\"],
    ]
    promised = eh.simulation.latex(one[one.variable == "violations"]).splitlines()
    assert promised[2].count(" & ") == one.shape[1] - 1
    assert promised[4] == r"\bottomrule"
