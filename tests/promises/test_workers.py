"""One promise kept by several workers: against a search of every merge order, and under any interleaving."""

import random
from fractions import Fraction
from itertools import product
from math import floor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.promises.balance import Balance, room
from evenhand.promises.clause import Clause
from evenhand.promises.promise import Promise
from evenhand.promises.workers import (
    burn_in,
    endow,
    feasible,
    least_tolerance,
    limits,
    own_promise,
    owned,
    plan,
    pool_of,
)
from tests.reference import workers as twin

HALVES = [Fraction(1, 2), Fraction(1, 2)]
THIRDS = [Fraction(1, 3)] * 3
UNEVEN = [Fraction(1, 2), Fraction(1, 5)]


def floors(shares, slack=0):
    return [Clause("floor", (arm,), share, slack) for arm, share in enumerate(shares)]


def promised(shares, slack):
    return Promise(dict(enumerate(shares)), slack)


def counted(shares, log, slack=0):
    balance = Balance(floors(shares, slack), range(len(shares)))
    for arm in log:
        balance.play([arm])
    return balance


def safe_rounds(shares, endowment, rounds, chance):
    """The rounds of a worker that plays the arm `chance` prefers among all that let it keep its endowment."""
    log = []
    for _ in range(rounds):
        arms = list(range(len(shares)))
        chance.shuffle(arms)
        log.append(next(arm for arm in arms if can_follow(shares, [*log, arm], endowment)))
    return counted(shares, log)


def can_follow(shares, log, endowment):
    """By earliest deadlines first: everything owed by any later round can still be played."""
    owed = [(r, e, log.count(arm)) for arm, (r, e) in enumerate(zip(shares, endowment, strict=True))]
    t = len(log)
    return all(sum(max(0, -floor(-(r * s - e)) - n) for r, e, n in owed) <= s - t for s in range(t, t + 30))


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
                found = room(counted(shares, base, slack), [counted(shares, log) for log in logs])
                expected = twin.every_order_kept(shares, slack, base, logs)
                assert (min(found) > 0) == expected, (base, logs)
                seen.add(expected)
    assert seen == {True, False}


def test_a_missing_log_breaks_nothing():
    logs = [counted(HALVES, log) for log in [(0, 1, 0, 1), (1, 0, 1, 0)]]
    whole = room(counted(HALVES, ()), logs)
    assert min(whole) > 0
    assert min(room(counted(HALVES, ()), logs[:1])) > 0
    assert min(room(counted(HALVES, ()), [counted(HALVES, (0, 1)), logs[1]])) > 0


def test_workers_that_each_take_the_whole_tolerance_break_it():
    log = counted(HALVES, (0, 1))
    assert min(room(counted(HALVES, ()), [log])) > 0
    assert min(room(counted(HALVES, ()), [log, log])) <= 0


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
    tens = floors([Fraction(1, 20)] * 10)
    assert endow(tens, limits(tens), 2) == [Fraction(19, 40)] * 10
    assert endow(tens, limits(tens), 3) is None


def test_half_of_the_pool_stays_for_those_who_join_later():
    shares = [Fraction(1, 5), Fraction(3, 10)]
    pool = limits(floors(shares, 20))
    given = endow(floors(shares), pool, 4)
    assert given == limits(floors(shares, 1))
    assert all(8 * e <= left for e, left in zip(given, pool, strict=True))


@pytest.mark.parametrize(
    ("shares", "workers", "least"),
    [(THIRDS, 4, 2), (HALVES, 2, 1), (HALVES, 4, 2), (HALVES, 8, 4), ([Fraction(1, 10)] * 10, 16, 14)],
)
def test_the_least_tolerance_is_enough_and_one_less_is_not(shares, workers, least):
    assert least_tolerance(floors(shares), workers) == least
    enough = plan(promised(shares, least), workers)
    assert enough.rounds == 0
    assert all(workers * e <= a for e, a in zip(enough.endowment, limits(floors(shares, least)), strict=True))
    assert plan(promised(shares, least - 1), workers) is None


def test_a_serial_beginning_is_as_long_as_stated_and_no_longer():
    assert burn_in([Fraction(1, 2), Fraction(1, 4)], 0, 4) == 15
    assert burn_in([Fraction(1, 2), Fraction(9, 20)], 0, 4) == 87
    assert burn_in(HALVES, 0, 2) is None
    assert burn_in(HALVES, 1, 2) == 0


@pytest.mark.parametrize("shares", [[Fraction(1, 2), Fraction(1, 4)], [Fraction(1, 3), Fraction(2, 7)], UNEVEN])
@pytest.mark.parametrize("slack", [0, 1, 2])
@pytest.mark.parametrize("workers", [2, 3, 5])
def test_after_the_serial_beginning_every_endowment_is_covered(shares, slack, workers):
    found = plan(promised(shares, slack), workers)
    assert sum(found.pulls) <= found.rounds
    surplus = [n - r * found.rounds for n, r in zip(found.pulls, shares, strict=True)]
    for d, a, e in zip(surplus, limits(floors(shares, slack)), found.endowment, strict=True):
        assert d + a >= workers * e
    if found.rounds:
        # at one round less some arm would lack something, however the rounds were used
        t = found.rounds - 1
        needed = [
            max(0, -floor(-(r * t + workers * e - a)))
            for r, a, e in zip(shares, limits(floors(shares, slack)), found.endowment, strict=True)
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
    clauses = floors(shares, slack)
    pool = limits(clauses)
    gone: list[Balance] = []
    running: dict[int, tuple[list[Fraction], Balance]] = {}
    joined = 0
    for _ in range(12):
        event = chance.choice(["join", "join", "leave", "crash", "work"])
        if event == "join":
            endowment = endow(clauses, pool, 1)
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
    found = room(counted(shares, (), slack), [*gone, *(balance for _, balance in running.values())])
    assert min(found) > 0


def test_what_is_left_of_a_log_is_not_what_it_never_touched():
    """Two thirds went down to -e and came back: giving e + D now to a new worker breaks an order."""
    endowment = limits(floors(HALVES))
    first = counted(HALVES, (0, 1))
    assert [e + d for e, d in zip(endowment, first.now(), strict=True)] == endowment
    assert [e + d for e, d in zip(endowment, first.least(), strict=True)] == [Fraction(1, 2), 0]
    second = counted(HALVES, (0, 1))
    assert not twin.every_order_kept(HALVES, 0, (), [(0, 1), (0, 1)])
    assert min(room(counted(HALVES, ()), [first, second])) <= 0


@given(st.lists(st.integers(0, 1), max_size=40), st.integers(0, 3))
def test_the_least_of_all_prefixes(log, twelfths):
    shares = [Fraction(1, 2), Fraction(twelfths, 12)]
    balance = counted(shares, log)
    for arm, share in enumerate(shares):
        prefixes = [log[:n].count(arm) - share * n for n in range(len(log) + 1)]
        assert balance.least()[arm] == min(prefixes)
        assert balance.now()[arm] == prefixes[-1]


# ---------------------------------------------------------------------- every kind of clause

ARMS = ("a", "b", "c")
KINDS = {
    "set": [Clause("floor", ("a", "b"), Fraction(2, 3), 1)],
    "cap": [Clause("cap", ("a",), Fraction(1, 2), 0), Clause("cap", ("b",), Fraction(1, 3), 1)],
    "window": [Clause("window", ("a",), (1, 4)), Clause("window", ("b",), (1, 6))],
    "twice in a window": [Clause("window", ("a",), (2, 5)), Clause("window", ("b", "c"), (3, 7))],
    "all": [
        Clause("floor", ("a", "b"), Fraction(1, 2), 1),
        Clause("cap", ("c",), Fraction(1, 2), 1),
        Clause("window", ("b",), (1, 5)),
    ],
}


def entered(clauses, log):
    balance = Balance(clauses, ARMS)
    for played, offered, segment in log:
        balance.play([ARMS.index(arm) for arm in played], [ARMS.index(arm) for arm in offered], segment)
    return balance


@pytest.mark.parametrize("plays", [1, 2])
@pytest.mark.parametrize("segments", [(None,), ("x", "y")], ids=["one", "segments"])
@pytest.mark.parametrize("clauses", KINDS.values(), ids=KINDS)
def test_all_merge_orders_at_once_is_what_a_search_finds_for_every_kind_of_clause(clauses, segments, plays):
    chance, seen = random.Random(f"{clauses} {segments} {plays}"), set()
    for _ in range(150):
        logs = []
        for length in chance.choice([(1, 1), (2, 3), (4,), (2, 2, 1), (5, 2)]):
            offers = [sorted(chance.sample(ARMS, chance.randint(plays, 3))) for _ in range(length)]
            logs.append([(chance.sample(offer, plays), offer, chance.choice(segments)) for offer in offers])
        found = room(entered(clauses, []), [entered(clauses, log) for log in logs])
        expected = all(twin.clauses_kept(clauses, order) for order in twin.merges([tuple(log) for log in logs]))
        assert (min(found) > 0) == expected, logs
        seen.add(expected)
    assert True in seen
    assert plays == 2 or False in seen


def test_a_balance_counts_the_rounds_of_its_clause_alone():
    """A clause's clock stands still while none of its arms is on offer, and in other segments."""
    (clause,) = KINDS["set"]
    balance = entered([clause], [(["c"], ["c"], "x"), (["c"], ["b", "c"], "x"), (["a"], ["a", "c"], "y")])
    assert (balance.now("x"), balance.now("y"), balance.rounds) == ([Fraction(-2, 3)], [Fraction(1, 3)], 3)
    assert (balance.least("y"), balance.least("z"), balance.least_of_all()) == ([0], [0], [Fraction(-2, 3)])


NONE = {"a": 0, "b": 0, "c": 0, "d": 0}
SHARED = [
    (Promise(NONE | {("a", "b"): "2/5"}, 4), 3, [0, 0, 0, 0, "4/5"]),
    (Promise(NONE | {"a": "1/5"}, 12, caps={"d": "1/2"}, cap_tolerance=2), 3, ["9/5", 1, 1, 1, "1/2"]),
    (Promise(NONE | {"a": "1/2", "b": "1/2"}, 4, plays=2), 3, ["1/2", "1/2", 0, 0]),
    (Promise(NONE, windows={"a": 20}), 3, [0, 0, 0, 0, 6]),
    (Promise(NONE, windows={"a": (2, 30), "b": 40}), 3, [0, 0, 0, 0, 7, 13]),
]


@pytest.mark.parametrize(("promise", "workers", "endowment"), SHARED)
def test_what_each_worker_is_given_is_paid_and_makes_a_promise_of_its_own(promise, workers, endowment):
    found = plan(promise, workers)
    assert (found.rounds, found.endowment) == (0, [Fraction(e) for e in endowment])
    pool = pool_of(owned(promise), [found.endowment] * workers)
    assert all(workers * e <= left for e, left in zip(found.endowment, pool, strict=True))
    own = own_promise(promise, found.endowment)
    assert own.plays == promise.plays
    assert [clause[:2] for clause in own.clauses] == [clause[:2] for clause in promise.clauses]


@pytest.mark.parametrize("workers", [2, 3, 5])
@pytest.mark.parametrize(("plays", "rounds"), [(1, 12), (2, 15), (3, 40), (4, 21)])
def test_own_windows_are_as_long_as_can_be(plays, rounds, workers):
    """W logs that each play once in b rounds: a longer b would break some order, the formula's keeps all."""
    promise = Promise({"a": 0, "b": 0}, windows={"a": (plays, rounds)})
    own = int(plan(promise, workers).endowment[-1]) + 1
    clause = promise.clauses[0]
    for length, kept in ((own, True), (own + 1, False)):
        log = [((["a"] if round % length == length - 1 else ["b"]), ["a", "b"], None) for round in range(rounds * 4)]
        balances = [Balance([clause], ("a", "b")) for _ in range(workers)]
        for balance in balances:
            for played, _, _ in log:
                balance.play(["ab".index(played[0])])
        assert (min(room(Balance([clause], ("a", "b")), balances)) > 0) == kept


@pytest.mark.parametrize(("slack", "ahead"), [(0, 1), (1, 0), (0, 0)])
def test_sets_and_caps_need_the_tolerance_that_is_named(slack, ahead):
    shares = NONE | {("a", "b"): "1/2"}
    assert plan(Promise(shares, slack, caps={"d": "1/2"}, cap_tolerance=ahead), 3) is None
    assert least_tolerance([Clause("floor", ("a", "b"), Fraction(1, 2))], 3) == 1
    assert least_tolerance([Clause("cap", ("d",), Fraction(1, 2))], 3) == 1
    assert plan(Promise(shares, 1, caps={"d": "1/2"}, cap_tolerance=1), 3) is not None
