"""The probabilities of drawn decisions: before an ask, with its decision, and after copies, files and logs."""

import pytest

import evenhand as eh
from evenhand.errors import ArgumentError
from evenhand.learners import UCB1, Adapter, EpsilonGreedy, Thompson, TsallisINF
from evenhand.saving.state import to_bytes

SHARES = {"a": "1/4", "b": "1/5", "c": 0}
DRAWN = {
    "thompson": lambda: Thompson(arms=["a", "b", "c"], seed=3),
    "epsilon-greedy": lambda: EpsilonGreedy(0.4, arms=["a", "b", "c"], seed=3),
    "tsallis-inf": lambda: TsallisINF(arms=["a", "b", "c"], seed=3),
    "thompson under shares": lambda: eh.quotas.FairLearn(Thompson(seed=1), SHARES, seed=3),
    "thompson under deadlines": lambda: eh.quotas.DeadlineLearn(Thompson(seed=1), SHARES, seed=3),
    "epsilon-greedy under deadlines": lambda: eh.quotas.DeadlineLearn(EpsilonGreedy(0.4, seed=1), SHARES, 1.0, seed=3),
    "tsallis-inf by lottery": lambda: eh.quotas.DeadlineLearn(TsallisINF(seed=1), SHARES, lottery=0.5, seed=3),
}


def talk(policy, rounds):
    """Yield what the policy says before each ask, and the decision."""
    for t in range(rounds):
        before = policy.probabilities()
        decision = policy.ask()
        yield before, decision
        if t % 3:
            policy.tell(decision, reward_of(t, decision))


def reward_of(t, decision):
    return float((t * 7) % 10 < 3 + 3 * decision.index)


@pytest.mark.parametrize("name", DRAWN)
def test_a_decision_has_the_probabilities_that_were_foretold(name):
    """And to be asked for them leaves no trace."""
    policy, silent = DRAWN[name](), DRAWN[name]()
    for t, (before, decision) in enumerate(talk(policy, 60)):
        assert sum(before.values()) == pytest.approx(1.0, abs=1e-9)
        assert decision.propensity == before[decision.arm] > 0
        if decision.probabilities is not None:
            assert dict(zip("abc", decision.probabilities, strict=True)) == before
        assert silent.ask() == decision
        if t % 3:
            silent.tell(decision, reward_of(t, decision))
    assert to_bytes(policy) == to_bytes(silent)


def test_rules_without_chance_are_certain():
    policy = eh.quotas.DeadlineLearn(UCB1(), SHARES, seed=1)
    for before, decision in talk(policy, 30):
        assert before == {arm: float(arm == decision.arm) for arm in SHARES}
        assert (decision.probabilities, decision.propensity) == (None, 1.0)
    slates = eh.quotas.DeadlineLearn(UCB1(), SHARES, plays=2)
    assert slates.probabilities() == {"a": 1.0, "b": 1.0, "c": 0.0}


def test_arms_that_are_not_on_offer_have_none():
    policy = eh.quotas.DeadlineLearn(UCB1(), SHARES)
    assert policy.probabilities(available=["c"]) == {"a": 0.0, "b": 0.0, "c": 1.0}
    assert policy.round == 0


def test_a_learner_from_elsewhere_is_refused_and_not_asked():
    learner = Adapter([0, 0, 0], choose=lambda counts: pytest.fail("asked"), update=lambda *_: None)
    policy = eh.quotas.FairLearn(learner, SHARES)
    with pytest.raises(ArgumentError, match="policy: expected one that states the probabilities of its draws"):
        policy.probabilities()
