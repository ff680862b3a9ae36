"""Estimators on the logs of a greedy learner: the value of an arm that it neglects.

Epsilon-greedy with epsilon = t^-0.7, three arms. The logs hold the chances of all arms.

Source: V. Hadad, D. Hirshberg, R. Zhan, S. Wager, S. Athey, "Confidence intervals for policy evaluation in adaptive
experiments", PNAS 118 (2021); the setting is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evenhand.evaluation import Evaluation, evaluate
from evenhand.experiments.framework import Claim, Report, Runner, experiment
from evenhand.simulation.tasks import run_all

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["greedy_log"]

MEANS = (0.5, 0.55, 0.45)
ARM = 2
NEEDS = {"replications": 300}
BIASED = Claim("The sample mean of a neglected arm is too low", "abstract", "by more than three standard errors", NEEDS)
UNBIASED = Claim("IPS is unbiased on a learner's log", "introduction", "within three standard errors of 0", NEEDS)
NARROWER = Claim(
    "Adaptive weights make the error smaller", "section on simulations", "less than that of ips, snips and dr", NEEDS
)
COVERS = Claim(
    "The normal interval covers with adaptive weights, not with ips",
    "section on simulations",
    "of 95 % at least 90 % with adaptive weights, less than 90 % with ips",
    NEEDS,
)


@dataclass(frozen=True)
class Settings:
    """How many logs, of how many rounds."""

    rounds: int
    replications: int
    seed: int


def log_of(rounds: int, random: np.random.Generator) -> pd.DataFrame:
    """Return the log of the greedy learner, with the chances of all arms."""
    import pandas as pd

    arms = len(MEANS)
    sums, counts, rows = np.zeros(arms), np.zeros(arms), []
    for round in range(1, rounds + 1):
        epsilon = float(round) ** -0.7
        chances = np.full(arms, epsilon / arms)
        chances[np.argmax(np.where(counts > 0, sums / np.maximum(counts, 1), 1.0))] += 1 - epsilon
        arm = min(int(np.searchsorted(np.cumsum(chances), random.random(), side="right")), arms - 1)
        reward = float(random.random() < MEANS[arm])
        sums[arm] += reward
        counts[arm] += 1
        rows.append((arm, reward, *chances))
    return pd.DataFrame(rows, columns=["arm", "reward", *(f"p{arm}" for arm in range(arms))])


@experiment(
    "evaluation/greedy-log",
    "Estimators on a greedy learner's log",
    full=Settings(rounds=2_000, replications=1_000, seed=3),
    quick=Settings(rounds=500, replications=30, seed=3),
)
def greedy_log(settings: Settings, runner: Runner) -> Report:
    """Evaluate the arm on every log by every estimator."""
    import pandas as pd

    seeds = range(settings.seed, settings.seed + settings.replications)
    found = run_all(_values, ((settings.rounds, seed) for seed in seeds), runner.jobs)
    table = pd.DataFrame([row for rows in found for row in rows])
    truth = MEANS[ARM]
    summary = []
    for name, rows in table.groupby("estimator", sort=False):
        errors = rows["value"] - truth
        covered = ((rows["low"] <= truth) & (truth <= rows["high"])).mean()
        row = {"estimator": name, "bias": errors.mean(), "standard_error": errors.std() / len(errors) ** 0.5}
        summary.append(row | {"sd": errors.std(), "covers": covered})
    short = pd.DataFrame(summary).set_index("estimator")
    bias, error, spread, covers = (dict(short[name]) for name in ("bias", "standard_error", "sd", "covers"))
    others = min(spread[name] for name in ("ips", "snips", "dr"))
    verdicts = [
        BIASED.verdict(bias["mean"] < -3 * error["mean"], f"{bias['mean']:.3f} +- {error['mean']:.3f}", settings),
        UNBIASED.verdict(abs(bias["ips"]) <= 3 * error["ips"], f"{bias['ips']:.3f} +- {error['ips']:.3f}", settings),
        NARROWER.verdict(spread["adaptive"] < others, f"{spread['adaptive']:.2f} against {others:.2f}", settings),
        COVERS.verdict(
            covers["adaptive"] >= 0.9 > covers["ips"], f"{covers['adaptive']:.2f}, {covers['ips']:.2f}", settings
        ),
    ]
    return Report({"values": table, "estimators": short.reset_index()}, verdicts)


def _values(rounds: int, seed: int) -> list[dict[str, Any]]:
    log = log_of(rounds, np.random.default_rng(seed))
    own = log.loc[log["arm"] == ARM, "reward"]
    if log["arm"].nunique() < len(MEANS):
        return []
    wide = 1.96 * float(own.std(ddof=0)) / len(own) ** 0.5
    rows = [{"estimator": "mean", "value": own.mean(), "low": own.mean() - wide, "high": own.mean() + wide}]
    policy = {arm: float(arm == ARM) for arm in range(len(MEANS))}
    every = {arm: f"p{arm}" for arm in range(len(MEANS))}
    for name in ("ips", "snips", "dr", "adaptive"):
        settings: dict[str, Any] = {"propensity": every, "estimator": name, "anytime": False}
        one = cast(Evaluation, evaluate(log, policy, arm="arm", reward="reward", **settings))
        rows.append({"estimator": name, "value": one.value, "low": one.low, "high": one.high})
    return rows
