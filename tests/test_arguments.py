"""Arguments are read once: what they may be, and how a refusal speaks."""

from fractions import Fraction

import numpy as np
import pytest

from evenhand.arguments import array, one_of, real, whole, yes_or_no
from evenhand.errors import ArgumentError, RewardError


@pytest.mark.parametrize(
    ("limits", "value", "says"),
    [
        ({"low": 0, "below": 0.5}, 0.5, r"x: expected a number >= 0 and < 0\.5, got 0\.5"),
        ({"above": 0}, 0, "x: expected a number > 0, got 0"),
        ({"high": 2}, 2.5, r"x: expected a number <= 2, got 2\.5"),
        ({}, float("nan"), "x: expected a finite number, got nan"),
        ({}, True, "x: expected a finite number, got True"),
        ({}, "1", "x: expected a finite number, got '1'"),
        ({}, 1 + 0j, r"x: expected a finite number, got \(1\+0j\)"),
        ({}, [10**400], r"x: expected a finite number, got \[1000"),
        ({}, [10**5000], "x: expected a finite number, got a list too long to print"),
        ({}, np.array([1.0]), "x: expected a finite number"),
    ],
)
def test_what_is_no_such_number_is_refused(limits, value, says):
    with pytest.raises(RewardError, match=says):
        real("x", value, refusal=RewardError, **limits)


@pytest.mark.parametrize("value", [2.0, "2", True, None, np.nan, 0, 10**40])
def test_what_is_no_whole_number_in_range_is_refused(value):
    with pytest.raises(ArgumentError, match=r"k: expected a whole number >= 1 and <= 9, got .*; try 3"):
        whole("k", value, low=1, high=9, hint="try 3")


def test_yes_or_no_and_words():
    assert yes_or_no("shared", np.True_) is True
    assert one_of("names", "all", ("all", "one")) == "all"
    for value in (1, "yes", None, np.array([True])):
        with pytest.raises(ArgumentError, match="shared: expected True or False"):
            yes_or_no("shared", value)
    for value in ("none", None, ["all"], np.array(["all", "one"])):
        with pytest.raises(ArgumentError, match="names: expected one of 'all', 'one'"):
            one_of("names", value, ("all", "one"))


def test_arrays_are_fresh_and_name_the_number_that_is_wrong():
    given = np.eye(2)
    read = array("A", given, "a matrix", dimensions=2)
    read[0, 0] = 5.0
    assert given[0, 0] == 1.0
    assert array("A", [[True, False]], "a matrix", dimensions=2).tolist() == [[1.0, 0.0]]
    assert array("A", [[Fraction(1, 2), 1]], "a matrix", dimensions=2).tolist() == [[0.5, 1.0]]
    assert np.isnan(array("A", [np.nan], "numbers", dimensions=1, infinite=True)[0])
    for value, says in (
        ([[1.0, np.nan]], r"A: expected finite numbers of at most 1e\+06, got 'nan at \[0, 1\]'"),
        ([[1.0], [1e7]], r"got '10000000\.0 at \[1, 0\]'"),
        ([1.0], r"A: expected a matrix, got 'an array of shape \(1,\)'"),
        (np.zeros((0, 2)), r"shape \(0, 2\)"),
        ([[1.0], [1.0, 2.0]], "A: expected a matrix, got"),
        ([["1"]], "A: expected a matrix, got"),
        (np.array([[1j]]), "A: expected a matrix, got"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "A: expected a matrix, got"),
        ([[10**400]], "A: expected a matrix, got"),
        ({1.0}, "A: expected a matrix, got"),
    ):
        with pytest.raises(ArgumentError, match=says):
            array("A", value, "a matrix", dimensions=2, largest=1e6)
