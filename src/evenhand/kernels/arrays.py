"""Short names for the arrays that kernels work on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
"""The state of a random stream, see `evenhand.kernels.random`."""
