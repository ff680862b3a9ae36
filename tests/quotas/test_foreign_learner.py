"""A learner from elsewhere is heard while its favourite arm may not be played: it is asked again, or warned of."""

import collections
import random
import warnings

import pytest

import evenhand as eh
from evenhand.errors import ArgumentError
from evenhand.learners import UCB1, Adapter, from_river, from_sklearn
from evenhand.policy.traits import traits_of
from evenhand.quotas import BernoulliArms, DeadlineLearn, FairLearn
from evenhand.saving.state import from_bytes, to_bytes

WORTH = [0.9, 0.6, 0.1, 0.1]
"""The first arm is the favourite, which may not be played after the first rounds."""


def of_river(name, arms, **settings):
    from river import bandit, proba

    if name == "ThompsonSampling":
        settings["reward_obj"] = proba.Beta()
    return from_river(getattr(bandit, name)(**settings, seed=1), arms=arms)


def of_sklearn(name, **settings):
    from sklearn import linear_model

    return from_sklearn(getattr(linear_model, name)(**settings), seed=1)


ELSEWHERE = {
    "river UCB": lambda arms: of_river("UCB", arms, delta=1.0),
    "river epsilon-greedy": lambda arms: of_river("EpsilonGreedy", arms, epsilon=0.1),
    "river Thompson": lambda arms: of_river("ThompsonSampling", arms),
    "river Exp3": lambda arms: of_river("Exp3", arms, gamma=0.1),
    "river LinUCB": lambda arms: of_river("LinUCBDisjoint", arms),
    "a regressor": lambda arms: of_sklearn("SGDRegressor"),
    "a classifier": lambda arms: of_sklearn("SGDClassifier", loss="log_loss"),
}
ROUNDS, KNOWN = 260, 60
SITUATIONS = {
    "off offer": (3, {}, [1, 2]),
    "at its cap": (3, {"caps": {0: 0.05}}, None),
    "off offer, two plays": (4, {"plays": 2}, [1, 2, 3]),
    "at its cap, two plays": (4, {"plays": 2, "caps": {0: 0.05}}, None),
    "off offer, by lottery": (3, {"lottery": 0.5}, [1, 2]),
    "at its cap, by lottery": (3, {"lottery": 0.5, "caps": {0: 0.05}}, None),
    "off offer, two plays by lottery": (4, {"plays": 2, "lottery": 0.5}, [1, 2, 3]),
}

PAIRS = [*zip(ELSEWHERE, SITUATIONS, strict=True)]


def played(learner, situation):
    """Return how often each arm was played while the favourite was off."""
    arms, promised, available = SITUATIONS[situation]
    policy = DeadlineLearn(learner, [0.02] * arms, seed=1, **promised)
    dice, seen = random.Random(0), collections.Counter()
    for t in range(ROUNDS):
        contexts = [[1.0]] * arms if traits_of(policy).contextual else None
        decision = policy.ask(contexts, available=available if t >= KNOWN else None)
        rewards = [float(dice.random() < WORTH[index]) for index in decision.indexes]
        policy.tell(decision, rewards if policy.plays > 1 else rewards[0])
        seen.update(decision.indexes if t >= KNOWN else ())
    return seen


@pytest.mark.parametrize(("name", "situation"), PAIRS)
def test_the_second_best_arm_gets_the_rounds_that_it_gets_from_ours(name, situation):
    ours, theirs = (played(one, situation) for one in (UCB1(), ELSEWHERE[name](SITUATIONS[situation][0])))
    assert ours[1] > 0.8 * (ROUNDS - KNOWN)
    assert theirs[1] > 0.8 * ours[1]
    assert theirs[0] <= ours[0] + 3


# ---------------------------------------------------------------------- asked again, or ranked: the same


class Ranks:
    """Ranks all arms as it is told to."""

    def __init__(self, order):
        self.order = order

    def choose(self):
        return self.order

    def update(self, index, reward): ...


class Chooses(Ranks):
    """Has the same order, and names the first of those that it is asked about."""

    among = True
    asked = ()

    def choose(self, arms):
        self.asked = (*self.asked, tuple(arms))
        return next(arm for arm in self.order if arm in arms)


PROMISES = {
    "caps": {"shares": {"a": "1/4", "b": 0, "c": "1/8", "d": 0}, "caps": {"b": "1/3", "d": "1/5"}},
    "windows": {"shares": {"a": "1/4", "b": 0, "c": 0, "d": 0}, "windows": {"b": 5}},
    "sets": {"shares": {("a", "b"): "1/2", "c": "1/8", "d": 0}, "caps": {"d": "1/4"}},
    "plays": {"shares": {"a": "1/2", "b": "1/4", "c": "1/8", "d": 0}, "plays": 2},
    "plays, caps": {"shares": {"a": "1/2", "b": 0, "c": 0, "d": 0}, "plays": 2, "caps": {"d": "1/4"}},
    "lottery": {"shares": {"a": "1/4", "b": 0, "c": "1/8", "d": 0}, "caps": {"d": "1/4"}, "lottery": 0.5},
    "lottery, plays": {"shares": {"a": "1/2", "b": 0, "c": "1/8", "d": 0}, "plays": 2, "lottery": 0.5},
}
ORDERS = [[3, 1, 0, 2], [3, 2, 1, 0], [1, 3, 2, 0], [0, 1, 2, 3]]


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("promised", PROMISES)
def test_one_that_is_asked_again_plays_what_its_whole_ranking_plays(promised, order):
    ranks, chooses = (DeadlineLearn(kind(order), **PROMISES[promised], seed=1) for kind in (Ranks, Chooses))
    for t in range(40):
        available = ["a", "c", "d"] if t % 3 and promised in ("plays", "lottery, plays") else None
        said = [policy.ask(available=available) for policy in (ranks, chooses)]
        assert said[0].arms == said[1].arms
        assert (said[0].reason, said[0].propensity) == (said[1].reason, said[1].propensity)


def test_it_is_asked_among_the_arms_on_offer_and_then_among_those_that_may_be_played():
    learner = Chooses([3, 2, 1, 0])
    policy = DeadlineLearn(learner, dict.fromkeys("abcd", 0), caps={"d": "1/4"}, seed=1)
    assert [policy.ask().arm for _ in range(3)] == ["d", "c", "c"]
    assert learner.asked == ((0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2), (0, 1, 2, 3), (0, 1, 2))
    learner.asked, offered = (), DeadlineLearn(learner, dict.fromkeys("abcd", 0))
    assert offered.ask(available=["c", "a"]).reason == "the learner's proposal"
    assert learner.asked == ((0, 2),)


def test_what_its_choice_refuses_changes_nothing():
    policy = DeadlineLearn(Chooses([3, 2, 1, 0]), dict.fromkeys("abcd", 0.2))
    policy.learner.choose = lambda arms: 3
    before = to_bytes(DeadlineLearn(UCB1(), dict.fromkeys("abcd", 0.2)))
    with pytest.raises(ArgumentError, match=r"learner.choose\(\): expected one of the arms \[1, 2\], or a .* got 3"):
        policy.ask(available=["b", "c"])
    assert policy.round == 0
    assert policy.pulls == from_bytes(before).pulls
    assert policy.ask().arm == "d"


# ---------------------------------------------------------------------- one that names one arm


@pytest.mark.parametrize(
    ("promised", "available"),
    [({}, ["a", "b"]), ({"caps": {"c": "1/4"}}, None), ({"plays": 2}, None), ({"lottery": 0.1}, ["a", "b"])],
    ids=str,
)
def test_one_that_names_an_arm_that_may_not_be_played_is_warned_of_once(promised, available):
    policy = DeadlineLearn(Ranks(2), {"a": 0.05, "b": 0.05, "c": 0}, seed=1, **promised)
    with pytest.warns(UserWarning, match=r"^learner: Ranks names an arm that may not be played.*among=True") as said:
        [policy.ask(available=available) for _ in range(20)]
    assert len(said) == 1
    assert said[0].filename == __file__


@pytest.mark.parametrize("proposal", [[2, 0, 1], 2], ids=["ranks", "names the arm on offer"])
def test_one_that_is_heard_is_not_warned_of(proposal):
    policy = DeadlineLearn(Ranks(proposal), {"a": 0.2, "b": 0.2, "c": 0})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(20):
            policy.ask(available=["a", "b", "c"] if proposal == 2 else ["a", "b"])


# ---------------------------------------------------------------------- other doors


def chosen_among(memory, arms):
    memory.append(list(arms))
    return arms[-1]


def ignored(memory, *told): ...


def begun(memory, number):
    memory.clear()


def test_a_simulation_says_among_which_arms_it_chooses():
    learner = Adapter([], choose=chosen_among, update=ignored, seed=begun, among=True)
    policies = {"alone": learner, "fair": FairLearn(learner, [0.1] * 3)}
    history = eh.simulate(policies, BernoulliArms([0.5] * 3), rounds=20, seed=1, jobs=1)
    assert history.pulls.isel(round=-1).sel(policy="alone").values.tolist() == [[0, 0, 20]]
    assert history.pulls.isel(round=-1).sel(policy="fair", arm=2).item() > 14


def test_it_goes_on_exactly_where_it_was_saved_while_arms_are_off_offer():
    policy = DeadlineLearn(ELSEWHERE["river Exp3"](3), [0.1] * 3, seed=1)
    for _ in range(20):
        policy.tell(policy.ask(available=[1, 2]), 1.0)
    again = from_bytes(to_bytes(policy))
    assert [again.ask(available=[0, 2]).arm for _ in range(20)] == [policy.ask(available=[0, 2]).arm for _ in range(20)]


def test_a_late_reward_of_an_arm_that_is_off_offer_is_learned():
    policy = DeadlineLearn(ELSEWHERE["river Exp3"](3), [0.0] * 3, seed=1)
    early = policy.ask(available=[0])
    policy.tell(policy.ask(available=[1, 2]), 1.0)
    policy.tell(early, 1.0)
    assert policy.learner.learner.policy._counts[0] == 1
