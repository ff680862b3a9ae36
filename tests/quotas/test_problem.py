"""Shares and tolerances as users write them, and every refusal of what cannot be promised."""

from decimal import Decimal
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand import Promise
from evenhand.errors import ArgumentError, SharesError
from evenhand.promises.promise import read_promise
from evenhand.promises.reading import read_share, read_tolerance
from evenhand.quotas import LFG, DeadlineLearn, FairLearn, FairUCB, HorizonFairUCB
from tests.naming import named
from tests.strategies import Stubborn, any_shares


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (0.07, F(7, 100)),
        (1 / 3, F(1, 3)),
        (0.1 + 0.2, F(30000000000000004, 10**17)),
        ("2%", F(1, 50)),
        (" 12.5 % ", F(1, 8)),
        ("1/3", F(1, 3)),
        (F(3, 7), F(3, 7)),
        (Decimal("0.07"), F(7, 100)),
        (1, F(1)),
        (np.float32(0.07), F(7, 100)),
    ],
)
def test_a_share_is_the_number_that_was_written(written, read):
    assert read_share(written) == read


BAD_SHARES = [
    -0.1,
    1.0001,
    float("nan"),
    float("inf"),
    "much",
    "1/0",
    None,
    True,
    [0.1],
    1j,
    Decimal("NaN"),
    "101%",
    object(),
]


@pytest.mark.parametrize("bad", BAD_SHARES, ids=named)
def test_what_is_no_share_is_refused_with_the_arm_that_it_was_for(bad):
    with pytest.raises(SharesError, match=r"shares\['b'\]: expected numbers from 0 to 1"):
        Promise({"a": 0.1, "b": bad})


@given(numerator=st.integers(0, 1000), denominator=st.integers(1, 1000))
def test_a_fraction_computed_in_floating_point_is_that_fraction(numerator, denominator):
    if numerator <= denominator:
        assert read_share(numerator / denominator) == F(numerator, denominator)


def test_what_is_owed_is_not_rounded_in_floating_point():
    assert int(0.29 * 100) == 28  # what the promise must not fall into
    promise = Promise([0.07, 0.14, 0.29])
    assert promise.owed(100) == [7, 14, 29]
    assert not promise.is_kept([7, 65, 28], 100)
    assert promise.is_kept([7, 64, 29], 100)


@given(shares=any_shares(), tolerance=st.floats(0, 50), t=st.integers(1, 10**6))
def test_what_is_owed_is_the_definition(shares, tolerance, t):
    promise = Promise(shares, tolerance)
    for share, owed in zip(promise.shares, promise.owed(t), strict=True):
        # the smallest whole number of pulls n >= 0 with floor(r t) - n <= alpha
        assert (share * t).__floor__() - owed <= tolerance
        assert owed == 0 or (share * t).__floor__() - (owed - 1) > tolerance


@given(shares=any_shares())
def test_the_integers_of_the_kernels_are_the_shares_or_finer_than_anyone_can_count(shares):
    promise = Promise(shares)
    numerators, denominator = promise.fixed_point
    assert denominator < 1 << 60
    assert min(numerators) >= 0
    assert sum(numerators) <= denominator
    for share, numerator in zip(promise.shares, numerators, strict=True):
        assert abs(F(numerator, denominator) - share) <= F(1, 10**12)
        if share.denominator <= 1000:
            assert F(numerator, denominator) == share


def test_rounding_above_a_sum_of_one_is_not_held_against_the_user():
    promise = Promise([0.1] * 3 + [0.7])
    assert sum(promise.shares) == 1
    ugly = [0.30000000000000004, 0.1, 0.6]
    assert sum(Promise(ugly).shares) <= 1
    assert Promise(ugly).shares[1:] == (F(1, 10), F(3, 5))


@pytest.mark.parametrize("cls", [FairUCB, HorizonFairUCB, LFG, DeadlineLearn, FairLearn])
@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ([0.6, 0.6], r"sum to 1\.2, more than 1 by 0\.2; .*scale them by 0\.833"),
        ([0.5, -0.1], r"shares\[1\]: expected numbers from 0 to 1, got -0\.1"),
        ([0.5, "1e-999999999"], r"shares\[1\]: expected numbers from 0 to 1, got '1e-999999999'"),
        ([0.5], "at least two arms"),
        ([], "a list, or a dict arm -> share"),
        ({"a": 0.5}, "at least two arms"),
        (0.5, "a list, or a dict arm -> share, got 0.5; one number for all needs the names"),
        (None, "a list, or a dict arm -> share"),
    ],
    ids=named,
)
def test_infeasible_shares_are_refused_with_the_sum_and_the_mend(cls, shares, words):
    learner = (Stubborn(0),) if cls in (FairLearn, DeadlineLearn) else ()
    more = {"horizon": 10} if cls is HorizonFairUCB else {}
    with pytest.raises(ArgumentError, match=words):
        cls(*learner, shares, **more)


@pytest.mark.parametrize(
    ("shares", "arms", "words"),
    [
        ([0.1, 0.1, 0.1], 2, "expected 2, one for each arm, got '3 of them'"),
        ({"a": 0.1, "b": 0.1}, ["a", "c"], "no arm 'b'"),
        ({"a": 0.1}, ["a", "c"], "no share for arm 'c'"),
        ([0.1, 0.1], ["a", "a"], "each label once"),
        ([0.1, 0.1], [1.5, 2.5], "labels that are str or int"),
        ([0.1, 0.1], [True, True], "each label once"),
        ([0.1, 0.1], "ab", "a number of arms or a list of labels"),
        (0.1, -3, "at least one"),
    ],
)
def test_shares_and_arms_must_fit_each_other(shares, arms, words):
    with pytest.raises(ArgumentError, match=words):
        read_promise(shares, arms=arms)


@pytest.mark.parametrize("bad", [-1, -0.001, float("nan"), float("inf"), "x", None, True, [1.0]], ids=named)
@pytest.mark.parametrize("cls", [FairUCB, HorizonFairUCB, DeadlineLearn])
def test_a_tolerance_that_is_no_number_from_zero_on_is_refused(cls, bad):
    learner = (Stubborn(0),) if cls is DeadlineLearn else ()
    more = {"horizon": 10} if cls is HorizonFairUCB else {}
    with pytest.raises(ArgumentError, match=r"tolerance: expected a .*number >= 0.*use 0.0 for the strict promise"):
        cls(*learner, [0.2, 0.2], tolerance=bad, **more)


@pytest.mark.parametrize("good", [0, 2, 2.5, F(5, 2), Decimal("0.5"), np.float32(1.5)])
def test_any_number_from_zero_on_is_a_tolerance(good):
    assert read_tolerance(good) == float(good)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "1", None, True])
def test_eta_and_horizon_must_be_positive(bad):
    with pytest.raises(ArgumentError, match="eta: expected a number > 0"):
        LFG([0.2, 0.2], eta=bad)
    with pytest.raises(ArgumentError, match="horizon: expected a number of rounds >= 1"):
        HorizonFairUCB([0.2, 0.2], bad)


@pytest.mark.parametrize("learner", [None, 3, "ucb1", object(), FairUCB], ids=named)
def test_what_cannot_choose_and_update_is_no_learner(learner):
    with pytest.raises(ArgumentError, match=r"learner: expected (an object with choose\(\)|a learner, not its class)"):
        FairLearn(learner, [0.2, 0.2])


@pytest.mark.parametrize("proposal", [2, -1, 1.0, None, True, "a"], ids=named)
def test_a_foreign_learner_that_names_no_arm_is_refused_and_the_round_is_not_counted(proposal):
    policy = FairLearn(Stubborn(proposal), {"a": 0.2, "b": 0.2})
    with pytest.raises(ArgumentError, match=r"learner.choose\(\): expected an arm's index below 2"):
        policy.ask()
    assert policy.round == 0
    assert policy.pulls == {"a": 0, "b": 0}
    assert policy.open_tickets == []


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ([0.5, 0.5000001], r"sum to 1\.0000001, more than 1 by 0\.0000001; .* scale them by 0\.9999999 or lower"),
        ([0.5, 0.5 + 1e-9], r"more than 1 by 0\.000000001; .* scale them by 0\.999999999 or lower"),
        (["1/1000000007", "1/998244353", "1/1000000009"], "common denominator up to 1,152,921,504, got a finer one"),
    ],
)
def test_numbers_in_refusals_are_plain(shares, words):
    with pytest.raises(SharesError, match=words):
        Promise(shares)
