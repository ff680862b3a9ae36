"""Similarity: the fair program against scipy and a hot-started HiGHS model, and the speed of whole rounds. Ratios in
one run.

Run `python benchmarks/bench_similarity.py`.
"""

from __future__ import annotations

import time

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize import linprog
from tests.reference.similarity_program import HighsProgram

import evenhand as eh
from evenhand.similarity import (
    EllipsoidDistance,
    LinearContexts,
    LipschitzUCB,
    MahalanobisOracle,
    MomentDistance,
    ProjectedVolumeDistance,
    fair_distribution,
)


def seconds(function, cases) -> float:
    """Return the best of three mean times a case."""
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        for case in cases:
            function(*case)
        best = min(best, (time.perf_counter() - start) / len(cases))
    return best


def by_linprog(rewards, distances):
    k = len(rewards)
    i, j = np.nonzero(~np.eye(k, dtype=bool))
    rows = np.zeros((i.size + 1, k))
    rows[np.arange(i.size), i], rows[np.arange(i.size), j], rows[-1] = 1.0, -1.0, 1.0
    return -linprog(-rewards, A_ub=rows, b_ub=np.append(distances[i, j], 1.0), bounds=(0, 1), method="highs").fun


def programs() -> Table:
    table = Table("k", "ours", "linprog", "hot HiGHS", "linprog / ours", "HiGHS / ours", "largest difference")
    rng = np.random.default_rng(1)
    for k in (5, 10, 20):
        contexts = np.abs(rng.normal(size=(300, k, 3)))
        contexts /= np.linalg.norm(contexts, axis=2, keepdims=True)
        distances = 0.3 * np.linalg.norm(contexts[:, :, None] - contexts[:, None], axis=3)
        cases = list(zip(rng.uniform(size=(300, k)), distances, strict=True))
        hot = HighsProgram(k, True)
        worst = max(abs(rewards @ fair_distribution(rewards, c) - hot.solve(rewards, c)[0]) for rewards, c in cases)
        ours = seconds(fair_distribution, cases)
        scipy, highs = seconds(by_linprog, cases[:60]), seconds(hot.solve, cases)
        cells = [f"{1e6 * t:.1f} us" for t in (ours, scipy, highs)]
        table.add_row(str(k), *cells, f"{scipy / ours:.0f}", f"{highs / ours:.0f}", f"{worst:.1e}")
    return table


def rounds() -> Table:
    table = Table("learner", "d", "k", "rounds a second", "verdicts that taught")
    rng = np.random.default_rng(2)
    for name, learner, length in (
        ("ellipsoid", EllipsoidDistance(), 200_000),
        ("moments", MomentDistance(), 3_000),
        ("projected volume", ProjectedVolumeDistance(seed=1), 3_000),
    ):
        for d, k in ((2, 5), (3, 5), (3, 10), (5, 5), (5, 8)):
            A, theta = 0.3 * rng.normal(size=(2, d)), np.abs(rng.normal(size=d)) / np.sqrt(d)
            world = LinearContexts(theta, MahalanobisOracle(A, seed=1), individuals=k)
            policy = LipschitzUCB(d, metric=learner, seed=1)
            eh.simulate(policy, world, rounds=10, seed=1, jobs=1)
            start = time.perf_counter()
            history = eh.simulate(policy, world, rounds=length, seed=1, jobs=1, checkpoints=[length])
            speed = length / (time.perf_counter() - start)
            table.add_row(name, str(d), str(k), f"{speed:,.0f}", f"{history.metric_updates.item():.0f}")
    return table


if __name__ == "__main__":
    console = Console()
    console.print(programs())
    console.print(rounds())
