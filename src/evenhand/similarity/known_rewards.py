"""Algorithm 1 of Gillen, Jung, Kearns and Roth: rewards are known, and only the metric is learned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from numpy.typing import ArrayLike

from evenhand.registry import register
from evenhand.rng import Seed
from evenhand.similarity.learner import DistanceLearner
from evenhand.similarity.lipschitz_ucb import LipschitzUCB, OnContradiction, Silence
from evenhand.similarity.oracles import MahalanobisOracle
from evenhand.similarity.program import Select
from evenhand.similarity.reading import read_theta
from evenhand.similarity.scale import Scale


@register("similarity/known-reward-lipschitz")
class KnownRewardLipschitz(LipschitzUCB):
    """Choose with fair probabilities where each individual's reward is known, while the metric is learned.

    Parameters
    ----------
    theta : the weights of the rewards (d,): an individual with context x has the reward <x, theta>.
    precision, metric, select, margin, individuals, silence, scale, on_contradiction, seed : as for `LipschitzUCB`.

    Raises
    ------
    ArgumentError
        If an argument is out of range.

    Examples
    --------
    >>> policy = KnownRewardLipschitz([0.9, 0.1], seed=1)
    >>> policy.ask([[1.0, 0.0], [1.0, 0.0]]).probabilities
    array([0.5, 0.5])

    Source: Gillen, Jung, Kearns, Roth (2018), Algorithm 1, Theorem 1.
    """

    def __init__(
        self,
        theta: ArrayLike,
        *,
        precision: float = 0.02,
        metric: DistanceLearner | None = None,
        select: Select = "one",
        margin: bool = True,
        individuals: int | None = None,
        silence: Silence = "acceptable",
        scale: Scale | None = None,
        on_contradiction: OnContradiction = "refuse",
        seed: Seed = None,
    ) -> None:
        super().__init__(
            theta=read_theta(theta),
            precision=precision,
            metric=metric,
            select=select,
            margin=margin,
            individuals=individuals,
            silence=silence,
            scale=scale,
            on_contradiction=on_contradiction,
            seed=seed,
        )

    @classmethod
    def _examples(cls) -> Iterator[tuple[Self, Any]]:
        from evenhand.similarity import LinearContexts

        world = LinearContexts([0.5, -0.3], MahalanobisOracle([[0.4, 0.1]], seed=3), individuals=3, select="many")
        yield cls([0.5, -0.3], select="many", seed=1), world
