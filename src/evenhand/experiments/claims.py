"""A paper's claims and the verdicts on them: reproduced, not reproduced, or inconclusive where settings are too small.

A claim that holds or fails at any size, such as an exact identity, names no needs. Every other one names the least
settings at which its tolerance decides. In smaller settings its verdict is inconclusive, unless the numbers leave no
doubt: then the mean lies at least `CLEAR` standard errors from where the verdict would turn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

CLEAR = 3.0


@dataclass(frozen=True)
class Claim:
    """What a paper says: its words in ours, where it says so, what counts as reproduced, and which settings it needs.

    Attributes
    ----------
    needs : the least settings by name, such as {"rounds": 1_000_000}; of a setting with several values the largest
        counts. Empty where the claim can be judged at any size.
    """

    says: str
    where: str
    tolerance: str
    needs: Mapping[str, float] = field(default_factory=dict)

    def verdict(self, reproduced: bool, measured: str, settings: Any = None, *, certainty: float = 0.0) -> Verdict:
        """Return the verdict on this claim, with what was measured in words and numbers.

        Parameters
        ----------
        settings : what was run; a claim with needs requires them.
        certainty : standard errors between the measurement and where the verdict would turn, where they are known.
        """
        lacking = {name: least for name, least in self.needs.items() if _size(settings, name) < least}
        return Verdict(self, bool(reproduced), measured, {} if certainty >= CLEAR else lacking)


@dataclass(frozen=True)
class Verdict:
    """Whether a claim was reproduced, what was measured, and what the settings lack to judge it."""

    claim: Claim
    reproduced: bool
    measured: str
    lacking: Mapping[str, float] = field(default_factory=dict)

    @property
    def conclusive(self) -> bool:
        """Whether the settings were large enough to judge the claim."""
        return not self.lacking

    @property
    def word(self) -> Literal["reproduced", "not reproduced", "inconclusive"]:
        """The verdict in a word."""
        if not self.conclusive:
            return "inconclusive"
        return "reproduced" if self.reproduced else "not reproduced"

    @property
    def text(self) -> str:
        """The verdict for people: an inconclusive one says what it needs."""
        needs = ", ".join(f"{name} >= {least:,}" for name, least in self.lacking.items())
        return self.word if self.conclusive else f"{self.word}: needs {needs}"

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
        return {
            "claim": self.claim.says,
            "where": self.claim.where,
            "tolerance": self.claim.tolerance,
            "measured": self.measured,
            "verdict": self.word,
            "needs": dict(self.lacking),
        }


def certainty(slack: ArrayLike, error: ArrayLike, runs: int) -> float:
    """Return how certain the sign of the least slack is, in standard errors of a normal law.

    Parameters
    ----------
    slack : by how much each tolerance was met, below zero where it was not; means over the runs.
    error : the standard error of each.
    runs : the number of runs; with few of them a standard error is itself uncertain (Student's law).

    Examples
    --------
    >>> round(certainty([0.4, 0.9], [0.1, 0.1], 100), 1)
    3.8
    >>> round(certainty([0.4, 0.9], [0.1, 0.1], 3), 1)
    1.9
    """
    from scipy.stats import norm, t

    with np.errstate(divide="ignore", invalid="ignore"):
        least = float(np.min(np.asarray(slack, dtype=np.float64) / np.asarray(error, dtype=np.float64)))
    return float(norm.isf(t.sf(abs(least), runs - 1))) if runs > 1 else 0.0


def critical_value(runs: int) -> float:
    """Return how many standard errors a mean over `runs` must exceed to count: Student's 97.5 % quantile, at least two.

    Examples
    --------
    >>> [round(critical_value(runs), 2) for runs in (3, 10, 500)]
    [4.3, 2.26, 2.0]
    """
    from scipy.stats import t

    return max(2.0, float(t.ppf(0.975, runs - 1))) if runs > 1 else math.inf


def _size(settings: Any, name: str) -> float:
    value = settings[name] if isinstance(settings, Mapping) else getattr(settings, name)
    return max(value) if isinstance(value, (tuple, list)) else value
