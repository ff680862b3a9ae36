"""Rows that are held out are of the pool's own groups, and what is no group or class is refused by name."""

import numpy as np
import pandas as pd
import pytest

from evenhand.errors import ArgumentError, TableError
from evenhand.sampling import TablePool, fairness_report, group_errors, label_pairs

ROWS = pd.DataFrame({"who": [2, 10] * 20, "x": np.linspace(0, 1, 40), "y": [0, 1] * 20})
X = np.zeros((4, 1))


class Yes:
    """A model that is wrong of every 0."""

    def predict(self, X):
        return np.ones(len(X), int)


@pytest.mark.parametrize("kind", [int, float, str])
def test_groups_of_held_out_rows_are_named_and_ordered_as_those_of_the_pool(kind):
    pool = TablePool(ROWS, group="who", label="y", features=["x"])
    _, y, groups = pool.held_out(ROWS.assign(who=ROWS["who"].astype(kind)))
    assert groups.tolist() == ROWS["who"].tolist()
    assert group_errors(Yes(), ROWS[["x"]], y, groups=groups).tolist() == [1, 0]
    assert group_errors(Yes(), ROWS[["x"]], y, groups=ROWS["who"].astype(kind)).tolist() == [1, 0]


def test_a_held_out_row_of_no_group_of_the_pool_is_refused():
    pool = TablePool(ROWS, group="who", label="y", features=["x"])
    words = r"row 2: expected groups among \[2, 10\] \(whole numbers\), got '02' \(text\); did you mean 2\?"
    with pytest.raises(TableError, match=words):
        pool.held_out(ROWS.head(2).assign(who=["10", "02"]))


def test_groups_of_one_writing_are_one_in_a_report():
    report = fairness_report(Yes(), X, [0, 1, 0, 1], groups=[1, "1", 2, 1.0])
    assert report.by_group["count"].to_dict() == {1: 3, 2: 1}


def test_pairs_name_classes_however_they_are_written():
    images = np.zeros((4, 2, 2))
    assert label_pairs(images, ["3", "5", "3", "5"], {"p": (3, 5.0)}).y.tolist() == [0, 0, 1, 1]
    assert label_pairs(images, [1.0, 2.0, 1.0, 2.0], {"p": ("1", "2")}).y.tolist() == [0, 0, 1, 1]
    for pair, got in (((True, 2), r"True \(a truth value\)"), (("01", 2), r"'01' \(text\); did you mean 1\?")):
        words = r"pairs\['p'\]: expected classes that occur, among \[1, 2\] \(whole numbers\), got " + got
        with pytest.raises(ArgumentError, match=words):
            label_pairs(images, [1, 2, 1, 2], {"p": pair})
