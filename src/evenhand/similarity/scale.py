"""One scale for everybody: features of any size become numbers that a metric and a linear reward can work with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from evenhand.arguments import array
from evenhand.data.contexts import feature_columns
from evenhand.data.tables import column_names
from evenhand.errors import ArgumentError, ContextError, expected
from evenhand.frames import frame_or_value, is_frame
from evenhand.kernels.arrays import Floats
from evenhand.parameters import Parameters
from evenhand.registry import register
from evenhand.similarity.reading import LARGEST_FEATURE


@register("similarity/scale", kind="part")
class Scale(Parameters):
    """The same affine scale for everybody, (x - centre) / unit, feature by feature.

    Different people stay different, and ratios of their differences in a feature are kept. Dividing each person by a
    length of their own would make [3, 0] and [1, 0] equal.

    Parameters
    ----------
    centre : the value of each feature (d,) that becomes 0.
    unit : the difference in each feature (d,), above 0, that becomes 1.
    features : the names of the features, in their order; None where they have none.

    Raises
    ------
    ArgumentError
        If these are not finite numbers or names, have different lengths, or a unit is not above 0.

    Examples
    --------
    >>> scale = Scale.of([[30, 1.0], [50, 1.0], [40, 4.0]])
    >>> scale([[40, 2.0]])
    array([[0., 0.]])
    """

    def __init__(self, centre: Sequence[float], unit: Sequence[float], features: Sequence[str] | None = None) -> None:
        self.centre = array("centre", centre, "numbers (d,)", dimensions=1, largest=LARGEST_FEATURE).tolist()
        self.unit, d = array("unit", unit, "numbers above 0 (d,)", dimensions=1).tolist(), len(self.centre)
        self.features = None if features is None else list(map(str, column_names("features", features)))
        if len(self.unit) != d or min(self.unit) <= 0.0:
            raise ArgumentError(expected("unit", f"{d} numbers above 0, as many as the centre has", self.unit))
        if self.features is not None and not len(set(self.features)) == d == len(self.features):
            raise ArgumentError(expected("features", f"{d} names, each once", self.features))

    @classmethod
    def of(cls, people: Any) -> Self:
        """Return the scale of a pool of people (n, d): each feature has mean 0 and the same spread, and the longest of
        the people's vectors has length 1.

        A feature with one value for all becomes 1 before lengths are taken, so that a linear reward may have an
        intercept. The columns of a data frame name the features.

        Raises
        ------
        ArgumentError
            If the pool holds anything but finite numbers.
        """
        people = frame_or_value(people, "people")
        rows = array("people", people, "numbers (n, d)", dimensions=2, largest=LARGEST_FEATURE)
        spread, level = rows.std(axis=0), np.abs(rows[0])
        differs = (rows.max(axis=0) > rows.min(axis=0)) & (spread > 0.0)
        centre = np.where(differs, rows.mean(axis=0), 0.0)
        unit = np.where(differs, spread, np.where(level > 0.0, level, 1.0))
        longest = float(np.sqrt(np.square((rows - centre) / unit).sum(axis=1)).max()) or 1.0
        named = is_frame(people) and all(isinstance(name, str) for name in people.columns)
        return cls(centre.tolist(), (unit * longest).tolist(), list(people.columns) if named else None)

    def __call__(self, people: object) -> Floats:
        """Return people (n, d) on this scale; of a data frame the columns that the features name.

        Raises
        ------
        ArgumentError, TableError
            If there are other features, or values that are no finite numbers.
        """
        people, d = frame_or_value(people, "people"), len(self.centre)
        if is_frame(people) and self.features is not None:
            people = feature_columns(people, self.features)
        rows = array("people", people, f"numbers (n, {d})", dimensions=2, largest=LARGEST_FEATURE)
        if rows.shape[1] != d:
            raise ContextError(expected("people", f"{d} features, as the scale has", rows.shape[1]))
        return (rows - self.centre) / self.unit

    def __repr__(self) -> str:
        names = self.features or [f"feature {n}" for n in range(len(self.centre))]
        parts = zip(names, self.centre, self.unit, strict=True)
        return ", ".join(f"({name} - {centre:.4g}) / {unit:.4g}" for name, centre, unit in parts)

    snapshot = Parameters.config

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the scale that `snapshot` was taken of."""
        return cls(**snapshot)

    @classmethod
    def _examples(cls) -> Iterator[Self]:
        """Yield scales to check."""
        yield cls([0.0, 1.0], [3.0, 4.0], ["age", "income"])


def read_scale(scale: object, dimension: int) -> Scale | None:
    """Return a scale of so many features, or None, refusing anything else."""
    if scale is None or (isinstance(scale, Scale) and len(scale.centre) == dimension):
        return scale
    raise ArgumentError(expected("scale", f"a Scale of {dimension} features, such as Scale.of(pool)", scale))
