"""The slow twin of `evenhand.promises.workers`: every merge order, one by one, by the words of the promise."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from math import ceil, floor
from typing import Any


def merges(logs: Sequence[tuple[int, ...]]) -> Iterator[list[int]]:
    """Yield every merge order of these logs, each log's own order kept."""
    if not any(logs):
        yield []
    for w, log in enumerate(logs):
        if log:
            rest = [*logs[:w], log[1:], *logs[w + 1 :]]
            for tail in merges(rest):
                yield [log[0], *tail]


def kept(shares: Sequence[Fraction], slack: int, decisions: Sequence[int]) -> bool:
    """Say whether N_i(t) >= floor(r_i t) - a at every round t of one sequence of decisions."""
    return all(
        decisions[:t].count(arm) >= share.numerator * t // share.denominator - slack
        for t in range(1, len(decisions) + 1)
        for arm, share in enumerate(shares)
    )


def every_order_kept(
    shares: Sequence[Fraction], slack: int, base: tuple[int, ...], logs: Sequence[tuple[int, ...]]
) -> bool:
    """Say whether every merge order behind a common beginning keeps the promise."""
    return all(kept(shares, slack, [*base, *order]) for order in merges(list(logs)))


def clauses_kept(clauses: Sequence[Any], rounds: Sequence[Any]) -> bool:
    """Say whether every clause holds after each of these rounds, (played, offered, segment), in its own segment."""
    return all(
        _clause_kept(clause, [round for round in rounds[:t] if round[2] == segment])
        for t in range(1, len(rounds) + 1)
        for segment in {round[2] for round in rounds}
        for clause in clauses
    )


def _clause_kept(clause: Any, rounds: Sequence[Any]) -> bool:
    """The same of one clause at the end of the rounds of one segment."""
    ticks = [played for played, offered, _ in rounds if set(offered) & set(clause.arms)]
    if clause.kind == "window":
        plays, length = clause.rate
        return len(ticks) < length or _plays(clause, ticks[len(ticks) - length :]) >= plays
    if clause.kind == "floor":
        return _plays(clause, ticks) >= floor(clause.rate * len(ticks)) - clause.slack
    return _plays(clause, ticks) <= ceil(clause.rate * len(ticks)) + clause.slack


def _plays(clause: Any, ticks: Sequence[Any]) -> int:
    return sum(arm in clause.arms for played in ticks for arm in played)


def can_go_on(shares: Sequence[Fraction], endowment: Sequence[Fraction], rounds: int) -> bool:
    """Say whether some sequence of so many rounds keeps N_i - r_i t >= -e_i for every arm, by search."""

    @cache
    def search(pulls: tuple[int, ...]) -> bool:
        t = sum(pulls)  # the order in which they came does not matter any more
        if any(n - r * t < -e for n, r, e in zip(pulls, shares, endowment, strict=True)):
            return False
        if t == rounds:
            return True
        return any(search((*pulls[:arm], pulls[arm] + 1, *pulls[arm + 1 :])) for arm in range(len(pulls)))

    return search((0,) * len(shares))
