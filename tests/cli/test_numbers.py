"""A number is read alike in every option, and refused in the same words."""

import numpy as np
import pandas as pd
import pytest

from evenhand.errors import EvenhandError
from tests.cli.shell import answer, refused

NUMBER = "expected a number such as 0.1, 1/10 or 10%"
CAUSES = "--intervene group --sensitive s --outcome reward --candidates c.json --tolerance 0.1"


@pytest.fixture
def table():
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"group": random.choice(["f", "m"], 600), "reward": random.integers(2, size=600)})
    frame["x"] = random.random(600)
    frame.to_csv("log.csv", index=False)


@pytest.mark.parametrize("typed", ["0.1", "1/10", "10%", "10 %", "1e-1"])
def test_fractions_and_percents_are_numbers(table, typed):
    parity = ("audit-parity", "log.csv", "--json", "--tolerance")
    assert answer(*parity, typed) == answer(*parity, "0.1")


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("audit-parity log.csv --tolerance 0,1", f"--tolerance: {NUMBER}, got '0,1'; write 0.1, with a decimal point"),
        ("audit-parity log.csv --tolerance small", f"--tolerance: {NUMBER}, got 'small'"),
        ("certify out --at-most 40,5%", f"--at-most: {NUMBER}, got '40,5%'; write 40.5%, with a decimal"),
        ("audit-parity log.csv --within 1/2", "--within: expected a whole number, got '1/2'"),
        ("choose log.csv --state s --places 0", "--places: expected a number greater than or equal to 1, got '0'"),
        ("audit log.csv --shares 0,05", f"--shares: {NUMBER}, got '0,05'; write 0.05, with a decimal point"),
        (f"recommend log.csv --edges group->reward {CAUSES} --values no=x", "--values, no: expected a number, got 'x'"),
        (
            "audit log.csv --shares a=0,1;b=0,1",
            "--shares: expected ARM=SHARE,ARM=SHARE, got 'a=0,1;b=0,1'; '1' is not one; write decimals with a point",
        ),
    ],
)
def test_what_is_no_number_is_refused_in_the_same_words(table, tmp_path, typed, words):
    (tmp_path / "c.json").write_text('{"now": null}')
    refused(EvenhandError, words, *typed.split())
