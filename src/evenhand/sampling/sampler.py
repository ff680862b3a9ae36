"""The conversation of every sampler: tickets, rows, the current model and its risks; a scheme adds only which group
comes next.

`ask` names a group and how many rows of it are wanted; `tell` brings them, labelled, minutes or days later. The
first half of the rows trains the model, the second half validates it in that group. Every scheme starts safely:
each group is drawn `warmup` times first, and with forced exploration (`forced` = xi) a group with fewer than t^xi
training samples goes before all others.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import ArgumentError, ExhaustedError, UnknownArmError, wanted
from evenhand.kernels import sampling
from evenhand.kernels.compose import entry
from evenhand.protocol import Label, arm_labels
from evenhand.rng import Seed, child, draw_seed, stream
from evenhand.sampling.certification import Certification
from evenhand.sampling.estimators import as_model
from evenhand.sampling.final import Collected, final_classifier
from evenhand.sampling.labels import Classes
from evenhand.sampling.losses import Loss, checked_loss, summed_losses
from evenhand.sampling.measures import risk_table
from evenhand.sampling.problem import Draw, Groups, checked_number, checked_rows, checked_whole, per_group
from evenhand.sampling.rows import Rows
from evenhand.sampling.tickets import Tickets

__all__ = ["Costs", "Sampler"]

Costs = Mapping[Label, float] | Sequence[float] | None
SAFE = ("", "warm-up: every group in turn", "forced exploration: few samples so far")
SAFE_START = 10
"""Rounds a group at the start where there is no forced exploration."""
MANY = 10
"""Validation rows of a group that should have shown its risk."""


class Sampler:
    """The base of all samplers; a scheme writes `select(available) -> (index, reason)` and names its constructor's
    arguments.
    """

    def __init__(
        self, groups: Groups, model: Any, batch: int, warmup: int | None, forced: float | None, loss: Loss,
        costs: Costs, budget: float | None, classes: Sequence[Label] | None, validation_rows: int | None, seed: Seed,
    ) -> None:  # fmt: skip
        self.groups = arm_labels(groups, "groups")
        m = len(self.groups)
        self.batch = checked_whole("batch", batch, 1)
        self.warmup = None if warmup is None else checked_whole("warmup", warmup, 1)
        self.forced = None if forced is None else checked_number("forced", forced, 0.0, high=1.0)
        self.loss = checked_loss(loss)
        self.costs = (
            None
            if costs is None
            else dict(zip(self.groups, per_group("costs", costs, self.groups).tolist(), strict=True))
        )
        self.budget = None if budget is None else checked_number("budget", budget, 0.0)
        self.validation_rows = None if validation_rows is None else checked_whole("validation_rows", validation_rows, 1)
        self.seed = draw_seed(seed)
        self._classes = Classes(classes)
        self.classes = classes
        self._model = as_model(model).fresh(child(self.seed, 1))
        self._model.begin(self._classes.known)
        self._stream = stream(self.seed, 0)
        self._cost = np.ones(m) if self.costs is None else np.array(list(self.costs.values()))
        least = 2 * self.batch * float(self._cost.min())
        if self.budget is not None and self.budget < least:
            raise ArgumentError(wanted("budget", f"enough for one draw, at least {least:g}", self.budget))
        self._first_rounds = self.warmup or (SAFE_START if self.forced is None else 1)
        self.training, self.validation = Rows(m), Rows(m)
        self.round, self.rounds, self.labels, self.spent = 0, 0, 0, 0.0
        self._tickets = Tickets(self.groups)
        self._draws = np.zeros(m, np.int64)
        self._asked = np.zeros(m, np.int64)
        self._open_mask = np.ones(m, np.bool_)
        self._notes: list[str] = []
        self._risk: tuple[NDArray[np.float64], NDArray[np.int64]] | None = None

    def select(self, available: NDArray[np.bool_]) -> tuple[int, str]:
        """Return the index of the group to draw next and why."""
        raise NotImplementedError

    def learned(self, index: int) -> None:
        """Take note that rows of a group were told and the model was refitted."""

    # ------------------------------------------------------------------ the conversation

    def ask(self) -> Draw:
        """Choose the next group and hand out its ticket.

        Raises
        ------
        ExhaustedError
            If every pool is dry, or the budget pays for no group.
        """
        count = 2 * self.batch
        available = self._open_mask
        if self.budget is not None:
            available = available & (self.spent + count * self._cost <= self.budget * (1 + 1e-12))
        if not available.any():
            raise ExhaustedError(
                f"nothing is left to draw: {'; '.join(self.notes) or 'the budget is spent'}; call finish()"
            )
        index, why = self._first(available) or self.select(available)
        ticket = self._tickets.issue(index, count)
        self.round += 1
        self._draws[index] += 1
        self._asked[index] += self.batch
        self.spent += count * float(self._cost[index])
        return Draw(ticket, self.round, self.groups[index], index, count, why)

    def _first(self, available: NDArray[np.bool_]) -> tuple[int, str] | None:
        xi = -1.0 if self.forced is None else self.forced
        index, why = _safe_start(self._draws, self._asked, available, self._first_rounds, xi)
        return (index, SAFE[why]) if why else None

    def tell(self, draw: Draw | int, X: Any, y: Any) -> None:
        """Bring back labelled rows of a draw, given as the ticket or its id; late and out of order is fine.

        Fewer rows than asked for mean that the group's pool is dry: it leaves the choice.

        Parameters
        ----------
        draw : the ticket or its id.
        X : features (rows, d), or (rows, ...) for images; finite numbers.
        y : labels (rows,).

        Raises
        ------
        UnknownTicketError, ClosedTicketError
            If the ticket was never handed out, or was told or forgotten before.
        ContextError
            If X has another width than before, more rows than asked for, or a value that is not finite.
        ArgumentError
            If y has another length or a label outside the classes.
        """
        ticket, index, count = self._tickets.checked(draw)
        shape = self.training.X.shape[1:] if self.training.count else None
        table = checked_rows(X, shape, count)
        labels = self._classes.checked(y, len(table))
        trained = (len(table) + 1) // 2
        before, kept = self._classes.known, (self.training.count, self.validation.count)
        self._recode(self._classes.with_labels(labels))
        codes = [self._classes.known.index(label) for label in labels]
        try:
            if trained:
                self.training.append(table[:trained], codes[:trained], index)
            if len(table) > trained:
                self.validation.append(table[trained:], codes[trained:], index)
            self._model.update(self.training, kept[0])
        except BaseException:
            self.training.truncate(kept[0])
            self.validation.truncate(kept[1])
            self._recode(before)
            raise
        del self._tickets.open[ticket]
        self.rounds += 1
        self.labels += len(table)
        self._risk = None
        if len(table) < count:
            self._asked[index] += trained - self.batch
            self.spent -= (count - len(table)) * float(self._cost[index])
            self.retire(
                self.groups[index], f"the pool of {self.groups[index]!r} is dry after {self._rows_of(index)} rows"
            )
        self.learned(index)

    def forget(self, draw: Draw | int) -> None:
        """Close a ticket whose rows will never come; the budget gets its cost back."""
        ticket, index, count = self._tickets.checked(draw)
        del self._tickets.open[ticket]
        self._draws[index] -= 1
        self._asked[index] -= self.batch
        self.spent -= count * float(self._cost[index])

    def retire(self, group: Label, note: str | None = None) -> None:
        """Take a group out of the choice, because no more examples of it can be had.

        Raises
        ------
        UnknownArmError
            If there is no such group.
        """
        if group not in self.groups:
            raise UnknownArmError(wanted("group", f"one of {list(self.groups)}", group))
        index = self.groups.index(group)
        if self._open_mask[index]:
            self._open_mask[index] = False
            self._notes.append(note or f"{group!r} was retired after {self._rows_of(index)} rows")

    def finish(self, *, final_refit: bool = True, reweighted: bool = False) -> Collected:
        """Train the final classifier and report both budgets: rounds, and labels that were paid for.

        Parameters
        ----------
        final_refit : train once more, on training and validation rows together; else keep the current model.
        reweighted : take that last step as minimax reweighting of the groups (Diana et al. 2021) instead of plain
            training; logistic regression only.

        Raises
        ------
        ArgumentError
            If nothing was told yet, or `reweighted` is asked of another model.
        """
        model = final_classifier(
            self._model, self.training, self.validation, self._classes.known, final_refit, reweighted
        )
        return Collected(model, self.mixture, self.rounds, self.labels, self.spent - self._reserved())

    def certify(self, *, threshold: float, delta: float = 0.05, batch: int = 1, model: Any = None) -> Certification:
        """Freeze the current model, or a final one, and begin to certify its risks on fresh rows.

        The rows that were collected are never used: they chose the data. See `Certification`.
        """
        frozen = self._model if model is None else model
        loss = self.loss if isinstance(self.loss, str) else "a function"
        return Certification(self.groups, frozen, threshold=threshold, delta=delta, batch=batch, loss=loss)

    # ------------------------------------------------------------------ what is known so far

    @property
    def model(self) -> Any:
        """The current classifier, with `predict` and `predict_proba`."""
        return self._model

    @property
    def mixture(self) -> NDArray[np.float64]:
        """The proportions (m,) of the groups among the training rows."""
        return self.training.by_group / max(1, self.training.count)

    @property
    def open_tickets(self) -> list[int]:
        """The ids that were handed out and neither told nor forgotten."""
        return list(self._tickets.open)

    @property
    def notes(self) -> list[str]:
        """What a careful user should know: dry pools, a model that waits for a second label, a risk still unknown."""
        notes = list(self._notes)
        if self.training.count and self._model.constant is not None:
            only = self._classes.known[self._model.constant]
            notes.append(f"the model waits: all {self.training.count} training rows have the label {only!r}")
        for z in np.flatnonzero((self.validation_losses()[1] == 0) & (self.validation.by_group >= MANY)):
            rows = int(self.validation.by_group[z])
            notes.append(f"the risk of {self.groups[z]!r} is unknown: none of its {rows} validation rows counts")
        return notes

    @property
    def risks(self) -> Any:
        """A table with a row for each group: samples, current validation risk and its 95 % interval.

        The interval is indicative only: these rows chose the data. `Certification` gives one that holds.
        """
        sums, counts = self.validation_losses()
        return risk_table(self.groups, self.training.by_group, sums, counts, self.loss)

    def validation_losses(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the summed losses (m,) of the current model on each group's validation rows, and how many rows
        counted (m,).
        """
        if self._risk is None:
            self._risk = summed_losses(
                self._model, self.validation, self.loss, self._classes.known, self.validation_rows
            )
        return self._risk

    # ------------------------------------------------------------------ copies and files

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        names = inspect.signature(type(self).__init__).parameters
        return {name: getattr(self, name) for name in names if name != "self"}

    def fresh(self, *, seed: Seed = None) -> Self:
        """Return a sampler of the same configuration that remembers nothing, with another seed if given."""
        config = self.config()
        config["seed"] = self.seed if seed is None else seed
        return type(self)(**config)

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs to continue exactly here."""
        config = self.config()
        del config["model"]
        return {
            "config": config, "model": self._model, "known": list(self._classes.known),
            "training": self.training.snapshot(), "validation": self.validation.snapshot(), "stream": self._stream,
            "numbers": [self.round, self.rounds, self.labels], "spent": self.spent,
            "tickets": self._tickets.snapshot(),
            "draws": self._draws, "asked": self._asked, "mask": self._open_mask, "notes": self._notes,
        }  # fmt: skip

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the sampler that `snapshot` was taken of."""
        sampler = cls(**snapshot["config"], model=snapshot["model"])
        sampler._classes.known = tuple(snapshot["known"])
        sampler.training, sampler.validation = (
            Rows.restored(snapshot["training"]),
            Rows.restored(snapshot["validation"]),
        )
        sampler._model = snapshot["model"].resumed(sampler.training)
        sampler._stream[:] = snapshot["stream"]
        sampler.round, sampler.rounds, sampler.labels = snapshot["numbers"]
        sampler.spent, sampler._notes = snapshot["spent"], list(snapshot["notes"])
        sampler._tickets.restore(snapshot["tickets"])
        sampler._draws[:], sampler._asked[:] = snapshot["draws"], snapshot["asked"]
        sampler._open_mask[:] = snapshot["mask"]
        return sampler

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.config().items() if name != "seed")
        return f"{type(self).__name__}({shown})"

    # ------------------------------------------------------------------ inside

    def _recode(self, known: tuple[Label, ...]) -> None:
        if known != self._classes.known:
            only = known.index(self._classes.known[0]) if len(self._classes.known) == 1 else 0
            for rows in (self.training, self.validation):
                rows.y[: rows.count] = only
            self._classes.known = known
            self._model.begin(known)

    def _rows_of(self, index: int) -> int:
        return int(self.training.by_group[index] + self.validation.by_group[index])

    def _reserved(self) -> float:
        return sum(count * float(self._cost[index]) for index, count in self._tickets.open.values())


_safe_start = entry(sampling.safe_start)
