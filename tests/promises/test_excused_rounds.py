"""Floors and caps on one arm while arms come and go, with excused rounds."""

import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand import Promise
from evenhand.errors import ArgumentError, SharesError
from evenhand.quotas import DeadlineLearn
from tests.reference.outages import Outages
from tests.strategies import Stubborn

HALF, QUARTER, THIRD, ALL = Fraction(1, 2), Fraction(1, 4), Fraction(1, 3), Fraction(1)


def promised(twin, **more):
    """The promise of a twin, with the least cap_tolerance from its own on that is not refused."""
    caps = {arm: cap for arm, cap in enumerate(twin.caps) if cap < 1}
    for ahead in range(twin.ahead, 9):
        try:
            shares = dict(enumerate(twin.shares))
            return Promise(shares, twin.slack, caps=caps or None, cap_tolerance=ahead, offers="any", **more)
        except SharesError as error:
            assert "cap_tolerance" in str(error)  # noqa: PT017
    raise AssertionError(twin)


def drawn(rng):
    """A small promise of floors and caps."""
    while True:
        periods = [rng.choice([2, 3, 4, 5, 7]) for _ in range(rng.choice([2, 3, 4]))]
        shares = tuple(Fraction(rng.randint(0, q // 2), q) for q in periods)
        caps = tuple(min(ALL, (r or Fraction(1, 5)) + rng.choice([0, Fraction(1, 10), QUARTER, 1])) for r in shares)
        if sum(shares) <= 1 <= sum(caps) and any(cap < 1 for cap in caps):
            return Outages(shares, caps, rng.choice([0, 0, 1]))


@pytest.mark.filterwarnings("ignore:the shares sum to exactly 1")
@pytest.mark.parametrize("seed", range(4))
def test_the_rule_and_the_audit_are_those_of_the_twin(seed):
    rng = random.Random(seed)
    twin = drawn(rng)
    promise = promised(twin)
    twin = twin._replace(ahead=int(promise.cap_tolerance))
    wishes, arms, state, log = Stubborn(0), range(len(twin.shares)), twin.start, []
    policy = DeadlineLearn(wishes, promise)
    for round in range(60):
        if round % 15 == 0:
            up = [rng.random() ** 2 for _ in arms]
        offer = tuple(arm for arm in arms if rng.random() < up[arm]) or (rng.choice(arms),)
        if round % 5 == 0:
            order = rng.sample(arms, len(arms))
            wishes.wishes = [order]
        decision = policy.ask(available=list(offer))
        may = twin.may_play(state, offer)
        assert decision.arm == next(arm for arm in order if arm in may)
        policy.tell(decision, 0.0)
        log.append({"arm": decision.arm, "available": list(offer), "excused": not twin.with_room(state, offer)})
        state = twin.after(state, offer, decision.arm)
        assert twin.is_kept(state)
    frame = pd.DataFrame(log)
    found = eh.audit.promise(frame, arm="arm", promise=promise, available="available")
    assert found.kept
    caps = found.promises[found.promises["promise"] == "cap"].set_index("arm")["excused"]
    assert caps.to_dict() == {arm: state[arm][2] for arm in arms if twin.caps[arm] < 1}
    rounds = np.flatnonzero(frame["excused"]) + 1
    away = {arm: sum(arm not in offer for offer in frame["available"][frame["excused"]]) for arm in arms}
    assert found.excused[:3] == (len(rounds), rounds[0], rounds[-1])
    assert found.excused.away == {arm: times for arm, times in away.items() if times}


def test_a_play_above_a_cap_is_a_breach_where_another_arm_had_room():
    log = pd.DataFrame({"arm": ["a", "a", "a", "b"], "on": ["a,b", "a", "a,b", "a,b"]})
    found = eh.audit.promise(log, arm="arm", caps={"a": 0.4}, available="on")
    # ceil(0.4 * 3) = 2 plays in three rounds: those of rounds 1 and 3, as that of round 2 is excused
    assert found.kept
    assert found.excused == (1, 2, 2, {"b": 1})
    assert (
        found.notes[-1] == "No cap counts 1 play, in round 2, when every arm on offer was at its cap; away then: b (1)."
    )
    found = eh.audit.promise(log.assign(on=["a,b"] * 4), arm="arm", caps={"a": 0.4}, available="on")
    assert (found.kept, found.first_violation, found.excused.plays) == (False, (2, "a"), 0)
    assert found.notes[-1].startswith("Every arm counts as on offer in every round.")
    always = eh.Promise({"a": 0, "b": 0}, caps={"a": 0.4}, offers="all")
    assert eh.audit.promise(log, arm="arm", promise=always).notes == ()


def test_a_promise_that_excuses_nothing_counts_every_play_whatever_a_log_says_was_away(tmp_path):
    log = pd.DataFrame({"arm": ["b"] * 10, "on": ["b"] * 10, "city": ["x", "y"] * 5})
    log.to_parquet(tmp_path / "log.parquet")
    given = {"arm": "arm", "available": "on"}
    for offers, kept in (("all", False), (["a"], False), ("any", True)):
        promise = Promise({"a": 0, "b": 0}, caps={"b": 0.4}, offers=offers)
        found = eh.audit.promise(log, promise=promise, **given)
        assert (found.kept, found.excused.plays) == (kept, 6 * kept)
        assert found.promises["broken_by"].max() == (0 if kept else 10 - np.ceil(0.4 * 10))
        in_file = eh.audit.promise(str(tmp_path / "log.parquet"), promise=promise, **given)
        assert (in_file.kept, in_file.excused) == (found.kept, found.excused)
        assert eh.audit.promise(log, promise=promise, segment="city", **given).kept is kept
        apart = eh.audit.promise(frames=[log[:5], log[5:]], promise=promise, **given)
        assert any("may have been kept" in note for note in apart.notes) is kept


def test_the_times_of_excused_rounds_are_said():
    when = pd.date_range("2026-11-30", periods=3, freq="h")
    log = pd.DataFrame({"arm": ["a", "a", "b"], "on": ["a,b", "a", "a,b"], "at": when})
    found = eh.audit.promise(log, arm="arm", caps={"a": 0.4}, available="on", times="at")
    assert "in round 2 (2026-11-30 01:00), when" in found.notes[-1]


def test_in_segments_rounds_are_excused_by_the_plays_of_each():
    log = pd.DataFrame({"arm": ["a", "a", "a", "b"], "on": ["a,b", "a", "a", "b"], "city": ["x", "y", "x", "y"]})
    found = eh.audit.promise(log, arm="arm", caps={"a": 0.4}, available="on", segment="city")
    assert found.kept
    assert found.excused[:3] == (1, 3, 3)


def test_a_promise_says_that_rounds_are_excused():
    promise = Promise({"a": "25%", "b": 0}, caps={"a": "40%"}, offers="any")
    assert str(promise).endswith(
        "at most 2/5 of the rounds; rounds in which every arm on offer is at its cap are excused"
    )
    assert promise.excuses
    assert not Promise({"a": "25%", "b": 0}, caps={"a": "40%"}).excuses
    assert eh.Promise.from_dict(promise.to_dict()) == promise


def test_what_no_rule_is_known_for_beside_excused_rounds_is_refused():
    promise = Promise({"a": "25%", "b": 0}, tolerance=9, caps={"a": "40%"}, cap_tolerance=9, offers="any")
    with pytest.raises(ArgumentError, match="lottery: expected a lottery without caps where any arms may be on offer"):
        DeadlineLearn(eh.learners.UCB1(), promise, lottery=0.5)
    with pytest.raises(SharesError, match='offers: expected offers="all", or a list'):
        promise.split(2)


def test_a_changed_promise_takes_no_claim_along_that_could_break_a_cap():
    for offers, dropped in (("any", {"a": 2.0}), ("all", {})):
        policy = DeadlineLearn(
            Stubborn([1, 0]), Promise({"a": 0.5, "b": 0}, tolerance=2, caps={"a": 0.6}, offers=offers)
        )
        for _ in range(4):
            policy.tell(policy.ask(), 0.0)
        assert policy.change({"a": 0.25, "b": 0.25}) == dropped


def test_to_retire_the_last_arm_that_is_always_on_offer_is_refused_beside_caps():
    policy = DeadlineLearn(eh.learners.UCB1(), Promise({"a": 0, "b": 0, "c": 0}, caps={"a": 0.5}, offers=["b"]))
    with pytest.raises(SharesError, match="offers: expected"):
        policy.retire("b")
