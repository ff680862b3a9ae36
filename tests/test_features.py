"""Columns as features: numbers and categories are read in one stated way, everything else is refused by name."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from evenhand.data.features import coded
from evenhand.data.tables import numbers
from evenhand.errors import TableError
from tests.naming import named

N = 60


def read(values):
    return coded(pd.DataFrame({"c": values}), "c").tolist()


def test_numbers_and_truth_values_stay_what_they_are():
    for values in ([3, 1, 2], [3.0, 1.0, 2.0], np.array([3, 1, 2], np.uint8), pd.array([3, 1, 2], dtype="Int64")):
        assert read(values) == [3.0, 1.0, 2.0]
    assert read(pd.Series([Decimal("1.5"), 2, 3.0], dtype=object)) == [1.5, 2.0, 3.0]
    for kind in (bool, object, "boolean"):
        assert read(pd.Series([True, False, True], dtype=kind)) == [1.0, 0.0, 1.0]


def test_ordered_categories_are_read_in_their_order_and_others_by_first_appearance():
    sizes = ["large", "small", "middle", "large"]
    ordered = pd.Categorical(sizes, categories=["small", "middle", "large"], ordered=True)
    assert read(ordered) == [2.0, 0.0, 1.0, 2.0]
    assert read(pd.Categorical(sizes)) == read(sizes) == [0.0, 1.0, 2.0, 0.0]
    assert read(pd.cut([5.0, 1.0, 9.0], [0, 3, 6, 10])) == [1.0, 0.0, 2.0]
    assert read(pd.Categorical([7, 5, 7])) == [0.0, 1.0, 0.0]


TIMES = [
    pd.date_range("2020", periods=N),
    pd.date_range("2020", periods=N, tz="Europe/Berlin"),
    pd.to_timedelta(np.arange(N), unit="D"),
    pd.period_range("2020", periods=N, freq="M"),
    pd.Categorical(pd.date_range("2020", periods=N)),
    pd.Categorical(pd.date_range("2020", periods=N), ordered=True),
    [dt.date(2020, 1, 1)] * N,
    [dt.datetime(2020, 1, 1, 5)] * N,
    [dt.time(12, 30)] * N,
    [dt.timedelta(3)] * N,
    ["2020-01-05"] * N,
    ["2020/1/5", "2020/12/31"] * (N // 2),
    ["5.1.2020"] * N,
    ["2020-01-05T12:30:00Z"] * N,
    ["2020-01-05 12:30:00.5+01:00"] * N,
    ["2020-01"] * N,
    ["12:30"] * N,
    ["05-Jan-2020"] * N,
    ["Jan 5, 2020"] * N,
]


@pytest.mark.parametrize("values", TIMES, ids=named)
def test_dates_times_and_durations_are_refused_with_a_mend(values):
    with pytest.raises(TableError, match=r"column 'c': wanted numbers or categories, got .*; turn dates and durations"):
        read(values)


@pytest.mark.parametrize("values", TIMES[:4], ids=named)
def test_dates_are_no_rewards_either(values):
    with pytest.raises(TableError, match=r"column 'c': wanted finite numbers, got .*; turn dates"):
        numbers(pd.DataFrame({"c": values}), "c")


def test_text_that_only_resembles_a_date_is_a_category():
    for values in (["1.2.3", "1.2.4"], ["2020-21", "2021-22"], ["2020-01-05", "never"], ["12", "30"], ["May", "June"]):
        assert read(values) == [0.0, 1.0]


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ([f"id {row}" for row in range(N)], "text with few values, got '60 in 60 rows'; leave an identifier out"),
        ([1 + 2j] * N, "finite numbers"),
        (pd.Series([1 + 2j] * N, dtype=object), "finite numbers"),
        ([[1, 2]] * N, "row 1: wanted a whole number or text"),
        ([{"a": 1}] * N, "row 1: wanted a whole number or text"),
        ([1, "a", None], "row 3: the cell is empty"),
        ([1.0, float("inf")], "row 2"),
        ([1, "a", 2.5], "row 3: wanted a whole number or text"),
    ],
    ids=named,
)
def test_what_is_neither_number_nor_category_is_refused(values, match):
    with pytest.raises(TableError, match=f"column 'c'.*{match}"):
        read(values)


def test_an_identifier_may_be_declared_a_category_and_short_tables_may_differ_in_every_row():
    assert read(pd.Categorical([f"id {row}" for row in range(N)])) == [float(row) for row in range(N)]
    assert read([f"id {row}" for row in range(50)]) == [float(row) for row in range(50)]
    assert len(set(read([f"id {row % 30}" for row in range(N)]))) == 30
