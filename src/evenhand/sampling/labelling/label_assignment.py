"""From a sampler's draws to items and back: which item fills a row of a draw, and the row that its label becomes."""

from __future__ import annotations

import copy
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import ArgumentError, ContextError, ExhaustedError, Wording, expected
from evenhand.frames import ENCODE
from evenhand.labels import Labels
from evenhand.protocol import Label
from evenhand.sampling.labelling.label_items import LABELLED, OPEN, PURPOSES, REJECTED, WAITING, Items
from evenhand.sampling.sampler import Sampler
from evenhand.saving.saved import fill_all

Choice = Literal["uncertainty", "uniform"]
CHOICES = ("uncertainty", "uniform")
START = 10
"""Training items of each group that come at random before the model's uncertainty counts: a model that has not met a
label cannot be unsure about it, and would never ask for such items.
"""


class Assignment:
    """Items, and the rows of a sampler's draws that they fill.

    `slots` are rows of draws, (draw, purpose), that have no item yet. `places` holds of each item the draw while it is
    open, and later its row in `sampler.training` or `sampler.validation`.
    """

    def __init__(self, items: Items, sampler: Sampler, choice: Choice) -> None:
        if items.codes.texts and not sampler.model.takes_frames:
            hint = f"{ENCODE}, or pass a sampler with a pipeline as its model"
            raise ContextError(expected("features", "numbers", Wording("text or categories in a table"), hint))
        self.items, self.sampler, self._choice = items, sampler, choice
        self.slots: list[tuple[int, str]] = []
        self.places = np.full((len(items.ids), 2), -1, np.int64)
        self._group = dict(zip(sampler.groups, Labels(items.groups).order(sampler.groups) or (), strict=True))

    def next_item(self) -> tuple[int, str]:
        """Return the item that fills the next row of a draw, and why; it is open from now on.

        Raises
        ------
        ExhaustedError
            If no item is left, or the budget is spent; nothing has changed.
        """
        if self._may_run_dry():
            # Whether an item is left is known only after rows were dropped and groups retired: a copy tries, as an ask
            # that is refused may change nothing.
            features = self.items.features
            copy.deepcopy(self, {id(features): features})._next_item()
        return self._next_item()

    def _may_run_dry(self) -> bool:
        def waits(group: int, purpose: str) -> bool:
            return len(self.items.waiting(group, purpose)) > 0

        if self.slots and waits(self._group[self.sampler.group_of(self.slots[0][0])], self.slots[0][1]):
            return False
        return not all(waits(group, purpose) for group in range(len(self.items.groups)) for purpose in PURPOSES)

    def _next_item(self) -> tuple[int, str]:
        while True:
            if not self.slots:
                self._draw()
            draw, purpose = self.slots.pop(0)
            label = self.sampler.group_of(draw)
            group = self._group[label]
            waiting = self.items.waiting(group, purpose)
            if len(waiting):
                break
            # The row goes back to the budget: an open row that no item can fill would keep its draw open for good.
            self.sampler.drop_rows(draw, **{purpose: 1})
            if purpose == "training":
                self.sampler.retire(label, f"no item of {label!r} is left to train with")
        position, why = self._chosen(waiting, label, purpose)
        self.items.state[position], self.places[position, 0] = OPEN, draw
        return position, why

    def settle(self, position: int, label: Label) -> None:
        """Give an item its label: a new row of its draw, or another label for its row."""
        purpose = self.items.purpose(position)
        rows = self.sampler.training if purpose == "training" else self.sampler.validation
        draw, row = self.places[position].tolist()
        if self.items.state[position] == LABELLED:
            if self.sampler.known_classes[rows.y[row]] != label:
                self.sampler.relabel(purpose, row, label)
            return
        row = rows.count
        self.sampler.tell_rows(draw, self.items.shown([position]), [label], trains=int(purpose == "training"))
        self.items.state[position], self.places[position] = LABELLED, (-1, row)

    def reject(self, position: int) -> None:
        """Close an item that nobody can label; another one fills its row.

        Raises
        ------
        ArgumentError
            If it has a label already.
        """
        if self.items.state[position] == LABELLED:
            raise ArgumentError(expected("label", "a label, as the item has one already", None))
        self._vacate(position, REJECTED)

    def take_back(self, position: int) -> None:
        """Let an open item wait again."""
        self._vacate(position, WAITING)

    def _vacate(self, position: int, state: int) -> None:
        self.slots.append((int(self.places[position, 0]), self.items.purpose(position)))
        self.items.state[position], self.places[position, 0] = state, -1

    def _draw(self) -> None:
        try:
            draw = self.sampler.ask()
        except ExhaustedError as error:
            raise ExhaustedError(str(error).replace("left to draw", "left to ask for")) from error
        self.slots += [(draw.id, purpose) for _ in range(draw.count // 2) for purpose in PURPOSES]

    def _chosen(self, waiting: Any, label: Label, purpose: str) -> tuple[int, str]:
        if purpose == "validation":
            return int(waiting[0]), f"validates {label!r}: the next one in random order"
        started = self.sampler.training.by_group[self.sampler.groups.index(label)] >= START
        if self._choice == "uncertainty" and started:
            index = _most_uncertain(self.sampler.model, self.items.shown(waiting))
            why = "the model is least sure of it"
        else:
            index, why = 0, "the next one in random order"
        return int(waiting[index]), f"trains {label!r}: {why}"

    def snapshot(self) -> dict[str, Any]:
        """Return the items' states, their rows, and the rows without an item."""
        return {"state": self.items.state, "row": self.places, "slots": [list(slot) for slot in self.slots]}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Take over what `snapshot` returned."""
        fill_all({"state": self.items.state, "row": self.places}, snapshot)
        self.slots = [(draw, purpose) for draw, purpose in snapshot["slots"]]


class Rehearsal(Assignment):
    """What labels would do to the items; no model learns from them."""

    def __init__(self, items: Items, sampler: Sampler) -> None:
        super().__init__(items, sampler, "uniform")

    def settle(self, position: int, label: Label) -> None:
        """Count an item as labelled."""
        self.items.state[position] = LABELLED

    def _vacate(self, position: int, state: int) -> None:
        self.items.state[position] = state


def _most_uncertain(model: Any, X: NDArray[Any]) -> int:
    """Return the row whose most probable label is least probable, the first of several such rows.

    While the model has seen fewer than two labels it is sure of every row alike, and the first one is returned.
    """
    if model.constant is not None:
        return 0
    return int(np.argmin(np.asarray(model.predict_proba(X)).max(axis=1)))
