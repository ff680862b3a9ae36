"""Read what decisions weigh, such as their cost or tokens, exactly: as whole numbers of the last digit of a column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.data.tables import cells
from evenhand.errors import TableError, expected
from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.promises.amounts import DIGITS, MOST, amount_of, digits_of

if TYPE_CHECKING:
    import pandas as pd

FEW = 100
MEND = f"weights are numbers from 0 with at most {DIGITS} digits after the point; round them as they are paid"


class Weights(NamedTuple):
    """The weight of each row, times 10^digits (n_rows,)."""

    whole: Ints
    digits: int

    def scaled(self, digits: int) -> Ints:
        """Return them times 10^digits, which are at least their own."""
        scaled: Ints = self.whole * 10 ** (digits - self.digits)
        return scaled

    def checked(self, name: str) -> Weights:
        """Return these weights of a column, whose sums are then counted in 64 bits.

        Raises
        ------
        TableError
            If they are too large for that.
        """
        if self.whole.sum(dtype=np.float64) >= MOST:
            what = f"weights whose sum is below {MOST // 10**self.digits:,}"
            raise TableError(
                expected(f"column {name!r}", what, f"{self.whole.sum(dtype=np.float64) / 10**self.digits:g}")
            )
        return self


UNWEIGHED = Weights(np.zeros(0, np.int64), 0)


def read_weights(frame: pd.DataFrame, name: str | None) -> Weights:
    """Return a column of weights, of which floats are the decimals that they were written as; none without its name.

    Raises
    ------
    TableError
        If there is no such column, or a cell is empty, not a number, negative, or has too many digits.
    """
    return UNWEIGHED if name is None else _read(cells(frame, name), name).checked(name)


def _read(values: pd.Series[Any], name: str) -> Weights:
    if values.dtype.kind in "iu":
        held = values.to_numpy()
        _refuse(name, values, (held < 0) | (held >= MOST))
        return Weights(held.astype(np.int64), 0)
    if values.dtype.kind == "f":
        return _of_floats(values.to_numpy(), name, values)
    if values.dtype == object:  # True is 1, where different values are looked for
        _refuse(name, values, np.array([isinstance(value, (bool, np.bool_)) for value in values]))
    codes, kinds = values.factorize()
    given = [amount_of(kind) for kind in kinds]
    _refuse(name, values, np.array([number is None for number in given])[codes])
    read = [number for number in given if number is not None]
    digits = max(map(digits_of, read))
    whole = np.array([int(number.scaleb(digits)) for number in read], dtype=object)
    _refuse(name, values, (whole >= MOST)[codes])
    return Weights(whole.astype(np.int64)[codes], digits)


def sums_of(codes: Any, weights: Ints, kinds: int) -> Ints:
    """Return the sum of the weights (n_rows,) of each code (n_kinds,)."""
    sums = np.zeros(kinds, np.int64)
    np.add.at(sums, codes, weights)
    return sums


def _of_floats(given: Floats, name: str, values: pd.Series[Any]) -> Weights:
    """Return floats as decimals: k / 10^d is the float's own where its nearest float is this one and k has no more
    digits than every float of the type tells apart."""
    kind = np.finfo(given.dtype)
    exact = given.astype(np.float64)
    if len(given) > FEW:  # mostly all have as many digits as the first few, which is seen at once
        digits = _of_floats(given[:FEW], name, values).digits
        if exact.min() >= 0 and exact.max() < 10.0 ** (kind.precision - digits):
            near = np.rint(exact * 10.0**digits)
            if ((near / 10.0**digits).astype(given.dtype) == given).all():
                return Weights(near.astype(np.int64), digits)
    whole, own = np.zeros(len(given), np.int64), np.full(len(given), -1)
    left = np.flatnonzero((given >= 0) & (given < MOST))
    for digits in range(DIGITS + 1):
        near = np.rint(exact[left] * 10.0**digits)
        most = 2.0 ** (kind.nmant + 1) if digits == 0 else 10.0**kind.precision
        same = ((near / 10.0**digits).astype(given.dtype) == given[left]) & (near < most)
        whole[left[same]], own[left[same]], left = near[same], digits, left[~same]
    digits = int(own.max())
    _refuse(name, values, (own < 0) | (exact >= MOST / 10.0 ** max(digits, 0)))
    return Weights(whole * 10 ** (digits - own), digits)


def _refuse(name: str, values: pd.Series[Any], bad: Bools) -> None:
    at = np.flatnonzero(bad)
    if at.size:
        what = f"a weight, from 0 and with at most {DIGITS} digits after the point"
        raise TableError(expected(f"column {name!r}, row {at[0] + 1}", what, values.iloc[at[0]], MEND))
