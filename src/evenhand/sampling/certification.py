"""Stopping with confidence: a frozen model, fresh rows, and intervals that hold at every moment.

The rows that validated a model also chose its training data, so they may not certify it. `Certification` takes a
copy of the model that no longer changes, asks for rows that nobody has seen, and keeps a confidence sequence for each
group at level delta / m: with probability 1 - delta all groups' intervals hold at all times, so one may look after
every row and stop whenever one likes. Where the fresh rows of a group run out first, the verdict says that nothing was
shown.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np

from evenhand.arguments import one_of, real, whole
from evenhand.data.rows import in_step
from evenhand.display.html import Table
from evenhand.errors import ArgumentError, ContextError, ExhaustedError, StateFileError, expected, expected_one_of
from evenhand.frames import frame_or_value, is_frame
from evenhand.kernels.arrays import Ints
from evenhand.labels import Labels, in_columns
from evenhand.parameters import locked
from evenhand.protocol import Label, arm_labels, columns_seen
from evenhand.registry import name_of, register
from evenhand.sampling.measures import confidence_sequence, most_frequent_errors
from evenhand.sampling.models.classifier import Classifier
from evenhand.sampling.models.losses import BOUNDED, counted_rows
from evenhand.sampling.pools.labels import read_labels
from evenhand.sampling.problem import MOST, Draw, Drawing, Groups, read_rows
from evenhand.sampling.worlds import SyntheticModel1
from evenhand.saving.saved import fill_all

Verdict = Literal["certified", "refuted", "undecided", "not_shown"]


@register("sampling/certification")
class Certification(Drawing):
    """Show on fresh rows that every group's risk is at most a threshold, or that some group's risk is not.

    `verdict` is "undecided" as long as more rows may show something. A draw that is told without a single row says
    that its group has no fresh rows left; it is not drawn again. Once no undecided group is left to ask for, the
    verdict is "not_shown": there were too few rows for either answer.

    Parameters
    ----------
    groups : number of groups or their labels.
    model : a trained classifier with `predict` and `classes_`; a copy is taken.
    threshold : the largest risk that is acceptable in any group.
    delta : probability with which some verdict may be wrong.
    batch : rows per draw.
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

    _noun = "certification"

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
        super().__init__()
        self.groups = arm_labels(groups, "groups")
        if not all(hasattr(model, name) for name in ("predict", "classes_")):
            raise ArgumentError(
                expected("model", "a trained classifier with predict and classes_", type(model).__name__)
            )
        if len(model.classes_) < 2:
            hint = "collect until a second label is told, or pass classes="
            raise ArgumentError(expected("model", "a classifier that knows two labels", model.classes_.tolist(), hint))
        self.model, self.loss = copy.deepcopy(model), one_of("loss", loss, BOUNDED)
        self.threshold = real("threshold", threshold, low=0.0, high=1.0)
        self.delta = real("delta", delta, low=1e-300, high=1.0)
        self.batch = whole("batch", batch, low=1, high=MOST)
        self.sums, self.counts = np.zeros(len(self.groups)), np.zeros(len(self.groups), np.int64)
        self._low, self._high = np.zeros(len(self.groups)), np.ones(len(self.groups))
        self._dry = np.zeros(len(self.groups), np.bool_)
        self._labels = np.zeros((len(self.groups), len(model.classes_)), np.int64)
        self._columns: list[str] | None = None

    def _facts(self) -> dict[str, Any]:
        return {"model": self.model, "verdict": self.verdict}

    def _tables(self) -> list[Table]:
        columns = ("group", "rows", "lower limit of the risk", "upper limit")
        parts = self.counts, self._low, self._high
        return [Table(columns, len(self.groups), lambda z: [self.groups[z], *(part[z] for part in parts)], "Groups")]

    @locked
    def ask(self) -> Draw:
        """Ask for fresh rows of the undecided group with the highest upper limit.

        Raises
        ------
        ExhaustedError
            If no undecided group has fresh rows left.
        """
        left = [z for z in range(len(self.groups)) if not self._dry[z]]
        undecided = [z for z in left if self._verdict(z) == "undecided"]
        if not left or (not undecided and self.verdict in ("undecided", "not_shown")):
            waiting = f"; tell or forget the draws {self.open_tickets} first" if self.tickets.open else ""
            raise ExhaustedError(f"no rows are left to draw: no undecided group has fresh rows{waiting}")
        index = max(undecided or left, key=lambda z: (self._high[z], -self.counts[z]))
        why = f"risk between {self._low[index]:.3f} and {self._high[index]:.3f} so far"
        return self._draw(self.tickets.next, index, self.batch, why)

    @locked
    def tell(self, draw: Draw | int, X: Any, y: Any) -> None:
        """Bring back fresh labelled rows X (n, d), y (n,) of a draw; rows seen by a sampler would void the promise.

        Raises
        ------
        UnknownTicketError, ClosedTicketError, ForeignTicketError
            If the ticket was never handed out, was told before, or is another certification's.
        ContextError, ArgumentError
            If the rows are not finite numbers, are too many, or are not as many as the labels.
        """
        ticket, ((_, _, index, count),) = self.tickets.find(draw)
        # All that may refuse comes before the ticket closes: else rows that were refused could not be told again.
        table, codes = self._checked(X, y, count)
        wrong = self._predicted(table) != codes
        del self.tickets.open[ticket]
        counted = counted_rows(self.loss, codes == len(self.model.classes_) - 1)
        self.sums[index] += wrong[counted].sum()
        self.counts[index] += counted.sum()
        self._labels[index] += np.bincount(codes, minlength=self._labels.shape[1])
        self._dry[index] |= len(table) == 0
        level = self.delta / len(self.groups)
        # delta / m a group, as all groups' intervals must hold at once. They only shrink: the sequence holds at every
        # look, so that what was certified once may not be taken back by later rows.
        low, high = confidence_sequence(self.sums[index], int(self.counts[index]), delta=level)
        self._low[index] = max(self._low[index], low)
        self._high[index] = min(self._high[index], high)

    def _checked(self, X: Any, y: Any, count: int) -> tuple[Any, Ints]:
        X, y = in_step(("X", frame_or_value(X, "X")), ("y", y))
        X, columns = in_columns(X, self._columns, "X")
        own = isinstance(self.model, Classifier)
        if is_frame(X) and (self.model.takes_frames if own else columns_seen(self.model) is not None):
            table = X
            if len(X) > count:
                raise ContextError(expected("X", f"at most the {count} rows that were asked for", len(X)))
        else:
            table = read_rows(X, None, count, keep=own and self.model.keeps_types)
        classes = self.model.classes_.tolist()
        labels = read_labels(y, known=classes)
        if len(labels) != len(table):
            raise ArgumentError(expected("y", f"{len(table)} labels, one for each row of X", len(labels)))
        codes = Labels(classes).places(labels)
        if -1 in codes:
            raise ArgumentError(expected_one_of("y", classes, labels[codes.index(-1)], what="labels among"))
        self._columns = columns
        return table, np.array(codes, np.int64)

    def _predicted(self, table: Any) -> Ints:
        """Return the class codes (n,) that the model predicts."""
        if not len(table):
            return np.zeros(0, np.int64)
        classes = self.model.classes_.tolist()
        try:
            predicted = np.asarray(self.model.predict(table)).tolist()
            return np.array([classes.index(label) for label in predicted], np.int64)
        except Exception as error:
            raise ContextError(expected("X", "rows that the model can predict", table.shape, str(error))) from error

    @locked
    def retire(self, group: Label) -> None:
        """Stop asking for a group, because no fresh rows of it are available.

        Raises
        ------
        UnknownArmError
            If there is no such group.
        """
        self._dry[self._index_of(group)] = True

    @locked
    def forget(self, draw: Draw | int) -> None:
        """Close a ticket whose rows will never come."""
        del self.tickets.open[self.tickets.find(draw)[0]]

    def _verdict(self, z: int) -> Verdict:
        if self._high[z] <= self.threshold:
            return "certified"
        if self._low[z] > self.threshold:
            return "refuted"
        # A group without fresh rows may still have draws open, and these may decide it.
        waiting = any(index == z for ((_, _, index, _),) in self.tickets.open.values())
        return "not_shown" if self._dry[z] and not waiting else "undecided"

    @property
    @locked
    def verdict(self) -> Verdict:
        """Whether no group's risk is above the threshold ("certified"), one is above it ("refuted"), or neither is
        certain: "undecided" while there are rows to ask or wait for, "not_shown" once there are none.
        """
        found = [self._verdict(z) for z in range(len(self.groups))]
        return next((worst for worst in ("refuted", "undecided", "not_shown") if worst in found), "certified")

    @property
    @locked
    def risks(self) -> Any:
        """A data frame by group: `rows` that counted, `risk`, the limits `low` and `high`, and the `verdict`; for the
        0-1 loss also `most_frequent`, the error rate of whoever always predicts the label `attrs["most_frequent"]`."""
        import pandas as pd

        with np.errstate(invalid="ignore"):
            risk = self.sums / self.counts
        columns: dict[str, Any] = {"rows": self.counts.copy(), "risk": risk}
        columns |= {"low": self._low.copy(), "high": self._high.copy()}
        if self.loss == "zero_one":
            code, columns["most_frequent"] = most_frequent_errors(self._labels)
        columns["verdict"] = [self._verdict(z) for z in range(len(self.groups))]
        table = pd.DataFrame(columns, index=pd.Index(self.groups, name="group"))
        table.attrs["notes"] = self.notes
        if self.loss == "zero_one":
            table.attrs["most_frequent"] = self.model.classes_.tolist()[code]
        return table

    @property
    @locked
    def notes(self) -> list[str]:
        """What a careful user should know: the groups that have no fresh rows left, and what that leaves open."""
        return [
            f"no fresh row of {self.groups[z]!r} is left after {self.counts[z]} that counted: its risk is "
            + ("not shown" if self._verdict(z) == "not_shown" else f"decided: {self._verdict(z)}")
            for z in np.flatnonzero(self._dry).tolist()
        ]

    @locked
    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs to continue exactly here.

        Raises
        ------
        ArgumentError
            If the model cannot be saved: it was not trained by a sampler, or its own class cannot be saved.
        """
        if name_of(self.model) is None or (isinstance(self.model, Classifier) and self.model._untold):
            what = "a model that a sampler trained, such as finish().model, to be saved"
            raise ArgumentError(expected("model", what, type(self.model).__name__))
        return self.config() | self._arrays | {"columns": self._columns, "tickets": self.tickets.snapshot()}

    @property
    def _arrays(self) -> dict[str, Any]:
        """What is known of each group, as a file has it."""
        known = {"sums": self.sums, "counts": self.counts, "low": self._low, "high": self._high}
        return known | {"dry": self._dry, "labels": self._labels}

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the certification that `snapshot` was taken of."""
        names = ("groups", "model", "threshold", "delta", "batch", "loss")
        if isinstance(snapshot["model"], Classifier) and snapshot["model"]._untold:
            raise StateFileError("model: it was saved without its training rows; certify again from its sampler")
        check = cls(**{name: snapshot[name] for name in names})
        fill_all(check._arrays, snapshot)
        check._columns = snapshot["columns"]
        check.tickets.restore_all(snapshot["tickets"])
        return check

    @classmethod
    def _examples(cls) -> Iterator[tuple[Self, Any]]:
        """Yield certifications and worlds to try them on."""
        from evenhand.sampling.models.logistic import LogisticModel

        world = SyntheticModel1(instance="I")
        X, y = world.sample(0, 40, np.random.default_rng(0))
        yield cls(["u", "v"], LogisticModel().fit(X, y), threshold=0.2, batch=4), world
