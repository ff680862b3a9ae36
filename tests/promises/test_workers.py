"""One promise kept by several workers: against a search of every merge order, and under any interleaving."""

from fractions import Fraction
from itertools import product
from math import floor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.promises.workers import (
    Balance,
    burn_in,
    endow,
    feasible,
    least_tolerance,
    limits,
    plan,
    room,
)
from tests.reference import workers as twin

HALVES = [Fraction(1, 2), Fraction(1, 2)]
THIRDS = [Fraction(1, 3)] * 3
UNEVEN = [Fraction(1, 2), Fraction(1, 5)]


def counted(shares, log):
    balance = Balance(shares)
    for arm in log:
        balance.play(arm)
    return balance


def safe_rounds(shares, endowment, rounds, chance):
    """The rounds of a worker that plays the arm `chance` prefers among all that let it keep its endowment."""
    balance = Balance(shares)
    for _ in range(rounds):
        arms = list(range(len(shares)))
        chance.shuffle(arms)
        balance.play(next(arm for arm in arms if can_follow(balance, endowment, arm)))
    return balance


def can_follow(balance, endowment, arm):
    """By earliest deadlines first: everything owed by any later round can still be played."""
    pulls = [n + (i == arm) for i, n in enumerate(balance.pulls)]
    t = balance.rounds + 1
    horizon = t + 30
    return all(
        sum(max(0, -floor(-(r * s - e)) - n) for r, e, n in zip(balance.shares, endowment, pulls, strict=True)) <= s - t
        for s in range(t, horizon)
    )


@pytest.mark.parametrize("shares", [HALVES, UNEVEN, [Fraction(1, 3), Fraction(2, 5)]])
@pytest.mark.parametrize("slack", [0, 1])
def test_all_merge_orders_at_once_is_what_a_search_of_every_order_finds(shares, slack):
    seen = set()
    for base in [(), (0,), (1, 0)]:
        for lengths in [(1, 1), (3, 2), (2, 1, 1)]:
            for flat in product(range(2), repeat=sum(lengths)):
                logs, start = [], 0
                for length in lengths:
                    logs.append(flat[start : start + length])
                    start += length
                found = room(slack, counted(shares, base), [counted(shares, log) for log in logs])
                expected = twin.every_order_kept(shares, slack, base, logs)
                assert (min(found) > 0) == expected, (base, logs)
                seen.add(expected)
    assert seen == {True, False}


def test_a_missing_log_breaks_nothing():
    logs = [counted(HALVES, log) for log in [(0, 1, 0, 1), (1, 0, 1, 0)]]
    whole = room(0, Balance(HALVES), logs)
    assert min(whole) > 0
    assert min(room(0, Balance(HALVES), logs[:1])) > 0
    assert min(room(0, Balance(HALVES), [counted(HALVES, (0, 1)), logs[1]])) > 0


def test_workers_that_each_take_the_whole_tolerance_break_it():
    log = counted(HALVES, (0, 1))
    assert min(room(0, Balance(HALVES), [log])) > 0
    assert min(room(0, Balance(HALVES), [log, log])) <= 0


@pytest.mark.parametrize("shares", [HALVES, THIRDS, UNEVEN, [Fraction(2, 5), Fraction(2, 5), Fraction(1, 5)]])
def test_what_one_worker_can_live_on_is_what_a_search_finds(shares):
    seen = set()
    for sixths in product((0, 2, 3, 5), repeat=len(shares)):
        endowment = [Fraction(n, 6) for n in sixths]
        expected = twin.can_go_on(shares, endowment, 16)
        assert feasible(shares, endowment) == expected, endowment
        seen.add(expected)
    assert seen == {True, False}


def test_an_endowment_below_zero_and_shares_above_one_are_not_feasible():
    assert not feasible(HALVES, [Fraction(-1), Fraction(2)])
    assert not feasible([Fraction(2, 3)] * 2, [Fraction(9)] * 2)
    assert feasible([Fraction(0)] * 2, [Fraction(0)] * 2)


def test_fractions_of_the_pool_pay_where_whole_tolerances_do_not():
    tens = [Fraction(1, 20)] * 10
    assert endow(tens, limits(tens, 0), 2) == [Fraction(19, 40)] * 10
    assert endow(tens, limits(tens, 0), 3) is None


def test_half_of_the_pool_stays_for_those_who_join_later():
    shares = [Fraction(1, 5), Fraction(3, 10)]
    pool = limits(shares, 20)
    given = endow(shares, pool, 4)
    assert given == limits(shares, 1)
    assert all(8 * e <= left for e, left in zip(given, pool, strict=True))


@pytest.mark.parametrize(
    ("shares", "workers", "least"),
    [(THIRDS, 4, 2), (HALVES, 2, 1), (HALVES, 4, 2), (HALVES, 8, 4), ([Fraction(1, 10)] * 10, 16, 14)],
)
def test_the_least_tolerance_is_enough_and_one_less_is_not(shares, workers, least):
    assert least_tolerance(shares, workers) == least
    enough = plan(shares, least, workers)
    assert enough.rounds == 0
    assert all(workers * e <= a for e, a in zip(enough.endowment, limits(shares, least), strict=True))
    assert plan(shares, least - 1, workers) is None


def test_a_serial_beginning_is_as_long_as_stated_and_no_longer():
    assert burn_in([Fraction(1, 2), Fraction(1, 4)], 0, 4) == 15
    assert burn_in([Fraction(1, 2), Fraction(9, 20)], 0, 4) == 87
    assert burn_in(HALVES, 0, 2) is None
    assert burn_in(HALVES, 1, 2) == 0


@pytest.mark.parametrize("shares", [[Fraction(1, 2), Fraction(1, 4)], [Fraction(1, 3), Fraction(2, 7)], UNEVEN])
@pytest.mark.parametrize("slack", [0, 1, 2])
@pytest.mark.parametrize("workers", [2, 3, 5])
def test_after_the_serial_beginning_every_endowment_is_covered(shares, slack, workers):
    found = plan(shares, slack, workers)
    assert sum(found.pulls) <= found.rounds
    surplus = [n - r * found.rounds for n, r in zip(found.pulls, shares, strict=True)]
    for d, a, e in zip(surplus, limits(shares, slack), found.endowment, strict=True):
        assert d + a >= workers * e
    if found.rounds:
        # at one round less some arm would lack something, however the rounds were used
        t = found.rounds - 1
        needed = [
            max(0, -floor(-(r * t + workers * e - a)))
            for r, a, e in zip(shares, limits(shares, slack), found.endowment, strict=True)
        ]
        assert sum(needed) > t
    # a rule of tolerance 0 with the shares n_i / t keeps the promise on the way
    for s in range(1, found.rounds + 1):
        for n, r in zip(found.pulls, shares, strict=True):
            assert n * s // found.rounds >= floor(r * s) - slack


@given(
    st.sampled_from([HALVES, THIRDS, UNEVEN, [Fraction(1, 7), Fraction(2, 5), Fraction(1, 4)]]),
    st.integers(0, 6),
    st.randoms(use_true_random=False),
)
@settings(max_examples=40)
def test_members_come_go_and_crash_and_every_merge_order_keeps_the_promise(shares, slack, chance):
    """Workers join while the pool pays, leave with what their log does not touch, or crash and return nothing."""
    pool = limits(shares, slack)
    gone: list[Balance] = []
    running: dict[int, tuple[list[Fraction], Balance]] = {}
    joined = 0
    for _ in range(12):
        event = chance.choice(["join", "join", "leave", "crash", "work"])
        if event == "join":
            endowment = endow(shares, pool, 1)
            if endowment is not None:
                pool = [left - e for left, e in zip(pool, endowment, strict=True)]
                assert all(left >= 0 for left in pool)
                rounds = chance.randrange(12)
                running[joined] = endowment, safe_rounds(shares, endowment, rounds, chance)
                joined += 1
        elif running and event in ("leave", "crash"):
            endowment, balance = running.pop(chance.choice(list(running)))
            if event == "leave":
                back = [e + low for e, low in zip(endowment, balance.least(), strict=True)]
                assert all(b >= 0 for b in back)
                pool = [left + b for left, b in zip(pool, back, strict=True)]
            gone.append(balance)
    found = room(slack, Balance(shares), [*gone, *(balance for _, balance in running.values())])
    assert min(found) > 0


def test_what_is_left_of_a_log_is_not_what_it_never_touched():
    """Two thirds went down to -e and came back: giving e + D now to a new worker breaks an order."""
    endowment = limits(HALVES, 0)
    first = counted(HALVES, (0, 1))
    assert [e + d for e, d in zip(endowment, first.now(), strict=True)] == endowment
    assert [e + d for e, d in zip(endowment, first.least(), strict=True)] == [Fraction(1, 2), 0]
    second = counted(HALVES, (0, 1))
    assert not twin.every_order_kept(HALVES, 0, (), [(0, 1), (0, 1)])
    assert min(room(0, Balance(HALVES), [first, second])) <= 0


@given(st.lists(st.integers(0, 1), max_size=40), st.integers(0, 3))
def test_the_least_of_all_prefixes(log, twelfths):
    shares = [Fraction(1, 2), Fraction(twelfths, 12)]
    balance = counted(shares, log)
    for arm, share in enumerate(shares):
        prefixes = [log[:n].count(arm) - share * n for n in range(len(log) + 1)]
        assert balance.least()[arm] == min(prefixes)
        assert balance.now()[arm] == prefixes[-1]
