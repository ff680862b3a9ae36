"""A number is read alike in every option, and refused in the same words."""

import numpy as np
import pandas as pd
import pytest

from evenhand.errors import ArgumentError, EvenhandError
from tests.cli.shell import answer, refused

POINT = "with a decimal point"


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"group": random.choice(["f", "m"], 600), "reward": random.integers(2, size=600)})
    frame["x"] = random.random(600)
    frame.to_csv("log.csv", index=False)


@pytest.mark.parametrize("typed", ["0.1", "1/10", "10%", "10 %", "1e-1"])
def test_fractions_and_percents_are_numbers(table, typed):
    assert answer("audit-parity", "log.csv", "--tolerance", typed, "--json") == answer(
        "audit-parity", "log.csv", "--tolerance", "0.1", "--json"
    )


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (
            f"--tolerance: expected a number such as 0.1, 1/10 or 10%, got '0,1'; write 0.1, {POINT}",
            ["audit-parity", "log.csv", "--tolerance", "0,1"],
        ),
        (
            "--tolerance: expected a number such as 0.1, 1/10 or 10%, got 'small'",
            ["audit-parity", "log.csv", "--tolerance", "small"],
        ),
        (
            f"--at-most: expected a number such as 0.1, 1/10 or 10%, got '40,5%'; write 40.5%, {POINT}",
            ["certify", "out", "--at-most", "40,5%", "--fresh", "log.csv"],
        ),
        ("--within: expected a whole number, got '1/2'", ["audit-parity", "log.csv", "--within", "1/2"]),
        (
            "--places: expected a number greater than or equal to 1, got '0'",
            ["choose", "log.csv", "--state", "s", "--places", "0"],
        ),
        (
            "--costs: expected NAME=NUMBER,NAME=NUMBER, got a value without names",
            ["sample", "log.csv", "--group", "group", "--label", "reward", "--budget", "30", "--costs", "3"],
        ),
        (
            f"--shares: expected a number such as 0.1, 1/10 or 10%, got '0,05'; write 0.05, {POINT}",
            ["audit", "log.csv", "--shares", "0,05"],
        ),
        (
            "--values, no: expected a number, got 'x'",
            [
                "recommend",
                "log.csv",
                "--edges",
                "group -> reward",
                "--intervene",
                "group",
                "--sensitive",
                "s",
                "--outcome",
                "reward",
                "--candidates",
                "c.json",
                "--tolerance",
                "0.1",
                "--values",
                "no=x",
            ],
        ),
        (
            "--shares: expected ARM=SHARE,ARM=SHARE, got 'a=0,1;b=0,1'; '1' is not one; write decimals "
            "with a point, 0.1",
            ["audit", "log.csv", "--shares", "a=0,1;b=0,1"],
        ),
    ],
)
def test_what_is_no_number_is_refused_in_the_same_words(table, tmp_path, words, arguments):
    (tmp_path / "c.json").write_text('{"now": null}')
    refused(ArgumentError if "--shares" not in words else EvenhandError, words, *arguments)
