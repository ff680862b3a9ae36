"""Audits of files, row group by row group: the same findings as of all rows in memory."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.errors import ArgumentError, SharesError, TableError, UnknownArmError
from evenhand.quotas import Promise, audit
from evenhand.quotas.scan import read_floors
from tests.cli.shell import call
from tests.fuzzing import many

FIELDS = ("kept", "rounds", "worst_shortfall", "worst_arm", "worst_round", "rounds_in_violation", "first_violation")


def same(found, expected):
    for name in (*FIELDS, "first_breach", "promise", "never_seen"):
        assert getattr(found, name) == getattr(expected, name), name
    for name in ("arms", "promises", "timeline"):
        pd.testing.assert_frame_equal(getattr(found, name), getattr(expected, name), check_exact=True)


def written(frame, folder, cuts, rows=50):
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.parquet"):
        old.unlink()
    for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(frame)], strict=True)):
        frame.iloc[start:end].to_parquet(folder / f"{number:03}.parquet", row_group_size=rows)
    return str(folder / "*.parquet")


@settings(max_examples=many(30), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_any_cut_gives_the_findings_of_the_whole(tmp_path_factory, seed):
    random = np.random.default_rng(seed)
    rows, arms = int(random.integers(2, 400)), int(random.integers(2, 6))
    weights = random.dirichlet(np.ones(arms) * random.choice([0.3, 3.0]))
    frame = pd.DataFrame({"item": random.choice(arms, size=rows, p=weights)})
    if random.random() < 0.5:
        frame["item"] = "item " + frame["item"].astype(str)
    labels = {f"item {arm}" if frame["item"].dtype == object else arm for arm in range(arms)} | set(frame["item"])
    parts = random.integers(0, 5, size=len(labels))
    total = max(1, parts.sum()) * int(random.integers(1, 4))
    shares = {label: f"{part}/{total}" for label, part in zip(sorted(labels, key=str), parts, strict=True)}
    tolerance = float(random.choice([0.0, 1.5, 4.0]))
    cuts = sorted(set(random.integers(1, rows, size=random.integers(0, 6)).tolist()))
    pattern = written(frame, tmp_path_factory.mktemp("logs"), cuts, int(random.integers(1, 60)))
    expected = audit(frame, arm="item", shares=shares, tolerance=tolerance)
    same(audit(pattern, arm="item", shares=shares, tolerance=tolerance, jobs=1), expected)


@pytest.mark.parametrize(
    "labels",
    [[7, -3, 10**9], ["ä", "b", "c"], pd.Categorical(["b", "c", "b"], ["b", "c", "never"]), [True, False, True]],
    ids=["numbers", "text", "categories", "booleans"],
)
def test_labels_are_those_of_a_data_frame(tmp_path, labels):
    frame = pd.DataFrame({"item": labels})
    frame = pd.concat([frame] * 40, ignore_index=True).astype(frame.dtypes)
    pattern = written(frame, tmp_path / "logs", [17, 60])
    same(audit(pattern, arm="item", shares=0.2), audit(frame, arm="item", shares=0.2))


def test_threads_and_other_backends_find_the_same(tmp_path):
    frame = pd.DataFrame({"item": np.random.default_rng(1).integers(5, size=3000)})
    pattern = written(frame, tmp_path / "logs", [700, 1900], 250)
    expected = audit(frame, arm="item", shares=0.19)
    assert not expected.kept
    same(audit(pattern, arm="item", shares=0.19, jobs=2), expected)
    with joblib.parallel_config("threading", n_jobs=2):
        same(audit(pattern, arm="item", shares=0.19), expected)


@pytest.mark.slow
def test_a_dask_cluster_finds_the_same(tmp_path):
    distributed = pytest.importorskip("distributed")
    frame = pd.DataFrame({"item": np.random.default_rng(1).integers(5, size=3000)})
    pattern = written(frame, tmp_path / "logs", [700, 1900], 250)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        same(audit(pattern, arm="item", shares=0.19), audit(frame, arm="item", shares=0.19))


def test_an_arm_that_the_log_never_chose_is_missed(tmp_path):
    frame = pd.DataFrame({"item": ["a"] * 100 + ["b"] * 20})
    pattern = written(frame, tmp_path / "logs", [30])
    shares = {"c": 0.1, "a": 0.5, "b": 0.2}
    same(audit(pattern, arm="item", shares=shares), audit(frame, arm="item", shares=shares))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"shares": {"a": 0.5}}, UnknownArmError, "wanted an arm that has a share, got 'b'"),
        ({"shares": {"a": 0.5, "c": 0.1}}, UnknownArmError, "column 'item': wanted an arm that has a share, got 'b'"),
        ({"shares": None}, SharesError, "shares: wanted a dict arm -> share, or one number, where files are audited"),
        ({"shares": {("a", "b"): 0.5}}, SharesError, "shares: wanted shares of single arms, where files are audited"),
        ({"shares": 0.1, "caps": 0.5}, ArgumentError, "caps: wanted None where files are audited, got 0.5"),
        ({"shares": 0.1, "arm": "who"}, TableError, r"column: wanted one of \['item'\], got 'who'"),
    ],
    ids=["one arm", "unknown", "none", "sets", "caps", "column"],
)
def test_what_cannot_be_audited_is_refused(tmp_path, arguments, error, words):
    pattern = written(pd.DataFrame({"item": list("abab")}), tmp_path / "logs", [2])
    with pytest.raises(error, match=words):
        audit(pattern, **{"arm": "item", **arguments})


def test_shares_too_fine_for_so_many_rows_are_refused():
    with pytest.raises(SharesError, match=r"shares\['a'\]: wanted a fraction below 4,611,686, top and bottom"):
        read_floors(Promise({"a": "1/1000000007", "b": 0}, 0.0, None), 10**12)


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(TableError, match="no such files"):
        audit(str(tmp_path / "*.parquet"), arm="item", shares=0.1)
    pattern = written(pd.DataFrame({"item": ["a", "b", None, "a"]}), tmp_path / "logs", [], 2)
    with pytest.raises(TableError, match=r"000.parquet, column 'item', row 3: the cell is empty"):
        audit(pattern, arm="item", shares=0.1)
    (tmp_path / "log.csv").write_text("item\na\n")
    with pytest.raises(TableError, match="wanted Parquet files alone"):
        audit(str(tmp_path / "log.*"), arm="item", shares=0.1)
    (tmp_path / "bad.parquet").write_text("none")
    with pytest.raises(TableError, match=r"bad.parquet: cannot be read as Parquet"):
        audit(str(tmp_path / "bad.parquet"), arm="item", shares=0.1)


def test_the_command_audits_files_by_their_pattern(tmp_path):
    pattern = written(pd.DataFrame({"item": list("ababaaaa") * 30}), tmp_path / "logs", [100])
    done = call("audit", pattern, "--arm", "item", "--shares", "a=0.5,b=0.25", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["rounds"] == 240
    broken = call("audit", pattern, "--arm", "item", "--shares", "0.5", "--out", tmp_path / "out")
    assert broken.exit_code == 1
    assert "BROKEN" in broken.output
    assert (tmp_path / "out" / "audit.png").exists()
