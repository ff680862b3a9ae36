"""Policies and worlds that break the contract end the simulation with their name and what they said."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import ContractError
from evenhand.kernels.compose import kernel
from evenhand.learners import UCB1
from evenhand.policy.kernel_set import Kernels
from evenhand.protocol import Decision
from evenhand.quotas import BernoulliArms
from tests.naming import named
from tests.strategies import Stubborn

WORLD = BernoulliArms([0.5, 0.4])


class Asked:
    """A policy that answers every ask with the same thing."""

    def __init__(self, answer):
        self.answer = answer

    def ask(self):
        return self.answer

    def tell(self, decision, reward):
        pass


def play(policy, world=WORLD):
    return eh.simulate(policy, world, rounds=5, seed=1, jobs=1)


@pytest.mark.parametrize("index", [2, 10**7, -1, 10**30, 1.0, True, None, "0", np.float64(0)], ids=named)
def test_an_index_that_is_none_is_refused_with_the_policy_and_the_value(index):
    with pytest.raises(ContractError, match=r"Stubborn: expected a decision whose index is .* from 0 to 1, got "):
        play(Stubborn(index))
    with pytest.raises(ContractError, match=r"Asked: expected a decision whose index is .* from 0 to 1, got Decision"):
        play(Asked(Decision(1, 1, "a", index, None, "")))


@pytest.mark.parametrize("answer", [None, 0, (1, 2), "a"], ids=named)
def test_an_ask_that_hands_out_no_decision_is_refused(answer):
    with pytest.raises(ContractError, match="Asked: expected a decision"):
        play(Asked(answer))


def test_whole_numbers_of_numpy_are_fine():
    assert play(Stubborn(np.int32(1))).pulls.isel(round=-1, arm=1).item() == 5


@kernel
def one_too_far(params, state, contexts, round, waiting):
    return (waiting.size if round == 3 else 0), 0


@kernel
def negative(params, state, contexts, round, waiting):
    return (-1 if round == 3 else 0), 0


@pytest.mark.parametrize("choose", [one_too_far, negative])
def test_an_arm_that_does_not_exist_ends_the_compiled_loop_before_it_writes_anywhere(choose):
    class Astray(UCB1):
        _kernels = Kernels(choose, UCB1._kernels.update)

    with pytest.raises(ContractError, match="outside the 2 arms"):
        play(Astray(arms=2))
