"""Numbers as people write them."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from numbers import Number
from typing import Any

TINY, LARGE, HUGE = 1e-6, 9999.5, 1e12
"""Four digits need an exponent from `LARGE` on, and people write all; below `TINY` and from `HUGE` on nobody does."""

WRITTEN = re.compile(r"[-+]?[\d,]*\.?\d+(?:e[-+]\d+)?%?")


def number(value: float) -> str:
    """Write a number with four digits, a large one to the whole, or a dash where there is none.

    >>> number(-14088.02), number(0.06449), number(1e20)
    ('-14,088', '0.06449', '1e+20')
    """
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if LARGE <= abs(value) < HUGE else f"{value:.4g}"


def reads_as_number(cell: Any) -> bool:
    """Return whether a cell of a table holds a number, or a text that people read as one.

    >>> [reads_as_number(cell) for cell in (3, "-14,088", "6.4%", "1.5e+16", "3 to 4")]
    [True, True, True, True, False]
    """
    return isinstance(cell, Number) or WRITTEN.fullmatch(str(cell)) is not None


def as_written(*values: float) -> list[str]:
    """Write the sizes of numbers as people do, all to the same digit: three digits of the largest, and no part of a
    whole in large ones; with exponents where the largest is tiny or huge.

    >>> as_written(-14088.02, 207.9), as_written(0.0748, -0.01225), as_written(1.5e16)
    (['14,088', '208'], ['0.0748', '0.0123'], ['1.50e+16'])
    """
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if largest and not TINY <= largest < HUGE:
        return [f"{abs(value):.2e}" for value in values]
    digits = max(0, 2 - math.floor(math.log10(largest))) if largest > 0 else 0
    return [f"{abs(value):,.{digits}f}" for value in values]


def with_signs(*values: float) -> list[str]:
    """Write numbers as `as_written` does, with a minus before what is written as less than 0, and a dash where there is
    no number.

    >>> with_signs(-14088.02, 207.9, float("nan")), with_signs(-0.0001, 5.0)
    (['-14,088', '208', '-'], ['0.00', '5.00'])
    """
    texts = zip(values, as_written(*values), strict=True)
    return [
        "-" if math.isnan(value) else f"-{text}" if value < 0 and text.strip("0.") else text for value, text in texts
    ]


def exact(value: float) -> str:
    """Write a number that is not estimated as `with_signs` does, without zeros at its end.

    >>> exact(0.2), exact(9200.4), exact(-1 / 3)
    ('0.2', '9,200', '-0.333')
    """
    (text,) = with_signs(value)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def in_words(*gaps: float) -> list[str]:
    """Return how much lower or higher something is by gaps.

    >>> in_words(-9407, 208)
    ['9,407 lower', '208 higher']
    """
    return [f"{text} {way_of(gap)}" for text, gap in zip(as_written(*gaps), gaps, strict=True)]


def between(low: float, high: float) -> str:
    """Return an interval in words.

    >>> between(-9407, -208), between(-9407, 208), between(-math.inf, math.inf)
    ('208 to 9,407 lower', '9,407 lower to 208 higher', 'not known')
    """
    if math.isinf(low):
        return "not known"
    ends = in_words(low, high) if low <= 0 <= high else as_written(*sorted((low, high), key=abs))
    return " to ".join(ends) + ("" if low <= 0 <= high else f" {way_of(low)}")


def way_of(gap: float) -> str:
    """Return whether something is lower or higher by a gap."""
    return "lower" if gap < 0 else "higher"


def plain_number(value: float | Fraction) -> str:
    """Write an amount for people: all its digits up to nine after the point, rounded there.

    >>> plain_number(Fraction(10001, 8)), plain_number(Fraction(1, 3)), plain_number(12_000)
    ('1,250.125', '0.333333333', '12,000')
    """
    return f"{Decimal(round(Fraction(value) * 10**9)).scaleb(-9).normalize():,f}"
