"""Audits by weight against an exact computation with fractions, row by row."""

from decimal import Decimal
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.audit.weights import read_weights
from evenhand.errors import ArgumentError, TableError
from tests.cli.shell import answer, as_json
from tests.quotas.test_file_audit import same, written

SHARES = {"a": "1/3", "b": "0.25", "c": 0}
CAPS = {"a": "0.4", "c": "1/7"}
AHEAD = "3.125"


def log(rows, seed, digits=2):
    """Return decisions whose weights have so many digits after the point, many of them 0, and arms that come and go."""
    rng = np.random.default_rng(seed)
    arms = rng.choice(list("aabbbc"), rows)
    offers = [",".join(sorted({arm, *rng.choice(list("abc"), rng.integers(1, 4))})) for arm in arms]
    whole = rng.integers(0, 500, rows) * rng.integers(0, 2, rows)
    costs = [Decimal(int(each)).scaleb(-digits) for each in whole]
    return pd.DataFrame({"arm": arms, "cost": costs, "on": offers, "shop": rng.choice(["x", "y"], rows)})


def by_hand(frame, offers, segments):
    """Return how far each clause is behind in each segment after each of its rounds."""
    clauses = [("floor", *one, 1) for one in SHARES.items()] + [("cap", *one, -1) for one in CAPS.items()]
    sums, behind = {}, {}
    for round, row in enumerate(frame.itertuples(), start=1):
        for kind, arm, share, sign in clauses:
            if not offers or arm in row.on.split(","):
                key = kind, arm, row.shop if segments else None
                more = sign * Fraction(row.cost) * (Fraction(share) - (row.arm == arm))
                sums[key] = behind.setdefault(key, {})[round] = sums.get(key, Fraction(0)) + more
    return behind


def check(finding, behind, tolerance):
    rows = {(row["promise"], row["arm"], row["segment"]): row for row in finding.promises.to_dict("records")}
    assert set(behind) <= set(rows)
    wrong = {}
    for key, after in behind.items():
        row, slack = rows[key], Fraction(tolerance if key[0] == "floor" else AHEAD)
        broken = [round for round, by in after.items() if by > slack]
        for round in broken:
            wrong.setdefault(round, set()).add(after[round] - slack)
        assert row["rounds_in_violation"] == len(broken)
        ends = (min(after), broken[0], broken[-1]) if broken else (min(after), 0, 0)
        assert (row["since"], row["first_broken"], row["last_broken"]) == ends
        steps = pairwise([False, *(by > slack for by in after.values())])
        assert row["stretches"] == sum(on and not before for before, on in steps)
        worst = max(0, *after.values())
        at = next((round for round, by in after.items() if by == worst > slack), 0)
        assert (row["broken_by"], row["worst_round"]) == (float(max(0, worst - slack)), at)
        assert row["worst_shortfall" if key[0] == "floor" else "worst_excess"] == float(worst)
    assert (finding.rounds_in_violation, finding.kept) == (len(wrong), not wrong)
    first = finding.first_breach
    assert first.round == min(wrong)
    assert first.by in wrong[first.round]


def audited(given, tolerance, **asked):
    owed = {"shares": SHARES, "tolerance": float(tolerance), "caps": CAPS, "cap_tolerance": float(AHEAD)}
    return eh.audit.promise(given, arm="arm", weight="cost", **owed, **asked)


@pytest.mark.parametrize("segments", [False, True])
@pytest.mark.parametrize("offers", [False, True])
@pytest.mark.parametrize("tolerance", ["0", "12.5"])
def test_every_number_is_that_of_fractions(segments, offers, tolerance):
    for seed in range(2):
        frame = log(120, seed)
        found = audited(frame, tolerance, available="on" if offers else None, segment="shop" if segments else None)
        check(found, by_hand(frame, offers, segments), tolerance)


@pytest.mark.parametrize("kind", ["cents", "floats", "text", "decimals"])
def test_files_find_what_a_data_frame_does(tmp_path, kind):
    frame = log(300, 3)[["arm", "cost"]]
    if kind == "cents":
        frame["cost"] = (frame["cost"] * 100).astype(int)
    expected = audited(frame, "2")
    if kind in ("floats", "text"):
        frame["cost"] = frame["cost"].astype(float if kind == "floats" else str)
    pattern = written(frame, tmp_path / "logs", [90, 211])
    same(audited(pattern, "2", jobs=1), expected)
    if kind == "text":
        frame.to_csv(tmp_path / "log.csv", index=False)
        same(audited(str(tmp_path / "log.csv"), "2"), expected)
        on = log(300, 3)
        on.assign(cost=frame["cost"]).to_parquet(tmp_path / "on.parquet", row_group_size=50)
        asked = {"available": "on", "segment": "shop"}
        same(audited(str(tmp_path / "on.parquet"), "2", **asked), audited(on, "2", **asked))


def test_decimals_are_read_as_they_are_written():
    given = ["0.1", "3", "1e2", "12.500000000", ".25", "0", "1234567890.345678901"]
    exact = [Fraction(text) for text in given]
    for values in (given, [Decimal(text) for text in given], list(map(float, given[:6]))):
        read = read_weights(pd.DataFrame({"w": values}), "w")
        assert [Fraction(int(each), 10**read.digits) for each in read.whole] == exact[: len(values)]
    small = read_weights(pd.DataFrame({"w": np.array([0.1, 2.7, 16_777_215], np.float32)}), "w")
    assert (small.whole.tolist(), small.digits) == ([1, 27, 167_772_150], 1)


@pytest.mark.parametrize("last", ["0.5", "0.12345", "123456789"])
def test_long_columns_of_floats_are_the_decimals_that_they_were_written_as(last):
    texts = [*(f"{whole / 100:.2f}" for whole in range(0, 90_000, 150)), last]
    read = read_weights(pd.DataFrame({"w": list(map(float, texts))}), "w")
    assert [Fraction(int(each), 10**read.digits) for each in read.whole] == [Fraction(text) for text in texts]


@pytest.mark.parametrize(
    ("values", "row"),
    [
        *((values, 1) for values in ([0.1 + 0.2, 0.3], [True, 2], ["1." + "0" * 40 + "1", "2"])),
        *((values, 2) for values in ([1, -1], [0.5, 1e300], ["1", "1_000"], ["0.1", "0.0000000001"], [1, 2**62])),
    ],
)
def test_what_is_no_weight_is_refused_by_its_row(values, row):
    frame = pd.DataFrame({"arm": ["a", "b"], "cost": pd.Series(values, dtype=object).infer_objects()})
    with pytest.raises(TableError, match=f"column 'cost', row {row}"):
        eh.audit.promise(frame, arm="arm", shares={"a": 0.5, "b": 0}, weight="cost")


def test_what_cannot_be_counted_by_weight_is_refused():
    frame = pd.DataFrame({"arm": ["a", "b"], "cost": [2**60, 2**60], "two": [["a", "b"], ["a"]]})
    with pytest.raises(TableError, match="weights whose sum is below"):
        eh.audit.promise(frame, arm="arm", shares={"a": "1/7", "b": 0}, weight="cost")
    frame["cost"] = 1
    promise = eh.Promise({"a": 0.1, "b": 0}, windows={"b": 3})
    for asked in ({"shares": 0.1, "windows": {"b": 3}}, {"promise": promise}):
        with pytest.raises(ArgumentError, match="a window counts plays"):
            eh.audit.promise(frame, arm="arm", weight="cost", **asked)
    with pytest.raises(ArgumentError, match="several arms are played"):
        eh.audit.promise(frame, arm="two", shares=0.1, weight="cost")
    with pytest.raises(ArgumentError, match="tolerance: expected at most 9 digits"):
        eh.audit.promise(frame, arm="arm", shares=0.1, tolerance=0.1 + 0.2, weight="cost")


def test_shares_change_by_weight():
    frame = log(60, 5)
    changes = {1: {"a": "1/2", "b": 0, "c": 0}, 31: {"a": "1/4"}}
    found = eh.audit.promise(frame, arm="arm", shares=changes, tolerance=1, weight="cost")
    parts = slice(30), slice(30, 60)
    for row, part, share in zip(found.promises.iloc[[0, -1]].to_dict("records"), parts, (2, 4), strict=True):
        behind = frame["cost"] * (1 - share * (frame["arm"] == "a")) / share
        late = behind[part].cumsum()
        assert (row["arm"], row["limit"]) == ("a", f"1/{share}")
        assert row["rounds_in_violation"] == (late > 1).sum()
        assert row["worst_shortfall"] == float(max(0, late.max()))


def test_logs_written_apart_are_judged_in_every_order():
    owed = {"shares": {"a": "1/3", "b": 0}, "caps": {"b": "3/5"}, "tolerance": 1, "cap_tolerance": 0.5}
    for seed in range(3):
        one, other = (log(4, 2 * seed + n).replace({"arm": {"c": "a"}})[["arm", "cost"]] for n in range(2))
        apart = eh.audit.promise(frames=[one, other], arm="arm", weight="cost", **owed)
        worst = {"floor": Fraction(0), "cap": Fraction(0)}
        for places in combinations(range(8), 4):
            parts = iter(one.itertuples(index=False)), iter(other.itertuples(index=False))
            total, mine = Fraction(0), {"a": Fraction(0), "b": Fraction(0)}
            for place in range(8):
                arm, cost = next(parts[place not in places])
                total, mine[arm] = total + Fraction(cost), mine[arm] + Fraction(cost)
                worst["floor"] = max(worst["floor"], total / 3 - mine["a"] - 1)
                worst["cap"] = max(worst["cap"], mine["b"] - total * 3 / 5 - Fraction(1, 2))
        rows = apart.promises[apart.promises["limit"] != "0"]
        assert rows["broken_by"].tolist() == [float(worst["floor"]), float(worst["cap"])]


def test_all_that_a_command_says_is_in_the_unit(tmp_path):
    frame = log(200, 1).assign(at=pd.date_range("2026-01-01", periods=200, freq="h"))
    frame.to_csv(tmp_path / "log.csv", index=False)
    options = "--shares a=0.5,b=0.25 --cap c=0.1 --tolerance 1.5 --weight cost --times at"
    asked = [tmp_path / "log.csv", *options.split()]
    owed = {"shares": {"a": 0.5, "b": 0.25, "c": 0}, "caps": {"c": 0.1}, "tolerance": 1.5}
    found = eh.audit.promise(frame, arm="arm", weight="cost", times="at", **owed)
    told = answer("audit", *asked, "--out", tmp_path / "out", code=1)
    assert f"{float(frame['cost'].sum()):,.2f} cost" in told
    assert f"by {found.amount(found.worst_shortfall)} after" in told
    assert found.amount(found.worst_shortfall).endswith(" cost")
    assert "plays" not in told
    body = as_json("audit", *asked, code=1)
    assert (body["unit"], body["worst_shortfall"]) == ("cost", found.worst_shortfall)
    assert body["arms"][0]["weight"] == float(frame.loc[frame["arm"] == "a", "cost"].sum())
    sums = pd.read_csv(tmp_path / "out" / "audit.csv").set_index("arm")["weight"]
    assert sums["a"] == body["arms"][0]["weight"]
    answer("report", *asked, "--out", tmp_path / "report.html", code=1)
    page = (tmp_path / "report.html").read_text()
    assert "of the cost" in page
    assert "r times the sum of cost" in page
    assert "plays" not in page.split("</style>")[1]
    axes = eh.plots.plot_audit(found)
    assert axes.get_ylabel() == "cost behind or ahead"
    assert "above 1.5 a share is broken" in [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize("tolerance", [0, 2])
def test_where_all_weigh_one_the_finding_is_that_of_rounds(tolerance):
    """r A - N >= a + 1 breaks a share p / 8 of the rounds, so more than a + 7 / 8 does by weight."""
    random = np.random.default_rng(12)
    log = pd.DataFrame({"arm": random.choice([*"abc"], 400, p=[0.24, 0.13, 0.63]), "one": 1})
    owed = {"a": "1/4", "b": "1/8", "c": 0}
    by_rounds = eh.audit.promise(log, arm="arm", shares=owed, tolerance=tolerance)
    by_weight = eh.audit.promise(log, arm="arm", shares=owed, tolerance=tolerance + 0.875, weight="one")
    names = "kept worst_shortfall worst_arm worst_round rounds_in_violation first_violation last_violation stretches"
    for name in names.split():
        assert getattr(by_weight, name) == getattr(by_rounds, name)
    assert by_weight.rounds_in_violation > 0
    pd.testing.assert_frame_equal(by_weight.timeline, by_rounds.timeline)
    columns = ["arm", "owed", "share", "pulls", "worst_shortfall", "worst_round", "rounds_in_violation"]
    pd.testing.assert_frame_equal(by_weight.arms[columns], by_rounds.arms[columns])
