"""Coverage of every interval, looked at after every row of many streams.

Three logs of arms drawn evenly: clicks with a value of 0.0165 among 10 arms, 0.0087 among 34, and a value of 0.57 with
weights up to 8. A stream is missed if any look finds the true value outside. The intervals are those of their
definitions; what `evaluate` returns is rounded outwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from evenhand.evaluation.sequences import BETS, closed_form, running_mean
from evenhand.evaluation.weighing import PRIOR, Means, Rows, weigh_learning
from evenhand.experiments.framework import Claim, Report, Runner, experiment
from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import entry

__all__ = ["coverage"]

ERROR = 0.05
HOLDS = Claim(
    "Every interval holds at every row at once",
    "ours",
    "of 5 % that may be missed, at most 5 % and three standard errors are, for each log and interval",
    {"streams": 1_000},
)
WALD = Claim(
    "The normal interval does not, if it is looked at after every row",
    "ours",
    "it misses more than three times as often as it says",
    {"streams": 100},
)


@dataclass(frozen=True)
class Settings:
    """How many streams, of how many rows."""

    streams: int
    rounds: int
    seed: int


class World(NamedTuple):
    """Arms' means, and a candidate; the log draws the arms evenly."""

    means: Floats
    candidate: Floats


def worlds() -> dict[str, World]:
    """Return the three logs by their values."""
    clicks, items, often = np.full(10, 0.005), np.full(34, 0.004), np.full(10, 0.45)
    clicks[0], items[:3], often[0] = 0.04, 0.03, 0.6

    def leaning(arms: int, first: int, share: float) -> Floats:
        found = np.full(arms, (1 - share) / (arms - first), np.float64)
        found[:first] = share / first
        return found

    return {
        "clicks, 10 arms": World(clicks, leaning(10, 1, 0.3286)),
        "34 arms": World(items, leaning(34, 3, 0.1808)),
        "W = 8": World(often, leaning(10, 1, 0.8)),
    }


@experiment(
    "evaluation/coverage",
    "Intervals at every look",
    full=Settings(streams=10_000, rounds=4_000, seed=15),
    quick=Settings(streams=200, rounds=1_000, seed=15),
    reduced=Settings(streams=1_000, rounds=4_000, seed=15),
)
def coverage(settings: Settings, runner: Runner) -> Report:
    """Count the streams that each interval misses."""
    import pandas as pd
    from joblib import Parallel, delayed

    parts = np.array_split(np.arange(settings.streams), max(1, settings.streams // 100))
    rows = []
    for number, (name, world) in enumerate(worlds().items()):
        found = Parallel(n_jobs=runner.jobs)(
            delayed(_missed)(world, [settings.seed + 1_000_000 * number + int(one) for one in part], settings.rounds)
            for part in parts
        )
        total: dict[str, int] = {}
        for part in found:
            for interval, missed in part.items():
                total[interval] = total.get(interval, 0) + missed
        value = float(world.means @ world.candidate)
        rows += [{"log": name, "value": value, "interval": i, "missed": m / settings.streams} for i, m in total.items()]
    table = pd.DataFrame(rows)
    exact, normal = table[table["interval"] != "normal"], table[table["interval"] == "normal"]
    most = exact["missed"].max()
    limit = ERROR + 3 * math.sqrt(ERROR * (1 - ERROR) / settings.streams)
    worst = exact.sort_values("missed").iloc[-1]
    says = f"at most {most:.4f} ({worst['interval']}, {worst['log']}); up to {limit:.4f} counts"
    verdicts = [
        HOLDS.verdict(bool(most <= limit), says, settings),
        WALD.verdict(
            bool(normal["missed"].min() > 3 * ERROR), f"{normal['missed'].min():.2f} or more are missed", settings
        ),
    ]
    return Report({"missed": table}, verdicts)


def _missed(world: World, seeds: list[int], rounds: int) -> dict[str, int]:
    total: dict[str, int] = {}
    for seed in seeds:
        for interval, missed in _looks(world, np.random.default_rng(seed), rounds).items():
            total[interval] = total.get(interval, 0) + missed
    return total


def _looks(world: World, random: np.random.Generator, rounds: int) -> dict[str, bool]:
    """Return of each interval whether it missed the value of one stream at any look."""
    arms, value = len(world.means), float(world.means @ world.candidate)
    codes = random.integers(arms, size=rounds)
    rewards: Floats = (random.random(rounds) < world.means[codes]).astype(np.float64)
    weights, largest = arms * world.candidate[codes], arms * float(world.candidate.max())
    paid, unpaid = weights * rewards, weights * (1 - rewards)
    steps, tops = np.empty(rounds), np.empty(rounds)
    past = Means(np.zeros(arms), np.full(arms, 1 / PRIOR), np.array([0.0, 1.0]))
    chances: Floats = np.full(rounds, 1 / arms, np.float64)
    drawn = Rows(codes, rewards, chances, np.zeros(rounds, np.int64), world.candidate[None, :])
    entry(weigh_learning)(drawn, past, np.empty(rounds), steps, tops)
    low_ips, high_ips = _wealth(paid, 0.0, value), _wealth(unpaid - 1, 1.0, -value)
    high_known = _wealth(-paid, largest, -value)
    low_dr, high_dr = _wealth(steps, largest * tops, value), _wealth(-steps, largest + tops, -value)
    limit = math.log(2 / ERROR)
    mixed_low = np.logaddexp(low_ips, low_dr) - math.log(2)
    mixed_high = np.logaddexp(np.logaddexp(high_ips, high_dr), high_known) - math.log(3)
    means = world.means[codes].cumsum() / np.arange(1, rounds + 1)
    n = np.arange(1, rounds + 1)
    mean = paid.cumsum() / n
    error = np.sqrt(np.maximum((paid**2).cumsum() / n - mean**2, 0.0) / n)
    return {
        "ips": bool((low_ips >= limit).any() or (high_ips >= limit).any()),
        "ips, W known": bool((low_ips >= limit).any() or (high_known >= limit).any()),
        "dr and ips, W known": bool((mixed_low >= limit).any() or (mixed_high >= limit).any()),
        "closed form": bool((closed_form(paid, ERROR / 2) > value).any())
        or bool((1 - closed_form(unpaid, ERROR / 2) < value).any()),
        "replay": bool(
            (running_mean(rewards, ERROR / 2) > means).any() or (1 - running_mean(1 - rewards, ERROR / 2) < means).any()
        ),
        "normal": bool((np.abs(mean - value) > 1.959964 * error)[min(29, rounds - 1) :].any()),
    }


def _wealth(values: Floats, least: Any, theta: float) -> Floats:
    """Return the logarithm of K(theta) after each row."""
    gain, which = np.unique((values + least) / (theta + least) - 1, return_inverse=True)
    logs = np.cumsum(np.log1p(BETS[:, None] * gain)[:, which], axis=1)
    most = logs.max(axis=0)
    return np.asarray(most + np.log(np.exp(logs - most).mean(axis=0)), np.float64)
