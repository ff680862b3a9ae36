"""The labels that annotators gave to each item, whether they settle its label, and how far the annotators agree."""

from __future__ import annotations

from collections import Counter
from typing import Any

from evenhand.protocol import Label


class Annotations:
    """Labels by annotator, item by item: the most frequent one counts, once there are enough and none ties with it.

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
        notes = [f"{alike:,} of {len(both):,} items that were labelled several times have equal labels."]
        waits = f"{tied:,} items wait for" if tied > 1 else "One item waits for"
        return [*notes, f"{waits} one more label, as labels tie: ask another annotator."] if tied else notes

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
