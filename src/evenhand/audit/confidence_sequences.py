"""Bounds on a running mean that hold at every row at once, by betting at fixed odds.

Let z_i >= -k_i have the conditional mean m_i given the rows before, where k_i is known before row i. For fixed odds
l > 0 the product of (1 + l (z_i + k_i)) / (1 + l (m_i + k_i)) is a non-negative martingale from 1. The logarithm is
concave, so for the means M of m_1, ..., m_t and k of k_1, ..., k_t

    E_t(v) = mean over l of exp(sum_i ln(1 + l (z_i + k_i)) - t ln(1 + l (v + k)))

is at v = M never above a martingale from 1, whatever course the m_i take: it ever reaches 1/d with probability at most
d (Ville's inequality). E_t falls in v: the lower bound is where it equals 1/d, found by bisection. An upper bound is a
lower bound of the mean of -z. For one look after n rows, the mean is over the few odds alone that suit n, which are
chosen before the data; it is then an e-value, and the bound is closer.

Source: I. Waudby-Smith, L. Wu, A. Ramdas, N. Karampatziakis, P. Mineiro, "Anytime-valid off-policy inference for
contextual bandits" (2022), where the odds move with v and the m_i are constant; fixed odds are ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from evenhand.kernels.arrays import Bools, Floats
from evenhand.kernels.compose import entry, kernel

Values = tuple[Floats, Floats | float]
"""Values (n,), and by how much they may be below 0."""
ODDS: Floats = 2.0 ** np.arange(-15.0, 7.0)
BETS = np.array([0.99, 0.9, 0.7, *(2.0**-j for j in range(1, 18))])
"""Shares c of the wealth that are bet against one mean v alone: the odds are then c / ((1 - c) v)."""
EVERY = slice(None)
HALVINGS = 32


def odds_for(rows: int, scale: float) -> Bools:
    """Return which of the odds (22,) to bet at for one look after so many rows, whose values differ by up to `scale`.

    The best odds for a mean with the variance s^2 are near sqrt(2 ln(1/d) / n) / s, and s lies between scale / sqrt(n),
    where one row in n is large, and scale / 2. Values that may be below 0 are raised by up to their range first, so
    that as good a bet needs larger odds.
    """
    least, most = math.log2(5 / (scale * math.sqrt(rows))), math.log2(24 / scale)
    powers = np.log2(ODDS)
    chosen = (powers > least) & (powers < most)
    chosen[(powers - math.floor(least)) % 2 > 0] = False
    return chosen if chosen.any() else np.ones(len(ODDS), np.bool_)


@kernel
def gains_of(values: Floats, odds: Floats, gains: Floats) -> None:
    """Add to `gains` (n_odds,) the sums of ln(1 + l y) over values y >= 0: a running product needs few logarithms."""
    for j in range(odds.size):
        product, total = 1.0, 0.0
        for value in values:
            product *= 1.0 + odds[j] * value
            # One factor is far below 1e200, so the product cannot overflow between two looks; a log a row is slow.
            if product > 1e100:
                total += np.log(product)
                product = 1.0
        gains[j] += total + np.log(product)


class Book:
    """What bets on the mean of z have won, in memory that does not grow.

    Attributes
    ----------
    rows, shift : how many rows there are, and the sum of their k.
    gains : the sums of ln(1 + l (z + k)) at each of the `ODDS` (22,).
    """

    def __init__(self, rows: int = 0, shift: float = 0.0, gains: Floats | None = None) -> None:
        self.rows, self.shift = rows, shift
        self.gains: Floats = np.zeros(len(ODDS)) if gains is None else gains

    def add(self, values: Floats, least: Floats | float = 0.0) -> None:
        """Take in values z (n,) that are at least -`least`; 1e-9 of rounding below that is nothing."""
        self.rows += len(values)
        self.shift += float(np.broadcast_to(np.asarray(least, np.float64), values.shape).sum())
        entry(gains_of)(np.maximum(values + least, 0.0), ODDS, self.gains)

    def copy(self) -> Book:
        return Book(self.rows, self.shift, self.gains.copy())

    def since(self, earlier: Book) -> Book:
        """Return the book of the rows that were added after a copy was made."""
        return Book(self.rows - earlier.rows, self.shift - earlier.shift, self.gains - earlier.gains)

    @staticmethod
    def averaged(books: Sequence[Book]) -> Book:
        """Return the book of the mean of several means, one for each book, at any number of rows by itself: the mean of
        logarithms is at most the logarithm of the mean."""
        gains = np.mean([book.gains for book in books], axis=0)
        return Book(books[0].rows, books[0].shift, gains)


def log_wealth(books: Sequence[Book], chosen: Bools | slice = EVERY) -> Callable[[float], float]:
    """Return ln of the mean of E over books of the same mean, as a function of that mean, infinite where it cannot be
    so small; `chosen` (22,) says at which odds."""
    odds, gains = ODDS[chosen], np.array([book.gains[chosen] for book in books])
    rows = np.array([[book.rows] for book in books])
    shift = np.array([[book.shift / max(book.rows, 1)] for book in books])
    least = max((-book.shift / book.rows for book in books if book.rows), default=-math.inf)

    def of(mean: float) -> float:
        # Values are z + k >= 0, so no mean is below -k; clipped to 0 instead, the wealth would be finite there.
        if mean < least:
            return math.inf
        logs = gains - rows * np.log1p(odds * np.maximum(mean + shift, 0.0))
        most = float(logs.max())
        return most if math.isinf(most) else most + math.log(float(np.exp(logs - most).sum()) / logs.size)

    return of


def refutes(books: Sequence[Book], mean: float, error: float) -> bool:
    """Return whether a running mean of `mean` or less is refuted: E(mean) is 1 / error or more."""
    return log_wealth(books)(mean) >= -math.log(error)


def lower_bound(books: Sequence[Book], error: float, low: float, high: float, chosen: Bools | slice = EVERY) -> float:
    """Return the bound below the running mean, which is known to lie in [low, high].

    Parameters
    ----------
    books : of values with the same mean; E is the mean of theirs.
    low, high : the bound is above `high` only where the rows refute that the mean is at most that.
    error : the probability with which the bound is ever above the running mean.
    chosen : the odds of which E is the mean; of those that suit one look, the bound holds at that look alone.

    Examples
    --------
    >>> book = Book()
    >>> book.add(np.array([0.0, 1.0, 1.0, 0.0] * 100))
    >>> round(lower_bound([book], 0.025, 0.0, 1.0), 2)
    0.41
    """
    wealth, enough = log_wealth(books, chosen), -math.log(error)
    if wealth(low) < enough:
        return low
    while wealth(high) >= enough:
        low, high = high, 3 * high - 2 * low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if wealth(middle) >= enough else (low, middle)
    return low


class BettingProcess:
    """The books for the lower and for the upper bound of one mean.

    Attributes
    ----------
    below, above : books of values with the mean itself, and of values with its negative.
    """

    def __init__(self, below: Sequence[Book] = (), above: Sequence[Book] = ()) -> None:
        self.below, self.above = list(below), list(above)

    def add(self, below: Sequence[Values], above: Sequence[Values]) -> None:
        """Take in the same rows for each book."""
        for books, parts in (self.below, below), (self.above, above):
            books.extend(Book() for _ in parts[len(books) :])
            for book, (values, least) in zip(books, parts, strict=True):
                book.add(values, least)

    def copy(self) -> BettingProcess:
        return BettingProcess([book.copy() for book in self.below], [book.copy() for book in self.above])

    def since(self, earlier: BettingProcess) -> BettingProcess:
        """Return the books of the rows that were added after a copy was made."""
        pairs = zip((self.below, self.above), (earlier.below, earlier.above), strict=True)
        return BettingProcess(*([now.since(then) for now, then in zip(*both, strict=True)] for both in pairs))

    def interval(self, error: float, low: float, high: float, chosen: Bools | slice = EVERY) -> tuple[float, float]:
        """Return the bounds of the running mean, which is known to lie in [low, high]; `error` is the probability that
        a bound is ever on the wrong side. The lower end is above the upper one only if the rows refute what the
        books suppose."""
        if not self.below:
            return low, high
        above = lower_bound(self.above, error / 2, -high, -low, chosen)
        return lower_bound(self.below, error / 2, low, high, chosen), -above
