"""Stopping with confidence: a frozen model, fresh rows, and intervals that hold at every moment.

The rows that validated a model also chose its training data, so they may not certify it. `Certification` takes a
copy of the model that no longer changes, asks for rows that nobody has seen, and keeps a confidence sequence a
group at level delta / m: with probability 1 - delta all groups' intervals hold at all times, so one may look after
every row and stop whenever one likes.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np

from evenhand.errors import ArgumentError, ContextError, wanted
from evenhand.protocol import arm_labels
from evenhand.registry import register
from evenhand.sampling.losses import BOUNDED
from evenhand.sampling.measures import confidence_sequence
from evenhand.sampling.problem import Draw, Groups, checked_number, checked_rows, checked_whole
from evenhand.sampling.tickets import Tickets
from evenhand.sampling.worlds import SyntheticModel1

__all__ = ["Certification"]

Verdict = Literal["certified", "refuted", "undecided"]


@register("sampling/certification")
class Certification:
    """Show that every group's risk is at most a threshold, or that some group's is not, on fresh rows.

    Parameters
    ----------
    groups : number of groups or their labels.
    model : a trained classifier with `predict` and `classes_`; a copy is taken.
    threshold : the largest risk that is acceptable in any group.
    delta : probability with which some verdict may be wrong.
    batch : rows a draw.
    loss : "zero_one", "false_negative" or "false_positive".

    Raises
    ------
    ArgumentError
        If the loss is not in [0, 1], or a number is out of range.

    Examples
    --------
    >>> world = SyntheticModel1({"u": [[-2.0], [2.0]], "v": [[-1.5], [1.5]]})
    >>> world.reset(0)
    >>> X, y = world.sample(0, 50, np.random.default_rng(0))
    >>> from evenhand.sampling import LogisticModel
    >>> check = Certification(["u", "v"], LogisticModel().fit(X, y), threshold=0.15, batch=20)
    >>> while check.verdict == "undecided":
    ...     draw = check.ask()
    ...     check.tell(draw, *world.respond(draw))
    >>> check.verdict
    'certified'

    Source: Robbins (1970); Howard, Ramdas, McAuliffe, Sekhon (2021), "Time-uniform, Nonparametric, Nonasymptotic
    Confidence Sequences".
    """

    def __init__(
        self,
        groups: Groups,
        model: Any,
        *,
        threshold: float,
        delta: float = 0.05,
        batch: int = 1,
        loss: str = "zero_one",
    ) -> None:
        self.groups = arm_labels(groups, "groups")
        if not hasattr(model, "predict") or not hasattr(model, "classes_"):
            raise ArgumentError(wanted("model", "a trained classifier with predict and classes_", type(model).__name__))
        if loss not in BOUNDED:
            raise ArgumentError(wanted("loss", f"a loss in [0, 1], one of {', '.join(BOUNDED)}", loss))
        self.model, self.loss = copy.deepcopy(model), loss
        self.threshold = checked_number("threshold", threshold, 0.0, high=1.0)
        self.delta = checked_number("delta", delta, 1e-300, high=1.0)
        self.batch = checked_whole("batch", batch, 1)
        self.sums, self.counts = np.zeros(len(self.groups)), np.zeros(len(self.groups), np.int64)
        self._low, self._high = np.zeros(len(self.groups)), np.ones(len(self.groups))
        self._tickets = Tickets(self.groups)

    def ask(self) -> Draw:
        """Ask for fresh rows of the undecided group with the highest upper limit."""
        undecided = [z for z in range(len(self.groups)) if self._verdict(z) == "undecided"]
        index = max(undecided or range(len(self.groups)), key=lambda z: (self._high[z], -self.counts[z]))
        ticket = self._tickets.issue(index, self.batch)
        why = f"risk between {self._low[index]:.3f} and {self._high[index]:.3f} so far"
        return Draw(ticket, ticket, self.groups[index], index, self.batch, why)

    def tell(self, draw: Draw | int, X: Any, y: Any) -> None:
        """Bring back fresh labelled rows of a draw; rows that a sampler has seen would void the promise.

        Raises
        ------
        UnknownTicketError, ClosedTicketError
            If the ticket was never handed out, or was told before.
        ContextError, ArgumentError
            If the rows are not finite numbers, too many, or not as many as the labels.
        """
        ticket, index, _ = self._tickets.checked(draw)
        table, labels = checked_rows(X, None, self.batch), np.asarray(y)
        if labels.shape != (len(table),):
            raise ArgumentError(wanted("y", f"{len(table)} labels, one for each row of X", labels.shape))
        strangers = labels[~np.isin(labels, self.model.classes_)]
        if len(strangers):
            raise ArgumentError(wanted("y", f"labels among {self.model.classes_.tolist()}", strangers[0].item()))
        try:
            wrong = self.model.predict(table) != labels if len(table) else np.zeros(0, bool)
        except ValueError as error:
            raise ContextError(wanted("X", "rows that the model can predict", table.shape, str(error))) from error
        del self._tickets.open[ticket]
        positive = labels == self.model.classes_[-1]
        counted = {"zero_one": np.ones(len(table), bool), "false_negative": positive, "false_positive": ~positive}[
            self.loss
        ]
        self.sums[index] += wrong[counted].sum()
        self.counts[index] += counted.sum()
        level = self.delta / len(self.groups)
        low, high = confidence_sequence(self.sums[index], int(self.counts[index]), delta=level)
        self._low[index] = max(self._low[index], low)
        self._high[index] = min(self._high[index], high)

    def forget(self, draw: Draw | int) -> None:
        """Close a ticket whose rows will never come."""
        del self._tickets.open[self._tickets.checked(draw)[0]]

    def _verdict(self, z: int) -> Verdict:
        if self._high[z] <= self.threshold:
            return "certified"
        return "refuted" if self._low[z] > self.threshold else "undecided"

    @property
    def verdict(self) -> Verdict:
        """Whether all groups are at most at the threshold, one is above it, or neither is certain yet."""
        found = [self._verdict(z) for z in range(len(self.groups))]
        if "refuted" in found:
            return "refuted"
        return "undecided" if "undecided" in found else "certified"

    @property
    def risks(self) -> Any:
        """A data frame by group: `rows` that counted, `risk`, the limits `low` and `high`, and the `verdict`."""
        import pandas as pd

        with np.errstate(invalid="ignore"):
            risk = self.sums / self.counts
        columns: dict[str, Any] = {
            "rows": self.counts.copy(),
            "risk": risk,
            "low": self._low.copy(),
            "high": self._high.copy(),
        }
        columns["verdict"] = [self._verdict(z) for z in range(len(self.groups))]
        return pd.DataFrame(columns, index=pd.Index(self.groups, name="group"))

    @property
    def open_tickets(self) -> list[int]:
        """The ids that were handed out and neither told nor forgotten."""
        return list(self._tickets.open)

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs to continue exactly here."""
        return {
            "groups": list(self.groups), "model": self.model, "threshold": self.threshold, "delta": self.delta,
            "batch": self.batch, "loss": self.loss, "sums": self.sums, "counts": self.counts, "low": self._low,
            "high": self._high, "tickets": self._tickets.snapshot(),
        }  # fmt: skip

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the certification that `snapshot` was taken of."""
        names = ("groups", "model", "threshold", "delta", "batch", "loss")
        check = cls(**{name: snapshot[name] for name in names})
        check.sums[:], check.counts[:], check._low[:], check._high[:] = (
            snapshot[n] for n in ("sums", "counts", "low", "high")
        )
        check._tickets.restore(snapshot["tickets"])
        return check

    @classmethod
    def examples(cls) -> Iterator[tuple[Self, Any]]:
        """Yield certifications and worlds to try them on."""
        from evenhand.sampling.logistic import LogisticModel

        world = SyntheticModel1(instance="I")
        X, y = world.sample(0, 40, np.random.default_rng(0))
        yield cls(["u", "v"], LogisticModel().fit(X, y), threshold=0.2, batch=4), world
