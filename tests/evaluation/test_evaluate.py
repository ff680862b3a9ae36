"""The value of a policy from the log of another: the estimators' formulas, intervals, replays, refusals."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import evenhand as eh
from evenhand.errors import ArgumentError, ContextError, ModelError, TableError, UnknownArmError
from evenhand.evaluation.sequences import BETS, Steps, closed_form, lower_bound, running_mean
from evenhand.learners import UCB1, EpsilonGreedy, Thompson
from evenhand.quotas import BernoulliArms, DeadlineLearn, FairLearn, FairUCB

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


def test_ips_and_snips_are_their_formulas():
    log = drawn(500)
    weights = log["arm"].map(POLICY) / log["p"]
    found = eh.evaluate(log, POLICY, **COLUMNS, estimator="ips")
    assert found.value == pytest.approx((weights * log["reward"]).mean(), abs=1e-12)
    assert found.effective_rounds == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    snips = eh.evaluate(log, POLICY, **COLUMNS, estimator="snips")
    assert snips.value == pytest.approx((weights * log["reward"]).sum() / weights.sum(), abs=1e-12)


@pytest.mark.parametrize("as_matrix", [False, True], ids=["by arm", "row by row"])
def test_doubly_robust_with_given_expectations_is_its_formula(as_matrix):
    log = drawn(500)
    expected = {"a": 0.3, "b": 0.4, "c": 0.6}
    model = np.tile(list(expected.values()), (500, 1)) if as_matrix else expected
    weights = log["arm"].map(POLICY) / log["p"]
    step = sum(POLICY[arm] * expected[arm] for arm in POLICY) + weights * (log["reward"] - log["arm"].map(expected))
    found = eh.evaluate(log, POLICY, **COLUMNS, model=model)
    assert found.value == pytest.approx(step.mean(), abs=1e-12)
    normal = eh.evaluate(log, POLICY, **COLUMNS, model=model, anytime=False)
    assert normal.high - normal.low == pytest.approx(2 * 1.959964 * step.std(ddof=0) / math.sqrt(500), rel=1e-6)


def test_a_policy_may_be_given_in_many_ways():
    log = drawn(300)
    matrix = np.tile(list(POLICY.values()), (300, 1))
    value = eh.evaluate(log, POLICY, **COLUMNS).value
    frame = pd.DataFrame(matrix[:, ::-1], columns=["c", "b", "a"])
    for same in (pd.Series(POLICY), list(POLICY.values()), matrix, lambda rows: matrix, frame):
        assert eh.evaluate(log, same, **COLUMNS).value == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("estimator", ["ips", "snips", "dr", "adaptive"])
def test_values_are_near_the_truth_and_inside_their_intervals(estimator):
    found = eh.evaluate(drawn(4000), POLICY, **COLUMNS, estimator=estimator)
    assert found.value == pytest.approx(VALUE, abs=0.08)  # five standard errors
    assert found.low < VALUE < found.high
    assert found.high - found.low < 0.25
    curve = found.curve
    assert curve["round"].iloc[-1] == 4000
    assert (curve["low"].diff().dropna() >= 0).all()
    assert (curve["high"].diff().dropna() <= 0).all()


def slow_bound(values, least, error, low):
    """The bound as it is defined: no rounding, a product a bet."""
    high = 1.0
    for _ in range(50):
        middle = (low + high) / 2
        wealth = np.mean([np.prod(1 - bet + bet * (values + least) / (middle + least)) for bet in BETS])
        low, high = (middle, high) if wealth >= 1 / error else (low, middle)
    return low


@pytest.mark.parametrize("least", [0.0, 0.7])
def test_the_bound_is_that_of_the_definition_but_for_rounding_down(least):
    values = np.random.default_rng(3).random(300) - least
    steps = Steps()
    for part in np.split(values, 3):
        steps.add(part, least)
    found, exact = lower_bound([steps], 0.025, max(-least, 0.0), 1.0), slow_bound(values, least, 0.025, 0.0)
    assert exact - 0.02 < found <= exact + 1e-9  # k is rounded up to the next eighth of an octave


def test_bounds_miss_no_more_often_than_they_may_whenever_they_are_looked_at():
    random = np.random.default_rng(5)
    missed = formula = 0
    for _ in range(400):
        rewards = 3.0 * (random.random(300) < 0.1)  # mean 0.3
        wealth = np.log(np.exp(np.cumsum(np.log1p(BETS[:, None] * (rewards / 0.3 - 1)), axis=1)).mean(axis=0))
        missed += bool((wealth >= math.log(20)).any())
        formula += bool((closed_form(rewards, 0.05) > 0.3).any())
    # at most 5 % each: 400 x 0.05 + 4 standard deviations
    assert missed <= 37
    assert formula <= 37


def test_the_mean_of_changing_means_is_bounded():
    random = np.random.default_rng(6)
    means = 0.3 + 0.2 * np.sin(np.arange(400) / 20)
    truth = np.cumsum(means) / np.arange(1, 401)
    missed = sum(bool((running_mean((random.random(400) < means) * 1.0, 0.05) > truth).any()) for _ in range(300))
    assert missed <= 30
    one = running_mean((random.random(400) < means) * 1.0, 0.05)
    assert one[-1] > truth[-1] - 0.15


def test_several_policies_are_compared_with_the_first():
    log = drawn(3000, 2)
    found = eh.evaluate(log, {"new": POLICY, "old": CHANCES, "best": {"a": 0, "b": 0, "c": 1}}, **COLUMNS)
    assert list(found.evaluations) == ["new", "old", "best"]
    rows = found.differences.set_index("policy")
    assert rows["against"].tolist() == ["new", "new"]
    truth = sum(MEANS[arm] * CHANCES[arm] for arm in MEANS) - VALUE
    assert rows.loc["old", "low"] < truth < rows.loc["old", "high"] < 0
    assert found["old"].value - found["new"].value == pytest.approx(rows.loc["old", "difference"])


def test_a_weight_that_is_known_makes_the_interval_narrower():
    means = {"a": 0.02, "b": 0.05, "c": 0.07}
    log = drawn(2000, means=means)
    log["p"] = log["p"] * np.where(np.arange(2000) % 2, 1.0, 1.0 - 1e-6)  # as if a learner had moved them
    loose = eh.evaluate(log, POLICY, **COLUMNS)
    known = eh.evaluate(log, POLICY, **COLUMNS, largest_weight=3.6)
    assert known.high - known.low < 0.9 * (loose.high - loose.low)
    assert any("No largest weight" in note for note in loose.notes)
    assert not any("No largest weight" in note for note in known.notes)


def learned_log(rows, seed):
    """A log of epsilon-greedy over past means, with all chances."""
    random = np.random.default_rng(seed)
    arms, means = list(MEANS), np.array(list(MEANS.values()))
    sums, counts, out = np.zeros(3), np.zeros(3), []
    for round in range(rows):
        epsilon = min(1.0, (round + 1) ** -0.4)
        chances = np.full(3, epsilon / 3)
        chances[np.argmax(np.where(counts > 0, sums / np.maximum(counts, 1), 1.0))] += 1 - epsilon
        arm = random.choice(3, p=chances)
        reward = float(random.random() < means[arm])
        sums[arm] += reward
        counts[arm] += 1
        out.append((arms[arm], reward, chances[arm], *chances))
    return pd.DataFrame(out, columns=["arm", "reward", "p", "pa", "pb", "pc"])


def test_logs_of_learners_are_evaluated_from_past_rows_and_adaptive_weights():
    every = {"a": "pa", "b": "pb", "c": "pc"}
    log = learned_log(3000, 1)
    for estimator in ("dr", "adaptive"):
        found = eh.evaluate(log, POLICY, arm="arm", reward="reward", propensity=every, estimator=estimator)
        assert found.low <= VALUE <= found.high
        assert found.value == pytest.approx(VALUE, abs=0.12)
        assert any("as a learner's do" in note for note in found.notes)
    with pytest.raises(ArgumentError, match="propensity: wanted the chances of all arms in every row, got 'p'"):
        eh.evaluate(log, POLICY, **COLUMNS, estimator="adaptive")


@pytest.mark.parametrize("model", [LinearRegression(), LogisticRegression()], ids=["regression", "classifier"])
@pytest.mark.parametrize("anytime", [True, False])
def test_a_model_of_scikit_learn_expects_the_rewards(model, anytime):
    random = np.random.default_rng(4)
    log = drawn(1500, 5)
    log["x"] = random.random(1500)
    log["reward"] = (random.random(1500) < 0.2 + 0.6 * log["x"] * (log["arm"] == "c")) * 1.0
    found = eh.evaluate(log, POLICY, **COLUMNS, contexts=["x"], model=model, anytime=anytime)
    assert found.low < 0.2 + 0.3 * 0.7 < found.high
    assert not hasattr(model, "coef_")  # the user's model stays as it was


def test_a_model_that_fails_is_named():
    class Broken:
        def fit(self, features, rewards):
            raise RuntimeError("no memory")

    with pytest.raises(ModelError, match="model: Broken failed: no memory"):
        eh.evaluate(drawn(100), POLICY, **COLUMNS, model=Broken())


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
        settings = {"contexts": ["x"], "rounds": 30} if shown else {}
        policy = Thompson(seed=seed) if shown else UCB1()
        values.append(eh.evaluate(log, policy, **COLUMNS, **settings, replays=1).value)
    expected = live(Thompson(), 30, 1) if shown else live(UCB1(), 36, 1)
    assert np.mean(values) == pytest.approx(expected, abs=0.04)


def test_the_promise_is_audited_on_the_replay():
    log = drawn(600)
    policy = DeadlineLearn(Thompson(), {"a": 0.3, "b": 0.1, "c": 0.0}, seed=1)
    found = eh.evaluate(log, policy, **COLUMNS)
    assert found.estimator == "replay"
    assert found.audit.kept
    assert found.audit.rounds >= found.rounds
    assert found.low <= found.value <= found.high
    assert policy.round == 0  # it was a copy that was played
    assert eh.evaluate(log, Thompson(), **COLUMNS).audit is None
    again = eh.evaluate(log, policy, **COLUMNS)
    assert again.value == found.value


def test_the_rounds_that_are_sure_are_reached_by_every_learner():
    log = drawn(400)
    least = log["arm"].value_counts().min()
    plain = eh.evaluate(log, EpsilonGreedy(), **COLUMNS, replays=2)
    assert plain.rounds == least
    fair = eh.evaluate(log, DeadlineLearn(UCB1(), {"a": 0.3, "b": 0.3, "c": 0}), **COLUMNS, replays=1)
    assert fair.rounds > 1.5 * least
    assert fair.reached >= fair.rounds
    with pytest.raises(TableError, match=r"rounds: wanted at most \d+, as a replay ends there, got 400"):
        eh.evaluate(log, EpsilonGreedy(), **COLUMNS, rounds=400)


def test_learners_are_compared_at_the_same_round():
    found = eh.evaluate(drawn(600), {"fair": FairUCB([0.3, 0.3, 0.0], arms=["a", "b", "c"]), "free": UCB1()}, **COLUMNS)
    assert found["fair"].rounds == found["free"].rounds
    row = found.differences.iloc[0]
    assert row["low"] < row["difference"] < row["high"]


def test_contextual_policies_are_replayed_on_the_contexts_they_would_have_seen():
    random = np.random.default_rng(2)
    log = drawn(900, 3, chances=dict.fromkeys("abc", 1 / 3))
    x = random.random((900, 2))
    log["reward"] = np.where(log["arm"] == "c", x[:, 0], 0.2)
    policy = eh.groups.TopInterval({"a": "1", "b": "1", "c": "2"}, seed=1)
    found = eh.evaluate(log, policy, **COLUMNS, contexts=x, replays=2)
    assert found.rounds > 200
    assert 0.2 < found.value < 0.6
    with pytest.raises(ContextError, match="contexts: wanted columns or an array, as TopInterval looks at them"):
        eh.evaluate(log, policy, **COLUMNS)


# ------------------------------------------------------------------ refusals


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
        (changed(p=0.0), r"column 'p', row 5: wanted a propensity above 0 and at most 1, got 0.0"),
        (changed(p=1.5), r"column 'p', row 5: wanted a propensity above 0 and at most 1, got 1.5"),
        (changed(p=None), "column 'p', row 5: the cell is empty"),
        (changed(reward=1.2), r"column 'reward', row 5: wanted numbers in \[0, 1\], got 1.2"),
        (changed(reward=None), "column 'reward', row 5: the cell is empty"),
        (drawn(200).head(1), "log: wanted at least two rows, got 'one row'"),
        (drawn(200).assign(arm="a"), "column 'arm': wanted at least two arms, got \"'a' in every row\""),
        (drawn(200).assign(p=1.0), "column 'p': wanted chances below 1, as of a rule that draws, got '1 in every row'"),
        (
            drawn(200).assign(p=lambda log: log["p"].to_numpy()[::-1]),
            r"propensity of arm '.': wanted chances with which",
        ),
        (drawn(200).drop(columns="p"), r"column: wanted one of \['arm', 'reward'\], got 'p'"),
    ],
    ids=["zero", "above one", "missing", "reward", "no reward", "one row", "one arm", "certain", "other arm", "column"],
)
def test_logs_that_say_nothing_are_refused(log, words):
    if "chances with which" in words:
        log = pd.concat([log] * 40, ignore_index=True)
    with pytest.raises(TableError, match=words):
        eh.evaluate(log, POLICY, **COLUMNS)


@pytest.mark.parametrize(
    ("policy", "error", "words"),
    [
        ({"a": 0.5, "b": 0.5}, UnknownArmError, "policy: wanted every arm of the log, got \"none for 'c'\""),
        (
            {**POLICY, "d": 0.1},
            UnknownArmError,
            r"policy\['d'\]: wanted 0 for an arm that the log never tried, got 0.1",
        ),
        (
            {"a": 0.5, "b": 0.5, "c": 0.5},
            ArgumentError,
            "policy: wanted probabilities that sum to 1, got 'a sum of 1.5'",
        ),
        ({"a": -0.5, "b": 0.5, "c": 1.0}, ArgumentError, r"policy\['a'\]: wanted a probability in \[0, 1\], got -0.5"),
        ([0.5, 0.5], ArgumentError, "policy: wanted a probability for each of 3 arms, got 2"),
        (np.ones((5, 3)) / 3, ArgumentError, r"policy: wanted an array of shape \(200, 3\)"),
        (lambda: 1, ModelError, "policy: the function failed: .* takes 0 positional arguments but 1 was given"),
        (UCB1, ArgumentError, "policy: wanted a distribution, a function or a policy, not its class"),
        (lambda log: np.ones((200, 3)), ArgumentError, r"policy\(...\), row 1: wanted probabilities that sum to 1"),
        ({1: POLICY, 2: POLICY}, ArgumentError, "policy: wanted one distribution, as the log has no positions"),
        (FairLearn(UCB1(), {"a": 0.1, "b": 0.1}), UnknownArmError, "knows every arm of the log, got \"none for 'c'\""),
        (UCB1(arms=list("abcd")), UnknownArmError, "policy: wanted a policy for arms of the log alone, got 'd'"),
        (DeadlineLearn(UCB1(), [0.5] * 3, plays=2, arms=list("abc")), ArgumentError, "plays one arm in a round"),
    ],
    ids=[
        "unknown",
        "untried",
        "sum",
        "negative",
        "few",
        "shape",
        "fails",
        "class",
        "function",
        "positions",
        "quota",
        "more",
        "plays",
    ],
)
def test_policies_that_do_not_fit_the_log_are_refused(policy, error, words):
    with pytest.raises(error, match=words):
        eh.evaluate(drawn(200), policy, **COLUMNS)


def test_mixed_positions_are_refused():
    log = drawn(200).assign(place=np.arange(200) % 3 + 1)
    by_place = dict.fromkeys((1, 2), POLICY)
    with pytest.raises(ArgumentError, match=r"policy: wanted a distribution for each of the positions \[1, 2, 3\]"):
        eh.evaluate(log, by_place, **COLUMNS, position="place")
    with pytest.raises(
        ArgumentError, match="position: wanted None where a policy is replayed: a replay mixes the positions"
    ):
        eh.evaluate(log, UCB1(), **COLUMNS, position="place")
    found = eh.evaluate(log, {**by_place, 3: POLICY}, **COLUMNS, position="place", estimator="ips")
    assert found.value == pytest.approx(eh.evaluate(log, POLICY, **COLUMNS, estimator="ips").value)


def test_a_log_out_of_order_is_refused():
    log = drawn(200).assign(when=np.arange(200))
    assert eh.evaluate(log, POLICY, **COLUMNS, order="when").rounds == 200
    log.loc[[7, 8], "when"] = [8, 7]
    with pytest.raises(
        TableError, match="column 'when', row 9: wanted a value not below that of the row before, got 7"
    ):
        eh.evaluate(log, POLICY, **COLUMNS, order="when")


def test_contexts_of_another_width_are_refused():
    log = drawn(200)
    with pytest.raises(
        ContextError, match=r"contexts: wanted names of columns, or an array .*, got 'an array of shape \(5, 2\)'"
    ):
        eh.evaluate(log, POLICY, **COLUMNS, contexts=np.zeros((5, 2)))
    policy = eh.groups.TopInterval({"a": "1", "b": "1", "c": "2"})
    policy.begin(3)
    with pytest.raises(ContextError, match="contexts: wanted 3 numbers a row, as policy has, got 2"):
        eh.evaluate(log, policy, **COLUMNS, contexts=np.zeros((200, 2)))


def test_logs_without_propensities_must_be_drawn_at_fixed_chances():
    log = drawn(4000).drop(columns="p")
    named = {"arm": "arm", "reward": "reward"}
    found = eh.evaluate(log, POLICY, **named)
    assert found.low < VALUE < found.high
    assert any("No propensities are given" in note for note in found.notes)
    with pytest.raises(TableError, match="column 'arm': wanted arms drawn with the same chances from first to last"):
        eh.evaluate(log.sort_values("arm"), POLICY, **named)
    shown = log.assign(x=np.where(log["arm"] == "a", 1.0, 0.0) + np.random.default_rng(1).random(4000))
    with pytest.raises(TableError, match="column 'arm': wanted arms drawn whatever was shown"):
        eh.evaluate(shown, POLICY, **named, contexts=["x"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"estimator": "magic"}, "estimator: wanted one of 'dr', 'ips'"),
        ({"estimator": "replay"}, "estimator: wanted 'dr', 'ips', 'snips' or 'adaptive' for a distribution"),
        ({"level": 1.0}, "level: wanted a number"),
        ({"anytime": 1}, "anytime: wanted True or False"),
        ({"largest_weight": 0.5}, "largest_weight: wanted a number"),
        ({"largest_weight": 2.0}, "largest_weight: wanted at least the weight of row .*, 3.5, got 2.0"),
        ({"replays": 0}, "replays: wanted a whole number >= 1, got 0"),
        ({"contexts": np.zeros((200, 5, 2))}, r"contexts: wanted names .* or \(200, 3, d\), got 'an array of shape"),
        ({"model": {"a": 0.5}}, "model: wanted an expected reward for every arm, got \"none for 'b'\""),
        ({"model": [[2.0, 0.0, 0.0]]}, r"model: wanted expected rewards in \[0, 1\], got 2.0"),
        ({"model": "forest"}, "model: wanted a model with fit and predict"),
        ({"propensity": {"a": "p", "b": "p"}}, "propensity: wanted a column for every arm of the log"),
        ({"propensity": dict.fromkeys("abc", "p")}, "propensity, row 1: wanted chances of all arms that sum to 1"),
        ({"propensity": dict.fromkeys("abcd", "p")}, "propensity: wanted arms of the log"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_other_arguments_are_refused_by_name(arguments, words):
    with pytest.raises(ArgumentError, match=words):
        eh.evaluate(drawn(200), POLICY, **{**COLUMNS, **arguments})


def test_learners_are_not_weighed():
    with pytest.raises(ArgumentError, match="estimator: wanted 'replay' for a policy that learns, got 'ips'"):
        eh.evaluate(drawn(200), UCB1(), **COLUMNS, estimator="ips")
    with pytest.raises(ArgumentError, match="policy: wanted policies that all learn, or distributions alone"):
        eh.evaluate(drawn(200), {"one": UCB1(), "two": POLICY}, **COLUMNS)
    begun = UCB1(arms=list("abc"))
    begun.ask()
    with pytest.raises(ArgumentError, match="policy: wanted one that has not decided yet, got 'one at round 1'"):
        eh.evaluate(drawn(200), begun, **COLUMNS)


def test_little_overlap_is_said():
    log = drawn(2000, chances={"a": 0.94, "b": 0.05, "c": 0.01})
    found = eh.evaluate(log, {"a": 0, "b": 0, "c": 1}, **COLUMNS)
    assert any("hardly ever did" in note for note in found.notes)
    assert list(found.weights.columns) == ["arm", "pulls", "share", "probability", "calibration", "errors_away"]
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
    with pytest.raises(TableError, match=r"column 'p', row 1: wanted a propensity above 0"):
        eh.quotas.LoggedArms(log.assign(p=0.0), arm="arm", reward="reward", propensity="p")


@pytest.mark.slow
def test_the_log_of_a_lottery_can_be_evaluated():
    """Its floor says the largest weight: (1/3) / (0.5 x 0.2)."""
    policy = eh.quotas.LotteryLearn(Thompson(), dict.fromkeys("abc", 0.2), tolerance=8.0, seed=1)
    random, rows = np.random.default_rng(1), []
    for _ in range(1200):
        decision = policy.ask()
        reward = float(random.random() < MEANS[decision.arm])
        rows.append((decision.arm, reward, decision.propensity))
        policy.tell(decision, reward)
    log = pd.DataFrame(rows, columns=["arm", "reward", "p"])
    uniform = dict.fromkeys("abc", 1 / 3)
    truth = sum(MEANS.values()) / 3
    found = eh.evaluate(log, uniform, **COLUMNS, largest_weight=10 / 3)
    assert found.low < truth < found.high
    assert found.value == pytest.approx(truth, abs=0.1)  # four standard errors
    assert found.effective_rounds > 400


@pytest.mark.parametrize("estimator", ["ips", "snips", "dr"])
@pytest.mark.parametrize(
    "others", [{"a": 0.0, "b": 0.1, "c": 0.9}, {"a": 1.0, "b": 0.0, "c": 0.0}], ids=["much alike", "never the same arm"]
)
def test_the_normal_interval_of_a_difference_is_of_the_same_rows(estimator, others):
    log, base = drawn(600, seed=4), {"a": 0.0, "b": 0.0, "c": 1.0}
    model = {"a": 0.3, "b": 0.4, "c": 0.6}
    settings = {"estimator": estimator, "anytime": False} | ({"model": model} if estimator == "dr" else {})
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
    with pytest.raises(TableError, match="row 1: wanted a propensity above 0"):
        eh.evaluate(log, {"a": 0.5, "b": 0.5}, arm="arm", reward="reward", propensity=propensity)
