"""A session of `evenhand label`: items are shown one by one, and each answer is learned and kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from evenhand import save
from evenhand.cli.output import say, table
from evenhand.errors import ExhaustedError
from evenhand.protocol import find_label

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.protocol import Label
    from evenhand.sampling import LabelQueue

__all__ = ["Session"]

HELP = (
    "Please answer with a number or a label; r rejects an item that nobody can label, s leaves it for later, "
    "c corrects your last answer, q quits."
)
WORDS = {"reject": "r", "skip": "s", "correct": "c", "quit": "q"}


class Session:
    """One person labels items of a table.

    Parameters
    ----------
    queue : says which item comes next.
    frame : the table by id.
    columns : what is shown of an item.
    labels : the labels in the order of their numbers.
    annotator : who labels.
    state : the file that the queue is kept in after each answer.
    """

    def __init__(
        self, queue: LabelQueue, frame: pd.DataFrame, columns: list[str], labels: list[Label], annotator: str | None,
        state: Path,
    ) -> None:  # fmt: skip
        from evenhand.data.tables import column

        for name in columns:
            column(frame, name)
        self._queue, self._frame, self._columns = queue, frame, columns
        self._labels, self._annotator, self._state = labels, annotator, state
        texts, numbers = [str(label) for label in labels], [str(number) for number in range(1, len(labels) + 1)]
        confused = any(text in numbers and text != number for text, number in zip(texts, numbers, strict=True))
        self._keys = texts if confused else numbers
        """What is typed for each label: its number, or its own text where that would be the number of another."""
        self._shown = " ".join(word if key in texts else f"[{key}]{word[1:]}" for word, key in WORDS.items())
        self._last: Label | None = None

    def converse(self, items: int) -> None:
        """Show so many items, those first that were left for later.

        Raises
        ------
        typer.Exit
            With code 130 where the person interrupts; everything answered so far is kept.
        """
        left = self._queue.open_items(annotator=self._annotator)
        for number in range(items):
            if number < len(left):
                item = left[number]
            else:
                try:
                    (item,) = self._queue.ask(1, annotator=self._annotator)
                except ExhaustedError as error:
                    say(str(error))
                    break
                save(self._queue, self._state)
            try:
                if not self._label(item, f"item {number + 1} of {items}"):
                    break
            except typer.Abort:
                say("")
                raise typer.Exit(130) from None

    def _label(self, item: Label, title: str) -> bool:
        """Ask for a label until there is an answer; return False where the person quits."""
        row = self._frame.loc[str(item)]
        table(title, ["", str(item)], [[name, str(row[name])] for name in self._columns])
        while True:
            given = self._prompt()
            named = self._named(given)
            word = "" if named is not None else WORDS.get(given.lower(), given.lower())
            if word == "q":
                return False
            if word == "s":
                return True
            if word == "c":
                self._correct()
                continue
            if word != "r" and named is None:
                say(HELP)
                continue
            self._queue.tell(item, named, annotator=self._annotator)
            self._last = item if named is not None else self._last
            save(self._queue, self._state)
            return True

    def _correct(self) -> None:
        if self._last is None:
            say("There is no answer of this session to correct.")
            return
        say(f"The label of {self._last} again:")
        label = self._named(self._prompt())
        if label is None:
            say("Nothing was corrected.")
            return
        self._queue.correct(self._last, label, annotator=self._annotator)
        save(self._queue, self._state)
        say(f"{self._last} is {label} now.")

    def _prompt(self) -> str:
        choices = "  ".join(
            f"[{key}]" if key == str(label) else f"[{key}] {label}"
            for key, label in zip(self._keys, self._labels, strict=True)
        )
        answer: str = typer.prompt(f"{choices}  {self._shown}", default="", show_default=False)
        return answer.strip()

    def _named(self, given: str) -> Any:
        """Return the label that a person means: its own text, else its number."""
        place = find_label(given, self._labels)
        if place is None and given in self._keys:
            place = self._keys.index(given)
        return None if place is None else self._labels[place]
