"""Linear arms whose rewards are biased against some groups: the paper's synthetic setting, with all its parameters.

Source: C. Schumann, Z. Lang, N. Mattei, J. P. Dickerson, "Group Fairness in Bandits with Biased Feedback", AAMAS 2022,
section 5.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from evenhand.arguments import real, whole
from evenhand.groups.problem import Groups, Membership
from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.kernels.compose import entry, kernel
from evenhand.kernels.linear import dot
from evenhand.kernels.random import normal, uniform
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.simulation.world import KernelWorld, WorldKernels

SCORES = ("biased_regret", "true_regret", "perceived_regret")
UNITS = {
    "biased_regret": "expected biased reward lost against the arm with the largest, so far",
    "true_regret": "true reward lost against the arm with the largest, so far",
    "perceived_regret": "largest expected biased reward less the reward received, so far",
    "group_share": "pulls of the group's arms over all pulls, so far",
}


MOST = 10**6
"""How many arms or features a world may have."""


class BiasedLinearParams(NamedTuple):
    groups: Ints
    noise: float


class BiasedLinearState(NamedTuple):
    stream: Words
    coefficients: Floats
    """(n_arms, d): beta_i."""
    biases: Floats
    """(n_groups, d): psi_g, as it is added to the reward."""
    worth: Floats
    """(2, n_arms): expected biased reward and true reward of each arm in this round."""
    best: Floats
    """(3,): the largest of either, and this round's noise."""


@kernel
def show(params: BiasedLinearParams, state: BiasedLinearState, contexts: Floats, round: int) -> None:
    state.best[0] = state.best[1] = -math.inf
    for arm in range(contexts.shape[0]):
        x = contexts[arm]
        for j in range(x.size):
            x[j] = uniform(state.stream)
        true = dot(state.coefficients[arm], x)
        biased = true + dot(state.biases[params.groups[arm]], x)
        state.worth[0, arm], state.worth[1, arm] = biased, true
        state.best[0] = max(state.best[0], biased)
        state.best[1] = max(state.best[1], true)
    state.best[2] = params.noise * normal(state.stream)


@kernel
def pay(params: BiasedLinearParams, state: BiasedLinearState, contexts: Floats, index: int) -> float:
    return state.worth[0, index] + state.best[2]


@kernel
def score(
    params: BiasedLinearParams, state: BiasedLinearState, contexts: Floats, index: int, reward: float, totals: Floats
) -> None:
    totals[0] += state.best[0] - state.worth[0, index]
    totals[1] += state.best[1] - state.worth[1, index]
    totals[2] += state.best[0] - reward


@kernel
def draw(
    stream: Words, coefficients: Floats, biases: Floats, base: float, spread: float, levels: Floats, width: float
) -> None:
    """Draw beta_i from U[base, base + spread]^d and, for groups with a bias, psi_g from -U[level, level + width]^d."""
    arms, d = coefficients.shape
    for arm in range(arms):
        for j in range(d):
            coefficients[arm, j] = base + spread * uniform(stream)
    for group in range(levels.size):
        for j in range(d):
            size = levels[group] + width * uniform(stream)
            biases[group, j] = 0.0 if math.isnan(levels[group]) else -size


@register("groups/biased-linear-arms", "world")
class BiasedLinearArms(KernelWorld):
    """Arms worth beta_i'x that pay beta_i'x + psi_g'x + noise, with psi_g < 0 for the groups that society is biased
    against.

    beta_i ~ U[base, base + spread]^d and psi_g ~ -U[bias, bias + bias_spread]^d are drawn once in a replication,
    contexts x ~ U[0, 1]^d for every arm and round. The noise is one normal number a round, whatever is pulled, so
    policies see common random numbers.

    Parameters
    ----------
    arms : the number of arms n.
    sensitive : how many arms, from the first on, are sensitive; where `groups` is given, the group or groups that are.
    dimension : d.
    bias : mu, the smallest size of the bias; or a dict group -> mu, and groups that it leaves out have none.
    spread : c, the width of the range of the coefficients.
    base : the smallest coefficient.
    bias_spread : how much the bias differs between features and replications.
    noise : standard deviation of the noise.
    groups : the group of each arm, a list or a dict arm -> group, instead of "sensitive" and "reference".

    Raises
    ------
    ArgumentError
        If a number is invalid, or a sensitive group has no arm.

    Examples
    --------
    >>> world = BiasedLinearArms(arms=4, sensitive=1)
    >>> world.groups
    {0: 'sensitive', 1: 'reference', 2: 'reference', 3: 'reference'}

    Source: Schumann, Lang, Mattei, Dickerson (2022), section 5.2.
    """

    _kernels = WorldKernels(show, pay, score)
    scores = SCORES
    units = UNITS
    reward_range = (-math.inf, math.inf)

    def __init__(
        self,
        arms: int = 10,
        sensitive: int | Label | Sequence[Label] = 5,
        *,
        dimension: int = 2,
        bias: float | Mapping[Label, float] = 10.0,
        spread: float = 10.0,
        base: float = 30.0,
        bias_spread: float = 1.0,
        noise: float = 1.0,
        groups: Membership | None = None,
    ) -> None:
        suspected: Any = sensitive if isinstance(sensitive, (list, tuple)) else [sensitive]
        if groups is None:
            arms = whole("arms", arms, low=2, high=MOST)
            count = whole("sensitive", sensitive, low=0, high=arms)
            groups, suspected = ["sensitive"] * count + ["reference"] * (arms - count), ["sensitive"] * min(count, 1)
        self.membership = Groups.read(groups)
        super().__init__(self.membership.arms, whole("dimension", dimension, low=1, high=MOST))
        levels = bias.items() if isinstance(bias, Mapping) else [(group, bias) for group in suspected]
        self.levels = np.full(len(self.membership.names), np.nan)
        for group, level in levels:
            code = self.membership.code(group, "sensitive")
            self.levels[code] = real("bias", level)
        self.spread = real("spread", spread, low=0)
        self.base = real("base", base)
        self.bias_spread = real("bias_spread", bias_spread, low=0)
        self.noise = real("noise", noise, low=0)

    @property
    def groups(self) -> dict[Label, Label]:
        """The group of each arm."""
        return self.membership.as_dict()

    @property
    def sensitive(self) -> Label | None:
        """The group whose rewards are biased, where there is exactly one."""
        biased = list(self.bias)
        return biased[0] if len(biased) == 1 else None

    @property
    def bias(self) -> dict[Label, float]:
        """The smallest size mu of the bias against each group whose rewards are biased."""
        levels = zip(self.membership.names, self.levels.tolist(), strict=True)
        return {name: level for name, level in levels if level == level}

    @property
    def coefficients(self) -> Floats:
        """The true beta_i (n_arms, d) of the current replication."""
        found: Floats = self._core[1].coefficients
        return found

    @property
    def biases(self) -> dict[Label, Floats]:
        """The true psi_g (d,) of each group in the current replication."""
        return dict(zip(self.membership.names, self._core[1].biases, strict=True))

    def _parameters(self) -> BiasedLinearParams:
        return BiasedLinearParams(np.array(self.membership.codes, np.int64), self.noise)

    def _memory(self, stream: Words) -> BiasedLinearState:
        arms, names = len(self.arms), self.membership.names
        coefficients, biases = np.zeros((arms, self.dimension)), np.zeros((len(names), self.dimension))
        entry(draw)(stream, coefficients, biases, self.base, self.spread, self.levels, self.bias_spread)
        return BiasedLinearState(stream, coefficients, biases, np.zeros((2, arms)), np.zeros(3))

    @classmethod
    def _examples(cls) -> Iterator[Any]:
        yield cls()
        yield cls(groups={"a": "x", "b": "y", "c": "z"}, bias={"y": 3.0, "z": -2.0}, dimension=3)
