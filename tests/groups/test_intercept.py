"""An intercept is a feature that is always 1 and that nobody passes; a bias without features needs it."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.groups import GroupFairTopInterval, IntervalChaining, LinearThompson, NaiveFair, TopInterval

GROUPS = ["s", "r", "r"]
MAKES = {
    "top": lambda **more: TopInterval(GROUPS, seed=1, **more),
    "chain": lambda **more: IntervalChaining(GROUPS, seed=1, **more),
    "two groups": lambda **more: GroupFairTopInterval(GROUPS, "s", horizon=100, seed=1, **more),
    "pooled": lambda **more: GroupFairTopInterval(GROUPS, cold_start="minimum_norm", seed=1, **more),
    "naive": lambda **more: NaiveFair(GROUPS, seed=1, **more),
    "thompson": lambda **more: LinearThompson(GROUPS, shared=True, seed=1, **more),
}


@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
def test_an_intercept_decides_as_a_column_of_ones_does(make):
    own, other = make(intercept=True), make()
    random = np.random.default_rng(3)
    for _ in range(70):
        contexts = random.uniform(0, 1, (3, 2))
        groups = None if random.random() < 0.7 else random.permutation(GROUPS).tolist()
        first = own.ask(contexts, groups=groups)
        second = other.ask(np.column_stack([contexts, np.ones(3)]), groups=groups)
        assert first == second
        reward = float(contexts[first.index] @ [2.0, 3.0] - 4.0 * (first.index == 0) + random.normal())
        own.tell(first, reward), other.tell(second, reward)
    assert (own.dimension, other.dimension) == (2, 3)
