"""The auditor's verdicts as data: a verdict, the log of all, the messages that refuse some, and which are suspect.

Nobody says which verdicts are wrong, but the belief about the metric does: a verdict that it finds unlikely is
probably wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evenhand.errors import ArgumentError, Wording, expected, first_few
from evenhand.kernels.arrays import Floats
from evenhand.similarity.metric import EQUAL
from evenhand.similarity.metric_state import MetricState, directions, level

NAMED = 5
"""So many of the verdicts that stand against a refused one are described."""

REMEMBERED = 100
"""So many refused reports are remembered, the latest, to find out which verdicts of the log they clash with."""


class Verdict(NamedTuple):
    """One answer of an auditor: the pair x, y was treated differently by `gap`, and that was unfair, d(x, y) < gap,
    or not; `auditor` is who said so, where several do."""

    id: int
    x: Floats
    y: Floats
    gap: float
    unfair: bool
    pair: int
    auditor: str | None = None

    def reverses(self, other: Verdict) -> bool:
        """Return whether this verdict, on the same two individuals, cannot hold beside the other one."""
        unfair, acceptable = (self, other) if self.unfair else (other, self)
        if not unfair.unfair or acceptable.unfair or unfair.gap > acceptable.gap:
            return False
        mine, either = (self.x, self.y), ((other.x, other.y), (other.y, other.x))
        return any(all(map(np.array_equal, mine, theirs)) for theirs in either)


def half_spaces(state: MetricState, verdicts: Sequence[Verdict]) -> tuple[Floats, Floats, Floats]:
    """Return of n verdicts the directions (n, m), the values (n,) that they compare metrics with, and 1 for each that
    says "unfair", -1 for the others (n,)."""
    signs = np.array([1.0 if verdict.unfair else -1.0 for verdict in verdicts])
    away = directions(state, np.array([verdict.x - verdict.y for verdict in verdicts]))
    return away, level(state, np.array([verdict.gap for verdict in verdicts])) + signs * state.tolerance, signs


class VerdictLog:
    """The verdicts that were taken, in their order, with the facts that no auditor has to say between them.

    Attributes
    ----------
    entries : those that a learner was taught by; facts have the id 0.
    idle : the answers that taught nothing, and that how often somebody errs cannot be learned without.
    refused : the latest reports that were refused, their last verdict the one that was.
    next : the id of the next verdict.
    """

    def __init__(self) -> None:
        self.entries: list[Verdict] = []
        self.idle: list[Verdict] = []
        self.refused: list[tuple[Verdict, ...]] = []
        self.next = 1

    @property
    def learned(self) -> list[Verdict]:
        """The entries that an auditor said and did not take back."""
        return [verdict for verdict in self.entries if verdict.id]

    @property
    def verdicts(self) -> list[Verdict]:
        """Everything that an auditor said and did not take back, in the order of their ids."""
        return sorted([*self.learned, *self.idle], key=lambda verdict: verdict.id) if self.idle else self.learned

    def record(self, taken: Verdict, *, idle: bool = False) -> int:
        """Enter a verdict and return its id."""
        (self.idle if idle else self.entries).append(taken._replace(id=self.next))
        self.refused = [report for report in self.refused if not taken.reverses(report[-1])]
        self.next += 1
        return self.next - 1

    def record_fact(self, x: Floats, y: Floats, pair: int) -> None:
        """Enter that the square of a distance is not negative."""
        self.entries.append(Verdict(0, x, y, 0.0, False, pair))

    def remove(self, number: int) -> None:
        """Take a verdict back."""
        self.entries = [verdict for verdict in self.entries if verdict.id != number]
        self.idle = [verdict for verdict in self.idle if verdict.id != number]

    def saved(self) -> dict[str, Any]:
        """Return what a file keeps."""
        return {"verdicts": list(map(list, self.entries)), "idle": list(map(list, self.idle)), "next": self.next}

    def remember_refused(self, report: tuple[Verdict, ...]) -> None:
        """Keep a report that was refused."""
        self.refused = [*self.refused, report][-REMEMBERED:]

    def reversed_by(self, newest: Verdict, beside: Sequence[Verdict], shared: bool) -> bool:
        """Return whether an entry, or a verdict beside the newest, says the opposite on the same pair and gap.

        The kernels' half-spaces are closed: they would take both, for d = gap.
        """
        told = [v for v in (*self.entries, *beside) if abs(v.gap - newest.gap) <= EQUAL < v.gap]
        return any(newest.reverses(v) for v in told if shared or v.pair == newest.pair)

    @classmethod
    def restored(cls, saved: dict[str, Any]) -> VerdictLog:
        """Return the log whose entries a file kept."""
        log = cls()
        log.next = saved["next"]
        log.entries = [Verdict(*row) for row in saved["verdicts"]]
        log.idle = [Verdict(*row) for row in saved["idle"]]
        return log


WITH_ERRORS = Wording("use MomentDistance(error_rate=...)", shell="begin another --state with --errors 0.1")


def refusal(newest: Verdict, against: Sequence[Verdict], radius: float) -> str:
    """Word the refusal of a verdict that no metric agrees with: beside others, those of its own report without an id,
    or within the radius."""
    said = f"verdict: no metric calls {_described(newest)} here and agrees with"
    logged = [verdict for verdict in against if verdict.id]
    if np.array_equal(newest.x, newest.y):
        return f"{said} the two being equal; nothing has changed; whoever is equal is treated equally by every metric"
    if not against:
        before = "all verdicts before it" if newest.unfair else f"the radius {radius:g}"
        said = f"{said} {before}; nothing has changed; give a larger radius if distances are that large, or "
        return Wording(said, WITH_ERRORS)
    if not logged:
        return f"{said} the rest of this report; nothing has changed; correct the report"
    theirs = first_few([f"{verdict.id} called {_described(verdict)}" for verdict in logged], NAMED)
    rest = " and the rest of this report" if len(logged) < len(against) else ""
    withdraw = Wording(
        "take back what is wrong by withdraw(id) of the metric, whose contradictions() names the likeliest",
        shell="withdraw what is wrong",
    )
    return Wording(
        f"{said} verdicts ",
        [verdict.id for verdict in logged],
        f"{rest}; nothing has changed; {theirs}; ",
        withdraw,
        "; where some verdicts are wrong all the time, ",
        WITH_ERRORS,
    )


def growth(start: float, radius: float, widest: float) -> str:
    """Word the warning that a radius was doubled."""
    return (
        f"radius: no metric with ||A'A|| <= {start:g} agrees with all verdicts, so it was doubled to {radius:g} and "
        f"may go on to {widest:g}; see radius_reached; if distances are that large, give radius=; if not, a verdict is "
        f"wrong: contradictions(radius={start:g}) of the metric names the likeliest, withdraw(id) takes it back"
    )


def _described(verdict: Verdict) -> str:
    return f"a gap of {verdict.gap:.4g} {'unfair' if verdict.unfair else 'acceptable'}"


class Suspect(NamedTuple):
    """A verdict, and the probability that it is wrong."""

    id: int
    wrong: float
    verdict: Verdict


def read_auditor(auditor: object) -> str | None:
    """Return an auditor's name, or None for nobody's, refusing anything else."""
    if auditor is None or (isinstance(auditor, str) and auditor.strip()):
        return auditor
    raise ArgumentError(expected("auditor", "a name, or None", auditor))


def ranked(verdicts: Sequence[Verdict], chances: ArrayLike) -> list[Suspect]:
    """Return verdicts that are wrong with these probabilities, the likeliest first."""
    found = [Suspect(v.id, float(wrong), v) for v, wrong in zip(verdicts, np.asarray(chances), strict=True)]
    return sorted(found, key=lambda one: -one.wrong)
