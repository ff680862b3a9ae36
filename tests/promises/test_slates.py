"""The slate that is played is the best after which every promise can still be kept: against a search of games."""

import itertools
import random
from fractions import Fraction as F

import pytest

from evenhand.kernels.compose import interpreted
from evenhand.learners import UCB1
from evenhand.promises.allowed import is_grantable
from evenhand.promises.promise import Promise
from evenhand.quotas import DeadlineLearn
from tests.naming import at_night
from tests.promises.walked import begun
from tests.reference.promises import Caps, Floors

quick = interpreted(is_grantable)


def subsets(arms):
    return [offered for size in range(1, arms + 1) for offered in itertools.combinations(range(arms), size)]


def floors():
    for arms, plays in ((2, 1), (3, 1), (3, 2)):
        values = [F(0), F(1, 3), F(1, 2), F(1)] if arms == 3 else [F(0), F(1, 4), F(1, 3), F(1, 2), F(2, 3), F(1)]
        for shares in itertools.combinations_with_replacement(values, arms):
            if sum(shares) <= plays:
                yield pytest.param(shares, plays, id=f"{'-'.join(map(str, shares))} of {plays}".replace("/", ":"))


def wishes(rng, arms):
    """Sometimes the same ranking round after round, which presses hardest, sometimes a new one."""
    return [rng.random() for _ in range(arms)] if rng.random() < 0.5 else [-float(arm) for arm in range(arms)]


@pytest.mark.parametrize(("shares", "plays"), list(floors()))
@pytest.mark.parametrize("tolerance", [0, at_night(1)])
def test_the_slate_is_the_best_that_keeps_every_floor_whatever_is_on_offer(shares, plays, tolerance):
    arms = len(shares)
    for offers in (subsets(arms), [tuple(range(arms))]):
        game = Floors(shares, tolerance, plays, offers)
        assert game.start in game.safe
        promise = Promise(list(shares), tolerance, plays=plays)
        params, state, run = begun(promise)
        rng, now = random.Random(7), game.start
        for round in range(60):
            offered, scores = rng.choice(offers), wishes(rng, arms)
            state.offered[:] = [arm in offered for arm in range(arms)]
            state.scores[:] = scores
            proposal = max(offered, key=lambda arm: scores[arm])
            gave_way = not (plays == 1 and round % 3 and quick(params, state, round, proposal)) and run(
                params, state, round
            )
            played = [arm for arm in state.chosen.tolist() if arm >= 0]
            allowed = game.may_play(now, offered)
            best = max(allowed, key=lambda slate: sorted((scores[arm] for arm in slate), reverse=True))
            assert sorted(played) == sorted(best), (round, offered, scores)
            wished = sorted(offered, key=lambda arm: -scores[arm])[: len(played)]
            assert gave_way == (sorted(wished) != sorted(played))
            now = game.after(now, offered, played)


def capped():
    for shares in itertools.product([F(0), F(1, 4), F(1, 3), F(1, 2)], repeat=2):
        for caps in itertools.product([F(1, 4), F(1, 2), F(2, 3), F(1)], repeat=2):
            if sum(shares) <= 1 <= sum(caps) and all(r <= c for r, c in zip(shares, caps, strict=True)):
                yield shares, caps
    yield (F(1, 3), F(0), F(1, 6)), (F(1, 3), F(1, 2), F(1, 2))
    yield (F(0), F(0), F(0)), (F(1, 3), F(1, 3), F(1, 3))
    yield (F(1, 2), F(1, 4), F(1, 4)), (F(1, 2), F(1, 2), F(1))


@pytest.mark.parametrize(("tolerance", "ahead"), [(0, 0), at_night(1, 0), at_night(0, 1)])
def test_the_arm_is_the_best_that_keeps_every_floor_and_cap(tolerance, ahead):
    for shares, caps in capped():
        game = Caps(shares, caps, tolerance, ahead)
        assert game.start in game.safe
        promise = Promise(list(shares), tolerance, list(caps), ahead)
        params, state, run = begun(promise)
        rng, now = random.Random(7), game.start
        for round in range(40):
            scores = wishes(rng, len(shares))
            state.scores[:] = scores
            proposal = max(range(len(shares)), key=lambda arm: scores[arm])
            if round % 3 == 0 or not quick(params, state, round, proposal):
                run(params, state, round)
            best = max(game.may_play(now), key=lambda arm: scores[arm])
            assert state.chosen[0] == best, (shares, caps, round, scores)
            now = game.after(now, best)


def test_a_look_that_ends_early_plays_the_earliest_deadlines():
    params, state, run = begun(Promise(["1/3", "1/3", "1/3"], 0))
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
