"""Names of parametrized cases, the same in every process: no address of an object, no order of a set."""

from __future__ import annotations

import re
from typing import Any

import pytest

__all__ = ["long", "named", "timed"]

QUICK = ("learners/ucb1", "learners/thompson", "quotas/fair-ucb", "quotas/fair-learn", "quotas/bernoulli-arms")
"""What stands for everything that is registered in the quick tests; the others compile for seconds each."""


def long(*values: Any) -> Any:
    """Return parameters of a case that is among the long tests."""
    return pytest.param(*values, marks=pytest.mark.slow)


def timed(name: str) -> Any:
    """Return a registered name as a parameter; all but a few are in the long tests."""
    return name if name in QUICK else long(name)


def named(value: Any) -> str:
    """Return a short text for a parameter, its memory addresses and the order of its sets taken out."""
    text = re.sub(r" at 0x[0-9a-f]+", "", repr(value))
    return re.sub(r"\{[^{}:]+\}", lambda s: "{" + ", ".join(sorted(s[0][1:-1].split(", "))) + "}", text)[:80]
