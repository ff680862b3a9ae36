"""Numbers as people type them, read alike in every option: 0.1, 1/10 and 10%."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from evenhand.errors import ArgumentError, wanted

NUMBER = "a number such as 0.1, 1/10 or 10%"


def number_of(text: Any, name: str, what: str = NUMBER) -> float:
    """Return the number in a text.

    >>> number_of("0.1", "--gap"), number_of("1/4", "--gap"), number_of("2.5 %", "--gap")
    (0.1, 0.25, 0.025)

    Raises
    ------
    ArgumentError
        If there is none; of a decimal comma it says how to write the number.
    """
    typed = str(text).strip()
    part = typed.removesuffix("%").strip()
    try:
        number = float(Fraction(part)) if "/" in part else float(part)
    except (ValueError, ArithmeticError) as error:
        comma = re.fullmatch(r"[+-]?\d*,\d+\s*%?", typed)  # which lists have between numbers
        mend = f"write {typed.replace(',', '.')}, with a decimal point" if comma else ""
        raise ArgumentError(wanted(name, what, text, mend)) from error
    return number if part == typed else number / 100


def numbers_of(text: str, name: str) -> list[float]:
    """Return a list of numbers such as 0.7,0.5,0.4."""
    return [number_of(part, name, "numbers separated by commas") for part in text.split(",")]
