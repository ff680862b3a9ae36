"""Promises of a weight, such as money or tokens: what is refused, and the numbers in which the rule counts."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

from evenhand.arguments import whole
from evenhand.display.digits import plain_number
from evenhand.errors import NOTHING, ArgumentError, SharesError, Wording, expected
from evenhand.promises.amounts import MOST, Unit, amount_of, digits_of
from evenhand.promises.weight_rule import WeightParams, least_tolerance, weight_parameters

PLACE_BY_PLACE = (
    "ask for each place of a slate in turn, with its weight and without the arms that are in it already: a share then "
    "counts the places for which its arm was on offer"
)


def read_weighed(promise: Any, largest: object, in_flight: Any, offers: Any) -> dict[str, Any]:
    """Return the fields `largest`, `in_flight` and `offers` of a promise of a weight that was read so far.

    Raises
    ------
    ArgumentError
        If they cannot be read, or something is promised that no rule is known to keep by weight.
    SharesError
        If the tolerance is less than is enough; the least that is, is named.
    """
    refuse_beside(promise, f"weight={promise.weight!r}", "keeps it by weight", "leave weight out", PLACE_BY_PLACE)
    if promise.caps and (in_flight is not None or offers not in (None, "all")):
        what = Wording(NOTHING, " beside weights that are told later, or while arms come and go: no rule is known")
        raise ArgumentError(expected("caps", what, promise.caps))
    most = amount_of(largest)
    if not most:
        hint = "it is the most that one decision may weigh"
        raise ArgumentError(expected("largest", "a number above 0", largest, hint))
    flight = None if in_flight is None else whole("in_flight", in_flight, low=0)
    if flight and offers not in (None, "all"):
        hint = "with in_flight=0, or weights that are known when asking, arms may come and go"
        raise ArgumentError(expected("offers", "'all', where weights are told later", offers, hint))
    fields = {"largest": _written(most, largest), "in_flight": flight, "offers": "all" if flight else promise.offers}
    stated = promise.varied(**fields)
    if promise.slack < (enough := enough_for(stated)):
        shown = f"at least {plain_number(enough)} {promise.weight}, within which these shares can be kept"
        hint = "or lower largest" + " or in_flight" * bool(flight)
        raise SharesError(expected("tolerance", shown, promise.tolerance, hint))
    ahead = enough_ahead(stated)
    if promise.caps and promise.ahead < ahead:
        shown = (
            f"at least {plain_number(ahead)} {promise.weight}, within which these caps can be kept beside the shares"
        )
        raise SharesError(expected("cap_tolerance", shown, promise.cap_tolerance, "or lower largest"))
    if most_of(stated) <= 0:
        shown = f"{promise.weight} and shares that 64 bits can count"
        hint = "take shares with a smaller common denominator, or fewer digits"
        raise ArgumentError(expected("largest, tolerance and shares", shown, Wording(f"{most} and {promise}"), hint))
    return fields


def refuse_beside(promise: Any, stated: str, does: str, hint: str, slates: str = "") -> None:
    """Refuse windows, several plays and sets of arms, beside which no rule is known; `hint` says what else can be done,
    and `slates` for several plays.

    Raises
    ------
    ArgumentError
        If one is promised.
    """
    beside = {"windows": promise.windows, "plays": promise.plays if promise.plays > 1 else None}
    for name, value in (beside | {"shares of sets of arms": [members for members, _ in promise.sets]}).items():
        if value:
            what = Wording(NOTHING, f" beside {stated}: no rule is known that {does}")
            raise ArgumentError(expected(name, what, value, slates if slates and name == "plays" else hint))


def _written(most: Decimal, given: object) -> Decimal:
    """Return the largest weight with the digits that it was written with: text and decimals keep zeros at their end."""
    return most if isinstance(given, (str, Decimal)) else most.quantize(Decimal(1).scaleb(-digits_of(most)))


def enough_for(promise: Any) -> Fraction:
    """Return the least tolerance, in whole numbers of the last digit, within which a rule keeps the shares."""
    least = least_tolerance(promise.shares, Fraction(promise.largest), promise.in_flight or 0)[0]
    return Fraction(math.ceil(least * unit_of(promise).scale), unit_of(promise).scale)


def enough_ahead(promise: Any) -> Fraction:
    """Return the least tolerance within which a rule keeps the caps beside the shares, likewise."""
    largest, unit = Fraction(promise.largest), unit_of(promise)
    least = max(largest - largest / len(promise.arms), largest + enough_for(promise) - promise.slack)
    return Fraction(math.ceil(least * unit.scale), unit.scale)


def unit_of(promise: Any) -> Unit:
    """Return the unit in which weights are counted: with the digits of the largest one and of the tolerances."""
    digits = max(0, -int(promise.largest.as_tuple().exponent))
    return Unit.of(promise.weight, digits, tolerance=promise.tolerance, cap_tolerance=promise.cap_tolerance)


def parameters_of(promise: Any, learner: Any) -> WeightParams:
    """Return the parameters of the rule."""
    scale = unit_of(promise).scale
    numerators, denominator = promise.fixed_point
    tolerance, largest = int(promise.slack * scale), int(Fraction(promise.largest) * scale)
    limits = [Fraction(1) if cap is None else cap for cap in promise.caps or ()], int(promise.ahead * scale)
    return weight_parameters(numerators, denominator, tolerance, largest, promise.in_flight or 0, learner, *limits)


def most_of(promise: Any) -> int:
    """Return below which sum of all weights, as it is counted, no product that the rule forms leaves 64 bits."""
    beside = promise.slack + promise.ahead + ((promise.in_flight or 0) + 2) * Fraction(promise.largest)
    parts = max(promise.fixed_point[1], *(cap.denominator for cap in promise.caps or () if cap), 1)
    products = 8 * len(promise.arms) * parts**2
    return MOST // products - math.ceil(beside * unit_of(promise).scale)
