"""What is still due by the end of a period, and whether it can be kept: against pandas."""

from __future__ import annotations

import json
from datetime import datetime
from fractions import Fraction
from itertools import product
from math import ceil, floor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError
from tests.cli.shell import call

SHARES = {"a": 0.5, "b": 0.25, "c": 0}
LOG = pd.DataFrame(
    {
        "arm": np.random.default_rng(0).choice(list("abc"), p=[0.3, 0.3, 0.4], size=240),
        "at": pd.date_range("2026-11-01", periods=240, freq="1h"),
        "cost": np.random.default_rng(1).integers(0, 400, 240) / 100,
    }
)


def test_what_is_due_by_a_time_is_that_of_pandas() -> None:
    given: Any = {"arm": "arm", "shares": SHARES, "times": "at"}
    found = eh.audit.promise(LOG, tolerance=2, by="2026-11-21T00:00+01:00", **given).outlook
    assert found is not None
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
    assert windowed is not None
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
def test_of_dates_come_the_rows_of_the_days_after_the_last(days: int, a_day: int, last: str, zone: Any) -> None:
    dates = pd.date_range("2026-12-01", periods=days)
    log = pd.DataFrame({"arm": "a", "at": dates.repeat(a_day).tz_localize(zone), "cost": 0.25})
    given: Any = {"arm": "arm", "shares": {"a": 0.5, "b": 0}, "times": "at", "by": f"2026-12-{last}"}
    to_come = pd.date_range(dates[-1], given["by"], inclusive="right")
    rows = len(to_come) * a_day + (a_day if zone else 0)  # a day of Tokyo begins in the day before
    found = eh.audit.promise(log, **given).outlook
    assert found is not None
    assert found.rest == rows
    weighed = eh.audit.promise(log, **given, weight="cost").outlook
    assert weighed is not None
    assert weighed.rest == Fraction(rows, 4)


def test_a_log_that_does_not_say_how_fast_rounds_come_is_refused_with_this_reason() -> None:
    log = LOG.assign(at=pd.Timestamp("2026-12-01T06:00:01"))
    with pytest.raises(ArgumentError, match=r"by: expected the number of all rounds, as the log has one time, 2026"):
        eh.audit.promise(log, arm="arm", shares=SHARES, times="at", by="2026-12-03")


@pytest.mark.parametrize("seed", range(20))
def test_it_can_be_kept_where_some_rounds_to_come_keep_it(seed: int) -> None:
    draw = np.random.default_rng(seed)
    log = pd.DataFrame({"arm": draw.choice(list("abc"), size=6)})
    shares: Any = {"a": Fraction(int(draw.integers(0, 6)), 10), ("b", "c"): Fraction(int(draw.integers(0, 5)), 10)}
    caps = {"b": Fraction(int(draw.integers(1, 10)), 10)}
    promise = eh.audit.promise(log, arm="arm", shares={**shares, "b": 0, "c": 0}, caps=caps, by=10)
    had, rest = log["arm"].value_counts().reindex(list("abc"), fill_value=0), promise.rounds

    def keeps(more: tuple[str, ...]) -> bool:
        n = had + pd.Series(more).value_counts().reindex(list("abc"), fill_value=0)
        floors = n["a"] >= floor(10 * shares["a"]) and n["b"] + n["c"] >= floor(10 * shares["b", "c"])
        return bool(floors and n["b"] <= ceil(10 * caps["b"]))

    assert rest == 6
    assert promise.outlook is not None
    assert promise.outlook.kept == any(map(keeps, product("abc", repeat=4)))


def test_weights_are_due_exactly() -> None:
    found = eh.audit.promise(LOG, arm="arm", shares=SHARES, tolerance=1.5, weight="cost", by=1000).outlook
    cents = (LOG["cost"] * 100).round().astype(int)
    had = cents.groupby(LOG["arm"]).sum()
    assert found is not None
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
        {"by": 300, "shares": {1: SHARES, 9: SHARES}},
    ],
)
def test_an_end_that_says_nothing_is_refused(given: Any) -> None:
    log = LOG.assign(offers=["a,b,c"] * 239 + [LOG["arm"].iloc[-1]])
    with pytest.raises(ArgumentError, match=r"^(by|order|times)"):
        eh.audit.promise(log, arm="arm", **{"shares": SHARES} | given)


def test_the_shell_counts_the_rows_of_a_period_and_says_whether_it_can_be_kept(
    tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    LOG.to_csv("log.csv", index=False)
    asked = ["log.csv", "--shares", "a=0.5,b=0.25", "--times", "at", "--since", "2026-11-03", "--until", "2026-11-04"]
    inside = LOG[(LOG["at"] >= "2026-11-03") & (LOG["at"] < "2026-11-05")]
    body = json.loads(call("audit", *asked, "--by", "2026-11-08", "--json").stdout)
    assert body["rounds"] == len(inside) == 48
    assert body["outlook"]["by"] == "2026-11-09T00:00:00"
    assert body["outlook"]["due"][0]["had"] == (inside["arm"] == "a").sum()
    assert "Only the 48 of 240 rows from 2026-11-03" in body["notes"][-1]
    kept = call("report", *asked, "--by", "2026-11-08")
    assert kept.exit_code == 0
    assert "The promise can still be kept before 2026-11-09 00:00 UTC" in kept.stdout
    text = Path("report.html").read_text(encoding="utf-8")
    assert "By the end of the period" in text
    assert "still due" in text
    late = call("audit", *asked, "--by", "50")
    assert late.exit_code == 1
    assert "The promise can no longer be kept by 50 rounds" in late.stdout
    for wrong in (["--times", "at", "--since", "2027-01-01"], ["--times", "at", "--until", "soon"]):
        refused = call("audit", "log.csv", "--shares", "a=0.5", *wrong)
        assert wrong[2] in str(refused.exception)
    assert "--times" in str(call("audit", "log.csv", "--shares", "a=0.5", "--since", "2026-11-03").exception)
