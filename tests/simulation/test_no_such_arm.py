"""The compiled loop refuses an arm that does not exist, before it writes anywhere."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from evenhand.errors import ContractError
from evenhand.kernels.compose import kernel
from evenhand.learners import UCB1
from evenhand.policy.kernel_set import Kernels
from evenhand.quotas import BernoulliArms


@kernel
def one_too_far(params: Any, state: Any, contexts: Any, round: int, waiting: Any) -> tuple[int, int]:
    return (waiting.size if round == 3 else 0), 0


@kernel
def negative(params: Any, state: Any, contexts: Any, round: int, waiting: Any) -> tuple[int, int]:
    return (-1 if round == 3 else 0), 0


@pytest.mark.parametrize("choose", [one_too_far, negative])
def test_an_arm_that_does_not_exist_ends_the_simulation(choose: Any) -> None:
    class Astray(UCB1):
        _kernels = Kernels(choose, UCB1._kernels.update)

    with pytest.raises(ContractError, match="outside the 2 arms"):
        eh.simulate(Astray(arms=2), BernoulliArms([0.5, 0.4]), rounds=5, seed=1, jobs=1)
