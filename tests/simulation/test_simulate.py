"""`simulate`: one dataset whatever runs it, checkpoints, common random numbers, what is counted every round."""

import inspect
import math
import re
import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand import Promise, registry
from evenhand.checks import examples
from evenhand.errors import ArgumentError, MissingExtraError
from evenhand.groups import BiasedLinearArms
from evenhand.learners import UCB1, Thompson
from evenhand.protocol import Decision
from evenhand.quotas import BernoulliArms, DeadlineLearn, DriftingArms, FairLearn, FairUCB, LoggedArms
from evenhand.similarity import LinearContexts, MahalanobisOracle
from evenhand.simulation.history import variables
from evenhand.simulation.loop import replicate
from evenhand.simulation.measures import fair_regret, regret
from evenhand.simulation.simulate import _described
from tests.fuzzing import many
from tests.naming import named
from tests.reference import quotas as slow
from tests.strategies import Scripted, Stubborn, any_shares

WORLD = BernoulliArms({"a": 0.7, "b": 0.5, "c": 0.4})
SHARES = {"a": 0.2, "b": 0.3, "c": 0.25}


def both(seed=7, **more):
    policies = {"Fair-UCB": FairUCB(SHARES), "Thompson": Thompson()}
    return eh.simulate(policies, WORLD, **{"rounds": 400, "replications": 3, "seed": seed, "checkpoints": 8} | more)


@pytest.fixture(scope="module")
def history():
    return both(jobs=1, backend="sequential")


@pytest.mark.parametrize(("jobs", "backend"), [(1, None), (2, "threading"), (2, "loky"), (-1, None), (1, "loky")])
def test_the_dataset_depends_on_neither_jobs_nor_backend(history, jobs, backend):
    xr.testing.assert_identical(both(jobs=jobs, backend=backend), history)


def test_the_seed_decides(history):
    assert not both(seed=8).reward.equals(history.reward)
    assert both(seed=np.random.default_rng(1)).identical(both(seed=np.random.default_rng(1)))
    drawn = both(seed=None)
    xr.testing.assert_identical(both(seed=drawn.attrs["seed"]), drawn)


def test_a_replication_is_the_same_however_many_there_are(history):
    xr.testing.assert_equal(both(replications=5).isel(replication=slice(3)), history)


def test_a_policy_is_the_same_whoever_else_plays(history):
    alone = eh.simulate({"Thompson": Thompson()}, WORLD, rounds=400, replications=3, seed=7, checkpoints=8)
    np.testing.assert_array_equal(alone.pulls, history.pulls.sel(policy=["Thompson"]))


def test_the_history_has_the_named_dimensions_and_units(history):
    assert dict(history.sizes) == {"policy": 2, "replication": 3, "round": 8, "arm": 3}
    assert list(history.arm.values) == ["a", "b", "c"]
    assert set(history.data_vars) == {
        *("pulls", "reward", "forced", "regret", "r_regret", "shortfall", "worst_shortfall", "violations")
    }
    assert history.pulls.dims == ("policy", "replication", "round", "arm")
    assert history.regret.dims == ("policy", "replication", "round")
    assert all(variable.attrs["long_name"] for variable in history.data_vars.values())
    assert (history.attrs["seed"], history.attrs["world"], history.attrs["rounds"]) == (7, "BernoulliArms", 400)


def test_the_history_says_what_made_it_and_of_how_many_replications(history):
    python = ".".join(map(str, sys.version_info[:3]))
    about = {"replications": 3, "evenhand": eh.__version__, "python": python, "numpy": np.__version__}
    assert history.attrs.items() >= about.items()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", history.attrs["date"])


@pytest.mark.parametrize("entry", registry.entries(), ids=lambda entry: entry.name)
def test_a_description_states_every_argument_that_is_no_default(entry):
    """All but seeds and tables; worlds that no simulation plays have none."""
    for example in examples(entry.cls):
        thing = example if entry.kind == "world" else example[0]
        if not hasattr(thing, "arms") and entry.kind == "world":
            continue
        for name, one in inspect.signature(entry.cls).parameters.items():
            if name not in ("seed", "frame"):
                assert f"{name}=" in _described(thing) or getattr(thing, name, ...) == one.default, name


@pytest.mark.parametrize(
    ("make", "values"),
    [
        (lambda value: BiasedLinearArms(arms=6, sensitive=3, bias=value), (10.0, 3.0)),
        (lambda value: DriftingArms([0.5, 0.4], value, period=9), (0.1, 0.2)),
        (lambda value: LinearContexts([0.5, 0.3], MahalanobisOracle([[0.4, value]])), (0.1, 0.2)),
    ],
)
def test_worlds_that_differ_are_described_differently(make, values):
    assert len({_described(make(value)) for value in values}) == len(values)


def test_arms_of_numbers_and_texts_keep_their_labels():
    history = eh.simulate(Stubborn(1), BernoulliArms({"a": 0.5, 1: 0.4, 2: 0.3}), rounds=5, seed=1, jobs=1)
    assert history.arm.values.tolist() == ["a", 1, 2]
    assert history.pulls.sel(arm=1).isel(round=-1).item() == 5
    assert history.pulls.sel(arm="a").isel(round=-1).item() == 0


def test_every_round_is_a_pull_and_the_gaps_make_the_regret(history):
    assert (history.pulls.sum("arm") == history["round"]).all()
    gaps = xr.DataArray([0.0, 0.2, 0.3], dims="arm")
    np.testing.assert_allclose(history.regret, (history.pulls * gaps).sum("arm"), rtol=1e-12)
    for policy in history.policy.values:
        for t in history["round"].values:
            owed = np.array([np.floor(0.2 * t + 1e-9), np.floor(0.3 * t + 1e-9), np.floor(0.25 * t)])
            here = history.sel(policy=policy, round=t)
            np.testing.assert_allclose(here.r_regret, ((here.pulls - owed) * gaps).sum("arm"), atol=1e-9)


def test_r_regret_by_hand():
    """Four rounds, pulls (3, 1), shares (1/4, 1/2), alpha 0.5: 0.2 * (1 - max(0, 2 - 0.5)) = -0.1."""
    promise = Promise([0.25, 0.5], 0.5)
    gaps, pulls, rounds = np.array([0.0, 0.2]), np.array([[1, 0], [3, 1]]), np.array([1, 4])
    np.testing.assert_allclose(regret(pulls, gaps), [0.0, 0.2])
    np.testing.assert_allclose(fair_regret(pulls, gaps, promise, rounds), [0.0, 0.2 * (1 - 1.5)])


def test_policies_see_common_random_numbers():
    """With equal means the reward of a round is the same whichever arm is pulled."""
    world = BernoulliArms([0.5, 0.5])
    history = eh.simulate({"0": Stubborn(0), "1": Stubborn(1)}, world, rounds=200, replications=2, seed=3, jobs=1)
    first, second = history.reward.sel(policy="0"), history.reward.sel(policy="1")
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first.sel(replication=0), first.sel(replication=1))


@pytest.mark.parametrize(
    ("checkpoints", "spacing", "rounds", "kept"),
    [
        (4, "even", 100, [25, 50, 75, 100]),
        (1, "even", 100, [100]),
        (3, "log", 100, [1, 10, 100]),
        (6, "log", 9, [1, 2, 3, 4, 6, 9]),
        ([10, 3, 3, 77], "even", 100, [3, 10, 77, 100]),
        (np.array([100]), "even", 100, [100]),
        (10**15, "even", 10, [*range(1, 11)]),
        (10**15, "log", 10, [*range(1, 11)]),
    ],
)
def test_checkpoints(checkpoints, spacing, rounds, kept):
    history = eh.simulate(Stubborn(1), WORLD, rounds=rounds, checkpoints=checkpoints, spacing=spacing, seed=1, jobs=1)
    assert history["round"].values.tolist() == kept
    assert history.pulls.sel(arm="b").values.ravel().tolist() == history["round"].values.tolist()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rounds": 0}, "rounds: expected a whole number >= 1, got 0"),
        ({"rounds": 10.0}, "rounds: expected a whole number"),
        ({"replications": 0}, "replications: expected a whole number >= 1"),
        ({"rounds": 10**8, "checkpoints": 10**7 + 1}, "checkpoints: expected at most 10000000 of them"),
        ({"checkpoints": 0}, "checkpoints: expected a number >= 1, or rounds from 1 to 10"),
        ({"seed": -3}, "seed: expected an int >= 0"),
        ({"checkpoints": [0, 5]}, "checkpoints: expected"),
        ({"checkpoints": [5, 11]}, "checkpoints: expected"),
        *(({"missing": share}, "missing: expected") for share in (-0.1, 1.0, "many", True)),
        ({"spacing": "odd"}, "spacing: expected one of 'even', 'log'"),
        ({"jobs": 0}, "jobs: expected a number of processes or threads"),
        ({"backend": "no-such"}, "backend: expected a joblib backend"),
        ({"policies": []}, "policies: expected a policy, a list of policies, or a dict name -> policy"),
        ({"policies": {}}, "policies: expected a policy, a list of policies, or a dict name -> policy"),
        ({"policies": None}, "an object with ask and tell, or choose and update"),
        ({"policies": FairUCB}, "an object with ask and tell, or choose and update"),
        ({"policies": {"x": 3}}, r"policies\['x'\]: expected an object with ask and tell"),
        ({"policies": {1: Stubborn(0)}}, "names that are text"),
    ],
    ids=named,
)
def test_what_cannot_be_simulated_is_refused(settings, words):
    with pytest.raises(ArgumentError, match=words):
        eh.simulate(**{"policies": FairUCB(SHARES), "world": WORLD, "rounds": 10, **settings})


@pytest.mark.parametrize(("backend", "modules"), [("ray", ["ray", "ray.util.joblib"]), ("dask", ["distributed"])])
def test_a_cluster_whose_library_is_not_installed_is_asked_for_by_name(backend, modules, monkeypatch):
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"needs .*: pip install 'evenhand\[{backend}\]'"):
        eh.simulate(FairUCB(SHARES), WORLD, rounds=10, backend=backend)


# ---------------------------------------------------------------------------- counted at every round


@settings(max_examples=many(60))
@given(
    shares=any_shares(5),
    tolerance=st.sampled_from([0.0, 0.5, 1.0, 3.7]),
    wishes=st.lists(st.integers(0, 4), min_size=1, max_size=40),
)
def test_the_books_of_a_simulation_are_those_of_a_python_loop(shares, tolerance, wishes):
    k = len(shares)
    wishes = [wish % k for wish in wishes]
    promise = Promise(shares, tolerance)
    world, kept = BernoulliArms([0.5] * k), np.array([1, 7, 50, 120])
    run = {"policy_seed": 1, "world_seed": 1, "checkpoints": kept, "stop": lambda done: None}
    trace = replicate(Scripted(wishes), world, promise, **run)
    found = variables(trace, world, promise, kept)
    for row, t in enumerate(kept.tolist()):
        expected = slow.audit(promise.shares, tolerance, [wishes[i % len(wishes)] for i in range(t)])
        assert found["pulls"][1][row].tolist() == expected["pulls"]
        owed = [place for place, share in enumerate(promise.shares) if share]
        worst = max((float(expected["worst"][place]) for place in owed), default=math.nan)
        assert found["worst_shortfall"][1][row] == pytest.approx(worst, abs=1e-9, nan_ok=True)
        assert found["violations"][1][row] == sum(expected["by_arm"])
        behind = slow.shortfalls(promise.shares, expected["pulls"], t)
        now = max((float(behind[place]) for place in owed), default=math.nan)
        assert found["shortfall"][1][row] == pytest.approx(now, abs=1e-9, nan_ok=True)


def test_what_the_quota_decided_is_counted():
    """A learner that wants one arm: everything that another arm got was forced."""
    policies = {"foreign": FairLearn(Stubborn(0), SHARES), "deadline": DeadlineLearn(Stubborn(0), SHARES)}
    history = eh.simulate(policies, WORLD, rounds=300, seed=1, jobs=1)
    others = history.pulls.sel(arm=["b", "c"]).sum("arm")
    forced_on_a = history.forced - others
    assert (history.forced.sel(policy="deadline") >= others.sel(policy="deadline")).all()
    assert (forced_on_a >= 0).all()
    assert others.isel(round=-1).values.ravel().tolist() == [90 + 75, 90 + 75]


def test_a_promise_of_one_policy_measures_the_others():
    history = eh.simulate({"fair": FairUCB(SHARES), "free": UCB1()}, WORLD, rounds=2000, seed=1)
    assert float(history.violations.sel(policy="fair").max()) == 0
    assert float(history.violations.sel(policy="free").max()) > 0
    nothing = DeadlineLearn(UCB1(), dict.fromkeys(SHARES, 0))
    under = eh.simulate({"fair": FairUCB(SHARES), "nothing": nothing}, WORLD, rounds=2000, seed=1)
    assert float(under.violations.sel(policy="nothing").max()) > 0
    alone = eh.simulate(UCB1(), WORLD, rounds=50, seed=1)
    assert np.isnan(alone.worst_shortfall).all()
    assert np.isnan(alone.r_regret).all()
    assert "share" not in alone.coords


# ---------------------------------------------------------------------------- worlds


def test_bernoulli_arms_pay_as_often_as_their_means():
    """n = 16,000 rounds an arm; a miss of 0.02 has probability below 2 exp(-2 n 0.02^2) < 6e-6 by Hoeffding."""
    n = 16_000
    history = eh.simulate({str(i): Stubborn(i) for i in range(3)}, WORLD, rounds=n, checkpoints=1, seed=2, jobs=1)
    np.testing.assert_allclose(history.reward.values.ravel() / n, [0.7, 0.5, 0.4], atol=0.02)


def test_logged_arms_pay_only_what_was_logged_for_the_arm_with_its_mean():
    """n = 20,000 draws an arm from [0, 1]; a miss of 0.03 has probability below 2 exp(-2 n 0.03^2) < 5e-16."""
    log = pd.DataFrame({"item": list("babbac"), "pay": [0.25, 1.0, 0.5, 0.25, 0.0, 0.125]})
    world = LoggedArms(log, arm="item", reward="pay")
    assert world.arms == ("a", "b", "c")
    assert world.means.tolist() == pytest.approx([0.5, 1 / 3, 0.125])
    assert world.gaps.tolist() == pytest.approx([0.0, 1 / 6, 0.375])
    world.reset(3)
    n = 20_000
    for index, logged in enumerate(({0.0, 1.0}, {0.25, 0.5}, {0.125})):
        drawn = [world.respond(Decision(1, 1, "", index, None, ""))[0] for _ in range(n)]
        assert set(drawn) == logged
        assert abs(np.mean(drawn) - world.means[index]) < 0.03


LOG = {"item": ["a", "b", "a"], "pay": [0.0, 1.0, 0.5]}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"pay": [0.0, np.nan, 1.0]}, r"column 'pay', row 2: the cell is empty"),
        ({"pay": [0.0, 1.0, 1.5]}, r"column 'pay', row 3: expected numbers in \[0, 1\], got .*1\.5.*scale"),
        ({"pay": ["0", "yes", "1"]}, r"column 'pay', row 2: expected numbers in \[0, 1\], got 'yes'"),
        ({"item": ["a", "a", "a"]}, "at least two arms"),
        ({"item": [], "pay": []}, "no rows"),
    ],
    ids=named,
)
def test_a_log_that_cannot_be_resampled_is_refused_with_row_and_column(change, words):
    with pytest.raises(ArgumentError, match=words):
        LoggedArms(pd.DataFrame({**LOG, **change}), arm="item", reward="pay")
