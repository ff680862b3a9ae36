"""Promises in a changing world, drawn: shares that change by the hour, windows beside shares, slates with floors.

Two claims on windows are counted over all small instances: that every density up to 5/6 has a chain of periods, and how
many of the exactly safe states the test by a chain finds safe.

Source: ours; densities up to 5/6 can always be scheduled, A. Kawamura, STOC 2024, by a construction that is no chain.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.experiments.framework import Claim, Report, Runner, experiment
from evenhand.kernels.compose import interpreted
from evenhand.learners import UCB1, Thompson
from evenhand.promises.windows import chain, safe_states, spare_after
from evenhand.quotas import BernoulliArms, DeadlineLearn, WindowLearn

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["promises"]

CHAIN = Claim("windows of density up to 5/6, a_i <= 9, up to 4 arms, all have a chain", "ours", "every instance", {})
SAFE = Claim("the test by a chain finds nearly all exactly safe states safe, up to 3 arms", "ours", "at least 98 %", {})
KEPT = Claim("a campaign's hourly shares are kept in every hour", "ours", "at every round", {})
NIGHT, EVENING = 0.1, 0.5


@dataclass(frozen=True)
class Settings:
    """How many rounds an hour, how many arms have windows in the largest instances, and the seed."""

    rounds: int
    longest: int
    seed: int


@experiment(
    "changing/promises",
    "Shares by the hour, windows and slates, kept at every round",
    full=Settings(rounds=200, longest=9, seed=7),
    quick=Settings(rounds=100, longest=6, seed=7),
)
def promises(settings: Settings, runner: Runner) -> Report:
    """Count the claims and draw the three promises."""
    instances = [
        windows
        for arms in (2, 3, 4)
        for windows in combinations_with_replacement(range(2, settings.longest + 1), arms)
        if sum(Fraction(1, a) for a in windows) <= Fraction(5, 6)
    ]
    chained = sum(chain(list(windows)) is not None for windows in instances)
    found, safe = np.sum([_found_safe(windows) for windows in instances if len(windows) < 4], axis=0)
    hours, kept = _pace(settings)
    report = Report(figures={"promises": _draw(hours, settings)})
    report.verdicts = [
        CHAIN.verdict(chained == len(instances), f"{chained} of {len(instances)}"),
        SAFE.verdict(found >= 0.98 * safe, f"{found:,} of {safe:,}, {found / safe:.2%}"),
        KEPT.verdict(kept, f"{'every' if kept else 'not every'} round of {24 * settings.rounds:,}"),
    ]
    return report


def _found_safe(windows: tuple[int, ...]) -> tuple[int, int]:
    """Return how many states the chain's test finds safe, and how many are."""
    periods, table = chain(list(windows)), safe_states(list(windows))
    assert periods is not None
    assert table is not None
    policy = WindowLearn(UCB1(), dict(enumerate(windows)), len(windows) + 1)
    order = sorted(range(len(windows)), key=periods.__getitem__)
    params, state = policy.quota_parameters(()), policy.quota_memory(())
    arrays = [np.array([column[n] for n in order], np.int64) for column in (windows, periods)]
    params = params._replace(windows=arrays[0], periods=arrays[1], safe=np.zeros(0, np.bool_))
    found, look = 0, interpreted(spare_after)
    for left in product(*(range(1, a + 1) for a in windows)):
        if table[tuple(time - 1 for time in left)]:
            state.left[:] = [left[n] + 1 for n in order]  # a round goes by in which nobody is served
            found += look(params, state, -1) >= 0
    return found, int(table.sum())


def _pace(settings: Settings) -> tuple[list[float], bool]:
    """Return the campaign's share of each hour, and whether the promise held at every round."""
    random = np.random.default_rng(settings.seed)
    policy = DeadlineLearn(Thompson(), _hourly(0), seed=settings.seed)
    shares, kept, start, before = [], True, 0, dict.fromkeys(policy.pulls, 0)
    for hour in range(24):
        if hour in (18, 23):
            policy.change(_hourly(hour))
            start, before = policy.round, policy.pulls
        began = policy.pulls["campaign"]
        for _ in range(settings.rounds):
            decision = policy.ask()
            policy.tell(decision, float(random.random() < (0.6 if decision.arm == "house" else 0.2)))
            since = {arm: pulls - before[arm] for arm, pulls in policy.pulls.items()}
            kept = kept and policy.promise.kept(list(since.values()), policy.round - start)
        shares.append((policy.pulls["campaign"] - began) / settings.rounds)
    return shares, kept


def _hourly(hour: int) -> dict[str, float]:
    return {"house": 0.0, "other": 0.2, "campaign": EVENING if 18 <= hour < 23 else NIGHT}


def _waits(policy: Any, settings: Settings) -> list[int]:
    """Return after how many rounds each time the new model came again."""
    random, last, waits = np.random.default_rng(settings.seed), 0, []
    for round in range(1, 24 * settings.rounds + 1):
        decision = policy.ask()
        worth = {"large": 0.8, "small": 0.3, "new": 0.75 if round < 8 * settings.rounds else 0.2}
        policy.tell(decision, float(random.random() < worth[decision.arm]))
        if decision.arm == "new":
            waits.append(round - last)
            last = round
    return waits


def _draw(hours: list[float], settings: Settings) -> Figure:
    from evenhand.plots.style import DASHED, SHADES, figure
    from evenhand.simulation import simulate

    drawn, (pace, wait, places) = figure(width=10.5, height=4.0, columns=3)
    pace.bar(range(24), hours, color=SHADES[0], width=0.8)
    pace.step(np.arange(25) - 0.5, [NIGHT, *(_hourly(hour)["campaign"] for hour in range(24))], **DASHED)
    pace.set(xlabel="hour of the day", ylabel="share of the hour's decisions", ylim=(0, 0.62))
    pace.set_title("A campaign's shares by the hour\n(dashed: promised)", loc="left", fontsize=10.5)

    arms = ["large", "small", "new"]
    by_shares = DeadlineLearn(UCB1(), {"large": 0, "small": 0, "new": "2/25"})
    for n, (name, policy) in enumerate(
        (("a share of 2/25", by_shares), ("twice in any 25 rounds", WindowLearn(UCB1(), {"new": (2, 25)}, arms)))
    ):
        waits = np.sort(_waits(policy, settings))
        wait.step(waits, 1.0 - np.arange(1, waits.size + 1) / waits.size, color=SHADES[n], where="post", label=name)
    wait.set(xscale="log", xlabel="rounds until the new model comes again", ylabel="share of the waits that are longer")
    wait.set_title("A model that was good at first:\na share may leave it for long", loc="left", fontsize=10.5)
    wait.legend(frameon=False, fontsize=9)

    floors = {"a": 0.6, "b": 0.0, "c": 0.4, "d": 0.0, "e": 0.2}
    means: dict[str | int, float] = {"a": 0.1, "b": 0.7, "c": 0.2, "d": 0.8, "e": 0.3}
    slates = DeadlineLearn(UCB1(), floors, plays=3)
    rounds = 24 * settings.rounds
    history = simulate(slates, BernoulliArms(means), rounds=rounds, seed=settings.seed, checkpoints=1)
    places.bar(list(floors), history.pulls.values[0, 0, -1] / rounds, color=SHADES[0], width=0.7)
    for n, floor in enumerate(floors.values()):
        places.hlines(floor, n - 0.4, n + 0.4, color="black", linestyles="dashed", linewidth=1.2)
    places.set(xlabel="arm (b and d pay best)", ylabel="share of the rounds in which it is shown", ylim=(0, 1.08))
    places.set_title("Three places a round\n(dashed: promised)", loc="left", fontsize=10.5)
    return drawn
