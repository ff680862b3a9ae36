"""The slow twin of `evenhand.promises.workers`: every merge order, one by one, by the words of the promise."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache


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
