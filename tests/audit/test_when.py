"""Since when and until when a promise was broken, in rounds and in times, and what is still due: against pandas."""

import re
from datetime import datetime
from fractions import Fraction
from itertools import product
from math import ceil, floor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, EvenhandError, TableError
from tests.cli.shell import answer, as_json, refused

SHARES = {"a": 0.5, "b": 0.3, "c": 0.2}


def _log(rounds, seed=0):
    arms = np.random.default_rng(seed).choice(list("abc"), p=[0.47, 0.32, 0.21], size=rounds)
    return pd.DataFrame({"arm": arms, "at": pd.date_range("2026-01-01", periods=rounds, freq="7min")})


def _runs(broken):
    return int((np.diff(np.concatenate([[False], broken]).astype(int)) == 1).sum())


def _broken(arms, share, arm, slack):
    """Return after which rounds a floor is broken, by numpy."""
    plays = np.cumsum(np.asarray(arms) == arm)
    return np.floor(share * np.arange(1, len(arms) + 1) + 1e-9) - slack > plays


@pytest.mark.parametrize("parts", [1, 7])
def test_first_last_and_stretches_are_those_of_numpy(tmp_path, parts):
    log = _log(2_000)
    each = {arm: _broken(log["arm"], share, arm, 3) for arm, share in SHARES.items()}
    whole = np.any([*each.values()], axis=0)
    given = log
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


def test_arms_that_were_not_on_offer_end_no_stretch():
    log = pd.DataFrame({"arm": list("bbbbabb"), "offers": ["a,b", "a,b", "b", "b", "a,b", "b", "b"]})
    found = eh.audit.promise(log, arm="arm", shares={"a": 0.5, "b": 0}, available="offers")
    assert (found.rounds_in_violation, found.stretches, found.last_violation) == (1, 1, 2)
    row = found.promises.iloc[0]
    assert (row["stretches"], row["first_broken"], row["last_broken"]) == (1, 2, 2)


def test_the_time_of_each_round_stands_beside_its_number():
    log = _log(2_000)
    found = eh.audit.promise(log, arm="arm", shares=SHARES, tolerance=3, times="at")
    first = found.first_violation
    assert found.time_of(first[0]) == log["at"].iloc[first[0] - 1]
    assert found.time_of(0) is None
    row = found.promises.iloc[0]
    assert row["last_broken_at"] == log["at"].iloc[row["last_broken"] - 1]
    assert row["worst_at"] == log["at"].iloc[row["worst_round"] - 1]
    assert f"({log['at'].iloc[first[0] - 1]:%Y-%m-%d %H:%M})" in found.verdict
    assert list(found.timeline["at"]) == list(log["at"].iloc[found.timeline["round"] - 1])
    ordered = eh.audit.promise(log.sample(frac=1, random_state=1), arm="arm", shares=SHARES, tolerance=3, order="at")
    assert list(ordered.times) == list(log["at"])
    assert ordered.verdict == found.verdict


def test_times_are_times_of_one_table(tmp_path):
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


def test_a_picture_shows_the_rounds_about_a_short_breach():
    log = pd.DataFrame({"arm": ["a"] * 5_000, "at": pd.date_range("2026-01-01", periods=5_000, freq="h")})
    log.loc[1::2, "arm"] = "b"
    log.loc[2_000:2_019, "arm"] = "a"
    log.loc[2_020:2_039, "arm"] = "b"
    found = eh.audit.promise(log, arm="arm", shares={"a": 0.4, "b": 0.5}, tolerance=2, times="at")
    start, end = found.view
    assert 1 < start < found.first_violation[0] < found.last_violation < end < 2_200
    assert set(range(start, end + 1)) <= set(found.timeline["round"])
    axes = eh.plots.plot_audit(found)
    assert axes.get_xlim() == (start - 1, end)
    assert f"only {start:,} to {end:,}" in axes.get_xlabel()
    axes.figure.canvas.draw()
    assert any("2026-03-2" in tick.get_text() for tick in axes.get_xticklabels())


def test_the_command_gives_times_in_words_json_and_tables(tmp_path):
    log = _log(2_000).assign(at=lambda frame: frame["at"].dt.strftime("%Y-%m-%dT%H:%M"))
    log.to_csv(tmp_path / "log.csv", index=False)
    asked = ["audit", tmp_path / "log.csv", "--shares", "a=0.5,b=0.3,c=0.2", "--tolerance", "3", "--times", "at"]
    expected = eh.audit.promise(log, arm="arm", shares=SHARES, tolerance=3)
    said = " ".join(answer(*asked, "--out", tmp_path / "out", code=1).split())
    assert (first := expected.first_violation) is not None
    assert f"first after row {first[0]} ({log['at'][first[0] - 1].replace('T', ' ')})" in said
    assert f"in {expected.stretches} stretches" in said
    told = pd.read_csv(tmp_path / "out" / "promises.csv")
    assert told["last_broken_at"][0] == log["at"][expected.last_violation - 1]
    body = as_json(*asked, code=1)
    assert (body["stretches"], body["last_violation"]) == (expected.stretches, expected.last_violation)
    assert body["first_violation_at"] == log["at"][first[0] - 1]


def test_a_share_that_changes_is_counted_in_its_own_rounds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = _log(2_000)
    log.to_csv("log.csv", index=False)
    shares = pd.DataFrame({"from": [1, 1, 1, 801], "arm": list("abca"), "share": [0.4, 0.0, 0.1, 0.45]})
    shares.to_csv("shares.csv", index=False)
    asked = ("report", "log.csv", "--shares", "shares.csv", "--tolerance", "60", "--times", "at")
    body = as_json(*asked)
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
    assert [line.get_xdata()[0] for line in marks] == [801]


def test_a_log_of_one_row_is_one_decision(tmp_path):
    (tmp_path / "log.csv").write_text("arm\na\n")
    said = " ".join(answer("audit", tmp_path / "log.csv", "--shares", "a=0.5,b=0.1").split())
    assert ": 1 decision " in said
    assert "the log is too short, 1 round." in said
    assert not re.search(r"\b(decisions|each of 1)\b", said)


# ---------------------------------------------------------------------- what is still due by the end of a period


OWED = {"a": 0.5, "b": 0.25, "c": 0}
LOG = pd.DataFrame(
    {
        "arm": np.random.default_rng(0).choice(list("abc"), p=[0.3, 0.3, 0.4], size=240),
        "at": pd.date_range("2026-11-01", periods=240, freq="1h"),
        "cost": np.random.default_rng(1).integers(0, 400, 240) / 100,
    }
)


def test_what_is_due_by_a_time_is_that_of_pandas():
    given = {"arm": "arm", "shares": OWED, "times": "at"}
    found = eh.audit.promise(LOG, tolerance=2, by="2026-11-21T00:00+01:00", **given).outlook
    rest = len(pd.date_range(LOG["at"].iloc[-1], "2026-11-20T23:00", freq="1h", inclusive="right"))
    assert (found.by, found.rest, found.kept) == (datetime(2026, 11, 20, 23), rest, True)
    plays = LOG["arm"].value_counts()
    due = [floor(share * (240 + rest)) - 2 - plays[arm] for arm, share in (("a", 0.5), ("b", 0.25))]
    assert found.due["due"].tolist() == due
    assert found.due["rate"].tolist() == pytest.approx([one / rest for one in due])
    assert f"a, {due[0]} (" in found.verdict
    assert "as fast as so far" in found.verdict
    given |= {"windows": {"a": 9}, "by": "2026-11-21"}
    windowed = eh.audit.promise(LOG, **given).outlook
    assert windowed.verdict.endswith("; this leaves out windows, which hold for any rounds in a row")
    with pytest.raises(ArgumentError, match=r"by: expected None without shares or caps, got .*; a window holds"):
        eh.audit.promise(LOG, **given | {"shares": None})


@pytest.mark.parametrize(
    ("days", "a_day", "last", "zone"),
    [
        (7, 100, "14", None),
        (7, 3, "07", None),
        (2, 1, "03", None),
        (1, 10, "03", None),
        (5, 2, "08T12:00", None),
        (7, 100, "14", "Asia/Tokyo"),
    ],
)
def test_of_dates_come_the_rows_of_the_days_after_the_last(days, a_day, last, zone):
    dates = pd.date_range("2026-12-01", periods=days)
    log = pd.DataFrame({"arm": "a", "at": dates.repeat(a_day).tz_localize(zone), "cost": 0.25})
    given = {"arm": "arm", "shares": {"a": 0.5, "b": 0}, "times": "at", "by": f"2026-12-{last}"}
    to_come = pd.date_range(dates[-1], given["by"], inclusive="right")
    rows = len(to_come) * a_day + (a_day if zone else 0)  # a day of Tokyo begins in the day before
    found = eh.audit.promise(log, **given).outlook
    assert found.rest == rows
    weighed = eh.audit.promise(log, **given, weight="cost").outlook
    assert weighed.rest == Fraction(rows, 4)


def test_a_log_that_does_not_say_how_fast_rounds_come_is_refused_with_this_reason():
    log = LOG.assign(at=pd.Timestamp("2026-12-01T06:00:01"))
    with pytest.raises(ArgumentError, match=r"by: expected the number of all rounds, as the log has one time, 2026"):
        eh.audit.promise(log, arm="arm", shares=OWED, times="at", by="2026-12-03")


@pytest.mark.parametrize("seed", range(20))
def test_it_can_be_kept_where_some_rounds_to_come_keep_it(seed):
    draw = np.random.default_rng(seed)
    log = pd.DataFrame({"arm": draw.choice(list("abc"), size=6)})
    shares = {"a": Fraction(int(draw.integers(0, 6)), 10), ("b", "c"): Fraction(int(draw.integers(0, 5)), 10)}
    caps = {"b": Fraction(int(draw.integers(1, 10)), 10)}
    promise = eh.audit.promise(log, arm="arm", shares={**shares, "b": 0, "c": 0}, caps=caps, by=10)
    had, rest = log["arm"].value_counts().reindex(list("abc"), fill_value=0), promise.rounds

    def keeps(more):
        n = had + pd.Series(more).value_counts().reindex(list("abc"), fill_value=0)
        floors = n["a"] >= floor(10 * shares["a"]) and n["b"] + n["c"] >= floor(10 * shares["b", "c"])
        return bool(floors and n["b"] <= ceil(10 * caps["b"]))

    assert rest == 6
    assert promise.outlook.kept == any(map(keeps, product("abc", repeat=4)))


def test_weights_are_due_exactly():
    found = eh.audit.promise(LOG, arm="arm", shares=OWED, tolerance=1.5, weight="cost", by=1000).outlook
    cents = (LOG["cost"] * 100).round().astype(int)
    had = cents.groupby(LOG["arm"]).sum()
    assert found.rest == Fraction(100_000 - int(cents.sum()), 100)
    due = [(int(share * 100_000) - 150 - had[arm]) / 100 for arm, share in (("a", 0.5), ("b", 0.25))]
    assert found.due["due"].tolist() == due


@pytest.mark.parametrize(
    "given",
    [
        {"by": 239},
        {"by": "2026-11-05", "times": "at"},
        {"by": "2026-12-05"},
        {"by": "soon", "times": "at"},
        {"by": 300, "segment": "arm"},
        {"by": 300, "available": "offers"},
        {"by": 300, "shares": {1: OWED, 9: OWED}},
    ],
)
def test_an_end_that_says_nothing_is_refused(given):
    log = LOG.assign(offers=["a,b,c"] * 239 + [LOG["arm"].iloc[-1]])
    with pytest.raises(ArgumentError, match=r"^(by|order|times)"):
        eh.audit.promise(log, arm="arm", **{"shares": OWED} | given)


def test_the_shell_counts_the_rows_of_a_period_and_says_whether_it_can_be_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    LOG.to_csv("log.csv", index=False)
    asked = ["log.csv", "--shares", "a=0.5,b=0.25", "--times", "at", "--since", "2026-11-03", "--until", "2026-11-04"]
    inside = LOG[(LOG["at"] >= "2026-11-03") & (LOG["at"] < "2026-11-05")]
    body = as_json("audit", *asked, "--by", "2026-11-08")
    assert body["rounds"] == len(inside) == 48
    assert body["outlook"]["by"] == "2026-11-09T00:00:00"
    assert body["outlook"]["due"][0]["had"] == (inside["arm"] == "a").sum()
    assert "Only the 48 of 240 rows from 2026-11-03" in body["notes"][-1]
    kept = answer("report", *asked, "--by", "2026-11-08")
    assert "The promise can still be kept before 2026-11-09 00:00 UTC" in kept
    text = Path("report.html").read_text(encoding="utf-8")
    assert "By the end of the period" in text
    assert "still due" in text
    assert "The promise can no longer be kept by 50 rounds" in answer("audit", *asked, "--by", "50", code=1)
    for wrong in (["--times", "at", "--since", "2027-01-01"], ["--times", "at", "--until", "soon"]):
        refused(EvenhandError, wrong[2], "audit", "log.csv", "--shares", "a=0.5", *wrong)
    refused(EvenhandError, "--times", "audit", "log.csv", "--shares", "a=0.5", "--since", "2026-11-03")
