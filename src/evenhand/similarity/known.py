"""A metric that needs no learning: the yardstick of the experiments, and their extremes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.typing import ArrayLike

from evenhand.errors import ArgumentError, wanted
from evenhand.kernels.compose import kernel
from evenhand.registry import register
from evenhand.similarity.learner import DistanceLearner
from evenhand.similarity.metric import NOTHING
from evenhand.similarity.oracles import checked_matrix


@kernel
def cut(state: Any, copy: Any, value: Any, sign: Any, precision: Any) -> Any:
    return NOTHING


@register("similarity/known-distance", kind="part")
class KnownDistance(DistanceLearner):
    """The distance ||A(x - y)||_2, known from the start; verdicts change nothing.

    `A = 0` treats everybody alike; a large `A` leaves everybody unconstrained.

    Parameters
    ----------
    A : the matrix (r, d).

    Raises
    ------
    ArgumentError
        If A is not a finite matrix.

    Examples
    --------
    >>> KnownDistance([[0.3, 0.0]]).bounds([1.0, 0.0], [0.0, 1.0])[1]
    0.3
    """

    cut = cut

    def __init__(self, A: ArrayLike) -> None:
        self.A = checked_matrix(A)
        super().__init__(radius=1.0, structure="full", precision=0.0)

    @classmethod
    def examples(cls) -> Iterator[KnownDistance]:
        yield cls([[0.3, 0.0]])

    def reach(self, m: int) -> tuple[float, float]:
        return 0.0, 0.0

    def _allocate(self, dimension: int, copies: int) -> None:
        if dimension != self.A.shape[1]:
            raise ArgumentError(wanted("dimension", f"{self.A.shape[1]}, the columns of A", dimension))
        super()._allocate(dimension, copies)
        self.state.centre[0] = (self.A.T @ self.A).ravel()
