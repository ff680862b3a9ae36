"""Without regard to risks: every group alike, or as often as the population has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from evenhand.errors import SharesError, wanted
from evenhand.kernels import sampling
from evenhand.kernels.arrays import Bools
from evenhand.kernels.compose import entry
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.rng import Seed
from evenhand.sampling.models.losses import Loss
from evenhand.sampling.problem import Groups, per_group
from evenhand.sampling.sampler import Costs, Sampler
from evenhand.sampling.worlds import SyntheticModel1


@register("sampling/uniform")
class UniformSampler(Sampler):
    """Draw the groups in turn, so that all have the same number of examples.

    Parameters
    ----------
    groups : number of groups or their labels.
    model : None for logistic regression with C = 1, a classifier of scikit-learn or skorch, or an `EstimatorModel`.
    batch, loss, costs, budget, classes, validation_rows, seed : as in `OptimisticSampler`.

    Raises
    ------
    ArgumentError
        If an argument is out of range.

    Examples
    --------
    >>> sampler = UniformSampler(["u", "v", "w"], seed=1)
    >>> [sampler.ask().group for _ in range(4)]
    ['u', 'v', 'w', 'u']

    Source: Shekhar, Fields, Ghavamzadeh, Javidi (2021), Section 5.
    """

    in_turn = True

    def __init__(
        self, groups: Groups, model: Any = None, *, batch: int = 1, loss: Loss = "zero_one", costs: Costs = None,
        budget: float | None = None, classes: Sequence[Label] | None = None, validation_rows: int | None = None,
        seed: Seed = None,
    ) -> None:  # fmt: skip
        super().__init__(groups, model, batch, 1, None, loss, costs, budget, classes, validation_rows, seed)

    def select(self, available: Bools) -> tuple[int, str]:
        """Return the available group with the fewest draws."""
        return int(np.where(available, self._draws, np.iinfo(np.int64).max).argmin()), "every group in turn"

    @classmethod
    def examples(cls) -> Iterator[tuple[Self, Any]]:
        """Yield samplers and worlds to try them on."""
        yield cls(["u", "v"], seed=1), SyntheticModel1(instance="I")


@register("sampling/proportional")
class ProportionalSampler(Sampler):
    """Draw each group as often as it occurs in the population: what happens when nobody curates.

    Parameters
    ----------
    groups : number of groups or their labels.
    model : None for logistic regression with C = 1, a classifier of scikit-learn or skorch, or an `EstimatorModel`.
    proportions : weight of each group >= 0, by label or in the order of the groups.
    warmup, batch, loss, costs, budget, classes, validation_rows, seed : as in `OptimisticSampler`.

    Raises
    ------
    SharesError
        If all proportions are 0.
    ArgumentError
        If a proportion is missing or negative; UnknownArmError if one is for an unknown group.

    Examples
    --------
    >>> sampler = ProportionalSampler(["u", "v"], proportions={"u": 0.9, "v": 0.1}, warmup=1, seed=1)
    >>> draws = [sampler.ask().group for _ in range(100)]
    >>> 80 <= draws.count("u") <= 98
    True

    Source: "Uncurated" in Shekhar, Fields, Ghavamzadeh, Javidi (2021), Section 5.
    """

    def __init__(
        self, groups: Groups, model: Any = None, *, proportions: Mapping[Label, float] | Sequence[float],
        warmup: int | None = 1, batch: int = 1, loss: Loss = "zero_one", costs: Costs = None,
        budget: float | None = None, classes: Sequence[Label] | None = None, validation_rows: int | None = None,
        seed: Seed = None,
    ) -> None:  # fmt: skip
        super().__init__(groups, model, batch, warmup, None, loss, costs, budget, classes, validation_rows, seed)
        self._weights = per_group("proportions", proportions, self.groups)
        if self._weights.sum() <= 0:
            raise SharesError(wanted("proportions", "at least one above 0", proportions))
        self.proportions = dict(zip(self.groups, self._weights.tolist(), strict=True))

    def select(self, available: Bools) -> tuple[int, str]:
        """Return an available group drawn by its weight; where all weights left are 0, the groups alike."""
        weights = self._weights if (self._weights * available).sum() > 0 else np.ones(len(self.groups))
        return _drawn(weights, available, self._stream), "drawn as often as the population has it"

    @classmethod
    def examples(cls) -> Iterator[tuple[Self, Any]]:
        """Yield samplers and worlds to try them on."""
        yield cls(["u", "v"], proportions=[0.7, 0.3], seed=1), SyntheticModel1(instance="I")


_drawn = entry(sampling.drawn)
