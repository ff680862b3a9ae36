"""The cost of staleness: what workers lose that hear of each other's rewards late, against one who decides alone.

The regret of W workers over all rounds, divided by that of one worker, for exchanges every so many own rounds. What is
claimed was measured before by another program on 40 seeds, with a standard error of up to 4 %: workers that exchange
all at the same time, ten Bernoulli arms, one with mean 0.6, nine with 0.5, 32,000 rounds in all.

Source: ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.experiments.framework import Claim, Report, Runner, Verdict, experiment
from evenhand.learners import UCB1, Thompson
from evenhand.quotas import BernoulliArms, DeadlineLearn
from evenhand.simulation import simulate

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

__all__ = ["staleness"]

MEANS = [0.6, *[0.5] * 9]
SHARE, TOLERANCE = 0.05, 15
"""The least tolerance with which 16 workers keep these shares without a serial beginning."""
POLICIES: dict[str, Any] = {
    "UCB1": UCB1(),
    "Thompson": Thompson(),
    "UCB1, shares of 0.05": DeadlineLearn(UCB1(), [SHARE] * len(MEANS), TOLERANCE),
}
KNOWN = {
    ("UCB1", 4): {1: 0.98, 10: 0.99, 100: 1.03, 1000: 1.03, None: 1.90},
    ("UCB1", 16): {1: 1.02, 10: 1.03, 100: 1.18, 1000: 1.44, None: 2.37},
    ("Thompson", 4): {1: 1.05, 10: 1.00, 100: 1.06, 1000: 1.65, None: 3.22},
    ("Thompson", 16): {1: 1.08, 10: 1.03, 100: 1.40, 1000: 5.61, None: 8.13},
    ("UCB1, shares of 0.05", 4): {1: 1.00, 10: 1.00, 100: 1.01, 1000: 1.02, None: 1.42},
    ("UCB1, shares of 0.05", 16): {1: 1.00, 10: 1.01, 100: 1.05, 1000: 1.18, None: 1.76},
}
ERROR = 0.04
"""The standard error of the known ratios, relative to them."""
WITHIN = "the ratio is at most the known one plus three standard errors of both (4 % of the known one)"
NEEDS = {"rounds": 32_000, "replications": 100}


@dataclass(frozen=True)
class Settings:
    """The rounds of all workers together, how often they are played, how many workers, and when they exchange."""

    rounds: int
    replications: int
    seed: int
    workers: tuple[int, ...]
    exchanges: tuple[int, ...]


@experiment(
    "workers/staleness",
    "What workers lose that hear of each other late",
    full=Settings(32_000, 200, 15, workers=(4, 16), exchanges=(1, 10, 100, 1000)),
    quick=Settings(600, 3, 15, workers=(4,), exchanges=(10,)),
)
def staleness(settings: Settings, runner: Runner) -> Report:
    """Play every policy alone, and by several workers with every interval and without exchange."""
    world = BernoulliArms(MEANS)
    ways: list[tuple[int, int | None]] = [(1, None)]
    ways += [(count, every) for count in settings.workers for every in (*settings.exchanges, None)]
    played = {way: _play(world, settings, runner, *way) for way in ways}
    table = _table(played)
    drawn = {"regret": _draw_regret(played, settings), "interval": _draw_interval(table, settings)}
    drawn["promise"] = _draw_promise(world, settings)
    report = Report({"table": table}, figures=drawn)
    for name in POLICIES:
        claim = Claim(f"{name}: late exchange costs no more than is known", "measured before", WITHIN, NEEDS)
        report.verdicts.append(_verdict(claim, table[table["policy"] == name], settings))
    broken = sum(int(history["violations"].sel(policy="UCB1, shares of 0.05").sum()) for history in played.values())
    kept = Claim("the promise of all workers together is kept at every round", "ours", "no arm behind, ever")
    report.verdicts.append(kept.verdict(broken == 0, f"{broken} arms behind in all rounds of {len(played)} ways"))
    return report


def _play(world: Any, settings: Settings, runner: Runner, workers: int, every: int | None) -> xr.Dataset:
    return simulate(
        POLICIES,
        world,
        rounds=settings.rounds,
        replications=settings.replications,
        seed=settings.seed,
        checkpoints=100,
        workers=workers,
        exchange_rounds=every,
        jobs=runner.jobs,
        progress=runner.progress,
        store=runner.store,
    )


def _table(played: dict[tuple[int, int | None], Any]) -> pd.DataFrame:
    """Return the regret of each policy in each way, divided by that of one worker in the same worlds."""
    import pandas as pd

    rows = []
    for (workers, every), history in played.items():
        for name in POLICIES:
            lost, alone = (one["regret"].sel(policy=name).isel(round=-1).values for one in (history, played[1, None]))
            ratio = lost.mean() / alone.mean()
            error = (lost - ratio * alone).std(ddof=1) / alone.mean() / math.sqrt(lost.size)
            known = KNOWN.get((name, workers), {}).get(every, math.nan)
            rows.append((name, workers, every or math.inf, lost.mean(), ratio, error, known))
    columns = ["policy", "workers", "exchange_rounds", "regret", "ratio", "standard_error", "known"]
    return pd.DataFrame(rows, columns=columns)


def _verdict(claim: Claim, rows: pd.DataFrame, settings: Settings) -> Verdict:
    rows = rows[rows["known"].notna()]
    error = np.hypot(rows["standard_error"], ERROR * rows["known"])
    above = rows[rows["ratio"] > rows["known"] + 3 * error]
    words = [
        f"{row.ratio:.2f} +- {row.standard_error:.2f}, known {row.known:.2f} ({row.workers} workers, "
        f"{'never' if math.isinf(row.exchange_rounds) else f'every {row.exchange_rounds:.0f}'})"
        for row in above.itertuples()
    ]
    said = f"above it: {', '.join(words)}" if words else f"all {len(rows)} ratios within it"
    return claim.verdict(above.empty, said, settings)


def _draw_regret(played: dict[tuple[int, int | None], Any], settings: Settings) -> Figure:
    """Draw regret against rounds, for exchanges that are neither frequent nor rare."""
    from evenhand.plots.style import curve, figure, finish, looks, over_replications

    every = 100 if 100 in settings.exchanges else settings.exchanges[0]
    drawn, panels = figure(width=10.5, height=3.6, columns=len(POLICIES))
    labels = {1: "one worker"} | {count: f"{count} workers" for count in settings.workers}
    shown = looks(list(labels.values()))
    for axes, name in zip(panels, POLICIES, strict=True):
        for count, label in labels.items():
            history = played[1, None] if count == 1 else played[count, every]
            middle, error = over_replications(history["regret"].sel(policy=name))
            look = {**shown[label], "marker": ""}
            curve(axes, history["round"], middle, error, look, label=label)
        title = f"{name}\n(exchange every {every} own rounds)"
        finish(axes, title, "rounds of all workers", "expected reward lost", legend=False)
        axes.legend(frameon=False, fontsize=8.5)
    return drawn


def _draw_interval(table: pd.DataFrame, settings: Settings) -> Figure:
    """Draw the ratio of regrets against the interval, and the known ratios."""
    from evenhand.plots.style import DASHED, figure, finish, looks

    drawn, panels = figure(width=10.5, height=3.6, columns=len(POLICIES))
    never = 10 * max(settings.exchanges)
    shown = looks([f"{count} workers" for count in settings.workers])
    for axes, name in zip(panels, POLICIES, strict=True):
        for count in settings.workers:
            rows = table[(table["policy"] == name) & (table["workers"] == count)]
            at, look = rows["exchange_rounds"].replace(math.inf, never), shown[f"{count} workers"]
            axes.errorbar(at, rows["ratio"], 2 * rows["standard_error"], label=f"{count} workers", **look)
            label = f"{count} workers, known before"
            axes.plot(at, rows["known"], color=look["color"], marker="x", linestyle="", label=label)
        axes.axhline(1.0, **DASHED)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_yticks([1, 2, 4, 8], ["1", "2", "4", "8"])
        axes.minorticks_off()
        ticks = [*settings.exchanges, never]
        axes.set_xticks(ticks, [*(f"{every:,}" for every in settings.exchanges), "never"])
        finish(axes, name, "own rounds between exchanges", "regret, one worker's = 1", legend=False)
    panels[0].legend(frameon=False, fontsize=8.5)
    return drawn


def _draw_promise(world: Any, settings: Settings) -> Figure:
    """Draw by how much each arm is ahead of its share over all workers, and how far behind it may be."""
    from evenhand.plots.style import DASHED, SHADES, figure, finish

    policy, workers = POLICIES["UCB1, shares of 0.05"], max(settings.workers)
    every = 100 if 100 in settings.exchanges else settings.exchanges[0]
    history = simulate(
        policy,
        world,
        rounds=settings.rounds,
        seed=settings.seed,
        checkpoints=400,
        workers=workers,
        exchange_rounds=every,
        jobs=1,
    )
    drawn, axes = figure(width=8.4, height=4.0)
    rounds = history["round"].values
    ahead = history["pulls"].values[0, 0] - SHARE * rounds[:, None]
    for arm in range(1, len(MEANS)):
        axes.plot(
            rounds, ahead[:, arm], color=SHADES[0], linewidth=0.9, alpha=0.7, label="mean 0.5" if arm == 1 else None
        )
    axes.plot(rounds, ahead[:, 0], color=SHADES[1], linewidth=1.8, label="mean 0.6")
    floor = np.floor(SHARE * rounds + 1e-9) - TOLERANCE - SHARE * rounds
    axes.plot(rounds, floor, **DASHED, label="promised: floor(share * rounds) - tolerance")
    axes.set_ylim(-TOLERANCE - 6, 60)
    finish(
        axes, f"One promise over {workers} workers", "rounds of all workers", "pulls ahead of the share", legend=False
    )
    axes.legend(frameon=True, framealpha=1.0, fontsize=8.5, loc="upper center")
    return drawn
