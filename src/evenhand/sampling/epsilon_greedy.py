"""Greed, with or without chance: draw the group whose validation risk is largest now.

Source: the baselines of S. Shekhar, G. Fields, M. Ghavamzadeh, T. Javidi, "Adaptive Sampling for Minimax Fair
Classification", NeurIPS 2021, Section 5; Greedy is Abernethy et al., "Active Sampling for Min-Max Fairness", ICML
2022, without its random part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Self

import numpy as np

from evenhand.arguments import real
from evenhand.kernels import random, sampling
from evenhand.kernels.arrays import Bools
from evenhand.kernels.compose import entry
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.rng import Seed
from evenhand.sampling.models.losses import Loss
from evenhand.sampling.optimistic import TIES, checked_ties
from evenhand.sampling.problem import Groups
from evenhand.sampling.sampler import Costs, Sampler
from evenhand.sampling.worlds import SyntheticModel1


@register("sampling/epsilon-greedy")
class EpsilonGreedySampler(Sampler):
    """With probability epsilon draw a group uniformly, otherwise the one with the largest validation risk.

    Parameters
    ----------
    groups : number of groups or their labels.
    model : None for logistic regression with C = 1, a classifier of scikit-learn or skorch, or an `EstimatorModel`.
    epsilon : probability of a uniform draw.
    warmup, forced, batch, ties, loss, costs, budget, classes, validation_rows, seed : as in `OptimisticSampler`.

    Raises
    ------
    ArgumentError
        If an argument is out of range.

    Examples
    --------
    >>> sampler = EpsilonGreedySampler(["u", "v"], epsilon=0.1, seed=1)
    >>> sampler.ask().reason
    'warm-up: every group in turn'

    Source: Shekhar, Fields, Ghavamzadeh, Javidi (2021), Section 5.
    """

    def __init__(
        self, groups: Groups, model: Any = None, *, epsilon: float = 0.1, warmup: int | None = None,
        forced: float | None = 0.5, batch: int = 1, ties: Literal["random", "first", "least"] = "random",
        loss: Loss = "zero_one", costs: Costs = None, budget: float | None = None,
        classes: Sequence[Label] | None = None, validation_rows: int | None = None, seed: Seed = None,
    ) -> None:  # fmt: skip
        super().__init__(groups, model, batch, warmup, forced, loss, costs, budget, classes, validation_rows, seed)
        self.epsilon = real("epsilon", epsilon, low=0.0, high=1.0)
        self.ties = checked_ties(ties)

    def select(self, available: Bools) -> tuple[int, str]:
        """Return a group by chance, or the one with the largest risk."""
        if _uniform(self._stream) < self.epsilon:
            return _drawn(np.ones(len(self.groups)), available, self._stream), "explored"
        return worst_off(self, available, self.ties)

    @classmethod
    def examples(cls) -> Iterator[tuple[Self, Any]]:
        """Yield samplers and worlds to try them on."""
        yield cls(["u", "v"], epsilon=0.1, seed=1), SyntheticModel1(instance="I")


@register("sampling/greedy")
class GreedySampler(Sampler):
    """Draw the group with the largest validation risk, always.

    Parameters
    ----------
    groups : number of groups or their labels.
    model : None for logistic regression with C = 1, a classifier of scikit-learn or skorch, or an `EstimatorModel`.
    warmup, forced, batch, ties, loss, costs, budget, classes, validation_rows, seed : as in `OptimisticSampler`.

    Raises
    ------
    ArgumentError
        If an argument is out of range.

    Examples
    --------
    >>> GreedySampler(["u", "v"], seed=1).ask().group
    'u'

    Source: Shekhar, Fields, Ghavamzadeh, Javidi (2021), Section 5.
    """

    def __init__(
        self, groups: Groups, model: Any = None, *, warmup: int | None = None, forced: float | None = 0.5,
        batch: int = 1, ties: Literal["random", "first", "least"] = "random", loss: Loss = "zero_one",
        costs: Costs = None, budget: float | None = None, classes: Sequence[Label] | None = None,
        validation_rows: int | None = None, seed: Seed = None,
    ) -> None:  # fmt: skip
        super().__init__(groups, model, batch, warmup, forced, loss, costs, budget, classes, validation_rows, seed)
        self.ties = checked_ties(ties)

    def select(self, available: Bools) -> tuple[int, str]:
        """Return the group with the largest risk."""
        return worst_off(self, available, self.ties)

    @classmethod
    def examples(cls) -> Iterator[tuple[Self, Any]]:
        """Yield samplers and worlds to try them on."""
        yield cls(["u", "v"], seed=1), SyntheticModel1(instance="II")


def worst_off(sampler: Sampler, available: Bools, ties: str) -> tuple[int, str]:
    """Return the available group with the largest validation risk; one with an unknown risk goes first."""
    sums, counts = sampler.validation_losses()
    risks = np.where(counts > 0, sums / np.maximum(counts, 1), np.inf)
    index = _largest(risks, available, TIES[ties], sampler._asked, sampler._cost, sampler._stream)
    return index, f"highest validation risk: {risks[index]:.4f}"


_uniform = entry(random.uniform)
_drawn = entry(sampling.drawn)
_largest = entry(sampling.largest)
