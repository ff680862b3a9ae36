"""The former place of `evenhand.save` and `evenhand.load`; it goes with the next version."""

import warnings
from typing import Any

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    from evenhand.saving import state

    if name.startswith("__") or not hasattr(state, name):
        raise AttributeError(f"module 'evenhand.state' has no attribute {name!r}")
    now = f"evenhand.{name}" if name in ("load", "save") else f"evenhand.saving.state.{name}"
    warnings.warn(f"evenhand.state.{name} is {now} now", DeprecationWarning, stacklevel=2)
    return getattr(state, name)
