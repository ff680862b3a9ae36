"""Soft caps of a lottery: chances that are exact and hardly ever 0, where they are soft, and why they are not."""

import math
from fractions import Fraction as F
from itertools import pairwise

import numpy as np
import pytest

import evenhand as eh
from evenhand import Promise
from evenhand.learners import UCB1, Thompson, TsallisINF
from evenhand.quotas import DeadlineLearn
from evenhand.quotas.soft_caps import soft_rounds
from evenhand.saving.state import from_bytes, to_bytes
from tests.promises.test_lottery import check_drawn
from tests.strategies import Stubborn

ARMS = ("control", "A", "B", "C")
SHARES = dict(zip(ARMS, ("1/4", "1/10", "1/10", "1/10"), strict=True))
CAPS = dict.fromkeys(ARMS, "45%")
TRIAL = Promise(SHARES, tolerance=4, caps=CAPS, cap_tolerance=4)


def trial(learner, rounds, seed=1, promise=TRIAL, **how):
    """Play a trial in which C alone is ever a success, and yield each decision with its policy."""
    policy = DeadlineLearn(learner, promise, lottery=0.5, seed=seed, **how)
    for _ in range(rounds):
        decision = policy.ask()
        yield policy, decision
        policy.tell(decision, float(decision.arm == "C"))


def heard(pulls, round):
    """The probability with which each arm is heard: its plays below the cap over s, relative to the largest."""
    rest = 1 - F(1, 2) * F(11, 20)
    below = []
    for share, plays in zip(SHARES.values(), pulls, strict=True):
        cap, room = F(45, 100), F(45, 100) - F(share) / 2
        s = max(6, math.ceil(F(11, 2) * rest * cap * (1 - cap) / room**2))
        below.append(min(F(1), max(F(0), (4 + cap * round - plays) / s)))
    return [part / max(below) for part in below]


def test_an_arm_is_drawn_less_often_from_some_plays_below_its_cap_on():
    assert (soft_rounds(TRIAL, 0.5) * 0.45).round(9).tolist() == [10, 7, 7, 7]


def test_chances_are_those_of_the_best_arm_that_is_heard():
    softened = 0
    for policy, decision in trial(UCB1(), 150):
        state, pulls = policy.engine.state, list(policy.pulls.values())
        pulls[decision.index] -= 1
        left, parts = 1 - state.lots.sum(), heard(pulls, decision.round)
        chances, cuts = state.lots.copy(), sorted({0, 1, *(1 - part for part in parts)})
        for low, high in pairwise(cuts):
            among = [arm for arm in range(4) if 1 - parts[arm] <= low]
            chances[max(among, key=lambda arm: (state.scores[arm], -arm))] += left * float(high - low)
        assert np.allclose(decision.probabilities, chances, atol=1e-12)
        softened += min(parts) < 1
    assert softened > 50


@pytest.mark.parametrize("learner", [UCB1, Thompson])
def test_arms_are_drawn_with_these_chances(learner):
    policy = [*trial(learner(), 60)][-1][0]
    check_drawn(policy)
    policy.ask()
    assert policy.engine.state.inclusions[3] > 0.2, "C nears its cap"


def test_hardly_any_chance_is_0_and_every_cap_is_kept():
    zeros = {}
    for hard in (False, True):
        played = [*trial(UCB1(), 300, hard_caps=hard)]
        zeros[hard], policy = sum((decision.probabilities == 0).any() for _, decision in played), played[0][0]
        assert policy.promise.is_kept(list(policy.pulls.values()), 300)
    assert zeros[False] <= 1
    assert zeros[True] > 50


def test_a_play_because_of_a_soft_cap_is_called_capped_and_a_copy_goes_on_alike():
    played = [*trial(UCB1(), 100)]
    policy = played[0][0]
    assert {decision.reason_code for _, decision in played} == {"untried", "optimistic", "drawn", "capped"}
    policy.tell(policy.ask(), 1.0)
    again = from_bytes(to_bytes(policy))
    assert [policy.ask().arm for _ in range(30)] == [again.ask().arm for _ in range(30)]


NEEDS = {
    "hard_caps=False": (Thompson, {}, {"hard_caps": True}),
    "a cap tolerance of at least 4": (Thompson, {"cap_tolerance": 3}, {}),
    "a cap above 0.3 for arm control": (Thompson, {"caps": CAPS | {"control": "30%"}}, {"lottery": 1.0}),
    "one play a round, and no sets or windows": (UCB1, {"plays": 2, "caps": dict.fromkeys(ARMS, "60%")}, {}),
    "a learner of evenhand that can choose among some": (TsallisINF, {}, {}),
    "a learner of evenhand that can choose among some of": (lambda: Stubborn(1), {}, {}),
}


@pytest.mark.parametrize("needs", NEEDS)
def test_the_card_says_what_hard_caps_need_to_be_soft(needs):
    learner, promised, how = NEEDS[needs]
    promise = Promise(SHARES, **{"tolerance": 4, "caps": CAPS, "cap_tolerance": 4} | promised)
    policy = DeadlineLearn(learner(), promise, **{"lottery": 0.5, "seed": 1} | how)
    (note,) = (note for note in policy.notes if f"Soft caps need {needs}" in note)
    assert note in policy._repr_html_()
    policy.ask()
    assert policy.engine.params.soft_rounds.size == 0


def test_what_is_said_of_caps():
    assert DeadlineLearn(Thompson(), TRIAL, lottery=0.5).notes[-1].startswith("Caps are soft:")
    assert DeadlineLearn(Thompson(), TRIAL).notes == DeadlineLearn(Thompson(), SHARES, lottery=0.5).notes == ()


def test_a_study_counts_the_rounds_with_a_chance_of_0_or_1(tmp_path):
    study = eh.Study.create(tmp_path / "s.evenhand", DeadlineLearn(UCB1(), TRIAL, lottery=0.5, hard_caps=True, seed=1))
    certain = 0
    for _ in range(80):
        decision = study.ask()
        certain += bool(np.isin(decision.probabilities, (0.0, 1.0)).any())
        study.tell(decision, float(decision.arm == "C"))
    assert certain > 0
    assert study.statistics().notes[-1] == f"In {certain} of 80 rounds an arm on offer had the probability 0 or 1."
    free = eh.Study.create(tmp_path / "t.evenhand", DeadlineLearn(UCB1(), SHARES, 4, lottery=0.5, seed=1))
    free.ask(available=["A", "B", "C"])
    assert free.statistics().certain == 0
    free.ask(available=["A"])
    assert free.statistics().certain == 1
