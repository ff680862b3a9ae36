"""What a promise costs in the long run, and what each of its clauses does."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arguments import as_floats
from evenhand.data.tables import column, numbers, places_in
from evenhand.display.digits import as_written, exact
from evenhand.display.html import Card, HasCard, Table
from evenhand.errors import ArgumentError, SharesError, UnknownArmError, Wording, expected, expected_one_of
from evenhand.frames import as_pandas, is_frame
from evenhand.kernels.arrays import Floats, Ints
from evenhand.labels import Labels
from evenhand.promises.best_counts import best_counts, limit_of
from evenhand.promises.clause import AT_MOST
from evenhand.promises.promise import Promise, check_rounds
from evenhand.promises.reading import overlap
from evenhand.protocol import Label
from evenhand.rng import generator

if TYPE_CHECKING:
    import pandas as pd

ABOVE = 1.96
"""Standard errors above an estimate, where a true value is once in 40 times."""
BELOW = 2.24
"""Standard errors below it, where it is once in 80 times; up to four times as often where eight arms earn the same,
as both halves may find one of them by luck."""
POINTS = 100
"""Percentage points in all rounds: a clause is made tighter or looser by one of them."""
STEPS = 10
"""How often the width of an interval is looked for again, from a thousandth of the largest on."""
TINY = 1e-12
"""Less than this is nothing."""
NUMBERS = ("cost", "tighter", "looser")
SUPPOSED = "This assumes that an arm earns the same in every round and for everybody, and that it is always on offer."
IN_THE_MEAN = "means of arms do not say what a policy earns that sees them"
ALIKE = ", supposing that an arm earns the same for everybody"
KNOWN = (
    "It is the price once the best arms are known: while a learner still tries arms, some of what is promised would be "
    "played anyway, and costs nothing."
)
FROM_LOG = (
    "The best arms are found in one half of the rewards and their lead measured in the other, so that luck is not "
    "counted as cost; where they are unclear, the cost is rather above the estimate, for which the interval allows. "
    "Where a learner chose the arms, those that it tried rarely look worse than they are."
)

Side = tuple[NDArray[Any], Floats]
"""Limits (n_rows, n_clauses), and the shares that were found under them in each part of the rewards (n_parts, n_rows,
n_arms)."""


@dataclass(frozen=True, eq=False, repr=False)
class Price(HasCard):
    """What a promise costs in the long run, in reward a round, against playing the best arms always.

    Attributes
    ----------
    cost, low, high : what it costs, and a 95 % interval, whichever arms are best; where the means were given, both ends
        are the cost, and NaN where all rewards of a log are the same. From a log that does not show which arms are
        best, the estimate is rather too low.
    free, kept : what the best earns without the promise, and with it.
    shares : the share of the rounds that each arm has in the best that keeps the promise.
    clauses : a row for each clause: `promise`, `arm` (a tuple for a set), `limit`, and in reward a round `cost`, what
        would be saved without the clause; `tighter`, what one more percentage point promised, or one less of a cap,
        costs, NaN where it cannot be promised as well; `looser`, what one less promised, or one more of a cap, saves,
        at most `cost`. Each has an interval of its own, `cost_low`, `cost_high` and so on, NaN as above.
    rewards : how many rewards it was estimated from; 0 where the means were given.
    notes : what to know before trusting the numbers.
    """

    cost: float
    low: float
    high: float
    free: float
    kept: float
    shares: dict[Label, float]
    clauses: pd.DataFrame
    rewards: int
    notes: tuple[str, ...]

    @property
    def finding(self) -> str:
        """The cost, as a sentence."""
        known = [max(0.0, number) for number in (self.cost, self.low, self.high)]
        written = as_written(*known) if self.rewards else map(exact, known)
        value, low, high = (text if one else "0" for text, one in zip(written, known, strict=True))
        cost = known[0]
        part = (
            f", {exact(100 * cost / self.free)} % of the {exact(self.free)} earned without it" if self.free > 0 else ""
        )
        shown = "" if self.low > 0 else "; it is not shown to cost anything"
        between = "no interval is known" if math.isnan(self.low) else f"95 % interval {low} to {high}"
        sure, alike = (f" ({between}{shown})", ALIKE) if self.rewards else ("", "")
        return f"In the long run the promise costs {value} a round{sure}{part}{alike}"

    def _card(self) -> Card:
        best = ", ".join(f"{arm} {share:.4g}" for arm, share in self.shares.items())
        return Card("Price", {"finding": self.finding, "best shares": best}, [Table.of(self.clauses, "Clauses")])


def price(promise: Promise, means: object, *, arm: str = "arm", reward: str = "reward") -> Price:
    r"""Return what a promise costs in the long run, and what each of its clauses costs.

    The cost is the value of max sum_i mu_i p_i over all shares p of the rounds with sum_i p_i = m and 0 <= p_i <= 1,
    less the value of the same programme under the shares, sets, windows (n in w rounds: n / w) and caps of the promise.
    One percentage point more or less of a clause is a programme of its own. Tolerances do not matter in the long run.

    Parameters
    ----------
    promise : what is promised.
    means : the mean reward of each arm, a list or a dict arm -> mean; or a log, a row for each play, that they are
        estimated from.
    arm, reward : the columns of a log.

    Raises
    ------
    ArgumentError
        If there is not one finite mean for each arm, a log has less than two rewards of an arm, its policy saw
        contexts, so that no table of means says what another would have earned, or no shares of the arms keep the
        promise.
    UnknownArmError
        If a mean is of an arm that the promise does not name, or a log has such an arm.
    SharesError
        If sets of arms overlap without one being inside the other.
    TableError
        If a column of the log is missing, or a cell is empty or not a finite number.

    Examples
    --------
    >>> promise = Promise({"a": 0, "b": 0.1}, caps={"a": 0.5}, offers="all")
    >>> found = price(promise, {"a": 0.9, "b": 0.5})
    >>> round(found.cost, 6), found.shares
    (0.2, {'a': 0.5, 'b': 0.5})
    >>> found.clauses.round(6)[["promise", "arm", "cost", "tighter", "looser"]].values.tolist()
    [['floor', 'b', 0.0, 0.0, 0.0], ['cap', 'a', 0.16, 0.004, 0.004]]

    Source: the theorem at the head of `evenhand.promises.best_counts`.
    """
    check_promise(promise)
    if is_frame(means):
        frame = as_pandas(means)
        if saw_contexts(frame):
            raise ArgumentError(
                expected("log", "plays of a policy that sees no contexts", Wording("contexts"), IN_THE_MEAN)
            )
        if not len(frame):
            raise ArgumentError(expected("log", "at least two rewards of each arm", Wording("none")))
        labels = column(frame, arm)
        places = places_in(labels, promise.arms)
        if (places < 0).any():
            row = int(np.flatnonzero(places < 0)[0])
            where = f"column {arm!r}, row {row + 1}"
            raise UnknownArmError(expected_one_of(where, promise.arms, labels[row], what="arms that the promise names"))
        return price_in(promise, places, numbers(frame, reward))
    what = "a finite number for each arm: a list, a dict arm -> mean, or a log"
    given = Labels(promise.arms).read(means, "means", what)
    if isinstance(given, Mapping):
        if unknown := [label for label in given if label not in promise.arms]:
            raise UnknownArmError(
                expected_one_of("means", promise.arms, unknown[0], what="arms that the promise names")
            )
        given = [given.get(label) for label in promise.arms]
    read = as_floats(given)
    if read is None or read.shape != (len(promise.arms),) or not np.isfinite(read).all():
        raise ArgumentError(expected("means", what, means))
    return _priced(promise, read[None, :], np.zeros((1, len(read))), read, 0)


def saw_contexts(log: pd.DataFrame) -> bool:
    """Return whether a log, as `Study.frame` or `Study.bandit_frame` writes it, says that its policy saw contexts."""
    given = log["given"].astype(str) if "given" in log else None
    named = given is not None and bool(given.str.contains("""['"](?:contexts|erased)['"]:""").any())
    return named or any(str(name).startswith("context_") for name in log)


def check_promise(given: object) -> None:
    """Refuse what is no promise.

    Raises
    ------
    ArgumentError
        If it is none.
    """
    if not isinstance(given, Promise):
        raise ArgumentError(expected("promise", "an eh.Promise, such as eh.Promise({'a': 0.2, 'b': 0})", given))
    check_rounds(given)


def price_in(promise: Promise, codes: Ints, rewards: Floats) -> Price:
    """Return what a promise costs by rewards (n_plays,) of arms, whose positions in `promise.arms` are `codes`.

    Raises
    ------
    ArgumentError, SharesError
        As `price` does.
    """
    import pandas as pd

    arms = len(promise.arms)
    counts = np.bincount(codes, minlength=arms)
    if (counts < 2).any():
        few = int(np.argmax(counts < 2))
        got = Wording(f"{counts[few]} of arm {promise.arms[few]!r}")
        raise ArgumentError(expected("log", "at least two rewards of each arm", got))
    order = generator(0).permutation(len(codes))  # every other reward would be all the good ones where they alternate
    codes, rewards = codes[order], rewards[order]
    half = pd.Series(codes).groupby(codes).cumcount().to_numpy() % 2
    each = np.array([np.bincount(codes[half == side], minlength=arms) for side in (0, 1)])
    means = np.array([np.bincount(codes[half == s], rewards[half == s], arms) for s in (0, 1)]) / each
    spread = np.bincount(codes, (rewards - means[half, codes]) ** 2, arms) / counts
    errors = np.maximum(spread, rewards.var()) / each
    return _priced(promise, means, errors, np.bincount(codes, rewards, arms) / counts, len(codes), (FROM_LOG,))


def _priced(
    promise: Promise, means: Floats, errors: Floats, whole: Floats, rewards: int, notes: tuple[str, ...] = ()
) -> Price:
    """Return the price whose best shares are found by each row of means and valued by the next.

    Let x be the best of all shares X that keep some clauses and y of Y, those that keep others too, so that x - y earns
    the price; let u and v be those found. For every t for which v + t (x - u) is in Y whatever x is, it earns no more
    than y. So the price is at most what (u - v) + (1 - t) (x - u) earns, and an upper end is the highest of the upper
    ends of this for all x: as the best one is among them, it misses as rarely as one does. A lower end is alike, with
    t for which u + t (y - v) is in X whatever y is.

    Parameters
    ----------
    means : of each part of the rewards (n_parts, n_arms).
    errors : the variance of each of them.
    whole : the means of all rewards (n_arms,).
    """
    import pandas as pd

    if clash := overlap([clause.arms for clause in promise.clauses if clause.kind not in AT_MOST]):
        what = "sets of which one contains the other, or that share no arm"
        raise SharesError(expected("promise", what, Wording(f"{clash[0]} and {clash[1]}")))
    limits, rounds = _limits(promise), _rounds(promise)
    counts = np.array([_best(promise, limits, part) for part in np.roll(means, 1, axis=0)])
    if counts[0, 0, 0] != counts[0, 0, 0]:
        raise ArgumentError(
            expected("promise", "clauses that some shares of the arms keep together", Wording(str(promise)))
        )
    each = range(2, len(limits), 3)
    more = [1, *(row for i in each for row in (i, 0, i + 2))]
    less = [0, *(row for i in each for row in (0, i + 1, 0))]
    shares = (counts / rounds).astype(np.float64)
    values = _mean(((counts[:, more] - counts[:, less]) / rounds).astype(np.float64), means)
    low = high = np.full_like(values, np.nan) if rewards else values
    if errors.any():
        x, y = (limits[more], shares[:, more]), (limits[less], shares[:, less])
        high, low = _highest(promise, x, y, means, errors, ABOVE), -_highest(promise, y, x, means, errors, BELOW)
    cost, free = float(values[0]), float(_mean(shares[:, 1:2], means)[0])
    rows = []
    for i, clause in enumerate(promise.clauses):
        row: dict[str, Any] = {"promise": clause.kind, "arm": clause.arms[0] if len(clause.arms) == 1 else clause.arms}
        row["limit"] = clause.rate_as_text
        for j, name in enumerate(NUMBERS, 1 + 3 * i):
            row |= {name: values[j], f"{name}_low": low[j], f"{name}_high": high[j]}
        rows.append(row)
    best = _best(promise, limits[:1], whole)[0] / rounds
    named = dict(zip(promise.arms, best.astype(np.float64).tolist(), strict=True))
    columns = ["promise", "arm", "limit", *(name + end for name in NUMBERS for end in ("", "_low", "_high"))]
    table = pd.DataFrame(rows, columns=columns)
    notes = (*notes, SUPPOSED, KNOWN)
    return Price(cost, float(low[0]), float(high[0]), free, free - cost, named, table, rewards, notes)


def _mean(shares: Floats, means: Floats) -> Floats:
    """Return what shares (n_parts, n_rows, n_arms) earn, each part by its own means, in the mean of the parts."""
    earned: Floats = np.einsum("pna,pa->n", shares, means) / len(means)
    return earned


def _highest(promise: Promise, first: Side, second: Side, means: Floats, errors: Floats, width: float) -> Floats:
    """Return the highest upper end (n_rows,) of what (u - v) + (1 - t) (x - u) earns for all x that keep the limits of
    the first side, whose found shares are u, where v + t (x - u) keeps those of the second.

    An upper end is so many standard errors e above a mean, and e <= (e^2 / s + s) / 2 for every s, with equality for
    s = e. Between the least and the most that x can have of an arm, its part of e^2 is no more than a line. So x is
    found by linear programmes, and s between its bounds, exactly where the best have the least or the most of each arm,
    and nearly where many clauses meet.
    """
    (limits, u), (others, v) = first, second
    rounds = _rounds(promise)
    least, most = _ranges(promise, limits, rounds)
    least, most = (
        np.maximum(least, promise.plays - most.sum(axis=1, keepdims=True) + most),
        np.minimum(most, promise.plays - least.sum(axis=1, keepdims=True) + least),
    )
    floors, caps = _ranges(promise, others, rounds)
    room = [(v - floors, u - least), (caps - v, most - u)]
    for i, clause in enumerate(promise.clauses):
        if len(clause.arms) > 1:
            inside = [promise.arms.index(arm) for arm in clause.arms]
            asked, owed = ((each[:, i] / rounds).astype(np.float64) for each in (others, limits))
            had, found, fewest = (each[..., inside].sum(axis=-1) for each in (v, u, least))
            room.append(((had - asked)[..., None], (found - np.maximum(owed, fewest))[..., None]))
    kept = [np.divide(left, step, out=np.ones_like(left), where=step > TINY).min(axis=(0, 2)) for left, step in room]
    part = 1 - np.clip(np.min(kept, axis=0), 0, 1)[:, None]
    start, variances = u - v - part * u, errors / len(means) ** 2
    slopes = part * np.einsum("pa,pna->na", variances, part * (least + most) + 2 * start)
    ends = np.maximum((start + part * least) ** 2, (start + part * most) ** 2)
    upper = np.maximum(np.sqrt(np.einsum("pa,pna->n", variances, ends)), TINY)
    lower, highest = upper / STEPS**3, np.full(len(limits), -np.inf)
    for _ in range(STEPS):
        tried = np.sqrt(lower * upper)
        worth = part * means.mean(axis=0) + width / 2 * slopes / tried[:, None]
        shares = start + part * (_best(promise, limits, worth) / rounds).astype(np.float64)
        error = np.sqrt(np.einsum("pa,pna->n", variances, shares**2))
        highest = np.maximum(highest, _mean(shares, means) + width * error)
        lower, upper = np.where(error > tried, tried, lower), np.where(error > tried, upper, tried)
    return highest


def _ranges(promise: Promise, limits: NDArray[Any], rounds: int) -> tuple[Floats, Floats]:
    """Return the least and the most that each arm may have (n_rows, n_arms) by the clauses about it alone."""
    least, most = np.zeros((len(limits), len(promise.arms))), np.ones((len(limits), len(promise.arms)))
    for clause, limit in zip(promise.clauses, (limits / rounds).astype(np.float64).T, strict=True):
        i = promise.arms.index(clause.arms[0])
        if clause.kind in AT_MOST:
            most[:, i] = np.minimum(most[:, i], limit)
        elif len(clause.arms) == 1:
            least[:, i] = np.maximum(least[:, i], limit)
    return least, most


def _rounds(promise: Promise) -> int:
    """Return after how many rounds every rate of the promise, and a percentage point, is a whole number of plays."""
    rates = [c.rate[1] if isinstance(c.rate, tuple) else c.rate.denominator for c in promise.clauses]
    return POINTS * math.lcm(*rates)


def _limits(promise: Promise) -> NDArray[Any]:
    """Return what each clause asks for, in whole numbers, after so many rounds (2 + 3 n_clauses, n_clauses): by the
    promise, by none of its clauses, then without each clause, with it tighter by a point, and looser by one."""
    clauses, rounds = promise.clauses, np.array([_rounds(promise)], dtype=object)
    point = rounds[0] // POINTS
    asked = np.array([[limit_of(clause, rounds, 0)[0] for clause in clauses]], dtype=object)
    limits = np.repeat(asked, 2 + 3 * len(clauses), axis=0)
    for i, clause in enumerate(clauses):
        cap = clause.kind in AT_MOST
        limits[[1, 2 + 3 * i], i] = rounds[0] if cap else 0
        limits[3 + 3 * i, i] += -point if cap else point
        limits[4 + 3 * i, i] -= -point if cap else point
    return limits


def _best(promise: Promise, limits: NDArray[Any], worth: Floats) -> NDArray[Any]:
    """Return the best counts after so many rounds under each row of limits (n_rows, n_arms), NaN where none are."""
    rounds = np.full(len(limits), _rounds(promise), dtype=object)
    return best_counts(worth, promise.arms, promise.clauses, limits, rounds, promise.plays)
