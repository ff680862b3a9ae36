"""How often the intervals for one look miss the truth, and how wide they are: `evaluate(..., interval="once")`.

python -m benchmarks.bench_intervals [--logs 10000] [--jobs 2]

A cell is a number of rows, a mean reward, a number of arms, an estimator, and what is evaluated: one arm, a
distribution, a difference of two, in rewards that stay or drift, or a policy that is refitted. No cell may miss
significantly more often than .05 (Holm's method at .01 over all cells). Widths stand beside Clopper and Pearson's,
times the weight, where one arm is evaluated, and beside those of the interval for every row elsewhere.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import binom, binomtest

import evenhand as eh

ERROR = 0.05
NAMED = {"arm": "arm", "reward": "reward", "propensity": "p"}
KINDS = ("one arm", "distribution", "difference", "drift", "refitted")
ARMS = {(200, 0.02): 4, (200, 0.3): 20, (2000, 0.02): 20, (2000, 0.3): 4}
"""By rows and mean reward: half of all combinations, in which each pair of values occurs."""
CELLS = [(*cell, arms, *how) for cell, arms in ARMS.items() for how in product(("ips", "dr"), KINDS)]
COMPARED = 300
"""Logs of a cell whose interval for every row is computed too: it takes longer, and its mean width varies little."""


def log_of(random: np.random.Generator, rows: int, rate: float, arms: int, drift: bool) -> tuple[Any, Any]:
    """Return a log drawn evenly in which each arm was tried, as all but 7 of 10,000 are where 200 rows are of 20 arms,
    and the mean rewards (n_arms,) of its arms over its rows. A policy of an arm that was never tried is refused."""
    means = rate * np.linspace(0.5, 1.5, arms)
    codes = random.integers(arms, size=rows)
    while len(np.unique(codes)) < arms:
        codes = random.integers(arms, size=rows)
    course = np.linspace(0.2, 1.8, rows) if drift else np.ones(rows)
    rewards = (random.random(rows) < means[codes] * course) * 1.0
    return pd.DataFrame({"arm": codes, "reward": rewards, "p": 1 / arms}), means


def candidates(kind: str, arms: int) -> tuple[Any, Any]:
    """Return what is evaluated, and its chances (n_arms,) or those of the difference."""
    one, rising = np.eye(arms)[arms // 2], np.arange(1, arms + 1) / (arms * (arms + 1) / 2)
    if kind == "one arm":
        return dict(enumerate(one)), one
    if kind == "difference":
        uniform = np.full(arms, 1 / arms)
        return {"uniform": dict(enumerate(uniform)), "rising": dict(enumerate(rising))}, rising - uniform
    return dict(enumerate(rising)), rising


def trial(seed: int, rows: int, rate: float, arms: int, estimator: Any, kind: str) -> tuple[bool, float, float]:
    """Return whether the interval of one log misses, its width, and that of the one it is measured by."""
    random = np.random.default_rng([seed, rows, arms, round(100 * rate)])
    log, means = log_of(random, rows, rate, arms, kind == "drift")
    policy, chances = candidates(kind, arms)
    played: list[int] = []
    if kind == "refitted":

        def fit(seen: Any) -> dict[int, float]:
            best = int(seen.groupby("arm")["reward"].mean().reindex(range(arms), fill_value=0.0).idxmax())
            played.append(best)
            return dict(enumerate(np.eye(arms)[best]))

        policy = eh.evaluation.Refitted(fit, blocks=5)
    found = eh.evaluate(log, policy, **NAMED, estimator=estimator, interval="once")
    low, high = ends_of(found)
    truth = float(chances @ means)
    if kind == "refitted":
        sizes = [len(part) for part in np.array_split(np.arange(rows), 5)][1:]
        truth = float(np.average(means[played], weights=sizes))
    other = np.nan
    if kind == "one arm":
        times = int(log["reward"][log["arm"] == arms // 2].sum())
        exact = binomtest(times, rows).proportion_ci(0.95, "exact")
        other = min(1.0, arms * exact.high) - min(1.0, arms * exact.low)
    elif seed < COMPARED:
        other = -np.subtract(*ends_of(eh.evaluate(log, policy, **NAMED, estimator=estimator)))
    return not low <= truth <= high, high - low, other


def ends_of(found: Any) -> tuple[float, float]:
    """Return the interval of a policy, or of the difference of two."""
    one = found.differences.iloc[0] if isinstance(found, eh.evaluation.Comparison) else found
    return one.low, one.high


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=10_000, help="logs of each cell")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--out", help="not used: the table is printed")
    arguments = parser.parse_args()
    rows = []
    with Parallel(n_jobs=arguments.jobs) as parallel:
        for cell in CELLS:
            found = parallel(delayed(trial)(seed, *cell) for seed in range(arguments.logs))
            missed, widths, others = np.array(found, float).T
            relative = widths[~np.isnan(others)].mean() / np.nanmean(others)
            surprise = binom.sf(missed.sum() - 1, len(found), ERROR)
            rows.append((*cell, missed.mean(), widths.mean(), relative, surprise))
            said = f"missed {missed.mean():.4f}, width {widths.mean():.4g}, {relative:.3f} of the other"
            print(*cell, said, flush=True)
    names = ["rows", "rate", "arms", "estimator", "kind", "missed", "width", "of the other", "p"]
    table = pd.DataFrame(rows, columns=names)
    by_holm = np.sort(table["p"].to_numpy()) * np.arange(len(table), 0, -1)
    print(table.groupby("kind")[["missed", "of the other"]].agg(["mean", "max"]).to_string())
    failed = by_holm[0] < 0.01 or table["of the other"].max() > 1.3
    print("a cell misses too often, or is too wide" if failed else "no cell misses too often or is too wide")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
