"""One promise for several processes that decide at the same time and never talk: a promise for each, in whole numbers.

A promise is kept if each of its clauses is, at every round of any merge order of the processes' logs, each log's own
order kept. Every clause has a balance B that adds over logs. For a share r = p/q, in
lowest terms, with the whole tolerance a, N(t) >= floor(r t) - a, it is D = N - r t.

As N is whole, N >= floor(x) - a iff N + a + 1 > x. So the floor is D > -(a + 1), which is D >= -(a + 1 - 1/q). No
rounding is left, and D adds over logs. Where an arm is not always on offer, t counts only the rounds in which it was.
The floor of a set of arms is the same of their plays together, with one play a round or several. A cap N <= ceil(c t) +
b is c t - N >= -(b + 1 - 1/q). Segments have clocks and balances of their own, and every process its whole tolerance in
each of them.

Theorem 1 (all merge orders at once). Every merge order keeps a floor or a cap iff

    sum over logs of the least B over prefixes of the log > -(a + 1).

Proof. A prefix of a merge order is one prefix of each log; every choice of prefixes occurs; a sum is least where each
of its terms is. QED. A log that is lost or cut off is a shorter prefix and breaks nothing.

Theorem 2 (floors and caps). W processes with the whole tolerances a_1, ..., a_W keep the tolerance a in every order iff

    sum_w a_w <= a - (W - 1)(1 - 1/q).

Proof. The least D of process w is -(a_w + 1 - 1/q), and is reached; by Theorem 1 the sum of these, which is -(sum_w a_w
+ W (1 - 1/q)), must be at least -(a + 1 - 1/q). QED. So a promise of a share p/q can be split iff its tolerance is at
least W - 1 - floor((W - 1)/q); floors, nested sets and caps that can be kept at all can be kept with a tolerance of 0.

Theorem 3 (windows). A stretch of a merge order is one stretch of each log, and every choice occurs. So every order has
c plays in any w rounds iff, for every split of c - 1 plays over the logs, the longest stretches that hold so many sum
to w - 1 at most. A process that plays once in any b rounds of its own has stretches of up to (k + 1) b - 1 rounds with
k plays, so processes with b_1, ..., b_W keep it iff

    sum_w (b_w - 1) + (c - 1) max_w b_w <= w - 1.

Source: ours; parts of a tolerance are related to the escrow method, P. E. O'Neil, ACM Transactions on Database Systems
11 (1986).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from evenhand.arguments import whole
from evenhand.errors import SharesError, wanted
from evenhand.promises.clause import Clause, Window
from evenhand.promises.feasible import check_kinds
from evenhand.promises.plain import arguments_of
from evenhand.promises.reading import key_of

LONGEST = 1_000_000
"""The longest window that a refusal looks for."""


def split(promise: Any, workers: int) -> list[Any]:
    """Return a promise for each of so many processes; see `Promise.split`."""
    whole("workers", workers, low=1)
    check_kinds(promise.clauses)
    given = arguments_of(promise)
    floors = _parts_of(promise.clauses, "floor", "tolerance", workers)
    caps = _parts_of(promise.clauses, "cap", "cap_tolerance", workers)
    windows = [clause for clause in promise.clauses if clause.kind == "window"]
    spaced = {key_of(clause.arms): lengths(_window(clause), workers) for clause in windows}
    parts = []
    for number in range(workers):
        own: dict[str, Any] = {"tolerance": float(floors[number]), "cap_tolerance": float(caps[number])}
        own |= {"windows": {key: (1, found[number]) for key, found in spaced.items()}} if spaced else {}
        parts.append(_made(type(promise), given | own, windows, workers))
    return parts


def lengths(window: tuple[int, int], workers: int) -> list[int]:
    """Return the b_w of Theorem 3, as even as they can be, of which none can be a round longer: each process plays once
    in any so many rounds of its own.

    >>> lengths((1, 20), 3), lengths((2, 10), 2), lengths((1, 2), 4)
    ([8, 7, 7], [4, 3], [2, 1, 1, 1])
    """
    plays, rounds = window
    least = (rounds - 1 + workers) // (workers + plays - 1)
    left = rounds - 1 - workers * (least - 1) - (plays - 1) * least
    longer = max(0, left - plays + 1)
    return [least + 1] * longer + [least] * (workers - longer)


def _parts_of(clauses: Sequence[Clause], kind: str, name: str, workers: int) -> list[int]:
    """Return whole tolerances of the floors or of the caps that add up to what Theorem 2 allows.

    Raises
    ------
    SharesError
        If that is below 0.
    """
    own = [clause for clause in clauses if clause.kind == kind]
    if not own:
        return [0] * workers
    hardest = max(own, key=lambda clause: _rate(clause).denominator)
    q = _rate(hardest).denominator
    needed = workers - 1 - (workers - 1) // q
    total = hardest.slack - needed
    if total < 0:
        what = f"at least {needed}, so that {workers} processes can keep '{hardest._replace(slack=needed)}' together"
        raise SharesError(wanted(name, what, float(hardest.slack), "or take fewer processes"))
    return [total // workers + (number < total % workers) for number in range(workers)]


def _window(clause: Clause) -> Window:
    assert isinstance(clause.rate, tuple)
    return clause.rate


def _rate(clause: Clause) -> Fraction:
    assert isinstance(clause.rate, Fraction)
    return clause.rate


def _made(kind: Any, given: dict[str, Any], windows: Sequence[Clause], workers: int) -> Any:
    """Return the promise of a part; where its windows are too short to be kept beside the rest, say how long they must
    be."""
    try:
        return kind(**given)
    except SharesError as refusal:
        for clause in windows:
            longer = _least_length(kind, given, clause, workers)
            if longer is not None:
                plays, rounds = _window(clause)
                what = f"at least {plays} in {longer} rounds, which {workers} processes can keep"
                mend = "or take fewer processes"
                words = wanted(f"windows: {key_of(clause.arms)!r}", what, f"{plays} in {rounds}", mend)
                raise SharesError(words) from refusal
        raise


def _least_length(kind: Any, given: dict[str, Any], clause: Clause, workers: int) -> int | None:
    """Return the least length of a window under which the promise of a part can be kept, None where none will do."""
    plays, rounds = _window(clause)

    def holds(length: int) -> bool:
        own = given["windows"] | {key_of(clause.arms): (1, lengths((plays, length), workers)[-1])}
        try:
            kind(**given | {"windows": own})
        except SharesError:
            return False
        return True

    low, high = rounds, 2 * rounds
    while not holds(high):
        low, high = high, 2 * high
        if low > LONGEST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
