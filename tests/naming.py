"""Names of parametrized cases, the same in every process: no address of an object, no order of a set."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["at_night", "long", "named", "rest_at_night", "spread", "timed"]

QUICK = ("learners/ucb1", "learners/thompson", "quotas/fair-ucb", "quotas/fair-learn", "quotas/bernoulli-arms")
"""What stands for everything that is registered in the quick tests; the others compile for seconds each."""


def long(*values: Any) -> Any:
    """Return parameters of a case that is among the long tests."""
    return pytest.param(*values, marks=pytest.mark.slow)


def spread(cases: Iterable[Any], every: int) -> list[Any]:
    """Return the cases as parameters; one in `every` is run quickly, the others are in the long tests."""
    values = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*value) if number % every == 0 else long(*value) for number, value in enumerate(values)]


def timed(name: str, *more: Any) -> Any:
    """Return a registered name, and what belongs to it, as parameters; all but a few are in the long tests."""
    return pytest.param(name, *more) if name in QUICK else long(name, *more)


def at_night(*values: Any) -> Any:
    """Return parameters of a case that is run at night alone."""
    return pytest.param(*values, marks=pytest.mark.nightly)


def rest_at_night(case: Any, often: tuple[str, ...]) -> Any:
    """Return a function or class as a parameter, named as itself; those that are not run `often` are run at night."""
    name = case.__name__
    return pytest.param(case, id=name, marks=() if name in often else pytest.mark.nightly)


def named(value: Any) -> str:
    """Return a short text for a parameter, its memory addresses and the order of its sets taken out."""
    text = re.sub(r" at 0x[0-9a-f]+", "", repr(value))
    return re.sub(r"\{[^{}:]+\}", lambda s: "{" + ", ".join(sorted(s[0][1:-1].split(", "))) + "}", text)[:80]
