"""CIFAR-10: 32 x 32 colour pictures of ten kinds of animals and vehicles.

Source: A. Krizhevsky (2009), "Learning Multiple Layers of Features from Tiny Images",
https://www.cs.toronto.edu/~kriz/cifar.html. No explicit licence; cite the report.

Known harms: the pictures come from 80 Million Tiny Images, which was withdrawn in 2020 for offensive labels;
CIFAR-10's own ten labels were checked by hand.
"""

from __future__ import annotations

import tarfile

import numpy as np
from numpy.typing import NDArray

from evenhand.datasets.fetching import fetch, folder
from evenhand.datasets.images import Images

URL = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
SHA256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
SUBSET = "cifar10/cifar10_subset.npz"
SUBSET_SHA256 = "1151916349a3921ba151a5bb129f59ff8ee2a779d30961fd838ced563ce348ad"
NAMES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def load_cifar10(*, subset: bool | None = None) -> Images:
    """Return CIFAR-10: pictures (n, 3, 32, 32), bytes; 50,000 for training, or a fifth of them, and 10,000 for
    testing.

    Parameters
    ----------
    subset : use the file with a fifth of the training pictures; None for whichever lies in the cache folder.

    Raises
    ------
    DatasetError
        If the file is absent and cannot be fetched, or has another checksum.
    """
    if subset or (subset is None and (folder() / SUBSET).exists()):
        how = "it is a derived file that is not published; use subset=False"
        with np.load(fetch(SUBSET, SUBSET_SHA256, None, how)) as file:
            train, test = (np.ascontiguousarray(file[n].transpose(0, 3, 1, 2)) for n in ("X_train", "X_test"))
            return Images(train, file["y_train"], test, file["y_test"], NAMES)
    with tarfile.open(fetch("cifar10/cifar-10-binary.tar.gz", SHA256, URL)) as archive:
        parts = [_batch(archive, f"data_batch_{i}.bin") for i in range(1, 6)]
        test, test_labels = _batch(archive, "test_batch.bin")
    train, labels = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Images(train, labels, test, test_labels, NAMES)


def _batch(archive: tarfile.TarFile, name: str) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    member = archive.extractfile(f"cifar-10-batches-bin/{name}")
    assert member is not None
    rows = np.frombuffer(member.read(), np.uint8).reshape(-1, 1 + 3 * 32 * 32)
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0]
