"""How fast searches run: ratios measured in one run.

    python benchmarks/bench_interventions.py

Per-sample weights: the same CSR-V2 with the same programs, every sample drawn by itself and its weights for all
candidates computed in numpy, as one would write it from formulas (3) and (4).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import permutations

import numpy as np
from scipy.optimize import linprog

from evenhand.cli.output import table
from evenhand.errors import DatasetError
from evenhand.experiments.interventions.constraints import LOOSE
from evenhand.experiments.interventions.curves import SEARCHES
from evenhand.experiments.interventions.hepar import CODINGS, hepar2_problem
from evenhand.experiments.interventions.instances import instance
from evenhand.interventions import CSR, CausalModel, Problem, Rows
from evenhand.interventions.draws import Draws
from evenhand.interventions.estimators import Estimates
from evenhand.interventions.measures import replay, simulated_searches

RUNS = 60


def per_run(work: Callable[[int], object], runs: int) -> float:
    """Return the processor time of a call in milliseconds: the fastest of five batches, after one call to warm up."""
    work(0)
    batches = []
    for _ in range(5):
        started = time.process_time()
        for number in range(1, runs + 1):
            work(number)
        batches.append(1e3 * (time.process_time() - started) / runs)
    return min(batches)


def per_sample(search: CSR, random: np.random.Generator, cold: bool = False) -> None:
    """Run CSR-V2 sample by sample: S -> V -> Y, tables (K, 2, 20); `cold` solves a program by scipy each phase."""
    problem = search.problem
    tables, right = problem.tables, problem.model.tables["Y"][:, 1]
    m, pairs = problem.outcome_divergence, list(permutations(range(2), 2))
    d = {pair: problem.gap_divergence[pair] for pair in pairs}
    search.begin()
    drawn: list[np.ndarray] = []
    k = len(tables)
    while not search.finished:
        plan = search.plan()
        if cold:
            cold_program(problem, 0.01)
        for row, j in np.argwhere(plan > 0):
            count = plan[row, j]
            s = random.integers(0, 2, count) if row == 0 else np.full(count, row - 1)
            v = (random.random(count)[:, None] > np.cumsum(tables[j][s], axis=1)).sum(1)
            y = random.random(count) < right[v]
            drawn.append(np.stack([np.full(count, row), np.full(count, j), s, v, y]))
        rows, j, s, v, y = np.concatenate(drawn, axis=1)
        level = search.phase + 1
        free = rows == 0
        weight = tables[:, s[free], v[free]] / tables[j[free], s[free], v[free]]
        trust = 1 / m[:, j[free]]
        outcomes = (trust * y[free] * weight * (weight <= 2 * level / trust)).sum(1) / trust.sum(1)
        gaps = np.zeros((2, k))
        for i, (a, b) in enumerate(pairs):
            held = rows == 1 + b
            weight = (tables[:, a, v[held]] - tables[:, b, v[held]]) / tables[j[held], b, v[held]]
            trust = 1 / d[a, b][:, j[held]]
            gaps[i] = (trust * y[held] * weight * (np.abs(weight) <= 2 * level / trust)).sum(1) / trust.sum(1)
        known = np.ones(k, bool)
        estimates = Estimates(outcomes, gaps, known, np.ones((2, k), bool))
        search.phase += 1
        search.judge(estimates, 2.0**-level)


def cold_program(problem: Problem, budget: float) -> float:
    """Solve the full allocation program by scipy, built from scratch."""
    k = len(problem.candidates)
    blocks = [1 / problem.outcome_divergence, *(1 / one for one in problem.gap_divergence.values())]
    matrix = np.zeros((3 * k + 1, 3 * k + 1))
    for i, (block, column) in enumerate(zip(blocks, (0, 2, 1), strict=True)):
        matrix[i * k : (i + 1) * k, column * k : (column + 1) * k] = -block
    matrix[:-1, -1] = 1
    matrix[-1, :-1] = np.tile(problem.checked_costs(None), 3)
    goal = np.append(np.zeros(3 * k), -1.0)
    total = np.append(np.ones(3 * k), 0.0)[None]
    return float(linprog(goal, matrix, np.append(np.zeros(3 * k), budget), total, [1.0]).fun)


def searches(problem: Problem) -> list[tuple[str, str, str]]:
    rows, draws = [], Draws(problem.cells)
    ours = {}
    for budget in (10_000, 100_000, 1_000_000):
        search = CSR(problem, tolerance=LOOSE.tolerance, budget=budget)
        ours[budget] = per_run(lambda n, search=search: replay(search, draws, np.random.default_rng(n)), RUNS)
        rows.append((f"CSR-V2, K = 30, m = 20, T = {budget:,}", f"{ours[budget]:.2f} ms", ""))
    for cold, budget in ((False, 10_000), (True, 10_000), (False, 100_000)):
        search = CSR(problem, tolerance=LOOSE.tolerance, budget=budget)
        slow = per_run(lambda n, search=search, cold=cold: per_sample(search, np.random.default_rng(n), cold), 5)
        what = f"  per-sample weights in numpy, T = {budget:,}" + (", programs by scipy" if cold else "")
        rows.append((what, f"{slow:.1f} ms", f"{slow / ours[budget]:.0f} times ours"))
    return rows


def programs(problem: Problem) -> list[tuple[str, str, str]]:
    costs = problem.checked_costs(None)
    program = problem.program(costs, 0.01, Rows())
    random, full = np.random.default_rng(1), np.ones(30, bool)
    hot = per_run(lambda n: program.solve(random.random(30) < 0.5), RUNS)
    kept = per_run(lambda n: program.solve(full), RUNS)
    cold = per_run(lambda n: cold_program(problem, 0.01), 10)
    return [
        ("allocation program, hot, another set", f"{hot:.3f} ms", ""),
        ("  from the cache", f"{kept:.4f} ms", ""),
        ("  built and solved by scipy", f"{cold:.2f} ms", f"{cold / hot:.0f} times hot"),
    ]


def hepar2() -> list[tuple[str, str, str]]:
    from evenhand.datasets.hepar2 import fetch_hepar2

    try:
        model = CausalModel.from_bif(fetch_hepar2())
    except DatasetError as error:
        return [(f"HEPAR II: skipped, {error}", "", "")]
    problem = hepar2_problem(model, next(iter(CODINGS)), seed=1)
    started = time.perf_counter()
    for budget in (2000, 4000, 6000, 8000, 10_000):
        four = {name: SEARCHES[name](problem, 0.2, budget) for name in ("CSR-V1", "CSR-V2", "TS-V1", "TS-V2")}
        simulated_searches(four, replications=50, seed=1)
    seconds = time.perf_counter() - started
    return [
        (
            "HEPAR II, 50 runs x 5 budgets x 4 searches, one core",
            f"{seconds:.1f} s",
            f"{30 / seconds:.0f} times under 30 s",
        )
    ]


if __name__ == "__main__":
    loose = instance(LOOSE, seed=1)
    table("interventions, processor time", ("what", "time", "ratio"), [*searches(loose), *programs(loose), *hepar2()])
