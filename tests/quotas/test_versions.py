"""Promises of every kind that change in mid-run, against a count in fractions and against the game of all plays."""

import random
import warnings
from fractions import Fraction as F

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import Promise
from evenhand.errors import ArgumentError, SharesError
from evenhand.quotas import DeadlineLearn
from tests.fuzzing import many
from tests.reference.versions import Versions
from tests.strategies import Stubborn

pytestmark = pytest.mark.filterwarnings("ignore:the shares sum to exactly 1")
DEEPEST = 26


def drawn_promise(rng, arms, plays, offers):
    """Return a promise of any kind over these arms."""
    while True:
        n, share = len(arms), lambda: F(rng.choice([0, 1, 1, 2, 3]), rng.choice([2, 3, 4, 5]))
        given = {"shares": {arm: min(F(1), share()) for arm in arms}, "tolerance": rng.choice([0, 0, 0, 1])}
        if rng.random() < 0.4 and n > 2:
            given["shares"][tuple(rng.sample(arms, 2))] = min(F(1), share())
        if rng.random() < 0.35:
            given["caps"] = {arm: F(rng.randint(1, 4), 4) for arm in rng.sample(arms, rng.randint(1, n))}
            given["cap_tolerance"] = rng.choice([0, 0, 1])
        if rng.random() < 0.35:
            given["windows"] = {arm: rng.randint(2, 6) for arm in rng.sample(arms, rng.randint(1, n))}
            # a play of an arm with both counts twice in the look ahead, which then grants less than the game
            windowed = set() if rng.random() < 0.5 else set(arms)
            windowed |= set(given["windows"])
            given["shares"] = {arm: 0 if arm in windowed else given["shares"][arm] for arm in arms}
        if offers == "list":
            given["offers"] = rng.sample(arms, rng.randint(plays, n))
        elif offers is not None:
            given["offers"] = offers
        try:
            promise = Promise(**given, plays=plays)
            if n > 1:
                DeadlineLearn(Stubborn(0), promise)
        except (SharesError, ArgumentError):
            continue
        return promise


def is_refused(game, books, depth=6):
    """Return whether the game finds that these books cannot be kept for ever, as deep as it looks."""
    while depth <= DEEPEST:
        if not game.can_be_kept(books, depth):
            return True
        depth += 4
    return False


class Run:
    """A policy beside its twin."""

    def __init__(self, seed, plays, lottery=None):
        self.rng = rng = random.Random(seed)
        self.arms, self.lottery = list("abcd"[: 3 + (plays > 1)]), lottery
        self.kind = rng.choice([None, None, "any", "all", "list"])
        promise = drawn_promise(rng, self.arms, plays, self.kind)
        self.policy = DeadlineLearn(Stubborn(0), promise, lottery=lottery, seed=seed)
        self.twin = Versions(promise, self.arms)

    def round(self):
        rng, twin = self.rng, self.twin
        offered = rng.choice(twin.choices())
        ranking = rng.sample(self.arms, len(self.arms))
        # a policy made again from a file has a learner of its own
        self.policy.learner.wishes = [[self.arms.index(arm) for arm in ranking]]
        given = {} if set(offered) == set(twin.live) else {"available": list(offered)}
        before = twin.game(twin.counts), twin.at
        decision = self.policy.ask(**given)
        played = decision.arms if self.policy.plays > 1 else (decision.arm,)
        if self.lottery is None:
            self.judge(*before, offered, ranking, played)
        broken = twin.enter(offered, played)
        assert broken is None, (broken, self.policy.promise)
        self.policy.forget(decision)

    def judge(self, game, books, offered, ranking, played):
        """Every slate that the ranking puts before the one that was played is refused by the game."""
        place = {arm: i for i, arm in enumerate(ranking)}
        key = lambda slate: sorted(place[arm] for arm in slate)  # noqa: E731
        for slate in sorted(game.slates(offered), key=key):
            if set(slate) == set(played):
                break
            assert is_refused(game, game.after(books, offered, slate)), (slate, played, self.policy.promise, books)

    def change(self):
        rng, policy, twin = self.rng, self.policy, self.twin
        promise = drawn_promise(rng, twin.live, policy.plays, self.kind)
        returned = policy.change(promise)
        claims = twin.change(promise)
        names = {frozenset(arm if isinstance(arm, tuple) else (arm,)): lag for arm, lag in returned.items()}
        assert names == {members: float(claims[members]) for members in names}
        kept = {members: lag for members, lag in claims.items() if members not in names}
        for members in names:
            tried = twin.carried(kept | {members: claims[members]})
            if tried is not None:
                assert is_refused(twin.game(tried.counts), tried.at, depth=10), (tried.counts, claims)
        twin.counts = twin.carried(kept).counts

    def retire(self):
        arm = self.rng.choice(self.twin.live)
        before = self.policy.snapshot()
        try:
            self.policy.retire(arm)
        except (SharesError, ArgumentError):
            assert list(self.policy.snapshot()["config"].items()) == list(before["config"].items())
            return
        self.twin.retire(arm)

    def add(self):
        gone = [arm for arm in self.arms if arm not in self.twin.live]
        if not gone:
            return
        arm, share = self.rng.choice(gone), F(self.rng.choice([0, 1, 1, 1]), self.rng.choice([2, 3, 4, 5]))
        cap = self.rng.choice([None, F(1, 2), F(3, 4)])
        try:
            wait = self.policy.add(arm, share, cap=cap)
        except (SharesError, ArgumentError):
            return
        self.twin.add(arm, share, self.policy.promise.slack, wait, cap, self.policy.promise.ahead)

    def save(self):
        saved = self.policy.snapshot()
        self.policy = DeadlineLearn.restored(saved | {"state": list(saved["state"])})


def play(run, rounds):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(rounds):
            run.round()
            chance = run.rng.random()
            if chance < 0.12:
                run.change()
            elif chance < 0.2:
                run.retire()
            elif chance < 0.3:
                run.add()
            elif chance < 0.4:
                run.save()


@settings(max_examples=many(30), deadline=None)
@given(seed=st.integers(0, 10**6), plays=st.sampled_from([1, 1, 2]))
def test_whatever_is_promised_changes_with_every_clause_kept_and_no_wish_refused_in_vain(seed, plays):
    play(Run(seed, plays), 30)


@settings(max_examples=many(15), deadline=None)
@given(seed=st.integers(0, 10**6), plays=st.sampled_from([1, 2]))
def test_lotteries_change_with_every_clause_kept(seed, plays):
    play(Run(seed, plays, lottery=0.5), 40)
