"""One thing that is promised: a floor, a cap or a window of an arm, or of arms together.

Another kind is added here, with its words; in `reading` and `plain_data`, as users write it; in `promise`, as an
argument; and in `round_kernels`, as it is counted. Logs are then audited against it. Where a rule is to keep it,
`feasible` says when it can be kept, and until then refuses to promise it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from evenhand.display.digits import plain_number
from evenhand.promises.reading import Members, Window
from evenhand.protocol import Label

Kind = Literal["floor", "cap", "window"]
AT_MOST: tuple[Kind, ...] = ("cap",)
"""The kinds that limit plays; the others owe some."""


class Clause(NamedTuple):
    """One thing that is promised.

    Attributes
    ----------
    kind : "floor", "cap" or "window".
    arms : the arm, or the arms that it is promised to together.
    rate : the share or the cap, exactly; of a window (plays, rounds).
    slack : by how many plays a floor may be behind or a cap ahead, a whole number; or by how much weight, exactly.
    weight : what is shared, such as "tokens", where it is not rounds.
    """

    kind: Kind
    arms: Members
    rate: Fraction | Window
    slack: int | Fraction = 0
    weight: str | None = None

    @property
    def share(self) -> Fraction:
        """The share or the cap; 0 of a window."""
        return Fraction(0) if isinstance(self.rate, tuple) else self.rate

    @property
    def rate_as_text(self) -> str:
        """The share or cap as a fraction, or the window as "1 in 20"."""
        return f"{self.rate[0]} in {self.rate[1]:,}" if isinstance(self.rate, tuple) else str(self.rate)

    @property
    def what(self) -> str:
        """What is promised, as words that follow whom it is promised to."""
        if isinstance(self.rate, tuple):
            plays, rounds = self.rate
            often = {1: "once", 2: "twice"}.get(plays, f"{plays} times")
            return "in every round" if rounds == 1 else f"at least {often} in any {rounds:,} rounds"
        bound = f"at most {plain_number(self.slack)}" if self.weight else f"less than {self.slack + 1}"
        slack = f" ({'behind' if self.kind == 'floor' else 'ahead'} by {bound})" if self.slack else ""
        return f"at {'least' if self.kind == 'floor' else 'most'} {self.rate} of the {self.weight or 'rounds'}{slack}"

    def missed(self, by: int | Fraction) -> str:
        """Return by how many plays, or how much weight, it was missed, beyond its slack, as words that follow whose
        they were."""
        if self.weight:
            allows = "more than the cap {} allows" if self.kind in AT_MOST else "less than the share {} owes"
            return f"{plain_number(by + self.slack)} {allows.format(self.rate)}"
        if isinstance(self.rate, tuple):
            return f"{by} fewer than the {self.rate[0]} owed in any {self.rate[1]} consecutive rounds"
        if self.kind in AT_MOST:
            return f"{by + self.slack} more than the cap {self.rate} allows"
        return f"{by + self.slack} fewer than the share {self.rate} owes"

    def __str__(self) -> str:
        together = "" if len(self.arms) == 1 else " together"
        return f"{', '.join(map(str, self.arms))}{together} {self.what}"


def in_words(clauses: Iterable[Clause], most: int = 8) -> list[str]:
    """Return what is promised; what several arms are promised alike is said once, with so many names at most.

    >>> in_words([Clause("floor", (arm,), Fraction(1, 10)) for arm in "abc"])
    ['a, b, c each at least 1/10 of the rounds']
    """
    alike: dict[str, list[Clause]] = {}
    for clause in clauses:
        alike.setdefault(clause.what if len(clause.arms) == 1 else str(clause), []).append(clause)
    return [
        str(same[0]) if len(same) == 1 else f"{listed([one.arms[0] for one in same], most)} each {what}"
        for what, same in alike.items()
    ]


def listed(labels: Sequence[Label], most: int = 8) -> str:
    """Return labels in a line, the first and the last of many.

    >>> listed("ab"), listed(range(34))
    ('a, b', '0, 1, 2, 3, 4, 5, 6, ..., 33')
    """
    some = [*labels] if len(labels) <= most else [*labels[: most - 1], "...", labels[-1]]
    return ", ".join(map(str, some))
