"""The rules that keep shares of a weight: every learner, offer, weight and order of tells on small boards."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from evenhand.promises import weight_rule as rule


def board(parts: tuple[int, ...], q: int, tolerance: int, largest: int, flight: int, *caps: Any) -> tuple[Any, Any]:
    shares = rule.weight_parameters(parts, q, tolerance, largest, flight, (), *caps)
    return shares, rule.weight_state(len(parts), ())


def put(at: tuple[Any, ...]) -> Any:
    """Return a state with these clocks, weights and open decisions of the arms."""
    state = rule.weight_state(len(at[0]), ())
    state.clocks[:], state.weights[:], state.flying[:] = at
    return state


def read(params: Any, state: Any) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """Return all that the rule looks at, q (r W - W_i) and what is open of each arm, and what `put` takes."""
    at = tuple(tuple(each.tolist()) for each in (state.clocks, state.weights, state.flying))
    behind = params.numerators * state.clocks - params.denominator * state.weights
    return (*behind.tolist(), *at[2]), at


def worst_completion(params: Any, state: Any) -> int:
    """Return the largest q (r_i [W^i + w (O - o_i)] - W_i), with all that is open as heavy as it may be."""
    clocks = state.clocks + params.largest * (state.flying.sum() - state.flying)
    return int((params.numerators * clocks - params.denominator * state.weights).max())


def ask(params: Any, state: Any, wish: int, offered: tuple[int, ...], weight: int) -> int:
    """Ask a learner that wants an arm most, and the others in turn."""
    state.offered[:], state.weight[0] = offered, weight
    state.scores[:] = [-((arm - wish) % len(offered)) for arm in range(len(offered))]
    first = rule.grant_weighed(params, state, 0, wish)
    if not first:
        rule.select_weighed(params, state, 0)
    assert offered[state.chosen[0]] == 1
    return int(state.chosen[0])


HALF, QUARTER, THIRD, ALL = Fraction(1, 2), Fraction(1, 4), Fraction(1, 3), Fraction(1)
SOME = [20, pytest.param(1_000, marks=pytest.mark.slow)]
"""Up to how many states are gone through; boards with every arm on offer have fewer than a thousand."""


@pytest.mark.parametrize("most", SOME)
@pytest.mark.parametrize(
    ("parts", "q", "offers"),
    [
        ((1, 1), 2, "any"),
        ((1, 1, 0), 2, "all"),
        ((1, 1, 2), 4, "all"),
        ((3, 1, 1), 5, "all"),
        ((1, 1, 1), 3, "all"),
        ((2, 1, 1), 6, "any"),
    ],
)
def test_no_learner_and_no_weights_break_rule_h(parts: tuple[int, ...], q: int, offers: str, most: int) -> None:
    largest = 3
    least = rule.least_tolerance([Fraction(p, q) for p in parts], Fraction(largest), 0)[0]
    tolerance = -(-least.numerator // least.denominator)
    params, start = board(parts, q, tolerance, largest, 0)
    everything = [offer for offer in product((0, 1), repeat=len(parts)) if any(offer)]
    offered = everything if offers == "any" else everything[-1:]
    first, at = read(params, start)
    todo, seen = [at], {first}
    worst = 0
    while todo and len(seen) < most:
        at = todo.pop(0)
        moves = product([(u, known) for u in range(1, largest + 1) for known in (0, 1)], range(len(parts)), offered)
        for (weight, known), wish, offer in moves:
            state = put(at)
            arm = ask(params, state, wish, offer, weight if known else -1)
            if not known:
                state.flying[arm] -= 1
                rule.enter_weight(state, arm, weight)
            after, there = read(params, state)
            worst = max(worst, *after)
            assert max(after) <= q * tolerance
            if after not in seen:
                seen.add(after)
                todo.append(there)
    assert worst > 0
    assert most == 20 or worst > q * (least - 1)


@pytest.mark.parametrize("most", [20, pytest.param(150, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("parts", "q", "caps", "b"),
    [
        ((1, 1), 2, (HALF, HALF), 3),
        ((1, 0), 4, (HALF, ALL), 3),
        ((0, 1), 2, (HALF, HALF), 3),
        ((2, 1, 1), 6, (HALF, QUARTER, QUARTER), 3),
        ((1, 1, 0), 3, (QUARTER + THIRD, THIRD, THIRD), 3),
        ((1, 1, 0), 4, (HALF, HALF, THIRD), 2),
    ],
)
def test_no_learner_and_no_weights_break_caps_or_shares_beside_them(
    parts: Any, q: int, caps: Any, b: int, most: int
) -> None:
    largest, everything = 3, (1,) * len(parts)
    least = rule.least_tolerance([Fraction(p, q) for p in parts], Fraction(largest), 0)[0]
    tolerance = max(math.ceil(least), math.ceil(largest + least - b))
    params, start = board(parts, q, tolerance, largest, 0, caps, b)
    at = read(params, start)[1]
    todo, seen, ahead = [at], {at[1]}, Fraction(0)
    while todo and len(seen) < most:
        at = todo.pop(0)
        for weight, wish in product(range(1, largest + 1), range(len(parts))):
            state = put(at)
            ask(params, state, wish, everything, weight)
            after, there = read(params, state)
            assert max(after) <= q * tolerance
            over = [w - cap * sum(there[1]) for cap, w in zip(caps, there[1], strict=True)]
            assert max(over) <= b
            ahead = max(ahead, *over)
            if there[1] not in seen:
                seen.add(there[1])
                todo.append(there)
    assert ahead >= b - 1


@pytest.mark.parametrize("most", SOME)
@pytest.mark.parametrize(
    ("parts", "q", "flight"), [((1, 1), 2, 1), ((1, 1, 0), 3, 2), ((3, 1), 4, 1), ((1, 1, 2), 4, 1)]
)
def test_no_order_of_tells_breaks_rule_p(parts: tuple[int, ...], q: int, flight: int, most: int) -> None:
    largest = 2
    least, halves = rule.least_tolerance([Fraction(p, q) for p in parts], Fraction(largest), flight)
    tolerance = -(-least.numerator // least.denominator)
    params, start = board(parts, q, tolerance, largest, flight)
    assert params.halves == halves
    assert (params.margins[params.numerators > 0] >= 0).all()
    first, at = read(params, start)
    todo, seen = [at], {first}
    while todo and len(seen) < 2 * most:
        at = todo.pop(0)
        moves: list[Any] = [("tell", arm, u) for arm in range(len(parts)) if at[2][arm] for u in range(largest + 1)]
        if sum(at[2]) <= flight:
            moves += [("ask", wish, weight) for wish in range(len(parts)) for weight in (-1, 1, largest)]
        for kind, arm, weight in moves:
            state = put(at)
            if kind == "ask":
                ask(params, state, arm, (1,) * len(parts), weight)
            else:
                state.flying[arm] -= 1
                rule.enter_weight(state, arm, weight)
            assert worst_completion(params, state) <= q * tolerance
            after, there = read(params, state)
            if after not in seen:
                seen.add(after)
                todo.append(there)
    assert len(seen) >= 20


def test_the_least_tolerances_are_those_of_the_theorems() -> None:
    def least(parts: list[int], q: int, flight: int = 0) -> tuple[Fraction, int]:
        return rule.least_tolerance([Fraction(p, q) for p in parts], Fraction(1), flight)

    assert least([1, 0], 4) == (0, 0)
    assert least([1, 1, 1, 1], 4)[0] == Fraction(3, 4)
    assert least([3, 1, 1], 5)[0] == Fraction(2, 3)
    assert least([1] * 8 + [0], 10)[0] == Fraction(7, 10)
    assert least([1, 1, 1, 1], 4, 4) == (Fraction(9, 4), 1)
    assert least([12, 1, 1, 1, 1], 16, 4) == (4, 2)
    assert least([1, 0, 0], 4, 9)[0] == 0


def test_below_the_least_tolerance_weights_of_one_size_break_equal_shares() -> None:
    params, state = board((1, 1), 2, 0, 2, 0)
    ask(params, state, 0, (1, 1), 2)
    assert read(params, state)[0][1] == 2
