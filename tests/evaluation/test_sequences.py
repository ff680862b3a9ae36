"""Bounds on a running mean: those of the definition, under any drift, and the test of a constant mean."""

import math
from itertools import pairwise

import numpy as np
import pytest

from evenhand.audit.sequences import ODDS, BettingProcess, Book, log_wealth, lower_bound, refutes
from evenhand.evaluation.findings import change_in, split_rows
from evenhand.evaluation.value_curve import ValueCurve
from tests.evaluation import streams


def slow_wealth(values, least, mean):
    """E as it is defined: a product for each of the odds, and the mean of k."""
    shift = np.broadcast_to(least, values.shape).mean()
    top = np.array([np.prod(1 + odds * (values + least)) for odds in ODDS])
    return np.mean(top / (1 + ODDS * (mean + shift)) ** len(values))


@pytest.mark.parametrize("least", [0.0, 0.7, np.linspace(0.2, 1.3, 90)], ids=["none", "constant", "by row"])
def test_the_wealth_and_the_bound_are_those_of_the_definition(least):
    values = np.random.default_rng(3).random(90) * 1.2 - np.minimum(least, 0.9)
    values = np.maximum(values, -np.asarray(least))
    book = Book()
    for part in np.split(np.arange(90), 3):
        book.add(values[part], np.broadcast_to(least, values.shape)[part])
    for mean in (0.1, 0.4, 0.8):
        assert log_wealth([book])(mean) == pytest.approx(math.log(slow_wealth(values, least, mean)), abs=1e-10)
    bound = lower_bound([book], 0.025, 0.0, 1.0)
    assert bound == 0 or slow_wealth(values, least, bound) == pytest.approx(40, rel=1e-6)


def test_sums_of_logarithms_do_not_overflow_and_books_can_be_split():
    values = np.array([1e100, 3.0, 1e90, 0.0, 1e100] * 50)
    whole = BettingProcess([Book()], [Book()])
    whole.add([(values[:100], 0.0)], [(-values[:100], 1e101)])
    earlier = whole.copy()
    whole.add([(values[100:], 0.0)], [(-values[100:], 1e101)])
    assert whole.below[0].gains == pytest.approx(np.log1p(ODDS[:, None] * values).sum(axis=1))
    later = whole.since(earlier).below[0]
    assert later.rows == 150
    assert later.gains == pytest.approx(np.log1p(ODDS[:, None] * values[100:]).sum(axis=1))


def test_a_bound_is_not_above_the_mean_of_its_values():
    """By Jensen's inequality: ln(1 + l z) is concave."""
    random = np.random.default_rng(1)
    for _ in range(50):
        values = random.random(40) ** random.integers(1, 6) * random.choice([0.1, 1.0, 30.0])
        book = Book()
        book.add(values)
        assert lower_bound([book], 0.9, 0.0, 100.0) <= values.mean() + 1e-7


@pytest.mark.compiled
def test_no_interval_misses_the_running_mean_more_often_than_it_may_however_rewards_drift():
    """8 streams of each of 10 logs, up to 60 looks: of 80 at most 80 x 0.05 + 4 standard deviations = 11 may be missed
    by each interval; the normal one misses far more."""
    missed = {}
    for number, world in enumerate(streams.worlds().values()):
        for seed in range(8):
            for row in streams.looks(world, np.random.default_rng([number, seed]), 200):
                missed[row["interval"]] = missed.get(row["interval"], 0) + row["missed"]
    assert missed.pop("normal") > 20
    assert max(missed.values()) <= 11


@pytest.mark.compiled
def test_the_truth_of_a_stream_is_the_mean_that_its_policies_were_to_expect():
    """The means of 20,000 weighted rewards are within five standard errors of it."""
    for name, world in streams.worlds().items():
        drawn = streams.stream(world, np.random.default_rng(2), 20_000)
        for candidate, truth in zip(drawn.candidates, drawn.truths, strict=True):
            value_curve = ValueCurve(drawn.logged, candidate, "ips")
            value_curve.take(20_000, bounded=False)
            value, error, _ = value_curve.found()
            assert abs(value - truth[-1]) < 5 * error, name
        assert drawn.logged.rewards.mean() == pytest.approx(drawn.own[-1], abs=5 * 0.5 / math.sqrt(20_000))


def books_of(rewards):
    books, kept = BettingProcess(), {}
    stops = [0, *split_rows(len(rewards)), len(rewards)]
    for start, end in pairwise(stops):
        books.add([(rewards[start:end], 0.0)], [(-rewards[start:end], 1.0)])
        if end < len(rewards):
            kept[end] = books.copy()
    return books, kept


def slow_change(rewards, mean):
    """E(v): both directions of bets, over the splits, as they are defined."""
    found = []
    for split in split_rows(len(rewards)):
        for sign in (1, -1):
            more, less = (rewards[:split], rewards[split:])[::sign]
            found.append(slow_wealth(more, 0.0, mean) * slow_wealth(1 - less, 0.0, 1 - mean))
    return np.mean(found)


def test_the_change_test_is_that_of_the_definition():
    rewards = (np.random.default_rng(4).random(120) < np.where(np.arange(120) < 60, 0.9, 0.2)) * 1.0
    change = change_in(*books_of(rewards), 0.05)
    least = min(slow_change(rewards, mean) for mean in np.linspace(0.4, 0.7, 61))
    assert change.evidence == pytest.approx(least, rel=0.01)
    assert change.evidence <= least * (1 + 1e-9)
    later = Book()
    later.add(rewards[change.row :])
    assert change.low == pytest.approx(lower_bound([later], 0.025 / len(split_rows(120)), 0.0, 1.0), abs=1e-8)
    assert 45 <= change.row <= 80
    assert change.low <= 0.2 <= change.high < 0.9


@pytest.mark.parametrize("mean", [0.02, 0.5])
def test_a_constant_mean_is_hardly_ever_said_to_change(mean):
    """At most 5 % of 200 are, 10 + 4 standard deviations = 22."""
    random = np.random.default_rng(5)
    found = [change_in(*books_of((random.random(300) < mean) * 1.0), 0.05) for _ in range(200)]
    assert sum(one is not None for one in found) <= 22


def test_a_mean_is_refuted_from_the_side_on_which_it_lies():
    book = Book()
    book.add(np.ones(100))
    assert refutes([book], 0.5, 0.05)
    assert not refutes([book], 1.0, 0.05)
    assert change_in(BettingProcess(), {}, 0.05) is None
