"""What an arm may be behind is a number for each arm, exact and not only whole."""

import itertools
import math
import random
from fractions import Fraction as F

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import evenhand as eh
from evenhand.cli import app
from evenhand.errors import ArgumentError, SharesError
from evenhand.learners import UCB1, Thompson
from evenhand.quotas import BernoulliArms, DeadlineLearn, Promise, audit
from evenhand.studies import Study
from evenhand.studies.statistics.state import summarize
from tests.fuzzing import many
from tests.strategies import Stubborn

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


def test_state_show_and_audit_say_the_same(tmp_path):
    """Three behind is kept under behind=3, and broken under the tolerance of 0 that nobody promised."""
    shares, limits = {"a": F(1, 2), "b": F(1, 4)}, {"a": F(3), "b": F(5, 2)}
    policy = DeadlineLearn(Stubborn(1), shares, behind=limits)
    log = pd.DataFrame({"arm": [policy.ask().arm for _ in range(80)]})
    assert not audit(log, arm="arm", shares=shares).kept
    found = audit(log, arm="arm", shares=shares, behind=limits)
    assert found.kept
    assert found.worst_shortfall == 3.0
    tighter = audit(log, arm="arm", shares=shares, behind={"a": "29/10", "b": "5/2"})
    assert tighter.first_breach.arms == ("a",)
    assert tighter.first_breach.by == 1
    with Study.create(tmp_path / "s.evenhand", DeadlineLearn(UCB1(), shares, behind=limits), name="s") as study:
        for _ in range(80):
            study.tell(study.ask(), 0.0)
        promise = summarize(study)["promise"]
        assert (promise["kept"], promise["tolerance"], promise["broken_from"]) == (True, None, None)
        assert promise["behind"] == [{"label": "a", "behind": 3.0}, {"label": "b", "behind": 2.5}]
        assert audit(study.frame(), arm="arm", shares=shares, behind=limits).kept
        study.frame()[["arm"]].to_csv(tmp_path / "log.csv", index=False)
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "s.evenhand")])
    assert "At most behind, in plays: a 3, b 2.5." in shown.output
    told = ["audit", str(tmp_path / "log.csv"), "--shares", "a=1/2,b=1/4", "--behind", "a=3,b=5/2"]
    assert CliRunner().invoke(app, told).exit_code == 0


@settings(max_examples=many(60), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_an_audit_of_exact_limits_is_a_count_in_fractions(seed):
    rng = random.Random(seed)
    shares = {"a": F(rng.randint(0, 5), 11), "b": F(rng.randint(0, 5), 12), "c": F(0)}
    limits = {arm: F(rng.randint(0, 30), rng.randint(1, 9)) for arm in shares}
    log = [rng.choice("abc") for _ in range(60)]
    found = audit(pd.DataFrame({"arm": log}), arm="arm", shares=shares, behind=limits)
    for arm, times in zip(found.arms["arm"], found.arms["rounds_in_violation"], strict=True):
        late = [shares[arm] * t - log[:t].count(arm) > limits[arm] for t in range(1, 61)]
        assert times == sum(late)
    promise = Promise(shares, behind=limits)
    for t in range(60):
        assert promise.owed(t) == [max(0, math.ceil(shares[arm] * t - limits[arm])) for arm in shares]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"behind": {"a": 1}}, "one for each of the arms"),
        ({"behind": 1, "tolerance": 2}, "got 'a tolerance'"),
        ({"behind": 1, "shares": None, "windows": {"a": 4}}, "got 'no shares'"),
        ({"behind": 1, "shares": {1: {"a": 0.5, "b": 0.1}}}, "shares that change"),
        ({"behind": 1, "shares": {("a", "b"): 0.5}}, "None beside caps and shares of sets"),
    ],
)
def test_limits_that_cannot_be_audited_are_refused_by_name(arguments, words):
    with pytest.raises(SharesError, match=words):
        audit(pd.DataFrame({"arm": list("abab")}), arm="arm", **({"shares": {"a": 0.5, "b": 0.1}} | arguments))


def test_a_card_says_the_limits_in_place_of_the_tolerance():
    policy = DeadlineLearn(UCB1(), {"a": F(1, 2), "b": F(1, 5)}, behind={"a": 3, "b": F(1, 2)})
    assert policy.card().facts["tolerance"] == "exact, at most behind: a 3, b 0.5"
    study = Study.create(":memory:", policy, name="ads")
    study.ask()
    assert study.card().facts["tolerance"] == policy.card().facts["tolerance"]
    assert DeadlineLearn(UCB1(), {"a": F(1, 2), "b": F(1, 5)}, 2.0).card().facts["tolerance"] == 2.0
