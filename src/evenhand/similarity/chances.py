"""From answers about pairs to chances: the best ones that differ, for any two people, by at most their distance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.rng import Seed, draw_seed, generator
from evenhand.similarity.extension import extended, largest_fair_norm, standing_for
from evenhand.similarity.forms import hull
from evenhand.similarity.learner import DistanceLearner
from evenhand.similarity.program import solved

if TYPE_CHECKING:
    import pandas as pd

MOST_DIFFERENT = 1_500
"""The most people who differ for whom the program is solved: it looks at each pair of them again and again."""
MANY = (
    "Chances were computed for {:,} of the {:,} people and extended to all: they may be more alike than they must be."
)
PLAIN = (
    "If the form holds, no two people's chances differ by more than the smallest distance that the answers leave "
    "possible."
)
SUPPOSES = {
    "certified": "This assumes that no answer is wrong, and that all answers weigh the features alike.",
    "measured, not certified": "Some answers may be wrong, so distances are measured, not certified.",
}
"""What chances rest on, by what a metric says of its intervals; where it knows none, its caveat says so."""


class PlaceChances(NamedTuple):
    """Each person's chance of getting one of the places.

    Attributes
    ----------
    chances : the chance of each person (n,); they add up to the number of places.
    places : how many are chosen.
    mean, best, lot : the mean reward of those chosen: by these chances, if the best were taken, and by lot.
    unknown : the pairs that keep the mean low because their distance is not known yet, a data frame of `one` and
        `other` (rows from 0), the ends `low` and `high` of the distance; first the pair that costs most.
    notes : what a reader must know, in words.
    """

    chances: Floats
    places: int
    mean: float
    best: float
    lot: float
    unknown: pd.DataFrame
    notes: list[str]

    def draw(self, seed: Seed = None) -> Ints:
        """Return the rows (places,) that are chosen when each person has their chance, by systematic sampling of the
        people in a random order."""
        draws = generator(draw_seed(seed))
        order = draws.permutation(self.chances.size)
        ends = np.cumsum(self.chances[order])
        marks = (np.arange(self.places) + draws.random()) * (ends[-1] / self.places)
        return np.sort(order[np.searchsorted(ends, marks, side="right").clip(max=order.size - 1)])


def fair_chances(
    metrics: Sequence[DistanceLearner], people: Floats, rewards: Floats, places: int, notes: Sequence[str] = ()
) -> PlaceChances:
    """Return the chances with the highest mean reward under which no two people (n, d) differ by more than the lower
    end of their distance by any of these metrics, with these notes and those on what is known.
    """
    import pandas as pd

    alike, first, group, sizes = np.unique(people, axis=0, return_index=True, return_inverse=True, return_counts=True)
    group, many = group.ravel(), len(alike) > MOST_DIFFERENT
    if many:
        first, group = standing_for(people)
        alike, sizes = people[first], np.bincount(group)
    k = len(alike)
    low, high = _distances(metrics, alike)
    means = np.bincount(group, rewards) / sizes
    worth = means - means.min() + (np.ptp(means) or 1.0)  # every place is taken, whatever the sign of rewards
    norm = largest_fair_norm(metrics, people.shape[1]) if many else None
    allowed = low if norm is None else norm.between(alike, alike)
    found = solved(worth, allowed, float(places), sizes.astype(np.float64))
    unsure = high - low > metrics[0].taken_at
    chances = found.probabilities.clip(0.0, 1.0)
    chances = chances[group] if norm is None else extended(chances, alike, people, norm, places)
    best = float(np.sort(rewards)[-places:].mean())
    mean, held = float(chances @ rewards / places), []
    if best - mean > 1e-6 * worth.max():
        held = [(i, j) for i, j in found.tight if unsure[i, j] and found.prices[i, j] > 1e-9 * worth.max()]
    rows = [(int(first[i]), int(first[j]), low[i, j], high[i, j]) for i, j in held]
    notes = list(notes)
    if many:
        notes.append(MANY.format(k, len(people)))
    if unsure.any():
        pairs = f"{np.triu(unsure, 1).sum():,} of {k * (k - 1) // 2:,} pairs of different people"
        notes.append(f"In {pairs} the distance is not known to within {metrics[0].taken_at:g} yet.")
    unknown = pd.DataFrame(rows, columns=["one", "other", "low", "high"])
    return PlaceChances(chances, places, mean, best, float(rewards.mean()), unknown, notes)


def _distances(metrics: Sequence[DistanceLearner], people: Floats) -> Floats:
    """Return the ends (low, high) of all distances, each (k, k).

    A distance depends on the difference of two people alone, and tables of whole numbers have few of these: each is
    looked up once, up to rounding.
    """
    k = len(people)
    one, other = np.triu_indices(k, 1)
    apart = people[one] - people[other]
    leading = apart[np.arange(len(apart)), (apart != 0.0).argmax(axis=1)]
    kinds, kind = np.unique(np.round(apart * np.sign(leading)[:, None], 12), axis=0, return_inverse=True)
    ends = np.array(hull(metrics, kinds))
    table = np.zeros((2, k, k))
    table[:, one, other] = table[:, other, one] = ends[:, kind.ravel()] + 0.0
    return table
