"""Shares of tokens, kept by DeadlineLearn whatever decisions weigh, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, InFlightError, SharesError
from evenhand.learners import UCB1, Thompson
from evenhand.quotas import BernoulliArms, DeadlineLearn
from evenhand.studies import Study
from tests.strategies import Stubborn

SHARES = {"A": "1/4", "B": "1/5", "C": 0}


def promise(tolerance: float = 8000, in_flight: int | None = None, **more: Any) -> eh.Promise:
    return eh.Promise(SHARES, tolerance, weight="tokens", largest=4000, in_flight=in_flight, **more)


def test_a_tolerance_may_be_written_as_text_as_the_largest_weight() -> None:
    said = {"weight": "eur", "largest": "5.00", "caps": {"C": 0.9}}
    by_text = eh.Promise(SHARES, "30.10", cap_tolerance="7.5", **said)
    assert by_text == eh.Promise(SHARES, 30.1, cap_tolerance=7.5, **said)
    assert (by_text.slack, by_text.ahead) == (Fraction("30.1"), Fraction("7.5"))
    assert eh.Promise.from_dict({**by_text.to_dict(), "tolerance": "30.10"}) == by_text
    for wrong in ("-1", "thirty", "", "12345678901.123456789"):  # no float says the last one
        with pytest.raises(ArgumentError, match="tolerance: expected a finite number >= 0, got"):
            eh.Promise(SHARES, wrong, weight="eur", largest="5.00")


def tokens(arm: str, behind: str, random: Any) -> int:
    """Return a weight that hurts: heavy where it is not for the arm that is behind."""
    return int(random.integers(1, 50)) if arm == behind else int(random.integers(3000, 4001))


def told(policy: Any) -> dict[str, int]:
    """Return the weight of each arm so far."""
    return dict(zip(policy.arms, policy.engine.state.weights.tolist(), strict=True))


def most_behind(policy: Any) -> Fraction:
    """Return by how much an arm is behind at most, however heavy what is not told yet turns out to be."""
    state, largest = policy.engine.state, int(policy.promise.largest)
    total, open = int(state.weights.sum()), int(state.flying.sum())
    each = zip(policy.promise.shares, state.weights.tolist(), state.flying.tolist(), strict=True)
    return max(share * (total + largest * (open - own)) - weight for share, weight, own in each)


@pytest.mark.parametrize("learner", [UCB1(), Thompson(), Stubborn(2)], ids=["ranks", "draws", "elsewhere"])
@pytest.mark.parametrize("in_flight", [None, 0, 3])
def test_no_arm_is_further_behind_than_is_tolerated(learner: Any, in_flight: int | None) -> None:
    random = np.random.default_rng(4)
    policy = DeadlineLearn(learner, promise(10_000 if in_flight else 2500, in_flight), seed=1)
    rows, waiting = [], []
    for _ in range(150):
        behind = min("AB", key=lambda arm: sum(w for a, w in rows if a == arm))
        if in_flight is None:
            weight = int(random.integers(1, 4001))
            decision = policy.ask(weight=weight)
            policy.tell(decision, float(decision.arm == "C"))
            rows.append((decision.arm, weight))
            continue
        waiting.append(policy.ask())
        while len(waiting) > in_flight:
            decision = waiting.pop(int(random.integers(len(waiting))))
            weight = tokens(decision.arm, behind, random)
            policy.tell(decision, float(decision.arm == "C"), weight=weight)
            rows.append((decision.arm, weight))
            assert most_behind(policy) <= policy.promise.tolerance
    log = pd.DataFrame(rows, columns=["arm", "tokens"])
    found = eh.audit.promise(log, arm="arm", promise=policy.promise)
    assert found.kept
    assert 0 < found.worst_shortfall <= policy.promise.tolerance
    assert told(policy) == {arm: int(log.loc[log["arm"] == arm, "tokens"].sum()) for arm in SHARES}


def test_caps_hold_beside_shares_whatever_the_weights() -> None:
    owed = promise(2000, caps={"B": "30%", "C": "50%"}, cap_tolerance=4000)
    random = np.random.default_rng(8)
    with Study.create(":memory:", DeadlineLearn(Thompson(), owed, seed=3), name="capped") as study:
        for _ in range(150):
            decision = study.ask(weight=int(random.integers(0, 4001)))
            study.tell(decision, float(decision.arm == "C"))
        verified, log = study.verify(), study.frame()
    found = eh.audit.promise(log, arm="arm", promise=owed)
    sums = log.groupby("arm")["tokens"].sum()
    assert verified.ok
    assert found.kept
    assert found.worst_shortfall == verified.worst_shortfall <= 2000
    assert sums["C"] <= 0.5 * sums.sum() + 4000
    strict = eh.audit.promise(log, arm="arm", promise=owed.varied(cap_tolerance=0.0))
    assert (strict.kept, strict.worst_shortfall) == (False, found.worst_shortfall)
    assert {"another arm is at its cap, or near it", "owed its share"} <= set(log["reason"])
    with pytest.raises(SharesError, match="caps: expected None by weight, to be split"):
        owed.split(2)
    with pytest.raises(SharesError, match="cap_tolerance: expected at least 3,943 tokens"):
        promise(900, caps={"C": 0.9}, cap_tolerance=3942)


def test_too_small_a_tolerance_is_refused_with_the_one_that_is_enough() -> None:
    quarters = dict.fromkeys("abcd", "1/4")
    for in_flight, least in ((0, "3,000"), (None, "3,000"), (4, "9,000")):
        given: dict[str, Any] = {"weight": "tokens", "largest": 4000, "in_flight": in_flight}
        with pytest.raises(SharesError, match=f"at least {least} tokens"):
            eh.Promise(quarters, int(least.replace(",", "")) - 1, **given)
        assert eh.Promise(quarters, int(least.replace(",", "")), **given).tolerance
    with pytest.raises(SharesError, match=r"at least 0\.38 cents"):
        eh.Promise(quarters, 0.37, weight="cents", largest="0.50")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"largest": 0}, "largest: expected a number above 0"),
        ({"largest": None}, "largest"),
        ({"weight": ""}, "weight: expected the name"),
        ({"weight": None}, "largest: expected None without weight="),
        ({"caps": {"C": 0.9}, "in_flight": 0}, "caps: expected None beside weights that are told later, or while arms"),
        (
            {"caps": {"C": 0.9}},
            "cap_tolerance: expected at least 2666.67 tokens|cap_tolerance: expected at least 2,667",
        ),
        ({"windows": {"C": 9}}, "windows: expected None beside weight"),
        ({"plays": 2}, "plays: expected None beside weight.* got 2; ask for each place of a slate in turn"),
        ({"shares": {("A", "B"): 0.2}}, "shares of sets of arms"),
        ({"in_flight": 2, "offers": "any"}, "offers: expected 'all'"),
        ({"shares": {"A": "1/1000003", "B": 0}, "largest": "0.000000001"}, "64 bits can count"),
    ],
)
def test_what_no_rule_keeps_by_weight_is_refused_by_name(given: dict[str, Any], words: str) -> None:
    whole: dict[str, Any] = {"shares": SHARES, "tolerance": 50_000, "weight": "tokens", "largest": 4000}
    with pytest.raises((ArgumentError, SharesError), match=words):
        eh.Promise(**whole | given)


def test_weights_are_asked_for_where_they_are_needed_and_nowhere_else() -> None:
    known, later = (DeadlineLearn(UCB1(), promise(8000, f)) for f in (None, 1))
    rounds = DeadlineLearn(UCB1(), SHARES)
    for weight in (None, 4001, -1, 1.5, "many", True):
        with pytest.raises(ArgumentError, match="weight: expected tokens from 0 to 4000"):
            known.ask(weight=weight)
    ticket = later.ask()
    with pytest.raises(ArgumentError, match="weight: expected tokens from 0 to 4000"):
        later.tell(ticket, 1.0)
    for call in (
        lambda: rounds.ask(weight=1),
        lambda: later.ask(weight=1),
        lambda: known.tell(known.ask(weight=1), 1.0, weight=1),
        lambda: rounds.tell(rounds.ask(), 1.0, weight=1),
    ):
        with pytest.raises(ArgumentError, match="weight: expected None"):
            call()
    with pytest.raises(ArgumentError, match="choose: expected ask and tell"):
        later.choose()
    assert known.round == 1
    assert later.round == 1


def test_too_many_in_flight_stop_the_next_ask_and_forgetting_makes_room() -> None:
    policy = DeadlineLearn(UCB1(), promise(8000, 1))
    first, second = policy.ask(), policy.ask()
    with pytest.raises(InFlightError, match=r"at most 1 decisions whose tokens are not told.*got '2 open'"):
        policy.ask()
    policy.forget(first)
    assert policy.engine.state.flying.sum() == 1
    policy.tell(second, 1.0, weight="4e3")
    third, fourth = policy.ask(), policy.ask()
    for refused in (lambda: policy.tell(third, 1.0, weight=5000), lambda: policy.tell_all([third, fourth], [1.0, 0.0])):
        with pytest.raises(ArgumentError, match="weight: expected tokens from 0 to 4000"):
            refused()
    assert sum(told(policy).values()) == 4000
    assert [*policy.tickets.open] == [third.id, fourth.id]


def test_a_saved_policy_goes_on_as_it_would_have(tmp_path: Path) -> None:
    policy = DeadlineLearn(Thompson(), promise(9000, 2), seed=5)
    for weight in (10, 3999, 17, 200):
        policy.tell(policy.ask(), 1.0, weight=weight)
    policy.ask()
    eh.save(policy, tmp_path / "policy")
    other = eh.load(tmp_path / "policy")
    assert other.promise == policy.promise
    assert eh.Promise.from_dict(policy.promise.to_dict()) == policy.promise
    for _ in range(20):
        one, same = policy.ask(), other.ask()
        assert one.arm == same.arm
        policy.tell(one, 0.0, weight=3000)
        other.tell(same, 0.0, weight=3000)
    assert told(policy) == told(other)


@pytest.mark.parametrize("in_flight", [None, 2])
def test_a_split_promise_is_kept_in_every_order_also_where_half_of_the_processes_are_killed(
    in_flight: int | None,
) -> None:
    owed = eh.Promise(SHARES, 60_001.3, weight="tokens", largest=4000, in_flight=in_flight)
    parts, random, logs = owed.split(8), np.random.default_rng(5), []
    assert sum(Fraction(str(part.tolerance)) for part in parts) == Fraction("60001.3")
    for number, part in enumerate(parts):
        policy, waiting, rows = DeadlineLearn(Stubborn(2), part, seed=number), [], []
        for _ in range(40 if number % 2 else int(random.integers(5, 40))):
            weight = int(random.integers(1, 4001))
            waiting.append(policy.ask(weight=weight if in_flight is None else None))
            rows.append([waiting[-1].arm, weight])
            if in_flight is not None and len(waiting) > in_flight:
                told = waiting.pop(0)
                policy.tell(told, 0.0, weight=rows[told.id - 1][1])
        for dead in waiting if in_flight is not None else ():
            rows[dead.id - 1][1] = 0  # the process was killed before it said what they weigh
        logs.append(pd.DataFrame(rows, columns=["arm", "tokens"]))
    assert eh.audit.promise(frames=logs, arm="arm", promise=owed).kept
    strict = eh.audit.promise(frames=logs, arm="arm", shares=SHARES, tolerance=8000, weight="tokens")
    assert not strict.kept
    with pytest.raises(SharesError, match=r"tolerance: expected at least .* tokens, so that 99 processes"):
        owed.split(99)


WAYS_OUT = "for shares of the rounds leave weight, largest and in_flight out|leave lottery out|make a new policy"


def test_whatever_counts_rounds_refuses_a_promise_of_a_weight() -> None:
    owed = promise()
    for call in (
        lambda: eh.quotas.FairLearn(UCB1(), owed),
        lambda: eh.quotas.price(owed, [0.1, 0.2, 0.3]),
        lambda: owed.owed(3),
        lambda: owed.is_kept([1, 1, 1], 3),
        lambda: DeadlineLearn(UCB1(), owed, lottery=0.5),
        lambda: eh.simulate(DeadlineLearn(UCB1(), owed), BernoulliArms(dict.fromkeys("ABC", 0.5)), rounds=10),
        lambda: DeadlineLearn(UCB1(), owed).change({"A": 0.1, "B": 0, "C": 0}),
        lambda: DeadlineLearn(UCB1(), owed).retire("C"),
        lambda: DeadlineLearn(UCB1(), {"A": 0.1, "B": 0, "C": 0}).change(owed),
    ):
        with pytest.raises(ArgumentError, match=f"promise: expected a promise of rounds.*; ({WAYS_OUT})"):
            call()
    assert str(owed).endswith("a decision weighs at most 4000 tokens")
    assert Fraction(owed.clauses[0].share) == Fraction(1, 4)
