"""The judge of `check_promise` beside the twin in `tests.reference.game`, and what it generates."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import ContractError
from evenhand.learners import UCB1
from evenhand.quotas import DeadlineLearn
from tests.promises.decision_claims import Evidence
from tests.promises.generated_promises import PARTS, drawn_case, drawn_promise
from tests.promises.judge import CheckerCounts, Game, bits, offers_of
from tests.promises.promise_game import check_promise
from tests.promises.walked import game_of

CLAUSES = ("floors", "sets", "slates", "caps", "windows", "arms on offer")
UNKNOWN = [{"windows", "caps", "slates"}, {"windows", "caps", "arms on offer"}, {"windows", "sets", "arms on offer"}]
UNKNOWN += [{"windows", "sets", "slates"}, {"windows", "floors", "arms on offer"}, {"windows", "floors", "slates"}]
"""What no rule is known for, as the notes of docs/promises.md say."""


def test_every_part_pair_and_triple_is_generated_where_a_rule_is_known():
    for size in (1, 2, 3):
        for parts in map(set, itertools.combinations(PARTS, size)):
            for small in (True, False):
                case = drawn_case(parts, np.random.default_rng(size), small)
                assert (case is None) == any(some <= parts for some in UNKNOWN), parts
    kinds = [c.kind for seed in range(30) for c in drawn_promise(CLAUSES[:1] + CLAUSES[3:4], rng(seed)).clauses]
    assert {"floor", "cap"} == set(kinds)


def rng(seed):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("seed", range(24))
def test_the_judge_counts_and_decides_as_the_twin(seed):
    """What the judge calls safe can be kept for as many rounds as the twin looks, what it calls lost cannot."""
    random, decided, promise = rng(seed), 0, None
    while promise is None or len(promise.arms) > 3:
        promise = drawn_promise([part for part in CLAUSES if random.random() < 0.5], random)
    twin, books, arms = game_of(promise), CheckerCounts(promise.clauses, promise.arms), promise.arms
    game, now = Game(books.counts, promise.plays, offers_of(promise, arms)), twin.begin
    assert offers_of(promise, arms) == [bits(offer, arms) for offer in twin.offers]
    for _ in range(12):
        offered = twin.offers[random.integers(len(twin.offers))]
        allowed = game.allowed(books.at, bits(offered, arms))
        for slate in twin.slates(offered):
            after, played = twin.after(now, offered, slate), bits(slate, arms)
            if allowed is not None and twin.kept(now):
                decided += played in allowed.granted or played in allowed.barred
                assert played not in allowed.granted or twin.can_be_kept(after, 4)
                assert played not in allowed.barred or not twin.can_be_kept(after, 5)
        slate = twin.slates(offered)[random.integers(len(twin.slates(offered)))]
        broken = books.enter(bits(offered, arms), bits(slate, arms))
        now = twin.after(now, offered, slate)
        assert (broken is None) == twin.kept(now)
        if broken is not None:
            break
    assert decided or allowed is None


def test_a_policy_is_tried_with_its_own_learner_under_its_own_promise():
    promise = eh.Promise({"a": "1/4", ("b", "c"): "1/3", "d": 0}, caps={"d": "2/5"}, offers=["a"])
    report = check_promise(DeadlineLearn(UCB1(), promise, lottery=0.5, seed=1), rounds=60, cases=8)
    assert (report.conversations, report.rounds, report.kinds) == (2, 120, ())
    broken = DeadlineLearn(UCB1(), promise, seed=1)
    broken.promise = promise.varied(caps=(None, None, None, Fraction(1, 9)))
    broken.promise.__dict__.pop("clauses", None)
    broken.fresh = lambda **settings: broken
    with pytest.raises(ContractError, match=r"breaks its promise in round \d+: arm 'd' had \d+ plays where"):
        check_promise(broken, rounds=60, cases=8)


def test_evidence_is_slow_to_speak_and_sure():
    """True chances are doubted with probability below 10^-6, chances that are a quarter off within 2,000 draws."""
    chances, random = np.array([0.4, 0.3, 0.2, 0.1]), rng(5)
    for _ in range(3):
        fair = Evidence(4)
        assert all(fair.enter(chances, 1 << arm) is None for arm in random.choice(4, 2_000, p=chances))
    wrong, other = Evidence(4), np.array([0.3, 0.4, 0.2, 0.1])
    found = [wrong.enter(chances, 1 << arm) for arm in random.choice(4, 2_000, p=other)]
    assert "than its chances sum to" in next(finding for finding in found if finding is not None).seen
