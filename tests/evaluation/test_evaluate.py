"""The value of a policy from the log of another: the estimators' formulas, intervals, replays, refusals."""

import importlib
import itertools
import math
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import evenhand as eh
from evenhand.errors import ArgumentError, ContextError, ModelError, TableError, UnknownArmError
from evenhand.learners import UCB1, EpsilonGreedy, Thompson
from evenhand.quotas import LFG, BernoulliArms, DeadlineLearn, FairLearn, HorizonFairUCB
from tests.naming import spread

MEANS = {"a": 0.2, "b": 0.5, "c": 0.7}
CHANCES = {"a": 0.5, "b": 0.3, "c": 0.2}
POLICY = {"a": 0.1, "b": 0.2, "c": 0.7}
VALUE = sum(MEANS[arm] * POLICY[arm] for arm in MEANS)
COLUMNS = {"arm": "arm", "reward": "reward", "propensity": "p"}


def drawn(rows, seed=0, means=MEANS, chances=CHANCES):
    random = np.random.default_rng(seed)
    arms = random.choice(list(chances), size=rows, p=list(chances.values()))
    rewards = (random.random(rows) < [means[arm] for arm in arms]).astype(float)
    return pd.DataFrame({"arm": arms, "reward": rewards, "p": [chances[arm] for arm in arms]})


def in_order(log):
    """Return a log whose arms are categories, so that arrays may be over them."""
    return log.assign(arm=pd.Categorical(log["arm"], sorted(set(log["arm"]))))


def test_policies_may_be_given_as_a_list():
    log, other = drawn(300), {"a": 1.0, "b": 0.0, "c": 0.0}
    found = eh.evaluate(log, [POLICY, other], **COLUMNS)
    assert list(found.evaluations) == ["distribution 1", "distribution 2"]
    assert found["distribution 2"].value == eh.evaluate(log, {"x": POLICY, "y": other}, **COLUMNS)["y"].value
    mixed = [lambda rows: pd.DataFrame([POLICY] * len(rows)), eh.evaluation.Refitted(lambda rows: POLICY), POLICY]
    mixed = eh.evaluate(log, mixed, **COLUMNS)
    assert list(mixed.evaluations) == ["function", "Refitted", "distribution"]
    assert eh.evaluate(log, [POLICY], **COLUMNS).value == eh.evaluate(log, POLICY, **COLUMNS).value
    with pytest.raises(ArgumentError, match="policy: expected"):
        eh.evaluate(log, [], **COLUMNS)


def test_a_policy_may_be_given_in_many_ways():
    log = in_order(drawn(300))
    matrix = np.tile(list(POLICY.values()), (300, 1))
    value = eh.evaluate(log, POLICY, **COLUMNS).value
    frame = pd.DataFrame(matrix[:, ::-1], columns=["c", "b", "a"])
    for same in (pd.Series(POLICY), list(POLICY.values()), matrix, lambda rows: matrix, frame):
        assert eh.evaluate(log, same, **COLUMNS).value == pytest.approx(value, abs=1e-12)


def test_values_are_near_the_truth_and_inside_their_intervals():
    found = eh.evaluate(drawn(4000), POLICY, **COLUMNS)
    assert found.value == pytest.approx(VALUE, abs=0.08)  # five standard errors
    assert found.low < VALUE < found.high
    assert found.high - found.low < 0.25
    assert found.curve["round"].iloc[-1] == 4000
    still = eh.evaluate(drawn(4000), POLICY, **COLUMNS, stationary=True)
    assert still.value == found.value
    assert (still.curve["low"] == found.curve["low"].cummax()).all()
    assert (still.curve["high"] == found.curve["high"].cummin()).all()


def test_a_weight_that_is_known_makes_the_interval_narrower():
    means = {"a": 0.02, "b": 0.05, "c": 0.07}
    log = drawn(2000, means=means)
    log["p"] = log["p"] * np.where(np.arange(2000) % 2, 1.0, 1.0 - 1e-6)  # as if a learner had moved them
    loose = eh.evaluate(log, POLICY, **COLUMNS)
    known = eh.evaluate(log, POLICY, **COLUMNS, largest_weight=3.6)
    assert known.high - known.low < 0.9 * (loose.high - loose.low)
    assert any("No largest weight" in note for note in loose.notes)
    assert not any("No largest weight" in note for note in known.notes)


@pytest.mark.parametrize("model", [LinearRegression(), LogisticRegression()], ids=["regression", "classifier"])
def test_a_model_of_scikit_learn_expects_the_rewards(model):
    random = np.random.default_rng(4)
    log = drawn(1500, 5)
    log["x"] = random.random(1500)
    log["reward"] = (random.random(1500) < 0.2 + 0.6 * log["x"] * (log["arm"] == "c")) * 1.0
    found = eh.evaluate(log, POLICY, **COLUMNS, contexts=["x"], model=model)
    assert found.low < 0.2 + 0.3 * 0.7 < found.high
    assert not hasattr(model, "coef_")  # the user's model stays as it was


def test_a_model_that_fails_is_named():
    class Broken:
        def fit(self, features, rewards):
            raise RuntimeError("no memory")

    with pytest.raises(ModelError, match="model: Broken failed: no memory"):
        eh.evaluate(drawn(100), POLICY, **COLUMNS, model=Broken())


# ------------------------------------------------------------------ one entry for each row, or one for all


@pytest.mark.parametrize(("interval", "said"), [("once", True), ("anytime", False), ("normal", False)])
def test_one_look_without_a_known_weight_says_that_it_narrows_nothing(interval, said):
    random = np.random.default_rng(1)
    chances = random.choice([0.3, 0.7], size=400)
    arms = (random.random(400) < chances) * 1
    log = pd.DataFrame({"arm": arms, "reward": random.random(400) < 0.5, "p": np.where(arms, chances, 1 - chances)})
    notes = eh.evaluate(log, {0: 0.4, 1: 0.6}, **COLUMNS, interval=interval).notes
    assert any("so one look narrows nothing" in note for note in notes) == said
    assert any("the interval is that of ips" in note for note in notes) == (interval != "normal")


@pytest.mark.parametrize("rows", [200, 201])
@pytest.mark.parametrize("estimator", ["dr", "ips", "snips"])
def test_the_normal_interval_is_the_same_however_the_policy_and_the_model_are_given(rows, estimator):
    """Rows between two looks are few at first, often one alone."""
    log = in_order(drawn(rows, seed=1)).assign(place=np.arange(rows) % 2)
    random = np.random.default_rng(rows)
    matrix, model = random.dirichlet(np.ones(3), size=rows), random.random((rows, 3))
    codes = log["arm"].cat.codes.to_numpy()
    at = np.arange(rows)
    weights = matrix[at, codes] / log["p"].to_numpy()
    step = (matrix * model).sum(axis=1) + weights * (log["reward"].to_numpy() - model[at, codes])
    terms = {"dr": (step, np.ones(rows)), "ips": (weights * log["reward"], np.ones(rows))}
    x, y = terms.get(estimator, (weights * log["reward"], weights))
    value = x.sum() / y.sum()
    error = math.sqrt(((x - value * y) ** 2).sum()) / y.sum()
    settings = {"estimator": estimator, "interval": "normal"} | ({"model": model} if estimator == "dr" else {})
    for given in (matrix, lambda rows: matrix, {"one": matrix, "same": matrix}):
        found = eh.evaluate(log, given, **COLUMNS, **settings)
        found = found["one"] if isinstance(given, dict) else found
        assert found.value == pytest.approx(value, abs=1e-12)
        assert (found.high - found.low) / 2 == pytest.approx(1.959963985 * error, rel=1e-8)
    by_place = {0: {"a": 0.1, "b": 0.2, "c": 0.7}, 1: {"a": 0.6, "b": 0.3, "c": 0.1}}
    spread = np.array([list(by_place[place].values()) for place in log["place"]])
    placed = eh.evaluate(log, by_place, **COLUMNS, position="place", **settings)
    assert placed.value == pytest.approx(eh.evaluate(log, spread, **COLUMNS, **settings).value, abs=1e-12)


def test_rows_are_not_taken_for_positions_where_both_are_as_many():
    """Two rows and two positions: each row has its own distribution, and the largest weight is that of any row."""
    log = pd.DataFrame({"arm": ["a", "b"], "reward": [1, 1], "p": [0.5, 0.5], "place": [1, 2]})
    found = eh.evaluate(in_order(log), np.array([[0.0, 1.0], [0.0, 1.0]]), **COLUMNS, position="place", estimator="ips")
    assert found.value == 1.0
    assert 0 <= found.low <= found.high <= 1


@pytest.mark.parametrize("write", [int, str, float])
def test_labels_of_positions_are_read_as_all_labels_are(write):
    random = np.random.default_rng(1)
    log = pd.DataFrame({"place": [1, 2] * 300, "arm": random.choice(["a", "b"], 600), "p": 0.5})
    log["reward"] = ((log["arm"] == "a") == (log["place"] == 1)) * 1
    policy = {write(1): {"a": 1, "b": 0}, write(2): {"a": 0, "b": 1}}
    found = eh.evaluate(log, policy, **COLUMNS, position="place", estimator="ips")
    assert found.value == pytest.approx(2 * log["reward"].mean())


@pytest.mark.parametrize("effects", [False, True])
def test_a_propensity_that_another_column_contradicts_is_refused(effects):
    log = drawn(400).assign(**{f"p_{arm}": chance * (1 + 1e-7) for arm, chance in CHANCES.items()})

    def read(log):
        if effects:
            return eh.effects(log, control="a", propensity="p")
        return eh.evaluate(log, POLICY, **COLUMNS)

    read(log)
    log.loc[[7, 9], "p"] *= 1.01
    arm = log["arm"][7]
    words = f"column 'p', row 8: expected {CHANCES[arm]:.6g}, as column 'p_{arm}' has it for the arm of the row, got "
    with pytest.raises(TableError, match=words + f"{CHANCES[arm] * 1.01:.5g}"):
        read(log)


# ------------------------------------------------------------------ rewards that change


def changing(rows, before, after, seed=0, split=None):
    random = np.random.default_rng(seed)
    arms = random.choice(["a", "b"], size=rows)
    means = np.where(np.arange(rows) < (rows // 2 if split is None else split), before, after)
    return pd.DataFrame({"arm": arms, "reward": (random.random(rows) < means) * 1.0, "p": 0.5})


@pytest.mark.parametrize(
    ("split", "estimator"), spread(itertools.product([500, 2000, 3500], ["dr", "ips", "snips"]), 5)
)
def test_a_mean_that_changes_is_found_and_no_interval_is_empty(estimator, split):
    """The mean changes once from 0.7 to 0.3."""
    log = changing(4000, 0.7, 0.3, split=split).assign(q=0.5)
    every = COLUMNS | {"propensity": {"a": "p", "b": "q"}}
    found = eh.evaluate(log, {"a": 0.8, "b": 0.2}, **every, estimator=estimator)
    curve = found.curve
    assert (curve["low"] <= curve["high"]).all()
    assert not found.refuted
    assert found.change.evidence > 1000
    assert abs(found.change.row - split) < 600
    assert found.change.low < 0.3 < found.change.high < 0.5
    assert any("mean reward changed over the log" in note for note in found.notes)


def test_a_gate_looks_at_the_rows_since_a_change_too():
    log = changing(6000, 0.7, 0.3, split=4000)
    found = eh.evaluate(log, {"a": 0.5, "b": 0.5}, **COLUMNS)
    assert found.low > 0.5
    assert found.change.high < 0.4
    assert not found.at_least(0.5)
    assert found.at_least(found.change.low)
    better = eh.evaluate(changing(6000, 0.3, 0.7), {"a": 0.5, "b": 0.5}, **COLUMNS)
    assert better.at_least(0.45)
    assert not better.at_least(0.55)
    still = eh.evaluate(changing(6000, 0.5, 0.5), {"a": 0.5, "b": 0.5}, **COLUMNS)
    assert still.change is None
    assert still.at_least(still.low)
    assert not still.at_least(still.low + 1e-9)


def test_a_mean_that_is_said_to_stay_and_changes_is_reported():
    log = changing(6000, 0.7, 0.3)
    plain = eh.evaluate(log, {"a": 0.8, "b": 0.2}, **COLUMNS)
    found = eh.evaluate(log, {"a": 0.8, "b": 0.2}, **COLUMNS, stationary=True)
    assert (found.low, found.high) == (plain.low, plain.high)
    assert any("stationary=True is refuted" in note and "over the 6000 rows used" in note for note in found.notes)
    early = np.arange(6000) < 2000
    part = log.assign(arm=log["arm"].where(~early, "a"), p_a=np.where(early, 1.0, 0.5), p_b=np.where(early, 0.0, 0.5))
    given = COLUMNS | {"propensity": {"a": "p_a", "b": "p_b"}}
    notes = eh.evaluate(part, {"a": 0.8, "b": 0.2}, **given, stationary=True).notes
    assert any("stationary=True is refuted" in note and "over the 4000 rows used" in note for note in notes)


def test_what_cannot_be_read_is_refused_by_its_name():
    log = drawn(200, 1).assign(seg=["x", "y"] * 100)
    words = r"the function failed: .*; it is given an array of shape \(200, 2\) with the columns \['seg=x', 'seg=y'\]"
    with pytest.raises(ModelError, match=words):
        eh.evaluate(log, lambda shown: shown["seg"], **COLUMNS, contexts=["seg"])
    with pytest.raises(ArgumentError, match="value: expected a finite number, got 'x'"):
        eh.evaluate(log, POLICY, **COLUMNS).at_least("x")


@pytest.mark.parametrize("estimator", ["dr", "ips", "snips"])
@pytest.mark.parametrize("seed", range(2))
def test_bounds_that_contradict_each_other_are_said_to_refute_the_chances(estimator, seed):
    """A learner's propensities, half of the true ones where the arm paid: no interval is ever upside down."""
    log = drawn(60, seed)
    log["p"] = log["p"] * np.where(log["reward"] > 0, 0.5, 1.0) * np.where(np.arange(60) % 2, 1.0, 1 - 1e-6)
    found = eh.evaluate(log, {"new": POLICY, "old": CHANCES}, **COLUMNS, estimator=estimator)
    for one in found.evaluations.values():
        assert (one.curve["low"] <= one.curve["high"]).all()
        assert one.refuted == any(note.startswith("Propensities refuted") for note in one.notes)
        assert not (one.refuted and one.at_least(0.0))
    assert (found.differences["low"] <= found.differences["high"]).all()


# ------------------------------------------------------------------ chances of 0


def forced_log(rows=3000, seed=0):
    """Arm c, the best, has no chance where the row forces another arm: in a third of the rows."""
    random = np.random.default_rng(seed)
    forced = random.random(rows) < 1 / 3
    chances = np.where(forced[:, None], [0.5, 0.5, 0.0], [0.2, 0.2, 0.6])
    codes = (random.random(rows)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
    rewards = (random.random(rows) < np.array(list(MEANS.values()))[codes]) * 1.0
    log = pd.DataFrame(chances, columns=["pa", "pb", "pc"])
    return log.assign(arm=np.array(list("abc"))[codes], reward=rewards, p=chances[np.arange(rows), codes])


EVERY = {"arm": "arm", "reward": "reward", "propensity": {"a": "pa", "b": "pb", "c": "pc"}}


@pytest.mark.parametrize("settings", [{}, {"interval": "normal"}, {"largest_weight": 5.0}])
@pytest.mark.parametrize("seed", range(2))
def test_a_value_that_is_not_identified_is_bounded_not_guessed(settings, seed):
    log = forced_log(seed=seed)
    found = eh.evaluate(log, {"a": 0, "b": 0, "c": 1}, **EVERY, **settings)
    assert math.isnan(found.value)
    had = (log["pc"] > 0).mean()
    assert found.low <= 0.7 * had
    assert found.high >= 1 - 0.3 * had
    assert found.high - found.low < 1 - had + 0.15
    assert found.overlap.to_dict() == pytest.approx({"a": 1, "b": 1, "c": had})
    assert f"arm 'c' had a chance in {100 * had:.3g} % of the rows" in " ".join(found.notes)
    assert "not identified" in str(found)


def test_the_part_that_is_not_identified_is_that_of_the_policy():
    found = eh.evaluate(forced_log(), {"a": 0.5, "b": 0.4, "c": 0.1}, **EVERY)
    assert found.low <= 0.37 <= found.high
    assert "3.3 % of the policy's rounds" in " ".join(found.notes)
    whole = eh.evaluate(forced_log(), {"a": 0.5, "b": 0.5, "c": 0}, **EVERY)
    assert whole.value == pytest.approx(0.35, abs=0.06)  # five standard errors


def test_a_value_that_stays_the_same_is_read_from_the_rows_that_try_it():
    log = forced_log()
    found = eh.evaluate(log, {"a": 0, "b": 0, "c": 1}, **EVERY, stationary=True)
    used = log[log["pc"] > 0].reset_index(drop=True)
    assert found.value == eh.evaluate(used, {"a": 0, "b": 0, "c": 1}, **EVERY, stationary=True).value
    assert found.low < 0.7 < found.high < 0.78
    normal = eh.evaluate(log, {"a": 0, "b": 0, "c": 1}, **EVERY, stationary=True, interval="normal")
    assert found.low < normal.low < normal.value < normal.high < found.high
    assert found.rounds == len(used)
    assert f"Only the {len(used)} of 3000 rows are used" in " ".join(found.notes)
    assert found.overlap["c"] == pytest.approx(len(used) / 3000)


def test_differences_are_bounded_where_a_value_is_not_identified():
    both = {"c": {"a": 0, "b": 0, "c": 1}, "ab": {"a": 0.5, "b": 0.5, "c": 0}}
    for interval in ("anytime", "once", "normal"):
        row = eh.evaluate(forced_log(), both, **EVERY, interval=interval).differences.iloc[0]
        assert row["low"] < 0.35 - 0.7 < row["high"]
        assert row["high"] - row["low"] > 0.3


@pytest.mark.parametrize("seed", range(2))
def test_one_column_of_propensities_is_not_believed_to_cover_every_row(seed):
    """Nothing says that arm c had no chance in a third of the rows, but its mean weight does."""
    log, best = forced_log(seed=seed), {"a": 0, "b": 0, "c": 1}
    for settings in ({}, {"interval": "normal"}):
        found = eh.evaluate(log, best, **COLUMNS, **settings)
        assert found.low <= 0.7 * 0.67
        assert found.high >= 0.78
        assert any("gives what the policy does no chance in some rows" in note for note in found.notes)
    words = "largest_weight: expected None, as the log does not try everything that the policy"
    with pytest.raises(ArgumentError, match=words):
        eh.evaluate(log, best, **COLUMNS, largest_weight=5.0)


def test_an_arm_that_a_position_never_shows_is_not_identified_there():
    log = drawn(3000, chances={"a": 0.5, "b": 0.3, "c": 0.2}).assign(place=np.arange(3000) % 2)
    elsewhere = (log["place"] == 1) & (log["arm"] == "c")
    log.loc[elsewhere, "arm"] = "a"
    log["p"] = np.where(log["place"] == 0, log["arm"].map(CHANCES), np.where(log["arm"] == "a", 0.7, 0.3))
    found = eh.evaluate(log, {"a": 0, "b": 0, "c": 1}, **COLUMNS, position="place")
    assert math.isnan(found.value)
    assert "arm 'c' had a chance in 50 % of the rows" in " ".join(found.notes)
    assert found.high - found.low > 0.5


# ------------------------------------------------------------------ replays


def live(policy, rounds, seed):
    world = BernoulliArms(MEANS)
    history = eh.simulate(policy, world, rounds=rounds, replications=400, seed=seed, checkpoints=[rounds], jobs=1)
    return float(max(MEANS.values()) - history.regret.isel(round=-1).mean() / rounds)


@pytest.mark.parametrize("shown", [False, True], ids=["queues", "rejection"])
def test_a_replay_is_worth_what_the_policy_earns_live(shown):
    """Means over 60 logs: four standard errors are 0.04."""
    values = []
    for seed in range(60):
        log = drawn(300 if shown else 160, seed + 10, chances={"a": 0.4, "b": 0.3, "c": 0.3})
        log["x"] = 0.0
        settings = {"contexts": ["x"], "rounds": 30} if shown else {"rounds": 36}
        policy = Thompson(seed=seed) if shown else UCB1()
        values.append(eh.evaluate(log, policy, **COLUMNS, **settings, replays=1).value)
    expected = live(Thompson(), 30, 1) if shown else live(UCB1(), 36, 1)
    assert np.mean(values) == pytest.approx(expected, abs=0.04)


def test_the_promise_is_audited_on_the_replay():
    log = drawn(600)
    policy = DeadlineLearn(Thompson(), {"a": 0.3, "b": 0.1, "c": 0.0}, seed=1)
    found = eh.evaluate(log, policy, **COLUMNS, replays=3)
    assert found.estimator == "replay"
    assert found.audit.kept
    assert found.audit.rounds >= found.rounds
    assert found.low <= found.value <= found.high
    assert policy.round == 0  # it was a copy that was played
    shares = {"a": 0.3, "b": 0.3, "c": 0.1}
    for later in (Thompson(), LFG(shares, eta=200.0), HorizonFairUCB(shares, horizon=100)):
        assert eh.evaluate(log, later, **COLUMNS, replays=1).audit is None
    again = eh.evaluate(log, policy, **COLUMNS, replays=3)
    assert again.value == found.value


def test_a_replay_lasts_as_long_as_all_do_and_its_interval_allows_for_the_choice():
    log = drawn(400, chances={"a": 0.2, "b": 0.3, "c": 0.5})
    policy, settings = EpsilonGreedy(seed=1), {**COLUMNS, "replays": 3}
    sure = int(log["arm"].value_counts().min())
    lengths = [sure << power for power in range(9) if sure << power <= 400]
    found = eh.evaluate(log, policy, **settings)
    assert found.rounds in lengths[1:]
    told = f"the most of {str(lengths)[1:-1]} that every replay reached; {sure} are sure, because arm"
    assert any(told in note for note in found.notes)
    same = eh.evaluate(log, policy, **settings, rounds=found.rounds, level=1 - 0.05 / len(lengths))
    assert (found.level, same.rounds, same.value) == (0.95, found.rounds, found.value)
    assert (found.low, found.high) == pytest.approx((same.low, same.high), abs=1e-9)
    one = eh.evaluate(log, policy, **COLUMNS, replays=1)  # its interval holds at every round at once
    alone = eh.evaluate(log, policy, **COLUMNS, replays=1, rounds=one.rounds)
    assert (one.low, one.high) == (alone.low, alone.high)
    fair = DeadlineLearn(UCB1(), {"a": 0.3, "b": 0.3, "c": 0})
    assert eh.evaluate(log, fair, **COLUMNS, replays=1).rounds > 1.5 * sure
    words = rf"rounds: expected a number that some replay reaches; the longest had \d+, got {2 * found.rounds}"
    with pytest.raises(TableError, match=words):
        eh.evaluate(log, policy, **settings, rounds=2 * found.rounds)
    longer = eh.evaluate(log, policy, **settings, rounds=240)
    assert any("Only 2 of 3 replays reached 240 rounds: " in note and "biased" in note for note in longer.notes)
    few = eh.evaluate(log, policy, **settings, rounds=sure)  # no number is named that a replay might not reach
    assert any("; leave rounds= out for the value over as many as every replay reaches." in note for note in few.notes)


def confounded(rows, seed):
    """Arm a is played where it pays, and so is b; under every policy a round is worth 0.5."""
    random = np.random.default_rng(seed)
    kind = random.random(rows) < 0.5
    is_a = random.random(rows) < np.where(kind, 0.8, 0.2)
    rewards = (random.random(rows) < np.where(kind == is_a, 0.8, 0.2)) * 1.0
    return pd.DataFrame({"arm": np.where(is_a, "a", "b"), "reward": rewards, "p": np.where(kind == is_a, 0.8, 0.2)})


@pytest.mark.parametrize("policy", [UCB1, Thompson], ids=["without chance", "drawn"])
def test_a_replay_takes_rows_by_their_propensities_where_no_contexts_are_named(policy):
    """Over 12 logs of about 140 rounds each, five standard errors are 0.06; queues alone gave 0.68."""
    settings = {"replays": 1, "rounds": 140}
    values = [eh.evaluate(confounded(1000, seed), policy(), **COLUMNS, **settings).value for seed in range(12)]
    assert np.mean(values) == pytest.approx(0.5, abs=0.06)


def test_a_log_of_a_learner_is_replayed_in_its_order():
    """A policy without chance then does the same in every replay; shuffled rewards would not."""
    policy, random, rows = Thompson(arms=list("abc"), seed=3), np.random.default_rng(3), []
    for _ in range(400):
        decision = policy.ask()
        reward = float(random.random() < 0.5)
        rows.append((decision.arm, reward))
        policy.tell(decision, reward)
    log = pd.DataFrame(rows, columns=["arm", "reward"])
    one, many = (eh.evaluate(log, UCB1(), arm="arm", reward="reward", replays=replays) for replays in (1, 5))
    assert one.value == many.value
    assert any("No propensities are given" in note for note in one.notes)
    shuffled = eh.evaluate(drawn(400), UCB1(), **COLUMNS, replays=5)
    assert shuffled.value != eh.evaluate(drawn(400), UCB1(), **COLUMNS, replays=1).value


def test_a_replay_without_propensities_needs_arms_that_do_not_depend_on_contexts():
    log = confounded(2000, 1).assign(x=lambda log: (log["p"] == 0.8) == (log["arm"] == "a"))
    with pytest.raises(TableError, match="column 'arm': expected arms drawn independently of the contexts"):
        eh.evaluate(log.drop(columns="p"), Thompson(), arm="arm", reward="reward", contexts=log[["x"]].to_numpy() * 1.0)


def test_a_replay_refuses_rows_in_which_an_arm_had_no_chance_or_leaves_them_out():
    log = forced_log()
    with pytest.raises(TableError, match=r"got \"none for arm 'c' in 3\d\.?\d* % of the rows\""):
        eh.evaluate(log, UCB1(), **EVERY)
    found = eh.evaluate(log, UCB1(), **EVERY, stationary=True, replays=2)
    assert found.rounds > 200
    assert any("rows are used in which every arm had a chance" in note for note in found.notes)


def test_a_replay_of_few_rounds_says_why_and_one_of_none_is_refused():
    log = drawn(400, chances={"a": 0.5, "b": 0.49, "c": 0.01})
    few = int((log["arm"] == "c").sum())
    found = eh.evaluate(log, UCB1(), **COLUMNS, replays=2)
    assert any(f"{few} are sure, because arm 'c' has {few} of 400 rows" in note for note in found.notes)
    log["p"] = np.where(log["arm"] == "c", 1e-4, log["p"] * np.where(np.arange(400) % 2, 1.0, 1 - 1e-6))
    with pytest.raises(TableError, match="log: expected rows by which a replay can last 2 rounds, got '0 rounds'; the"):
        eh.evaluate(log, UCB1(), **COLUMNS)


def test_every_replay_is_audited(monkeypatch):
    policy = DeadlineLearn(Thompson(), {"a": 0.3, "b": 0.1, "c": 0.0}, seed=1)
    replayed = importlib.import_module("evenhand.evaluation.replay_value")
    play = replayed.replay

    def broken_later(policy, logged, rounds, seed, number):
        found = play(policy, logged, rounds, seed, number)
        return found if number < 2 else found._replace(arms=["c"] * len(found.arms))

    assert eh.evaluate(drawn(600), policy, **COLUMNS, replays=3).audit.kept
    monkeypatch.setattr(replayed, "replay", broken_later)
    assert not eh.evaluate(drawn(600), policy, **COLUMNS, replays=3).audit.kept


# ------------------------------------------------------------------ propensities that cannot be true


def test_arms_that_were_not_drawn_yet_are_taken():
    many = np.random.default_rng(1).integers(500, size=300)
    log = pd.DataFrame({"arm": many, "reward": 1.0, "p": 1 / 500})
    policy = dict.fromkeys(many.tolist(), 1 / len(set(many.tolist())))
    assert eh.evaluate(log, policy, **COLUMNS).high == 1.0


@pytest.mark.parametrize("rows", [300, 10_000])
@pytest.mark.parametrize("interval", ["anytime", "once"])
def test_one_chance_that_outweighs_the_log_is_named(rows, interval):
    log = drawn(rows, 2)
    row = int(np.flatnonzero((log["arm"] == "c") & (log["reward"] == 1))[5])
    log.loc[row, "p"] = 1e-5
    found = eh.evaluate(log, POLICY, **COLUMNS, interval=interval)
    assert any(note.startswith(f"Row {row + 1} alone has a weight of ") for note in found.notes)
    assert 0 <= found.low <= found.high <= 1


def test_a_chance_that_rounding_puts_above_one_is_one():
    log = drawn(300).assign(q=0.0)
    log.loc[3, "p"] = 1 + 1e-12
    exact = log.copy()
    exact.loc[3, "p"] = 1.0
    assert eh.evaluate(log, POLICY, **COLUMNS).value == eh.evaluate(exact, POLICY, **COLUMNS).value
    chances = {"a": [1 + 1e-12, 0.5, 0.5] * 50, "b": [0.0, 0.5, 0.5] * 50}
    every = pd.DataFrame(chances).assign(arm=["a", "a", "b"] * 50, reward=1)
    found = eh.evaluate(every, {"a": 1.0, "b": 0.0}, arm="arm", reward="reward", propensity={"a": "a", "b": "b"})
    assert found.low <= 1.0
    log.loc[3, "p"] = 1 + 1e-6
    with pytest.raises(TableError, match=r"column 'p', row 4: expected a propensity above 0 and at most 1"):
        eh.evaluate(log, POLICY, **COLUMNS)


# ------------------------------------------------------------------ refusals


BEGUN = UCB1(arms=list("abc"))
BEGUN.ask()
NUMBER = r"policy\['a'\]: expected a probability in \[0, 1\], got "


def changed(**columns):
    log = drawn(200)
    for name, change in columns.items():
        values = log[name].tolist()
        values[4] = change
        log[name] = values
    return log


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (changed(p=0.0), r"column 'p', row 5: expected a propensity above 0 and at most 1, got 0.0"),
        (changed(p=None), "column 'p', row 5: the cell is empty"),
        (changed(reward=1.2), r"column 'reward', row 5: expected numbers in \[0, 1\], got 1.2"),
        (changed(reward=None), "column 'reward', row 5: the cell is empty; if silence means a reward, such as 0"),
        (drawn(200).head(1), "log: expected at least two rows, got 'one row'"),
        (drawn(200).assign(arm="a"), "column 'arm': expected at least two arms, got \"'a' in every row\""),
        (drawn(200).assign(p=1.0), "expected chances below 1, as of a rule that draws, got '1 in every row"),
        (drawn(600).assign(p=0.4), "column 'p': expected chances of the arms that sum to 1, got 'a sum of 1.2"),
        (drawn(200).drop(columns="p"), r"column: expected one of \['arm', 'reward'\], got 'p'"),
    ],
    ids=["zero", "missing", "reward", "no reward", "one row", "one arm", "certain", "sum", "column"],
)
def test_logs_that_say_nothing_are_refused(log, words):
    with pytest.raises(TableError, match=words):
        eh.evaluate(log, POLICY, **COLUMNS)


@pytest.mark.parametrize(
    ("policy", "error", "words"),
    [
        ({"a": 0.5, "b": 0.5}, UnknownArmError, "policy: expected every arm of the log, got \"none for 'c'\""),
        (POLICY | {"d": 0.1}, UnknownArmError, r"\['d'\]: expected 0 for an arm that the log never tried, got 0.1"),
        (dict.fromkeys("abc", 0.5), ArgumentError, "policy: expected probabilities that sum to 1, got 'a sum of 1.5'"),
        ({"a": "0.25", "b": "0.25", "c": "0.5"}, ArgumentError, rf"{NUMBER}'0.25'; write it as a number"),
        ([0.5, 0.5], ArgumentError, "for each of 3 arms, got 2; pass a dict .* or a data frame"),
        (np.ones((5, 3)) / 3, ArgumentError, r"policy: expected an array of shape \(200, 3\)"),
        (lambda: 1, ModelError, "policy: the function failed: .* takes 0 positional arguments but 1 was given"),
        (UCB1, ArgumentError, "policy: expected a distribution, a function or a policy, not its class"),
        (lambda log: np.ones((200, 3)), ArgumentError, r"policy\(...\), row 1: expected probabilities that sum to 1"),
        ({1: POLICY, 2: POLICY}, ArgumentError, "policy: expected one distribution, as the log has no positions"),
        (FairLearn(UCB1(), {"a": 0.1, "b": 0.1}), UnknownArmError, "knows every arm of the log, got \"none for 'c'\""),
        (BEGUN, ArgumentError, "policy: expected one that has not decided yet, got 'one at round 1'"),
        (UCB1(arms=list("abcd")), UnknownArmError, "policy: expected a policy with only arms of the log, got 'd'"),
        (DeadlineLearn(UCB1(), [0.5] * 3, plays=2, arms=list("abc")), ArgumentError, "plays one arm in a round"),
    ],
)
def test_policies_that_do_not_fit_the_log_are_refused(policy, error, words):
    with pytest.raises(error, match=words):
        eh.evaluate(drawn(200), policy, **COLUMNS)


def test_mixed_positions_are_refused():
    log = drawn(200).assign(place=np.arange(200) % 3 + 1)
    by_place = dict.fromkeys((1, 2), POLICY)
    with pytest.raises(ArgumentError, match=r"policy: expected a distribution for each of the positions \[1, 2, 3\]"):
        eh.evaluate(log, by_place, **COLUMNS, position="place")
    words = "position: expected None where a policy is replayed: a replay mixes the positions"
    with pytest.raises(ArgumentError, match=words):
        eh.evaluate(log, UCB1(), **COLUMNS, position="place")
    found = eh.evaluate(log, {**by_place, 3: POLICY}, **COLUMNS, position="place", estimator="ips")
    assert found.value == pytest.approx(eh.evaluate(log, POLICY, **COLUMNS, estimator="ips").value)


def test_a_log_out_of_order_is_refused():
    log = drawn(200).assign(when=np.arange(200))
    assert eh.evaluate(log, POLICY, **COLUMNS, order="when").rounds == 200
    again = eh.evaluate(log.assign(day=log["when"] // 10), POLICY, **COLUMNS, order=["day", "when"])
    assert again.notes == eh.evaluate(log, POLICY, **COLUMNS).notes
    for policy in (POLICY, UCB1()):
        tied = eh.evaluate(log.assign(when=log["when"] // 10), policy, **COLUMNS, order="when")
        assert any("200 of 200 rows have the same when as another" in note for note in tied.notes)
    with pytest.raises(TableError, match="turn the log around, as its newest row comes first"):
        eh.evaluate(log[::-1], POLICY, **COLUMNS, order="when")
    log.loc[[7, 8], "when"] = [8, 7]
    words = "column 'when', row 9: expected a value not below that of the row before, got 7"
    with pytest.raises(TableError, match=words):
        eh.evaluate(log, POLICY, **COLUMNS, order="when")


def test_contexts_of_another_width_are_refused():
    policy = eh.groups.TopInterval({"a": "1", "b": "1", "c": "2"})
    policy._begin(3)
    with pytest.raises(ContextError, match="contexts: expected 3 numbers per row, as policy has, got 2"):
        eh.evaluate(drawn(200), policy, **COLUMNS, contexts=np.zeros((200, 2)))


@pytest.mark.parametrize("named", [lambda log, names: names, lambda log, names: log[names]], ids=["columns", "a frame"])
def test_contexts_in_another_order_than_the_policy_has_learned_are_refused(named):
    log = drawn(200).assign(age=np.arange(200.0) / 200, pay=np.arange(200.0) % 7)
    policy = eh.groups.TopInterval(dict.fromkeys("abc", "all"))
    policy.learn(log, contexts=["age", "pay"])
    found = eh.evaluate(log, policy, **COLUMNS, contexts=named(log, ["age", "pay"]), seed=1)
    assert found.value == eh.evaluate(log, policy, **COLUMNS, contexts=log[["age", "pay"]].to_numpy(), seed=1).value
    with pytest.raises(ContextError, match=r"contexts: expected the columns \['age', 'pay'\], as policy has, got"):
        eh.evaluate(log, policy, **COLUMNS, contexts=named(log, ["pay", "age"]))


def test_logs_without_propensities_must_be_drawn_at_fixed_chances():
    log = drawn(4000).drop(columns="p")
    named = {"arm": "arm", "reward": "reward"}
    found = eh.evaluate(log, POLICY, **named)
    assert found.low < VALUE < found.high
    assert any("No propensities are given" in note for note in found.notes)
    with pytest.raises(TableError, match="column 'arm': expected arms drawn with the same chances from first to last"):
        eh.evaluate(log.sort_values("arm"), POLICY, **named)
    shown = log.assign(x=np.where(log["arm"] == "a", 1.0, 0.0) + np.random.default_rng(1).random(4000))
    with pytest.raises(TableError, match="column 'arm': expected arms drawn independently of the contexts"):
        eh.evaluate(shown, POLICY, **named, contexts=["x"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"estimator": "replay"}, "estimator: expected 'dr', 'ips', 'snips' or 'dm' for a distribution"),
        ({"level": 1.0}, "level: expected a number"),
        ({"anytime": 1}, "anytime: expected True or False"),
        ({"replays": 0}, "replays: expected a whole number >= 1, got 0"),
        ({"largest_weight": 0.5}, "largest_weight: expected a number"),
        ({"model": "forest"}, "model: expected a model with fit and predict"),
        ({"interval": "soon"}, "interval: expected one of 'anytime', 'once', 'normal'"),
        ({"largest_weight": 2.0}, "largest_weight: expected at least the weight of row .*, 3.5, got 2.0"),
        ({"contexts": np.zeros((200, 5, 2))}, r"contexts: expected names .* or \(200, 3, d\), got 'an array of shape"),
        ({"contexts": np.zeros((5, 2))}, r"contexts: expected names .*, got 'an array of shape \(5, 2\)'"),
        ({"model": {"a": 0.5}}, "model: expected an expected reward for every arm, got \"none for 'b'\""),
        ({"model": [[2.0, 0.0, 0.0]]}, r"model: expected expected rewards in \[0, 1\], got 2.0"),
        ({"propensity": {"a": "p", "b": "p"}}, "propensity: expected a column for every arm of the log"),
        ({"propensity": dict.fromkeys("abc", "p")}, "propensity, row 1: expected chances of all arms that sum to 1"),
        ({"propensity": dict.fromkeys("abcd", "p")}, "propensity: expected arms of the log"),
        ({"rounds": 50}, "rounds: expected None for a distribution, whose value is that of all rows"),
        ({"estimator": "ips", "model": {"a": 0, "b": 0, "c": 0}}, "model: expected None for ips"),
        ({"interval": "normal", "largest_weight": 4.0}, "largest_weight: expected None with interval='normal'"),
        ({"policy": UCB1(), "largest_weight": 4.0}, "largest_weight: expected None where a policy is replayed"),
        ({"policy": UCB1(), "estimator": "ips"}, "estimator: expected 'replay' for a policy that learns, got 'ips'"),
        ({"policy": [UCB1(), POLICY]}, "policy: expected only policies that learn, or only distributions"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_other_arguments_are_refused_by_name(arguments, words):
    with pytest.raises(ArgumentError, match=words):
        eh.evaluate(drawn(200), **{"policy": POLICY, **COLUMNS, **arguments})


def test_little_overlap_is_said():
    log = drawn(2000, chances={"a": 0.94, "b": 0.05, "c": 0.01})
    found = eh.evaluate(log, {"a": 0, "b": 0, "c": 1}, **COLUMNS)
    assert any("hardly ever did" in note for note in found.notes)
    assert list(found.weights.columns) == ["arm", "pulls", "share", "probability", "calibration", "p_value"]
    assert "with probability 0.95 at every round" in str(found)


def test_logged_arms_of_a_learner_say_so_and_are_corrected():
    """Arm "a" pays where x is high, and the log plays it there: 1 / p undoes that. Six standard errors are 0.1."""
    random = np.random.default_rng(3)
    x = random.random(6000)
    chances = np.where(x > 0.5, 0.8, 0.2)
    is_a = random.random(6000) < chances
    log = pd.DataFrame({"arm": np.where(is_a, "a", "b"), "p": np.where(is_a, chances, 1 - chances)})
    log["reward"] = np.where(is_a, (random.random(6000) < x) * 1.0, 0.3)
    plain = eh.quotas.LoggedArms(log, arm="arm", reward="reward")
    right = eh.quotas.LoggedArms(log, arm="arm", reward="reward", propensity="p")
    assert (plain.made_by_learner, right.made_by_learner) == (False, True)
    assert plain.means[0] > 0.6
    assert right.means[0] == pytest.approx(0.5, abs=0.05)
    right.reset(1)
    draws = [right._reward(0) for _ in range(2000)]
    assert np.mean(draws) == pytest.approx(right.means[0], abs=0.07)
    assert eh.quotas.LoggedArms(log.sort_values("arm"), arm="arm", reward="reward").made_by_learner
    with pytest.raises(TableError, match=r"column 'p', row 1: expected a propensity above 0"):
        eh.quotas.LoggedArms(log.assign(p=0.0), arm="arm", reward="reward", propensity="p")


@pytest.mark.parametrize("estimator", ["ips", "snips", "dr"])
@pytest.mark.parametrize(
    "others", [{"a": 0.0, "b": 0.1, "c": 0.9}, {"a": 1.0, "b": 0.0, "c": 0.0}], ids=["much alike", "never the same arm"]
)
def test_the_normal_interval_of_a_difference_is_of_the_same_rows(estimator, others):
    log, base = drawn(600, seed=4), {"a": 0.0, "b": 0.0, "c": 1.0}
    model = {"a": 0.3, "b": 0.4, "c": 0.6}
    settings = {"estimator": estimator, "interval": "normal"} | ({"model": model} if estimator == "dr" else {})
    found = eh.evaluate(log, {"base": base, "other": others}, **COLUMNS, **settings).differences.iloc[0]
    influence = []
    for policy in (others, base):
        weights = (log["arm"].map(policy) / log["p"]).to_numpy()
        paid = weights * log["reward"]
        if estimator == "snips":
            influence.append((paid - weights * paid.sum() / weights.sum()) / weights.mean())
        elif estimator == "dr":
            step = sum(policy[arm] * model[arm] for arm in policy) + paid - weights * log["arm"].map(model)
            influence.append(step - step.mean())
        else:
            influence.append(paid - paid.mean())
    error = (influence[0] - influence[1]).std(ddof=0) / math.sqrt(600)
    assert found.high - found.low == pytest.approx(2 * 1.959964 * error, rel=1e-6)


@pytest.mark.parametrize("propensity", ["p", {"a": "a", "b": "b"}])
def test_a_propensity_by_which_no_row_can_be_weighed_is_refused(propensity):
    log = pd.DataFrame({"arm": ["a", "b"], "reward": [1, 0], "a": [1e-320, 0.5], "b": [1.0, 0.5], "p": [1e-320, 0.5]})
    with pytest.raises(TableError, match="row 1: expected a propensity above 0"):
        eh.evaluate(log, {"a": 0.5, "b": 0.5}, arm="arm", reward="reward", propensity=propensity)


def test_rows_in_which_the_arm_was_certain_cannot_be_replayed_from_one_column():
    """A chance of 1 says that no other arm had any, which one column of chances says by that number alone."""
    rng = np.random.default_rng(3)
    forced, of_a = rng.random(600) < 0.3, rng.choice([0.5, 0.6], 600)
    first = forced | (rng.random(600) < of_a)
    log = pd.DataFrame({"arm": np.where(first, "a", "b"), "reward": rng.random(600)})
    log["chance"] = np.where(forced, 1.0, np.where(first, of_a, 1 - of_a))
    named = COLUMNS | {"propensity": "chance", "estimator": "replay", "replays": 3, "seed": 1}
    share = f"{100 * forced.mean():.3g} % of the rows, so that no other had any"
    with pytest.raises(TableError, match=re.escape(share)):
        eh.evaluate(log, UCB1(), **named)
    found = eh.evaluate(log, UCB1(), **named, stationary=True)
    drawn = eh.evaluate(log[~forced].reset_index(drop=True), UCB1(), **named, stationary=True)
    assert (found.rounds, found.value) == (drawn.rounds, drawn.value)
    assert any(f"Only the {(~forced).sum()} of 600 rows" in note for note in found.notes)
