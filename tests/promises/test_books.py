"""The books against their slow twin: every kind of clause, keys, offers, spans, and any cut of a log."""

import random
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.promises.books import ClauseCounts, join
from evenhand.promises.clause import Clause
from evenhand.promises.round_kernels import Rounds
from tests.fuzzing import many
from tests.reference.books import counted

ARMS = ("a", "b", "c", "d")


def drawn_clause(rng):
    arms = tuple(rng.sample(ARMS, rng.choice([1, 1, 2, 3])))
    kind = rng.choice(["floor", "floor", "cap", "window"])
    if kind == "window":
        count = rng.randint(1, 3)
        return Clause(kind, arms, (count, rng.randint(count, 9)))
    rate = F(rng.randint(0, 9), rng.choice([9, 10, 20])) * (rng.choice([1, 2]) if len(arms) > 1 else 1)
    return Clause(kind, arms, rate, rng.randint(0, 2))


def drawn_log(rng, size):
    """Rounds of a log: often one play, sometimes several or none, offers that come and go, keys."""
    several, offers, keys = rng.random() < 0.5, rng.random() < 0.5, rng.choice([1, 3])
    log = []
    for _ in range(size):
        offered = rng.sample(ARMS, rng.randint(1, 4)) if offers else list(ARMS)
        played = rng.sample(offered, rng.randint(0, min(3, len(offered))) if several else 1)
        log.append((played, offered, rng.randrange(keys)))
    return log


def as_rounds(log):
    """The same rounds as arrays, in the plainest form that holds them."""
    plays = [[ARMS.index(arm) for arm in played] for played, _, _ in log]
    starts = np.cumsum([0, *map(len, plays)])
    keys = np.array([key for _, _, key in log], np.int64)
    offers = np.array([[arm in offered for arm in ARMS] for _, offered, _ in log], np.bool_).reshape(-1, len(ARMS))
    return Rounds(
        np.array([arm for played in plays for arm in played], np.int32),
        np.arange(len(ARMS)),
        starts[:0] if all(len(played) == 1 for played in plays) else starts,
        keys if keys.any() else keys[:0],
        offers[:0] if offers.all() else offers,
    )


def agree(counts, clauses, log, spans=None):
    expected, broken = counted(clauses, log, spans)
    for (key, q), one in expected.items():
        at = key * len(clauses) + q
        for name, value in one.items():
            assert getattr(counts, name)[at] == pytest.approx(float(value), abs=1e-9), (name, clauses[q], key)
    assert counts.broken[0] == sum(broken)


seeds = st.integers(0, 10**9)


@settings(max_examples=many(60), deadline=None)
@given(seed=seeds)
def test_rounds_entered_one_by_one_count_what_the_definition_counts(seed):
    rng = random.Random(seed)
    clauses, log = [drawn_clause(rng) for _ in range(4)], drawn_log(rng, rng.randint(1, 60))
    books, found = ClauseCounts(clauses, ARMS, 3), []
    for played, offered, key in log:
        offer = None if len(offered) == 4 else [ARMS.index(arm) for arm in offered]
        found.append(books.enter([ARMS.index(arm) for arm in played], offer, key))
    books.close()
    agree(books.counts, clauses, log)
    assert found == counted(clauses, log)[1]


@settings(max_examples=many(60), deadline=None)
@given(seed=seeds)
def test_stretches_of_any_cut_show_together_what_the_whole_shows(seed):
    rng = random.Random(seed)
    clauses, log = [drawn_clause(rng) for _ in range(4)], drawn_log(rng, rng.randint(1, 80))
    spans = [tuple(sorted(rng.sample(range(len(log) + 2), 2))) for _ in clauses] if rng.random() < 0.5 else None
    cuts = sorted(rng.sample(range(len(log) + 1), min(rng.randint(0, 4), len(log))))
    pieces = [(a, b) for a, b in zip([0, *cuts], [*cuts, len(log)], strict=True) if a < b]
    looks, standing, parts, seen = np.arange(1, len(log) + 1, 3), None, [], []
    for start, end in pieces:
        books = ClauseCounts(clauses, ARMS, 3, standing, spans=spans, rounds=start)
        wrong, now = books.follow(as_rounds(log[start:end]), looks)
        assert wrong == -1
        standing = books.standing
        books.close()
        seen.extend((now + np.array([0, 0, sum(part.broken[0] for part in parts)])).tolist())
        parts.append(books.counts)
    agree(join(rng.sample(parts, len(parts))), clauses, log, spans)
    whole = ClauseCounts(clauses, ARMS, 3, spans=spans)
    assert whole.follow(as_rounds(log), looks)[1].tolist() == seen


def test_fractions_of_any_size_are_counted_exactly():
    """No product of a share and a round is formed, so that no share is too fine for a long log."""
    rate = F(10**17 + 3, 3 * 10**17 + 1)
    books, clauses = ClauseCounts([Clause("floor", ("a",), rate), Clause("cap", ("a",), rate)], ("a",)), [0, 0]
    for t in range(1, 40):
        plays = books.counts.plays[0]
        books.enter([0] if rate * t >= plays + 1 else [])
        clauses = [rate * t // 1 - books.counts.plays[0], books.counts.missed[1]]
        assert clauses == [0, 0]
    assert books.counts.plays[0] == 13
