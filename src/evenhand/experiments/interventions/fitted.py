"""Models fitted to data: how often intervals cover and answers are wrong, what logs of several candidates are worth.

Worlds are random: S -> X -> V -> Y, S -> V, X -> Y, three states of X, V and Y, tables from Dirichlet laws of mass two
a state; three random candidates.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenhand.experiments.framework import Claim, Report, Runner, experiment
from evenhand.experiments.interventions.curves import wilson
from evenhand.interventions import CSR, CausalModel, Problem
from evenhand.interventions.fitting import dirichlet
from evenhand.interventions.means import group_means
from evenhand.plots.interventions import plot_errors
from evenhand.plots.style import DASHED, figure, place_legend
from evenhand.rng import child
from evenhand.simulation.tasks import run_all

__all__ = ["ASKED", "EDGES", "NODES", "intervals", "logs", "sampled", "with_all_states", "world"]

Floats = NDArray[np.float64]
NODES = ("S", "X", "V", "Y")
PARENTS: dict[str, tuple[str, ...]] = {"S": (), "X": ("S",), "V": ("S", "X"), "Y": ("X", "V")}
STATES = {"S": (0, 1), "X": (0, 1, 2), "V": (0, 1, 2), "Y": (0, 1, 2)}
EDGES = "S -> X, S -> V, X -> V, X -> Y, V -> Y"
ASKED: dict[str, Any] = {"intervene": "V", "sensitive": "S", "outcome": "Y"}
TOLERANCE = 0.2

COVERED = Claim(
    "intervals of the posterior cover at their level, with few rows too",
    "n = 30 to 5000, outcomes and gaps of all candidates at 95 %",
    "mean coverage in 0.92 to 0.98 at every n",
    {"runs": 200},
)
BOOTSTRAP = Claim(
    "intervals of the bootstrap do not",
    "n = 30, percentiles of models fitted to resampled rows",
    "mean coverage below 0.9",
    {"runs": 200},
)
ANSWERS = Claim(
    "an answer of posterior probability 0.95 is wrong in at most one of twenty runs",
    "every n, tolerance 0.2",
    "the share of runs with a wrong answer is at most 0.05",
    {"runs": 200},
)
TOGETHER = Claim(
    "logs of several candidates, taken as one mixture, say more than each weighed by its precision or the best alone",
    "three logs",
    "root mean squared errors: fitted tables < mixture < precision-weighted < the best single log",
    {"runs": 200},
)


def world(random: np.random.Generator) -> Problem:
    """Return a random problem; the first candidate is what runs."""
    sizes = {node: len(states) for node, states in STATES.items()}
    tables = {n: random.dirichlet(np.full(sizes[n], 2.0), [sizes[p] for p in PARENTS[n]]) for n in NODES}
    model = CausalModel.from_tables(STATES, PARENTS, tables)
    others = [random.dirichlet(np.full(3, 2.0), (2, 3)) for _ in range(2)]
    return Problem(model, **ASKED, candidates=[tables["V"], *others])


@experiment(
    "interventions/intervals",
    "Intervals and answers of models fitted to data",
    full={"rows": (30, 100, 300, 1000, 5000), "runs": 400, "draws": 400, "seed": 2021},
    quick={"rows": (30, 300), "runs": 20, "draws": 200, "seed": 2021},
)
def intervals(settings: dict[str, Any], runner: Runner) -> Report:
    """Fit models to samples of random worlds; compare intervals and answers with the truth."""
    work = ((rows, number, settings) for rows in settings["rows"] for number in range(settings["runs"]))
    done = run_all(_fit_once, work, runner.jobs)
    runs = pd.DataFrame(done)
    shares = runs.groupby("rows")[["posterior", "bootstrap", "answered", "wrong"]].mean()
    kept = bool(shares["posterior"].between(0.92, 0.98).all())
    cover = {name: ", ".join(f"{n}: {share:.3f}" for n, share in shares[name].items()) for name in shares.columns}
    least = float(shares["bootstrap"].iloc[0])
    verdicts = [
        COVERED.verdict(kept, cover["posterior"], settings),
        BOOTSTRAP.verdict(least < 0.9, cover["bootstrap"], settings),
        ANSWERS.verdict(
            bool((shares["wrong"] <= 0.05).all()), f"wrong {cover['wrong']}; answered {cover['answered']}", settings
        ),
    ]
    return Report({"runs": runs, "shares": shares.reset_index()}, verdicts, {"coverage": _picture(runs)})


@experiment(
    "interventions/logs",
    "Logs made under several candidates",
    full={"rows": 300, "runs": 400, "seed": 2021},
    quick={"rows": 300, "runs": 20, "seed": 2021},
)
def logs(settings: dict[str, Any], runner: Runner) -> Report:
    """Estimate every candidate's outcome from three logs of equal size, in four ways."""
    done = run_all(_log_once, ((number, settings) for number in range(settings["runs"])), runner.jobs)
    errors = pd.concat(done, ignore_index=True)
    found = (errors**2).mean() ** 0.5
    ways = ("fitted tables", "mixture", "precision-weighted", "best log")
    kept = all(found[one] < found[other] for one, other in pairwise(ways))
    text = ", ".join(f"{way} {found[way]:.4f}" for way in ways)
    return Report({"errors": errors}, [TOGETHER.verdict(kept, text, settings)])


def sampled(law: Floats, rows: int, random: np.random.Generator) -> pd.DataFrame:
    """Return a sample of the joint law of the nodes, with counts."""
    counts = random.multinomial(rows, law.reshape(-1)).reshape(law.shape)
    at = np.nonzero(counts)
    return pd.DataFrame({**dict(zip(NODES, at, strict=True)), "count": counts[at]})


def _fit_once(rows: int, number: int, settings: dict[str, Any]) -> dict[str, Any]:
    random = np.random.default_rng(child(settings["seed"], rows, number))
    truth = world(random)
    sample = sampled(truth.model.probabilities(NODES), rows, random)
    model = CausalModel.fit(with_all_states(sample), EDGES)
    problem = Problem(model, **ASKED, candidates=list(truth.tables))
    posterior = problem.posterior(draws=settings["draws"], seed=random)
    found = posterior.best(TOLERANCE)
    resampled = _bootstrapped(problem, sample, settings["draws"], random)
    exact = [truth.outcomes, truth.gaps[0, 1]]
    return {
        "rows": rows,
        "posterior": _covered(exact, [posterior.outcomes, posterior.gaps[0, 1]]),
        "bootstrap": _covered(exact, resampled),
        "answered": found.status != "not_shown",
        "wrong": found.status != "not_shown" and found.candidate != truth.best(TOLERANCE),
    }


def with_all_states(sample: pd.DataFrame) -> pd.DataFrame:
    """Return the sample with its columns declaring every state, seen or not."""
    declared = {node: pd.Categorical(sample[node], categories=list(STATES[node])) for node in NODES}
    return sample.assign(**declared)


def _covered(exact: list[Floats], drawn: list[Floats]) -> float:
    """Return the share of numbers that lie in their 95 % interval."""
    inside = []
    for truth, draws in zip(exact, drawn, strict=True):
        low, high = np.quantile(draws, [0.025, 0.975], axis=0)
        inside.append((low <= truth) & (truth <= high))
    return float(np.mean(inside))


def _bootstrapped(problem: Problem, sample: pd.DataFrame, draws: int, random: np.random.Generator) -> list[Floats]:
    """Return outcomes and gaps (draws, K) of models fitted to resampled rows, smoothed alike."""
    joint = np.zeros([len(STATES[node]) for node in NODES])
    joint[tuple(sample[node] for node in NODES)] = sample["count"]
    total = int(joint.sum())
    counts = random.multinomial(total, joint.reshape(-1) / total, size=draws).reshape(draws, *joint.shape)
    tables = {}
    for node in NODES:
        kept = [*PARENTS[node], node]
        seen = counts.sum(axis=tuple(1 + n for n, other in enumerate(NODES) if other not in kept)).astype(float)
        weights = dirichlet(seen, problem.model.smoothing or 1.0)
        tables[node] = weights / weights.sum(-1, keepdims=True)
    means = group_means(problem.model, problem.structure, problem.tables, tables, problem.scores)
    means = problem.low + problem.scale * means
    return [np.einsum("dks,ds->dk", means, tables["S"]), means[:, :, 0] - means[:, :, 1]]


def _log_once(number: int, settings: dict[str, Any]) -> pd.DataFrame:
    """Return the error of each way for each candidate."""
    random = np.random.default_rng(child(settings["seed"], number))
    truth, rows = world(random), settings["rows"]
    parts = [
        sampled(truth.model.probabilities(NODES, tables={"V": table}), rows, random).assign(candidate=k)
        for k, table in enumerate(truth.tables)
    ]
    model = CausalModel.fit(with_all_states(pd.concat(parts)), EDGES)
    every = _estimates(truth, pd.concat(parts))
    alone = [_estimates(truth, part) for part in parts]
    outcomes, widths = np.array([one[0] for one in alone]), np.array([one[1] for one in alone])
    trust = widths**-2.0
    found = {
        "fitted tables": Problem(model, **ASKED, candidates=list(truth.tables)).outcomes,
        "mixture": every[0],
        "precision-weighted": (outcomes * trust).sum(0) / trust.sum(0),
        "best log": outcomes[widths.argmin(0), np.arange(len(truth.tables))],
    }
    return pd.DataFrame({way: value - truth.outcomes for way, value in found.items()})


def _estimates(problem: Problem, log: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return the outcomes estimated from a log as one mixture, and the widths of their normal intervals."""
    search = CSR(problem, tolerance=TOLERANCE, budget=1000, delta=None)
    search.learn(log)
    table = search.recommend(confidence=0.95).table
    return table["outcome"].to_numpy(), np.maximum(table["outcome_high"] - table["outcome_low"], 1e-9).to_numpy()


def _picture(runs: pd.DataFrame) -> Any:
    """Draw how often intervals miss."""
    drawn, axes = figure()
    frames = []
    for name in ("posterior", "bootstrap"):
        missed = 1.0 - runs.groupby("rows")[name].mean()
        low, high = wilson(missed * len(runs) / len(missed), pd.Series(len(runs) / len(missed), missed.index))
        ends = {"error": missed, "error_low": low, "error_high": high}
        frames.append(pd.DataFrame(ends).reset_index(names="budget").assign(search=name))
    plot_errors(pd.concat(frames), title="Intervals of 95 % that miss the truth", ax=axes)
    axes.set_xscale("log")
    axes.set(xlabel="rows of data", ylabel="share of intervals", ylim=(0.0, 0.15))
    axes.axhline(0.05, label="stated: 0.05", **DASHED)
    place_legend(axes)
    return drawn
