"""Refused proposals are held: the learner lives through an ordinary run, whatever the promise."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest

from evenhand.errors import ArgumentError
from evenhand.kernels.compose import bind, interpreted, kernel
from evenhand.learners import Adapter, TsallisINF
from evenhand.learners.tsallis_inf import choose_drawn
from evenhand.policy.kernel_set import Kernels, sampled
from evenhand.quotas import DeadlineLearn, FairLearn, proposer
from evenhand.rng import child
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.studies import Study
from tests.reference.quotas import held_rounds

ARMS = ["a", "b", "c"]
MEANS = {"a": 0.3, "b": 0.8, "c": 0.5}
PROMISES = {
    "shares": {"shares": {"a": "2/5", "b": 0, "c": "2/5"}},
    "all rounds": {"shares": {"a": "1/2", "b": "1/6", "c": "1/3"}, "tolerance": 1.0},
    "sets": {"shares": {("a", "b"): "1/2", "b": 0, "c": "2/5"}},
    "windows": {"shares": {"a": "1/5", "b": 0, "c": 0}, "windows": {"c": 3}},
}


def losses_of(policy):
    """The losses of the learner inside, whose proposal may be held."""
    learner = policy.engine.state.learner
    return learner.learner.losses if policy._traits.defers_refusals else learner.losses


@pytest.fixture
def plain(monkeypatch):
    """The rule around learners from elsewhere as plain Python, which need not be compiled for each promise."""
    monkeypatch.setattr(proposer, "entry", lambda template, **names: interpreted(bind(template, **names)))


@kernel
def learn_gain(params, state, contexts, index, reward, ticket):
    for arm in range(state.losses.size):
        if arm != index:
            state.losses[arm] += reward / ticket.probability
    state.losses[:] -= state.losses.min()


class Gains(TsallisINF):
    """Holds an arm that it cannot play for worthless, where TsallisINF holds it for free."""

    _kernels = Kernels(choose_drawn, learn_gain, sampled)


class Elsewhere:
    """A learner from elsewhere that notes what it is asked and told."""

    own_choices = True

    def __init__(self, arms=3):
        self.arms, self.heard, self.state = arms, [], 7

    def choose(self):
        self.state = self.state * 1103515245 % 2**31
        proposal = self.state // 65536 % self.arms
        self.heard.append(("proposal", proposal))
        return proposal

    def update(self, index, reward):
        self.heard.append(("told", index))


def rewards_of(policy, rounds, seed=3, **named):
    chance = np.random.default_rng(seed)
    for _ in range(rounds):
        decision = policy.ask(**named)
        yield decision, float(chance.random() < MEANS[decision.arm])


@pytest.mark.parametrize("tolerance", [0, 1.5])
@pytest.mark.parametrize("shares", [[F(2, 5), F(0), F(2, 5)], [F(1, 2), F(1, 3), F(1, 6)], [F(1, 5), F(0), F(0)]])
def test_decisions_are_those_of_a_slow_twin_around_the_learner_alone(shares, tolerance):
    payoffs = np.random.default_rng(1).random((120, 3)) < [0.3, 0.8, 0.5]
    policy = DeadlineLearn(TsallisINF(), shares, tolerance, seed=5)
    alone = TsallisINF(arms=3, seed=child(policy.seed, 1))
    for arm, rewards in zip(held_rounds(alone, shares, math.floor(tolerance), payoffs), payoffs, strict=True):
        decision = policy.ask()
        assert decision.index == arm
        policy.tell(decision, float(rewards[arm]))
    assert np.array_equal(losses_of(policy), alone.engine.state.losses)


@pytest.mark.parametrize("name", PROMISES)
def test_under_every_promise_the_learner_lives_through_an_ordinary_run(name):
    policy = DeadlineLearn(TsallisINF(), arms=ARMS, seed=5, **PROMISES[name])
    alone, granted = TsallisINF(arms=ARMS, seed=child(policy.seed, 1)), 0
    chances = np.random.default_rng(3).random(150)
    for t, random in enumerate(chances):
        decision = policy.ask()
        chance, reward = policy.tickets.open[decision.id][2], float(random < MEANS[decision.arm])
        if chance:
            own = alone.ask()
            assert (own.arm, own.propensity) == (decision.arm, chance)
            alone.tell(own, reward)
            granted += 1
        if t == 70:
            policy = from_bytes(to_bytes(policy))
        policy.tell(decision.id, reward)
        assert decision.propensity is decision.probabilities is decision.slate_propensity is None
    assert 20 < granted < 150
    assert np.array_equal(losses_of(policy), alone.engine.state.losses)


@pytest.mark.parametrize("name", PROMISES)
def test_a_learner_from_elsewhere_that_asks_for_it_hears_of_granted_wishes_alone(name, plain):
    policy = DeadlineLearn(Elsewhere(), arms=ARMS, **PROMISES[name])
    played = []
    for decision, reward in rewards_of(policy, 150):
        policy.tell(decision, reward)
        played.append(decision.index)
    heard = policy.learner.heard
    assert [what for what, _ in heard] == (["proposal", "told"] * len(heard))[: len(heard)]
    wishes, told = heard[::2], heard[1::2]
    assert [index for _, index in told] == [index for _, index in wishes[: len(told)]]
    assert 20 < len(told) < 150
    rest = iter(played)
    assert all(index in rest for _, index in told)


@pytest.mark.compiled
def test_machine_code_holds_the_wishes_of_a_learner_from_elsewhere(monkeypatch):
    def played():
        policy, found = DeadlineLearn(Elsewhere(), PROMISES["shares"]["shares"]), []
        for decision, reward in rewards_of(policy, 100):
            policy.tell(decision, reward)
            found.append(decision.index)
        return found, policy.learner.heard

    compiled = played()
    monkeypatch.setattr(proposer, "entry", lambda template, **names: interpreted(bind(template, **names)))
    assert played() == compiled


def wished(counts):
    return counts.index(min(counts))


def counted(counts, index, reward):
    counts[index] += 1


def test_an_adapter_says_it_for_the_learner_inside(plain):
    learner = Adapter([0, 0, 0], choose=wished, update=counted, dump=list, load=list, own_choices=True)
    policy = DeadlineLearn(learner, PROMISES["shares"]["shares"])
    for decision, reward in rewards_of(policy, 50):
        policy.tell(decision, reward)
    granted = int(policy.engine.state.learner.granted[0])
    again = from_bytes(to_bytes(policy))
    assert again._traits.defers_refusals
    assert sum(again.learner.learner) == granted < 50
    with pytest.raises(ArgumentError, match="own_choices"):
        Adapter([0, 0], choose=wished, update=counted, own_choices="yes")


def test_late_rewards_are_those_of_granted_wishes_alone_and_a_file_keeps_which():
    policy = DeadlineLearn(TsallisINF(), PROMISES["shares"]["shares"], seed=5)
    waiting = [(decision.id, reward) for decision, reward in rewards_of(policy, 60)]
    silent = [number for number, _ in waiting if policy.tickets.open[number][2] == 0.0]
    assert 20 < len(silent) < 50
    other = from_bytes(to_bytes(policy))
    for one in (policy, other):
        before = losses_of(one).copy()
        for number in silent:
            one.tell(number, 1.0)
        assert np.array_equal(losses_of(one), before)
        for number, reward in reversed(waiting):
            if number not in silent:
                one.tell(number, reward)
        assert not np.array_equal(losses_of(one), before)
    assert to_bytes(policy) == to_bytes(other)


def test_a_wish_stays_while_its_arm_is_away_and_the_learner_goes_on():
    policy = DeadlineLearn(Gains(), {"a": 0.1, "b": 0, "c": 0}, seed=5)
    for _, (decision, reward) in zip(range(400), rewards_of(policy, 400, available=["a", "c"]), strict=True):
        policy.tell(decision, reward)
    assert policy.engine.state.learner.proposal[0] == 1
    assert policy.engine.state.learner.granted[0] > 200
    decision = policy.ask()
    assert decision.arm == "b"
    assert policy.engine.state.learner.proposal[0] == -1


def test_a_retired_arm_is_no_longer_held_and_a_new_one_is_learned():
    policy = DeadlineLearn(TsallisINF(), {"a": 0.1, "b": 0, "c": 0}, seed=5)
    for decision, reward in rewards_of(policy, 40, available=["a", "c"]):
        policy.tell(decision, reward)
    assert policy.engine.state.learner.proposal[0] == 1
    policy.retire("b")
    assert policy.engine.state.learner.proposal[0] == -1
    policy.add("d", 0.3)
    for _ in range(300):
        decision = policy.ask()
        policy.tell(decision, float(decision.arm == "d"))
    assert policy.pulls["d"] > 150
    policy.change({"a": 0.2, "c": 0.2, "d": 0.1})
    policy.tell(policy.ask(), 1.0)


def test_chances_that_nobody_knows_are_refused():
    policy = DeadlineLearn(TsallisINF(), PROMISES["shares"]["shares"])
    with pytest.raises(ArgumentError, match=r"held until it is granted; lottery= draws with known probabilities"):
        policy.probabilities()
    assert policy.round == 0


class Shown(Elsewhere):
    contextual = True


@pytest.mark.parametrize(
    ("learner", "plays", "match"), [(Elsewhere, 2, "several are played"), (Shown, 1, "it sees contexts")]
)
def test_what_cannot_be_held_is_refused(learner, plays, match):
    with pytest.raises(
        ArgumentError, match=f"learner: expected one without own_choices, as {match}, got '{learner.__name__}'"
    ):
        DeadlineLearn(learner(), [0.1, 0.1, 0.1], plays=plays)
    assert not FairLearn(learner(), [0.1, 0.1, 0.1])._traits.defers_refusals


def test_a_study_writes_down_what_was_granted(tmp_path):
    policy = DeadlineLearn(TsallisINF(), PROMISES["shares"]["shares"], seed=5)
    twin = policy.fresh()
    with Study.create(tmp_path / "held.evenhand", policy) as study:
        open_tickets = [study.ask() for _ in range(30)]
    with Study.open(tmp_path / "held.evenhand") as study:
        for decision in open_tickets:
            study.tell(decision.id, MEANS[decision.arm])
        arms = [study.ask().arm for _ in range(10)]
        assert study.verify().problems == ()
        assert study.frame()["propensity"].isna().all()
    expected = [twin.ask() for _ in range(30)]
    for decision in expected:
        twin.tell(decision, MEANS[decision.arm])
    assert [twin.ask().arm for _ in range(10)] == arms
