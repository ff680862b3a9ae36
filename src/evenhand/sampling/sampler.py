"""What all samplers share: tickets, rows, the current model and its risks; a scheme adds only which group
comes next.

`ask` names a group and how many rows of it are wanted; `tell` brings them, labelled, minutes or days later. The
first half of the rows trains the model, the second half validates it in that group. Every scheme starts safely:
each group is drawn `warmup` times first, and with forced exploration (`forced` = xi) a group with fewer than t^xi
training samples comes before all others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from evenhand.arguments import is_whole, one_of, real, whole
from evenhand.data.groupings import least_rows
from evenhand.display.html import Table
from evenhand.errors import ArgumentError, ExhaustedError, expected
from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.parameters import locked
from evenhand.protocol import Label, arm_labels
from evenhand.rng import Seed, child, draw_seed, stream
from evenhand.sampling.certification import Certification
from evenhand.sampling.collected import Collected, final_classifier, named_columns
from evenhand.sampling.measures import risk_table
from evenhand.sampling.models.losses import Loss
from evenhand.sampling.models.trainer import Trainer, raise_named
from evenhand.sampling.pools.rows import Rows
from evenhand.sampling.problem import MOST, Draw, Drawing, Groups, per_group
from evenhand.saving.saved import fill_all

Costs = Mapping[Label, float] | Sequence[float] | None
SAFE_START = 10
"""Rounds a group at the start where there is no forced exploration."""


class Sampler(Drawing):
    """The base of all samplers; a scheme writes `select(available) -> (index, reason)` and names its constructor's
    arguments.
    """

    _tickets_live_in_log = True
    _in_turn = False
    """Whether the groups come in turn whatever their risks are."""
    _noun = "sampler"

    def __init__(
        self,
        groups: Groups,
        model: object,
        batch: int,
        warmup: int | None,
        forced: float | None,
        loss: Loss,
        costs: Costs,
        budget: float | None,
        classes: Sequence[Label] | None,
        validation_rows: int | None,
        seed: Seed,
    ) -> None:
        super().__init__()
        self.groups = arm_labels(groups, "groups")
        m = len(self.groups)
        self.batch = whole("batch", batch, low=1, high=MOST)
        self.warmup = None if warmup is None else whole("warmup", warmup, low=1, high=MOST)
        self.forced = None if forced is None else real("forced", forced, low=0.0, high=1.0)
        self._cost = np.ones(m) if costs is None else per_group("costs", costs, self.groups)
        self.costs = None if costs is None else dict(zip(self.groups, self._cost.tolist(), strict=True))
        self.budget = None if budget is None else real("budget", budget, low=0.0)
        self.seed = draw_seed(seed)
        self._trainer = Trainer(self.groups, model, loss, classes, validation_rows, child(self.seed, 1))
        self.classes = None if classes is None else self._trainer.classes
        self.loss, self.validation_rows = self._trainer.loss, self._trainer.validation_rows
        self._stream = stream(self.seed, 0)
        least = 2 * self.batch * float(self._cost.sum())
        if self.budget is not None and self.budget < least:
            what = f"enough for a draw of {2 * self.batch} rows of each of the {m} groups, at least {least:g}"
            raise ArgumentError(expected("budget", what, self.budget, "merge groups, or raise it"))
        self._first_rounds = self.warmup or (SAFE_START if self.forced is None else 1)
        self.round, self.rounds, self.labels, self.spent = 0, 0, 0, 0.0
        self._draws = np.zeros(m, np.int64)
        self._asked = np.zeros(m, np.int64)
        self._open_mask = np.ones(m, np.bool_)
        self._part: dict[int, int] = {}
        self._notes: list[str] = []

    def select(self, available: Bools) -> tuple[int, str]:
        """Return the index of the group to draw next and why."""
        raise NotImplementedError

    def _on_refit(self, index: int) -> None:
        """Called after each refit with the group whose rows arrived."""

    # ------------------------------------------------------------------ the conversation

    @locked
    def ask(self) -> Draw:
        """Choose the next group and hand out its ticket.

        Raises
        ------
        ExhaustedError
            If every pool is used up, or the budget is too small for a draw of any group.
        """
        count = 2 * self.batch
        available = self._open_mask
        if self.budget is not None:
            available = available & (self.spent + count * self._cost <= self.budget * (1 + 1e-12))
        if not available.any():
            reasons = self._notes + ["the budget is spent"] * bool(self._open_mask.any())
            raise ExhaustedError(f"no rows are left to draw: {'; '.join(reasons)}; call finish()")
        index, why = self._first(available) or self._selected(available)
        self.round += 1
        self._draws[index] += 1
        self._asked[index] += self.batch
        self.spent += count * float(self._cost[index])
        return self._draw(self.round, index, count, why)

    def _selected(self, available: Bools) -> tuple[int, str]:
        before = self._stream.copy()
        try:
            return self.select(available)
        except BaseException as error:
            self._stream[:] = before
            raise_named(self._trainer.model, error)
            raise

    def _first(self, available: Bools) -> tuple[int, str] | None:
        index, total = fewest(self._draws, available), int(self._asked.sum())
        if self._draws[index] < self._first_rounds:
            return index, "warm-up: every group in turn"
        index = fewest(self._asked, available)
        if self.forced is not None and total >= 0 and self._asked[index] < total**self.forced:
            return index, "forced exploration: few samples so far"
        return None

    @locked
    def tell(self, draw: Draw | int, X: object, y: object) -> None:
        """Bring back labelled rows of a draw, given as the ticket or its id; they may come late and out of order.

        Fewer rows than asked for mean that the group's pool is used up: it is not drawn again.

        Parameters
        ----------
        draw : the ticket or its id.
        X : features (rows, d), or (rows, ...) for images; finite numbers.
        y : labels (rows,).

        Raises
        ------
        UnknownTicketError, ClosedTicketError, ForeignTicketError
            If the ticket was never handed out, was told or forgotten before, or is another sampler's.
        ContextError
            If X has another width than before, more rows than asked for, or a value that is not finite.
        ArgumentError
            If y has another length or a label outside the classes, or rows of the draw were told by `tell_rows`.
        """
        ticket, index, count = self._whole(draw, "tell the others by tell_rows")
        told = self._trainer.validate(X, y, count)
        self._trainer.learn(told, index, self._on_refit)
        del self.tickets.open[ticket]
        self.rounds += 1
        self.labels += len(told.X)
        if len(told.X) < count:
            trained = (len(told.X) + 1) // 2
            self._asked[index] += trained - self.batch
            self.spent -= (count - len(told.X)) * float(self._cost[index])
            rows = self._rows_of(index)
            group = self.groups[index]
            self.retire(group, f"the pool of {group!r} is empty after {rows} row{'s' * (rows != 1)}")

    @locked
    def tell_rows(self, draw: Draw | int, X: object, y: object, *, trains: int) -> None:
        """Bring back some rows X (n, d), y (n,) of a draw, of which the first `trains` train and the others validate;
        the ticket stays open until all its rows are told or dropped.

        Raises
        ------
        UnknownTicketError, ClosedTicketError, ForeignTicketError
            As in `tell`.
        ContextError, ArgumentError
            As in `tell`, and if these are more rows than the draw still waits for.
        """
        ticket, ((_, _, index, count),) = self.tickets.find(draw)
        told = self._trainer.validate(X, y, count - self._part.get(ticket, 0))
        if whole("trains", trains, low=0, high=MOST) > len(told.X):
            raise ArgumentError(expected("trains", f"at most the {len(told.X)} rows told", trains))
        self._trainer.learn(told._replace(trains=trains), index, self._on_refit)
        self.labels += len(told.X)
        self._known(ticket, len(told.X), count)

    @locked
    def drop_rows(self, draw: Draw | int, *, training: int = 0, validation: int = 0) -> None:
        """Note that so many rows of a draw, for training and for validation, will never come; their cost returns to the
        budget, and the group can be drawn again.

        Raises
        ------
        UnknownTicketError, ClosedTicketError, ForeignTicketError
            As in `tell`.
        ArgumentError
            If these are more rows than the draw still waits for.
        """
        ticket, ((_, _, index, count),) = self.tickets.find(draw)
        rows = whole("training", training, low=0, high=MOST) + whole("validation", validation, low=0, high=MOST)
        left = count - self._part.get(ticket, 0)
        if rows > left:
            raise ArgumentError(expected("draw", f"at most the {left} rows that are open", rows))
        self._asked[index] -= training
        self.spent -= rows * float(self._cost[index])
        self._known(ticket, rows, count)

    def _known(self, ticket: int, rows: int, count: int) -> None:
        """Note that so many more rows of a draw are told or dropped; close it after the last one."""
        known = self._part.pop(ticket, 0) + rows
        if known < count:
            self._part[ticket] = known
        else:
            del self.tickets.open[ticket]
            self.rounds += 1

    @locked
    def group_of(self, draw: Draw | int) -> Label:
        """Return the group of an open draw."""
        _, ((_, group, *_),) = self.tickets.find(draw)
        return group

    def read_label(self, label: object) -> Label:
        """Return a label as the model keeps it.

        Raises
        ------
        ArgumentError
            If it is neither text nor a whole number, or is outside the classes.
        """
        return self.read_labels([label])[0]

    def read_labels(self, labels: list[Any]) -> list[Label]:
        """Return labels as the model keeps them, if all of them together fit its classes; see `read_label`."""
        return self._trainer.examples.classes.validate(labels, len(labels), "label")

    @locked
    def relabel(self, part: str, row: int, label: Label) -> None:
        """Correct the label of a row of `training` or `validation`, and train again from the start.

        Raises
        ------
        ArgumentError
            If there is no such row, or the label is outside the classes.
        """
        kinds = {"training": self.training, "validation": self.validation}
        rows = kinds[one_of("part", part, kinds)]
        if not is_whole(row) or not 0 <= row < rows.count:
            raise ArgumentError(expected("row", f"a row of {rows.count}", row))
        self._trainer.relabel(rows, int(row), label)

    @locked
    def forget(self, draw: Draw | int) -> None:
        """Close a ticket whose rows will never come; its cost returns to the budget.

        Raises
        ------
        UnknownTicketError, ClosedTicketError, ForeignTicketError
            As in `tell`.
        ArgumentError
            If some rows of the draw were told by `tell_rows`.
        """
        ticket, index, count = self._whole(draw, "drop the others by drop_rows")
        del self.tickets.open[ticket]
        self._draws[index] -= 1
        self._asked[index] -= self.batch
        self.spent -= count * float(self._cost[index])

    @locked
    def retire(self, group: Label, note: str | None = None) -> None:
        """Stop drawing a group, because no more examples of it are available.

        Raises
        ------
        UnknownArmError
            If there is no such group.
        """
        index = self._index_of(group)
        if self._open_mask[index]:
            self._open_mask[index] = False
            self._notes.append(note or f"{group!r} was retired after {self._rows_of(index)} rows")

    @locked
    def finish(self, *, final_refit: bool = True, reweighted: bool = False, mixture: bool = False) -> Collected:
        """Train the final classifier and report both budgets: rounds, and labels that were paid for.

        Parameters
        ----------
        final_refit : train once more, on training and validation rows together; else keep the current model.
        reweighted : make that last step minimax reweighting of the groups (Diana et al. 2021) in the sampler's own
            loss instead of plain training; for logistic regression only.
        mixture : mix the models of 60 rounds of such a game instead (Hedge with rate 1), each row by one of them. This
            serves groups that contradict each other, for which no single model is good; certify it like any model.

        Raises
        ------
        ArgumentError
            If nothing was told yet, `reweighted` or `mixture` is used with another model, or both are.
        """
        model = named_columns(final_classifier(self._trainer, final_refit, reweighted, mixture), self._trainer)
        finished = Collected(model, self.mixture, self.rounds, self.labels, self.spent - self._reserved())
        finished.notes = tuple(self.notes)
        return finished

    @locked
    def certify(self, *, threshold: float, delta: float = 0.05, batch: int = 1, model: object = None) -> Certification:
        """Freeze the current model, or a final one, and begin to certify its risks on fresh rows.

        The collected rows are never used, because their risks decided which data came next. See `Certification`.

        Raises
        ------
        ArgumentError
            If nothing was told yet, the model has not seen two labels, or the loss is not in [0, 1], as may be one of
            your own.
        """
        frozen = final_classifier(self._trainer, False, False) if model is None or model is self.model else model
        loss = self.loss if isinstance(self.loss, str) else "a function"
        check = Certification(self.groups, frozen, threshold=threshold, delta=delta, batch=batch, loss=loss)
        check._columns = self._trainer.examples.columns or None
        return check

    # ------------------------------------------------------------------ what is known so far

    @property
    def model(self) -> Any:
        """The current classifier, with `predict` and `predict_proba`."""
        return named_columns(self._trainer.model, self._trainer)

    @property
    def known_classes(self) -> tuple[Label, ...]:
        """The labels that are known so far, sorted; the codes in `training.y` are positions in it."""
        return self._trainer.classes

    @property
    def training(self) -> Rows:
        """The rows that train the model."""
        return self._trainer.examples.training

    @property
    def validation(self) -> Rows:
        """The rows that validate it."""
        return self._trainer.examples.validation

    @property
    @locked
    def mixture(self) -> Floats:
        """The proportions (m,) of the groups among the training rows."""
        return self.training.by_group / max(1, self.training.count)

    @property
    @locked
    def notes(self) -> list[str]:
        """What a careful user should know: a budget that is too small, draws made without labels, empty pools, a model
        that waits for a second label or cannot be saved, a risk still unknown.
        """
        why = self._unsavable()
        unsavable = [f"this sampler cannot be saved: {why}"] if why else []
        return self._too_few() + self._notes + self._trainer.notes(~self._open_mask) + unsavable

    @property
    @locked
    def risks(self) -> Any:
        """A table with a row for each group: samples, current validation risk and its 95 % interval.

        The interval is indicative only, because these rows decided which data came next; `Certification` gives one
        that holds. The table's `attrs["notes"]` are the notes of the sampler.
        """
        sums, counts = self.validation_losses()
        table = risk_table(self.groups, self.training.by_group, sums, counts, self.loss)
        table.attrs["notes"] = self.notes
        return table

    @locked
    def validation_losses(self) -> tuple[Floats, Ints]:
        """Return the summed losses (m,) of the current model on each group's validation rows, and how many rows
        counted (m,).
        """
        return self._trainer.losses()

    # ------------------------------------------------------------------ notebooks

    def _facts(self) -> dict[str, Any]:
        return {"model": self.model, "rounds told": self.rounds, "labels": self.labels, "spent": self.spent}

    def _tables(self) -> list[Table]:
        columns = ("group", "draws", "training rows", "validation rows", "share of training")
        parts = self._draws, self.training.by_group, self.validation.by_group, self.mixture
        return [Table(columns, len(self.groups), lambda z: [self.groups[z], *(part[z] for part in parts)], "Groups")]

    # ------------------------------------------------------------------ copies and files

    @property
    def _has_history(self) -> bool:
        """Whether it has drawn or learned anything, or lost a group, since it was made."""
        return super()._has_history or bool(self._notes)

    def fresh(self, *, seed: Seed = None) -> Self:
        """Return a sampler of the same configuration that remembers nothing, with another seed if given."""
        given = {"model": self.model.fresh(), "seed": self.seed if seed is None else seed}
        return type(self)(**{**self.config(), **given})

    @locked
    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs to continue exactly here.

        Raises
        ------
        ArgumentError
            If a part of it cannot be saved, such as a function; `notes` says so from the start.
        """
        if why := self._unsavable():
            raise ArgumentError(why)
        config = self.config()
        del config["model"]
        return {
            "config": config,
            **self._trainer.snapshot(),
            "stream": self._stream,
            "numbers": [self.round, self.rounds, self.labels],
            "spent": self.spent,
            "tickets": self.tickets.snapshot(),
            "draws": self._draws,
            "asked": self._asked,
            "mask": self._open_mask,
            "notes": self._notes,
            "part": [list(pair) for pair in self._part.items()],
        }

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the sampler that `snapshot` was taken of."""
        sampler = cls(**snapshot["config"], model=snapshot["model"].fresh())
        sampler._trainer.restore(snapshot)
        sampler.round, sampler.rounds, sampler.labels = snapshot["numbers"]
        sampler.spent, sampler._notes = float(snapshot["spent"]), list(snapshot["notes"])
        sampler.tickets.restore_all(snapshot["tickets"])
        sampler._part = dict(snapshot["part"])
        own = {"stream": sampler._stream, "draws": sampler._draws, "asked": sampler._asked, "mask": sampler._open_mask}
        fill_all(own, snapshot)
        return sampler

    # ------------------------------------------------------------------ inside

    def _whole(self, draw: Draw | int, hint: str) -> tuple[int, int, int]:
        """Return the number, group and count of an open draw of which no row is told or dropped yet."""
        ticket, ((_, _, index, count),) = self.tickets.find(draw)
        if self._part.get(ticket):
            got = f"{self._part[ticket]} of {count} rows are known"
            raise ArgumentError(expected("draw", "one of which no row is known", got, hint))
        return ticket, index, count

    def _unsavable(self) -> str:
        functions = [name for name, value in self.config().items() if name != "model" and callable(value)]
        if functions:
            return f"{functions[0]}: a function cannot be saved; use what evenhand names"
        return str(self._trainer.model.unsavable)

    def _too_few(self) -> list[str]:
        """Return what the budget is too small for, and whether draws were asked for before labels came back."""
        m, count, once = len(self.groups), 2 * self.batch, float(self._cost.sum())
        budget, needed, notes = self.budget or math.inf, least_rows(m), []
        if budget < 2 * needed * once:
            why = f"fewer than {needed} validation rows in each of the {m} groups, and fewer say nothing of a group"
            notes.append(f"the budget pays for {why}: take {2 * needed * once:g}, or merge groups")
        if not self._in_turn and budget < count * (self._first_rounds * once + float(self._cost.min())):
            why = f"draws of {count} rows, as many of each group: they are one uniform draw"
            notes.append(f"the budget pays only for {why}; choose a smaller batch")
        if not self._in_turn and len(self.tickets.open) >= max(self.rounds, SAFE_START * m):
            why = f"after {self.labels} labels" if self.labels else "without a label, which is nearly a uniform draw"
            rows = sum(size - self._part.get(number, 0) for number, ((_, _, _, size),) in self.tickets.open.items())
            notes.append(f"{rows} rows were chosen at once {why}; ask for fewer at a time")
        return notes

    def _rows_of(self, index: int) -> int:
        return int(self._trainer.examples.by_group()[index])

    def _reserved(self) -> float:
        return sum(
            (count - self._part.get(number, 0)) * float(self._cost[index])
            for number, ((_, _, index, count),) in self.tickets.open.items()
        )


def fewest(counts: Ints, available: Bools) -> int:
    """Return the available group with the smallest count, the first of several."""
    return int(np.where(available, counts, np.iinfo(np.int64).max).argmin())
