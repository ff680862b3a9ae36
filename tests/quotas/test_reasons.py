"""The reason of every decision is true: what the learner proposed, what a deadline forced, what a cap barred."""

import math
import random
from dataclasses import replace
from fractions import Fraction as F
from functools import partial

import numpy as np
import pytest

import evenhand as eh
from evenhand import Promise
from evenhand.checks.reasons import check_reasons
from evenhand.errors import ArgumentError
from evenhand.learners import UCB1, Thompson, TsallisINF
from evenhand.quotas import BernoulliArms, DeadlineLearn, FairLearn
from tests.promises.walked import game_of
from tests.strategies import Stubborn

PROPOSAL = "the learner's proposal"
SHARES = (F(1, 3), F(1, 4), F(0))
CAPS = (F(1, 2), F(1, 3), F(1, 2))
ALL = (0, 1, 2)


class Drawn:
    """A learner from elsewhere that proposes anything, as one index or as a ranking."""

    def __init__(self, seed, ranks):
        self.random, self.ranks, self.wishes = random.Random(seed), ranks, []

    def choose(self):
        self.wishes = self.random.sample(range(3), self.random.randint(1, 3) if self.ranks else 1)
        return self.wishes if self.ranks else self.wishes[0]

    def update(self, index, reward):
        pass


@pytest.mark.filterwarnings("ignore:learner. Drawn names an arm")
@pytest.mark.parametrize("ranks", [False, True])
def test_under_caps_the_reason_names_what_decided_and_is_the_game_s(ranks):
    game, floors, seen = (
        game_of(Promise(SHARES, caps=CAPS, offers="all")),
        game_of(Promise(SHARES, offers="all")),
        set(),
    )
    for seed in range(10):
        policy, now, due = DeadlineLearn(Drawn(seed, ranks), SHARES, caps=list(CAPS)), game.begin, floors.begin
        for round in range(1, 41):
            before, allowed = [*policy.pulls.values()], {arm for (arm,) in game.allowed(now, ALL, 12)}
            decision = policy.ask()
            policy.tell(decision, 0.0)
            wishes = policy.learner.wishes
            granted = [proposal for proposal in wishes if proposal in allowed]
            assert decision.index in allowed
            assert not granted or decision.index == granted[0]
            mine = decision.index == wishes[0]
            assert (decision.reason == PROPOSAL) == mine
            owed = (wishes[0],) not in floors.allowed(due, ALL, 12)
            assert (decision.reason_code == "forced") == (not mine and owed)
            assert (decision.reason_code == "capped") == (not mine and not owed)
            assert mine or owed or before[wishes[0]] + 1 > math.ceil(CAPS[wishes[0]] * round)
            seen.add(decision.reason)
            now, due = (one.after(at, ALL, decision.indexes) for one, at in ((game, now), (floors, due)))
    assert len(seen) == 3


def test_rounds_that_a_cap_decides_are_no_forced_rounds():
    capped = DeadlineLearn(UCB1(), {"a": 0, "b": 0}, caps={"b": "1/2"})
    history = eh.simulate(capped, BernoulliArms({"a": 0.1, "b": 0.9}), rounds=1000, seed=1, checkpoints=1)
    assert history.pulls.sel(arm="b").item() == 500
    assert int(history.forced.item()) == 0


@pytest.mark.filterwarnings("ignore:learner. Stubborn names an arm")
def test_a_wish_that_is_not_on_offer_is_not_the_reason():
    policy = DeadlineLearn(Stubborn(1), {"a": "1/3", "b": 0, "c": 0})
    decision = policy.ask(available=["a", "c"])
    assert (decision.arm, decision.reason_code) == ("a", "absent")
    assert decision.reason == "the learner ranked no arm on offer"
    decision = DeadlineLearn(TsallisINF(), {"a": "1/3", "b": 0}, seed=1).ask(available=["a"])
    assert decision.reason_code in ("drawn", "absent")
    ranked = DeadlineLearn(UCB1(), {"a": "1/3", "b": 0, "c": 0})
    assert ranked.ask(available=["c"]).reason_code == "untried"


@pytest.mark.filterwarnings("ignore:learner. Stubborn names an arm")
def test_a_slate_beyond_the_ranking_says_so():
    policy = DeadlineLearn(Stubborn(2), [F(1, 9), 0, 0], plays=2)
    decision = policy.ask()
    assert decision.arms == (2, 0)
    assert decision.reason == "the learner ranked no other arm on offer"


@pytest.mark.filterwarnings("ignore:the shares sum to exactly 1")
def test_the_lottery_over_a_learner_from_elsewhere_says_what_was_forced():
    policy = DeadlineLearn(Stubborn(2), [F(1, 2), F(1, 2), 0], 1.0, lottery=0.5, seed=3)
    kinds = {"proposal": 0, "forced": 0, "drawn": 0}
    for _ in range(600):
        decision = policy.ask()
        policy.tell(decision, 0.0)
        kinds[{"learner": "proposal"}.get(decision.reason_code, decision.reason_code)] += 1
        assert (decision.index == 2) == (decision.reason == PROPOSAL)
    assert min(kinds["forced"], kinds["drawn"]) > 20


# ---------------------------------------------------------------------- rankings, promises over promises


by_lottery = partial(DeadlineLearn, lottery=0.5)


@pytest.mark.parametrize("wishes", [[3, 1, 0], (2, 1), np.array([1, 3]), [1]])
def test_a_ranking_decides_alike_in_every_form(wishes):
    shares = {"a": "1/2", "b": "1/4", "c": "1/8", "d": 0}
    plain = DeadlineLearn(Stubborn(wishes), shares)
    ranked = DeadlineLearn(Stubborn(wishes), shares, caps={"d": 1})
    told = [[(one.ask().arm, one.ask().reason) for _ in range(60)] for one in (plain, ranked)]
    assert told[0] == told[1]
    assert FairLearn(Stubborn(wishes), [0.1, 0.1, 0.1, 0]).choose() == int(wishes[0])
    windows = Promise(dict.fromkeys(shares, 0), windows={"a": 6}, offers="all")
    assert DeadlineLearn(Stubborn(wishes), windows).choose() == int(wishes[0])
    assert by_lottery(Stubborn(wishes), shares, 9, seed=1).choose() in range(4)


@pytest.mark.parametrize("proposal", [[1, 1], [9], "12", {1, 2}, {1: 2}, [], [1.5], True, [True, 2]], ids=str)
@pytest.mark.parametrize("make", [DeadlineLearn, by_lottery, FairLearn])
def test_what_is_no_ranking_is_refused(make, proposal):
    policy = make(Stubborn(proposal), [0.1, 0.1, 0.1, 0])
    with pytest.raises(ArgumentError, match="or a list of them, the best first"):
        policy.ask()
    assert policy.round == 0


def by_windows(learner, shares):
    return DeadlineLearn(learner, Promise(windows={0: 9, 1: 9}))


@pytest.mark.parametrize("outer", [DeadlineLearn, FairLearn, by_windows])
@pytest.mark.parametrize("inner", [DeadlineLearn, FairLearn, by_windows])
def test_a_promise_over_a_promise_is_refused(outer, inner):
    with pytest.raises(ArgumentError, match="a learner without a promise of its own"):
        outer(inner(Thompson(), [0.2, 0.3]), [0.1, 0.1])


# ---------------------------------------------------------------------- what floors alone refuse


TRIAL = Promise(
    {"control": "1/4", "A": "1/10", "B": "1/10", "C": "1/10"}, caps=dict.fromkeys(["control", "A", "B", "C"], "45%")
)


@pytest.mark.parametrize("learner", [Thompson, lambda: Stubborn([1, 2, 3, 0]), TsallisINF])
@pytest.mark.parametrize("plays", [1, 2])
def test_nobody_is_called_owed_before_the_first_play_that_is_due(learner, plays):
    if plays == 2 and learner is TsallisINF:
        return
    promise = TRIAL if plays == 1 else Promise(dict.fromkeys("abcd", "1/5"), caps=dict.fromkeys("abcd", "3/5"), plays=2)
    codes = set()
    for seed in range(20):
        policy = DeadlineLearn(learner(), promise, lottery=0.5, seed=seed)
        for _ in range(3):
            codes.add(policy.ask().reason_code)
    assert "capped" in codes
    assert "forced" not in codes


def test_a_draw_that_is_not_on_offer_is_not_called_owed():
    policy = DeadlineLearn(TsallisINF(), {"a": "1/10", "b": "1/10", "c": 0}, lottery=0.5, seed=1)
    codes = [policy.ask(available=["a"]).reason_code for _ in range(60)]
    assert {*codes} == {"drawn", "absent"}


@pytest.mark.parametrize(
    ("plays", "cap", "lottery"), [(1, "2/5", None), (1, "2/5", 0.5), (2, "3/4", None), (2, "3/4", 0.5)]
)
def test_the_contract_finds_a_play_called_owed_that_only_a_cap_decides(plays, cap, lottery):
    class SaysOwed(DeadlineLearn):
        def ask(self, contexts=None, *, available=None):
            decision = super().ask(contexts, available=available)
            return replace(decision, reason_code=decision.reason_code.replace("capped", "forced"))

    promise = Promise({"a": "1/5", "b": 0, "c": 0}, caps=dict.fromkeys("abc", cap), plays=plays)
    check_reasons(DeadlineLearn(UCB1(), promise, lottery=lottery, seed=1), BernoulliArms([0.1, 0.5, 0.9]), 60)
    with pytest.raises(AssertionError, match=r"\(forced\)"):
        check_reasons(SaysOwed(UCB1(), promise, lottery=lottery, seed=1), BernoulliArms([0.1, 0.5, 0.9]), 60)
