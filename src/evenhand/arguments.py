"""Arguments from users, read once: numbers, whole numbers, yes or no, one of several words, arrays of numbers.

Each reader returns a plain Python value or a fresh array, or refuses by name what cannot be one: text and complex
numbers are no numbers, True is no 1, and what is too large for floating point is refused rather than infinite.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, TypeGuard, TypeVar

import numpy as np

from evenhand.errors import ArgumentError, Wording, expected
from evenhand.frames import ENCODE, as_array, is_frame
from evenhand.kernels.arrays import Floats, Ints

_Word = TypeVar("_Word", bound=str)


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number of Python or numpy: neither True nor a duration."""
    return type(value) is int or (isinstance(value, Integral) and not isinstance(value, (bool, np.timedelta64)))


def as_float(value: Any) -> float:
    """Return one number as a float: infinite where it is too large, NaN where it is none, such as text, True, a complex
    number, a date or a list.

    >>> as_float(np.int8(1)), as_float(10**400), as_float("1")
    (1.0, inf, nan)
    """
    scalar = value[()] if isinstance(value, np.ndarray) else value
    if isinstance(scalar, (np.datetime64, np.timedelta64)):  # `item` of nanoseconds is an int
        return math.nan
    if getattr(value, "shape", None) == () and not isinstance(value, np.longdouble):
        value = value.item()  # an array of no dimension, also of torch
    if not isinstance(value, (Real, Decimal)) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except ValueError:  # a signaling NaN of Decimal
        return math.nan


def real(
    name: str,
    value: object,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    above: float = -math.inf,
    below: float = math.inf,
    refusal: type[ArgumentError] = ArgumentError,
) -> float:
    """Return a finite number in [low, high], and in the open interval (above, below), as a float.

    >>> real("tolerance", 1, low=0)
    1.0

    Raises
    ------
    ArgumentError
        If it is anything else; of the class `refusal`.
    """
    number = math.nan if isinstance(value, np.ndarray) else as_float(value)
    if math.isfinite(number) and low <= number <= high and above < number < below:
        return number
    limits = ((">", above), (">=", low), ("<", below), ("<=", high))
    inside = " and ".join(f"{sign} {limit:g}" for sign, limit in limits if math.isfinite(limit))
    raise refusal(expected(name, f"a number {inside}" if inside else "a finite number", value))


def whole(name: str, value: object, *, low: int, high: int | None = None, hint: str = "") -> int:
    """Return a whole number >= low, and <= high where that is given, as an int.

    Raises
    ------
    ArgumentError
        If it is anything else.
    """
    if is_whole(value):
        number = int(value)
        if number >= low and (high is None or number <= high):
            return number
    raise ArgumentError(expected(name, f"a whole number >= {low}" + (f" and <= {high}" if high else ""), value, hint))


def as_whole_numbers(value: object) -> Ints | None:
    """Return a list of whole numbers, which may be empty, as an array, None where it is none.

    >>> as_whole_numbers([2, 1]), as_whole_numbers([0.5]), as_whole_numbers([[1], [2, 3]])
    (array([2, 1]), None, None)
    """
    try:
        found = np.asarray(value)
    except ValueError:  # rows of several lengths
        return None
    return found.astype(np.int64) if found.ndim == 1 and (found.dtype.kind in "iu" or not found.size) else None


def in_sequence(name: str, value: Any, what: str, *, refusal: type[ArgumentError] = ArgumentError) -> list[Any]:
    """Return what a list, or anything else in an order, holds.

    >>> in_sequence("parents", ("a", "b"), "a list of nodes")
    ['a', 'b']

    Raises
    ------
    ArgumentError
        If it is one text, a dict or a set, whose order nobody has chosen, or holds nothing in turn; of the class
        `refusal`.
    """
    try:
        if not isinstance(value, (str, bytes, Mapping, set, frozenset)):
            return list(value)
    except TypeError:  # it cannot be iterated over
        pass
    raise refusal(expected(name, what, value))


def yes_or_no(name: str, value: object, *, refusal: type[ArgumentError] = ArgumentError) -> bool:
    """Return True or False.

    Raises
    ------
    ArgumentError
        If it is neither, such as a text or a number; of the class `refusal`.
    """
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise refusal(expected(name, "True or False", value))


def one_of(name: str, value: _Word, words: Iterable[str]) -> _Word:
    """Return a text that is one of `words`.

    Raises
    ------
    ArgumentError
        If it is none of them.
    """
    allowed = list(words)
    if isinstance(value, str) and value in allowed:
        return value
    raise ArgumentError(expected(name, f"one of {', '.join(map(repr, allowed))}", value))


def array(
    name: str,
    value: object,
    what: str,
    *,
    dimensions: int,
    largest: float = math.inf,
    infinite: bool = False,
    refusal: type[ArgumentError] = ArgumentError,
) -> Floats:
    """Return numbers as a fresh float array in C order.

    Parameters
    ----------
    name, what : of the argument, and which numbers of which shape are wanted, for the refusal.
    dimensions : of the array, which must not be empty.
    largest : the largest absolute value.
    infinite : whether infinity and not-a-number pass, for the caller to judge.
    refusal : the class of the refusal.

    Raises
    ------
    ArgumentError
        If it is ragged, has another number of dimensions, or holds anything but numbers; a number is named with its
        place.
    """
    numbers = as_floats(value)
    if numbers is None:
        raise refusal(expected(name, what, value, ENCODE if is_frame(value) else ""))
    if numbers.ndim != dimensions or numbers.size == 0:
        raise refusal(expected(name, what, Wording(f"an array of shape {numbers.shape}")))
    with np.errstate(invalid="ignore"):
        bad = np.argwhere(~(np.abs(numbers) <= largest) | ~np.isfinite(numbers))
    if bad.size and not infinite:
        inside = "finite numbers" if math.isinf(largest) else f"finite numbers of at most {largest:g}"
        place = ", ".join(map(str, bad[0]))
        raise refusal(expected(name, inside, f"{numbers[tuple(bad[0])]} at [{place}]"))
    return numbers


def as_floats(value: object) -> Floats | None:
    """Return numbers as a fresh float array in C order, None where they are none: text, complex numbers, dates, gaps,
    ragged rows, categories."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        return None
    try:
        raw = as_array(value, "table")
        mixed = raw.dtype == object and all(isinstance(one, (Real, Decimal)) for one in raw.flat)
        if raw.dtype.kind not in "fiub" and not mixed:
            return None
        with np.errstate(over="ignore"):
            return np.array(raw, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        return None
