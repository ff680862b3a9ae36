"""LFG with several arms a round and arms that sleep, against a slow twin."""

import random

import pytest

from evenhand.quotas import LFG
from tests.reference.quotas import LFG as Twin


@pytest.mark.parametrize("plays", [1, 2, 3])
def test_the_arms_are_those_of_the_slow_twin_whoever_sleeps(plays):
    shares, rng = [0.4, 0.3, 0.1, 0.0, 0.15], random.Random(plays)
    policy, twin = LFG(shares, 20.0, plays), Twin(shares, 20.0)
    for _ in range(300):
        offered = rng.sample(range(5), rng.randint(1, 5)) if rng.random() < 0.7 else list(range(5))
        decision = policy.ask(available=offered) if len(offered) < 5 else policy.ask()
        weights = twin.weights()
        best = sorted(offered, key=lambda arm: (-weights[arm], arm))[:plays]
        assert list(decision.indexes) == best
        twin.pulled_all(best)
        rewards = [float(rng.random() < 0.5) for _ in best]
        policy.tell(decision, rewards if plays > 1 else rewards[0])
        for arm, reward in zip(best, rewards, strict=True):
            twin.update(arm, reward)
