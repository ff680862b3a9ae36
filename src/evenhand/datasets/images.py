"""Pictures; each loader names the source, licence and known harms."""

from __future__ import annotations

import gzip
import tarfile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.datasets.fetching import fetch, folder

FASHION_URL = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
FASHION_FILES = {
    "train-images-idx3-ubyte.gz": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    "train-labels-idx1-ubyte.gz": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    "t10k-images-idx3-ubyte.gz": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    "t10k-labels-idx1-ubyte.gz": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
}
CLOTHES = (
    "T-shirt",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
CIFAR10_URL = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
CIFAR10_SHA256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
CIFAR10_SUBSET = "cifar10/cifar10_subset.npz"
CIFAR10_SUBSET_SHA256 = "1151916349a3921ba151a5bb129f59ff8ee2a779d30961fd838ced563ce348ad"
CIFAR10_NAMES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
UTKFACE_SUBSET = "utkface/utkface_50x50_subset.npz"
UTKFACE_SUBSET_SHA256 = "eaaccdb4e9238a461b0a2f8f498c723dfbb23a40a0bba19b3e5ee32483c8daa2"
ETHNICITIES = ("White", "Black", "Asian", "Indian", "Others")
UTKFACE_HOW = (
    "it holds at most 700 faces for each gender and ethnicity of the publisher's folder crop_part1, reduced to "
    "50 x 50 pixels; ask the publisher for the pictures"
)


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
    """Return pictures (n, ...) as single-precision numbers in [-1, 1], each channel scaled by a mean of 1/2 and a
    standard deviation of 1/2.

    >>> scaled(np.array([0, 255], np.uint8)).tolist()
    [-1.0, 1.0]
    """
    return np.asarray(images / np.float32(127.5) - np.float32(1.0), np.float32)


def load_fashion_mnist() -> Images:
    """Return Fashion-MNIST: pictures (n, 1, 28, 28), bytes; 60,000 for training and 10,000 for testing.

    Fashion-MNIST: 28 x 28 grey pictures of ten kinds of clothing.

    Source: H. Xiao, K. Rasul, R. Vollgraf (2017), Zalando Research, https://github.com/zalandoresearch/fashion-mnist.
    Licence: MIT.

    Known harms: none about people; the kinds follow one shop's catalogue.

    Raises
    ------
    DatasetError
        If a file is absent and cannot be fetched, or has another checksum.
    """
    train, train_labels, test, test_labels = (_read_idx(name) for name in FASHION_FILES)
    return Images(train[:, None], train_labels, test[:, None], test_labels, CLOTHES)


def _read_idx(name: str) -> NDArray[np.uint8]:
    data = gzip.decompress(fetch(f"fashion_mnist/{name}", FASHION_FILES[name], FASHION_URL + name).read_bytes())
    axes = data[3]
    shape = tuple(int.from_bytes(data[4 + 4 * i : 8 + 4 * i], "big") for i in range(axes))
    return np.frombuffer(data, np.uint8, offset=4 + 4 * axes).reshape(shape)


def load_cifar10(*, subset: bool | None = None) -> Images:
    """Return CIFAR-10: pictures (n, 3, 32, 32), bytes; 50,000 for training, or a fifth of them, and 10,000 for
    testing.

    CIFAR-10: 32 x 32 colour pictures of ten kinds of animals and vehicles.

    Source: A. Krizhevsky (2009), "Learning Multiple Layers of Features from Tiny Images",
    https://www.cs.toronto.edu/~kriz/cifar.html. No explicit licence; cite the report.

    Known harms: the pictures come from 80 Million Tiny Images, which was withdrawn in 2020 for offensive labels;
    CIFAR-10's own ten labels were checked by hand.

    Parameters
    ----------
    subset : use the file with a fifth of the training pictures; None for whichever lies in the cache folder.

    Raises
    ------
    DatasetError
        If the file is absent and cannot be fetched, or has another checksum.
    """
    if subset or (subset is None and (folder() / CIFAR10_SUBSET).exists()):
        how = "this derived file is not published; use subset=False"
        with np.load(fetch(CIFAR10_SUBSET, CIFAR10_SUBSET_SHA256, None, how)) as file:
            train, test = (np.ascontiguousarray(file[n].transpose(0, 3, 1, 2)) for n in ("X_train", "X_test"))
            return Images(train, file["y_train"], test, file["y_test"], CIFAR10_NAMES)
    with tarfile.open(fetch("cifar10/cifar-10-binary.tar.gz", CIFAR10_SHA256, CIFAR10_URL)) as archive:
        parts = [_read_batch(archive, f"data_batch_{i}.bin") for i in range(1, 6)]
        test, test_labels = _read_batch(archive, "test_batch.bin")
    train, labels = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Images(train, labels, test, test_labels, CIFAR10_NAMES)


def _read_batch(archive: tarfile.TarFile, name: str) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    member = archive.extractfile(f"cifar-10-batches-bin/{name}")
    assert member is not None
    rows = np.frombuffer(member.read(), np.uint8).reshape(-1, 1 + 3 * 32 * 32)
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0]


class Faces(NamedTuple):
    """Pictures (n, 3, 50, 50) as bytes, gender (n,) 0 male and 1 female, ethnicity (n,) as its position in
    `ETHNICITIES`, and age (n,) in years.
    """

    images: NDArray[np.uint8]
    gender: NDArray[np.uint8]
    ethnicity: NDArray[np.uint8]
    age: NDArray[np.uint8]


def load_utkface() -> Faces:
    """Return 5,497 faces of UTKFace.

    UTKFace: aligned and cropped faces with age, gender and ethnicity.

    Source: Z. Zhang, Y. Song, H. Qi (2017), University of Tennessee, https://susanqq.github.io/UTKFace/. Non-commercial
    research use only; the copyright of the pictures stays with their owners.

    Known harms: pictures were collected from the web without the consent of those shown; gender and ethnicity were
    guessed by a classifier and checked by people, in two and five categories that no person was asked about. Guessing
    gender from faces harms people; the data serves to show how unevenly it fails.

    Raises
    ------
    DatasetError
        If the file is absent or has another checksum; the publisher asks for consent, so that it cannot be fetched.
    """
    with np.load(fetch(UTKFACE_SUBSET, UTKFACE_SUBSET_SHA256, None, UTKFACE_HOW)) as file:
        return Faces(file["images"], file["gender"], file["race"], file["age"])
