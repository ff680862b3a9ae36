"""Scores from outside: somebody's own model ranks, the promise stands in front, and the log holds what was said."""

import math

import numpy as np
import pandas as pd
import pytest

from evenhand.errors import ArgumentError, ContradictionError
from evenhand.groups import TopInterval
from evenhand.learners import Adapter, LinUCB, Scores
from evenhand.quotas import DeadlineLearn, FairLearn, FairUCB
from evenhand.studies import Study
from tests.cli.shell import answer, asked, refused

ARMS = ["a", "b", "c", "d"]
OWED = {"a": 0.2, "b": 0.1, "c": 0, "d": 0}
PROMISES = {
    "nothing": {"shares": dict.fromkeys(ARMS, 0)},
    "shares": {"shares": OWED},
    "caps": {"shares": OWED, "caps": 0.4},
    "slates": {"shares": OWED, "plays": 2},
    "lottery": {"shares": OWED, "lottery": 0.5},
}


def rounds(number, *, all_of_them=False):
    """Scores of the arms on offer, many of them equal, in an order that the caller chose."""
    random = np.random.default_rng(7)
    for _ in range(number):
        offered = random.permutation(ARMS)[: 4 if all_of_them else random.integers(2, 5)]
        yield {str(arm): float(random.integers(0, 3)) for arm in offered}


def test_the_highest_score_is_played_and_of_equal_ones_the_first_that_was_given():
    policy = DeadlineLearn(Scores(), dict.fromkeys(ARMS, 0), seed=1)
    assert all(policy.ask(scores=scores).arm == max(scores, key=scores.get) for scores in rounds(200))


def test_other_policies_over_scores_take_them_and_need_every_arm_on_offer():
    fair, alone = FairLearn(Scores(), OWED, seed=1), Scores(arms=ARMS)
    for scores in rounds(60, all_of_them=True):
        decision = fair.ask(scores=scores)
        assert decision.arm == alone.ask(scores=scores).arm or decision.reason_code == "forced"
    assert fair.pulls["a"] >= 12
    for policy in (fair, alone):
        with pytest.raises(ArgumentError, match="every arm is on offer, got"):
            policy.ask(scores={"a": 1.0})


def ranking(learner, contexts, arms):
    """The arms by the scores of a round, which are given beside: what an adapter had to do."""
    labels = [ARMS[arm] for arm in arms]
    given = [arm for arm in learner["scores"] if arm in labels]
    return [ARMS.index(arm) for arm in sorted(given, key=learner["scores"].get, reverse=True)]


@pytest.mark.parametrize("promise", PROMISES.values(), ids=PROMISES)
def test_the_promise_stands_in_front_as_before_a_learner_that_ranks_so(promise):
    own = Adapter({}, choose=ranking, update=lambda *_: None, contextual=True, among=True)
    ours, theirs = DeadlineLearn(Scores(), **promise, seed=1), DeadlineLearn(own, **promise, seed=1)
    for scores in rounds(60, all_of_them="caps" in promise):
        theirs.learner.learner["scores"] = scores
        one = ours.ask(scores=scores)
        other = theirs.ask(np.zeros((4, 1)), available=list(scores))
        assert one.arms == other.arms
        assert np.array_equal(one.probabilities, other.probabilities) if ours.lottery else one.probabilities is None
    assert ours.pulls == theirs.pulls
    assert ours.pulls["a"] >= 6


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        ({"a": math.nan}, "scores['a']: expected a finite number, got nan"),
        ({"a": "high"}, "scores['a']: expected a finite number, got 'high'"),
        ({"e": 1.0}, "scores: expected labels of the arms ['a', 'b', 'c', 'd'], got 'e'"),
        ({}, "scores: expected at least one arm, got []"),
        ([1.0, 2.0, 3.0, 4.0], "scores: expected a dict arm -> score, got [1.0, 2.0, 3.0, 4.0]"),
    ],
)
def test_what_is_no_score_of_an_arm_is_refused_by_name(scores, says):
    policy = DeadlineLearn(Scores(), OWED, seed=1)
    with pytest.raises(ArgumentError) as refusal:
        policy.ask(scores=scores)
    assert says in str(refusal.value)
    assert policy.round == 0


@pytest.mark.parametrize("make", [DeadlineLearn, FairLearn, lambda learner, owed: Scores(arms=list(owed))])
def test_scores_that_are_left_out_are_asked_for_by_name(make):
    policy = make(Scores(), OWED)
    for ask in (policy.ask, Study.create(":memory:", policy).ask):
        with pytest.raises(ArgumentError, match=r"^scores: expected a dict arm -> score, got None; as contexts"):
            ask()
    assert policy.round == 0


def test_nothing_stands_beside_scores_and_who_ranks_by_itself_takes_none():
    policy = DeadlineLearn(Scores(), OWED, seed=1)
    for beside in ({"available": ["a", "b"]}, {"contexts": [[1.0]] * 4}):
        with pytest.raises(ArgumentError, match=f"{next(iter(beside))}.*together with scores, whose keys are the arms"):
            policy.ask(scores={"a": 1.0, "b": 2.0}, **beside)
    for own in (DeadlineLearn(LinUCB(), OWED), FairUCB(OWED), TopInterval(dict.fromkeys(ARMS, "f") | {"a": "m"})):
        with pytest.raises(ArgumentError, match=r"scores: .* ranks the arms itself.*DeadlineLearn\(Scores"):
            own.ask(scores={"a": 1.0})
    policy.retire("d")
    with pytest.raises(ArgumentError, match="arms that were not retired"):
        policy.ask(scores=dict.fromkeys(ARMS, 1.0))


def test_expected_rewards_are_declared_by_their_range_which_prices_need():
    policy = DeadlineLearn(Scores(low=0, high=0.4), OWED, priced=True, seed=1)
    with pytest.raises(ArgumentError, match=r"scores\['b'\]: expected a number >= 0 and <= 0.4, got 0.5"):
        policy.ask(scores={"a": 0.2, "b": 0.5, "c": 0.1, "d": 0.1})
    random, worth, forced = np.random.default_rng(3), [], 0
    for _ in range(2_000):
        scores = dict(zip(ARMS, random.random(4) * [0.2, 0.2, 0.4, 0.4], strict=True))
        decision = policy.ask(scores=scores)
        policy.tell(decision, 5.0)  # a reward may lie outside: it is the mean that is between
        forced += decision.reason_code == "forced"
        if decision.arm == "a":
            worth.append(max(scores.values()) - scores["a"])
    assert policy.pulls["a"] >= 400
    assert forced < 100
    assert max(policy.prices.values()) <= 0.4
    # Priced, "a" is played where it costs little: without prices it is played whoever comes, at .13 on average.
    assert np.mean(worth) < 0.09
    with pytest.raises(ArgumentError, match="priced: expected the lowest and the highest mean reward"):
        DeadlineLearn(Scores(), OWED, priced=True)


@pytest.mark.parametrize("ends", [{"low": 0.0}, {"high": 1.0}, {"low": 1, "high": 0}, {"low": 0, "high": math.inf}])
def test_half_a_range_of_scores_is_refused(ends):
    with pytest.raises(ArgumentError, match="low, high: expected the lowest and the highest score, two finite numbers"):
        Scores(**ends)


def test_a_study_keeps_the_scores_and_follows_its_log_without_a_model(tmp_path):
    place = tmp_path / "shop.evenhand"
    over = ("-p", "deadline-learn", "--set", "learner=learners/scores")
    made = answer("new", place, *over, "--shares", "a=0.2,b=0.1,c=0")
    assert "shop.evenhand --scores FILE    then: evenhand tell" in made
    assert "holds for this rule alone" not in made
    refused(ArgumentError, "scores: expected a dict arm -> score", "ask", place)
    line = asked(place, "--scores", "b=0.3,a=0.3", "--key", "first")[0]
    assert (line["arm"], line["reason"]) == ("b", "the highest of the given scores")
    with Study.open(place) as study, Study.open(place) as other:
        again = other.ask(scores=pd.Series({"b": 0.3, "a": 0.3}), key="first")
        assert (again.id, again.arm) == (1, "b")
        with pytest.raises(ContradictionError):
            study.ask(scores={"a": 0.3, "b": 0.3}, key="first")
        assert study.log.record(1).given == {
            "available": ["b", "a"],
            "contexts": [[math.nextafter(0.3, 0)], [0.3], [0.0]],
        }
        study.add("d", 0.05)
        for number in range(10):
            one = (study, other)[number % 2]
            one.tell(one.ask(scores={"a": 0.1, "b": 0.2, "c": 0.3, "d": number % 3}), 1.0)
        study.ask(scores={"d": 1.0, "c": 2.0}, subject="ann")
        found = study.verify()
        assert (found.ok, found.promise_kept, found.decisions) == (True, True, 12)
        with pytest.raises(ArgumentError, match="'e'"):
            study.ask(scores={"e": 1.0})
        assert study.frame()["available"].iloc[-1] == ["d", "c"]
