"""What annotators said of each item, whether that settles its label, and how far they agree; what is known so far, as
data frames.
"""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.kernels.arrays import Ints
from evenhand.protocol import Label
from evenhand.sampling.labelling.label_items import LABELLED, Items

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.sampling.sampler import Sampler


class Annotations:
    """Labels by annotator, item by item: the one that most gave counts, once enough were asked and none ties with it.

    `needed` is how many labels an item needs; a tie needs one more.
    """

    def __init__(self, needed: int) -> None:
        self._needed = needed
        self.given: dict[int, list[tuple[str | None, Label]]] = {}
        self.more: dict[int, int] = {}

    def needed(self, position: int) -> int:
        """Return how many labels an item needs."""
        return self._needed + self.more.get(position, 0)

    def by(self, position: int) -> list[str | None]:
        """Return who has labelled an item."""
        return [annotator for annotator, _ in self.given.get(position, ())]

    def add(self, position: int, annotator: str | None, label: Label) -> Label | None:
        """Add a label; return the item's label if it is settled now, else None."""
        self.given.setdefault(position, []).append((annotator, label))
        return self.settled(position)

    def settled(self, position: int) -> Label | None:
        """Return the label of an item, None as long as it needs more; a tie needs one more."""
        said = self.given[position]
        if len(said) < self.needed(position):
            return None
        first, tied = _most(said)
        if tied:
            self.more[position] = len(said) + 1 - self._needed
            return None
        return first

    def notes(self) -> list[str]:
        """Return how many items were labelled alike by several people, and how many wait for one more person."""
        both = [said for said in self.given.values() if len(said) > 1]
        if not both:
            return []
        tied = sum(_most(said)[1] for said in both if len(said) >= self._needed)
        alike = sum(len({label for _, label in said}) == 1 for said in both)
        notes = (
            [f"{alike:,} of {len(both):,} items that were labelled several times have equal labels."] if both else []
        )
        waits = f"{tied:,} items wait for" if tied > 1 else "One item waits for"
        return [*notes, f"{waits} the label of one more person, as labels tie: ask somebody else."] if tied else notes

    def replace(self, position: int, annotator: str | None, label: Label) -> tuple[str | None, Label] | None:
        """Replace the last label of an annotator; return what it was, None if there is none."""
        said = self.given.get(position, [])
        for place in range(len(said) - 1, -1, -1):
            if said[place][0] == annotator:
                before, said[place] = said[place], (annotator, label)
                return before
        return None

    def take_back(self, position: int) -> None:
        """Forget the last label of an item."""
        self.given[position].pop()
        if not self.given[position]:
            del self.given[position]

    def drop(self, position: int) -> None:
        """Forget all labels of an item."""
        self.given.pop(position, None)
        self.more.pop(position, None)

    def agreement(self) -> pd.DataFrame:
        """Return the share of equal labels for each two annotators; NaN where no item has labels of both."""
        import pandas as pd

        names = sorted({str(annotator) for said in self.given.values() for annotator, _ in said})
        same, both = np.zeros((len(names),) * 2), np.zeros((len(names),) * 2)
        at = {name: index for index, name in enumerate(names)}
        for said in self.given.values():
            for (one, label), (other, second) in permutations(said, 2):
                both[at[str(one)], at[str(other)]] += 1
                same[at[str(one)], at[str(other)]] += label == second
        with np.errstate(invalid="ignore"):
            return pd.DataFrame(same / both, index=names, columns=names)

    def snapshot(self) -> list[Any]:
        """Return the labels as plain data."""
        return [
            [position, self.more.get(position, 0), [list(one) for one in self.given.get(position, ())]]
            for position in {**self.given, **self.more}
        ]

    def restore(self, rows: Any) -> None:
        """Take over the labels of a snapshot."""
        for position, more, said in rows:
            if more:
                self.more[position] = more
            if said:
                self.given[position] = [(annotator, label) for annotator, label in said]


def _most(said: list[tuple[str | None, Label]]) -> tuple[Label, bool]:
    """Return the label that most gave, the first of several, and whether another was given as often."""
    (first, most), *others = Counter(label for _, label in said).most_common(2)
    return first, bool(others) and others[0][1] == most


def labelled_table(sampler: Sampler, items: Items, places: Ints, purpose: str) -> pd.DataFrame:
    """Return the labelled items that train or validate, in the order in which the model got them."""
    import pandas as pd

    part = sampler.training if purpose == "training" else sampler.validation
    rows = [p for p in np.flatnonzero(items.state == LABELLED).tolist() if items.purpose(p) == purpose]
    rows.sort(key=lambda p: int(places[p, 1]))
    known = sampler.known_classes
    told = [(items.ids[p], items.groups[items.group[p]], known[part.y[places[p, 1]]]) for p in rows]
    return pd.DataFrame(told, columns=["id", "group", "label"])


def progress_table(items: Items) -> pd.DataFrame:
    """Return how many items of each group are waiting, open, labelled and rejected."""
    import pandas as pd

    counts = [np.bincount(items.state[items.group == z], minlength=4) for z in range(len(items.groups))]
    index = pd.Index(items.groups, name="group")
    return pd.DataFrame(np.array(counts), index=index, columns=["waiting", "open", "labelled", "rejected"])


def annotations_table(items: Items, annotations: Annotations) -> pd.DataFrame:
    """Return every label that was told."""
    import pandas as pd

    rows = [
        (items.ids[position], items.groups[items.group[position]], annotator, label)
        for position, said in annotations.given.items()
        for annotator, label in said
    ]
    return pd.DataFrame(rows, columns=["id", "group", "annotator", "label"])
