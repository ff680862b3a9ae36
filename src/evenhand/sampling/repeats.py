"""Is a sampler better than uniform draws? Both are repeated in a pool whose labels are known, before others are paid
for."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from evenhand.data.groupings import Grouping
from evenhand.kernels.arrays import Floats
from evenhand.rng import child
from evenhand.sampling.collected import fresh_risks, uniform_draw
from evenhand.sampling.labelling.collection import collect
from evenhand.sampling.pools.pools import ArrayPool
from evenhand.sampling.sampler import Sampler

STREAM = 3
"""The stream of a sampler's seed that the seeds of repeats come from."""

CLOSE = 0.01
"""Random is called as good only where the risks are within this."""


class Gain(NamedTuple):
    """By how much the worst-off group's risk is lower than after uniform draws of the same cost.

    Attributes
    ----------
    gains : the gain of each repeat (repeats,).
    mean, low, high : their mean, and its 95 % interval by Student's t; NaN where all gains are the same.
    constant : in how many repeats the sampler's model gives every row the same label.
    """

    gains: Floats
    mean: float
    low: float
    high: float
    constant: int

    def __str__(self) -> str:
        """Return the answer in words."""
        n, widest = len(self.gains), max(abs(self.low), abs(self.high))
        found = f"{abs(self.mean):.4f} {'lower' if self.mean >= 0 else 'higher'} than after uniform draws"
        interval = f"gain {self.low:.4f} to {self.high:.4f}, 95 % interval of {n} repeats"
        if math.isnan(widest):
            interval = f"the same in all {n} repeats, which gives no interval"
        said = f"The worst-off group's risk is {found} ({interval})."
        if self.low <= 0.0 <= self.high:
            close = f"Random is as good here, to within {widest:.4f}" if widest <= CLOSE else "No difference is shown"
            said = f"{close}: t{said[1:]}"
        same = f"In {self.constant} of {n} repeats the model gives every row the same label"
        return f"{said} {same}: it may not be worth having." if self.constant else said


def gain_over_uniform(
    sampler: Sampler, pool: ArrayPool, repeats: Iterable[int], *, reweighted: bool = False, mixture: bool = False
) -> Gain:
    """Return the gain of a sampler over uniform draws of the same cost, for each of these numbers with another seed, on
    the rows that neither has drawn, in the groups that these suffice to judge; at least two numbers."""
    from scipy.stats import t

    gains, constant = [], 0
    for number in repeats:
        world, own = copy.deepcopy(pool), sampler.fresh(seed=child(sampler.seed, STREAM, number))
        world.reset(own.seed)
        collect(own, world, rounds=len(pool.y), checkpoints=0)
        finished = own.finish(reweighted=reweighted, mixture=mixture)
        uniform, drawn = uniform_draw(own, world, finished.cost, reweighted=reweighted, mixture=mixture)
        seen = np.union1d(world.chosen, drawn).astype(np.int64)
        tables = [fresh_risks(one, world, seen, own.loss) for one in (uniform, finished.model)]
        judged = Grouping.of_rows(world.groups, tables[0]["rows"].to_numpy()).judged
        worst = [float(table["risk"][judged].max()) for table in tables]
        gains.append(worst[0] - worst[1])
        constant += len(set(np.asarray(finished.model.predict(pool.X)).tolist())) == 1
    found, n = np.array(gains), len(gains)
    wide = float(t.ppf(0.975, n - 1) * found.std(ddof=1) / np.sqrt(n)) if np.ptp(found) > 0.0 else math.nan
    mean = float(found.mean())
    return Gain(found, mean, mean - wide, mean + wide, constant)
