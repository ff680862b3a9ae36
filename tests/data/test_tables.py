"""Tables of users: labels as they were written, and every refusal by name."""

import numpy as np
import pandas as pd
import pytest

from evenhand.data.tables import column, in_natural_order, numbers
from evenhand.errors import TableError
from tests.naming import named


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (pd.Series([1, "a", np.int64(2)], dtype=object), [1, "a", 2]),
        (pd.Series([3, 1, 3], dtype="category"), [3, 1, 3]),
        (pd.Series([1, 2], dtype="Int64"), [1, 2]),
        (pd.Series([2**63 + 5, 1], dtype="uint64"), [2**63 + 5, 1]),
        (pd.Series([True, False]), ["true", "false"]),
        (pd.Series([0.5, 1.0]), ["0.5", 1]),
    ],
    ids=named,
)
def test_labels_keep_their_type(values, labels):
    read = column(pd.DataFrame({"arm": values}), "arm").tolist()
    assert read == labels
    assert [type(label) for label in read] == [type(label) for label in labels]


def test_an_object_that_is_no_label_is_refused():
    words = r"column 'arm', row 2: expected a whole number or text, got 1\.5; turn each float into text"
    with pytest.raises(TableError, match=words):
        column(pd.DataFrame({"arm": pd.Series(["a", 1.5], dtype=object)}), "arm")


def test_only_a_number_out_of_range_is_to_be_scaled():
    with pytest.raises(TableError, match=r"row 2: expected numbers in .* got 7.*; scale the column first"):
        numbers(pd.DataFrame({"click": [0, 7]}), "click", low=0, high=1)
    with pytest.raises(TableError, match=r"row 2: expected numbers in \[0, 1\], got 'x'$"):
        numbers(pd.DataFrame({"click": [0, "x"]}), "click", low=0, high=1)


def test_labels_stand_in_natural_order():
    labels = ["b", 10, "10", "-2", 9, "1e9999", "٣", "a", "01", 1, "1", ".5"]
    assert in_natural_order(labels * 2) == ["-2", ".5", "01", 1, "٣", 9, 10, "1e9999", "a", "b"]


@pytest.mark.parametrize(
    ("values", "row"),
    [
        ([1.0, 2.0**53], 2),
        (np.array([1, 2**24], np.float32), 2),
        (pd.array([1.0, 1e300], dtype="Float64"), 2),
        (pd.Categorical([1.0, 2.0**53 + 2]), 2),
    ],
    ids=["float", "float32", "Float64", "category"],
)
def test_a_float_that_may_be_several_whole_numbers_is_no_label(values, row):
    with pytest.raises(TableError, match=f"column 'id', row {row}: expected labels that floats hold exactly, below"):
        column(pd.DataFrame({"id": values}), "id")
