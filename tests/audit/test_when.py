"""Since when and until when a promise was broken, in rounds and in times."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, TableError
from tests.cli.shell import call

SHARES = {"a": 0.5, "b": 0.3, "c": 0.2}


def _log(rounds: int, seed: int = 0) -> pd.DataFrame:
    arms = np.random.default_rng(seed).choice(list("abc"), p=[0.47, 0.32, 0.21], size=rounds)
    return pd.DataFrame({"arm": arms, "at": pd.date_range("2026-01-01", periods=rounds, freq="7min")})


def _runs(broken: Any) -> int:
    return int((np.diff(np.concatenate([[False], broken]).astype(int)) == 1).sum())


def _broken(arms: Any, share: float, arm: str, slack: int) -> Any:
    """Return after which rounds a floor is broken, by numpy."""
    plays = np.cumsum(np.asarray(arms) == arm)
    return np.floor(share * np.arange(1, len(arms) + 1) + 1e-9) - slack > plays


@pytest.mark.parametrize("parts", [1, 7])
def test_first_last_and_stretches_are_those_of_numpy(tmp_path: Path, parts: int) -> None:
    log = _log(2_000)
    each = {arm: _broken(log["arm"], share, arm, 3) for arm, share in SHARES.items()}
    whole = np.any([*each.values()], axis=0)
    given: Any = log
    if parts > 1:
        given = str(tmp_path / "*.parquet")
        for n, rows in enumerate(np.array_split(np.arange(len(log)), parts)):
            log.iloc[rows].to_parquet(tmp_path / f"{n}.parquet")
    found = eh.audit.promise(given, arm="arm", shares=SHARES, tolerance=3)
    assert _runs(whole) > 3
    assert found.stretches == _runs(whole)
    assert found.last_violation == np.flatnonzero(whole)[-1] + 1
    for row in found.promises.to_dict("records"):
        at = np.flatnonzero(each[row["arm"]])
        assert row["stretches"] == _runs(each[row["arm"]])
        assert (row["first_broken"], row["last_broken"]) == ((at[0] + 1, at[-1] + 1) if at.size else (0, 0))


def test_arms_that_were_not_on_offer_end_no_stretch() -> None:
    log = pd.DataFrame({"arm": list("bbbbabb"), "offers": ["a,b", "a,b", "b", "b", "a,b", "b", "b"]})
    found = eh.audit.promise(log, arm="arm", shares={"a": 0.5, "b": 0}, available="offers")
    assert (found.rounds_in_violation, found.stretches, found.last_violation) == (1, 1, 2)
    row = found.promises.iloc[0]
    assert (row["stretches"], row["first_broken"], row["last_broken"]) == (1, 2, 2)


def test_the_time_of_each_round_stands_beside_its_number() -> None:
    log = _log(2_000)
    found = eh.audit.promise(log, arm="arm", shares=SHARES, tolerance=3, times="at")
    first = found.first_violation
    assert first is not None
    assert found.time_of(first[0]) == log["at"].iloc[first[0] - 1]
    assert found.time_of(0) is None
    row = found.promises.iloc[0]
    assert row["last_broken_at"] == log["at"].iloc[row["last_broken"] - 1]
    assert row["worst_at"] == log["at"].iloc[row["worst_round"] - 1]
    assert f"({log['at'].iloc[first[0] - 1]:%Y-%m-%d %H:%M})" in found.verdict
    assert list(found.timeline["at"]) == list(log["at"].iloc[found.timeline["round"] - 1])
    ordered = eh.audit.promise(log.sample(frac=1, random_state=1), arm="arm", shares=SHARES, tolerance=3, order="at")
    assert ordered.times is not None
    assert list(ordered.times) == list(log["at"])
    assert ordered.verdict == found.verdict


def test_times_are_times_of_one_table(tmp_path: Path) -> None:
    log = _log(30)
    for table, times, words in ((log.assign(at=range(30)), "at", "times"), (log, "when", "when")):
        with pytest.raises(TableError, match=words):
            eh.audit.promise(table, arm="arm", shares=0.1, times=times)
    with pytest.raises(ArgumentError, match="times"):
        eh.audit.promise(frames=[log, log], arm="arm", shares=0.1, times="at")
    log.to_csv(tmp_path / "log.csv")
    of_file = eh.audit.promise(tmp_path / "log.csv", arm="arm", shares=0.1, times="at")
    assert list(of_file.times) == list(eh.audit.promise(log, arm="arm", shares=0.1, times="at").times)
    assert eh.audit.promise(log.assign(at=range(30)), arm="arm", shares=0.1, order="at").times is None


def test_a_picture_shows_the_rounds_about_a_short_breach() -> None:
    log = pd.DataFrame({"arm": ["a"] * 5_000, "at": pd.date_range("2026-01-01", periods=5_000, freq="h")})
    log.loc[1::2, "arm"] = "b"
    log.loc[2_000:2_019, "arm"] = "a"
    log.loc[2_020:2_039, "arm"] = "b"
    found = eh.audit.promise(log, arm="arm", shares={"a": 0.4, "b": 0.5}, tolerance=2, times="at")
    start, end = found.view
    assert 1 < start < found.first_violation[0] < found.last_violation < end < 2_200  # type: ignore[index]
    assert set(range(start, end + 1)) <= set(found.timeline["round"])
    axes = eh.plots.plot_audit(found)
    assert axes.get_xlim() == (start - 1, end)
    assert f"only {start:,} to {end:,}" in axes.get_xlabel()
    axes.figure.canvas.draw()
    assert any("2026-03-2" in tick.get_text() for tick in axes.get_xticklabels())


def test_the_command_gives_times_in_words_json_and_tables(tmp_path: Path) -> None:
    log = _log(2_000).assign(at=lambda frame: frame["at"].dt.strftime("%Y-%m-%dT%H:%M"))
    log.to_csv(tmp_path / "log.csv", index=False)
    asked = ["audit", tmp_path / "log.csv", "--shares", "a=0.5,b=0.3,c=0.2", "--tolerance", "3", "--times", "at"]
    expected = eh.audit.promise(log, arm="arm", shares=SHARES, tolerance=3)
    result = call(*asked, "--out", tmp_path / "out")
    assert result.exit_code == 1
    said = " ".join(result.output.split())
    assert (first := expected.first_violation) is not None
    assert f"first after row {first[0]} ({log['at'][first[0] - 1].replace('T', ' ')})" in said
    assert f"in {expected.stretches} stretches" in said
    told = pd.read_csv(tmp_path / "out" / "promises.csv")
    assert told["last_broken_at"][0] == log["at"][expected.last_violation - 1]
    body = json.loads(call(*asked, "--json").output)
    assert (body["stretches"], body["last_violation"]) == (expected.stretches, expected.last_violation)
    assert body["first_violation_at"] == log["at"][first[0] - 1]


def test_a_share_that_changes_is_counted_in_its_own_rounds(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    log = _log(2_000)
    log.to_csv("log.csv", index=False)
    shares = pd.DataFrame({"from": [1, 1, 1, 801], "arm": list("abca"), "share": [0.4, 0.0, 0.1, 0.45]})
    shares.to_csv("shares.csv", index=False)
    asked = ("report", "log.csv", "--shares", "shares.csv", "--tolerance", "60", "--times", "at", "--json")
    body = json.loads(call(*asked).stdout)
    expected = []
    owed = ("a", 0.4, 1, 800), ("c", 0.1, 1, None), ("a", 0.45, 801, None), ("b", None, 1, None)
    for arm, share, since, until in owed:
        part = log["arm"][since - 1 : until]
        had, of = int((part == arm).sum()), len(part)
        row = {"name": arm, "promised": share, "since": since, "until": until, "had": had, "of": of, "share": had / of}
        expected.append(row | {"behind": share and pytest.approx(share * of - had)})
    told = [{name: value for name, value in row.items() if not name.endswith("_at")} for row in body["who"]]
    assert told == expected
    assert body["who"][2]["since_at"] == str(log["at"][800])
    assert body["changes"] == [{"round": 801, "at": str(log["at"][800]), "what": "a at least 0.45"}]
    found = eh.audit.promise(log, arm="arm", shares=shares, tolerance=60)
    marks = [line for line in eh.plots.plot_audit(found).lines if line.get_linestyle() == ":"]
    assert [line.get_xdata()[0] for line in marks] == [801]  # type: ignore[index]


def test_a_log_of_one_row_is_one_decision(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("arm\na\n")
    said = " ".join(call("audit", str(tmp_path / "log.csv"), "--shares", "a=0.5,b=0.1").stdout.split())
    assert ": 1 decision " in said
    assert "the log is too short, 1 round." in said
    assert not re.search(r"\b(decisions|each of 1)\b", said)
