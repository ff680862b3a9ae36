"""Audits of logs that were written apart: the verdict is that of the worst order, found by trying all of them."""

import itertools
import random

import numpy as np
import pandas as pd
import pytest

from evenhand import Promise, audit
from evenhand.errors import ArgumentError, SharesError, TableError, UnknownArmError
from tests.promises.generated_promises import drawn_promise
from tests.promises.test_split import KINDS, frame
from tests.reference.books import counted

ROUNDS = 7


def broken_by(clause, log, arms):
    """The most plays of a clause that are missing or too many after any round, counted anew."""
    return counted([clause], [(played, offered, 0) for offered, played in log], arms=arms)[0][0, 0]["most"]


def orders(logs):
    """Every order in which the rounds of logs can be merged, each log's own order kept."""
    turns = [number for number, log in enumerate(logs) for _ in log]
    for order in sorted(set(itertools.permutations(turns))):
        left = [iter(log) for log in logs]
        yield [next(left[number]) for number in order]


def anything(promise, rounds, chance, offering):
    """A log of plays that keep nothing in particular."""
    log = []
    for _ in range(rounds):
        least = promise.plays if offering else len(promise.arms)
        offered = chance.sample(promise.arms, chance.randrange(least, len(promise.arms) + 1))
        log.append((offered, chance.sample(offered, promise.plays)))
    return log


@pytest.mark.parametrize("kinds", [*KINDS, {"windows", "arms on offer"}], ids=lambda kinds: " and ".join(sorted(kinds)))
def test_the_finding_is_that_of_the_worst_of_all_orders(kinds):
    chance, offering = random.Random(1), "arms on offer" in kinds
    broken = 0
    for seed in range(12):
        promise = drawn_promise(kinds, np.random.default_rng(seed))
        sizes = chance.choice([(3, 2, 2), (4, 3), (1, 1, 1, 2)])
        logs = [anything(promise, size, chance, offering) for size in sizes]
        finding = audit.promise(frames=[frame(log) for log in logs], arm="arm", promise=promise, available="on")
        worst = {
            clause: max(broken_by(clause, order, promise.arms) for order in orders(logs)) for clause in promise.clauses
        }
        found = {(row.promise, row.arm): row.broken_by for row in finding.promises.itertuples()}
        for clause, most in worst.items():
            assert found[clause.kind, clause.arms[0] if len(clause.arms) == 1 else clause.arms] == most, clause
        assert finding.kept is not any(worst.values())
        broken += not finding.kept
    assert broken > 0


def test_segments_are_judged_each_by_itself():
    first = pd.DataFrame({"arm": list("bab"), "shop": list("xyx")})
    logs = [first, pd.DataFrame({"arm": list("bb"), "shop": list("xz")})]
    finding = audit.promise(frames=logs, arm="arm", shares={"a": 0.5, "b": 0.5}, segment="shop")
    assert finding.promises[["arm", "segment", "plays", "broken_by"]].values.tolist() == [
        ["a", "x", 0, 1],
        ["a", "y", 1, 0],
        ["a", "z", 0, 0],
        ["b", "x", 3, 0],
        ["b", "y", 0, 0],
        ["b", "z", 1, 0],
    ]
    alone = audit.promise(first, arm="arm", shares={"a": 0.5, "b": 0.5}, segment="shop").promises
    rows = finding.promises[finding.promises["segment"] != "z"]
    assert alone[["arm", "segment"]].values.tolist() == rows[["arm", "segment"]].values.tolist()


LOG = pd.DataFrame({"arm": ["a"], "day": [1]})


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({}, ArgumentError, "frame or frames: expected one log"),
        ({"frame": LOG, "frames": [LOG]}, ArgumentError, "got 'both'"),
        ({"frames": []}, ArgumentError, "frames: expected a list of data frames"),
        ({"frames": LOG}, ArgumentError, "frames: expected a list of data frames"),
        ({"frames": [LOG, LOG.assign(arm="c")]}, UnknownArmError, "expected an arm that has a share"),
        ({"frames": [LOG, LOG.drop(columns="arm")]}, TableError, "arm"),
        ({"frames": [LOG], "shares": {1: {"a": 1}}}, SharesError, "shares that do not change"),
        ({"frames": [LOG], "promise": Promise({"a": 1})}, ArgumentError, "nothing together with a promise"),
    ],
)
def test_what_is_no_list_of_logs_or_no_promise_of_them_is_refused(given, kind, words):
    with pytest.raises(kind, match=words):
        audit.promise(arm="arm", **{"shares": {"a": 0.5, "b": 0.1}} | given)


def test_of_logs_without_a_column_of_offers_it_is_said_that_caps_count_every_play():
    log, said = pd.DataFrame({"arm": ["a", "a", "b"]}), "A log without a column of offers counts as one in which every"
    given = {"arm": "arm", "shares": {"a": 0, "b": 0}, "caps": {"a": 0.4}}
    found = audit.promise(frames=[log, log], **given)
    assert not found.kept
    assert found.notes[-1].startswith(said)
    of_study = log.assign(given="{}", told_at=pd.NaT)
    away = of_study.assign(available=["a", "a", "b"])
    for frames, notes in (([away, away], {False}), ([of_study, away], {True, False})):
        found = audit.promise(frames=frames, **given)
        assert {note.startswith(said) for note in found.notes[1:]} == notes
    weighed = audit.promise(frames=[log.assign(cost=1)] * 2, weight="cost", **given)
    assert len(weighed.notes) == 1
