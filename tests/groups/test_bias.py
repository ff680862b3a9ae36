"""The learned bias lies in its interval as often as it says, measured over runs."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

import evenhand as eh
from evenhand.groups import BiasedLinearArms, GroupFairTopInterval
from evenhand.plots.style import figure

pytestmark = pytest.mark.slow


def played(world, policy, seed, rounds=250):
    """Play and return the rows that each arm was shown in the rounds it was pulled, and what it paid."""
    world.reset(seed)
    rows = [([], []) for _ in world.arms]
    for _ in range(rounds):
        (contexts,) = world.observe()
        decision = policy.ask(contexts)
        (reward,) = world.respond(decision)
        policy.tell(decision, reward)
        shown, paid = rows[decision.index]
        shown.append(contexts[decision.index])
        paid.append(reward)
    return [(np.array(shown).reshape(-1, world.dimension), np.array(paid)) for shown, paid in rows]


def least_squares(rows, arms):
    shown, paid = (np.concatenate([rows[arm][part] for arm in arms]) for part in (0, 1))
    return np.linalg.lstsq(shown, paid, rcond=None)[0]


def slow_interval(rows, group, reference, groups, balance, level=0.95):
    """Return the difference and half its width, by regressions that are fitted anew without each arm."""

    def difference(arms):
        ends = [[arm for arm in arms if arm in side] for side in (group, reference)]
        if balance == "pulls":
            first, second = (least_squares(rows, side) for side in ends)
        else:
            first, second = (np.mean([least_squares(rows, [arm]) for arm in side], axis=0) for side in ends)
        return first - second

    every, parts = sorted({*group, *reference}), []
    for members in groups:
        if {*members} & {*every}:
            left = np.array([difference([arm for arm in every if arm != out]) for out in members])
            parts.append(((len(members) - 1) * left.var(axis=0), len(members) - 1))
    total, freedom = sum(part for part, _ in parts), min(free for _, free in parts)
    return difference(every), student.ppf((1 + level) / 2, freedom) * np.sqrt(total)


@pytest.mark.parametrize("balance", ["pulls", "arms"])
def test_the_width_is_that_of_regressions_without_each_arm(balance):
    world = BiasedLinearArms(groups=[*"xxyyyzz"], bias={"y": 3.0, "z": -5.0}, dimension=2)
    policy = GroupFairTopInterval(world.groups, seed=3)
    rows, groups = played(world, policy, 1), [[0, 1], [2, 3, 4], [5, 6]]
    for reference, rest in (("x", groups[0]), (None, [*range(7)])):
        table = policy.bias(reference, balance=balance)
        for name, members in zip("xyz", groups, strict=True):
            if name == reference:
                continue
            gap, half = slow_interval(rows, members, rest, groups, balance)
            own = table[table["group"] == name]
            np.testing.assert_allclose(own["bias"], gap, rtol=1e-6)
            np.testing.assert_allclose(own["high"] - own["bias"], half, rtol=1e-6)
    if balance == "arms":
        own = [np.array([least_squares(rows, [arm])[0] for arm in members]) for members in groups]
        half = student.ppf(0.975, 1) * np.sqrt(own[0].var(ddof=1) / 2 + own[1].var(ddof=1) / 3)
        first = policy.bias("x", balance=balance).iloc[0]
        np.testing.assert_allclose(first.high - first.bias, half, rtol=1e-6)


def test_exact_bias_without_noise_and_equal_arms():
    world = BiasedLinearArms(
        groups=["x", "y", "z", "x"], bias={"y": 3.0, "z": -5.0}, dimension=2, spread=0.0, noise=0.0, bias_spread=0.0
    )
    policy = GroupFairTopInterval(world.groups, seed=3)
    played(world, policy, 1, 60)
    for balance in ("pulls", "arms"):
        table = policy.bias("x", balance=balance, features=["one", "two"])
        assert table["group"].tolist() == ["y", "y", "z", "z"]
        assert table["feature"].tolist() == ["one", "two"] * 2
        np.testing.assert_allclose(table["bias"], [-3, -3, 5, 5], atol=1e-9)
        assert set(policy.bias(balance=balance)["reference"]) == {"everyone"}


def test_a_group_of_one_arm_says_nothing_of_how_much_arms_differ():
    world = BiasedLinearArms(arms=4, sensitive=1)
    policy = GroupFairTopInterval(world.groups, "sensitive", horizon=200, seed=1)
    played(world, policy, 1, 200)
    for balance in ("pulls", "arms"):
        found = policy.bias(balance=balance)
        assert np.isneginf(found["low"]).all()
        assert np.isposinf(found["high"]).all()


def told(policy, rows=12):
    random = np.random.default_rng(1)
    for _ in range(rows):
        shown = pd.DataFrame(random.uniform(0, 1, (len(policy.arms), 2)), columns=["age", "debt"])
        policy.tell(policy.ask(shown), random.random())
    return policy


def test_two_groups_are_compared_in_one_direction():
    """The smaller with the other; of two of one size the first."""
    for groups, compared in (("xy", ["x", "y"]), ("xxy", ["y", "x"]), ("xyy", ["x", "y"])):
        found = told(GroupFairTopInterval([*groups], seed=1)).bias()
        assert found[["group", "reference"]].drop_duplicates().to_numpy().tolist() == [compared]


@pytest.mark.parametrize("quota", [False, True], ids=["alone", "under a quota"])
def test_features_keep_the_names_of_the_contexts_or_of_the_encoder(quota, tmp_path):
    alone = GroupFairTopInterval(["x", "y"], intercept=True, seed=1)
    encoded = GroupFairTopInterval(["x", "y"], seed=1).encode_with(eh.Encoder({"job": ["none", "some"], "age": None}))
    made, other = (eh.quotas.DeadlineLearn(one, [0.1, 0.1], seed=1) if quota else one for one in (alone, encoded))
    eh.save(told(made), tmp_path / "policy")
    for policy in (made, eh.load(tmp_path / "policy"), copy.deepcopy(made)):
        found = getattr(policy, "learner", policy).bias()
        assert found["feature"].tolist() == ["age", "debt", "intercept"]
    assert getattr(made, "learner", made).bias(features=["a", "b"])["feature"].tolist() == ["a", "b", "intercept"]
    for age in range(12):
        other.tell(other.ask([{"job": "some", "age": age}, {"job": "none", "age": 2 * age}]), 1.0)
    assert getattr(other, "learner", other).bias()["feature"].tolist() == ["job=none", "job=some", "age"]


def test_a_policy_that_a_study_copied_says_so():
    policy = GroupFairTopInterval(["x", "y"], seed=1)
    study = eh.Study.create(":memory:", policy)
    decision = study.ask([[1.0], [2.0]])
    with pytest.raises(eh.errors.UnknownTicketError, match=r"if a study decides, tell the study: it works on a copy"):
        policy.tell(decision, 1.0)
    study.tell(decision, 1.0)
    with pytest.raises(eh.errors.ArgumentError, match=r"if a study decides, read study\.policy: it works"):
        policy.bias()
    assert len(study.policy.bias()) == 1


@pytest.mark.parametrize("balance", ["pulls", "arms"])
def test_a_table_and_its_picture_say_the_level_and_what_the_intervals_are_of(balance):
    found = told(GroupFairTopInterval(["x", "x", "y", "y"], seed=1)).bias(balance=balance, level=0.9)
    said = "of the bias, if the groups' arms are worth the same on average"
    assert found.attrs == {"level": 0.9, "intervals": said}
    for table, words in (
        (found, f"90 % intervals {said}"),
        (pd.DataFrame(found.to_dict()), "intervals of a level that"),
    ):
        axes = eh.plots.plot_bias(table, ax=figure()[1])
        assert f"reward per unit of the feature; lines: {words}" in " ".join(axes.get_xlabel().split())


def test_undetermined_features_have_no_interval():
    policy = GroupFairTopInterval(["s", "s", "r", "r"], "s", seed=1)
    for shift in (0.0, 1.0, 2.0):
        for arm in range(4):
            policy.update([[1.0, 0.0, 2.0 + arm + shift]] * 4, arm, 1.0 + shift * arm)
    table = policy.bias()
    assert np.isinf(table["low"]).tolist() == [False, True, False]
    assert (table["low"][[0, 2]] <= table["bias"][[0, 2]]).all()


@pytest.mark.parametrize("seed", range(2))
def test_a_group_that_is_not_known_yet_has_an_interval_without_ends(seed):
    policy = GroupFairTopInterval({"a": "men", "b": "women"}, seed=seed)
    for reward in (1.0, 1.0):
        policy.tell(policy.ask([[1.0, 0.0], [0.0, 1.0]]), reward)
    found = policy.bias()
    assert not found[["low", "high"]].isna().any(axis=None)
    assert np.isinf(found[["low", "high"]]).any(axis=None)
