"""Ask and tell: refusals by name, nothing changed by a refused call."""

from dataclasses import replace

import numpy as np
import pytest

from evenhand.errors import ArgumentError, RewardError, UnknownTicketError
from evenhand.learners import UCB1, Thompson
from evenhand.protocol import Decision
from evenhand.quotas import FairUCB
from evenhand.saving.state import to_bytes
from tests.naming import named


@pytest.fixture
def policy():
    made = FairUCB({"a": 0.3, "b": 0.3})
    for reward in (0.0, 1.0, 0.5):
        made.tell(made.ask(), reward)
    return made


def refused(policy, call, error, words):
    """The call is refused with this error and these words, and leaves the policy as it was."""
    before = to_bytes(policy)
    with pytest.raises(error, match=words):
        call()
    assert to_bytes(policy) == before


def test_a_decision_says_what_when_and_why(policy):
    decision = policy.ask()
    assert (decision.id, decision.round, decision.probabilities) == (4, 4, None)
    assert decision.arm == "ab"[decision.index]
    assert decision.reason in {"owed its share", "highest upper confidence bound"}
    assert policy.open_tickets == [4]


@pytest.mark.parametrize(
    ("reward", "words"),
    [
        (float("nan"), r"reward: expected a number in \[0, 1\], got nan; scale"),
        (-0.001, r"a number in \[0, 1\], got -0.001"),
        (1.001, r"a number in \[0, 1\], got 1.001"),
        ("1", "expected a number, got '1'"),
        (True, r"expected a number, got True; write 1.0 for yes and 0.0 for no"),
        (np.True_, "expected a number, got True; write 1.0 for yes"),
        (None, "expected a number, got None"),
        ([1.0], "expected a number"),
        (np.array([0.5, 0.5]), "expected one number"),
    ],
    ids=named,
)
def test_what_is_no_reward_is_refused(policy, reward, words):
    ticket = policy.ask()
    refused(policy, lambda: policy.tell(ticket, reward), RewardError, words)
    policy.tell(ticket, 1.0)


@pytest.mark.parametrize("reward", [0, 1, 0.0, 1.0, np.float32(0.5), np.int64(1), np.array(0.25)], ids=named)
def test_any_number_in_range_is_a_reward(policy, reward):
    policy.tell(policy.ask(), reward)
    assert policy.open_tickets == []


@pytest.mark.parametrize("number", [5, 10**9, 0, -1])
def test_a_ticket_that_was_never_handed_out_is_refused(policy, number):
    policy.ask()
    refused(policy, lambda: policy.tell(number, 1.0), UnknownTicketError, "one was 4; if a study decides, tell the")


@pytest.mark.parametrize("index", [2, -1, 0.0, "a", None])
def test_update_refuses_an_arm_that_is_not_there(index):
    learner = UCB1(arms=2)
    refused(learner, lambda: learner.update(index, 1.0), ArgumentError, "an arm's index below 2")


@pytest.mark.parametrize("arms", [1, 0, [], ["a"], ["a", "a"], [None, "a"], "ab", 2.5, [["a"], ["b"]]], ids=named)
def test_arms_must_be_at_least_two_with_a_label_each(arms):
    with pytest.raises(ArgumentError, match="arms: expected"):
        UCB1(arms=arms)


def test_a_learner_without_arms_says_so_until_it_has_some():
    learner = Thompson()
    with pytest.raises(ArgumentError, match=r"Thompson does not know its arms yet; give it arms="):
        learner.ask()
    assert learner.fresh(arms=["a", "b"]).ask().arm in {"a", "b"}


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True, [1]], ids=named)
def test_what_is_no_seed_is_refused(seed):
    with pytest.raises(ArgumentError, match="seed: expected an int >= 0, a numpy Generator or None"):
        Thompson(arms=2, seed=seed)


def test_the_seed_decides_and_a_generator_gives_one():
    def choices(seed):
        learner = Thompson(arms=5, seed=seed)
        return [learner.choose() for _ in range(50)]

    assert choices(3) == choices(3)
    assert choices(3) != choices(4)
    assert choices(np.random.default_rng(1)) == choices(np.random.default_rng(1))
    assert choices(None) != choices(None)  # alike with probability 5^-50


def test_fresh_forgets_and_keeps_the_configuration(policy):
    fresh = policy.fresh()
    assert (fresh.round, fresh.pulls, fresh.shares) == (0, {"a": 0, "b": 0}, policy.shares)
    assert policy.round == 3


def test_decisions_with_probabilities_can_be_compared():
    one = Decision(1, 1, "a", 0, np.array([0.5, 0.5]), "drawn")
    assert one == replace(one, chance=np.array([0.5, 0.5]))
    assert one != replace(one, chance=np.array([0.4, 0.6]))
    assert one != replace(one, chance=None)
    assert one != replace(one, arm="b")
    assert replace(one, chance=None) == Decision(1, 1, "a", 0, None, "drawn")
    assert one != 1
    assert len({one, replace(one, chance=np.array([0.5, 0.5]))}) == 1
