"""Real data, one loader a file: source, licence, checksum, known harms."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.datasets.adult import adult as load_adult
    from evenhand.datasets.cifar10 import cifar10 as load_cifar10
    from evenhand.datasets.compas import load_compas
    from evenhand.datasets.diabetes import load_diabetes
    from evenhand.datasets.family_income import load_family_income
    from evenhand.datasets.fashion_mnist import fashion_mnist as load_fashion_mnist
    from evenhand.datasets.german import german as load_german
    from evenhand.datasets.hepar2 import fetch_hepar2
    from evenhand.datasets.open_bandit import fetch_open_bandit
    from evenhand.datasets.utkface import utkface as load_utkface

__all__ = [
    "fetch_hepar2",
    "fetch_open_bandit",
    "load_adult",
    "load_cifar10",
    "load_compas",
    "load_diabetes",
    "load_family_income",
    "load_fashion_mnist",
    "load_german",
    "load_utkface",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    last = name.partition("_")[2]
    module = importlib.import_module(f"{__name__}.{last}")
    value = globals()[name] = getattr(module, name, None) or getattr(module, last)
    return value


def __dir__() -> list[str]:
    return __all__
