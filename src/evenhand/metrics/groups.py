"""Groups among decisions: which share of the pulls each group has, beside its share of the arms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.kernels.arrays import Floats


def group_names(groups: Mapping[Any, Any]) -> list[Any]:
    """Return the groups of a membership arm -> group, in the order in which they first appear."""
    return list(dict.fromkeys(groups.values()))


def arm_share(groups: Mapping[Any, Any]) -> Floats:
    """Return each group's share of the arms (n_groups,).

    >>> arm_share({"a": "F", "b": "M", "c": "M", "d": "M"}).tolist()
    [0.25, 0.75]
    """
    return np.array([list(groups.values()).count(name) / len(groups) for name in group_names(groups)])


def group_share(pulls: NDArray[Any], groups: Mapping[Any, Any]) -> Floats:
    """Return each group's share of the pulls (..., n_groups), given pulls (..., n_arms) in the order of `groups`.

    Before the first pull every share is not a number.

    >>> group_share(np.array([6, 1, 2, 1]), {"a": "F", "b": "M", "c": "M", "d": "M"}).tolist()
    [0.6, 0.4]
    """
    belongs = np.array([[group == name for name in group_names(groups)] for group in groups.values()], dtype=np.float64)
    total = pulls.sum(axis=-1, keepdims=True)
    return np.divide(
        pulls @ belongs, total, out=np.full((*pulls.shape[:-1], belongs.shape[1]), np.nan), where=total > 0
    )


def selection_rate_ratio(pulls: NDArray[Any], groups: Mapping[Any, Any]) -> NDArray[Any]:
    """Return the smallest over the largest of the groups' selection rates (...), pulls an arm and round.

    Below 0.8 the four-fifths rule of the Uniform Guidelines on Employee Selection Procedures (1978) sees adverse
    impact.

    >>> float(selection_rate_ratio(np.array([6, 1, 2, 1]), {"a": "F", "b": "M", "c": "M", "d": "M"}).round(3))
    0.222
    """
    rates = group_share(pulls, groups) / arm_share(groups)
    return np.asarray(rates.min(axis=-1) / rates.max(axis=-1))
