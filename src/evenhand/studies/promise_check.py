"""Whether a policy's promise held at every round of a log, in the exact integers of an audit."""

from __future__ import annotations

import copy
from collections import deque
from typing import Any, Self

import numpy as np

from evenhand.errors import ReplayError, wanted
from evenhand.kernels.compose import entry
from evenhand.metrics.shares import Tally, follow, tally, worst
from evenhand.protocol import Label
from evenhand.traits import traits_of

__all__ = ["PromiseCheck"]

BATCH = 4_096


class PromiseCheck:
    """Follows the decisions of a study whose policy may promise shares; rounds are checked in batches.

    Attributes
    ----------
    promise : what the policy promises, None where it promises no shares; `when` says when it is kept.
    """

    def __init__(self, policy: Any) -> None:
        traits = traits_of(policy)
        self.promise: Any = traits.promise
        self.when: str | None = traits.kept
        self._horizon: int | None = traits.horizon
        self._labels: list[Label] = list(policy.arms) if self.promise is not None else []
        self._books = tally(self.promise, max(len(self._labels), 1))
        self._worst_rounds, self._summary = np.zeros(max(len(self._labels), 1), np.int64), np.zeros(3, np.int64)
        self._rounds = 0
        self._codes: list[int] = []
        self._at_horizon: bool | None = None

    def decided(self, index: int) -> None:
        """Count the next round's decision, by the position of its arm.

        Raises
        ------
        ReplayError
            If there is no such arm.
        """
        if self.promise is None:
            return
        if type(index) is not int or not 0 <= index < len(self._labels):
            raise ReplayError(wanted("index", f"the position of an arm, below {len(self._labels)}", index))
        self._codes.append(index)
        if len(self._codes) >= BATCH or self._rounds + len(self._codes) == self._horizon:
            self.settle()

    @property
    def worst(self) -> tuple[float, Label, int] | None:
        """The largest r_i t - N_i(t) at the end of any round, with its arm and round; None without a promise."""
        self.settle()
        if self.promise is None or not self._rounds:
            return None
        largest = [entry(worst)(self._books, i, self._rounds) for i in range(len(self._labels))]
        arm = int(np.argmax(largest))
        ended = largest[arm] > self._books.worst[arm]
        return float(largest[arm]), self._labels[arm], self._rounds if ended else int(self._worst_rounds[arm])

    @property
    def violations(self) -> int:
        """The number of rounds at whose end the promise was broken for some arm."""
        self.settle()
        return int(self._summary[0])

    @property
    def first_violation(self) -> tuple[int, Label] | None:
        """The first round at whose end the promise was broken, and the arm."""
        return (int(self._summary[1]), self._labels[self._summary[2]]) if self.violations else None

    @property
    def kept(self) -> bool | None:
        """Whether the promise was kept; None if it is not due yet."""
        if self.promise is None or self.when == "in the long run":
            return None
        return self._at_horizon if self.when == "at the horizon" else self.violations == 0

    def worst_case(self) -> dict[str, Any]:
        """Return the worst shortfall with its arm and round (None without a promise), and the rounds in violation."""
        shortfall, arm, round = self.worst or (None, None, None)
        names = {"worst_shortfall": shortfall, "worst_arm": arm, "worst_round": round}
        return names | {"rounds_in_violation": self.violations}

    def copy(self) -> Self:
        """Return a copy that continues independently."""
        other = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, (np.ndarray, deque, dict, list)):
                setattr(other, name, value.copy())
        other._books = Tally._make(array.copy() for array in self._books)
        return other

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restore` needs to continue exactly here."""
        self.settle()
        books = {f"books.{name}": array.tolist() for name, array in self._books._asdict().items()}
        rounds = {"worst_rounds": self._worst_rounds.tolist(), "summary": self._summary.tolist()}
        return books | rounds | {"rounds": self._rounds, "at_horizon": self._at_horizon}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Continue from a snapshot of a check of the same promise."""
        for name, array in self._books._asdict().items():
            array[...] = snapshot[f"books.{name}"]
        self._worst_rounds[...], self._summary[...] = snapshot["worst_rounds"], snapshot["summary"]
        self._rounds, self._at_horizon = snapshot["rounds"], snapshot["at_horizon"]

    def settle(self) -> None:
        """Check the promise at every round that has not been checked yet."""
        if self._codes:
            codes = np.array(self._codes, dtype=np.int64)
            now = np.empty(len(codes))
            entry(follow)(self._books, codes, self._rounds, self._worst_rounds, self._summary, now)
            self._rounds += len(codes)
            self._codes.clear()
            if self._rounds == self._horizon:
                self._at_horizon = self.promise.kept(self._books.pulls.tolist(), self._rounds)
