"""What a notebook shows of an object: facts and tables, as HTML that suits light and dark pages, and as plain text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from html import escape
from typing import Any

import numpy as np

from evenhand.display.digits import number, reads_as_number

FIRST, LAST = 6, 3
"""Of a long table so many rows are shown from its start and from its end."""
LONGEST = 300
"""Characters of a cell."""
LARGEST = 12
"""Items of a container in a `repr`."""
LEFT, RIGHT = ' style="text-align: left"', ' style="text-align: right"'


@dataclass(frozen=True)
class Table:
    """Rows under names; `row(i)` returns the cells of a row, so that a long table is not made to show a few."""

    columns: Sequence[str]
    count: int
    row: Callable[[int], Sequence[Any]]
    caption: str = ""

    @classmethod
    def of(cls, frame: Any, caption: str = "") -> Table:
        """Return a data frame as a table; an index that has a name is its first column."""
        if frame.index.name is not None:
            frame = frame.reset_index(allow_duplicates=True)

        def row(i: int) -> list[Any]:
            return [frame.iat[i, j] for j in range(frame.shape[1])]

        return cls([str(column) for column in frame.columns], len(frame), row, caption)

    def shown(self, whole: bool = False) -> Iterator[Sequence[Any] | None]:
        """Yield the rows to show, and None in the place of those that are left out."""
        whole = whole or self.count <= FIRST + LAST + 1
        for i in range(self.count if whole else FIRST):
            yield self.row(i)
        if not whole:
            yield None
            yield from map(self.row, range(self.count - LAST, self.count))

    def html(self, whole: bool = False) -> str:
        """Return the table as HTML, with all its rows or those that are shown of many."""
        heads = "".join(f'<th scope="col"{LEFT}>{escape(name)}</th>' for name in self.columns)
        rows = "".join(self._html_row(cells) for cells in self.shown(whole))
        return f"<table>{_caption(self.caption)}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"

    def _html_row(self, cells: Sequence[Any] | None) -> str:
        if cells is None:
            left_out = f"... {self.count - FIRST - LAST} more ..."
            return f'<tr><td colspan="{len(self.columns)}"{LEFT}>{left_out}</td></tr>'
        first, *others = cells
        return f'<tr><th scope="row"{LEFT}>{escape(said(first))}</th>{"".join(map(_html_cell, others))}</tr>'


@dataclass(frozen=True)
class Card:
    """What is shown of an object: its title, facts by name, tables, and the notes of the object, which
    `card_with_notes` adds."""

    title: str
    facts: dict[str, Any]
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()

    def html(self) -> str:
        """Return the card as HTML, everything escaped."""
        facts = "".join(
            f'<tr><th scope="row"{LEFT}>{escape(name)}</th><td{LEFT}>{escape(text)}</td></tr>'
            for name, text in self._lines()
        )
        tables = "".join(table.html() for table in self.tables if table.count)
        return f"<div><table>{_caption(self.title)}<tbody>{facts}</tbody></table>{tables}</div>"

    def text(self) -> str:
        """Return the title, the facts and the notes as text, a line each."""
        return "\n".join([self.title, *(f"  {name}: {text}" for name, text in self._lines())])

    def _lines(self) -> Iterator[tuple[str, str]]:
        """Yield the facts and the notes; a note is never cut."""
        yield from ((name, said(value)) for name, value in self.facts.items())
        yield from ((f"note {number}", note) for number, note in enumerate(self.notes, 1))


def notes_of(thing: object) -> tuple[str, ...]:
    """Return what a reader must know before believing an object, in sentences: its attribute `notes`, if it is a list
    or tuple, and the notes of the learner that it wraps.

    Every card, table and JSON document of an object carries them.
    """
    own = getattr(thing, "notes", ())
    learner = getattr(thing, "learner", None)
    inner = () if learner is None else notes_of(learner)
    return tuple(dict.fromkeys([*(own if isinstance(own, (list, tuple)) else ()), *inner]))


def card_with_notes(thing: Any) -> Card:
    """Return the card of an object with its notes."""
    return replace(thing._card(), notes=notes_of(thing))


class HasCard:
    """An object that a notebook shows as a card, and `print` as its text; a subclass writes `_card()`, and
    `notes` where a reader must know more."""

    def _card(self) -> Card:
        """Return the title, facts and tables that are shown."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return card_with_notes(self).html()

    def __repr__(self) -> str:
        return card_with_notes(self).text()


def shortened(value: object) -> str:
    """Return the `repr` of a value, of a long dict, list or tuple the first items and how many more there are.

    >>> shortened(list(range(100)))
    '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ... 88 more]'
    """
    if not isinstance(value, (dict, list, tuple)) or len(value) <= LARGEST:
        return repr(value)
    if isinstance(value, dict):
        start, end, items = "{", "}", [f"{key!r}: {one!r}" for key, one in value.items()]
    else:
        start, end = ("[", "]") if isinstance(value, list) else ("(", ")")
        items = [repr(one) for one in value]
    return f"{start}{', '.join(items[:LARGEST])}, ... {len(value) - LARGEST} more{end}"


def _caption(text: str) -> str:
    return f"<caption{LEFT}><strong>{escape(text)}</strong></caption>" if text else ""


def _html_cell(value: object) -> str:
    right = not isinstance(value, bool) and reads_as_number(value)
    return f"<td{RIGHT if right else LEFT}>{escape(said(value))}</td>"


def said(value: object) -> str:
    """Return a value as a reader wants it."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (float, Fraction)):
        return f"{float(value):.0f}" if float(value).is_integer() else number(float(value))
    if isinstance(value, (list, tuple)):
        more = [f"... {len(value) - LARGEST} more"] if len(value) > LARGEST else []
        return ", ".join([*map(said, value[:LARGEST]), *more]) or "none"
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
