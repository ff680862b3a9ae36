"""A store hands back what was played, and only that."""

import importlib
import itertools
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import evenhand as eh
from evenhand.errors import ArgumentError
from evenhand.learners import KLUCB, UCB1, Adapter, Thompson
from evenhand.quotas import BernoulliArms, FairLearn
from evenhand.simulation import replication_cache as module
from tests.naming import named
from tests.strategies import Stubborn

ARMS = {"a": 0.7, "b": 0.5}


def play(policies, store, world=None, **more):
    settings = {"rounds": 40, "seed": 3, "checkpoints": 4, "jobs": 1, "backend": "sequential"} | more
    return eh.simulate(policies, world or BernoulliArms(ARMS), store=store, **settings)


def files(folder):
    return sorted(folder.glob("*/*/*.npz"))


def test_a_store_tells_other_runs_apart_and_hands_each_back(tmp_path):
    """A new object of the same configuration is the same run, whatever seed its learner would have drawn."""
    log = pd.DataFrame({"arm": ["a", "b"] * 9, "reward": [0, 1] * 9})
    offers = np.random.default_rng(1).random((40, 2)) < 0.6
    offers[:, 0] |= ~offers[:, 1]
    fair = lambda learner, *more: FairLearn(learner, *more, arms=list(ARMS))  # noqa: E731
    free = lambda: eh.quotas.DeadlineLearn(UCB1(), {"a": 0, "b": 0.2})  # noqa: E731
    summed = lambda of: lambda log: log[["arm", of]].groupby("arm", as_index=False).sum()  # noqa: E731
    later = {9: {"a": 0.1, "b": 0.3}}
    runs = [
        lambda: play(fair(Thompson(), [0.2, 0.2]), tmp_path),
        lambda: play(fair(UCB1(), [0.2, 0.2]), tmp_path),
        lambda: play(fair(Thompson(), [0.2, 0.3]), tmp_path),
        lambda: play(fair(Thompson(), [0.2, 0.2], 1.0), tmp_path),
        lambda: play(UCB1(), tmp_path),
        lambda: play(KLUCB(), tmp_path),
        lambda: play(UCB1(), tmp_path, BernoulliArms({"a": 0.7, "b": 0.4})),
        lambda: play(UCB1(), tmp_path, seed=2),
        lambda: play(UCB1(), tmp_path, checkpoints=5),
        lambda: play(UCB1(), tmp_path, delay=20),
        lambda: play(UCB1(), tmp_path, learned=log),
        lambda: play(UCB1(), tmp_path, analyse=summed("propensity_a")),
        lambda: play(UCB1(), tmp_path, analyse=summed("propensity_b")),
        lambda: play(free(), tmp_path),
        lambda: play(free(), tmp_path, offers=offers),
        lambda: play(free(), tmp_path, offers=offers[::-1]),
        lambda: play(free(), tmp_path, offers=lambda t, rng: ["a"]),
        lambda: play(free(), tmp_path, offers=lambda t, rng: ["b"]),
        lambda: play(free(), tmp_path, changes=later),
        lambda: play(free(), tmp_path, changes=later, offers=offers),
    ]
    for number, run in enumerate(runs, start=1):
        xr.testing.assert_identical(run(), run())
        assert len(files(tmp_path)) == number


def test_the_order_of_the_policies_does_not_mix_them_up(tmp_path):
    first = play({"zero": Stubborn(0), "one": Stubborn(1)}, tmp_path)
    turned = play({"one": Stubborn(1), "zero": Stubborn(0)}, tmp_path)
    assert len(files(tmp_path)) == 2
    xr.testing.assert_identical(turned.sel(policy=["zero", "one"]), first)


def test_a_file_that_holds_objects_is_not_read(tmp_path):
    whole = play(UCB1(), tmp_path)
    (file,) = files(tmp_path)
    with np.load(file) as saved:
        np.savez(file, **{name: saved[name].astype(object) for name in saved.files})
    xr.testing.assert_identical(play(UCB1(), tmp_path), whole)
    with np.load(file, allow_pickle=False) as again:
        assert all(again[name].dtype != object for name in again.files), "it was played anew"


def test_names_that_no_file_can_have_are_kept(tmp_path):
    names = {"a/b": UCB1(), "a\0b": Stubborn(1), "x" * 500: Stubborn(0)}
    xr.testing.assert_identical(play(names, tmp_path), play(names, tmp_path))
    assert len(files(tmp_path)) == 3


def test_another_version_plays_anew(tmp_path, monkeypatch):
    play(UCB1(), tmp_path)
    monkeypatch.setattr(module, "__version__", "another")
    play(UCB1(), tmp_path)
    assert len(files(tmp_path)) == 2


def test_a_world_that_was_used_in_between_is_the_same_world(tmp_path):
    world = BernoulliArms(ARMS)
    play(UCB1(), tmp_path, world)
    world.reset(7)
    world.observe()
    play(UCB1(), tmp_path, world)
    assert len(files(tmp_path)) == 1


def constant(arm):
    return Adapter(object(), choose=lambda learner: arm, update=lambda learner, index, reward: None)


@pytest.mark.parametrize("around", [lambda learner: learner, lambda learner: FairLearn(learner, {"a": 0.1, "b": 0.1})])
def test_adapters_of_lambdas_are_told_apart_by_their_code_and_what_it_encloses(tmp_path, around):
    first = play(around(constant(0)), tmp_path)
    xr.testing.assert_identical(play(around(constant(0)), tmp_path), first)
    assert len(files(tmp_path)) == 1
    assert not play(around(constant(1)), tmp_path).pulls.equals(first.pulls)
    other = Adapter(object(), choose=lambda learner: 1 - 1, update=lambda learner, index, reward: None)
    play(around(other), tmp_path)
    assert len(files(tmp_path)) == 3


def test_what_cannot_be_told_apart_is_refused(tmp_path):
    policy = Stubborn(0)
    policy.hook = lambda: 0
    with pytest.raises(ArgumentError, match="store: a policy, the world or analyse cannot be identified"):
        play(policy, tmp_path)


@pytest.mark.parametrize("damage", [b"", b"PK", b"nonsense", None], ids=named)
def test_a_damaged_file_is_played_again(tmp_path, damage):
    whole = play(UCB1(), tmp_path)
    (file,) = files(tmp_path)
    file.write_bytes(file.read_bytes()[:-200] if damage is None else damage)
    xr.testing.assert_identical(play(UCB1(), tmp_path), whole)
    with np.load(file) as saved:
        assert saved.files


def test_an_empty_seed_file_is_drawn_again(tmp_path):
    (tmp_path / "seed").write_text("")
    drawn = play(UCB1(), tmp_path, seed=None)
    assert (tmp_path / "seed").read_text() == str(drawn.attrs["seed"])


@pytest.mark.parametrize(
    ("of", "file"),
    [*itertools.product(["policy", "world"], ["far_classes", "far_kernels"]), ("learner", "far_kernels")],
)
def test_code_that_changed_is_played_again_and_said(of, file, tmp_path, monkeypatch):
    """All stays but for the file of the class, or in another file a number in what the kernel of the class calls."""
    monkeypatch.syspath_prepend(tmp_path)

    def written(number):
        (tmp_path / "far_classes.py").write_text(
            "import far_kernels as far\n"
            "from evenhand.learners import UCB1\n"
            "from evenhand.policy import Kernels\n"
            "from evenhand.quotas import BernoulliArms\n"
            "class Mine(UCB1):\n"
            "    _kernels = Kernels(far.choose, UCB1._kernels.update)\n"
            "class Place(BernoulliArms):\n"
            f"    said, _kernels = {number * (file == 'far_classes')}, "
            "BernoulliArms._kernels._replace(respond=far.pay)\n"
        )
        (tmp_path / "far_kernels.py").write_text(
            "from evenhand.kernels.compose import kernel\n"
            "from evenhand.learners.indices import HIGHEST\n"
            "@kernel\n"
            f"def number():\n    return {number * (file == 'far_kernels')}\n"
            "@kernel\n"
            "def choose(params, state, contexts, round, waiting):\n    return number(), HIGHEST\n"
            "@kernel\n"
            "def pay(params, state, contexts, index):\n    return float(number())\n"
        )
        for name in ("far_kernels", "far_classes"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        found = importlib.import_module("far_classes")
        policy = FairLearn(found.Mine(), {"a": 0.1, "b": 0.1}) if of == "learner" else found.Mine()
        return (UCB1(), found.Place(ARMS)) if of == "world" else (policy, None)

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    policy, world = written(0)
    first = play(policy, tmp_path / "store", world)
    xr.testing.assert_identical(play(policy, tmp_path / "store", world), first)
    assert len(files(tmp_path / "store")) == 1
    policy, world = written(1)
    with pytest.warns(UserWarning, match="runs are played again, as the code of far_classes") as warned:
        second = play(policy, tmp_path / "store", world)
    name = "Place" if of == "world" else "Mine"
    assert [str(one.message).split()[-3] for one in warned] == [f"far_classes.{name}"]
    assert warned[0].filename == __file__
    assert len(files(tmp_path / "store")) == 2
    assert second.equals(first) == (file == "far_classes")
    xr.testing.assert_identical(second, play(policy, tmp_path / "other", world))


def test_a_sweep_names_each_class_whose_code_changed_in_words_that_python_shows_once(tmp_path, monkeypatch):
    def make(share):
        return FairLearn(UCB1(), {"a": share, "b": 0.1})

    def swept(replications):
        grid = {"share": [0.1, 0.2], "rounds": [10, 20]}
        settings = {"replications": replications, "seed": 1, "store": tmp_path, "jobs": 1}
        eh.simulation.sweep(make, BernoulliArms(ARMS), grid, **settings)

    swept(3)
    source = module._source
    monkeypatch.setattr(module, "_source", lambda cls: "another" if cls in (FairLearn, BernoulliArms) else source(cls))
    with pytest.warns(UserWarning, match="runs are played again") as warned:
        swept(2)
    classes = [f"{cls.__module__}.{cls.__qualname__}" for cls in (BernoulliArms, FairLearn)]
    assert sorted({str(one.message).split()[-3] for one in warned}) == sorted(classes)
    assert len({str(one.message) for one in warned}) == len(classes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        swept(2)


def test_code_in_no_file_is_known_by_its_methods(monkeypatch):
    def written(reward):
        names = {"__name__": "nowhere", "eh": eh}
        exec(f"class Place(eh.quotas.BernoulliArms):\n    def bonus(self):\n        return {reward}\n", names)
        return module.code_of({}, names["Place"](ARMS))

    assert written(1) == written(1) != written(2)
