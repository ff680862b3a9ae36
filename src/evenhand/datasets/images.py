"""What a loader of pictures returns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Images(NamedTuple):
    """Pictures (n, channels, height, width) as bytes with their classes (n,), for training and for testing, and the
    classes' names.
    """

    train: NDArray[np.uint8]
    train_labels: NDArray[np.uint8]
    test: NDArray[np.uint8]
    test_labels: NDArray[np.uint8]
    names: tuple[str, ...]


def scaled(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return pictures as single-precision numbers in [-1, 1]: mean 1/2 and standard deviation 1/2 of a channel
    taken out.

    >>> scaled(np.array([0, 255], np.uint8)).tolist()
    [-1.0, 1.0]
    """
    return np.asarray(images / np.float32(127.5) - np.float32(1.0), np.float32)
