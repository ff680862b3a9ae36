"""One thing that is promised: a floor, a cap or a window of an arm, or of arms together."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, NamedTuple

from evenhand.promises.reading import Members

__all__ = ["Clause", "Kind", "Window"]

Kind = Literal["floor", "cap", "window"]
Window = tuple[int, int]


class Clause(NamedTuple):
    """One thing that is promised.

    Attributes
    ----------
    kind : "floor", "cap" or "window".
    arms : the arm, or the arms that it is promised to together.
    rate : the share or the cap, exactly; of a window (plays, rounds).
    slack : by how many plays a floor may be behind or a cap ahead, a whole number; a Fraction where it is said exactly.
    """

    kind: Kind
    arms: Members
    rate: Fraction | Window
    slack: int | Fraction = 0

    @property
    def rate_as_text(self) -> str:
        """The share or cap as a fraction, or the window as "1 in 20"."""
        return f"{self.rate[0]} in {self.rate[1]:,}" if isinstance(self.rate, tuple) else str(self.rate)

    def __str__(self) -> str:
        who = str(self.arms[0]) if len(self.arms) == 1 else f"{', '.join(map(str, self.arms))} together"
        if isinstance(self.rate, tuple):
            plays, rounds = self.rate
            often = {1: "once", 2: "twice"}.get(plays, f"{plays} times")
            return f"{who} in every round" if rounds == 1 else f"{who} at least {often} in any {rounds:,} rounds"
        slack = f" ({'behind' if self.kind == 'floor' else 'ahead'} by at most {self.slack})" if self.slack else ""
        return f"{who} at {'least' if self.kind == 'floor' else 'most'} {self.rate} of the rounds{slack}"
