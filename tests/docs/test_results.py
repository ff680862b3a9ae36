"""docs/results.md: every verdict has a command that runs, every experiment a verdict, and no other page has any."""

import runpy
from pathlib import Path

from evenhand.experiments.framework import catalogue

DOCS = Path(__file__).parents[2] / "docs"
PAGE = runpy.run_path(str(DOCS / "verdicts.py"))
ROWS = list(PAGE["rows"]())
EXPERIMENTS = {one.id: one for one in catalogue()}


def ids(row):
    return [f"{row['paper']}/{name}" for name in row["experiment"].split()]


def test_every_verdict_names_its_experiments_and_none_is_left_out():
    assert {id for row in ROWS for id in ids(row)} == {*EXPERIMENTS}


def test_kinds_and_verdicts_are_of_three_each():
    assert {row["kind"] for row in ROWS} == {*PAGE["KINDS"]}
    assert {row["verdict"] for row in ROWS} == {*PAGE["WORDS"]}
    for row in ROWS:
        assert (row["kind"] == "reduced") == all(EXPERIMENTS[id].reduced is not None for id in ids(row)), row


def test_the_summary_counts_every_row_once():
    cells = PAGE["summary"]().split()
    assert sum(int(cell) for cell in cells if cell.isdigit()) == len(ROWS) > 70
