"""One promise for several processes that decide at the same time without communicating: one for each, in whole numbers.

A promise is kept if each of its clauses is, at every round of any merge order of the processes' logs, each log's own
order kept. Every clause has a balance B that adds over logs. For a share r = p/q, in
lowest terms, with the whole tolerance a, N(t) >= floor(r t) - a, it is D = N - r t.

As N is whole, N >= floor(x) - a iff N + a + 1 > x. So the floor is D > -(a + 1), which is D >= -(a + 1 - 1/q). No
rounding is left, and D adds over logs. Where an arm is not always on offer, t counts only the rounds in which it was.
The floor of a set of arms is the same of their plays together, with one play a round or several. A cap N <= ceil(c t) +
b is c t - N >= -(b + 1 - 1/q).

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

Weights. With r_i W - W_i <= a_w in each process, sums of these stay within a in every order iff sum_w a_w <= a, by
Theorem 1: nothing is rounded.

Source: ours; parts of a tolerance are related to the escrow method, P. E. O'Neil, ACM Transactions on Database Systems
11 (1986).
"""

from __future__ import annotations

from typing import Any

from evenhand.arguments import whole
from evenhand.display.digits import plain_number
from evenhand.errors import NOTHING, SharesError, Wording, expected
from evenhand.promises.feasible import check_kinds
from evenhand.promises.plain_data import promise_fields
from evenhand.promises.reading import LONGEST, Window
from evenhand.promises.weight_promises import enough_for, unit_of

Windows = dict[Any, Window]
LONGER = 8
"""How many times as long as it is a refusal tries one window alone."""


def split(promise: Any, workers: int) -> list[Any]:
    """Return a promise for each of so many processes; see `Promise.split`."""
    check_kinds(promise.clauses)
    if whole("workers", workers, low=1) == 1:
        return [promise]
    given = promise_fields(promise)
    if promise.excuses:
        what = 'offers="all", or a list of arms without caps, as parts would excuse other rounds than the whole'
        raise SharesError(expected("offers", what, promise.offers))
    if promise.weight is not None:
        if promise.caps:
            raise SharesError(expected("caps", Wording(NOTHING, " by weight, to be split"), promise.caps))
        return [type(promise)(**given | {"tolerance": part}) for part in _parts_by_weight(promise, workers)]
    floors = _parts_of(promise, "floor", "tolerance", promise.tolerance, workers)
    caps = _parts_of(promise, "cap", "cap_tolerance", promise.cap_tolerance, workers)
    windows: Windows = given.get("windows", {})
    spaced = {key: lengths(window, workers) for key, window in windows.items()}
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


def _parts_of(promise: Any, kind: str, name: str, given: float, workers: int) -> list[int]:
    """Return whole tolerances of the floors or of the caps that add up to what Theorem 2 allows.

    Raises
    ------
    SharesError
        If that is below 0.
    """
    own = [clause for clause in promise.clauses if clause.kind == kind]
    if not own:
        return [0] * workers
    hardest = max(own, key=lambda clause: clause.share.denominator)
    q = hardest.share.denominator
    # Theorem 2, in whole plays; with one less, an order in which every process is at its worst breaks the promise
    needed = workers - 1 - (workers - 1) // q
    total = hardest.slack - needed
    if total < 0:
        what = f"at least {needed}, so that {workers} processes can keep '{hardest._replace(slack=needed)}' together"
        raise SharesError(expected(name, what, given, "or use fewer processes"))
    return [total // workers + (number < total % workers) for number in range(workers)]


def _parts_by_weight(promise: Any, workers: int) -> list[float]:
    """Return tolerances that add up to that of a promise of a weight.

    Raises
    ------
    SharesError
        If they are less than is enough for each process.
    """
    scale, enough = unit_of(promise).scale, workers * enough_for(promise)
    if promise.slack < enough:
        what = f"at least {plain_number(enough)} {promise.weight}, so that {workers} processes can keep it together"
        raise SharesError(expected("tolerance", what, promise.tolerance, "or use fewer processes"))
    each, left = divmod(int(promise.slack * scale), workers)
    return [(each + (number < left)) / scale for number in range(workers)]


def _made(kind: Any, given: dict[str, Any], windows: Windows, workers: int) -> Any:
    """Return the promise of a part; where its windows are too short to be kept beside the rest, say how long one of
    them, or all by one factor, must be."""
    try:
        return kind(**given)
    except SharesError as refusal:
        for some in [*({key: window} for key, window in windows.items()), windows] if windows else ():
            longer = _least_lengths(kind, given, some, workers, LONGEST if some is windows else LONGER)
            if longer is not None:
                what = f"at least {_said(longer)} rounds, which {workers} processes can keep"
                names, hint = ", ".join(map(repr, some)), "or use fewer processes"
                raise SharesError(expected(f"windows: {names}", what, _said(some), hint)) from refusal
        said = f"the part of one of {workers} processes cannot be kept: "
        raise SharesError(Wording(said, refusal.args[0])) from refusal


def _said(windows: Windows) -> str:
    return ", ".join(f"{plays} in {rounds}" for plays, rounds in windows.values())


def _least_lengths(kind: Any, given: dict[str, Any], some: Windows, workers: int, times: int) -> Windows | None:
    """Return some windows, all longer by the least factor under which the promise of a part can be kept; None where
    none up to so many times will do."""
    shortest = min(rounds for _, rounds in some.values())

    def longer(length: int) -> Windows:
        return {key: (plays, rounds * length // shortest) for key, (plays, rounds) in some.items()}

    def holds(length: int) -> bool:
        own = {key: (1, lengths(window, workers)[-1]) for key, window in longer(length).items()}
        try:
            kind(**given | {"windows": given["windows"] | own})
        except SharesError:
            return False
        return True

    low, high = shortest, 2 * shortest
    while not holds(high):
        low, high = high, 2 * high
        if low > min(LONGEST, times * shortest):
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return longer(high)
