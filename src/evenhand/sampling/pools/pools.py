"""Finite pools of labelled examples: arrays, and images of pairs of classes.

Rows are drawn without replacement until a group's pool is used up; the sampler learns this by getting fewer rows than
it asked for.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.arguments import whole, yes_or_no
from evenhand.data.groupings import Grouping
from evenhand.data.rows import in_step
from evenhand.errors import ArgumentError, UnknownArmError, Wording, expected, expected_one_of
from evenhand.frames import as_array, frame_or_value
from evenhand.kernels.arrays import Floats, Ints
from evenhand.labels import Labels
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.rng import generator
from evenhand.sampling.pools.frame_codes import FrameCodes, columns_of
from evenhand.sampling.pools.labels import grouped, read_labels
from evenhand.sampling.problem import MOST, Draw, group_index


@register("sampling/array-pool", kind="world")
class ArrayPool:
    """A pool of rows X (n, ...), labels y (n,) and groups (n,), drawn in a random order.

    A saved pool holds its rows and continues exactly. To resume a collection without saving the pool, make it again
    from the same rows, `reset` it with the same seed, and `advance` it by the rows that each group has handed out.

    Parameters
    ----------
    X : features, one row per example; images may have more axes. A data frame is handed out as one, texts included, for
        a pipeline that names its columns.
    y : labels (n,).
    group : the group (n,) of each row; a row belongs to one group. Labels and groups that carry the row labels of X are
        matched by them.
    replace : draw with replacement; then pools are never used up, but the same row may both train and validate.

    Attributes
    ----------
    groups : the groups' labels, in the order of the categories of `group` where it has any, otherwise sorted.
    sizes : rows (m,) of each group.
    chosen : row numbers handed out since `reset`, in order.
    enough : whether the groups that have enough rows to say anything hold half of all rows.
    notes : which groups have too few rows, where such groups hold more than half.

    Raises
    ------
    ArgumentError
        If the lengths or the row labels differ, there are no rows, or a row has several groups.

    Examples
    --------
    >>> pool = ArrayPool([[0.0], [1.0], [2.0]], [0, 1, 1], group=["a", "b", "b"])
    >>> pool.groups, pool.sizes.tolist()
    (('a', 'b'), [1, 2])
    """

    def __init__(self, X: object, y: object, *, group: object, replace: bool = False) -> None:
        X, y, group = in_step(("X", frame_or_value(X, "X")), ("y", y), ("group", group))
        self.columns, self._codes = columns_of(X), FrameCodes()
        self.X = _stacked("X", self._codes.numbers(X) if self.columns else X)
        self.y = _alike(read_labels(y), "y")
        _alike(read_labels(group, "group"), "group")
        self.groups, self.group = grouped(group, "group")
        lengths = len(self.X), len(self.y), len(self.group)
        if not lengths[0] == lengths[1] == lengths[2] > 0:
            raise ArgumentError(expected("X", "rows, and as many labels and groups", lengths))
        self.sizes = np.bincount(self.group)
        self.replace = yes_or_no("replace", replace)
        if self.replace:
            said = "drawing with replacement: a row may train and validate, so validation risks come out too low"
            warnings.warn(said, UserWarning, stacklevel=2)
        self.reset(0)

    @property
    def enough(self) -> bool:
        """Whether the groups that have enough rows to say anything hold half of all rows."""
        return self.grouping.enough

    @property
    def notes(self) -> tuple[str, ...]:
        """Which groups have too few rows."""
        return self.grouping.note(self._grouped, "have too few rows to train and to validate")

    @property
    def grouping(self) -> Grouping:
        """The groups with their rows, and which have enough."""
        return Grouping.of_rows(self.groups, self.sizes)

    @property
    def _grouped(self) -> str:
        return "groups"

    @property
    def proportions(self) -> Floats:
        """The proportions (m,) of the groups in the pool."""
        return self.sizes / self.sizes.sum()

    @property
    def left(self) -> Ints:
        """Number of rows (m,) that are left in each group; all of them with replacement."""
        return self.sizes.copy() if self.replace else self.sizes - self._position

    def reset(self, seed: int) -> None:
        """Fill the pools again, in an order drawn from the seed."""
        rng, groups = generator(seed), range(len(self.groups))
        self._seed = seed
        self._order = [rng.permutation(np.flatnonzero(self.group == z)) for z in groups]
        self._position = np.zeros(len(self.groups), np.int64)
        self._streams = [generator(seed, 0, z) for z in groups]
        self.chosen: list[int] = []

    def advance(self, counts: Mapping[Label, int]) -> None:
        """Skip rows of each group, to resume a saved collection where it stopped.

        Raises
        ------
        UnknownArmError, ArgumentError
            If a group is not in the pool, or a count is not a whole number >= 0.
        """
        given = dict(Labels(self.groups).read(counts, "counts", "a dict group -> number of rows"))
        unknown = [label for label in given if label not in self.groups]
        if unknown:
            raise UnknownArmError(expected_one_of("counts", self.groups, unknown[0], what="groups among"))
        skipped = [whole(f"counts[{label!r}]", given.get(label, 0), low=0, high=MOST) for label in self.groups]
        for z, count in enumerate(skipped):
            self._position[z] += count
            self._streams[z].bit_generator.advance(count)  # type: ignore[attr-defined]

    def observe(self) -> tuple[Any, ...]:
        """Begin a round; a sampler is shown nothing."""
        return ()

    def respond(self, ticket: Draw) -> tuple[Any, NDArray[Any]]:
        """Return X (n, ...) and y (n,) of up to `count` fresh rows of the draw's group; fewer when it is used up.

        Raises
        ------
        UnknownArmError
            If the pool has no such group.
        """
        rows = self.rows(group_index(self.groups, ticket), ticket.count)
        self.chosen.extend(rows.tolist())
        return self.taken(rows), self.y[rows]

    def taken(self, rows: Ints) -> Any:
        """Return rows of X as they were given: of a data frame, its columns with their texts."""
        return self._codes.frame(self.X[rows], self.columns) if self.columns else self.X[rows]

    def rows(self, z: int, count: int) -> Ints:
        """Return the next row numbers of a group."""
        start = self._position[z]
        if self.replace:  # one number of the stream a row, so that `advance` can skip it
            drawn = (self._streams[z].random(count) * self.sizes[z]).astype(np.int64)
            found = self._order[z][drawn]
        else:
            found = self._order[z][start : start + count]
        self._position[z] += len(found)
        return np.asarray(found)

    def snapshot(self) -> dict[str, Any]:
        """Return the rows and the pool's position in them, so that a saved pool continues exactly."""
        return {
            "X": self.X,
            "y": self.y,
            "group": self.group,
            "groups": list(self.groups),
            "replace": self.replace,
            "seed": self._seed,
            "position": self._position,
            "chosen": np.array(self.chosen, np.int64),
            "names": self.columns,
            "texts": self._codes.texts,
        }

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the pool that `snapshot` was taken of."""
        pool = cls.__new__(cls)
        pool._resume(snapshot)
        return pool

    def _resume(self, snapshot: dict[str, Any]) -> None:
        import pandas as pd

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            group = pd.Categorical.from_codes(snapshot["group"], snapshot["groups"], ordered=True)
            ArrayPool.__init__(self, snapshot["X"], snapshot["y"], group=group, replace=snapshot["replace"])
        self.columns, self._codes = list(snapshot["names"]), FrameCodes(snapshot["texts"])
        self.reset(snapshot["seed"])
        self.advance(dict(zip(self.groups, snapshot["position"].tolist(), strict=True)))
        self.chosen = snapshot["chosen"].tolist()

    @classmethod
    def _examples(cls) -> Iterator[Self]:
        """Yield worlds to try."""
        rng = np.random.default_rng(0)
        yield cls(rng.random((60, 2)), rng.integers(0, 2, 60), group=rng.choice(["u", "v"], 60))


def label_pairs(
    images: object, labels: object, pairs: Mapping[Label, tuple[Any, Any]], *, replace: bool = False
) -> ArrayPool:
    """Return a pool whose groups are pairs of classes to be told apart; label 0 is the first class of a pair, 1 the
    second.

    Parameters
    ----------
    images, labels : examples (n, ...) and their classes (n,).
    pairs : group -> (class, class); no class may be in two pairs, as its images would have two labels.
    replace : draw with replacement.

    Raises
    ------
    ArgumentError
        If a pair names a class that no example has, two pairs share a class or a name, or lengths or row labels differ.

    Examples
    --------
    >>> pool = label_pairs(np.zeros((4, 2, 2)), np.array([3, 5, 5, 7]), {"3 or 5": (3, 5)})
    >>> pool.sizes.tolist(), sorted(pool.y.tolist())
    ([3], [0, 1, 1])
    """
    images, labels = in_step(("images", frame_or_value(images, "images")), ("labels", labels))
    classes, of_images = grouped(labels, "labels")
    images = _stacked("images", images)
    if len(images) != len(of_images):
        raise ArgumentError(expected("labels", f"{len(images)} classes, one for each image", len(of_images)))
    if not isinstance(pairs, Mapping) or not pairs:
        raise ArgumentError(expected("pairs", "a dict group -> (class, class)", pairs))
    parts: list[tuple[Ints, ...]] = []
    owners: dict[int, Label] = {}
    known = Labels(classes)
    for name, pair in pairs.items():
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise ArgumentError(expected(f"pairs[{name!r}]", "two classes", pair))
        for code, value in enumerate(pair):
            place = known.place(value)
            if place is None:
                raise ArgumentError(
                    expected_one_of(f"pairs[{name!r}]", classes, value, what="classes that occur, among")
                )
            if place in owners:
                hint = f"groups may not overlap: it is in {owners[place]!r} as well"
                raise ArgumentError(expected(f"pairs[{name!r}]", "classes of no other pair", value, hint))
            owners[place], found = name, np.flatnonzero(of_images == place)
            parts.append((found, np.full(len(found), code), np.full(len(found), str(name))))
    if len({str(name) for name in pairs}) < len(pairs):
        raise ArgumentError(expected("pairs", "names that differ as text", list(pairs)))
    rows, y, group = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return ArrayPool(images[rows], y, group=group, replace=replace)


def _stacked(name: str, rows: object) -> NDArray[Any]:
    """Return rows of one shape as an array."""
    try:
        found = as_array(rows, name)
    except TypeError as error:
        raise ArgumentError(str(error)) from error
    except ValueError:  # rows of several shapes
        found = np.zeros(())
    if not found.ndim:
        raise ArgumentError(expected(name, "rows of one shape", rows))
    return found


def _alike(labels: list[Label], name: str) -> NDArray[Any]:
    """Return labels as an array, which holds text or whole numbers but not both."""
    kinds = {type(label).__name__ for label in labels}
    if len(kinds) > 1:
        both = Wording("both ", sorted(kinds))
        raise ArgumentError(expected(name, "labels of one type, all text or all whole numbers", both))
    return np.array(labels)
