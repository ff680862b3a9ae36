"""The slate that is played is the best after which every promise can still be kept: against a search of games."""

import itertools
from fractions import Fraction as F

import pytest

from evenhand.learners import UCB1
from evenhand.promises.promise import Promise
from evenhand.quotas import DeadlineLearn
from tests.naming import at_night
from tests.promises.walked import Walk, begun, generator


def floors():
    for arms, plays in ((2, 1), (3, 1), (3, 2)):
        values = [F(0), F(1, 3), F(1, 2), F(1)] if arms == 3 else [F(0), F(1, 4), F(1, 3), F(1, 2), F(2, 3), F(1)]
        for shares in itertools.combinations_with_replacement(values, arms):
            if sum(shares) <= plays:
                yield pytest.param(shares, plays, id=f"{'-'.join(map(str, shares))} of {plays}".replace("/", ":"))


@pytest.mark.parametrize(("shares", "plays"), list(floors()))
@pytest.mark.parametrize("tolerance", [0, at_night(1)])
def test_the_slate_is_the_best_that_keeps_every_floor_whatever_is_on_offer(shares, plays, tolerance):
    for offers in ("any", "all"):
        Walk(Promise(list(shares), tolerance, plays=plays, offers=offers)).rounds(36, generator(7))


def capped():
    for shares in itertools.product([F(0), F(1, 4), F(1, 3), F(1, 2)], repeat=2):
        for caps in itertools.product([F(1, 4), F(1, 2), F(2, 3), F(1)], repeat=2):
            if sum(shares) <= 1 <= sum(caps) and all(r <= c for r, c in zip(shares, caps, strict=True)):
                yield shares, caps
    yield (F(1, 3), F(0), F(1, 6)), (F(1, 3), F(1, 2), F(1, 2))
    yield (F(0), F(0), F(0)), (F(1, 3), F(1, 3), F(1, 3))
    yield (F(1, 2), F(1, 4), F(1, 4)), (F(1, 2), F(1, 2), F(1))
    yield (F(1, 2), F(1, 3), F(1, 6)), (F(1), F(1), F(1))


@pytest.mark.parametrize(("tolerance", "ahead"), [(0, 0), at_night(1, 0), at_night(0, 1)])
def test_the_arm_is_the_best_that_keeps_every_floor_and_cap(tolerance, ahead):
    for shares, caps in capped():
        promise = Promise(list(shares), tolerance, list(caps), ahead, offers="all")
        Walk(promise).rounds(24 if len(shares) == 2 else 80, generator(7))


def test_a_look_that_ends_early_plays_the_earliest_deadlines():
    params, state, run, _ = begun(Promise(["1/3", "1/3", "1/3"], 0))
    params, played = params._replace(farthest=0), []
    state.scores[:] = [3.0, 2.0, 1.0]
    for round in range(9):
        run(params, state, round)
        played.append(int(state.chosen[0]))
    assert [played.count(arm) for arm in range(3)] == [3, 3, 3]


def test_a_window_counts_the_rounds_after_one_in_which_its_arm_was_off_offer():
    """A proposal that is granted without a look passes a round for every window whose arm is on offer again."""
    policy = DeadlineLearn(UCB1(), 0, windows={"b": 9}, arms=["a", "b"])
    gaps = [0]
    for round in range(200):
        available = ["a"] if round % 4 == 0 else ["a", "b"]
        decision = policy.ask(available=available if len(available) == 1 else None)
        policy.tell(decision, float(decision.arm == "a"))
        gaps.append(0 if decision.arm == "b" else gaps[-1] + ("b" in available))
    assert max(gaps) == 8
