"""Columns as features: numbers and categories are read in one stated way, everything else is refused by name."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.data.encoding import fitted
from evenhand.data.features import categories, other_columns
from evenhand.data.tables import numbers
from evenhand.errors import TableError
from tests.naming import named

N = 60


def coded(values):
    """Return the names and the numbers of a column of features."""
    encoder, rows = fitted(pd.DataFrame({"c": values}), ["c"])
    return encoder.names, rows.T.tolist()


def test_numbers_and_truth_values_stay_what_they_are():
    for values in ([3, 1, 2], [3.0, 1.0, 2.0], np.array([3, 1, 2], np.uint8), pd.array([3, 1, 2], dtype="Int64")):
        assert coded(values) == (["c"], [[3.0, 1.0, 2.0]])
    assert coded(pd.Series([Decimal("1.5"), 2, 3.0], dtype=object)) == (["c"], [[1.5, 2.0, 3.0]])
    for kind in (bool, object, "boolean"):
        assert coded(pd.Series([True, False, True], dtype=kind)) == (["c"], [[1.0, 0.0, 1.0]])


def test_text_becomes_a_column_of_zeros_and_ones_for_each_category_but_the_first():
    sizes = ["large", "small", "middle", "large"]
    one_hot = ["c_middle", "c_small"], [[0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0]]
    assert coded(sizes) == coded(pd.Categorical(sizes)) == coded(pd.Series(sizes, dtype="string")) == one_hot
    assert coded(pd.Categorical([7, 5, 7])) == (["c_7"], [[1.0, 0.0, 1.0]])
    assert coded(pd.Series([1, "b", "1"], dtype=object)) == (["c_b"], [[0.0, 1.0, 0.0]])


def test_ordered_categories_are_numbers_in_their_order():
    ordered = pd.Categorical(["l", "s", "m", "l"], categories=["s", "m", "l"], ordered=True)
    assert coded(ordered) == (["c"], [[2.0, 0.0, 1.0, 2.0]])
    assert coded(pd.cut([5.0, 1.0, 9.0], [0, 3, 6, 10])) == (["c"], [[1.0, 0.0, 2.0]])
    assert coded(pd.Categorical([7, 5], categories=[7, 5], ordered=True)) == (["c"], [[0.0, 1.0]])


def test_the_same_transformer_reads_other_tables():
    frame = pd.DataFrame({"job": ["none", "some"], "age": [30, 40], 7: ["x", "y"]})
    encoder, rows = fitted(frame, ["job", "age", 7])
    assert encoder.names == ["job_some", "age", "7_y"]
    assert encoder.transform({"7": "y", "age": 5, "job": "some"}).tolist() == [[1.0, 5.0, 1.0]]
    assert eh.learners.LinUCB(arms=2).encode_with(encoder).contexts.feature_names == encoder.names
    assert rows.tolist() == [[0.0, 30.0, 0.0], [1.0, 40.0, 1.0]]


@pytest.mark.parametrize("columns", [{"a": ["x", "x"]}, {"a": ["x", "y"], "a_y": [1, 2]}], ids=["one value", "alike"])
def test_columns_that_make_no_features_are_refused(columns):
    with pytest.raises(TableError, match=r"features: expected columns with at least two values, .* names that differ"):
        fitted(pd.DataFrame(columns), list(columns))


TIMES = [
    pd.date_range("2020", periods=N),
    pd.to_timedelta(np.arange(N), unit="D"),
    pd.period_range("2020", periods=N, freq="M"),
    pd.Categorical(pd.date_range("2020", periods=N)),
    [dt.date(2020, 1, 1)] * N,
    [dt.time(12, 30)] * N,
    [dt.timedelta(3)] * N,
]
TEXTS = ["2020/1/5", "5.1.2020", "2020-01-05 12:30:00.5+01:00", "2020-01", "12:30", "05-Jan-2020", "Jan 5, 2020"]


@pytest.mark.parametrize("values", [*TIMES, *([text] * N for text in TEXTS)], ids=named)
def test_dates_times_and_durations_are_refused_with_a_mend(values):
    with pytest.raises(TableError, match=r"'c': expected numbers or categories, got .*; turn dates and durations"):
        categories(pd.DataFrame({"c": values}), "c")


@pytest.mark.parametrize("values", TIMES[:4], ids=named)
def test_dates_are_no_rewards_either(values):
    with pytest.raises(TableError, match=r"column 'c': expected finite numbers, got .*; turn dates"):
        numbers(pd.DataFrame({"c": values}), "c")


def test_text_that_only_resembles_a_date_is_a_category():
    for values in (["1.2.3", "1.2.4"], ["2020-21", "2021-22"], ["2020-01-05", "never"], ["12", "30"], ["May", "June"]):
        assert len(coded(values)[0]) == 1


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ([f"id {row}" for row in range(N)], "text with few values, got '60 in 60 rows'; if it is an identifier"),
        ([1 + 2j] * N, "finite numbers"),
        (pd.Series([1 + 2j] * N, dtype=object), "finite numbers"),
        ([[1, 2]] * N, "row 1: expected a whole number or text"),
        ([None, "a", None, "b", None], "row 1: the cell is empty, and so are 2 more in this column; fill it"),
        ([1.0, float("inf")], "row 2"),
    ],
    ids=named,
)
def test_what_is_neither_number_nor_category_is_refused(values, match):
    with pytest.raises(TableError, match=f"column 'c'.*{match}"):
        coded(values)


def test_an_identifier_may_be_declared_a_category_and_short_tables_may_differ_in_every_row():
    for values in (pd.Categorical([f"id {row}" for row in range(N)]), [f"id {row}" for row in range(50)]):
        assert np.sum(coded(values)[1]) == len(values) - 1
    assert len(coded([f"id {row % 30}" for row in range(N)])[0]) == 29


def test_categories_of_fewer_than_one_in_a_hundred_rows_share_a_column():
    names, rows = coded(["often"] * 200 + ["some"] * 95 + ["once", "twice", "twice"])
    assert names == ["c_some", "c_infrequent"]
    assert np.sum(rows, axis=1).tolist() == [95.0, 3.0]


def test_more_than_a_thousand_categories_are_refused():
    with pytest.raises(TableError, match="'c': expected at most 1000 categories, got 1001; leave it out of features="):
        coded(pd.Categorical([str(row) for row in range(1001)]))


def people(**columns):
    frame = pd.DataFrame({"sex": ["F", "M"] * (N // 2), "hired": np.arange(N) // 2 % 2, "age": np.arange(N) // 2})
    return frame.assign(**columns)


def test_without_names_all_columns_without_another_use_are_features():
    frame = people(income=np.arange(N) * 1000, place=np.arange(N) + 0.5)
    assert other_columns(frame, {"sex", "hired"}) == ["age", "income", "place"]
    assert other_columns(frame.assign(id=range(N)).head(20), {"sex", "hired"})[-1] == "id"


@pytest.mark.parametrize("numbers", [np.arange(N) + 1, np.arange(N)[::-1], np.arange(N) * 3 // 2], ids=named)
def test_a_column_that_numbers_the_rows_is_a_feature_only_where_it_is_named(numbers):
    frame = people(id=numbers)
    words = r"column 'id': expected a feature, got 'a number for each row, from \d+ to \d+'; leave it out of features="
    with pytest.raises(TableError, match=words):
        eh.groups.TableArms(frame, "sex", group="sex", reward="hired")
    with pytest.raises(TableError, match=words):
        eh.sampling.TablePool(frame, group="sex", label="hired")
    assert eh.groups.TableArms(frame, "sex", group="sex", reward="hired", features=["id"]).features == ["id"]
    assert eh.sampling.TablePool(frame, group="sex", label="hired", features=["id"]).features.names == ["id"]
