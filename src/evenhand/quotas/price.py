"""What a promise costs in the long run, and what each of its clauses does."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

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

ERRORS = 1.96
"""Standard errors on each side of an interval that holds with probability 95 %."""
POINTS = 100
"""Percentage points in all rounds: a clause is made tighter or looser by one of them."""
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
    "counted as cost. Where a learner chose the arms, those that it tried rarely look worse than they are."
)


@dataclass(frozen=True, eq=False, repr=False)
class Price(HasCard):
    """What a promise costs in the long run, in reward a round, against playing the best arms always.

    Attributes
    ----------
    cost, low, high : what it costs, and a 95 % interval; where the means were given, both ends are the cost, and NaN
        where both halves of a log agree that it costs nothing, which is no proof.
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
    """Return the price whose differences between best shares are found by each row of means and valued by the next.

    Parameters
    ----------
    means : of each part of the rewards (n_parts, n_arms).
    errors : the variance of each of them.
    whole : the means of all rewards (n_arms,).
    """
    import pandas as pd

    found = np.array([_differences(promise, part) for part in np.roll(means, 1, axis=0)]) / len(means)
    values = np.einsum("pna,pa->n", found, means)
    room = ERRORS * np.sqrt(np.einsum("pna,pa->n", found**2, errors))
    if rewards and promise.clauses:  # a clause that is idle in both halves may bind all the same
        room[1:][(found[:, 1:] == 0).all(axis=(0, 2))] = np.nan
    free, cost = values[:2]
    rows = []
    for i, clause in enumerate(promise.clauses):
        row: dict[str, Any] = {"promise": clause.kind, "arm": clause.arms[0] if len(clause.arms) == 1 else clause.arms}
        row["limit"] = clause.rate_as_text
        for j, name in enumerate(NUMBERS, 2 + 3 * i):
            row |= {name: values[j], f"{name}_low": values[j] - room[j], f"{name}_high": values[j] + room[j]}
        rows.append(row)
    best = _best(promise, whole)[0] / _rounds(promise)
    shares = dict(zip(promise.arms, best.astype(np.float64).tolist(), strict=True))
    columns = ["promise", "arm", "limit", *(name + end for name in NUMBERS for end in ("", "_low", "_high"))]
    table = pd.DataFrame(rows, columns=columns)
    bounds = float(cost - room[1]), float(cost + room[1])
    notes = (*notes, SUPPOSED, KNOWN)
    return Price(float(cost), *bounds, float(free), float(free - cost), shares, table, rewards, notes)


def _rounds(promise: Promise) -> int:
    """Return after how many rounds every rate of the promise, and a percentage point, is a whole number of plays."""
    rates = [c.rate[1] if isinstance(c.rate, tuple) else c.rate.denominator for c in promise.clauses]
    return POINTS * math.lcm(*rates)


def _best(promise: Promise, worth: Floats) -> Any:
    """Return the best counts, in whole numbers, after so many rounds (1 + 3 n_clauses, n_arms): under the promise, then
    without each clause, with it tighter by a point, and with it looser by one."""
    clauses, plays, rounds = promise.clauses, promise.plays, np.array([_rounds(promise)], dtype=object)
    point = rounds[0] // POINTS
    asked = np.array([[limit_of(clause, rounds, 0)[0] for clause in clauses]], dtype=object)
    limits = np.repeat(asked, 1 + 3 * len(clauses), axis=0)
    for i, clause in enumerate(clauses):
        cap = clause.kind in AT_MOST
        limits[1 + 3 * i, i] = rounds[0] if cap else 0
        limits[2 + 3 * i, i] += -point if cap else point
        limits[3 + 3 * i, i] -= -point if cap else point
    return best_counts(worth, promise.arms, clauses, limits, np.repeat(rounds, len(limits)), plays)


def _differences(promise: Promise, worth: Floats) -> Floats:
    """Return what is valued (2 + 3 n_clauses, n_arms): the best shares without the promise; what it takes of them; and
    for each clause what the shares would gain without it, lose where it is tighter and gain where it is looser."""
    if clash := overlap([clause.arms for clause in promise.clauses if clause.kind not in AT_MOST]):
        what = "sets of which one contains the other, or that share no arm"
        raise SharesError(expected("promise", what, Wording(f"{clash[0]} and {clash[1]}")))
    rounds = _rounds(promise)
    exact = np.array([rounds], dtype=object)
    free = best_counts(worth, promise.arms, (), np.zeros((1, 0), object), exact, promise.plays)[0]
    best = _best(promise, worth)
    if best[0, 0] != best[0, 0]:
        raise ArgumentError(
            expected("promise", "clauses that some shares of the arms keep together", Wording(str(promise)))
        )
    found = np.concatenate([[free, free - best[0]], best[1:] - best[0]])
    found[3::3] *= -1
    return np.asarray((found / rounds).astype(np.float64))
