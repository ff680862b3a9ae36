"""What a promise costs in the long run, against linear programmes that scipy solves, and by the rewards of a log."""

import math
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, SharesError, TableError, UnknownArmError
from evenhand.promises.promise import read_promise
from evenhand.quotas import price
from tests.fuzzing import many
from tests.promises.test_best_counts import best_by_scipy, drawn_promise

MEANS = {"a": 0.7, "b": 0.5, "c": 0.2}
PROMISES = {
    "a share": (eh.Promise({"a": 0, "b": 0.2, "c": 0.1}), 0.2 * 0.2 + 0.1 * 0.5),
    "a set": (eh.Promise({"a": 0, "b": 0, "c": 0, ("b", "c"): 0.4}), 0.4 * 0.2),
    "a cap": (eh.Promise({"b": 0, "c": 0, "a": 0}, caps={"a": 0.6}), 0.4 * 0.2),
    "a window": (eh.Promise({"a": 0, "b": 0, "c": 0}, windows={"c": (2, 10)}), 0.2 * 0.5),
    "two plays": (eh.Promise({"a": 0, "b": 0, "c": 0.5}, plays=2), 0.5 * 0.3),
    "nothing": (eh.Promise({"a": 0, "b": 0, "c": 0}), 0.0),
}


def log_of(promise, seed, rows=6000):
    random = np.random.default_rng(seed)
    codes = random.integers(0, len(promise.arms), rows)
    arms = np.array(promise.arms)[codes]
    return pd.DataFrame({"arm": arms, "reward": random.random(rows) < [MEANS[arm] for arm in arms]})


@pytest.mark.parametrize("seed", range(many(60)))
def test_every_price_is_what_scipy_finds(seed):
    """The cost, and what each clause costs, and would cost with a point more or less."""
    random = np.random.default_rng(seed)
    try:
        promise = drawn_promise(random)
        means = random.integers(0, 9, len(promise.arms)) / 10
        found = price(promise, means)
    except ArgumentError:
        return
    rates = [c.rate[0] / c.rate[1] if c.kind == "window" else float(c.rate) for c in promise.clauses]
    kept, free = best_by_scipy(promise, means, rates), np.sort(means)[-promise.plays :].sum()
    assert (found.cost, found.free, found.kept) == pytest.approx((free - kept, free, kept), abs=1e-9)
    assert found.low == found.high == found.cost
    for i, row in enumerate(found.clauses.itertuples()):
        cap, point = row.promise == "cap", 0.01
        moved = [
            best_by_scipy(promise, means, [*rates[:i], rate, *rates[i + 1 :]])
            for rate in (rates[i] + (-point if cap else point), rates[i] - (-point if cap else point), float(cap))
        ]
        wanted = kept - moved[0], moved[1] - kept, moved[2] - kept
        assert (row.tighter, row.looser, row.cost) == pytest.approx(wanted, abs=1e-7, nan_ok=True)


def test_a_point_is_a_whole_point():
    """Less than a point is all that a clause has, or can have, and other clauses take over within one."""
    small = price(eh.Promise({"a": 0, "b": 0.005, "c": 0}), {"a": 0.9, "b": 0.5, "c": 0.4}).clauses.iloc[0]
    assert (small.looser, small.cost) == pytest.approx((0.002, 0.002))
    full = price(eh.Promise({"a": 0.5, "b": 0.495}), {"a": 0.9, "b": 0.5}).clauses
    assert full["tighter"].isna().all()
    windowed = read_promise({"b": 0.504, "a": 0}, windows={"b": 2}, audited=True)
    assert price(windowed, {"a": 0.9, "b": 0.5}).clauses["looser"].tolist() == pytest.approx([0.004 * 0.4, 0])


def test_both_sides_of_a_corner_are_told():
    """b gets 1/10 anyway, as a may not have more than 9/10: less of the share saves nothing, more of it costs."""
    promise = eh.Promise({"a": 0, "b": 0.1, "c": 0}, caps={"a": 0.5, "c": 0.4}, offers="all")
    share = price(promise, {"a": 0.9, "b": 0.1, "c": 0.6}).clauses.iloc[0]
    assert (share.tighter, share.looser) == (pytest.approx(0.005), 0.0)


def test_a_share_that_nobody_can_add_to_has_no_upper_side():
    found = price(eh.Promise({"a": "1/3", "b": "1/3", "c": "1/3"}), MEANS)
    assert found.clauses["tighter"].isna().all()
    assert found.clauses["looser"].tolist() == pytest.approx([0.0, 0.002, 0.005])
    assert found.shares == pytest.approx({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3})


@pytest.mark.parametrize("kind", PROMISES)
def test_every_kind_of_clause_has_its_price(kind):
    promise, cost = PROMISES[kind]
    found = price(promise, log_of(promise, 1))
    assert found.cost == pytest.approx(cost, abs=0.02)
    assert found.low <= cost <= found.high
    assert price(promise, MEANS).cost == pytest.approx(cost)


def test_the_intervals_hold_about_as_often_as_they_say():
    promise, cost = PROMISES["a share"]
    prices = [price(promise, log_of(promise, seed, 600)) for seed in range(many(200))]
    assert np.mean([one.low <= cost <= one.high for one in prices]) >= 0.93
    of_c = [one.clauses.iloc[1] for one in prices]
    assert np.mean([row.looser_low <= 0.005 <= row.looser_high for row in of_c]) >= 0.93
    error = np.sqrt(np.dot([0.3**2, 0.2**2, 0.1**2], [0.25] * 3) / 200)  # of what the best arm leads the others by
    assert np.mean([one.high - one.low for one in prices]) == pytest.approx((1.96 + 2.24) * error, rel=0.05)


TEN = {"A": 0.2, "B": 0.5} | {f"x{i}": 0.4 for i in range(10)}
UNCLEAR = {
    "a floor": (eh.Promise({arm: 0.3 * (arm == "A") for arm in TEN}), TEN, 600),
    "a cap": (eh.Promise(dict.fromkeys(TEN, 0), caps={"B": 0.5}), TEN, 2000),
    "none is better": (eh.Promise(dict.fromkeys("abcdefgh", 0.1)), dict.fromkeys("abcdefgh", 0.5), 1600),
    "one is idle": (eh.Promise({"a": 0.1, "b": 0}), {"a": 0.5, "b": 0.55}, 100),
}


@pytest.mark.parametrize("world", UNCLEAR)
def test_the_intervals_hold_where_it_is_unclear_which_arms_are_best(world):
    """Of 100 that hold with probability 95 %, fewer than 90 do with probability 1 %: the binomial distribution."""
    promise, means, rows = UNCLEAR[world]
    random, cost, arms = np.random.default_rng(4), price(promise, means).cost, np.array(list(means))
    held = 0
    for _ in range(100):
        codes = random.integers(0, len(arms), rows)
        won = random.random(rows) < np.array(list(means.values()))[codes]
        found = price(promise, pd.DataFrame({"arm": arms[codes], "reward": won}))
        held += found.low - 1e-9 <= cost <= found.high + 1e-9
    assert held >= 90


@pytest.mark.parametrize("period", [2, 4, 6])
def test_rewards_that_come_in_turn_have_their_price(period):
    codes = np.tile([0, 1], 1200)
    turn = np.arange(2400) // 2 % period < period // 2
    log = pd.DataFrame({"arm": np.array(["a", "b"])[codes], "reward": np.where(codes == 0, turn * 1.0, ~turn * 0.9)})
    found = price(eh.Promise({"a": 0, "b": 0.5}), log)
    assert found.low <= 0.025 <= found.high
    assert -0.01 < found.cost < 0.06


def test_luck_is_no_cost():
    """Where all arms earn the same, the arm that looks best has no lead in the other half."""
    promise, random = eh.Promise(dict.fromkeys(range(20), 0.04)), np.random.default_rng(5)
    arms = random.integers(0, 20, 4000)
    logs = [pd.DataFrame({"arm": arms, "reward": random.random(4000) < 0.1}) for _ in range(40)]
    values = [price(promise, log).cost for log in logs]
    assert abs(np.mean(values)) < 3 * np.std(values) / np.sqrt(40)


def test_a_price_does_not_depend_on_the_order_of_the_arms():
    promise, log = PROMISES["a share"][0], log_of(PROMISES["a share"][0], 3, 500)
    found, turned = price(promise, log), price(eh.Promise({"c": 0.1, "b": 0.2, "a": 0}), log)
    numbers = ["cost", "low", "high", "free", "kept"]
    assert [getattr(turned, name) for name in numbers] == pytest.approx([getattr(found, name) for name in numbers])


def test_the_finding_says_the_cost_in_words():
    promise = eh.Promise({"a": 0, "b": F(1, 4)})
    said = price(promise, [0.8, 0.4]).finding
    assert said == "In the long run the promise costs 0.1 a round, 12.5 % of the 0.8 earned without it"
    alike = price(eh.Promise({"a": 0.1, "b": 0}), pd.DataFrame({"arm": list("ab") * 9, "reward": 1}))
    assert alike.finding.startswith("In the long run the promise costs 0 a round (no interval is known; it is not")
    assert alike.clauses[["cost_low", "tighter_high"]].isna().all(axis=None)
    tied = price(promise, pd.DataFrame({"arm": list("abab") * 9, "reward": [0.0, 0.0, 1.0, 1.0] * 9}))
    assert "it is not shown to cost anything" in tied.finding
    assert tied.notes[0].startswith("The best arms are found in one half")


@pytest.mark.parametrize(
    ("means", "error", "words"),
    [
        ({"a": 0.5}, ArgumentError, "a finite number for each arm"),
        ([0.5, math.inf], ArgumentError, "a finite number for each arm"),
        ("0.5", ArgumentError, "a finite number for each arm"),
        ({"a": 0.5, "b": 0.5, "d": 0.5}, UnknownArmError, "arms that the promise names"),
        (pd.DataFrame({"arm": list("abd"), "reward": [0, 1, 1]}), UnknownArmError, "column 'arm', row 3"),
        (pd.DataFrame({"arm": list("aab"), "reward": [0, 1, 1]}), ArgumentError, "1 of arm 'b'"),
        (pd.DataFrame({"arm": [], "reward": []}), ArgumentError, "two rewards of each arm, got .none"),
        (pd.DataFrame({"arm": list("aabb"), "reward": [0, 1, 1, None]}), TableError, "row 4"),
    ],
)
def test_what_cannot_be_read_is_refused(means, error, words):
    with pytest.raises(error, match=words):
        price(eh.Promise({"a": 0, "b": 0.1}), means)


def test_promises_without_best_shares_are_refused():
    crossed = read_promise({("a", "b"): 0.1, ("b", "c"): 0.1}, audited=True)
    with pytest.raises(SharesError, match="share no arm"):
        price(crossed, [0.1, 0.2, 0.3])
    window = read_promise({"a": 0.5, "b": 0, "c": 0}, windows={"b": (3, 4)}, audited=True)
    with pytest.raises(ArgumentError, match="keep together"):
        price(window, [0.1, 0.2, 0.3])
