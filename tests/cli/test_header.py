"""A CSV without a header: it is said to look like one, and --header names its columns, in every command."""

from pathlib import Path

import pandas as pd
import pytest

from evenhand.cli.command import COMMANDS, command_of
from evenhand.data.csv_files import like_data
from evenhand.errors import EvenhandError
from tests.cli.shell import answer, call


@pytest.fixture(autouse=True)
def here():
    Path("log.csv").write_text("a,1\nb,0\n" * 20)
    Path("shares.csv").write_text("arm,share\na,0.2\nb,0.1\n")


AUDIT = ["audit", "log.csv", "--shares"]


def test_a_first_line_that_looks_like_a_row_is_said_to():
    said = call(*AUDIT, "0.2").stderr
    assert said.startswith("Read log.csv: the first line looks like a row, not like names: a, 1; if it is, pass --head")


@pytest.mark.parametrize("names", ["arm,reward", '["arm", "reward"]'])
def test_the_columns_are_named_and_no_row_is_lost(names):
    said = answer(*AUDIT, "0.2", "--header", names)
    assert "log.csv: 40 decisions" in said
    assert "looks like a row" not in said
    text = Path("log.csv").read_text()
    assert "40 decisions" in answer("audit", "-", "--shares", "0.2", "--header", names, stdin=text)


def test_a_second_table_with_a_header_keeps_it():
    answer(*AUDIT, "shares.csv", "--header", "arm,reward")


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("arm,reward,more", "log.csv, --header: expected a name for each cell of the first line, got 3 names and 2"),
        ("arm", "log.csv: row 1 has 2 cells, more cells than the header (1)"),
        ("arm,,b", "--header: expected each name once, and none empty, got 'arm,,b'"),
        ("x,y", "--arm: expected one of the columns x,y, got 'arm'"),
    ],
)
def test_names_that_do_not_fit_are_refused(names, words):
    result = call(*AUDIT, "0.2", "--header", names)
    assert isinstance(result.exception, EvenhandError), result.output
    assert str(result.exception).startswith(words)


def test_many_files_are_not_read_otherwise_than_was_said():
    result = call("audit", "lo*.csv", "--shares", "0.2", "--sep", ";")
    assert str(result.exception).startswith("LOG: expected one file with --sep, --decimal, --encoding, --format")


@pytest.mark.parametrize("command", [name for name in COMMANDS if command_of(name).said.tables])
def test_every_command_that_reads_tables_takes_it_for_its_own_table(command):
    names = {parameter.name for parameter in command_of(command).params}
    assert {"header", *command_of(command).said.tables.split()} <= names


@pytest.mark.parametrize(
    ("header", "rows", "alike"),
    [
        (["39", "Private"], [[50, "Private"], [38, "Gov"]], True),
        (["f", "yes"], [["f", "no"], ["m", "yes"]], True),
        (["1", "6", "1"], [[2, 3, 4]], True),
        (["arm", "reward"], [["arm", 1], ["b", 0]], False),
        (["country", "2019"], [["DE", 1], ["FR", 2]], False),
        (["2019", "2020", "2021"], [[1, 2, 3]], False),
        (["0", "1"], [[1.5, 2]], False),
        (["name", "city"], [["ann", "Rome"], ["bob", "Oslo"]], False),
    ],
)
def test_a_header_is_told_from_a_row(header, rows, alike):
    assert bool(like_data(pd.DataFrame(rows, columns=header))) is alike
