"""Each compiled learner decides as the textbook rule does, round by round."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

import evenhand as eh
from evenhand.learners import KLUCB, UCB1, DiscountedUCB, EpsilonGreedy, SlidingWindowUCB, Thompson
from tests.fuzzing import many
from tests.reference import learners as slow

PAIRS = {
    "UCB1": (lambda k: UCB1(arms=k), slow.UCB1, 1e-11),
    "KL-UCB": (lambda k: KLUCB(arms=k), slow.KLUCB, 3e-9),
}
FORGETTING = {
    "discounted": (lambda k: DiscountedUCB(0.95, 0.6, arms=k), lambda k: slow.DiscountedUCB(k, 0.95, 0.6), 1e-9),
    "window": (lambda k: SlidingWindowUCB(40, 0.6, arms=k), lambda k: slow.SlidingWindowUCB(k, 40, 0.6), 1e-9),
}


def decides_as_twin(fast, twin, rewards, close):
    """The arm that is played has the largest index of the twin, up to what rounding can do; return the exact hits."""
    hits = 0
    for t, paid in enumerate(rewards.tolist()):
        indices, arm = twin.indices(), fast.choose()
        assert indices[arm] >= max(indices) - close, f"round {t + 1}: played {arm}, the indices are {indices}"
        hits += indices.index(max(indices)) == arm
        fast.update(arm, paid[arm])
        twin.update(arm, paid[arm])
    return hits


KINDS = ("coins", "numbers", "zeros", "ones", "coins whose best arm changes in the middle")


@pytest.mark.parametrize("name", [*PAIRS, *FORGETTING])
@settings(max_examples=many(25))
@given(seed=st.integers(0, 10**6), arms=st.integers(2, 9), kind=st.sampled_from(KINDS))
def test_every_decision_has_the_largest_index_on_odd_rewards(name, seed, arms, kind):
    make, twin, close = (PAIRS | FORGETTING)[name]
    drawn = np.random.default_rng(seed).random((150, arms))
    means = np.linspace(0.9, 0.1, arms)
    changing = np.vstack([drawn[:75] < means, drawn[75:] < means[::-1]]) * 1.0
    rewards = dict(zip(KINDS, (drawn.round(), drawn, 0 * drawn, 0 * drawn + 1, changing), strict=True))[kind]
    decides_as_twin(make(arms), twin(arms), rewards, close)


def test_ucb1_shortcut_holds_when_rewards_change_their_mind():
    """The lazy argmax must notice arms that turn good or bad late."""
    rounds, k = 8000, 4
    means = np.full((rounds, k), 0.5)
    means[:2000, 0], means[2000:4000, 1], means[4000:, 2], means[6000:, 0] = 0.9, 0.9, 1.0, 0.0
    rewards = (np.random.default_rng(5).random((rounds, k)) < means).astype(float)
    hits = decides_as_twin(UCB1(arms=k), slow.UCB1(k), rewards, 1e-11)
    assert hits >= rounds - 5


@pytest.mark.parametrize("name", PAIRS)
def test_late_tells_lose_no_arm(name):
    """Arms in flight are not tried again before the others, and each arm is tried before any index counts."""
    learner = PAIRS[name][0](4)
    tickets = [learner.ask() for _ in range(4)]
    assert [ticket.index for ticket in tickets] == [0, 1, 2, 3]
    assert {ticket.reason for ticket in tickets} == {"never tried before"}
    assert [learner.ask().index for _ in range(3)] == [0, 1, 2], "the arm with the fewest open tickets"
    for ticket in reversed(tickets):
        learner.tell(ticket, 0.5 if ticket.index == 2 else 0.0)
    later = learner.ask()
    assert (later.index, later.reason) == (2, "highest upper confidence bound")


ASKED = {
    **{name: PAIRS[name][0] for name in PAIRS},
    "EpsilonGreedy": lambda k: EpsilonGreedy(0.2, arms=k, seed=1),
    "FairUCB": lambda k: eh.quotas.FairUCB([0.05] * k, seed=1),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("forgets", [0.0, 0.2], ids=["none forgotten", "some forgotten"])
@pytest.mark.parametrize("name", ASKED)
def test_a_reason_is_true_while_tickets_are_open(name, forgets, seed):
    chance = np.random.default_rng(seed)
    policy, waiting, tried, told, said = ASKED[name](5), [], set(), set(), set()
    for _ in range(60):
        decision = policy.ask()
        said.add(decision.reason)
        if decision.reason == "never tried before":
            assert decision.arm not in tried
        if decision.reason == "no reward seen yet":
            assert decision.arm not in told
        if decision.reason in ("never tried before", "no reward seen yet"):
            assert decision.probabilities is None
        tried.add(decision.arm)
        waiting.append(decision)
        if chance.random() < 0.4:
            late = waiting.pop(chance.integers(len(waiting)))
            if chance.random() < forgets:
                policy.forget(late)
            else:
                policy.tell(late, 0.5)
                told.add(late.arm)
    assert "never tried before" in said


def test_thompson_plays_an_arm_as_often_as_it_is_likely_to_be_best():
    """After 3 of 4 and 5 of 9 successes arm 0 is best with probability P(X > Y), X ~ Beta(4, 2), Y ~ Beta(6, 5).

    Over n = 20,000 independent choices Hoeffding bounds a miss of more than 0.02 by 2 exp(-2 n 0.02^2) < 3e-7.
    """
    learner = Thompson(arms=2, seed=11)
    for arm, wins, losses in ((0, 3, 1), (1, 5, 4)):
        for reward in [1.0] * wins + [0.0] * losses:
            learner.update(arm, reward)
    grid = (np.arange(20_000) + 0.5) / 20_000
    probability = np.mean(beta(4, 2).sf(grid) * beta(6, 5).pdf(grid))
    n = 20_000
    share = sum(learner.choose() == 0 for _ in range(n)) / n
    assert abs(share - probability) < 0.02


def test_thompson_turns_a_fraction_into_a_coin():
    """Rewards of 0.3 count as successes with probability 0.3: n = 20,000, a miss of 0.02 has probability < 3e-7."""
    learner = Thompson(arms=2, seed=4)
    n = 20_000
    for _ in range(n):
        learner.update(1, 0.3)
    successes, failures = learner.engine.state.successes[1], learner.engine.state.failures[1]
    assert successes + failures == n
    assert abs(successes / n - 0.3) < 0.02


@settings(max_examples=many(40))
@given(seed=st.integers(0, 10**6), arms=st.integers(2, 6), most_open=st.integers(1, 40))
def test_ucb1_decides_as_the_plain_rule_while_rewards_are_late(seed, arms, most_open):
    """Tells in random order, up to `most_open` tickets in flight: the shortcut must never go by old numbers."""
    generator = np.random.default_rng(seed)
    fast, twin, waiting = UCB1(arms=arms), slow.UCB1(arms), []
    for _ in range(600):
        indices = twin.indices()
        decision = fast.ask()
        if min(twin.pulls) > 0:
            assert indices[decision.index] >= max(indices) - 1e-11
        waiting.append(decision)
        twin.round = decision.round
        while len(waiting) > generator.integers(most_open):
            late = waiting.pop(int(generator.integers(len(waiting))))
            reward = float(generator.random() < 0.3 + 0.1 * late.index)
            fast.tell(late, reward)
            twin.pulls[late.index] += 1
            twin.sums[late.index] += reward


def test_epsilon_greedy_tells_the_distribution_that_it_draws_from():
    learner = EpsilonGreedy(0.3, arms=["a", "b", "c"], seed=5)
    first = [learner.ask() for _ in range(3)]
    assert [decision.probabilities for decision in first] == [None] * 3
    for decision, reward in zip(first, (0.2, 0.9, 0.4), strict=True):
        learner.tell(decision, reward)
    drawn = np.zeros(3)
    for _ in range(20_000):
        decision = learner.ask()
        np.testing.assert_allclose(decision.probabilities, [0.1, 0.8, 0.1])
        drawn[decision.index] += 1
        learner.forget(decision)
    # Hoeffding: each frequency off by 0.02 has a probability below 2 exp(-2 * 20000 * 0.02^2) = 2.3e-7
    np.testing.assert_allclose(drawn / 20_000, [0.1, 0.8, 0.1], atol=0.02)
