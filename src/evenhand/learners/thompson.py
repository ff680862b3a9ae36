"""Thompson sampling: play an arm with the probability that it is the best, under a Beta prior for each arm.

Source: S. Agrawal, N. Goyal, "Analysis of Thompson Sampling for the Multi-armed Bandit Problem", COLT 2012, Algorithms
1 and 2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.kernels.compose import kernel
from evenhand.kernels.largest import largest_beta
from evenhand.kernels.random import beta, uniform
from evenhand.policy.chances import Chances
from evenhand.policy.kernel_set import Kernels, unknown
from evenhand.policy.policy import KernelPolicy
from evenhand.policy.reasons import reason
from evenhand.registry import register

SAMPLED = reason("highest sampled mean", "sampled")


class ThompsonParams(NamedTuple):
    prior: float


class ThompsonState(NamedTuple):
    successes: Ints
    failures: Ints
    stream: Words


@kernel
def choose(
    params: ThompsonParams, state: ThompsonState, contexts: Floats, round: int, waiting: Ints
) -> tuple[int, int]:
    best, highest = 0, -1.0
    for i in range(state.successes.size):
        sample = beta(state.stream, params.prior + state.successes[i], params.prior + state.failures[i])
        if sample > highest:
            best, highest = i, sample
    return best, SAMPLED


@kernel
def rank(
    params: ThompsonParams, state: ThompsonState, contexts: Floats, round: int, waiting: Ints, scores: Floats
) -> int:
    for i in range(state.successes.size):
        scores[i] = beta(state.stream, params.prior + state.successes[i], params.prior + state.failures[i])
    return SAMPLED


@kernel
def update(params: ThompsonParams, state: ThompsonState, contexts: Floats, index: int, reward: float) -> None:
    success = reward >= 1.0
    if 0.0 < reward < 1.0:
        success = uniform(state.stream) < reward
    if success:
        state.successes[index] += 1
    else:
        state.failures[index] += 1


def probabilities(
    params: ThompsonParams, state: ThompsonState, contexts: Any, round: Any, waiting: Any, open: Ints | None = None
) -> Floats:
    """Return the probability of each arm's sample to be the largest, of those of the open arms where not all are."""
    arms = np.flatnonzero(np.ones(state.successes.size) if open is None else open)
    chances = np.zeros(state.successes.size)
    chances[arms] = largest_beta(params.prior + state.successes[arms], params.prior + state.failures[arms])
    return chances


CHANCES = Chances(probabilities, ("successes", "failures"), among=True)


@register("learners/thompson")
class Thompson(KernelPolicy):
    """Play the arm whose sample from Beta(1 + S_i, 1 + F_i) is largest, S_i and F_i its successes and failures.

    A reward strictly between 0 and 1 counts as a success with that probability (the Bernoulli extension). The
    probability of each arm is an integral, computed to 10^-6 when a decision's `probabilities` are read; see
    `evenhand.kernels.largest`.

    Parameters
    ----------
    arms : number of arms or their labels; may be left out where FairLearn or simulate names them.
    seed : seed of the samples.

    Raises
    ------
    ArgumentError
        If there are fewer than two arms or a label twice.

    Examples
    --------
    >>> learner = Thompson(arms=["a", "b"], seed=1)
    >>> for _ in range(200):
    ...     decision = learner.ask()
    ...     learner.tell(decision, 1.0 if decision.arm == "a" else 0.1)
    >>> learner.ask().arm
    'a'

    Source: Agrawal and Goyal (2012), Algorithm 2.
    """

    kernels = Kernels(choose, update, unknown, rank, CHANCES)

    def parameters(self) -> ThompsonParams:
        return ThompsonParams(1.0)

    def memory(self) -> ThompsonState:
        k = len(self._labels)
        return ThompsonState(np.zeros(k, np.int64), np.zeros(k, np.int64), self.stream())
