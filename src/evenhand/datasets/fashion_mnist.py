"""Fashion-MNIST: 28 x 28 grey pictures of ten kinds of clothing.

Source: H. Xiao, K. Rasul, R. Vollgraf (2017), Zalando Research, https://github.com/zalandoresearch/fashion-mnist.
Licence: MIT.

Known harms: none about people; the kinds follow one shop's catalogue.
"""

from __future__ import annotations

import gzip

import numpy as np
from numpy.typing import NDArray

from evenhand.datasets.fetching import fetch
from evenhand.datasets.images import Images

BASE = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
FILES = {
    "train-images-idx3-ubyte.gz": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    "train-labels-idx1-ubyte.gz": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    "t10k-images-idx3-ubyte.gz": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    "t10k-labels-idx1-ubyte.gz": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
}
NAMES = (
    "T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip


def load_fashion_mnist() -> Images:
    """Return Fashion-MNIST: 60,000 and 10,000 pictures (n, 1, 28, 28), bytes.

    Raises
    ------
    DatasetError
        If a file is absent and cannot be fetched, or has another checksum.
    """
    train, train_labels, test, test_labels = (_read(name) for name in FILES)
    return Images(train[:, None], train_labels, test[:, None], test_labels, NAMES)


def _read(name: str) -> NDArray[np.uint8]:
    data = gzip.decompress(fetch(f"fashion_mnist/{name}", FILES[name], BASE + name).read_bytes())
    axes = data[3]
    shape = tuple(int.from_bytes(data[4 + 4 * i : 8 + 4 * i], "big") for i in range(axes))
    return np.frombuffer(data, np.uint8, offset=4 + 4 * axes).reshape(shape)
