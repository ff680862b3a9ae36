"""The experiments run, the command writes what it says, and the data sets hold what their pages say."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from evenhand.experiments.framework import Runner, find
from evenhand.sampling import ArrayPool

pytestmark = [pytest.mark.slow, pytest.mark.compiled]


@pytest.fixture
def data(data_folder, monkeypatch):
    monkeypatch.setenv("EVENHAND_DATA", str(data_folder))


@pytest.mark.parametrize("id", ["fig1", "fig2", "fig8", "fig10", "reweighting"])
def test_synthetic_experiments(id, tmp_path):
    (one,) = find(f"sampling/{id}")
    small = replace(one.quick, trials=2, **({"rounds": 40, "checkpoints": 4} if id != "fig1" else {"shares": 3}))
    report = one.function(small, Runner(jobs=1))
    assert report.verdicts
    one.chosen(quick=True).write(report, tmp_path)
    assert (tmp_path / "report.md").stat().st_size > 200


@pytest.mark.data
def test_tables(data):
    from evenhand.datasets.tables import load_adult, load_german

    census = load_adult()
    assert (len(census.train), len(census.test), census.train["income"].sum()) == (32561, 16281, 7841)
    credit = load_german()
    assert (len(credit), credit["bad"].sum(), (credit["group"] == "women").sum()) == (1000, 300, 310)
    for id, rounds in (("adult", 30), ("german", 350)):
        (one,) = find(f"sampling/{id}")
        report = one.function(replace(one.quick, rounds=rounds, trials=2, checkpoints=(25, rounds)), Runner(jobs=1))
        assert set(report.data["table_1"]["scheme"]) == {"A_opt", "epsilon-greedy", "Greedy", "Uniform", "Uncurated"}


@pytest.mark.data
def test_pictures(data):
    from evenhand.datasets.images import load_cifar10, load_fashion_mnist, load_utkface, scaled

    clothes, things, faces = load_fashion_mnist(), load_cifar10(), load_utkface()
    assert clothes.train.shape == (60000, 1, 28, 28)
    assert np.bincount(clothes.test_labels).tolist() == [1000] * 10
    assert things.test.shape == (10000, 3, 32, 32)
    assert scaled(things.train[:2]).dtype == np.float32
    assert faces.images.shape[1:] == (3, 50, 50)
    assert faces.gender.max() == 1


def picture_task(seed):
    from evenhand.experiments.sampling.images import ImageTask

    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, 240), rng.choice(["u", "v"], 240)
    X = (rng.normal(size=(240, 1, 8, 8)) + y[:, None, None, None]).astype(np.float32)
    pool = ArrayPool(X[:200], y[:200], group=group[:200])
    return ImageTask(pool, X[200:], y[200:], group[200:], {"channels": 1, "size": 8, "second": False})


@pytest.mark.filterwarnings("ignore:A worker stopped")  # joblib replaces a worker that torch has made larger
def test_workers_change_no_number_and_finished_trials_are_kept(tmp_path):
    pytest.importorskip("skorch")
    from evenhand.errors import ArgumentError
    from evenhand.experiments.sampling import images

    small = images.ImageTrials("pictures", rounds=2, trials=2, batch=4, checkpoints=2)
    alone = images._run(small, Runner(jobs=1), picture_task).data["history"]
    images._run(replace(small, trials=1), Runner(jobs=1, store=tmp_path), picture_task)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.csv")}
    assert len(before) == 6
    so_far = images._run(small, Runner(store=tmp_path, finished_only=True), picture_task)
    assert so_far.remarks == ["Finished so far: 6 of 12 collections."]
    assert len(so_far.data["history"]) == len(alone) / 2
    (tmp_path / "0-3.csv").rename(tmp_path / "uniform")  # then Uniform has no finished trial
    without = images._run(small, Runner(store=tmp_path, finished_only=True), picture_task).verdicts
    assert {verdict.measured for verdict in without[:6]} == {"no finished trial yet"}
    assert {verdict.word for verdict in without} == {"inconclusive"}
    (tmp_path / "uniform").rename(tmp_path / "0-3.csv")
    with pytest.raises(ArgumentError, match="--finished-only: expected a folder with a finished collection"):
        images._run(small, Runner(store=tmp_path / "none", finished_only=True), picture_task)
    report = images._run(small, Runner(jobs=2, store=tmp_path), picture_task)
    pd.testing.assert_frame_equal(alone, report.data["history"], check_exact=True)
    assert before.items() <= {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.csv")}.items()
    assert {"u", "v"} <= set(report.figures["mixture_and_risk"][1]["group"])
    assert {"inconclusive"} == {verdict.word for verdict in report.verdicts}
    with pytest.raises(ArgumentError, match=r"--out: expected a folder without trials of other settings.*\['rounds'\]"):
        images._run(replace(small, rounds=3), Runner(jobs=1, store=tmp_path), picture_task)
