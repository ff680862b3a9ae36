"""Shares of nested sets of arms: the arm that is played is the best after which every promise can still be kept."""

import itertools
import random
from fractions import Fraction as F

import pytest

import evenhand as eh
from evenhand.errors import SharesError
from evenhand.kernels.compose import interpreted
from evenhand.learners import UCB1, Thompson
from evenhand.promises.allowed import is_grantable
from evenhand.promises.laminar import look, open_arms, refuse_for_urgent
from evenhand.promises.promise import read_promise
from evenhand.quotas import BernoulliArms, DeadlineLearn
from tests.naming import at_night
from tests.promises.walked import begun
from tests.reference.promises import Sets

quick = interpreted(is_grantable)
SHAPES = [
    [(0, 1)],
    [(0, 1), (0, 1, 2)],
    [(1, 2), (0, 1, 2)],
]


def promises(shape):
    for single in itertools.product([F(0), F(1, 3)], [F(0), F(1, 6)], [F(0)]):
        for together in itertools.product([F(1, 2), F(2, 3), F(1)], repeat=len(shape)):
            yield dict(enumerate(single)) | dict(zip(shape, together, strict=True))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("tolerance", [0, at_night(1)])
def test_the_arm_is_the_best_that_keeps_every_set(shape, tolerance):
    tried = 0
    for shares in promises(shape):
        try:
            promise = read_promise(shares, tolerance, arms=3)
        except SharesError:
            continue
        owners = [({arm}, share) for arm, share in zip(promise.arms, promise.shares, strict=True)]
        game = Sets([*owners, *((set(arms), share) for arms, share in promise.sets)], tolerance)
        assert game.start in game.safe
        params, state, run = begun(promise)
        rng, now = random.Random(3), game.start
        for round in range(40):
            scores = [rng.random() for _ in range(3)] if rng.random() < 0.5 else [-1.0, -2.0, 0.0]
            state.scores[:] = scores
            if round % 3 == 0 or not quick(params, state, round, max(range(3), key=lambda arm: scores[arm])):
                run(params, state, round)
            allowed = game.may_play(now)
            best = max(allowed, key=lambda arm: scores[arm])
            assert state.chosen[0] == best, (shares, round, scores, allowed)
            now = game.after(now, best)
        tried += 1
    assert tried >= 5


def test_where_a_play_must_come_now_the_arms_that_are_not_it_are_seen_without_a_look():
    looked, refuse, opened = interpreted(look), interpreted(refuse_for_urgent), interpreted(open_arms)
    promise = read_promise({0: F(1, 9), 3: F(1, 8), (0, 1): F(1, 3), (0, 1, 2): F(2, 5)}, 0, arms=5)
    params, state, run = begun(promise)
    rng, urgent = random.Random(2), 0
    for now in range(200):
        state.refused[:] = 0
        refuse(params, state, now)
        refused = {arm for arm in range(5) if state.refused[arm] > now}
        if refused:
            urgent += 1
            late = set()
            for arm in range(5):
                state.refused[:] = 0
                opened(state, now)
                state.chosen[0] = arm
                if looked(params, state, now) < 0 and state.refused[arm] == now + 1:
                    late.add(arm)
            assert refused == late
        state.scores[:] = [rng.random() + (arm == 4) for arm in range(5)]
        state.refused[:] = state.spare[0] = 0
        run(params, state, now)
    assert urgent > 40


def test_what_clashes_is_refused_exactly_where_no_rule_could_keep_it():
    for shares in promises(SHAPES[1]):
        owners = [(set(key) if isinstance(key, tuple) else {key}, share) for key, share in shares.items()]
        game = Sets(owners, 0)
        if game.start in game.safe:
            assert read_promise(shares, 0, arms=3) is not None
        else:
            with pytest.raises(SharesError, match="more than 1 by"):
                read_promise(shares, 0, arms=3)


@pytest.mark.parametrize("learner", [UCB1(), Thompson()])
def test_sets_are_kept_at_every_round_of_a_simulation(learner):
    policy = DeadlineLearn(learner, {"a": 0.1, ("a", "b"): 0.4, ("a", "b", "c"): 0.6, "d": 0.2})
    world = BernoulliArms({"a": 0.1, "b": 0.5, "c": 0.4, "d": 0.9})
    history = eh.simulate(policy, world, rounds=500, seed=1, checkpoints=500)
    for round, pulls in enumerate(history.pulls.values[0, 0].tolist(), 1):
        assert policy.promise.is_kept(pulls, round)
    assert history.pulls.values[0, 0, -1, 3] > 150


@pytest.mark.parametrize(
    ("shares", "more", "words"),
    [
        ({("a", "b"): 0.4, ("b", "c"): 0.5}, {"tolerance": 9}, r"^shares: \('a', 'b'\) and \('b', 'c'\) overlap"),
        ({("a", "b"): 0.9, "c": 0.2}, {}, r"more than 1 by 0\.1: .*a, b together at least 9/10"),
        ({("a", "a"): 0.4, "b": 0}, {}, "each once"),
        ({("a", "b"): 0.4, ("b", "a"): 0.3}, {}, "each set of arms once"),
        ({("a", "b"): 1.4}, {}, "numbers from 0 to 1"),
        ({("a", "z"): 0.4}, {"arms": ["a", "b"]}, "two or more of the arms"),
        ({("a", "b"): 0.4, ("b", "c"): 0.1}, {"plays": 2}, "overlap; one must contain the other"),
        (
            {("a", "b"): 0.4, "c": 0.1},
            {"caps": {"a": 0.1, "b": 0.2}},
            "at most 3/10, what the caps",
        ),
    ],
)
def test_sets_that_cannot_be_promised_are_refused_by_name(shares, more, words):
    with pytest.raises(SharesError, match=words):
        DeadlineLearn(UCB1(), shares, **more)


class Ranked:
    """A learner from elsewhere that ranks all arms at random."""

    def __init__(self):
        self.random = random.Random(5)

    def choose(self):
        self.wishes = self.random.sample(range(3), 3)
        return self.wishes

    def update(self, index, reward):
        pass
