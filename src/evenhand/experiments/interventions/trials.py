"""Trials that begin with a model fitted to few rows: how often their answers are wrong, and how many trials they take.

Worlds as in `fitted`: the model is fitted to n rows under the first candidate, which are told as a log; trials are
drawn from the world itself. The tolerance E is such that the largest gap of the candidate with the best outcome is
1.1 E or 0.9 E, or it is random.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from evenhand.experiments.framework import Claim, Report, Runner, experiment
from evenhand.experiments.interventions.fitted import ASKED, EDGES, NODES, sampled, with_all_states, world
from evenhand.interventions import CSR, CausalModel, Problem
from evenhand.interventions.draws import Draws
from evenhand.rng import child
from evenhand.simulation.tasks import run_all

__all__ = ["fitted_trials"]

TOLERANCES = {"1.1 E": 1.1, "0.9 E": 0.9, "random": None}
FORMS: dict[str, dict[str, Any]] = {"exact": {}, "normal": {"evidence": "normal"}}
SETTINGS = {"rows": (30, 100, 300, 1000, 3000), "worlds": 100, "budget": 20_000, "seed": 2026}

TRUE = Claim(
    "however few rows the model was fitted to, an answer is wrong in at most 5 of 100 trials",
    "the proof at `bets`; normal intervals are backed by measurement alone",
    "exact and normal: wrong in at most 0.05 of the trials, at every n and tolerance",
    {"worlds": 100},
)


@experiment(
    "interventions/trials",
    "Trials over fitted models",
    full=SETTINGS,
    quick={**SETTINGS, "rows": (30, 300), "worlds": 4},
)
def fitted_trials(settings: dict[str, Any], runner: Runner) -> Report:
    """Run a trial of each form in every world; compare its answer with the truth."""
    cells = product(settings["rows"], range(settings["worlds"]), TOLERANCES)
    done = run_all(_run, ((rows, number, kind, settings) for rows, number, kind in cells), runner.jobs)
    runs = pd.DataFrame([row for rows in done for row in rows])
    by = ["form", "tolerance", "rows"]
    shares = runs.groupby(by, sort=False).agg(
        runs=("wrong", "size"), wrong=("wrong", "sum"), answered=("answered", "sum"), trials=("trials", "median")
    )
    rate = shares["wrong"] / shares["runs"]
    worst = {form: float(rate[form].max()) for form in FORMS}
    text = ", ".join(f"{form} {100 * worst[form]:.1f} of 100 at worst; {_total(runs, form)}" for form in FORMS)
    verdicts = [
        TRUE.verdict(worst["exact"] <= 0.05 and worst["normal"] <= 0.05, text, settings),
    ]
    return Report({"runs": runs, "shares": shares.reset_index()}, verdicts)


def _total(runs: pd.DataFrame, form: str) -> str:
    own = runs[runs["form"] == form]
    return f"{own['wrong'].sum()} of {own['answered'].sum()} answers wrong, {own['trials'].median():,.0f} trials"


def _run(rows: int, number: int, kind: str, settings: dict[str, Any]) -> list[dict[str, Any]]:
    random = np.random.default_rng(child(settings["seed"], rows, number))
    truth = world(random)
    sample = sampled(truth.model.probabilities(NODES), rows, random)
    problem = Problem(CausalModel.fit(with_all_states(sample), EDGES), **ASKED, candidates=list(truth.tables))
    tolerance = _tolerance(truth, TOLERANCES[kind], float(random.uniform(0.05, 0.5)))
    found = []
    for form, given in FORMS.items():
        search = CSR(problem, tolerance=tolerance, budget=settings["budget"], costs=[0.0] * 3, **given)
        search.learn(sample)
        draws = Draws(problem.cells, truth.cells)
        while not search.finished:
            search.absorb(draws(search.plan(), random))
        chosen, status = search.choice()
        answered = status != "not_shown"
        label = None if chosen is None else problem.candidates[chosen]
        wrong = answered and label != truth.best(tolerance)
        trials = search.trials if answered else settings["budget"]
        found.append({"form": form, "tolerance": kind, "rows": rows, "world": number, "answered": answered,
                      "wrong": wrong, "trials": trials})  # fmt: skip
    return found


def _tolerance(truth: Problem, share: float | None, otherwise: float) -> float:
    """Return E such that the candidate with the best outcome has a gap of this many E."""
    if share is None:
        return otherwise
    return float(abs(truth.gaps[0, 1][truth.outcomes.argmax()])) / share
