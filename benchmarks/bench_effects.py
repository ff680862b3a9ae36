"""How often the intervals of `eh.effects` hold and its tests are wrong, by simulated logs.

python -m benchmarks.bench_effects [--logs N]
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from evenhand.cli.output import table
from evenhand.evaluation.overlap import difference
from evenhand.kernels.arrays import Floats

ALPHA = 0.05
RATES = ((0.05, 0.5), (0.5, 0.9), (0.6, 0.9), (0.25, 0.4))
EQUAL = (0.05, 0.25, 0.5, 0.9)
PAIRS = (*RATES, *((arm, control) for control, arm in RATES), *((rate, rate) for rate in EQUAL))
"""The rates of the control and of the arm."""
CHANCES = (0.1, 0.3, 0.5, 0.7, 0.9)
ROWS = (100, 400, 4000)
DRAWN, OUTCOMES = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0])
"""The four kinds of rows: rows of one chance are as good as how many there are of each."""


class Way(NamedTuple):
    """How logs are drawn.

    Attributes
    ----------
    batches : into how many parts the rows are divided, in which nothing changes.
    missing : the share of outcomes that are never known, of the control and of the arm.
    drift : by how much all rates rise from the first row to the last.
    delay : after how many batches outcomes are known to a learner; 0 where the chance never changes.
    """

    batches: int = 1
    missing: tuple[float, float] = (0.0, 0.0)
    drift: float = 0.0
    delay: int = 0


WAYS = {
    "one chance": Way(),
    "a tenth missing": Way(missing=(0.1, 0.1)),
    "a quarter of the arm's missing": Way(missing=(0.0, 0.25)),
    "rates rise by .3": Way(batches=20, drift=0.3),
    "a learner": Way(batches=50, delay=1),
    "a learner, outcomes late, 5 % missing": Way(batches=50, delay=5, missing=(0.05, 0.05)),
    "a learner, outcomes late, rates rise by .3": Way(batches=50, delay=5, drift=0.3),
}


def learned(known: Floats) -> Floats:
    """Return the chance of the arm (logs,), about that with which Thompson sampling plays it, in [.1, .9], after so
    many outcomes of each kind (logs, 4) and one of each before."""
    failed, succeeded = (1 + known).reshape(-1, 2, 2).transpose(2, 0, 1)
    mean = succeeded / (failed + succeeded)
    error = np.sqrt((mean * (1 - mean) / (failed + succeeded + 1)).sum(axis=1))
    return np.asarray(np.clip(ndtr((mean[:, 1] - mean[:, 0]) / error), 0.1, 0.9))


def logs_of(
    random: np.random.Generator, way: Way, logs: int, rows: int, rates: tuple[float, float], chance: float
) -> tuple[Floats, Floats]:
    """Return of each batch the chance of the arm (logs, batches, 1), and how many rows there are of each kind
    (logs, batches, 4)."""
    counts, chances = np.zeros((logs, way.batches, 4)), np.full((logs, way.batches, 1), chance)
    course = way.drift * np.linspace(-0.5, 0.5, way.batches) if way.drift else np.zeros(way.batches)
    for batch in range(way.batches):
        if way.delay:
            chances[:, batch, 0] = learned(counts[:, : max(0, batch - way.delay + 1)].sum(axis=1))
        arm = random.binomial(rows // way.batches, chances[:, batch, 0])
        for place, allocated in enumerate((rows // way.batches - arm, arm)):
            observed = random.binomial(allocated, 1 - way.missing[place])
            cured = random.binomial(observed, rates[place] + course[batch])
            counts[:, batch, 2 * place : 2 * place + 2] = np.stack([observed - cured, cured], axis=1)
    return chances, counts


class Cell(NamedTuple):
    """What was drawn, and how often intervals held and tests rejected."""

    way: str
    control: float
    arm: float
    rows: int
    chance: float
    coverage: float
    width: float
    rejected: float


def cells(logs: int) -> Iterator[Cell]:
    """Yield the cells."""
    random = np.random.default_rng(70)
    for name, way in WAYS.items():
        for rates, rows, chance in itertools.product(PAIRS, ROWS, (np.nan,) if way.delay else CHANCES):
            if min(rates) < way.drift / 2 or max(rates) > 1 - way.drift / 2:
                continue
            chances, counts = logs_of(random, way, logs, rows, rates, chance)
            kinds = (np.broadcast_to(one, counts.shape).reshape(logs, -1) for one in (DRAWN, chances, OUTCOMES))
            found = difference(*kinds, ALPHA, counts.reshape(logs, -1))
            truth = rates[1] - rates[0]
            holds = (found.low <= truth + 1e-12) & (truth <= found.high + 1e-12)
            measured = holds.mean(), (found.high - found.low).mean(), (found.p_value < ALPHA).mean()
            yield Cell(name, *rates, rows, chance, *map(float, measured))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=10_000, help="logs a cell")
    logs, begun = parser.parse_args().logs, time.perf_counter()
    found = list(cells(logs))
    summary = []
    for way, rows in itertools.product(WAYS, ROWS):
        mine = [one for one in found if (one.way, one.rows) == (way, rows)]
        covers, errors = [one.coverage for one in mine], [one.rejected for one in mine if one.control == one.arm]
        width = np.mean([one.width for one in mine])
        told = f"{min(covers):.3f}", f"{np.mean(covers):.3f}", f"{width:.3f}", f"{max(errors):.3f}"
        summary.append((way, str(rows), str(len(mine)), *told))
    columns = ["drawn with", "rows", "cells", "least coverage", "mean", "mean width", "largest type I error"]
    table(f"95 % intervals and 5 % tests, {logs:,} logs a cell", columns, summary)
    below = [one for one in found if one.coverage < 0.94 or (one.control == one.arm and one.rejected > 0.06)]
    shown = [(*map(str, one[:5]), *(f"{number:.3f}" for number in one[5:])) for one in below]
    title = f"Coverage below .94 or type I error above .06: {len(below)} of {len(found)} cells"
    table(title, ["drawn with", "control", "arm", "rows", "p", "coverage", "width", "rejected"], shown)
    print(f"{time.perf_counter() - begun:.0f} seconds")


if __name__ == "__main__":
    main()
