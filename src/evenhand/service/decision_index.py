"""An index of a study's decisions, a few bytes each: the arm, the reason, and whether the ticket is open."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from evenhand.labels import Labels
from evenhand.studies.log.chain import Entry


class Index:
    """The index; it follows the log, whose tickets are numbered without gaps."""

    def __init__(self) -> None:
        self._sequence = 0
        self._first = 0
        self._arms, self._reasons, self._open = array("i"), array("i"), array("b")
        self._others: dict[int, set[int]] = {}
        """The arms of a decision for several, beside the first."""
        self._codes: dict[str, int] = {}
        self._owed = array("q")

    def take(self, entry: Entry, decision: dict[str, Any]) -> None:
        """Take in a stored entry and its decision, if that was not done before."""
        if entry.sequence <= self._sequence:
            return
        self._sequence = entry.sequence
        if entry.kind == "ask":
            self._add(entry.ticket or 0, decision)
        elif entry.ticket is not None:
            self._open[self._position(entry.ticket)] = 0

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restore` needs to continue exactly here."""
        columns = {name: np.array(column) for name, column in self._columns().items()}
        others = [[position, sorted(arms)] for position, arms in self._others.items()]
        found = {"sequence": self._sequence, "first": self._first, "codes": list(self._codes)}
        return columns | found | {"others": others}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Continue from a snapshot."""
        for name, column in self._columns().items():
            column[:] = array(column.typecode, np.asarray(snapshot[name]).tobytes())
        self._sequence, self._first = snapshot["sequence"], snapshot["first"]
        self._codes = {text: code for code, text in enumerate(snapshot["codes"])}
        self._others = {position: set(arms) for position, arms in snapshot["others"]}

    def _columns(self) -> dict[str, array[int]]:
        return {"arms": self._arms, "reasons": self._reasons, "open": self._open, "owed": self._owed}

    def find(
        self,
        *,
        before: int | None = None,
        after: int | None = None,
        order: Literal["newest", "oldest"] = "newest",
        arm: str | None = None,
        reason: str | None = None,
        open: bool | None = None,
    ) -> Iterator[int]:
        """Yield the tickets that match, the newest or the oldest first."""
        wanted_arm = None if arm is None else Labels(self._codes).place(f"arm {arm}")
        if arm is not None and wanted_arm is None:
            return
        wanted_reason = None if reason is None else self._codes.get(f"reason {reason}", -1)
        end = len(self._arms) if before is None else self._position(before)
        positions = range(0 if after is None else self._position(after) + 1, end)
        for position in reversed(positions) if order == "newest" else positions:
            if (
                (
                    wanted_arm is None
                    or self._arms[position] == wanted_arm
                    or wanted_arm in self._others.get(position, ())
                )
                and (wanted_reason is None or self._reasons[position] == wanted_reason)
                and (open is None or self._open[position] == open)
            ):
                yield self._first + position

    def _position(self, ticket: int) -> int:
        """Return the position of a ticket, of a number before all of them -1, and of one behind all of them the end."""
        return max(-1, min(len(self._arms), ticket - self._first))

    def forced(self) -> Iterator[int]:
        """Yield the tickets of decisions that the promise forced, newest first."""
        return reversed(self._owed)

    def _add(self, ticket: int, decision: dict[str, Any]) -> None:
        if not self._arms:
            self._first = ticket
        self._arms.append(self._code(f"arm {decision.get('arm', decision.get('group'))}"))
        if "arms" in decision:
            self._others[len(self._arms) - 1] = {self._code(f"arm {arm}") for arm in decision["arms"][1:]}
        self._reasons.append(self._code(f"reason {decision.get('reason', '')}"))
        self._open.append(1)
        if decision.get("reason_code") == "forced":
            self._owed.append(ticket)

    def _code(self, text: str) -> int:
        return self._codes.setdefault(text, len(self._codes))
