"""The promise N_i(t) >= floor(r_i t) - alpha: for every learner, at every round, in exact fractions."""

import math
import warnings
from fractions import Fraction as F
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import Promise
from evenhand.errors import SharesError
from evenhand.kernels.deadlines import NEVER, advance, pace, position
from evenhand.quotas import DeadlineLearn, FairLearn, HorizonFairUCB
from tests.fuzzing import many
from tests.quotas.board import Board, every_conversation, quietly
from tests.reference import quotas as slow
from tests.strategies import Spiteful, Stubborn, any_shares, tolerances

TOLERANCES = (0.0, 2.3)


FAIR = [
    (["1/2", "1/2"], 12),
    (["1/2", "1/3"], 12),
    ([0.3, 0.0], 11),
    (["1/3", "1/3", "1/3"], 9),
    ([0.2, 0.3, 0.25], 8),
    ([0.25, 0.25, 0.25, 0.25], 8),
]


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize(("shares", "rounds"), FAIR)
def test_fair_learn_keeps_its_promise_to_every_learner_and_is_algorithm_1(shares, rounds, tolerance):
    policy = FairLearn(Stubborn(0), shares, tolerance)
    exact, slack = policy.promise.shares, math.floor(tolerance)
    rule = lru_cache(None)(lambda pulls, t: slow.fair_learn(exact, slack, pulls, t))

    def seen(t, pulls, proposal, forced, arm):
        wanted = rule(pulls, t)
        assert forced == (-1 if wanted is None else wanted)
        assert arm == (proposal if wanted is None else wanted)

    assert every_conversation(policy, rounds, seen) >= rounds


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ({"blue": 0.1, "red": 0.7, "green": 0.1}, r"shares\['red'\]: expected at most 1/3.*got 0\.7.*DeadlineLearn"),
        (["1/2", "0.50001"], "more than 1"),
    ],
)
def test_fair_learn_refuses_shares_above_one_over_k_and_names_deadline_learn(shares, words):
    with pytest.raises(SharesError, match=words):
        FairLearn(Stubborn(0), shares)


def kept_throughout(policy, rounds):
    """Converse and check Definition 2 after every round against the shares as they were read; return the pulls."""
    promise = policy.promise
    integers = [(share.numerator, share.denominator) for share in promise.shares]
    slack, pulls = math.floor(promise.tolerance), [0] * len(integers)
    for t in range(1, rounds + 1):
        decision = policy.ask()
        pulls[decision.index] += 1
        policy.tell(decision, 0.0)
        for (numerator, denominator), n in zip(integers, pulls, strict=True):
            assert numerator * t // denominator - n <= slack, f"t = {t}, pulls {pulls}, shares {promise.shares}"
    return pulls


@settings(max_examples=many(120))
@given(shares=any_shares(), tolerance=tolerances)
def test_deadline_learn_keeps_its_promise_against_a_spiteful_learner(shares, tolerance):
    exact = Promise(shares).shares
    kept_throughout(quietly(DeadlineLearn, Spiteful(exact), shares, tolerance), 700)


def test_almost_full_shares_beside_an_arm_that_is_owed_nothing_keep_every_deadline():
    policy = DeadlineLearn(Stubborn(3), ["0.19999999999999999", "1/2", "3/10", 0])
    kept_throughout(policy, 2000)


@pytest.mark.parametrize(("cls", "first"), [(FairLearn, 2), (DeadlineLearn, 7)])
def test_deadline_learn_leaves_a_learner_more_freedom_than_fair_learn(cls, first):
    """Four arms that nobody wants are owed their first pull at round 10: 7, 8, 9 and 10 are enough."""
    policy = cls(Stubborn(4), [0.1] * 5)
    reasons = [policy.ask().reason for _ in range(10)]
    assert reasons.index("owed its share") + 1 == first


def test_an_arm_owed_nothing_beside_full_shares_is_announced():
    with pytest.warns(UserWarning, match=r"sum to exactly 1 and arm 'c' has share 0.*at most 2 times"):
        policy = DeadlineLearn(Stubborn(2), {"a": "1/2", "b": "1/2", "c": 0}, 1.0)
    assert kept_throughout(policy, 400)[2] == 2


@pytest.mark.parametrize(
    ("shares", "plays", "never"),
    [
        ({"a": 0, "b": 0, ("a", "b"): 1, "c": 0}, 1, "c"),
        ({"a": 1, "b": 0, ("a", "b"): 1}, 1, "b"),
        ({"a": 1, "b": 1, "c": 0}, 2, "c"),
        ({"a": "1/2", "b": 0, ("a", "b"): 1}, 1, None),
        ({"a": "1/2", "b": "1/2", "c": 0}, 2, None),
    ],
)
def test_an_arm_that_sets_or_slates_leave_no_room_for_is_announced(shares, plays, never):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        DeadlineLearn(Stubborn(2), Promise(shares, plays=plays))
    expected = [f"the shares sum to exactly {plays} and arm {never!r} has share 0: it will be played at most 0"]
    assert [str(one.message)[: len(expected[0])] for one in said] == (expected if never else [])


@settings(max_examples=many(80))
@given(shares=any_shares(6), tolerance=tolerances, horizon=st.integers(1, 400))
def test_horizon_fair_ucb_serves_its_quotas_in_proportion_and_first(shares, tolerance, horizon):
    policy = HorizonFairUCB(shares, horizon, tolerance=tolerance)
    quotas = policy.promise.owed(horizon)
    pulls = [0] * len(quotas)
    for t in range(1, sum(quotas) + 1):
        pulls[policy.choose()] += 1
        for quota, n in zip(quotas, pulls, strict=True):
            assert n <= quota
            assert F(quota * t, sum(quotas)) - n < 1
    assert slow.kept(policy.promise.shares, math.floor(tolerance), pulls, horizon)


# ---------------------------------------------------------------------------- integers far out


@settings(max_examples=many(100))
@given(
    numerators=st.lists(st.integers(1, 1 << 55), min_size=1, max_size=4),
    extra=st.integers(0, 1 << 57),
    pulls=st.integers(0, 1 << 40),
)
def test_positions_are_exact_far_out(numerators, extra, pulls):
    denominator = sum(numerators) + extra
    shares, at = pace(numerators, denominator), position(numerators, denominator, pulls)
    whole, rest = at

    for more in range(1, 40):
        for arm in range(len(numerators)):
            advance(*shares, *at, arm)
        for arm, numerator in enumerate(numerators):
            exact = F((pulls + more) * denominator, numerator)
            if whole[arm] < NEVER:
                assert F(int(whole[arm])) + F(int(rest[arm]), numerator) == exact
                assert 0 <= rest[arm] < numerator
            else:
                assert exact > NEVER // 2


def far_out(policy, start):
    """Put a policy's rule at round `start` with every arm served up to then, none short; return board and pulls."""
    promise, board = policy.promise, Board(policy)
    pulls = [math.ceil(share * start) for share in promise.shares]
    assert sum(pulls) <= start
    pulls[-1] += start - sum(pulls)
    numerators, denominator = promise.fixed_point
    first = 0 if isinstance(policy, FairLearn) else 1
    for arm, n in enumerate(pulls):
        whole, rest = position(numerators, denominator, n + promise.slack + first)
        policy.engine.state.whole[arm], policy.engine.state.rest[arm] = whole[arm], rest[arm]
        policy.engine.state.pulls[arm] = n
    return board, pulls


@pytest.mark.parametrize("start", [1 << 33, (1 << 40) - 17, (1 << 40) + 123_456_789])
@pytest.mark.parametrize(
    ("cls", "shares"),
    [
        (FairLearn, [0.07, 0.14, 0.29]),
        (FairLearn, [0.123456789, 0.3, 0.1000000001]),
        (DeadlineLearn, [0.07, 0.14, 0.29, 0.5]),
        (DeadlineLearn, [0.612345678, 0.3, 0.01]),
    ],
)
def test_the_promise_holds_around_two_to_the_fortieth_round(cls, shares, start):
    start -= start % 100
    policy = cls(Stubborn(0), shares)
    board, pulls = far_out(policy, start)
    exact = policy.promise.shares
    for t in range(start + 1, start + 600):
        forced = board.forced(t)
        claims = [share * t - n for share, n in zip(exact, pulls, strict=True)]
        pulls[board.settled(t, claims.index(min(claims)) if forced < 0 else forced)] += 1
        assert slow.kept(exact, 0, pulls, t)
