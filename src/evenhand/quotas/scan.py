"""Floors of single arms over a stretch of a log, from exact books at its start: stretches are checked in any order, on
any machine, and joined.

An arm's shortfall rises until it is played, so that it is looked at only just before each of its plays and at the end
of the stretch. With N plays the arm is behind from the round ceil((N + alpha + 1) / r) on; the least such round over
all arms says whether any promise is broken now. All of this is in integers; r n - N is the same floating-point product
as in `evenhand.quotas.clauses`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from evenhand.errors import SharesError, wanted
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import entry, kernel
from evenhand.promises.promise import Promise

__all__ = ["Books", "Floors", "Found", "begin", "finish", "follow", "join", "read_floors"]

NEVER = 2**62


class Floors(NamedTuple):
    """The shares r = p / q of the arms (n_arms,), as fractions and as floats, and alpha."""

    numerators: Ints
    denominators: Ints
    shares: Floats
    slack: int


class Books(NamedTuple):
    """Where a scan is: plays, the round from which an arm is behind with these plays, the round of its last play in the
    stretch or the one before it (n_arms,); and (5,): rounds so far, the arm that is behind first and since when, rounds
    in which a promise was broken."""

    plays: Ints
    due: Ints
    since: Ints
    now: Ints


class Found(NamedTuple):
    """What a stretch shows of each arm (n_arms,): the largest r n - N above 0 and its round; after how many rounds the
    floor was broken, after which first, by how many plays at most, and after which round so first."""

    worst: Floats
    worst_at: Ints
    times: Ints
    first: Ints
    most: Ints
    most_at: Ints
    broken: Ints
    """(1,): rounds after which any floor was broken."""


def read_floors(promise: Promise, rounds: int) -> Floors:
    """Return the floors of a promise for a log of so many rounds.

    Raises
    ------
    SharesError
        If a share is too fine a fraction for 64 bits at so many rounds.
    """
    parts = [Fraction(share) for share in promise.shares]
    for arm, part in zip(promise.arms, parts, strict=True):
        if max(part.numerator, part.denominator) * (rounds + promise.slack + 2) >= NEVER:
            what = f"a fraction below {NEVER // (rounds + promise.slack + 2):,}, top and bottom"
            raise SharesError(wanted(f"shares[{arm!r}]", what, str(part), "round the share"))
    tops, bottoms = ([getattr(part, end) for part in parts] for end in ("numerator", "denominator"))
    return Floors(np.array(tops), np.array(bottoms), promise.floats(), promise.slack)


def begin(floors: Floors, plays: Ints, rounds: int) -> tuple[Books, Found]:
    """Return the books after so many rounds and plays (n_arms,), and nothing found yet."""
    wanted_plays = (plays + floors.slack + 1) * floors.denominators
    ever = np.maximum(floors.numerators, 1)
    due = np.where(floors.numerators > 0, -(-wanted_plays // ever), NEVER)
    first = int(due.argmin())
    books = Books(plays.copy(), due, np.full(len(plays), rounds), np.array([rounds, first, due[first]]))
    at, times, start, most, most_at = np.zeros((5, len(plays)), np.int64)
    return books, Found(np.zeros(len(plays)), at, times, start, most, most_at, np.zeros(1, np.int64))


@kernel
def look_back(floors: Floors, books: Books, found: Found, arm: int, until: int) -> None:
    """Note what the rounds since an arm's last play have shown, up to the round `until`."""
    since = books.since[arm]
    if until <= since:
        return
    behind = floors.shares[arm] * until - books.plays[arm]
    if behind > found.worst[arm]:
        found.worst[arm], found.worst_at[arm] = behind, until
    start = max(since + 1, books.due[arm])
    if start <= until:
        if found.times[arm] == 0:
            found.first[arm] = start
        found.times[arm] += until - start + 1
        top, bottom = floors.numerators[arm], floors.denominators[arm]
        enough = books.plays[arm] + floors.slack
        missed = top * until // bottom - enough
        if missed > found.most[arm]:
            found.most[arm] = missed
            found.most_at[arm] = max(start, -(-(enough + missed) * bottom // top))


@kernel
def follow_rows(floors: Floors, rows: Ints, codes: Ints, books: Books, found: Found) -> int:
    """Go through consecutive rows, `codes[rows[t]]` the arm of each; return the first row without an arm, or -1."""
    round, first, due = books.now[0], books.now[1], books.now[2]
    broken = 0
    for t in range(rows.size):
        arm = codes[rows[t]]
        if arm < 0:
            return t
        look_back(floors, books, found, arm, round)
        round += 1
        books.plays[arm] += 1
        books.since[arm] = round - 1
        if floors.numerators[arm] > 0:
            top = floors.numerators[arm]
            books.due[arm] = -(-(books.plays[arm] + floors.slack + 1) * floors.denominators[arm] // top)
        if round >= due:
            if books.due[first] != due:
                for other in range(books.due.size):
                    if books.due[other] < books.due[first]:
                        first = other
                due = books.due[first]
            if round >= due:
                broken += 1
    books.now[0], books.now[1], books.now[2] = round, first, due
    found.broken[0] += broken
    return -1


def follow(floors: Floors, rows: Ints, codes: Ints, books: Books, found: Found) -> int:
    """Check consecutive rows; `codes` turns what a row holds into the position of its arm, -1 where it has none."""
    return int(entry(follow_rows)(floors, rows, codes, books, found))


@kernel
def _finish(floors: Floors, books: Books, found: Found) -> None:
    for arm in range(books.plays.size):
        look_back(floors, books, found, arm, books.now[0])


def finish(floors: Floors, books: Books, found: Found) -> None:
    """Look at every arm at the end of a stretch."""
    entry(_finish)(floors, books, found)


def join(parts: Sequence[Found]) -> Found:
    """Return what stretches that follow one another show together."""
    whole = copy.deepcopy(parts[0])
    for part in parts[1:]:
        further, deeper = part.worst > whole.worst, part.most > whole.most
        fresh = (whole.times == 0) & (part.times > 0)
        for mine, theirs, taken in (
            (whole.worst, part.worst, further),
            (whole.worst_at, part.worst_at, further),
            (whole.first, part.first, fresh),
            (whole.most, part.most, deeper),
            (whole.most_at, part.most_at, deeper),
        ):
            mine[taken] = theirs[taken]
        whole.times[:] += part.times
        whole.broken[:] += part.broken
    return whole
