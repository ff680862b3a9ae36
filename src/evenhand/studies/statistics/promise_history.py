"""Which promises were in force from when until when, and what each arm had of them, as an audit says it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from evenhand.audit.findings import promise_row
from evenhand.promises.books import ClauseCounts, StretchCounts
from evenhand.promises.clause import Clause
from evenhand.protocol import Label


class PromiseHistory:
    """The promises that ended, and since when those in force hold.

    Attributes
    ----------
    since : the round with which the promise of each clause in force began, and how many rounds its clock waited then.
    ended : a row for each promise that is no longer in force.
    """

    def __init__(self, clauses: int, scale: int) -> None:
        self.since = [(1, 0)] * clauses
        self.ended: list[dict[str, Any]] = []
        self._scale = scale

    def rows(self, books: ClauseCounts, retired: Collection[Label]) -> dict[Clause, dict[str, Any]]:
        """Return the row of each clause of closed books as an audit has it, without those of retired arms."""
        gone = set(retired)
        return {
            clause: promise_row(clause, books.counts, q, self._scale, span=span)
            for q, (clause, span) in enumerate(zip(books.clauses, self.since, strict=True))
            if not gone.issuperset(clause.arms)
        }

    def go_on(
        self,
        before: ClauseCounts,
        books: ClauseCounts,
        after: int,
        moved: Label | None,
        *,
        retired: Collection[Label],
        wait: int,
    ) -> None:
        """Note which promises end after a round and which begin: those of one arm that was `moved`, or all of them.

        Parameters
        ----------
        before, books : the closed books of what was promised, and those of what is promised from now on.
        retired : the arms that were off offer before.
        wait : after how many rounds the floor of the moved arm begins.
        """
        now = {clause: q for q, clause in enumerate(books.clauses)}
        stay = enumerate(() if moved is None else before.clauses)
        same = {clause: q for q, clause in stay if clause.arms != (moved,) and clause in now}
        closed = self.rows(before, retired).items()
        ended = [row for clause, row in closed if clause not in same and row["since"] <= after]
        self.ended = [*self.ended, *(row | {"until": after} for row in ended)]
        books.go_on(before.seen, {now[clause]: q for clause, q in same.items()})
        begun = {clause: self.since[q] for clause, q in same.items()}
        fresh = {clause: (after + 1, wait * (clause.kind == "floor" and clause.arms == (moved,))) for clause in now}
        self.since = [*(fresh | begun).values()]


def carried_over(before: ClauseCounts, books: ClauseCounts, late: Label | None, wait: int) -> StretchCounts:
    """Return where the clauses of new books stand, which is where they stood before; those of an arm that comes late
    start anew, its floor after so many rounds."""
    stand, old = books.standing, before.standing
    place = {(clause.kind, clause.arms): q for q, clause in enumerate(before.clauses)}
    stand.tick[:], stand.round[:] = old.tick, old.round
    for q, clause in enumerate(books.clauses):
        fresh = late is not None and clause.arms == (late,)
        at = None if fresh else place.get((clause.kind, clause.arms))
        if at is not None:
            for new, known in ((stand.clock, old.clock), (stand.seen, old.seen), (stand.plays, old.plays)):
                new[:, q] = known[:, at]
            n = min(stand.recent.shape[2], old.recent.shape[2])
            stand.recent[:, q, :n] = old.recent[:, at, :n]
        elif fresh and clause.kind == "floor":
            stand.clock[:, q] = -wait
    return stand
