"""How often the intervals of `GroupFairTopInterval.bias` hold the true bias, in the paper's own worlds.

python -m benchmarks.bench_bias [--runs 1000]

In every run the arms' coefficients and the bias are drawn anew, ten arms of which some are sensitive, noise 1.
"""

from __future__ import annotations

import argparse

import numpy as np
from joblib import Parallel, delayed

from evenhand.groups import BiasedLinearArms, GroupFairTopInterval

CELLS = [(500, 5, 2), (1000, 5, 2), (1000, 2, 2), (1000, 3, 5), (5000, 5, 2)]
"""Rounds, sensitive arms of ten, features."""


def trial(rounds: int, sensitive: int, dimension: int, seed: int) -> list[float]:
    """Return for both balances which part of the features' intervals holds the bias, and the mean width."""
    world = BiasedLinearArms(sensitive=sensitive, dimension=dimension)
    world.reset(seed)
    policy = GroupFairTopInterval(world.groups, "sensitive", horizon=rounds, seed=seed)
    for _ in range(rounds):
        decision = policy.ask(*world.observe())
        policy.tell(decision, *world.respond(decision))
    truth, found = world.biases["sensitive"] - world.biases["reference"], []
    for balance in ("pulls", "arms"):
        table = policy.bias(balance=balance)
        found += [float(((table["low"] <= truth) & (truth <= table["high"])).mean())]
        found += [float((table["high"] - table["low"]).median())]
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    print("rounds sensitive features | pulls: holds (error), median width | arms: holds, median width")
    for cell in CELLS:
        done = np.array(Parallel(n_jobs=-1)(delayed(trial)(*cell, seed) for seed in range(runs)))
        error = done[:, 0].std() / np.sqrt(runs)
        pulls, wide, arms, width = (
            *done[:, 0:1].mean(axis=0),
            np.median(done[:, 1]),
            done[:, 2].mean(),
            np.median(done[:, 3]),
        )
        print(*cell, f"| {pulls:.3f} ({error:.3f}), {wide:.1f} | {arms:.3f}, {width:.1f}", flush=True)
