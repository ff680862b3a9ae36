"""Cyclic schedules that keep windows for which no chain of periods is sparse enough, found by search.

A schedule names for each round of a cycle the token that is served in it. A state of times left can be kept for ever if
there is a phase of the schedule from which every token comes next within its time left: the rounds from there on are
such a future. So a play may be granted if the state after it has such a phase, and the schedule's own next play always
may. That is sound, not exact: a state without a phase may be safe by another schedule. Tokens of one arm are alike, and
a play serves the soonest of them, so that a phase and a state are compared with the tokens of each arm in the order of
their times: otherwise the schedule's own next play might serve an other token than the phase says.

The search walks the states from the first round on, soonest token first, until one comes twice; a state from which no
play leads on is not entered again. Where that takes too long, tokens of long windows are folded into one: if windows
floor(a_i / v) can be scheduled among themselves, their schedule in the places of one token of window v keeps the
windows a_i, and a smaller problem is left.

A study replays its decisions by the schedule that is found here, so what is found for given windows must not change.

Source: ours; folding is the step by which A. Kawamura, "Proof of the Density Threshold Conjecture for Pinwheel
Scheduling", STOC 2024, makes small problems of large ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from evenhand.kernels.arrays import Ints
from evenhand.promises.windows import chain

STEPS = 4_000
"""How many steps a search takes before tokens are folded."""
LONGEST_CYCLE = 20_000
MOST_TOKENS, MOST_FOLDED = 100, 6
MOST_FOLDS = 3
"""How often a problem is made smaller."""
MOST_PARTS = 32
IDLE = -1

Schedule = list[int]


def find_schedule(windows: list[int], steps: int = STEPS, folds: int = MOST_FOLDS) -> Schedule | None:
    """Return the tokens that a cycle serves, -1 for none, in which token i comes at least once in any windows[i]
    rounds; None where none is found.

    >>> len(find_schedule([4, 5, 6, 11, 12, 30]))
    120

    Returns
    -------
    list
        A token for each round of the cycle.
    """
    if len(windows) > MOST_TOKENS or sum(1 / a for a in windows) > 1 + 1e-12:
        return None
    found = _by_chain(windows)
    return found or _by_walk(windows, steps) or (_by_folding(windows, steps // 2, folds - 1) if folds else None)


def _by_chain(windows: list[int]) -> Schedule | None:
    periods = chain(windows)
    if sum(Fraction(1, b) for b in periods) > 1 or max(periods) > LONGEST_CYCLE:
        return None
    schedule = [IDLE] * max(periods)
    for token in sorted(range(len(windows)), key=periods.__getitem__):
        first = schedule.index(IDLE)
        schedule[first :: periods[token]] = [token] * (len(schedule) // periods[token])
    return schedule


def _by_walk(windows: list[int], steps: int) -> Schedule | None:
    """Return the first cycle of states that a search in depth comes to."""
    start = tuple(windows)
    path, served, ways = {start: 0}, list[int](), [_soonest(start, windows)]
    dead: set[tuple[int, ...]] = set()
    for _ in range(steps):
        state, token = next(reversed(path)), next(ways[-1], None)
        if token is None:
            dead.add(state)
            del path[state], ways[-1], served[-1:]
            if not path:
                return None
            continue
        after = tuple(windows[i] if i == token else left - 1 for i, left in enumerate(state))
        if after in path:
            return [*served[path[after] :], token]
        if after not in dead and all(left > place for place, left in enumerate(sorted(after))):
            path[after] = len(path)
            served.append(token)
            ways.append(_soonest(after, windows))
    return None


def _soonest(state: tuple[int, ...], windows: list[int]) -> Iterator[int]:
    """Yield the tokens that may be served, the soonest first; of tokens that are alike one."""
    must = [token for token, left in enumerate(state) if left == 1]
    alike = {(left, windows[token]): token for token, left in reversed([*enumerate(state)])}
    return iter([token for _, token in sorted(alike.items()) if not must or must == [token]])


def _by_folding(windows: list[int], steps: int, folds: int) -> Schedule | None:
    """Return a schedule in which the tokens of the longest windows take turns in the places of one token."""
    order = sorted(range(len(windows)), key=windows.__getitem__)
    for several in range(2, min(len(windows) - 1, MOST_FOLDED) + 1):
        rest, folded = order[:-several], order[-several:]
        lengths = {windows[token] // parts for token in folded for parts in range(1, MOST_PARTS)}
        for length in sorted(lengths - {0}, reverse=True):
            inside = [windows[token] // length for token in folded]
            inner = None if 0 in inside or sum(1 / a for a in inside) > 1 + 1e-12 else _by_chain(inside)
            if inner is not None:
                outer = find_schedule([*(windows[token] for token in rest), length], steps, folds)
                whole = None if outer is None else _in_turn(outer, rest, inner, folded)
                if whole is not None:
                    return whole
                break  # a shorter length asks more of the rest
    return None


def _in_turn(outer: Schedule, rest: list[int], inner: Schedule, folded: list[int]) -> Schedule | None:
    """Return the schedule in which the folded tokens are served by `inner` in the places of the last token of
    `outer`; None where it is too long."""
    places = outer.count(len(rest))
    cycles = math.lcm(places, len(inner)) // places
    if cycles * len(outer) > LONGEST_CYCLE:
        return None
    turns = iter(inner * (cycles * places // len(inner)))
    names = [*rest, IDLE]
    found = []
    for token in outer * cycles:
        if token == len(rest):
            turn = next(turns)
            found.append(IDLE if turn == IDLE else folded[turn])
        else:
            found.append(names[token])
    return found


def phases(schedule: Schedule, owners: Sequence[Any]) -> Ints:
    """Return for each round of a cycle within how many rounds, that one among them, each token comes next (n_rounds,
    n_tokens); of the tokens of one owner, which stand together and are alike, the soonest first."""
    found = np.zeros((len(schedule), len(owners)), np.int64)
    next_in = np.zeros(len(owners), np.int64)
    for round in reversed(range(2 * len(schedule))):
        next_in += 1
        token = schedule[round % len(schedule)]
        if token != IDLE:
            next_in[token] = 1
        found[round % len(schedule)] = next_in
    for owner in set(owners):
        alike = [token for token, other in enumerate(owners) if other == owner]
        found[:, alike] = np.sort(found[:, alike], axis=1)
    return found
