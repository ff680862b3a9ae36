"""Audits of caps, windows, sets, segments, slates, arms on offer and shares that change, against a count by hand."""

import json
import random
from fractions import Fraction as F

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import audit
from evenhand.errors import ArgumentError, SharesError, TableError, UnknownArmError
from evenhand.promises.clause import Clause
from tests.fuzzing import many
from tests.naming import named
from tests.reference.books import counted

ARMS = ("a", "b", "c", "d")


def compare(finding, rounds, clauses):
    """The findings are those of the slow twin, each row of the table of promises included.

    `rounds` are (arms played, arms on offer, segment); a clause is (kind, arms, limit, slack, segment, first round,
    last round).
    """
    spans = [(first - 1, last) for *_, first, last in clauses]
    found, broken = counted([Clause(*one[:4]) for one in clauses], rounds, spans)
    mine = [found[segment, number] for number, (*_, segment, _, _) in enumerate(clauses)]
    assert finding.rounds == len(rounds)
    assert finding.kept == (not any(broken))
    assert finding.rounds_in_violation == sum(broken)
    for row, (kind, *_), one in zip(finding.promises.to_dict("records"), clauses, mine, strict=True):
        assert row["promise"] == kind
        assert row["rounds_in_violation"] == one["times"]
        assert (row["first_broken"], row["broken_by"], row["worst_round"]) == (
            one["first"],
            one["most"],
            one["most_at"],
        )
    if any(broken):
        t, number = min((one["first"], number) for number, one in enumerate(mine) if one["first"])
        kind, arms, limit, _, segment, _, _ = clauses[number]
        breach, by = finding.first_breach, mine[number]["first_by"]
        assert (breach.promise, breach.arms, breach.limit, breach.round, breach.by, breach.segment) == (
            *(kind, tuple(arms), limit, t, by, segment),
        )
        assert finding.first_violation == (t, arms[0] if len(arms) == 1 else tuple(arms))
        assert f"after round {t}" in str(breach)
    else:
        assert finding.first_breach is None


def drawn_shares(rng, arms=ARMS, most=1):
    weights = [rng.randint(0, 4) for _ in arms]
    total = max(1, sum(weights)) * rng.choice([1, 2, 3])
    return {arm: min(F(1), F(weight * most, total)) for arm, weight in zip(arms, weights, strict=True)}


seeds = st.integers(0, 10**6)


@settings(max_examples=many(60), deadline=None)
@given(seed=seeds, slack=st.integers(0, 2), ahead=st.integers(0, 2))
def test_caps_windows_and_sets_are_found_as_by_counting(seed, slack, ahead):
    rng = random.Random(seed)
    codes = rng.choices(ARMS, weights=[rng.randint(1, 6) for _ in ARMS], k=rng.randint(1, 80))
    shares = drawn_shares(rng)
    caps = {arm: max(shares[arm], F(rng.randint(1, 8), 8)) for arm in rng.sample(ARMS, 2)}
    windows = {"b": (1, rng.randint(3, 9)), "c": (rng.randint(1, 2), rng.randint(5, 9))}
    end = len(codes)
    floors = [("floor", (arm,), shares[arm], slack, None, 1, end) for arm in ARMS]
    sets = {("a", "b"): max(shares["a"] + shares["b"], F(1, 3)), ("b", "c"): F(1, 4)} if rng.random() < 0.5 else {}
    floors += [("floor", arms, share, slack, None, 1, end) for arms, share in sets.items()]
    caps = {} if sets else caps  # no rule keeps both
    limits = [("cap", (arm,), caps[arm], ahead, None, 1, end) for arm in ARMS if arm in caps]
    limits += [("window", (arm,), window, 0, None, 1, end) for arm, window in windows.items()]
    finding = audit.promise(
        pd.DataFrame({"who": codes}),
        arm="who",
        shares=shares | sets,
        tolerance=slack + 0.5,
        caps=caps or None,
        cap_tolerance=ahead,
        windows=windows,
    )
    compare(finding, [((arm,), ARMS, None) for arm in codes], floors + limits)
    found = finding.promises.set_index(["promise", "arm"])["worst_excess"].get("cap", {})
    most = {arm: max(codes[:t].count(arm) - cap * t for t in range(end + 1)) for arm, cap in caps.items()}
    assert dict(found) == pytest.approx({arm: float(by) for arm, by in most.items()})


@settings(max_examples=many(60), deadline=None)
@given(seed=seeds, slack=st.integers(0, 2), way=st.sampled_from(["lists", "rounds"]), segments=st.booleans())
def test_slates_segments_and_own_clocks_are_found_as_by_counting(seed, slack, way, segments):
    rng = random.Random(seed)
    shares, rounds, rows = drawn_shares(rng, most=2), [], []
    for t in range(rng.randint(1, 60)):
        offered = rng.sample(ARMS, rng.randint(1, 4))
        played = rng.sample(offered, min(2, len(offered)))
        where = rng.choice(["home", "away"]) if segments else None
        rounds.append((played, offered, where))
        text = ", ".join(offered) if rng.random() < 0.5 else offered
        shown = {"round": f"r{t}", "offered": text if way == "lists" else offered, "where": where}
        rows += [shown | {"arm": arm} for arm in ([played] if way == "lists" else played)]
    frame = pd.DataFrame(rows)
    most = max(len(played) for played, _, _ in rounds)
    if sum(shares.values()) > most:
        shares = {arm: share / 2 for arm, share in shares.items()}
    places = sorted({where for _, _, where in rounds}) if segments else [None]
    clauses = [("floor", (arm,), shares[arm], slack, where, 1, 99) for arm in ARMS for where in places]
    finding = audit.promise(
        frame,
        arm="arm",
        shares=shares,
        tolerance=slack,
        available="offered",
        segment="where" if segments else None,
        round=None if way == "lists" else "round",
    )
    compare(finding, rounds, clauses)
    for row in finding.arms.to_dict("records"):
        on = [played for played, offered, _ in rounds if row["arm"] in offered]
        assert row["pulls"] == sum(row["arm"] in played for played in on)
        if on:
            assert row["share"] == pytest.approx(row["pulls"] / len(on))
        if segments:
            assert row["behind_over_segments"] == pytest.approx(float(shares[row["arm"]] * len(on)) - row["pulls"])


@settings(max_examples=many(60), deadline=None)
@given(seed=seeds, slack=st.integers(0, 1), way=st.sampled_from(["dict", "table", "times"]))
def test_shares_that_change_count_from_their_dates(seed, slack, way):
    rng = random.Random(seed)
    codes = rng.choices(ARMS, weights=[rng.randint(1, 6) for _ in ARMS], k=rng.randint(4, 60))
    end = len(codes)
    starts = sorted({1, *rng.sample(range(2, end + 3), rng.randint(1, 2))})
    changes = {start: drawn_shares(rng) for start in starts}
    later = {start: until - 1 for start, until in zip(starts, [*starts[1:], end + 9], strict=True)}
    clauses = [
        ("floor", (arm,), changes[start][arm], slack, None, start, min(end, later[start]))
        for start in starts
        if start <= end
        for arm in ARMS
    ]
    frame, order, given = pd.DataFrame({"who": codes}), None, changes
    if way != "dict":
        given = pd.DataFrame(
            [{"from": start, "arm": arm, "share": share} for start in starts for arm, share in changes[start].items()]
        )
    if way == "times":
        day = [pd.Timestamp("2026-01-01") + pd.Timedelta(hours=t) for t in range(end + 4)]
        frame, order = frame.assign(when=day[1 : end + 1]).sample(frac=1, random_state=seed % 99), "when"
        given = given.assign(**{"from": [str(day[start]) for start in given["from"]]})
    compare(
        audit.promise(frame, arm="who", shares=given, tolerance=slack, order=order),
        [((arm,), ARMS, None) for arm in codes],
        clauses,
    )


def test_an_arm_that_comes_later_is_owed_from_its_own_date():
    log = pd.DataFrame({"who": list("aabbabcacb")})
    shares = {1: {"a": 0.5, "b": 0.3}, 6: {"c": 0.2}, 9: {"a": 0}}
    table = audit.promise(log, arm="who", shares=shares).promises
    owed = [["a", 1, "1/2"], ["b", 1, "3/10"], ["c", 6, "1/5"], ["a", 9, "0"]]
    assert table[["arm", "since", "limit"]].values.tolist() == owed
    with pytest.raises(SharesError, match=r"from 6: shares: they sum to 1\.1"):
        audit.promise(log, arm="who", shares={1: {"a": 0.5, "b": 0.3, "c": 0}, 6: {"c": 0.3}})


def test_lists_may_be_written_as_json_and_labels_that_look_like_lists_stay_labels():
    rounds = [["a", "b"], ["b", "c"], ["a", "c"]]
    lists, texts = pd.DataFrame({"arm": rounds}), pd.DataFrame({"arm": [json.dumps(one) for one in rounds]})
    shares = {"a": 0.5, "b": 0.5, "c": 0.5}
    one, other = (audit.promise(log, arm="arm", shares=shares).arms for log in (texts, lists))
    assert one.equals(other)
    groups = pd.DataFrame({"group": ['["F", "M"]', "F & M", '["F", "M"]']})
    assert audit.promise(groups, arm="group", shares={'["F", "M"]': 0.5, "F & M": 0.2}).rounds == 3


def test_a_window_that_the_log_never_serves_is_named():
    finding = audit.promise(pd.DataFrame({"who": ["a", "b"] * 10}), arm="who", windows={"c": (2, 5)})
    assert finding.never_seen == ("c",)
    said = "after round 5, the plays of arm 'c' were 2 fewer than the 2 owed in any 5 consecutive rounds"
    assert str(finding.first_breach) == said


LOG = {"who": ["a", "b", "a"], "list": ["a,b", "a,b", "a"], "where": [1, 2, 2], "r": [1, 1, 2], "when": [1, 2, 3]}
TWICE = pd.DataFrame({"from": [1, 1], "arm": ["a", "a"], "share": [0.1, 0.2]})


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({}, SharesError, "shares: expected shares, caps or windows to check, got None"),
        ({"shares": {"a": 0.5}}, UnknownArmError, "column 'who', row 2: expected an arm that has"),
        ({"arm": "item", "shares": 0.5}, TableError, r"column: expected one of \['who', .*\], got 'item'"),
        ({"frame": pd.DataFrame({"who": []}), "shares": 0.5}, TableError, "column 'who': no rows"),
        ({"shares": 0.7}, SharesError, r"sum to 1\.4"),
        ({"shares": {"a": -1, "b": 0}}, SharesError, r"shares\['a'\]: expected numbers from 0 to 1"),
        ({"shares": 0.5, "tolerance": -1}, ArgumentError, "tolerance: expected"),
        ({"shares": 0.1, "caps": 0.05}, SharesError, r"caps\['a'\]: expected at least its share"),
        ({"shares": 0.1, "caps": 0.4}, SharesError, "sum of at least 1"),
        ({"windows": {"a": 2, "b": (2, 3)}}, SharesError, "more than 1 by"),
        ({"shares": {"a": 0.1, "b": 0}, "available": "where"}, UnknownArmError, "1: expected arms that have a share"),
        ({"shares": 0.1, "available": "no"}, TableError, "column: expected one of"),
        ({"shares": 0.1, "segment": "where", "round": "r"}, TableError, "row 2: expected the same in all rows"),
        ({"shares": 0.1, "round": "no"}, TableError, "round: expected one of"),
        ({"shares": {0: {"a": 0.1, "b": 0}}}, TableError, "from: expected numbers of rounds from 1"),
        ({"shares": {"2026-01-01": {"a": 0, "b": 0}}, "order": "when"}, TableError, "from: expected values as in"),
        ({"shares": {1: {"a": 0.1, "c": 0}}}, UnknownArmError, "row 2: expected an arm that has a share"),
        ({"shares": {1: {}}}, SharesError, "shares of single arms where they change over time, got 'none'"),
        ({"shares": {1: {("a", "b"): 0.5}}}, SharesError, "got 'a set of arms'"),
        ({"shares": {1: {"a": 2, "b": 0}}}, SharesError, r"from 1: shares\['a'\]: expected numbers from 0 to 1"),
        ({"shares": pd.DataFrame({"from": [1], "arm": ["a"]})}, TableError, "columns 'from', 'arm' and 'share'"),
        ({"shares": TWICE}, SharesError, "each arm once at each date, got \"'a' twice from 1\""),
    ],
    ids=named,
)
def test_what_cannot_be_audited_is_refused_by_name(options, error, words):
    with pytest.raises(error, match=words):
        audit.promise(**{"frame": pd.DataFrame(LOG), "arm": "who"} | options)


@pytest.mark.parametrize(
    ("frame", "options", "words"),
    [
        ({"arm": [["a", "b"], "a"]}, {}, "column 'arm', row 2: expected a list of arms in every row"),
        ({"arm": [["a", "b"], []]}, {}, "column 'arm', row 2: expected a list of arms"),
        ({"arm": [["a", "b"], [1.5]]}, {}, "column 'arm', row 2: expected a list of arms"),
        ({"arm": [["a", "b"], ["b", "b"]]}, {}, "column 'arm', row 2: expected each arm once in a round, got 'b'"),
        ({"arm": ["a", "b", "a"], "r": [1, 2, 1]}, {"round": "r"}, "row 3: expected each arm once in a round"),
        ({"arm": list("baab"), "r": [1, 1, 1, 2]}, {"round": "r"}, "row 3: expected each arm once in a round"),
        ({"arm": ["a", "b"], "r": [1, 1]}, {"round": "r", "shares": {"a": 0.5}}, "row 2: expected an arm that has a s"),
        ({"arm": ["a", "b"], "on": ["a,b", "a"]}, {"available": "on"}, "column 'on', row 2: expected the arm that was"),
    ],
    ids=named,
)
def test_a_log_that_contradicts_itself_is_refused(frame, options, words):
    with pytest.raises((TableError, UnknownArmError), match=words):
        audit.promise(pd.DataFrame(frame), arm="arm", **{"shares": 0.1} | options)
