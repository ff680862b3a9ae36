"""What a promise costs where contexts are seen: with forced plays alone, and with prices in front of the scores.

The reference is the best keeper: the linear programme over all rows with the shares as floors, solved by HiGHS, which
knows the mean reward of every arm in every row. The worlds drawn by us were there when the step was chosen; Adult and
the Open Bandit Dataset were run once it was fixed. Their contexts are real, their rewards are drawn from a logistic
model of all rows, so that the means are known.

python -m benchmarks.bench_prices [--runs N] [--rounds T]
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.cli.output import table
from evenhand.errors import DatasetError
from evenhand.learners import LinUCB
from evenhand.quotas import DeadlineLearn

Rows = tuple[Any, Any]
"""Contexts (rounds, n_arms, d), and the mean reward of each arm in each round (rounds, n_arms)."""
TOLERANCES = 0, 20, 200


def drawn_world(world: int, rounds: int, seed: int) -> Rows:
    """Return contexts of four numbers, and means that are linear in them, other coefficients for each of three arms."""
    rng = np.random.default_rng([world, 0])
    coefficients = rng.dirichlet(np.ones(4), size=3)
    shown = np.random.default_rng([world, 1 + seed]).random((rounds, 4))
    return one_block_each(shown, 3), shown @ coefficients.T


def one_block_each(shown: Any, arms: int) -> Any:
    """Return rows (rounds, d) as contexts, in a block of its own for each arm."""
    return np.stack([np.kron(np.eye(arms)[arm], shown) for arm in range(arms)], axis=1)


def adult(rounds: int, seed: int) -> Rows:
    """Return rounds of one person of each group of Adult, whose means are the chances of an income above 50K."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    from evenhand.datasets.tables import load_adult

    people = load_adult().train
    numbers = ["age", "education-num", "hours-per-week", "capital-gain", "capital-loss"]
    features = StandardScaler().fit_transform(np.log1p(people[numbers]))
    groups = people["group"].to_numpy()
    names = sorted(set(groups))
    member = np.array([groups == name for name in names]).T.astype(float)
    features = np.hstack([np.clip(features, -3, 3), member])
    chances = LogisticRegression(max_iter=1000).fit(features, people["income"]).predict_proba(features)[:, 1]
    rng = np.random.default_rng([10, seed])
    rows = np.stack([rng.choice(np.flatnonzero(groups == name), rounds) for name in names], axis=1)
    return features[rows], chances[rows]


def open_bandit(rounds: int, seed: int) -> Rows:
    """Return visitors of a shop and its four items that were clicked most, in the campaign for men shown at random."""
    import pandas as pd
    from sklearn.linear_model import LogisticRegression

    place = Path(os.environ.get("EVENHAND_DATA", "shared/data")) / "open_bandit/random/men/men.csv.gz"
    if not place.exists():
        raise DatasetError(f"{place} is absent")
    log = pd.read_csv(place, index_col=0)
    items = log.groupby("item_id")["click"].mean().nlargest(4).index.tolist()
    columns = [name for name in log if name.startswith("user_feature")]
    visitors = pd.get_dummies(log[columns]).to_numpy(float)
    visitors = np.hstack([np.ones((len(log), 1)), visitors[:, visitors.mean(axis=0) > 0.05]])
    means = np.zeros((len(log), len(items)))
    for place_of, item in enumerate(items):
        own = (log["item_id"] == item).to_numpy()
        model = LogisticRegression(C=10.0, max_iter=1000).fit(visitors[own], log["click"][own])
        means[:, place_of] = model.predict_proba(visitors)[:, 1]
    drawn = np.random.default_rng([11, seed]).choice(len(log), rounds)
    return one_block_each(visitors[drawn], len(items)), means[drawn]


def best_keeper(means: Any, shares: list[float]) -> float:
    """Return the mean reward of the best choice of arms by row that gives each arm its share of all rows."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, kron

    rounds, arms = means.shape
    each = kron(eye_array(rounds), np.ones((1, arms)))
    owed = csr_array(-np.tile(np.eye(arms), (1, rounds)))
    floors = -rounds * np.array(shares)
    found = linprog(-means.ravel(), owed, floors, each, np.ones(rounds), bounds=(0, 1), method="highs")
    return float(-found.fun / rounds)


def played(rows: Rows, shares: list[float], tolerance: float, priced: bool, seed: int) -> tuple[float, float]:
    """Return the mean reward of the arms that were played, in expectation, and the share of forced plays."""
    contexts, means = rows
    lengths = np.linalg.norm(contexts, axis=2).max()
    learner = LinUCB(noise_scale=0.2, context_norm=float(lengths))
    policy = DeadlineLearn(learner, shares, tolerance, priced=(0, 1) if priced else False)
    tosses, total, forced = np.random.default_rng([12, seed]).random(len(means)), 0.0, 0
    for shown, mean, toss in zip(contexts, means, tosses, strict=True):
        decision = policy.ask(shown)
        total += mean[decision.index]
        forced += decision.reason_code == "forced"
        policy.tell(decision, float(toss < mean[decision.index]))
    assert policy.promise.is_kept(list(policy.pulls.values()), len(means))
    return total / len(means), forced / len(means)


def against_best(name: str, world: Callable[[int], Rows], shares: list[float], runs: int) -> None:
    """Print what is lost to the best keeper and how many plays are forced, the mean over runs."""
    every = [world(seed) for seed in range(runs)]
    best = [best_keeper(means, shares) for _, means in every]
    free = np.mean([means.max(axis=1).mean() for _, means in every])
    rows = []
    for tolerance in TOLERANCES:
        cells = []
        for priced in (False, True):
            found = np.array([played(one, shares, tolerance, priced, seed) for seed, one in enumerate(every)])
            lost = np.array(best) - found[:, 0]
            cells += [f"{lost.mean():.4f} ({lost.min():.4f} to {lost.max():.4f})", f"{found[:, 1].mean():.1%}"]
        rows.append((str(tolerance), *cells))
    heads = "tolerance", "loss, forced plays alone", "forced", "loss, with prices", "forced"
    table(f"{name}, shares {shares}: free {free:.4f}, best keeper {np.mean(best):.4f} a round", heads, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=10_000)
    said = parser.parse_args()
    for number in range(4):
        world = lambda seed, number=number: drawn_world(number, said.rounds, seed)  # noqa: E731
        against_best(f"Our world {number}", world, [0, 0.3, 0.3], said.runs)
    for name, rows, shares in (
        ("Adult", adult, [0.25, 0.25, 0, 0.2]),
        ("Open Bandit", open_bandit, [0, 0.2, 0.2, 0.2]),
    ):
        try:
            against_best(name, lambda seed, rows=rows: rows(said.rounds, seed), shares, said.runs)
        except DatasetError as absent:
            print(f"{name} left out: {absent}")


if __name__ == "__main__":
    main()
