"""Logs whose rewards drift, and how often intervals that are looked at again and again miss their running means.

Each log is of three arms. Rewards stay as they are, step up halfway, rise, go up and down, or depend on who comes;
weights go up to 3.5, to 80, or to 30 with rewards near 0.01; in the last log a learner chose, and rewards step up. The
truth is the mean over the rows so far of the rewards that the candidate was to expect. A stream is missed if any look
finds the truth outside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from evenhand.audit.sequences import BettingProcess, refutes
from evenhand.evaluation.comparison import Pair
from evenhand.evaluation.diagnosis import known_weight
from evenhand.evaluation.estimators import Candidate
from evenhand.evaluation.logged import Logged
from evenhand.evaluation.value_curve import ValueCurve, look_rounds
from evenhand.kernels.arrays import Bools, Floats, Ints

ERROR = 0.05
FEWEST = 30
"""Rows before which nobody would look at a normal interval."""


class World(NamedTuple):
    """The chances of the log (n_types, n_arms), two candidates (n_types, n_arms), the mean rewards (n_types, n_arms) at
    the start and by how much each is higher at the end of its drift, and the drift from 0 to 1 over the rows. A row is
    of each type with the same probability."""

    chances: Floats
    candidates: tuple[Floats, Floats]
    means: Floats
    rise: float
    drift: Callable[[Floats], Floats]
    learner: bool = False


def worlds() -> dict[str, World]:
    """Return the logs by their names; a drift is a function of the share of the rows that are past."""

    def still(past: Floats) -> Floats:
        return np.zeros(len(past))

    def step(past: Floats) -> Floats:
        return np.asarray(past >= 0.5, np.float64)

    def cycle(past: Floats) -> Floats:
        return np.asarray(0.5 - 0.5 * np.cos(6 * np.pi * past), np.float64)

    def rows(*values: tuple[float, ...]) -> Floats:
        return np.array(values)

    plain = rows((0.5, 0.3, 0.2)), (rows((0.1, 0.2, 0.7)), rows((0.5, 0.3, 0.2))), rows((0.2, 0.4, 0.6)), 0.3
    mixed = rows((0.6, 0.2, 0.2), (0.2, 0.2, 0.6)), (rows((0.0, 0.3, 0.7), (0.7, 0.3, 0.0)), plain[1][1].repeat(2, 0))
    rare = rows((0.5, 0.4875, 0.0125)), (rows((0.0, 0.0, 1.0)), rows((0.4, 0.4, 0.2))), plain[2], 0.3
    clicks = rows((0.5, 0.4 + 1 / 15, 1 / 30)), rare[1], rows((0.005, 0.01, 0.01)), 0.01
    return {
        "still": World(*plain, still),
        "step": World(*plain, step),
        "trend": World(*plain, lambda past: past),
        "cycle": World(*plain, cycle),
        "mix": World(*mixed, rows((0.1, 0.5, 0.9), (0.9, 0.5, 0.1)), 0.0, still),
        "weights 80, still": World(*rare, still),
        "weights 80, step": World(*rare, step),
        "clicks, still": World(*clicks, still),
        "clicks, step": World(*clicks, step),
        "learner, step": World(*plain, step, learner=True),
    }


class Stream(NamedTuple):
    """A log, two candidates, and the running means (n_rows,) of what these and the log's own policy were to expect."""

    logged: Logged
    candidates: tuple[Candidate, Candidate]
    truths: tuple[Floats, Floats]
    own: Floats


def stream(world: World, random: np.random.Generator, rounds: int) -> Stream:
    """Draw a log."""
    types = random.integers(len(world.chances), size=rounds)
    means = world.means[types] + world.rise * world.drift(np.arange(rounds) / rounds)[:, None]
    draws, pays = random.random(rounds), random.random((rounds, 3)) < means
    every: Floats = _learned(draws, pays) if world.learner else world.chances[types]
    codes: Ints = np.minimum((draws[:, None] >= every.cumsum(axis=1)).sum(axis=1), 2)
    at, n = np.arange(rounds), np.arange(1, rounds + 1)
    fixed = not world.learner
    places, known = tuple(range(len(world.chances))), world.chances if fixed else every
    drawn = codes, types, np.asarray(pays[at, codes], np.float64), every[at, codes]
    logged = Logged((0, 1, 2), places, *drawn, known, fixed, False, None, None, False)
    one, other = (Candidate(mine, types) for mine in world.candidates)
    levels = world.rise * world.drift(np.arange(rounds) / rounds)
    truths = tuple(((mine * world.means).sum(axis=1).mean() + levels).cumsum() / n for mine in world.candidates)
    return Stream(logged, (one, other), (truths[0], truths[1]), (every * means).sum(axis=1).cumsum() / n)


def _learned(draws: Floats, pays: Bools) -> Floats:
    """Return the chances (n_rows, 3) of an epsilon-greedy learner, epsilon = t^-0.3."""
    sums, counts, rows = [0.0, 0.0, 0.0], [0, 0, 0], []
    for round, (draw, paid) in enumerate(zip(draws.tolist(), pays.tolist(), strict=True), 1):
        epsilon = round**-0.3
        means = [total / count if count else 1.0 for total, count in zip(sums, counts, strict=True)]
        chances = [epsilon / 3] * 3
        chances[means.index(max(means))] += 1 - epsilon
        arm = 0 if draw < chances[0] else 1 if draw < chances[0] + chances[1] else 2
        sums[arm] += paid[arm]
        counts[arm] += 1
        rows.append(chances)
    return np.array(rows)


def looks(world: World, random: np.random.Generator, rounds: int) -> list[dict[str, object]]:
    """Return of each interval whether it missed the truth of one stream at any look, and its width at the end."""
    drawn = stream(world, random, rounds)
    logged, (one, other), (truth, their_truth) = drawn.logged, drawn.candidates, drawn.truths
    largest, their_largest = known_weight(logged, one), known_weight(logged, other)
    value_curves = {
        "ips": ValueCurve(logged, one, "ips", None, largest),
        "dr": ValueCurve(logged, one, "dr", None, largest),
        "ips, W unknown": ValueCurve(logged, one, "ips", None, None),
    }
    pair = Pair(value_curves["dr"], ValueCurve(logged, other, "dr", None, their_largest))
    own = BettingProcess()
    missed = dict.fromkeys([*value_curves, "difference", "replay", "normal"], False)
    for look, before in zip(look_rounds(rounds), [0, *look_rounds(rounds)], strict=False):
        for value_curve in (*value_curves.values(), pair.other):
            while value_curve.rounds < look:
                value_curve.take(look)
                if value_curve is pair.other:
                    pair.take(bounded=True)
        fresh = logged.rewards[before:look]
        own.add([(fresh, 0.0)], [(-fresh, 1.0)])
        now, apart = truth[look - 1], truth[look - 1] - their_truth[look - 1]
        for name, value_curve in value_curves.items():
            missed[name] |= _misses(value_curve.books, now)
        missed["difference"] |= _misses(pair.books, apart)
        missed["replay"] |= _misses(own, drawn.own[look - 1])
        low, high = value_curves["ips, W unknown"].bounds(ERROR, "normal")
        missed["normal"] |= look >= FEWEST and not low <= now <= high
    ends = {name: value_curve.bounds(ERROR, "anytime") for name, value_curve in value_curves.items()} | {
        "difference": pair.bounds(ERROR, "anytime"),
        "replay": own.interval(ERROR, 0.0, 1.0),
        "normal": value_curves["ips, W unknown"].bounds(ERROR, "normal"),
    }
    return [{"interval": name, "missed": bool(missed[name]), "width": high - low} for name, (low, high) in ends.items()]


def _misses(books: BettingProcess, mean: float) -> bool:
    """Return whether a mean lies outside the interval."""
    return refutes(books.below, mean, ERROR / 2) or refutes(books.above, -mean, ERROR / 2)
