"""Error curves: how often each search names the wrong candidate, over budgets, instances and runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from evenhand.experiments.framework import Runner
from evenhand.interventions import CSR, SRIS, OneShot, Problem, TwoStageCSR
from evenhand.interventions.measures import simulated_searches
from evenhand.interventions.search import Search
from evenhand.jobs import run_all
from evenhand.plots.means import plot_means
from evenhand.plots.style import figure
from evenhand.rng import child

SEARCHES: dict[str, tuple[str, Callable[..., Search]]] = {
    "CSR-V1": ("no re-use", partial(CSR, reuse=False, pooled=False)),
    "CSR-V2": ("re-use", partial(CSR, pooled=False)),
    "TS-V1": ("two stages, no re-use", partial(TwoStageCSR, reuse=False)),
    "TS-V2": ("two stages, re-use", TwoStageCSR),
    "SRIS-V2": ("no constraint", lambda problem, tolerance, budget: SRIS(problem, budget=budget)),
    "OneShot": ("no phases", OneShot),
    "CSR pooled": ("ours", partial(CSR, delta=None)),
}
"""By the names of the paper what a picture says of them, and searches of a problem, `tolerance`, `budget`."""


def error_curves(
    problems: Sequence[Problem], tolerance: float, settings: dict[str, Any], runner: Runner, *, names: Sequence[str]
) -> pd.DataFrame:
    """Return a data frame with one row a search and budget: columns search, budget, runs, error, error_low,
    error_high, level, none.

    `error` is the share of runs that did not name the exact answer, with a 95 % Wilson interval; `none` the share
    that said that no candidate is fair. Settings used: budgets, runs (of each instance), seed.
    """
    key = hashlib.sha256(repr((settings, tolerance, list(names))).encode()).hexdigest()[:12]

    def one(problem: Problem, number: int, budget: int) -> pd.DataFrame:
        """Run one instance at one budget, or read what an interrupted run left."""
        kept = None if runner.store is None else runner.store / f"{key}-{number}-{budget}.csv"
        if kept is not None and kept.is_file():
            return pd.read_csv(kept)
        searches = {name: SEARCHES[name][1](problem, tolerance=tolerance, budget=budget) for name in names}
        seed = child(settings["seed"], number, budget)
        runs = simulated_searches(searches, replications=settings["runs"], seed=seed)
        runs["wrong"], runs["none"] = ~runs["correct"], runs["status"] == "no_fair_candidate"
        counts = runs.groupby("search", sort=False).agg(
            runs=("wrong", "size"), wrong=("wrong", "sum"), none=("none", "sum")
        )
        frame = counts.reset_index().assign(budget=budget)
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            frame.to_csv(kept, index=False)
        return frame

    work = ((problem, number, budget) for number, problem in enumerate(problems) for budget in settings["budgets"])
    done = run_all(one, work, runner.jobs)
    counts = pd.concat(done).groupby(["search", "budget"], sort=False)[["runs", "wrong", "none"]].sum().reset_index()
    counts["error"] = counts["wrong"] / counts["runs"]
    found = [
        binomtest(wrong, runs).proportion_ci(method="wilson") for wrong, runs in counts[["wrong", "runs"]].to_numpy()
    ]
    counts["error_low"], counts["error_high"] = np.transpose(found)
    counts["none"] /= counts["runs"]
    counts["level"] = 0.95
    return counts[["search", "budget", "runs", "error", "error_low", "error_high", "level", "none"]]


def drawn(curves: pd.DataFrame, title: str) -> tuple[Any, pd.DataFrame]:
    """Return the figure of a set of curves, and these."""
    picture, axes = figure(8.0, 3.8)
    meanings = {name: f"{name} ({what})" for name, (what, _) in SEARCHES.items()}
    table = curves.assign(search=curves["search"].replace(meanings))
    table = table.rename(columns={"error": "mean", "error_low": "low", "error_high": "high"})
    plot_means(table, "budget", "search", of="runs", title=title, across="trials", up="share of runs", ax=axes)
    return picture, curves


def error_at(curves: pd.DataFrame, search: str, budget: int | None = None, column: str = "error") -> float:
    """Return a search's error at a budget, the largest by default."""
    rows = curves[curves["search"] == search]
    return float(rows.loc[rows["budget"] == (budget or rows["budget"].max()), column].iloc[0])


def standard_error(curves: pd.DataFrame, one: str, other: str, budget: int | None = None) -> float:
    """Return the standard error of the difference of two errors."""
    variance = 0.0
    for search in (one, other):
        error, runs = (error_at(curves, search, budget, column) for column in ("error", "runs"))
        variance += error * (1 - error) / runs
    return float(variance**0.5)
