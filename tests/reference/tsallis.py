"""Tsallis-INF with importance weights, for tests: it must be told of its own choices alone."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.compose import kernel
from evenhand.kernels.random import draw
from evenhand.policy.kernel_policy import KernelPolicy, Kernels
from evenhand.policy.kernel_set import reason, sampled

DRAWN = reason("drawn by Tsallis-INF", "drawn")


class TsallisState(NamedTuple):
    losses: Any
    probabilities: Any
    stream: Any


class NoParams(NamedTuple):
    nothing: Any


@kernel
def choose(params: Any, state: Any, contexts: Any, round: int, waiting: Any) -> tuple[int, int]:
    """Zimmert, Seldin (2021): w_i = 4 / (eta (L_i - x))^2 with sum w = 1 and eta = 2 / sqrt(t); x by bisection."""
    arms, eta = state.losses.size, 2.0 / math.sqrt(round)
    least = state.losses[0]
    for arm in range(arms):
        least = min(least, state.losses[arm])
    low, high = least - 2.0 * math.sqrt(arms) / eta, least - 2.0 / eta
    total = 1.0
    for _ in range(60):
        middle = (low + high) / 2.0
        total = 0.0
        for arm in range(arms):
            state.probabilities[arm] = 4.0 / (eta * (state.losses[arm] - middle)) ** 2
            total += state.probabilities[arm]
        if total > 1.0:
            high = middle
        else:
            low = middle
    for arm in range(arms):
        state.probabilities[arm] /= total
    return draw(state.stream, state.probabilities), DRAWN


@kernel
def update(params: Any, state: Any, contexts: Any, index: int, reward: float, ticket: Any) -> None:
    state.losses[index] += (1.0 - reward) / ticket.probability


class Fed(KernelPolicy):
    """Tsallis-INF that takes whatever was played for its own choice."""

    kernels = Kernels(choose, update, sampled)

    def __init__(self, *, arms: Any = None, seed: Any = None) -> None:
        super().__init__(arms, seed)

    def parameters(self) -> NoParams:
        return NoParams(np.zeros(1))

    def memory(self) -> TsallisState:
        arms = len(self._labels)
        return TsallisState(np.zeros(arms), np.full(arms, 1.0 / arms), self.stream())


class OwnChoices(Fed):
    """Tsallis-INF as it is meant."""

    own_choices = True
