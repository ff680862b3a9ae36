"""What a learner loses that must see its own choices: alone, told of every play, by held choices, and by lottery.

python -m benchmarks.bench_own_choices [--runs N]
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import evenhand as eh
from evenhand.cli.output import table
from evenhand.learners import UCB1, DiscountedUCB, SlidingWindowUCB, Thompson, TsallisINF
from evenhand.quotas import BernoulliArms, ChangingArms, DeadlineLearn

MEANS, HORIZONS = [0.6, 0.5, 0.2], (5_000, 20_000, 80_000)
ALL_SHARES = [0.45, 0, 0.45], [0.3, 0, 0.4]
GAP, ROUNDS = 0.1, 50_000


class Told(TsallisINF):
    """Takes whatever is played for its own choice."""

    _traits = replace(TsallisINF._traits, own_choices=False)


def under_shares(runs: int) -> None:
    """Print the regret beyond the cost of the promise, and that of the learner alone."""
    found: dict[str, list[str]] = {}
    for shares in ALL_SHARES:
        policies = {
            "alone": TsallisINF(),
            "told of every play": DeadlineLearn(Told(), shares),
            "choices held": DeadlineLearn(TsallisINF(), shares),
            "by lottery": DeadlineLearn(TsallisINF(), shares, lottery=0.5),
            "Thompson, told of every play": DeadlineLearn(Thompson(), shares),
        }
        options: Any = {"rounds": HORIZONS[-1], "replications": runs, "seed": 59, "checkpoints": HORIZONS}
        history = eh.simulate(policies, BernoulliArms(MEANS), **options)
        for name in policies:
            regret = history.regret if name == "alone" else history.r_regret
            found.setdefault(name, []).append(spread(regret.sel(policy=name)))
    rows = [(name, *cells) for name, cells in found.items()]
    table(f"Regret at T = {HORIZONS}, means {MEANS}, {runs} runs", ("Tsallis-INF", *map(str, ALL_SHARES)), rows)


def where_levels_move(runs: int) -> None:
    """Print the regret without a promise: fixed means, and one arm ahead by the same gap at levels that move."""
    starts = [round(1.6**n) for n in range(1, 24)]
    starts = [start for start in starts if start < ROUNDS]
    moving = [[0.0, GAP] if n % 2 else [1.0 - GAP, 1.0] for n in range(len(starts) + 1)]
    worlds = {"fixed": BernoulliArms([0.5 - GAP, 0.5]), "moving": ChangingArms(moving, changes=starts)}
    policies = {
        "UCB1": UCB1(),
        "Thompson": Thompson(),
        "DiscountedUCB": DiscountedUCB(),
        "SlidingWindowUCB": SlidingWindowUCB(),
        "Tsallis-INF": TsallisINF(),
    }
    histories = [
        eh.simulate(policies, world, rounds=ROUNDS, replications=runs, seed=59, checkpoints=1)
        for world in worlds.values()
    ]
    rows = [(name, *(spread(history.regret.sel(policy=name)) for history in histories)) for name in policies]
    table(f"Regret at T = {ROUNDS}, two arms {GAP} apart, {runs} runs", ("learner", *worlds), rows)


def spread(values: Any) -> str:
    """Return means over replications with their standard errors."""
    errors = values.std("replication", ddof=1) / values.sizes["replication"] ** 0.5
    return " / ".join(
        f"{float(mean):.0f} +- {float(error):.0f}"
        for mean, error in zip(values.mean("replication"), errors, strict=True)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    runs = parser.parse_args().runs
    under_shares(runs)
    where_levels_move(runs)


if __name__ == "__main__":
    main()
