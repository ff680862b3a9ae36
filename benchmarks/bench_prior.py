"""How well the posterior of a fitted model covers gaps and outcomes, by the prior of its tables.

python -m benchmarks.bench_prior [--tables 75] [--rows 445] [--dollars]

The worlds have the size of a trial of 445 people, a small and a large group and a treatment drawn by lot. The outcome
has 3 or 7 parents: the group, the treatment, and columns that depend on the group. Its log-odds are additive, or have
normal noise in every cell (interactions); in sparse worlds each of the columns is rare. Every table is drawn from a
world of its own, and every world has the same mean effect of the group. Each table judges two candidates, everybody and
nobody, whose outcomes rest on different cells; the error of a share is computed as if they were independent.

With --dollars the outcome is what people earn: nothing without work, and log-normal with a standard deviation of 0.9
with work, with a median that depends on all parents. Bias and width are then shares of the mean outcome.
"""

from __future__ import annotations

import argparse
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from evenhand.interventions import CausalModel, Problem
from evenhand.interventions.fitting import prior_means

NOISE = {"additive": 0.0, "interacting": 1.0, "strongly interacting": 2.0, "sparse": 0.0, "rare": 0.5}
"""By kind of world, the standard deviation of the noise in a cell's log-odds."""
PARENTS = (2, 3, 7)
PRIORS = [("uniform", 1.0), ("uniform", 0.1), *(("default", weight) for weight in (0.5, 1.0, 2.0, 4.0))]
DRAWS = 400
ASKED: dict[str, Any] = {"intervene": "treat", "sensitive": "group", "outcome": "works"}
ASKED["candidates"] = {"everybody": 1, "nobody": 0}
COVERED = ["gap covered", "outcome covered", "effect covered"]


def world(kind: str, parents: int, random: np.random.Generator) -> Problem:
    """Return a world whose outcome has so many parents."""
    columns = [f"x{number}" for number in range(parents - 2)]
    share = 0.1 if kind == "sparse" else 0.5
    given = expit(np.log(share / (1 - share)) + random.normal(0.0, 0.5, (len(columns), 2)))
    effects = np.array([-0.9, 0.5, *random.normal(0.0, 0.4, len(columns))])
    cells = np.indices([2] * parents).reshape(parents, -1).T - 0.5
    odds = (-3.5 if kind == "rare" else 0.8) + cells @ effects + random.normal(0.0, NOISE[kind], len(cells))
    chances = expit(odds).reshape([2] * parents)
    model = CausalModel.from_tables(
        {node: [0, 1] for node in ("group", "treat", *columns, "works")},
        {"group": [], "treat": [], **{node: ["group"] for node in columns}, "works": ["group", "treat", *columns]},
        {
            "group": [0.17, 0.83],
            "treat": [0.58, 0.42],
            **{node: np.stack([1 - p, p], -1) for node, p in zip(columns, given, strict=True)},
            "works": np.stack([1 - chances, chances], -1),
        },
    )
    return Problem(model, **ASKED)


def covered(draws: Any, truth: Any) -> Any:
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    return ((low <= truth) & (truth <= high)).mean()


def trial(kind: str, parents: int, rows: int, seed: int) -> list[dict[str, Any]]:
    """Return, for each prior, what it says of one table."""
    random = np.random.default_rng([seed, parents, list(NOISE).index(kind)])
    truth = world(kind, parents, random)
    edges = [(parent, node) for node, above in truth.model.parents.items() for parent in above]
    model = CausalModel.fit(truth.model.sample(rows, seed=random), edges)
    gaps, effect, found = truth.gaps[0, 1], -np.diff(truth.outcomes)[0], []
    assert model.counts is not None
    means = {"default": {node: prior_means(seen) for node, seen in model.counts.items()}}
    means["uniform"] = {node: np.full(seen.shape, 1.0 / seen.shape[-1]) for node, seen in model.counts.items()}
    for prior, weight in PRIORS:
        weights = {node: seen + weight * means[prior][node] for node, seen in model.counts.items()}
        tables = {node: one / one.sum(-1, keepdims=True) for node, one in weights.items()}
        fitted = CausalModel(**model.config() | {"tables": tables, "smoothing": weight})
        posterior = Problem(fitted, **ASKED).posterior(draws=DRAWS, seed=seed)
        drawn, outcomes = posterior.gaps[0, 1], posterior.outcomes
        found.append(
            {
                "world": f"{kind}, {parents} parents",
                "prior": f"{prior} {weight:g}",
                "gap": gaps[0],
                "bias": (drawn.mean(0) - gaps).mean(),
                "gap covered": covered(drawn, gaps),
                "outcome covered": covered(outcomes, truth.outcomes),
                "effect covered": covered(outcomes[:, 0] - outcomes[:, 1], effect),
            }
        )
    return found


def dollars(kind: str, parents: int, rows: int, seed: int) -> dict[str, Any]:
    """Return what the posterior says of one table whose outcome is measured."""
    random = np.random.default_rng([seed, parents, list(NOISE).index(kind), 1])
    works = world(kind, parents, random)
    cells, spread = np.indices([2] * parents).reshape(parents, -1).T - 0.5, 0.9
    medians = np.exp(8.6 + cells @ np.array([-0.2, 0.2, *random.normal(0.0, 0.2, parents - 2)])).reshape([2] * parents)
    chances = works.model.tables["works"][..., 1]
    means = chances * medians * np.exp(spread**2 / 2)
    most = 1.01 * means.max()
    tables = works.model.tables | {"works": np.stack([1 - means / most, means / most], -1)}
    truth = Problem(CausalModel(**works.model.config() | {"tables": tables}), **ASKED, values={0: 0.0, 1: most})
    above = list(works.model.parents["works"])
    frame = works.model.sample(rows, seed=random)
    at = tuple(frame[above].astype(int).to_numpy().T)
    frame["works"] = frame["works"].astype(int) * medians[at] * np.exp(random.normal(0.0, spread, rows))
    edges = [(parent, node) for node, over in works.model.parents.items() for parent in over]
    fitted = CausalModel.fit(frame, edges, measured="works")
    posterior = Problem(fitted, **ASKED).posterior(draws=DRAWS, seed=seed)
    drawn, outcomes, gaps = posterior.gaps[0, 1], posterior.outcomes, truth.gaps[0, 1]
    effect = -np.diff(truth.outcomes)[0]
    return {
        "world": f"{kind}, {parents} parents",
        "bias": (drawn.mean(0) - gaps).mean() / truth.outcomes.mean(),
        "width": np.ptp(np.quantile(drawn, [0.025, 0.975], axis=0), axis=0).mean() / truth.outcomes.mean(),
        "gap covered": covered(drawn, gaps),
        "outcome covered": covered(outcomes, truth.outcomes),
        "effect covered": covered(outcomes[:, 0] - outcomes[:, 1], effect),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_prior", description=__doc__)
    parser.add_argument("--tables", type=int, default=75)
    parser.add_argument("--rows", type=int, default=445)
    parser.add_argument("--dollars", action="store_true")
    given = parser.parse_args()
    if given.dollars:
        cells = product(range(given.tables), NOISE, PARENTS)
        measured = [dollars(kind, parents, given.rows, seed) for seed, kind, parents in cells]
        print(pd.DataFrame(measured).groupby("world", sort=False).mean().round(3).to_string())
        return
    found = [
        row
        for seed, kind, parents in product(range(given.tables), NOISE, PARENTS)
        for row in trial(kind, parents, given.rows, seed)
    ]
    means = pd.DataFrame(found).groupby(["world", "prior"], sort=False).mean()
    print(means.round(3).to_string())
    worst = means[COVERED].groupby("prior", sort=False).min()
    print("\nThe worst of the worlds:", worst.round(3).to_string(), sep="\n")
    for times, what in ((2, "gap or outcome"), (1, "effect")):
        error = (0.95 * 0.05 / (times * given.tables)) ** 0.5
        print(f"Standard error of a share near 0.95: {error:.3f} ({what})")


if __name__ == "__main__":
    main()
