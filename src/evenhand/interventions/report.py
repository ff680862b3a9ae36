"""What a search has found: the recommendation, and a table of what is known of every candidate."""

from __future__ import annotations

from itertools import permutations
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from evenhand.interventions.cells import Evidence
from evenhand.protocol import Label

if TYPE_CHECKING:
    from evenhand.interventions.search import Search

__all__ = ["Recommendation", "Status", "gap_columns", "report"]

Status = Literal["certified", "uncertified", "no_fair_candidate"]


class Recommendation(NamedTuple):
    """The candidate that the evidence speaks for.

    Attributes
    ----------
    candidate : its label; None where there is no fair candidate.
    status : "certified", "uncertified" or "no_fair_candidate".
    table : data frame by candidate: `outcome`, `outcome_low`, `outcome_high`; for each pair of values a, b of S
        `gap[a, b]`, `gap_low[a, b]`, `gap_high[a, b]`, all in the outcome's units, missing where no trial speaks
        about them; `verdict`, "certified", "remains" or "dropped", with the `phase` and `reason` of a drop. The
        estimates are mixture estimates of all that was told; the paper's rules judge by clipped ones, so that the
        named candidate need not be the highest of the table.
    """

    candidate: Label | None
    status: Status
    table: Any


def gap_columns(a: Any, b: Any) -> tuple[str, str, str]:
    """Return the columns of a gap, its lower and its upper end.

    >>> gap_columns("f", "m")
    ('gap[f, m]', 'gap_low[f, m]', 'gap_high[f, m]')
    """
    a, b = ("/".join(map(str, group)) if isinstance(group, tuple) else group for group in (a, b))
    return f"gap[{a}, {b}]", f"gap_low[{a}, {b}]", f"gap_high[{a}, {b}]"


def report(search: Search, evidence: Evidence, confidence: float) -> Any:
    """Return the table of a recommendation: mixture estimates of all that was told, with normal intervals."""
    import pandas as pd

    problem, groups = search.problem, search.problem.groups
    found, errors = problem.mixture(evidence), problem.mixture.errors(evidence)
    width = NormalDist().inv_cdf(0.5 + confidence / 2.0)
    columns: dict[str, Any] = {"candidate": list(problem.candidates)}

    def show(names: tuple[str, str, str], middle: Any, error: Any, known: Any, low: float) -> None:
        for name, side in zip(names, (0.0, -width, width), strict=True):
            columns[name] = np.where(known, low + problem.scale * (middle + side * error), np.nan)

    names = ("outcome", "outcome_low", "outcome_high")
    show(names, found.outcomes, errors[0], found.outcome_known, problem.low)
    for i, (a, b) in enumerate(permutations(range(len(groups)), 2)):
        if a < b:
            show(gap_columns(groups[a], groups[b]), found.gaps[i], errors[1][i], found.gap_known[i], 0.0)
    certified = search.certified & search.remaining
    columns["verdict"] = np.where(search.remaining, np.where(certified, "certified", "remains"), "dropped")
    dropped = [search.dropped.get(k, (None, "")) for k in range(len(problem.candidates))]
    columns["phase"] = pd.array([phase for phase, _ in dropped], dtype="Int64")
    columns["reason"] = [why for _, why in dropped]
    return pd.DataFrame(columns).set_index("candidate")
