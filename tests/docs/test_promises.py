"""The table of docs/promises.md says of every pair of clauses whether it is accepted: each pair is made and played."""

import random
import re
from itertools import combinations
from pathlib import Path

import pytest

import evenhand as eh
from evenhand import Promise
from evenhand.quotas import DeadlineLearn

PAGE = Path(__file__).parents[2] / "docs" / "promises.md"
KINDS = ("lottery", "windows", "sets", "plays", "caps", "available", "change")
ARMS = ("a", "b", "c", "d")


def cells():
    """What the table says of each pair, such as "yes (2)"."""
    lines = PAGE.read_text().splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("| | windows | sets |"))
    columns = [word.strip() for word in lines[start].split("|")[2:-1]]
    found = {}
    for line in lines[start + 2 : start + 2 + len(columns)]:
        row, *said = (word.strip() for word in line.split("|")[1:-1])
        found |= {(row.strip("*"), column): text for column, text in zip(columns, said, strict=True) if text}
    return found


CELLS = cells()


def keep(pair):
    """Make a promise with both kinds and play it."""
    shares = dict.fromkeys(ARMS, 0) | ({} if "windows" in pair else {"b": "1/5"})
    shares |= {("c", "d"): "1/4"} if "sets" in pair else {}
    said = {"windows": {"a": 8, "b": 9}} if "windows" in pair else {}
    said |= {"plays": 2} if "plays" in pair else {}
    said |= {"caps": {"d": "1/2"}} if "caps" in pair else {}
    said |= {"offers": ["a", "b", "c"]} if {"caps", "available"} == set(pair) else {}
    promise = Promise(shares, **said)
    policy = DeadlineLearn(eh.learners.UCB1(), promise, lottery=0.5 if "lottery" in pair else None, seed=1)
    chance = random.Random(1)
    for round in range(30):
        offered = ["a", *(arm for arm in ARMS[1:] if chance.random() < 0.7)] if "available" in pair else None
        decision = policy.ask(available=offered)
        arms = decision.arms if promise.plays > 1 else (decision.arm,)
        assert set(arms) <= set(offered or ARMS)
        policy.tell(decision, dict.fromkeys(arms, 1.0) if promise.plays > 1 else 1.0)
        if "change" in pair and round == 15:
            policy.change(promise)


def test_the_table_has_every_pair():
    assert set(CELLS) == set(combinations(KINDS, 2))
    notes = set(re.findall(r"^(\d)\. ", PAGE.read_text(), re.MULTILINE))
    assert {text.split("(")[1][0] for text in CELLS.values() if "(" in text} <= notes


@pytest.mark.parametrize("pair", CELLS, ids="-".join)
def test_a_pair_is_accepted_as_the_table_says(pair):
    if CELLS[pair].startswith("yes"):
        keep(pair)
        return
    try:
        keep(pair)
    except eh.errors.EvenhandError:
        return
    pytest.fail(f"docs/promises.md says {CELLS[pair]!r} of {' and '.join(pair)}, but they go together: write yes")
