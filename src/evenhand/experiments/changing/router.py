"""A router of language models under one promise of several kinds: known chances, a maximum for the dearest model,
shares of one model and of two together, and models that fail, so that arms come and go.

Every clause is checked at every round on its own clock, by counting anew, and every chance against its floor.

Source: ours; the theorem stands at the head of `evenhand.promises.laminar`, the lottery at that of
`evenhand.promises.draw`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.experiments.framework import Claim, Report, Runner, experiment
from evenhand.learners import Thompson
from evenhand.promises.promise import Clause, Promise
from evenhand.quotas import DeadlineLearn

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["router"]

KEPT = Claim("every share and the cap are kept, each on its own clock", "ours", "at every round", {})
KNOWN = Claim("a model on offer keeps at least half of its share as its chance", "ours", "at every round", {})
WORTH: dict[str | int, float] = {"large": 0.9, "medium": 0.8, "small": 0.6, "new": 0.5}
FLOOR, FAILS, RETURNS = 0.5, 0.005, 0.04
ROUNDING = 1e-12


@dataclass(frozen=True)
class Settings:
    """How many requests, and the seed."""

    rounds: int
    seed: int


class Run(NamedTuple):
    offered: np.ndarray
    """(rounds, models): whether a model answers."""
    played: np.ndarray
    """(rounds, models): whether it was asked."""
    chances: np.ndarray
    """(rounds, models): with which probability."""


@experiment(
    "changing/router",
    "A router of language models: chances, a cap, shares of sets and models that fail, in one promise",
    full=Settings(rounds=1200, seed=1),
    quick=Settings(rounds=200, seed=1),
)
def router(settings: Settings, runner: Runner) -> Report:
    """Count the claims and draw the run."""
    promise = Promise(
        {"large": 0, "medium": "1/20", ("small", "new"): "2/5", "new": "1/10"}, caps={"large": "50%"}, offers=["small"]
    )
    run = _route(promise, settings)
    broken = _broken(promise, run)
    least = [_least_chance(run, model, float(share)) for model, share in zip(promise.arms, promise.shares, strict=True)]
    report = Report(figures={"router": _draw(promise, run)})
    report.verdicts = [
        KEPT.verdict(broken == 0, f"{broken} of {settings.rounds:,} rounds broke a clause"),
        KNOWN.verdict(min(least) >= -ROUNDING, f"the least chance is {min(least):+.3f} above its floor"),
    ]
    return report


def _route(promise: Promise, settings: Settings) -> Run:
    """Route the requests; every model but the small one fails now and then for a while."""
    random = np.random.default_rng(settings.seed)
    policy = DeadlineLearn(Thompson(), promise, lottery=FLOOR, seed=settings.seed)
    up, rows = dict.fromkeys(promise.arms, True), []
    for _ in range(settings.rounds):
        for model in promise.arms:
            stays = random.random() >= FAILS if up[model] else random.random() < RETURNS
            up[model] = stays or model == "small"
        decision = policy.ask(available=[model for model in promise.arms if up[model]])
        chances = decision.probabilities
        policy.tell(decision, float(random.random() < WORTH[decision.arm]))
        rows.append(([up[m] for m in promise.arms], [m == decision.arm for m in promise.arms], chances))
    return Run(*(np.array(column) for column in zip(*rows, strict=True)))


def _clocks(promise: Promise, run: Run) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return for each clause, after every round, the rounds of its clock and the plays of its arms."""
    found = []
    for clause in promise.clauses:
        places = [promise.arms.index(arm) for arm in clause.arms]
        found.append((run.offered[:, places].any(1).cumsum(), run.played[:, places].sum(1).cumsum()))
    return found


def _broken(promise: Promise, run: Run) -> int:
    """Return after how many rounds some floor or cap was broken."""
    bad = np.zeros(len(run.played), bool)
    for clause, (rounds, plays) in zip(promise.clauses, _clocks(promise, run), strict=True):
        rate = clause.rate
        assert not isinstance(rate, tuple)
        least, most = rounds * rate.numerator // rate.denominator, -(-rounds * rate.numerator // rate.denominator)
        bad |= plays < least if clause.kind == "floor" else plays > most
    return int(bad.sum())


def _least_chance(run: Run, model: str | int, share: float) -> float:
    """Return by how much the chance of a model that has a share was above its floor at least."""
    place = list(WORTH).index(str(model))
    there = run.offered[:, place]
    return float((run.chances[there, place] - FLOOR * share).min()) if share and there.any() else 0.0


def _name(clause: Clause) -> str:
    return (
        f"{' + '.join(map(str, clause.arms))}: at {'least' if clause.kind == 'floor' else 'most'} {clause.rate_as_text}"
    )


def _draw(promise: Promise, run: Run) -> Figure:
    from evenhand.plots.style import DASHED, SHADES, figure

    drawn, (parts, chances) = figure(width=10.5, height=4.4, columns=2)
    colours = dict(zip(WORTH, SHADES, strict=False))
    rounds, first = np.arange(1, len(run.played) + 1), 20
    for clause, (clock, plays) in zip(promise.clauses, _clocks(promise, run), strict=True):
        part = (plays / np.maximum(clock, 1))[first:]
        parts.plot(rounds[first:], part, color=colours[str(clause.arms[0])], label=_name(clause))
        parts.axhline(float(clause.rate), **DASHED)  # type: ignore[arg-type]
    parts.set(xlabel="request", ylabel="part of the requests when it could answer", ylim=(0, 0.7))
    parts.set_title("Every share and the cap, on its own clock\n(dashed: promised)", loc="left", fontsize=10.5)
    parts.legend(fontsize=8.5, loc="upper center", ncols=2, bbox_to_anchor=(0.5, -0.16))

    some = slice(len(run.played) // 3, len(run.played) // 3 + 120)
    stacked = {"labels": list(WORTH), "colors": list(colours.values()), "step": "mid", "alpha": 0.85}
    chances.stackplot(rounds[some], run.chances[some].T, **stacked)
    chances.set(xlabel="request", ylabel="chance of each model", ylim=(0, 1.0))
    chances.margins(x=0)
    chances.set_title("The chances of 120 requests\n(no colour: it fails, or has no room)", loc="left", fontsize=10.5)
    chances.legend(fontsize=8.5, loc="upper center", ncols=4, bbox_to_anchor=(0.5, -0.16))
    return drawn
