"""How fast searches run: ratios measured in one run.

python -m benchmarks.bench_interventions [--out DIR] [--quick]

Per-sample weights: the same CSR-V2 with the same programs, every sample drawn by itself and its weights for all
candidates computed in numpy, as one would write it from formulas (3) and (4).
"""

from __future__ import annotations

import statistics
import time
from itertools import permutations

import numpy as np
from scipy.optimize import linprog

from benchmarks.timing import Measure, interleaved, options, ratio, report, seconds
from evenhand.errors import DatasetError
from evenhand.experiments.interventions.constraints import LOOSE
from evenhand.experiments.interventions.curves import SEARCHES
from evenhand.experiments.interventions.hepar import CODINGS, hepar2_problem
from evenhand.experiments.interventions.instances import instance
from evenhand.interventions import CSR, CausalModel, Problem, TrialNeeds
from evenhand.interventions.estimators import Estimates
from evenhand.interventions.measures import EvidenceDraws, replay, simulated_searches


def per_sample(search: CSR, random: np.random.Generator, cold: bool = False) -> None:
    """Run CSR-V2 sample by sample: S -> V -> Y, tables (K, 2, 20); `cold` solves a program by scipy each phase."""
    problem = search.problem
    tables, right = problem.tables, problem.model.tables["Y"][:, 1]
    m, pairs = problem.outcome_divergence, list(permutations(range(2), 2))
    d = {pair: problem.gap_divergence[pair] for pair in pairs}
    search._begin()
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
        search._judge(estimates, 2.0**-level)


def cold_program(problem: Problem, budget: float) -> float:
    """Solve the full allocation program by scipy, built from scratch."""
    k = len(problem.candidates)
    blocks = [1 / problem.outcome_divergence, *(1 / one for one in problem.gap_divergence.values())]
    matrix = np.zeros((3 * k + 1, 3 * k + 1))
    for i, (block, column) in enumerate(zip(blocks, (0, 2, 1), strict=True)):
        matrix[i * k : (i + 1) * k, column * k : (column + 1) * k] = -block
    matrix[:-1, -1] = 1
    matrix[-1, :-1] = np.tile(problem.read_costs(None), 3)
    goal = np.append(np.zeros(3 * k), -1.0)
    total = np.append(np.ones(3 * k), 0.0)[None]
    return float(linprog(goal, matrix, np.append(np.zeros(3 * k), budget), total, [1.0]).fun)


def searches(repetitions: int) -> list[Measure]:
    """CSR-V2 on the paper's synthetic instance, against itself sample by sample."""
    problem = instance(LOOSE, seed=1)
    draws = EvidenceDraws(problem.cells)
    at = {
        budget: CSR(problem, tolerance=LOOSE.tolerance, budget=budget, pooled=False)
        for budget in (10_000, 100_000, 1_000_000)
    }

    def ours(budget: int) -> float:
        return seconds(lambda: [replay(at[budget], draws, np.random.default_rng(n)) for n in range(40)]) / 40

    def theirs(budget: int, cold: bool) -> float:
        return seconds(lambda: [per_sample(at[budget], np.random.default_rng(n), cold) for n in range(3)]) / 3

    cases = {
        **{f"CSR-V2, T = {budget:,}": lambda budget=budget: ours(budget) for budget in at},
        "numpy": lambda: theirs(10_000, False),
        "numpy and scipy": lambda: theirs(10_000, True),
        "numpy, T = 100,000": lambda: theirs(100_000, False),
    }
    found = interleaved(cases, repetitions)
    base, more, most = (found[f"CSR-V2, T = {budget:,}"] for budget in at)
    wordy = {name: f"{1e3 * statistics.median(times):.1f} ms" for name, times in found.items()}
    return [
        Measure("one CSR-V2 run, K = 30, m = 20, T = 10,000", 1e3 * statistics.median(base), "ms", 10.0),
        Measure("T = 1,000,000 against T = 10,000", ratio(most, base), "times", 1.5),
        Measure(
            "per-sample weights and programs, plainly in numpy and scipy",
            ratio(found["numpy and scipy"], base),
            "times",
            20.0,
            True,
            wordy["numpy and scipy"],
        ),
        Measure(
            "per-sample weights vectorised in numpy over our programs",
            ratio(found["numpy"], base),
            "times",
            20.0,
            True,
            wordy["numpy"],
        ),
        Measure(
            "the same at T = 100,000",
            ratio(found["numpy, T = 100,000"], more),
            "times",
            20.0,
            True,
            wordy["numpy, T = 100,000"],
        ),
    ]


def programs(repetitions: int) -> list[Measure]:
    """The allocation program, hot, against scipy."""
    problem, random = instance(LOOSE, seed=1), np.random.default_rng(1)
    program = problem.program(problem.read_costs(None), 0.01, TrialNeeds())
    cases = {
        "hot": lambda: seconds(lambda: [program.solve(random.random(30) < 0.5) for _ in range(20)]) / 20,
        "scipy": lambda: seconds(lambda: cold_program(problem, 0.01)),
    }
    found = interleaved(cases, repetitions)
    return [
        Measure("the allocation program, hot, another set of candidates", 1e3 * statistics.median(found["hot"]), "ms"),
        Measure("the same built and solved by scipy", ratio(found["scipy"], found["hot"]), "times"),
    ]


def hepar2(repetitions: int) -> list[Measure]:
    """HEPAR II: 50 runs at five budgets of four searches."""
    from evenhand.datasets.tables import fetch_hepar2

    try:
        model = CausalModel.from_bif(fetch_hepar2())
    except DatasetError as error:
        print(f"HEPAR II is left out: {error}")
        return []
    problem = hepar2_problem(model, next(iter(CODINGS)), seed=1)

    def run() -> None:
        for budget in (2000, 4000, 6000, 8000, 10_000):
            four = {
                name: SEARCHES[name](problem, tolerance=0.2, budget=budget)
                for name in ("CSR-V1", "CSR-V2", "TS-V1", "TS-V2")
            }
            simulated_searches(four, replications=50, seed=1)

    took = seconds(run, time.perf_counter)
    return [Measure("HEPAR II, 50 runs, 5 budgets, 4 searches", took, "s", 30.0, remark="by the clock, one core")]


def main() -> None:
    arguments = options(__doc__)
    repetitions = 3 if arguments.quick else 10
    measures = [measure for section in (searches, programs, hepar2) for measure in section(repetitions)]
    report("interventions", "interventions", measures)


if __name__ == "__main__":
    main()
