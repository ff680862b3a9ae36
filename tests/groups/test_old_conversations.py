"""Policies that evenhand 0.1 saved decide as they would have decided then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import evenhand as eh

OLD = Path(__file__).parents[1] / "states"
NEXT = {
    "group-fair-quota": "bob bob ann cid ann cid ann bob ann ann cid cid cid cid ann ann cid bob bob ann bob bob bob "
    "bob cid cid bob ann bob bob",
    "two-groups": "1 2 1 1 1 2 2 0 0 1 0 0 2 2 2 1 0 2 2 0 0 0 2 1 2 1 2 0 0 1",
    "naive-thompson": "cid cid ann bob ann ann ann cid cid cid cid ann ann cid bob ann cid ann ann ann bob bob ann ann "
    "ann bob cid cid ann bob",
}
"""What evenhand 0.1 decided next."""


@pytest.mark.parametrize("name", NEXT)
def test_a_saved_policy_goes_on(name):
    policy, random, decided = eh.load(OLD / f"{name}.state"), np.random.default_rng(2), []
    for _ in range(30):
        contexts = random.uniform(0, 1, (3, 2))
        decision = policy.ask(contexts)
        policy.tell(decision, float(contexts[decision.index].sum() + random.normal()))
        decided.append(str(decision.arm))
    assert " ".join(decided) == NEXT[name]
    membership = getattr(policy, "learner", policy).membership
    if name != "two-groups":
        assert membership.names == ("F & old", "M & old", "M & young")
        assert membership.code(("M", "young")) == 2
