"""What a policy remembers of a decision that is not told yet, and what a file keeps of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from evenhand.kernels.arrays import Floats
from evenhand.policy.kernel_set import LazyProbabilities
from evenhand.protocol import Label


class OpenDecision(NamedTuple):
    """A decision whose reward is awaited.

    Attributes
    ----------
    said : its round, None where nobody knows it, its arm, and the arm's index: what its ticket must still show.
    shown : the contexts of its round.
    probability : with which it was taken.
    slate : the indices of the arms of a round that played several, None otherwise.
    """

    said: tuple[int | None, Label, int]
    shown: Floats
    probability: float | LazyProbabilities
    slate: tuple[int, ...] | None = None

    @property
    def round(self) -> int:
        """The round of the decision, 0 where nobody knows it."""
        return self.said[0] or 0

    @property
    def indexes(self) -> list[int]:
        """The indices of the arms that were played."""
        return [self.said[2]] if self.slate is None else list(self.slate)

    def chance_of(self, index: int) -> float:
        """Return with which probability an arm was played."""
        return float(self.probability()[index]) if callable(self.probability) else self.probability

    def saved(self) -> tuple[int, Any, Floats, float]:
        """Return what a file keeps: round, index or indices, contexts, probability."""
        index = self.said[2]
        return self.round, index if self.slate is None else np.array(self.slate), self.shown, self.chance_of(index)

    @classmethod
    def restored(cls, labels: Sequence[Label], slates: bool, kept: tuple[int, Any, Floats, float]) -> Self:
        """Return what is remembered, from what a file kept."""
        round, index, shown, probability = kept
        slate = index.tolist() if isinstance(index, np.ndarray) and slates else [index]
        said = round or None, labels[slate[0]], slate[0]
        return cls(said, shown, probability, tuple(slate) if slates else None)

    @staticmethod
    def logged(
        decided: Mapping[str, Any], shown: Floats, certain: bool, slates: bool
    ) -> tuple[int, Any, Floats, float]:
        """Return what a file would keep, from what a log says that was decided; `certain` where nothing is drawn."""
        chance, probabilities = 1.0 if certain else math.nan, decided.get("probabilities")
        if decided.get("propensity") is not None:
            chance = float(decided["propensity"])
        elif probabilities is not None and not certain:
            chance = float(probabilities[decided["index"]])
        return decided["round"], np.array(decided["indexes"], np.int64) if slates else decided["index"], shown, chance
