"""Audits of files, row group by row group: the same findings as of all rows in memory."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest

from evenhand import Promise, audit
from evenhand.audit import stretches
from evenhand.cli.inputs import tables
from evenhand.errors import ArgumentError, SharesError, TableError, UnknownArmError
from tests.cli.shell import call

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


@pytest.mark.parametrize(
    "labels",
    [[7, -3, 10**9], ["ä", "b", "c"], pd.Categorical(["b", "c", "b"], ["b", "c", "never"]), [True, False, True]],
)
def test_labels_are_those_of_a_data_frame(tmp_path, labels):
    frame = pd.DataFrame({"item": labels})
    frame = pd.concat([frame] * 40, ignore_index=True).astype(frame.dtypes)
    pattern = written(frame, tmp_path / "logs", [17, 60])
    same(audit.promise(pattern, arm="item", shares=0.2), audit.promise(frame, arm="item", shares=0.2))


def test_threads_and_other_backends_find_the_same(tmp_path):
    frame = pd.DataFrame({"item": np.random.default_rng(1).integers(5, size=3000)})
    pattern = written(frame, tmp_path / "logs", [700, 1900], 250)
    expected = audit.promise(frame, arm="item", shares=0.19)
    assert not expected.kept
    same(audit.promise(pattern, arm="item", shares=0.19, jobs=2), expected)
    with joblib.parallel_config("threading", n_jobs=2):
        same(audit.promise(pattern, arm="item", shares=0.19), expected)


@pytest.mark.parametrize(
    ("form", "zone"), [("parquet", None), ("csv", None), ("parquet", "Europe/Berlin"), ("csv", "+01:00")]
)
def test_the_times_of_files_are_those_of_a_data_frame(tmp_path, form, zone):
    random = np.random.default_rng(2)
    at = pd.Timestamp("2026-11-01", tz=zone) + pd.to_timedelta(np.arange(300) * 7, unit="min")
    frame = pd.DataFrame({"item": random.choice(list("abc"), size=300, p=[0.6, 0.3, 0.1]), "at": at})
    pattern = written(frame, tmp_path / "logs", [120])
    if form == "csv":
        pattern = str(tmp_path / "log.csv")
        frame.to_csv(pattern, index=False)
    asked = {"arm": "item", "shares": {"a": 0.2, "b": 0.2, "c": 0.3}, "times": "at"}
    found, expected = audit.promise(pattern, **asked), audit.promise(frame, **asked)
    assert not expected.kept
    same(found, expected)
    assert found.verdict == expected.verdict
    assert found.times.tolist() == frame["at"].tolist()
    with pytest.raises(TableError, match=r"column 'item', row 1: expected only numbers or only times"):
        audit.promise(pattern, **asked | {"times": "item"})


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"shares": {"a": 0.5, "c": 0.1}}, UnknownArmError, "column 'item': expected an arm that has a share, got 'b'"),
        ({"shares": {3: {"a": 0.5}}}, SharesError, "shares: expected shares that do not change, when files"),
        ({"shares": 0.1, "order": "item"}, ArgumentError, "order: expected None where files are audited, got 'item'"),
        ({"shares": 0.1, "round": "item"}, ArgumentError, "round: expected None where files are audited, got 'item'"),
        ({"shares": 0.1, "arm": "who"}, TableError, r"column: expected one of \['item'\], got 'who'"),
    ],
)
def test_what_cannot_be_audited_is_refused(tmp_path, arguments, error, words):
    pattern = written(pd.DataFrame({"item": list("abab")}), tmp_path / "logs", [2])
    with pytest.raises(error, match=words):
        audit.promise(pattern, **{"arm": "item", **arguments})


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(TableError, match="no such files"):
        audit.promise(str(tmp_path / "*.parquet"), arm="item", shares=0.1)
    pattern = written(pd.DataFrame({"item": ["a", "b", None, "a"]}), tmp_path / "logs", [], 2)
    with pytest.raises(TableError, match=r"000.parquet, column 'item', row 3: the cell is empty"):
        audit.promise(pattern, arm="item", shares=0.1)
    (tmp_path / "logs" / "log.parquet.csv").write_text("item\na\n")
    with pytest.raises(TableError, match="expected only Parquet files, or none"):
        audit.promise(str(tmp_path / "*/*.parquet*"), arm="item", shares=0.1)
    (tmp_path / "log.json").write_text("{}")
    with pytest.raises(TableError, match=r"log\.json: no rows"):
        audit.promise(str(tmp_path / "log.json"), arm="item", shares=0.1)
    (tmp_path / "bad.parquet").write_text("none")
    with pytest.raises(TableError, match=r"bad.parquet: cannot be read as Parquet"):
        audit.promise(str(tmp_path / "bad.parquet"), arm="item", shares=0.1)


def test_the_command_audits_files_by_their_pattern(tmp_path):
    pattern = written(pd.DataFrame({"item": list("ababaaaa") * 30}), tmp_path / "logs", [100])
    done = call("audit", pattern, "--arm", "item", "--shares", "a=0.5,b=0.25", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["rounds"] == 240


ARMS = ("a", "b", "c", "d")
PROMISED = {
    "sets": {"shares": {"a": 0.5, "b": 0.1, "c": 0, "d": 0, ("a", "b"): "2/3", ("c", "d"): "1/4"}},
    "caps": {"shares": dict.fromkeys(ARMS, 0.1) | {"d": 0}, "caps": {"a": 0.2, "d": 0}, "cap_tolerance": 1},
    "windows": {"windows": {"a": 4, "b": (2, 11), "c": (3, 8)}, "shares": dict.fromkeys(ARMS, 0.1)},
    "one number": {"shares": 0.25},
    "one cap": {"caps": {"d": 0.3}},
    "a promise": {"promise": Promise({"a": "1/4", "b": 0, "c": 0, "d": 0}, caps={"d": "2/5"}, windows={"c": 9})},
}


def drawn(rng, rows, plays, offers):
    """A log that nobody kept a promise in."""
    sizes = rng.integers(plays if offers else 4, 5, rows)
    offered = [rng.choice(ARMS, size, replace=False, p=[0.1, 0.2, 0.3, 0.4]).tolist() for size in sizes]
    frame = pd.DataFrame({"item": [one[:plays] if plays > 1 else one[0] for one in offered]})
    return frame.assign(offered=offered, where=rng.choice(["x", "10", "9"], rows))


BESIDE = ["", "plays", "available", "plays+available+segment"]


@pytest.mark.parametrize(
    ("promised", "beside", "ending"),
    [(a, BESIDE[(i + j) % 4], ending) for i, a in enumerate(PROMISED) for j, ending in enumerate(("parquet", "csv"))],
)
def test_every_kind_of_clause_is_found_as_in_a_data_frame(tmp_path, monkeypatch, promised, beside, ending):
    beside = beside.split("+")
    monkeypatch.setattr(stretches, "FRAME", 64)
    promised, rows = PROMISED[promised], 400
    frame = drawn(np.random.default_rng(3), rows, 2 if "plays" in beside else 1, "available" in beside)
    named = {"available": "offered", "segment": "where"}
    columns = {name: column for name, column in named.items() if name in beside}
    if ending == "parquet":
        pattern = written(frame, tmp_path / "logs", [150, 151, 300], 40)
    else:
        text = frame.assign(offered=frame["offered"].map(",".join))
        text["item"] = text["item"].map(lambda cell: json.dumps(cell) if isinstance(cell, list) else cell)
        for part, start in enumerate(range(0, rows, 150)):
            text.iloc[start : start + 150].to_csv(tmp_path / f"{part}.csv", index=False)
        pattern = str(tmp_path / "*.csv")
    expected = audit.promise(frame, arm="item", **columns, **promised)
    assert not expected.kept
    same(audit.promise(pattern, arm="item", jobs=1, **columns, **promised), expected)


def test_rows_that_cannot_be_read_are_named_by_their_file(tmp_path, monkeypatch):
    monkeypatch.setattr(stretches, "FRAME", 50)
    rows = pd.DataFrame({"item": ["a"] * 120, "offered": ["a,b"] * 70 + ["b"] + ["a,b"] * 49})
    rows.to_csv(tmp_path / "log.csv", index=False)
    rows.to_parquet(tmp_path / "log.parquet")
    for ending in ("csv", "parquet"):
        with pytest.raises(
            TableError, match=rf"log.{ending}, in the rows after row 50: column 'offered', row 21: expected"
        ):
            audit.promise(str(tmp_path / f"log.{ending}"), arm="item", shares={"a": 0.1, "b": 0}, available="offered")
    (tmp_path / "log.csv").write_text("item\na\n\xff\n", encoding="latin-1")
    with pytest.raises(TableError, match=r"log.csv: is not UTF-8"):
        audit.promise(str(tmp_path / "log.csv"), arm="item", shares=0.1)
    (tmp_path / "log.csv").write_text("item\na\nb,c\n")
    with pytest.raises(TableError, match=r"log.csv: row 2 has 2 cells, more cells than the header"):
        audit.promise(str(tmp_path / "log.csv"), arm="item", shares=0.1)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_command_reads_large_files_in_batches(tmp_path, monkeypatch, ending):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"item": rng.choice(["01", "1", "x"], 300), "offered": "01,1,x", "where": "here"})
    path = tmp_path / f"log.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    promised = ("--shares", "01=0.4,1=0.1,x=0", "--window", "x=9")
    given = ("audit", path, "--arm", "item", *promised, "--available", "offered")
    whole = call(*given, "--segment", "where", "--json")
    read = []
    monkeypatch.setattr(tables, "LARGE", 0)
    monkeypatch.setattr(tables, "read_table", lambda *_, **__: read.append(1))
    batched = call(*given, "--segment", "where", "--json")
    assert (batched.exit_code, read) == (whole.exit_code, []) == (1, [])
    assert json.loads(batched.output) == json.loads(whole.output)


def test_the_command_reads_a_csv_of_another_form_as_a_whole(tmp_path, monkeypatch):
    (tmp_path / "log.csv").write_text("item;x\na;1\nb;2\n")
    monkeypatch.setattr(tables, "LARGE", 0)
    assert not tables.is_large(tmp_path / "log.csv")
    assert call("audit", tmp_path / "log.csv", "--arm", "item", "--shares", "0.1").exit_code == 0
