"""Rows in coordinates of their own span: the Cholesky factor of their Gram matrix, extended by new rows.

With X X' = L L', L lower triangular, the rows of L are the rows of X in an orthonormal basis of their span. n rows
have n coordinates there, however many features they have, and a penalty on the length of the coefficients is the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from evenhand.kernels import triangular
from evenhand.kernels.compose import entry

DEPENDENT = 1e-10
"""A row with less of its squared length outside the span of the rows before it gets no direction of its own."""
BLOCK = 8
"""From so many new rows on a block operation is faster than one row after the other."""


class GramFactor:
    """The factor L (n, n) of the Gram matrix of the first n rows that were given to `extend`.

    `blocks` holds the number of rows after each extension: the same blocks give the same bits.
    """

    def __init__(self) -> None:
        self._room = np.zeros((0, 0))
        self.blocks: list[int] = []

    def copy(self) -> GramFactor:
        """Return a copy; rows that one of the two adds later do not show in the other."""
        twin = GramFactor()
        twin._room, twin.blocks = self._room, self.blocks.copy()
        return twin

    @property
    def rows(self) -> int:
        """How many rows it knows."""
        return self.blocks[-1] if self.blocks else 0

    @property
    def factor(self) -> NDArray[np.float64]:
        """L (n, n), zero above the diagonal."""
        return self._room[: self.rows, : self.rows]

    def extend(self, X: NDArray[np.float64]) -> None:
        """Take in the rows of X (n, d) beyond those that are known."""
        known, count = self.rows, len(X)
        if count == known:
            return
        if count > len(self._room):
            room = np.zeros((max(64, 2 * count),) * 2)
            room[:known, :known] = self.factor
            self._room = room
        products = X @ X[known:].T
        if count - known < BLOCK or not self._block(products, known):
            for i in range(known, count):
                self._row(products[:, i - known], i)
        self.blocks.append(count)

    def _row(self, products: NDArray[np.float64], i: int) -> None:
        row = self._room[i]
        row[:] = 0.0
        _forward(self._room, np.ascontiguousarray(products[:i]), row[:i])
        rest = products[i] - row[:i] @ row[:i]
        row[i] = np.sqrt(rest) if rest > DEPENDENT * products[i] else 0.0

    def _block(self, products: NDArray[np.float64], known: int) -> bool:
        """Take in several rows at once, and return whether they are independent enough for it."""
        old = self.factor
        if known and not old.diagonal().all():
            return False
        head = solve_triangular(old, products[:known], lower=True, check_finite=False) if known else products[:0]
        own = products[known:] - head.T @ head
        try:
            corner = np.linalg.cholesky(own)
        except np.linalg.LinAlgError:
            return False
        if not (corner.diagonal() ** 2 > DEPENDENT * products[known:].diagonal()).all():
            return False
        count = known + len(own)
        self._room[known:count] = 0.0
        self._room[known:count, :known], self._room[known:count, known:count] = head.T, corner
        return True

    def coordinates(self, products: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coordinates (n,) of the vector that has these products (n,) with the rows."""
        found = np.zeros(len(products))
        _forward(self._room, np.ascontiguousarray(products), found)
        return found

    def shares(self, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the shares (n,) of the rows whose sum has these coordinates (n,)."""
        found = coordinates.copy()
        _backward(self._room, found)
        return found


_forward: Any = entry(triangular.forward)
_backward: Any = entry(triangular.backward)
