"""Shares of all rounds: arms that were away catch up, and nobody else's share suffers."""

import math
import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand import Promise
from evenhand.errors import ArgumentError
from evenhand.learners import UCB1
from evenhand.quotas import BernoulliArms, DeadlineLearn
from evenhand.studies import Study
from evenhand.studies.statistics.gauges import gauges_of
from evenhand.studies.statistics.state import summarize
from tests.reference.outages import Outages
from tests.strategies import Stubborn

ALL = Fraction(1)


def drawn(rng):
    """A few shares that leave something over."""
    while True:
        shares = tuple(Fraction(rng.randint(0, 3), rng.choice([4, 5, 7, 10])) for _ in range(rng.choice([2, 3])))
        if any(shares) and sum(shares) < 1:
            return Outages(shares, (ALL,) * len(shares), rng.choice([0, 0, 1]))


def most(twin, state, behind, rounds):
    """The most plays that any rule can have given these arms after each of so many rounds in which all are on offer."""
    states, found = {state: 0}, []
    for _ in range(rounds):
        after = {}
        for at, plays in states.items():
            for arm in twin.may_play(at, range(len(twin.shares))):
                key = twin.after(at, range(len(twin.shares)), arm)
                after[key] = max(after.get(key, 0), plays + (arm in behind))
        states = after
        found.append(max(states.values()))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_arms_catch_up_as_soon_as_any_rule_can_have_them_and_no_clause_is_broken(seed):
    rng = random.Random(seed)
    twin = drawn(rng)
    wishes, arms, state, compared = Stubborn(0), range(len(twin.shares)), twin.start, 0
    policy = DeadlineLearn(wishes, Promise(list(twin.shares), twin.slack, offers="any", clock="all"))
    for t in range(1, 61):
        if t % 30 == 1:
            away = rng.sample(arms, rng.choice([1, 1, 2]))
        offer = [arm for arm in arms if t % 30 not in range(5, 20) or arm not in away] or [0]
        wishes.wishes = [rng.sample(arms, len(arms))]
        had, before = dict(policy.pulls) if t % 30 == 20 else None, state
        arm = policy.ask(available=offer).arm
        policy.tell(t, 0.0)
        behind = {arm for arm in arms if twin.shares[arm] and policy.engine.state.gone[arm]}
        if had is not None:
            first, counts, best = behind, had, most(twin, before, behind, 5)
        best = best if t > 5 and t % 30 in range(20, 25) and behind == first else []
        if best:
            compared += 1
            assert sum(policy.pulls[arm] - counts[arm] for arm in behind) == best[t % 30 - 20]
        state = twin.after(state, offer, arm)
        assert twin.is_kept(state)
        assert all(policy.pulls[one] >= math.floor(twin.shares[one] * t) - twin.slack for one in {*arms} - behind)
    assert compared


SHARES = {"a": "25%", "b": "30%", "c": 0}


def offer_of(t):
    return ["b", "c"] if 20 < t <= 60 else None


@pytest.mark.parametrize("weight", [None, "tokens"])
def test_a_study_its_audit_and_its_gauges_say_both_numbers_and_the_outage(weight, tmp_path):
    more = {"tolerance": 10, "weight": weight, "largest": 10} if weight else {}
    promises = [Promise(SHARES, offers="any", clock=clock, **more) for clock in ("offered", "all")]
    frames = []
    for promise in promises:
        with Study.create(tmp_path / f"{promise.clock}.evenhand", DeadlineLearn(UCB1(), promise, seed=1)) as study:
            for t in range(1, 71):
                asked = {"weight": 1 + t % 10} if weight else {}
                decision = study.ask(available=offer_of(t), **asked)
                study.tell(decision, float(decision.arm == "c"))
            frames.append(study.frame())
            found, state, gauges = study.verify(), summarize(study)["promise"], gauges_of(study.statistics())
            audited = eh.audit.promise(frames[-1], arm="arm", promise=promise)
        weights = frames[-1]["tokens"] if weight else pd.Series(np.ones(70))
        behind = 0.25 * weights.sum() - weights[frames[-1]["arm"] == "a"].sum()
        (outage,) = state["outages"]
        assert found.ok
        assert audited.kept
        assert audited.worst_shortfall == found.worst_shortfall
        assert (outage["label"], outage["rounds"], outage["first"], outage["last"]) == ("a", 40, 21, 60)
        assert outage["first_at"] == frames[-1]["at"][20]
        assert outage["behind"] == audited.outages["a"].behind == gauges["shortfall_of_all_rounds"] == behind
        said = f"By all rounds a is {behind:g} {weight or 'plays'} behind (away in 40, from round 21 to round 60)."
        assert said in found.notes
        assert said in audited.notes
        assert ("clock" in state) == (promise.clock == "all")
    assert all(frame["arm"][:60].tolist() == frames[0]["arm"][:60].tolist() for frame in frames)
    had = [(frame["arm"][60:] == "a").sum() for frame in frames]
    assert had[1] > had[0]


def test_no_rounding_is_told_as_being_behind(tmp_path):
    """By 50 rounds a is owed 5 plays and has 5: sums of floats say otherwise."""
    promise = eh.Promise({"a": "1/10", "b": 0}, offers="any")
    with eh.Study.create(tmp_path / "s.evenhand", DeadlineLearn(UCB1(), promise)) as study:
        for offer in ["b"] * 17 + ["a"] * 5 + ["ab"] * 28:
            decision = study.ask(available=list(offer))
            study.tell(decision, float(decision.arm == "b"))
        assert (study.policy.pulls["a"], study.statistics().outages["a"].behind) == (5, 0.0)
        notes = eh.audit.promise(study.frame(), arm="arm", shares={"a": 0.1, "b": 0}).notes
        assert notes[-1] == study.verify().notes[-1]
    assert notes[0].startswith("a was away from the first round on or to the last: a log does not tell an outage from")


def test_a_later_check_goes_on_with_the_outages_of_an_earlier_one():
    promise = Promise(SHARES, offers="any", clock="all")
    with Study.create(":memory:", DeadlineLearn(UCB1(), promise, seed=1), name="one") as study:
        for t in range(1, 31):
            study.ask(available=offer_of(t))
        mark = study.verify()
        for t in range(31, 66):
            study.ask(available=offer_of(t))
        assert study.verify(since=mark).notes[-1] == study.verify().notes[-1]
        assert "(away in 10, from round 21 to round 30)" in mark.notes[-1]
        study.change({"a": 0.5, "b": 0, "c": 0})
        assert study.statistics().outages == {}
        study.ask(available=["b"])
        assert study.statistics().outages["a"][:3] == (1, 66, 66)
        study.retire("a")
        study.add("a", 0.25)
        assert study.statistics().outages == {}
        assert study.verify().ok


def test_a_capped_arm_catches_up_below_its_cap():
    promise = Promise({"a": "25%", "b": 0}, caps={"a": "40%"}, offers="any", clock="all")
    policy, log = DeadlineLearn(UCB1(), promise), []
    for t in range(1, 101):
        on = ["b"] if 20 < t <= 40 else ["a", "b"]
        decision = policy.ask(available=on)
        policy.tell(decision, float(decision.arm == "b"))
        log.append({"arm": decision.arm, "available": on})
        if t == 40:
            assert policy.pulls["a"] == 5
    assert policy.pulls["a"] == 25
    found = eh.audit.promise(pd.DataFrame(log), arm="arm", promise=promise, available="available")
    assert found.kept
    assert found.excused.plays == 0


def test_a_promise_says_so_and_what_cannot_catch_up_is_refused_by_name():
    promise = Promise(SHARES, offers="any", clock="all")
    assert str(promise).endswith("; by all rounds, arms that were away catch up as far as can be")
    assert Promise.from_dict(promise.to_dict()) == promise != Promise(SHARES, offers="any")
    assert [part.clock for part in Promise(SHARES, 4, clock="all").split(2)] == ["all", "all"]
    for given, words in (
        ({"clock": "some"}, "clock: expected one of 'offered', 'all'"),
        ({"windows": {"c": 9}}, "windows: expected None beside clock='all'"),
        ({"plays": 2}, "plays: expected None beside clock='all'"),
        ({"shares": {("a", "b"): 0.2}}, "shares of sets of arms"),
    ):
        with pytest.raises(ArgumentError, match=words):
            Promise(**{"shares": SHARES, "clock": "all"} | given)
    with pytest.raises(ArgumentError, match="lottery: expected None beside clock='all'"):
        DeadlineLearn(UCB1(), promise, lottery=0.5)


def test_simulations_catch_up_and_the_price_is_that_of_the_shares():
    offers = np.ones((70, 3), bool)
    offers[20:60, 0] = False
    promises = {clock: Promise(SHARES, offers="any", clock=clock) for clock in ("offered", "all")}
    policies = {clock: DeadlineLearn(UCB1(), promise) for clock, promise in promises.items()}
    world = BernoulliArms({"a": 0.1, "b": 0.2, "c": 0.9})
    history = eh.simulate(policies, world, offers=offers, rounds=70, replications=1, seed=1, jobs=1)
    pulls = history.pulls.isel(round=-1, replication=0).sel(arm="a")
    assert pulls.sel(policy="offered") == 7
    assert pulls.sel(policy="all") > 10
    assert not history.violations.any()
    assert len({eh.quotas.price(promise, [0.1, 0.2, 0.9]).cost for promise in promises.values()}) == 1


def test_an_arm_still_catches_up_when_others_come_and_go():
    with Study.create(":memory:", DeadlineLearn(UCB1(), Promise(SHARES, offers="any", clock="all"), seed=1)) as study:
        for t in range(1, 121):
            if t == 42:
                study.add("d", 0.2)
                study.retire("b")
            decision = study.ask(available=["b", "c"] if 20 < t <= 40 else None)
            study.tell(decision, float(decision.arm == "c"))
            if t == 42:
                assert study.statistics().outages["a"].behind > 1
        statistics, frame = study.statistics(), study.frame()
        (away, first, last, behind) = statistics.outages["a"]
        assert (away, first, last) == (20, 21, 40)
        assert behind == 0.25 * 120 - (frame["arm"] == "a").sum() < 1
        assert study.verify().ok
