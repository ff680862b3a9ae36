"""What a search has found: the recommendation, and a table of what is known of every candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np

from evenhand.interventions.cells import Evidence
from evenhand.interventions.problem import Problem
from evenhand.interventions.shown import Shown
from evenhand.interventions.verdicts import gap_contrasts, outcome_contrasts
from evenhand.labels import label_texts
from evenhand.protocol import Label

Ends = tuple[Any, ...]
"""Estimates, lower ends, upper ends."""

__all__ = ["Recommendation", "Status", "estimated_ends", "gap_columns", "report", "shown_ends"]

Status = Literal["certified", "not_shown", "none_is_fair", "uncertified", "no_fair_candidate"]


class Found(NamedTuple):
    """What a recommendation unpacks to."""

    candidate: Label | None
    status: Status
    table: Any


class Recommendation(Found):
    """The candidate that the evidence speaks for.

    Attributes
    ----------
    candidate : its label; where the status is "not_shown" the best guess; None where no candidate is fair, or none is
        known to be.
    status : "certified", "not_shown" or "none_is_fair"; of searches by the paper's rules "certified", "uncertified" or
        "no_fair_candidate".
    table : data frame by candidate: `outcome`, `outcome_low`, `outcome_high`; for each pair of values a, b of S
        `gap[a, b]`, `gap_low[a, b]`, `gap_high[a, b]`, all in the outcome's units, missing where no trial speaks
        about them; `verdict`, "certified", "fair", "remains" or "dropped", with the `phase` and `reason` of a drop. The
        estimates rest on all that was told; the paper's rules judge by others, so that the candidate that they name
        need not be the highest of the table.
    confidence : the probability, at least, with which "certified" or "none_is_fair" is right; None for "not_shown", and
        for the paper's rules, which state none.
    """

    confidence: float | None = None


def gap_columns(a: Any, b: Any) -> tuple[str, str, str]:
    """Return the columns of a gap, its lower and its upper end.

    >>> gap_columns("f", "m")
    ('gap[f, m]', 'gap_low[f, m]', 'gap_high[f, m]')
    """
    return f"gap[{a}, {b}]", f"gap_low[{a}, {b}]", f"gap_high[{a}, {b}]"


def report(
    problem: Problem, outcomes: Ends, gaps: Ends, verdicts: Sequence[str], dropped: Mapping[int, tuple[int, str]]
) -> Any:
    """Return the table of a recommendation, from estimates of outcomes (K,) and gaps (pairs, K) with their ends."""
    import pandas as pd

    groups = label_texts(problem.groups, "/")
    columns: dict[str, Any] = {"candidate": list(problem.candidates)}
    for name, part in zip(("outcome", "outcome_low", "outcome_high"), outcomes, strict=True):
        columns[name] = problem.low + problem.scale * part
    for i, (a, b) in enumerate(permutations(range(len(groups)), 2)):
        if a < b:
            for name, part in zip(gap_columns(groups[a], groups[b]), gaps, strict=True):
                columns[name] = problem.scale * part[i]
    columns["verdict"] = verdicts
    why = [dropped.get(k, (None, "")) for k in range(len(problem.candidates))]
    columns["phase"] = pd.array([phase for phase, _ in why], dtype="Int64")
    columns["reason"] = [words for _, words in why]
    return pd.DataFrame(columns).set_index("candidate")


def estimated_ends(problem: Problem, told: Evidence, confidence: float) -> tuple[Ends, Ends]:
    """Return mixture estimates of outcomes and gaps with the ends of normal intervals, each at its own confidence, not
    a number where no trial speaks about them."""
    found, errors = problem.mixture(told), problem.mixture.errors(told)
    width = NormalDist().inv_cdf(0.5 + confidence / 2.0)
    ends = []
    for middle, error, known in zip(found[:2], errors, found[2:], strict=True):
        ends.append(tuple(np.where(known, middle + side * error, np.nan) for side in (0.0, -width, width)))
    return ends[0], ends[1]


def shown_ends(problem: Problem, tests: Shown, delta: float) -> tuple[Ends, Ends]:
    """Return estimates of outcomes and gaps with the ends of intervals that hold all at once."""
    outcomes, gaps = outcome_contrasts(problem.cells), gap_contrasts(problem.cells)
    level = delta / (len(outcomes) * (2 + len(gaps)))

    def ends(weights: Any, mass: float) -> Ends:
        middle = tests.estimate(weights, mass)
        low, high = tests.lower(weights, level, mass), -tests.lower(-weights, level, -mass)
        return middle, np.where(np.isnan(middle), np.nan, low), np.where(np.isnan(middle), np.nan, high)

    of_gaps = ends(gaps.reshape(-1, gaps.shape[-1]), 0.0)
    return ends(outcomes, 1.0), tuple(part.reshape(gaps.shape[:2]) for part in of_gaps)
