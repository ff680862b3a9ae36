"""Amounts of what is shared by weight, such as money or tokens: read exactly, counted in whole numbers of a digit."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from evenhand.arguments import is_whole
from evenhand.errors import ArgumentError, expected

DIGITS = 9
"""The most digits after the point."""
MOST = 2**62
"""What is counted is below."""
WRITTEN = re.compile(r"\+?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class Unit(NamedTuple):
    """What is shared, which is counted times 10^digits."""

    name: str
    digits: int

    @property
    def scale(self) -> int:
        """How many whole numbers make one of the unit."""
        return 10**self.digits

    @classmethod
    def of(cls, name: str, digits: int, **tolerances: float) -> Unit:
        """Return the unit in which weights with so many digits and tolerances are whole.

        Raises
        ------
        ArgumentError
            If a tolerance has too many digits.
        """
        for argument, given in tolerances.items():
            mine = digits_of(Decimal(repr(float(given))))
            if mine > DIGITS:
                raise ArgumentError(expected(argument, f"at most {DIGITS} digits after the point", given))
            digits = max(digits, mine)
        return cls(name, digits)

    def whole(self, weight: object, largest: int) -> int:
        """Return a weight as it is counted.

        Raises
        ------
        ArgumentError
            If it is no number from 0 to the largest, which is counted likewise, or has more digits than are counted.
        """
        number = amount_of(weight)
        whole = None if number is None else Fraction(number) * self.scale
        if whole is None or whole > largest or whole.denominator > 1:
            most = Decimal(largest).scaleb(-self.digits)
            what = f"{self.name} from 0 to {most} with at most {self.digits} digits after the point"
            raise ArgumentError(expected("weight", what, weight, "largest= says how many digits are counted"))
        return int(whole)


def amount_of(value: object) -> Decimal | None:
    """Return a number >= 0 as it is written, of floats the shortest decimal; None where it is none or has too many
    digits.

    >>> amount_of("12.50"), amount_of(0.1), amount_of(-1), amount_of("1_000")
    (Decimal('12.50'), Decimal('0.1'), None, None)
    """
    if isinstance(value, str) and WRITTEN.fullmatch(value.strip()):
        number = Decimal(value.strip())
    elif isinstance(value, float):
        number = Decimal(repr(float(value)))
    elif is_whole(value) or isinstance(value, Decimal):
        number = value if isinstance(value, Decimal) else Decimal(int(value))
    else:
        return None
    sound = number.is_finite() and number >= 0 and number.adjusted() < 19 and digits_of(number) <= DIGITS
    return number if sound else None


def plain_amount(number: Decimal) -> int | str:
    """Return an amount as logs keep it, the same however it was written: a whole number, or text with all digits.

    >>> plain_amount(Decimal("4e3")), plain_amount(Decimal("12.50"))
    (4000, '12.5')
    """
    return int(number) if not digits_of(number) else f"{number.normalize():f}"


def digits_of(number: Decimal) -> int:
    """Return the digits after the point, without zeros at the end.

    >>> digits_of(Decimal("12.50")), digits_of(Decimal("1e3"))
    (1, 0)
    """
    _, figures, exponent = number.as_tuple()
    written = "".join(map(str, figures))
    return max(0, -int(exponent) - len(written) + len(written.rstrip("0"))) if number else 0
