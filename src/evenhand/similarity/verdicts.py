"""The auditor's verdicts as data, and which of them cannot all hold.

Every verdict is a half-space of metrics. A linear program lets verdicts yield, each at a price, until some metric
agrees with all. Few that must yield are found by repeating it with prices that fall for whoever yields (Candes, Wakin,
Boyd, "Enhancing sparsity by reweighted l1 minimization", 2008); or, more closely, by removing again and again what
leaves the least to yield (Chinneck, "An effective polynomial-time heuristic for the minimum-cardinality IIS
set-covering problem", 1996).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.similarity.metric import TOLERANCE, Belief

__all__ = ["Verdict", "clashing", "disputed", "growth", "refusal"]

NAMED = 5
"""So many of the verdicts that stand against a refused one are described."""

YIELDS = 1e-9
"""A verdict that must yield by less than this in d^2, or has a smaller price, is not concerned."""

CLOSELY = 20
"""Where no more verdicts than this seem to yield, it is looked at closely."""

STANDING = 100.0
"""So much dearer than the newest is every other verdict: the question is which of them it clashes with."""


class Verdict(NamedTuple):
    """One answer of the auditor: the pair x, y was treated differently by `gap`, and that was unfair, d(x, y) < gap,
    or not."""

    id: int
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    gap: float
    unfair: bool
    pair: int

    def reverses(self, other: Verdict) -> bool:
        """Say whether this verdict, on the same two individuals, cannot hold beside the other one."""
        if self.unfair == other.unfair or (self.gap > other.gap) == self.unfair:
            return False
        return np.array_equal(self.x, other.x) and np.array_equal(self.y, other.y)


def disputed(log: Sequence[Verdict], refused: Sequence[Sequence[Verdict]], belief: Belief, radius: float) -> list[int]:
    """Return the ids of few verdicts of the log that no metric of the radius agrees with together with the rest, and
    with reports that were refused.

    Where several explain the refusals equally well, all are returned; where a refused report is the better explanation,
    none is.
    """
    parts: list[Sequence[Verdict]] = [*([verdict] for verdict in log), *refused]
    said = [verdict for part in parts for verdict in part]
    slack = np.zeros(len(said))
    for _ in range(4):
        slack, _ = _yielding(said, belief, radius, 1.0 / (slack + 0.01))
    yielding = np.flatnonzero(slack > YIELDS)
    if not refused or yielding.size > CLOSELY:
        return [said[n].id for n in yielding if said[n].id]
    found: set[int] = set()
    while True:
        excess, priced = _excess(parts, belief, radius)
        if excess <= YIELDS or not priced:
            return sorted(found)
        left = {n: _excess(_without(parts, {n}), belief, radius)[0] for n in priced}
        best = [n for n in priced if left[n] <= min(left.values()) + YIELDS]
        removed = {n for n in best if parts[n][0].id} or {best[0]}
        found |= {parts[n][0].id for n in removed} - {0}
        parts = _without(parts, removed)


def clashing(log: Sequence[Verdict], report: Sequence[Verdict], belief: Belief, radius: float) -> list[Verdict]:
    """Return verdicts that no metric of the radius agrees with together with the last of the report; [] if it stands
    against nothing but the radius."""
    said = [*log, *report]
    weights = np.r_[np.full(len(said) - 1, STANDING), 1.0]
    _, prices = _yielding(said, belief, radius, weights)
    return [verdict for verdict, price in zip(said[:-1], prices, strict=False) if price > YIELDS]


def refusal(newest: Verdict, against: Sequence[Verdict], radius: float) -> str:
    """Word the refusal of a verdict that no metric agrees with: beside others, those of its own report without an id,
    or within the radius."""
    said = f"verdict: no metric calls {_described(newest)} here and agrees with"
    logged = [verdict for verdict in against if verdict.id]
    if not against:
        mend = "give a larger radius if distances are that large, or use MomentDistance(error_rate=...)"
        return f"{said} the radius {radius:g}; nothing has changed; {mend}"
    if not logged:
        return f"{said} the rest of this report; nothing has changed; correct the report"
    theirs = ", ".join(f"{verdict.id} called {_described(verdict)}" for verdict in logged[:NAMED])
    more = f" and {len(logged) - NAMED} more" if len(logged) > NAMED else ""
    rest = " and the rest of this report" if len(logged) < len(against) else ""
    return (
        f"{said} verdicts {[verdict.id for verdict in logged]}{rest}; nothing has changed; {theirs}{more}; take back "
        "what is wrong by withdraw(id) of the metric, whose contradictions() names the likeliest; where some verdicts "
        "are wrong all the time, use MomentDistance(error_rate=...)"
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


def _without(parts: Sequence[Sequence[Verdict]], removed: set[int]) -> list[Sequence[Verdict]]:
    return [part for n, part in enumerate(parts) if n not in removed]


def _excess(parts: Sequence[Sequence[Verdict]], belief: Belief, radius: float) -> tuple[float, list[int]]:
    """Return how far the verdicts must yield in all, and the numbers of the parts that have a price."""
    said = [verdict for part in parts for verdict in part]
    slack, prices = _yielding(said, belief, radius, 1.0)
    owners = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return float(slack.sum()), np.unique(owners[prices > YIELDS]).tolist()


def _yielding(
    verdicts: Sequence[Verdict], belief: Belief, radius: float, weights: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how far each verdict must yield so that a metric agrees with all, and the price of each, both (n,)."""
    from scipy.optimize import linprog
    from scipy.sparse import hstack, identity

    n, m = len(verdicts), belief.u.size
    if n == 0:
        return np.zeros(0), np.zeros(0)
    signs = np.array([1.0 if verdict.unfair else -1.0 for verdict in verdicts])
    away = np.array([verdict.x - verdict.y for verdict in verdicts])
    rows = signs[:, None] * belief.scales * away[:, belief.rows] * away[:, belief.columns]
    limits = signs * np.array([verdict.gap for verdict in verdicts]) ** 2 + belief.options[TOLERANCE]
    box = [(0.0 if i == j else -radius, radius) for i, j in zip(belief.rows, belief.columns, strict=True)]
    found = linprog(
        np.r_[np.zeros(m), np.broadcast_to(weights, n)],
        A_ub=hstack([rows, -identity(n)], format="csc"),
        b_ub=limits,
        bounds=[*box, *[(0.0, None)] * n],
        method="highs",
    )
    return found.x[m:], -found.ineqlin.marginals
