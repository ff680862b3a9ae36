"""Plain bandit algorithms that problems build on, each from its own paper and a policy on its own."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.learners.adapter import Adapter
    from evenhand.learners.discounted_ucb import DiscountedUCB
    from evenhand.learners.epsilon_greedy import EpsilonGreedy
    from evenhand.learners.exp3 import Exp3
    from evenhand.learners.kl_ucb import KLUCB
    from evenhand.learners.lin_ucb import LinUCB
    from evenhand.learners.moss import MOSS
    from evenhand.learners.river_bandits import from_river
    from evenhand.learners.sklearn_models import from_sklearn
    from evenhand.learners.sliding_window_ucb import SlidingWindowUCB
    from evenhand.learners.thompson import Thompson
    from evenhand.learners.ucb1 import UCB1

__all__ = [
    "KLUCB",
    "MOSS",
    "UCB1",
    "Adapter",
    "DiscountedUCB",
    "EpsilonGreedy",
    "Exp3",
    "LinUCB",
    "SlidingWindowUCB",
    "Thompson",
    "from_river",
    "from_sklearn",
]

MODULES = {
    "Adapter": "adapter",
    "DiscountedUCB": "discounted_ucb",
    "EpsilonGreedy": "epsilon_greedy",
    "Exp3": "exp3",
    "KLUCB": "kl_ucb",
    "LinUCB": "lin_ucb",
    "MOSS": "moss",
    "SlidingWindowUCB": "sliding_window_ucb",
    "Thompson": "thompson",
    "UCB1": "ucb1",
    "from_river": "river_bandits",
    "from_sklearn": "sklearn_models",
}
"""The module of each name, which is imported when the name is first used."""
OF_LIBRARIES = ("river_bandits", "sklearn_models")
"""Our own modules of learners from elsewhere, whose functions every state file may name."""


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return __all__
