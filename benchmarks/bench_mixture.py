"""Is the worst-off group served better by a mixture of models than by one model, trained on the same labels?

python -m benchmarks.bench_mixture [--runs 20] [--labels 1000]

Three worlds of Gaussian groups: the first instance of the sampler's paper; nine groups that are easy and one that is
hard, with labels along another direction; two groups in which the same features mean opposite labels. Each run spends
the labels by the same sampler and judges the models that `finish` returns on 2,000 fresh examples of each group.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd

from evenhand.sampling import OptimisticSampler, SyntheticModel1

FRESH = 2000
EASY, HARD = [[-1.5, -0.5], [1.5, 0.5]], [[0.6, -0.6], [-0.6, 0.6]]
WORLDS: dict[str, Any] = {
    "two groups": SyntheticModel1(instance="I"),
    "nine easy, one hard": SyntheticModel1({**{f"easy {n}": EASY for n in range(9)}, "hard": HARD}),
    "two that contradict": SyntheticModel1({"one": [[-1.0, 0.0], [1.0, 0.0]], "other": [[1.0, 0.0], [-1.0, 0.0]]}),
}


def worst(model: Any, world: Any, seed: int) -> float:
    """Return the error of the worst-off group on fresh examples."""
    random, errors = np.random.default_rng([seed, 1]), []
    for group in range(len(world.groups)):
        X, y = world.sample(group, FRESH, random)
        errors.append(float((model.predict(X) != y).mean()))
    return max(errors)


def run(name: str, labels: int, seed: int) -> dict[str, Any]:
    """Return the worst-off group's error under one model and under the mixture."""
    world = WORLDS[name]
    sampler = OptimisticSampler(world.groups, budget=labels, batch=10, seed=seed)
    world.reset(seed)
    while sampler.spent + 20 <= labels:
        draw = sampler.ask(*world.observe())
        sampler.tell(draw, *world.respond(draw))
    found = {kind: worst(sampler.finish(mixture=kind == "mixture").model, world, seed) for kind in ("one", "mixture")}
    return {"world": name, **found, "gain": found["one"] - found["mixture"]}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_mixture", description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--labels", type=int, default=1000)
    given = parser.parse_args()
    found = pd.DataFrame([run(name, given.labels, seed) for seed in range(given.runs) for name in WORLDS])
    means = found.groupby("world", sort=False).mean()
    means["error of gain"] = found.groupby("world", sort=False)["gain"].sem()
    print(means.round(4).to_string())


if __name__ == "__main__":
    main()
