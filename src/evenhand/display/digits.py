"""Numbers as people write them."""

from __future__ import annotations

import math

LARGE, HUGE = 9999.5, 1e15
"""Between these four digits would need an exponent, and people write all."""


def number(value: float) -> str:
    """Write a number with four digits, a large one to the whole, or a dash where there is none.

    >>> number(-14088.02), number(0.06449), number(1e20)
    ('-14,088', '0.06449', '1e+20')
    """
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if LARGE <= abs(value) < HUGE else f"{value:.4g}"


def as_written(*values: float) -> list[str]:
    """Write the sizes of numbers as people do, all to the same digit: three digits of the largest, and no part of a
    whole in large ones.

    >>> as_written(-14088.02, 207.9), as_written(0.0748, -0.01225)
    (['14,088', '208'], ['0.0748', '0.0123'])
    """
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    digits = max(0, 2 - math.floor(math.log10(largest))) if largest > 0 else 0
    return [f"{abs(value):,.{digits}f}" for value in values]


def with_signs(*values: float) -> list[str]:
    """Write numbers as `as_written` does, with a minus before those below 0 and a dash where there is none.

    >>> with_signs(-14088.02, 207.9, float("nan"))
    ['-14,088', '208', '-']
    """
    texts = zip(values, as_written(*values), strict=True)
    return ["-" if math.isnan(value) else f"-{text}" if value < 0 else text for value, text in texts]
