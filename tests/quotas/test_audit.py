"""The audit of a decision log against a count in fractions, row by row."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import Promise, audit
from evenhand.errors import SharesError, TableError, UnknownArmError
from evenhand.quotas import LoggedArms
from tests.fuzzing import many
from tests.naming import named
from tests.quotas.test_audit_promises import compare
from tests.reference import quotas as slow
from tests.strategies import any_shares, tolerances


@settings(max_examples=many(150))
@given(
    shares=any_shares(6),
    tolerance=tolerances,
    rows=st.integers(1, 150),
    seed=st.integers(0, 10**6),
    leaning=st.sampled_from([0.1, 1.0, 10.0]),
)
def test_an_audit_finds_what_counting_in_fractions_finds(shares, tolerance, rows, seed, leaning):
    generator = np.random.default_rng(seed)
    k = len(shares)
    codes = generator.choice(k, size=rows, p=generator.dirichlet(np.full(k, leaning))).tolist()
    labels = [f"arm {i}" for i in range(k)]
    named = dict(zip(labels, shares, strict=True))
    log = pd.DataFrame({"who": [labels[i] for i in codes]})
    finding = audit.promise(log, arm="who", shares=named, tolerance=tolerance)
    promise = Promise(named, tolerance)
    expected = slow.audit(promise.shares, tolerance, codes)

    floors = [("floor", one.arms, one.rate, one.slack, None, 1, rows) for one in promise.floors]
    compare(finding, [((labels[code],), labels, None) for code in codes], floors)
    assert finding.arms["arm"].tolist() == labels
    assert finding.arms["pulls"].tolist() == expected["pulls"]
    assert finding.arms["rounds_in_violation"].tolist() == expected["by_arm"]
    exact = [float(value) for value in expected["worst"]]
    assert finding.arms["worst_shortfall"].tolist() == pytest.approx(exact, abs=1e-9)
    assert finding.worst_shortfall == pytest.approx(max(exact), abs=1e-9)
    assert finding.arms["share"].tolist() == pytest.approx([n / rows for n in expected["pulls"]])
    for arm, t in zip(range(k), finding.arms["worst_round"], strict=True):
        pulls = codes[:t].count(arm)
        assert float(promise.shares[arm] * int(t) - pulls) == pytest.approx(exact[arm], abs=1e-9)
    for t, now in zip(finding.timeline["round"], finding.timeline["shortfall"], strict=True):
        pulls = [codes[:t].count(arm) for arm in range(k)]
        behind = slow.shortfalls(promise.shares, pulls, int(t))
        owed = [float(one) for one, share in zip(behind, promise.shares, strict=True) if share]
        assert now == pytest.approx(max(owed, default=np.nan), abs=1e-9, nan_ok=True)


def test_one_share_serves_every_arm_of_the_log_and_whole_numbers_stay_numbers():
    finding = audit.promise(pd.DataFrame({"item": [3, 1, 3, 1, 1, 1]}), arm="item", shares=0.5)
    assert finding.arms["arm"].tolist() == [1, 3]
    assert finding.first_violation == (6, 3)
    assert isinstance(finding.worst_arm, int)


SHARES = {"a": 0.5, "b": 0.5}


@pytest.mark.parametrize(
    "when",
    [
        [10, 9, 100, 11],
        ["10", "9", "100", "11"],
        ["2026-01-10", "2026-01-09 23:00", "2026-01-20", "2026-01-11T00:00:00"],
        ["2026-01-10T01:00+02:00", "2026-01-09T22:59Z", "2026-01-10T00:00Z", "2026-01-09T23:30Z"],
        pd.to_datetime(["2026-01-10", "2026-01-09", "2026-01-20", "2026-01-11"]),
        pd.Categorical([10, 9, 100, 11]),
    ],
    ids=named,
)
def test_rows_are_put_in_order_by_numbers_and_by_times(when):
    log = pd.DataFrame({"item": ["a", "a", "b", "b"], "when": when})
    finding = audit.promise(log, arm="item", shares=SHARES, order="when")
    assert finding.first_violation == (2, "b")
    assert audit.promise(log.iloc[[0, 2, 1, 3]], arm="item", shares=SHARES, order="when").first_violation == (2, "b")


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ([1.0, float("nan"), 3.0], "column 'when', row 2: the cell is empty"),
        (["2026-01-01", 7, "2026-01-02"], "column 'when', row 2: expected only numbers or only times, got 7"),
        (["2026-01-01", "late", "2026-01-02"], "row 2: expected only numbers or only times, got 'late'"),
        (
            ["01.07.2026 00:24", "02.07.2026 00:24", "2026-07-13 00:24"],
            "row 3: expected a time written as in most rows, such as '01.07.2026 00:24', got '2026-07-13 00:24'",
        ),
        (["13.07.2026", "14.07.2026", "15.07.2026"], "row 1: expected only numbers or only times"),
    ],
)
def test_an_order_that_is_none_is_refused(when, words):
    with pytest.raises(TableError, match=words):
        audit.promise(pd.DataFrame({"item": ["a", "b", "a"], "when": when}), arm="item", shares=SHARES, order="when")


def test_an_unknown_arm_is_named_with_its_row_in_the_file():
    log = pd.DataFrame({"item": ["z", "a", "b"], "when": [3, 2, 1]})
    with pytest.raises(UnknownArmError, match="column 'item', row 1"):
        audit.promise(log, arm="item", shares=SHARES, order="when")


LEVELS = pd.DataFrame({"who": pd.Categorical(["a", "b", "a", "b"], categories=["b", "a", "never"])})


def test_levels_that_a_column_declares_and_never_holds_are_owed_the_share_of_every_arm():
    finding = audit.promise(LEVELS, arm="who", shares=0.25)
    assert finding.promise.arms == ("a", "b", "never")
    assert (finding.kept, finding.first_violation, finding.never_seen) == (False, (4, "never"), ("never",))
    assert audit.promise(LEVELS, arm="who", shares={"a": 0.4, "b": 0.4}).kept
    with pytest.raises(SharesError, match="more than 1"):
        audit.promise(LEVELS, arm="who", shares=0.4)


@pytest.mark.parametrize("arms", [[10, 9, 2], ["10", "9", "2"], ["10", "b", "9", "a"]], ids=str)
def test_arms_that_are_numbers_are_in_the_order_of_numbers(arms):
    frame = pd.DataFrame({"who": arms * 2})
    expected = {int: (2, 9, 10), str: ("2", "9", "10")}[type(arms[0])] if len(arms) == 3 else ("9", "10", "a", "b")
    assert audit.promise(frame, arm="who", shares=0.01).promise.arms == expected
    assert LoggedArms(frame.assign(pay=0.5), arm="who", reward="pay").arms == expected


def test_a_log_of_one_arm_is_audited():
    log = pd.DataFrame({"item": ["a"] * 5})
    for owed in ({"shares": 0.5}, {"shares": {"a": 1}}, {"windows": {"a": 2}}, {"shares": {2: {"a": 0.5}}}):
        finding = audit.promise(log, arm="item", **owed)
        assert finding.kept
        assert finding.arms["pulls"].tolist() == [5]


@pytest.mark.parametrize(("ahead", "kept"), [(0, False), (1, True)])
def test_a_cap_of_zero_says_that_an_arm_is_never_played(ahead, kept):
    finding = audit.promise(pd.DataFrame({"item": list("aabaa")}), arm="item", caps={"b": 0}, cap_tolerance=ahead)
    assert finding.kept == kept
    if not kept:
        assert str(finding.first_breach) == "after round 3, the plays of arm 'b' were 1 more than the cap 0 allows"


DAYS = pd.DataFrame({"day": np.repeat(["2025-01-01", "2025-01-02"], 20), "item": ["b", "b", "a", "a"] * 10})


@pytest.mark.parametrize("round", [None, "n"])
@pytest.mark.parametrize("order", ["day", ["day", "hour"]])
def test_a_log_that_is_newest_first_is_turned_around_with_its_ties(order, round):
    log = DAYS.assign(hour=7, n=np.arange(40))
    for rows, turned in ((log, False), (log[::-1], True)):
        found = audit.promise(rows, arm="item", order=order, round=round, shares={"b": 0.5, "a": 0})
        assert found.kept
        assert any("40 of 40 rounds have the same day" in note for note in found.notes)
        assert any("from its end" in note for note in found.notes) == turned


def test_a_further_column_orders_what_is_tied():
    log = DAYS.assign(id=np.arange(40)).sample(frac=1, random_state=1)
    found = audit.promise(log, arm="item", order=["day", "id"], shares={"b": 0.5, "a": 0})
    assert (found.kept, found.notes) == (True, ())
    again = audit.promise(log, arm="item", order="day", shares={"b": 0.5, "a": 0})
    assert any("name a further column, such as day,id" in note for note in again.notes)


NO_DIFFERENCE = {
    "one arm at each time": {"item": ["a", "a", "b", "b"]},
    "the rows of a round": {"item": ["a", "b", "b", "a"], "n": [1, 1, 2, 2]},
}


@pytest.mark.parametrize("columns", NO_DIFFERENCE.values(), ids=NO_DIFFERENCE)
def test_ties_that_make_no_difference_are_not_spoken_of(columns):
    log = pd.DataFrame({"when": [1, 1, 2, 2], **columns})
    said = audit.promise(log, arm="item", round="n" if "n" in columns else None, caps=1).notes
    assert audit.promise(log, arm="item", order="when", round="n" if "n" in columns else None, caps=1).notes == said


@pytest.mark.parametrize("column", ["available", "segment"])
def test_ties_of_rounds_that_differ_otherwise_are_spoken_of(column):
    log = pd.DataFrame({"when": [1, 1, 1, 2, 2], "item": ["a"] * 5, "other": ["a,b", "a", "a", "b,a", "b,a"]})
    found = audit.promise(log, arm="item", order="when", shares={"a": 0.1, "b": 0}, **{column: "other"})
    assert any("3 of 5 rounds have the same when as another that differs," in note for note in found.notes)


@pytest.mark.parametrize(
    ("promised", "words"),
    [
        ({"shares": {"b": 0.5, "a": 0}, "tolerance": 4}, "may change the answer"),
        ({"shares": {"b": 0.5, "a": 0}, "tolerance": 5}, "The promise is kept in every order of them"),
        ({"caps": {"b": 0.25}, "cap_tolerance": 10}, "may change the answer"),
        ({"caps": {"b": 0.25}, "cap_tolerance": 12}, "The promise is kept in every order of them"),
        ({"caps": {"b": 0.25}}, "The promise is broken in every order of them"),
        ({"caps": 1, "windows": {"b": 4}}, "may change the answer"),
    ],
)
def test_a_note_says_whether_the_order_of_ties_may_change_the_verdict(promised, words):
    assert words in audit.promise(DAYS, arm="item", order="day", **promised).notes[-1]


def test_ties_in_logs_that_were_written_apart_are_spoken_of():
    found = audit.promise(frames=[DAYS, DAYS], arm="item", order="day", shares={"b": 0.1, "a": 0})
    assert sum("40 of 40 rounds" in note for note in found.notes) == 2


def test_floats_that_cannot_hold_nanoseconds_are_refused_as_an_order():
    when = 1_700_000_000_000_000_000 + np.arange(4)
    log = pd.DataFrame({"item": ["a", "b", "a", "b"], "when": when})
    assert audit.promise(log, arm="item", order="when", shares=0.5).notes == ()
    assert audit.promise(log.astype({"when": str}), arm="item", order="when", shares=0.5).notes == ()
    for bad in (log.astype({"when": float}), log.assign(when=[*map(float, when)])):
        with pytest.raises(TableError, match="column 'when', row 1: expected values that floats hold exactly, below"):
            audit.promise(bad, arm="item", order="when", shares=0.1)


@pytest.mark.parametrize(
    ("order", "words"), [([], "order: expected the name of a column"), (["day", "no"], "order: expected one of")]
)
def test_an_order_of_no_column_is_refused(order, words):
    with pytest.raises(TableError, match=words):
        audit.promise(DAYS, arm="item", order=order, shares=0.1)
