"""What the image experiments learn: pairs of clothes, pairs of animals and vehicles, gender by ethnicity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from evenhand.datasets.images import Images as Pictures
from evenhand.datasets.images import scaled
from evenhand.experiments.sampling.settings import Images
from evenhand.rng import generator
from evenhand.sampling import ArrayPool, label_pairs

PAIRS = {
    "fashion-mnist": (
        ("T-shirt", "Shirt"), ("Trouser", "Dress"), ("Pullover", "Coat"), ("Sandal", "Bag"),
        ("Sneaker", "Ankle boot"),
    ),
    "cifar10": (("airplane", "ship"), ("automobile", "truck"), ("bird", "cat"), ("deer", "dog"), ("frog", "horse")),
}  # fmt: skip


class Task(NamedTuple):
    """A pool to draw from, held-out rows, and the network's shape."""

    pool: ArrayPool
    X: Any
    y: Any
    group: Any
    shape: dict[str, Any]


TaskFor = Callable[[int], Task]
"""From a trial's seed to its task."""


def fashion_mnist_task(settings: Images, seed: int) -> Task:
    """Return five pairs of clothes; the network without the second convolution."""
    from evenhand.datasets.fashion_mnist import load_fashion_mnist

    return _pairs(load_fashion_mnist(), settings, {"channels": 1, "size": 28, "second": False, "seed": seed})


def cifar10_task(settings: Images, seed: int) -> Task:
    """Return five pairs of animals and vehicles."""
    from evenhand.datasets.cifar10 import load_cifar10

    return _pairs(load_cifar10(), settings, {"channels": 3, "size": 32, "second": True, "seed": seed})


def utkface_task(settings: Images, seed: int) -> Task:
    """Return gender by five ethnicities, a fresh split for each trial: four fifths to draw from."""
    from evenhand.datasets.utkface import ETHNICITIES, load_utkface

    faces = load_utkface()
    group = np.array(ETHNICITIES)[faces.ethnicity]
    order = generator(seed, 2).permutation(len(group))
    drawn, held = order[: 4 * len(order) // 5], order[4 * len(order) // 5 :]
    pool = ArrayPool(scaled(faces.images[drawn]), faces.gender[drawn], group=group[drawn], replace=settings.replace)
    shape = {"channels": 3, "size": 50, "second": True, "seed": seed}
    return Task(pool, scaled(faces.images[held]), faces.gender[held], group[held], shape)


def shortened(task: Task, settings: Images) -> Task:
    """Keep `test_rows` of the held-out rows, where there are so many."""
    if settings.test_rows is None or settings.test_rows >= len(task.y):
        return task
    kept = generator(settings.seed, 3).permutation(len(task.y))[: settings.test_rows]
    return task._replace(X=task.X[kept], y=task.y[kept], group=task.group[kept])


def _pairs(pictures: Pictures, settings: Images, shape: dict[str, Any]) -> Task:
    numbers = {name: i for i, name in enumerate(pictures.names)}
    pairs: dict[Any, Any] = {f"{a} / {b}": (numbers[a], numbers[b]) for a, b in PAIRS[settings.data]}
    pool = label_pairs(scaled(pictures.train), pictures.train_labels, pairs, replace=settings.replace)
    held = label_pairs(scaled(pictures.test), pictures.test_labels, pairs)
    return Task(pool, held.X, held.y, np.array(held.groups)[held.group], shape)
