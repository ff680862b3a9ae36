"""Policies: how they are asked and told, what they say of themselves, and how they are compiled and saved."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.policy.policy import FORCED, KernelPolicy, Kernels, certain, drawn, reason, unknown

__all__ = ["FORCED", "KernelPolicy", "Kernels", "certain", "drawn", "reason", "unknown"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("evenhand.policy.policy"), name)
