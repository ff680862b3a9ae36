"""One promise split over processes that never talk: it holds in every merge order, and no part could be larger."""

import math
import random
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from evenhand import Promise, audit
from evenhand.errors import ArgumentError, SharesError
from evenhand.promises.plain_data import promise_fields
from evenhand.promises.split import lengths
from evenhand.quotas import DeadlineLearn
from tests.fuzzing import many
from tests.promises.generated_promises import drawn_promise
from tests.reference.books import counted

KINDS = [
    {"floors"},
    {"sets"},
    {"floors", "slates"},
    {"floors", "caps"},
    {"windows"},
    {"floors", "windows"},
    {"floors", "sets", "caps"},
    {"floors", "arms on offer"},
    {"sets", "slates"},
]


class Whims:
    """Ranks the arms at random, which tries what a part allows."""

    def __init__(self, arms, chance):
        self.arms, self.chance = arms, chance

    def choose(self):
        return self.chance.sample(range(self.arms), self.arms)

    def update(self, index, reward):
        pass

    def __deepcopy__(self, memo):
        return self


def splittable(kinds, seed, workers):
    """A drawn promise with tolerances and windows that so many processes can share, and its parts."""
    drawn = drawn_promise(kinds, np.random.default_rng(seed))
    if drawn is None:
        return None
    given = promise_fields(drawn)
    given["tolerance"] = drawn.tolerance + workers - 1 + seed % 3
    given["cap_tolerance"] = drawn.cap_tolerance + workers - 1 if given.get("caps") else 0.0
    if "windows" in given:
        longer = {key: (n, workers * (length + n) + seed % 4) for key, (n, length) in given["windows"].items()}
        given["windows"] = longer
    promise = Promise(**given)
    return promise, promise.split(workers)


def played(part, rounds, chance, offering):
    """The rounds of one process: (arms on offer, arms that were played)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        policy = DeadlineLearn(Whims(len(part.arms), chance), part, seed=1)
    log = []
    for _ in range(rounds):
        offered = list(part.arms)
        if offering and part.offers == "any":
            offered = chance.sample(offered, chance.randrange(1, len(offered) + 1))
        decision = policy.ask(available=offered) if len(offered) < len(part.arms) else policy.ask()
        log.append((offered, decision.arms if part.plays > 1 else (decision.arm,)))
    return log


def broken(promise, log):
    """Whether a clause is broken after any round, counted anew."""
    return any(counted(promise.clauses, [(arms, offered, 0) for offered, arms in log], arms=promise.arms)[1])


def merged(logs, chance):
    """One merge order: each log in its own order."""
    turns = [number for number, log in enumerate(logs) for _ in log]
    chance.shuffle(turns)
    if chance.random() < 0.5:  # long stretches of one log, which are the worst orders
        turns.sort(key=lambda number: (number * 7 + chance.randrange(2)) % len(logs))
    left = [iter(log) for log in logs]
    return [next(left[number]) for number in turns]


def frame(log):
    offers, arms = zip(*log, strict=True)
    return pd.DataFrame({"arm": [list(each) for each in arms], "on": [list(each) for each in offers]})


@pytest.mark.parametrize("kinds", KINDS, ids=lambda kinds: " and ".join(sorted(kinds)))
@pytest.mark.parametrize("workers", [2, 5])
def test_the_whole_promise_holds_in_every_merge_order(kinds, workers):
    chance = random.Random(workers)
    tried = 0
    for seed in range(many(12)):
        found = splittable(kinds, seed, workers)
        if found is None:
            continue
        promise, parts = found
        logs = [played(part, chance.randrange(1, 60), chance, "arms on offer" in kinds) for part in parts]
        cut = [log[: chance.randrange(len(log) + 1)] for log in logs]
        for some in (logs, cut):
            for _ in range(many(6)):
                assert not broken(promise, merged(some, chance)), (promise, parts)
        # by an audit that `tests.quotas.test_audit_separate_logs` compares with every order
        assert audit.promise(frames=[frame(log) for log in logs], arm="arm", promise=promise, available="on").kept
        tried += 1
    assert tried >= many(12) / 2


def least_of(rate, slack, rounds):
    """The least N - r t of any log that keeps N >= floor(r t) - slack, by trying every one."""
    reached, least = {0}, Fraction(0)
    for t in range(1, rounds):
        floor = math.floor(rate * t) - slack
        reached = {n + more for n in reached for more in (0, 1) if n + more >= floor}
        least = min(least, min(reached) - rate * t)
    return least


@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(1, 3), Fraction(2, 5), Fraction(1, 7)])
@pytest.mark.parametrize("workers", [2, 3, 4])
@pytest.mark.parametrize("tolerance", [3, 4, 6])
def test_with_one_more_in_any_tolerance_some_order_breaks_it(rate, workers, tolerance):
    promise = Promise({"a": rate, "b": 0}, tolerance)
    slacks = [part.slack for part in promise.split(workers)]
    least = [least_of(rate, slack, 90) for slack in slacks]
    assert sum(least) > -(tolerance + 1)
    for place, slack in enumerate(slacks):
        more = [*least[:place], least_of(rate, slack + 1, 90), *least[place + 1 :]]
        assert sum(more) <= -(tolerance + 1), "the sum is that of one merge order: by Theorem 1 it breaks the promise"


def stretch(length, plays):
    """The longest stretch with so many plays, of a log that plays once in any `length` rounds, by trying every one."""
    states, longest = {(0, 0)}, 0
    for rounds in range(1, (plays + 2) * (length + 1)):
        following = set()
        for since, used in states:
            if since + 1 < length:
                following.add((since + 1, used))
            if used < plays:
                following.add((0, used + 1))
        states = following
        longest = rounds if states else longest
    return longest


def longest_with_fewer(found, plays):
    """The longest stretch of any merge order with fewer plays: these are split over the logs in every way."""
    best = [0] * plays
    for length in found:
        best = [max(best[n - own] + stretch(length, own) for own in range(n + 1)) for n in range(plays)]
    return best[-1]


@pytest.mark.parametrize("window", [(1, 4), (1, 9), (2, 9), (3, 11), (2, 5)])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_with_a_window_one_round_longer_some_order_breaks_it(window, workers):
    plays, rounds = window
    found = lengths(window, workers)
    assert longest_with_fewer(found, plays) < rounds
    for place in range(workers):
        longer = [*found[:place], found[place] + 1, *found[place + 1 :]]
        assert longest_with_fewer(longer, plays) >= rounds


@pytest.mark.parametrize(
    ("promise", "workers", "words"),
    [
        (Promise({"a": "1/2", "b": "1/4"}), 3, "tolerance: expected at least 2, so that 3 processes can keep 'b at"),
        (Promise({"a": 0.2, "b": 0}, 3, caps={"b": "1/2"}), 4, "cap_tolerance: expected at least 2, so that 4"),
        (
            Promise({"a": "1/2", "b": 0}, 3, windows={"b": 3}),
            4,
            "windows: 'b': expected at least 1 in 5 rounds, which 4",
        ),
        (Promise({"a": "1/2", "b": "1/3"}, 0.5), 3, "together, got 0.5; or use fewer processes"),
        (
            Promise(dict.fromkeys("abc", 0), windows={"a": 4, "b": 4, "c": (2, 8)}, offers="all"),
            2,
            "windows: 'a', 'b', 'c': expected at least 1 in 5, 1 in 5, 2 in 10 rounds, which 2 processes can keep, got",
        ),
    ],
)
def test_what_the_tolerance_cannot_pay_is_refused_with_the_least_that_would_do(promise, workers, words):
    with pytest.raises(SharesError) as refusal:
        promise.split(workers)
    assert words in str(refusal.value)


def test_the_least_that_is_named_would_do():
    assert Promise({"a": "1/2", "b": "1/4"}, 2).split(3)[0].tolerance == 0
    assert len(Promise({"a": "1/2", "b": 0}, 3, windows={"b": 5}).split(4)) == 4
    longer = {"a": 5, "b": 5, "c": (2, 10)}
    assert len(Promise(dict.fromkeys("abc", 0), windows=longer, offers="all").split(2)) == 2


@pytest.mark.parametrize("workers", [0, -1, 2.0, True, "3"])
def test_what_is_no_number_of_processes_is_refused(workers):
    with pytest.raises(ArgumentError, match="workers: expected a whole number >= 1"):
        Promise({"a": 0.5}, 9).split(workers)


def test_one_process_keeps_the_promise_as_it_is():
    for windows in ({"b": 9}, {"b": (2, 12)}):
        promise = Promise({"a": 0.5, ("b", "c"): 0.25}, 2.5, windows=windows)
        assert promise.split(1) == [promise]
