"""The Hessian of logistic regression at an earlier optimum as an inverse that takes in new rows.

A product with the inverse costs a tenth of two triangular solutions with the Cholesky factor. A new row is a
correction of rank one, kept beside the inverse.

Source: J. Sherman and W. Morrison (1950), "Adjustment of an inverse matrix".
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsymv
from scipy.linalg.lapack import dpotri

FLOOR = 1e-12


class Curvature:
    """The Hessian I + A' D A over rows A = (1, Z), the intercept first and without penalty.

    `bend` (n,) is the diagonal of D: strength p (1 - p) of each row of Z (n, r). Coordinates beyond the r that it
    knows have the identity. `absorbed` counts the rows that were taken in since it was factored.
    """

    def __init__(self, Z: NDArray[np.float64], bend: NDArray[np.float64]) -> None:
        root = np.sqrt(bend)
        scaled = np.empty((len(Z), Z.shape[1] + 1))
        scaled[:, 0] = root
        np.multiply(Z, root[:, None], out=scaled[:, 1:])
        hessian = scaled.T @ scaled
        diagonal = np.diag_indices(len(hessian))
        hessian[diagonal] += np.append(FLOOR, np.ones(Z.shape[1]))
        hessian[diagonal] += FLOOR * hessian.trace()  # keeps huge ones positive in rounding
        self._factor: Any = cho_factor(hessian, lower=True, overwrite_a=True, check_finite=False)
        self._inverse: NDArray[np.float64] | None = None
        self.size = len(hessian)
        self.absorbed, self._width = 0, 0
        self._vectors, self._scales = np.zeros((0, 0)), np.zeros(0)

    def copy(self) -> Curvature:
        """Return a copy; rows that one of the two takes in later do not show in the other."""
        return copy(self)  # a row that was taken in never changes, and the number of them is the copy's own

    def invert(self) -> None:
        """Compute the inverse, which pays from the second refit on."""
        if self._inverse is None:
            self._inverse, _ = dpotri(np.asfortranarray(self._factor[0]), lower=1, overwrite_c=1)
            self._factor = None

    def solve(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the Hessian's inverse times the gradient (r + 1,); r may have grown."""
        found, head = gradient.copy(), gradient[: self.size]
        if self._inverse is None:
            found[: self.size] = cho_solve(self._factor, head, check_finite=False)
        else:
            found[: self.size] = dsymv(1.0, self._inverse, head, lower=1)
        if self.absorbed:
            vectors, width = self._vectors[: self.absorbed, : self._width], self._width
            found[:width] -= (self._scales[: self.absorbed] * (vectors @ gradient[:width])) @ vectors
        return found

    def absorb(self, z: NDArray[np.float64], bend: float) -> None:
        """Take in a row z (r,), r at least as large as in any row before, whose entry of D is `bend`."""
        row = np.append(1.0, z)
        solved, count, size = self.solve(row), self.absorbed, len(row)
        if count == len(self._vectors) or size > self._vectors.shape[1]:
            room = np.zeros((2 * count + 16, 2 * size))
            room[:count, : self._width] = self._vectors[:count, : self._width]
            self._vectors, self._scales = room, np.append(self._scales[:count], np.zeros(len(room) - count))
        self._vectors[count] = 0.0
        self._vectors[count, :size] = solved
        self._scales[count] = bend / (1.0 + bend * float(row @ solved))
        self.absorbed, self._width = count + 1, size
