"""Numbers as people type them, read alike in every option: 0.1, 1/10 and 10%."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from evenhand.errors import ArgumentError, wanted

COMMA = re.compile(r"[+-]?\d*,\d+\s*%?")
"""A number with a decimal comma, which lists need between numbers."""


def number_of(text: Any, name: str, what: str = "a number such as 0.1, 1/10 or 10%") -> float:
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
        mend = f"write {typed.replace(',', '.')}, with a decimal point" if COMMA.fullmatch(typed) else ""
        raise ArgumentError(wanted(name, what, text, mend)) from error
    return number if part == typed else number / 100


def whole_of(text: Any, name: str) -> int:
    """Return the whole number in a text.

    >>> whole_of("6000", "--budget"), whole_of("1e4", "--rounds")
    (6000, 10000)

    Raises
    ------
    ArgumentError
        If there is none.
    """
    try:
        return int(text)
    except ValueError:
        number = number_of(text, name, "a whole number such as 100")
    if not number.is_integer():
        raise ArgumentError(wanted(name, "a whole number such as 100", text))
    return int(number)


def numbers_of(text: str, name: str) -> list[float]:
    """Return a list of numbers such as 0.7,0.5,0.4."""
    return [number_of(part, name, "numbers separated by commas") for part in text.split(",")]


def named_numbers(text: str, option: str, what: str = "a number") -> dict[str, float]:
    """Return numbers by name, no=0,yes=1, also from a JSON file or object.

    Raises
    ------
    ArgumentError
        If there is another value than a number, a name stands there twice, or none does.
    """
    from evenhand.cli.reading.inputs import named_shares

    named = named_shares(text, option, "NAME=NUMBER")
    if named is None:
        raise ArgumentError(wanted(option, "NAME=NUMBER,NAME=NUMBER", text))
    return {name: number_of(value, f"{option}, {name}", what) for name, value in named.items()}
