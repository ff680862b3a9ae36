"""DeadlineLearn grants a proposal exactly where every promise can still be kept after it, against twins that try it
out."""

import math
from fractions import Fraction as F
from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.kernels.compose import LazyKernel
from evenhand.quotas import DeadlineLearn
from evenhand.quotas.deadlines import count, granted, must_play
from tests.fuzzing import many
from tests.quotas.board import Board, every_conversation, quietly
from tests.reference import quotas as slow
from tests.strategies import Stubborn

TOLERANCES = (0.0, 0.5, 1.0, 2.3)


def all_shares(arms, denominators):
    """Every vector of shares over these denominators with a sum of at most one."""
    return sorted(
        {
            tuple(F(n, d) for n in numerators)
            for d in denominators
            for numerators in product(range(d + 1), repeat=arms)
            if sum(numerators) <= d
        }
    )


def judged(promise):
    """Return the twin as a function of pulls and round: the arms that may be pulled next."""
    slack = math.floor(promise.tolerance)
    return lru_cache(None)(lambda pulls, t: slow.may_be_pulled(promise.shares, slack, pulls, t))


def followed(policy, wishes):
    """Lead the policy through these proposals, checked at every round."""
    promise, board = policy.promise, Board(policy)
    slack, pulls = math.floor(promise.tolerance), [0] * len(promise.arms)
    for t, proposal in enumerate(wishes):
        allowed = slow.may_be_pulled(promise.shares, slack, pulls, t)
        forced = board.forced(t + 1)
        assert forced == (-1 if len(allowed) > 1 else allowed[0]), f"after round {t}, pulls {pulls}"
        arm = board.settled(t + 1, proposal if forced < 0 else forced)
        dues = [slow.deadline(share, slack, n) for share, n in zip(promise.shares, pulls, strict=True)]
        wanted = proposal if proposal in allowed else dues.index(min(dues))
        assert arm == wanted, f"after round {t}, pulls {pulls}, proposal {proposal}, allowed {allowed}"
        pulls[arm] += 1


@pytest.mark.parametrize("slack", [0, 1])
@pytest.mark.parametrize("shares", all_shares(2, [2, 3, 5]) + all_shares(3, [2, 3]), ids=str)
def test_the_twin_itself_finds_what_trying_every_order_finds(shares, slack):
    period = math.lcm(*(share.denominator for share in shares))
    for pulls in product(range(4), repeat=len(shares)):
        t = sum(pulls)
        until = period + max(
            [t, *(slow.deadline(share, slack, n) for share, n in zip(shares, pulls, strict=True) if share)]
        )
        if slow.kept(shares, slack, pulls, t):
            assert slow.can_be_kept(shares, slack, pulls, t) == slow.can_be_kept_in_some_order(
                shares, slack, pulls, t, min(until, t + 12)
            )


def walked(shares, tolerance, rounds):
    policy = quietly(DeadlineLearn, Stubborn(0), list(shares), tolerance)
    allowed = judged(policy.promise)

    def seen(t, pulls, proposal, forced, arm):
        may = allowed(pulls, t - 1)
        assert forced == (-1 if len(may) > 1 else may[0]), f"t = {t}, pulls {pulls}"
        assert (arm == proposal) == (proposal in may), f"t = {t}, pulls {pulls}, proposal {proposal}, allowed {may}"
        assert arm in may

    every_conversation(policy, rounds, seen)


@pytest.mark.parametrize("tolerance", [0.0, 1.0])
@pytest.mark.parametrize(("arms", "denominators", "rounds"), [(2, range(1, 7), 7), (3, range(1, 5), 5)])
def test_so_it_is_for_all_shares_with_small_denominators(arms, denominators, rounds, tolerance):
    for shares in all_shares(arms, denominators):
        walked(shares, tolerance, rounds)


@settings(max_examples=many(50), deadline=None)
@given(
    weights=st.lists(st.integers(0, 40), min_size=2, max_size=7).filter(any),
    rest=st.sampled_from([0, 0, 1, 2, 30]),
    tolerance=st.sampled_from([*TOLERANCES, 7.0]),
    wishes=st.lists(st.integers(0, 6), min_size=1, max_size=70),
)
def test_so_it_is_for_larger_shares(weights, rest, tolerance, wishes):
    shares = [F(weight, sum(weights) + rest) for weight in weights]
    policy = quietly(DeadlineLearn, Stubborn(0), shares, tolerance)
    followed(policy, [proposal % len(shares) for proposal in wishes])


@pytest.mark.parametrize("part", [(1 << 59) - 1, (1 << 50) + 1, (1 << 45) + 12_345])
def test_shares_of_the_finest_grain_are_judged_exactly(part):
    """Of two arms whose shares sum to one, arm i may be pulled after round t iff N_i < ceil(r_i (t + 1))."""
    shares = [F(part, (1 << 60) - 1), 1 - F(part, (1 << 60) - 1)]
    board, pulls = Board(DeadlineLearn(Stubborn(0), shares)), [0, 0]
    for t in range(300):
        allowed = [i for i in range(2) if pulls[i] < math.ceil(shares[i] * (t + 1))]
        forced = board.forced(t + 1)
        assert forced == (-1 if len(allowed) == 2 else allowed[0])
        pulls[board.settled(t + 1, t % 7 % 2 if forced < 0 else forced)] += 1
    assert slow.kept(shares, 0, pulls, 300)


@pytest.fixture
def impatient(monkeypatch):
    """As plain Python, the rule cuts each walk short after two deadlines."""
    monkeypatch.setattr("evenhand.kernels.deadlines.PATIENCE", 2)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("shares", [["5/14", "3/7", "3/14"], ["1/60", "29/60", "1/2"], [0.3, 0.3, 0.39]])
def test_a_walk_that_ends_early_forces_early_and_breaks_nothing(shares):
    policy = DeadlineLearn(Stubborn(0), shares)
    params, state, exact = policy.engine.params, policy.engine.state, policy.promise.shares
    pulls, generator = [0] * len(shares), np.random.default_rng(1)
    for t in range(200):
        allowed = slow.may_be_pulled(exact, 0, pulls, t)
        arm = int(must_play(params, state, t + 1))
        if arm < 0:
            arm = int(granted(params, state, t + 1, int(generator.integers(len(shares)))))
        assert arm in allowed
        count(params, state, t + 1, arm)
        pulls[arm] += 1


@pytest.mark.compiled
def test_a_rule_that_may_look_far_ahead_is_compiled_at_once():
    """As plain Python a walk over a million deadlines takes minutes."""
    near, far = ([0.1] * 10, [1e-6, 0.499999, 0.5])
    policies = [DeadlineLearn(eh.learners.UCB1(), shares, seed=1) for shares in (near, far)]
    for policy in policies:
        policy.ask()
    assert [isinstance(policy.engine.calls.ask, LazyKernel) for policy in policies] == [True, False]
