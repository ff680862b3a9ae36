"""The former name of `evenhand.policy`; it goes with the next version."""

import warnings
from typing import Any

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    from evenhand.policy import policy

    if name.startswith("__") or not hasattr(policy, name):
        raise AttributeError(f"module 'evenhand.online' has no attribute {name!r}")
    warnings.warn("evenhand.online is evenhand.policy now", DeprecationWarning, stacklevel=2)
    return getattr(policy, name)
