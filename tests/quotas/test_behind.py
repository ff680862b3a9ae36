"""What an arm may be behind is a number for each arm, exact and not only whole."""

import itertools
import math
import random
from fractions import Fraction as F

import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, SharesError
from evenhand.learners import UCB1, Thompson
from evenhand.quotas import BernoulliArms, DeadlineLearn

SHARES = {"a": F(1, 2), "b": F(1, 3), "c": F(1, 12)}


def can_be_kept(shares, behind):
    """Theorem: so many plays fall due by s, and never more than s may."""
    period = math.lcm(*(share.denominator for share in shares))
    longest = period * (2 + math.ceil(max(behind)) * len(shares))
    due = lambda s: sum(max(0, math.ceil(r * s - b)) for r, b in zip(shares, behind, strict=True))  # noqa: E731
    return all(due(s) <= s for s in range(1, longest))


def test_exactly_what_can_be_kept_is_taken_and_kept():
    rng, taken, refused = random.Random(4), 0, 0
    for behind in itertools.product([F(0), F(1, 4), F(1, 2), F(2, 3), F(5, 4)], repeat=3):
        limits = dict(zip(SHARES, behind, strict=True))
        if not can_be_kept(list(SHARES.values()), behind):
            refused += 1
            with pytest.raises(SharesError, match="some rule can keep"):
                DeadlineLearn(UCB1(), SHARES, behind=limits)
            continue
        taken += 1
        policy = DeadlineLearn(UCB1(), SHARES, behind=limits)
        for round in range(1, 61):
            decision = policy.ask()
            policy.tell(decision, float(rng.random() < 0.5))
            for arm, share in SHARES.items():
                assert share * round - policy.pulls[arm] <= limits[arm]
            assert policy.promise.kept(list(policy.pulls.values()), round)
    assert min(taken, refused) > 10


def test_a_tolerance_of_zero_is_one_less_a_part():
    world = BernoulliArms({"a": 0.1, "b": 0.9, "c": 0.5})
    plain = DeadlineLearn(Thompson(), SHARES, plays=1, caps={"a": 1}, seed=1)  # the form that goes down a ranking
    exact = DeadlineLearn(
        Thompson(), SHARES, behind={arm: 1 - F(1, r.denominator) for arm, r in SHARES.items()}, seed=1
    )
    history = eh.simulate({"plain": plain, "exact": exact}, world, rounds=300, seed=2, checkpoints=300)
    assert (history.pulls.sel(policy="plain") == history.pulls.sel(policy="exact")).all()
    assert int(history.violations.max()) == 0


def test_two_workers_that_share_a_tolerance_keep_it_together():
    """Each keeps half of what the promise leaves: merged in any order the whole is kept."""
    shares = dict.fromkeys(range(10), F(1, 20))
    workers = [DeadlineLearn(Thompson(), shares, behind=F(9, 20), seed=seed) for seed in (1, 2)]
    rng, pulls = random.Random(3), dict.fromkeys(shares, 0)
    for round in range(1, 401):
        pulls[rng.choice(workers).ask().arm] += 1
        assert all(n >= math.floor(F(round, 20)) for n in pulls.values())


def test_it_lives_in_a_file(tmp_path):
    policy = DeadlineLearn(UCB1(), SHARES, behind={"a": "3/4", "b": 1, "c": 1})
    policy.ask()
    eh.save(policy, tmp_path / "behind.evenhand")
    loaded = eh.load(tmp_path / "behind.evenhand")
    assert loaded.behind == policy.behind == {"a": F(3, 4), "b": 1, "c": 1}
    assert [loaded.choose() for _ in range(20)] == [policy.choose() for _ in range(20)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"behind": {"a": 1, "b": 1}}, "one for each"),
        ({"behind": [1, 1]}, "one for each"),
        ({"behind": {"a": -1, "b": 1, "c": 1}}, r"behind\['a'\]"),
        ({"behind": "x"}, r"behind\['a'\]"),
        ({"behind": float("nan")}, r"behind\['a'\]"),
        ({"behind": True}, r"behind\['a'\]"),
        ({"behind": 0}, "some rule can keep"),
        ({"behind": 1, "caps": 0.9}, "beside caps"),
        ({"behind": 1, "tolerance": 2}, "tolerance"),
    ],
)
def test_what_cannot_be_promised_is_refused_by_name(arguments, words):
    with pytest.raises((ArgumentError, SharesError), match=words):
        DeadlineLearn(UCB1(), SHARES, **arguments)
