"""Tables of users: labels as they were written, and every refusal by name."""

import numpy as np
import pandas as pd
import pytest

from evenhand.data.tables import column, in_natural_order, numbers, read_table
from evenhand.errors import TableError
from tests.naming import named


@pytest.fixture
def write(tmp_path):
    def written(text, name="t.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return path

    return written


def test_text_is_read_exactly_as_written(write):
    frame = read_table(write('arm,x\n01,1\n1,2\n"007",3\nNA,4\nnan,5\n1.0,NA\n'), text=["arm", "absent"])
    assert column(frame, "arm").tolist() == ["01", "1", "007", "NA", "nan", "1.0"]
    assert np.isnan(frame["x"].iloc[-1])


def test_only_an_empty_cell_of_text_is_empty(write):
    frame = read_table(write("arm,x\na,1\n,2\n"), text=["arm"])
    with pytest.raises(TableError, match="column 'arm', row 2: the cell is empty"):
        column(frame, "arm")


def test_a_doubled_column_is_refused_where_it_is_wanted(write):
    frame = read_table(write("item,item,click,\na,b,1,z\n"), text=["item"])
    assert numbers(frame, "click").tolist() == [1.0]
    assert frame.columns[-1] == "Unnamed: 3"
    with pytest.raises(TableError, match="column 'item': stands there 2 times"):
        column(frame, "item")


@pytest.mark.parametrize(
    ("text", "encoding", "words"),
    [
        ("item;click\na;1\n", "utf-8", "looks separated by ';'; save it with commas"),
        ("item;click\na;1,5\n", "utf-8", "looks separated by ';'"),
        ("item\tclick\na\t1\n", "utf-8", r"looks separated by '\\t'"),
        ("item\nJosé\n", "latin-1", "is not UTF-8; save it as CSV in UTF-8"),
        ("item\na\n", "utf-16", "is not UTF-8"),
        ("item\na,b\nc,d\n", "utf-8", "more cells than the header"),
    ],
)
def test_the_refusal_of_a_file_says_how_to_mend_it(write, text, encoding, words):
    with pytest.raises(TableError, match=words):
        read_table(write(text, encoding=encoding), text=["item"])


def test_a_mark_of_byte_order_is_no_part_of_a_name(write):
    assert read_table(write("item,x\n01,2\n", encoding="utf-8-sig"), text=["item"]).columns.tolist() == ["item", "x"]


def test_endings_in_upper_case_are_known(tmp_path):
    path = tmp_path / "LOG.PARQUET"
    pd.DataFrame({"arm": [1, 2]}).to_parquet(path)
    assert column(read_table(path), "arm").tolist() == [1, 2]


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
    words = r"column 'arm', row 2: wanted a whole number or text, got 1\.5; turn each float into text"
    with pytest.raises(TableError, match=words):
        column(pd.DataFrame({"arm": pd.Series(["a", 1.5], dtype=object)}), "arm")


def test_only_a_number_out_of_range_is_to_be_scaled():
    with pytest.raises(TableError, match=r"row 2: wanted numbers in .* got 7.*; scale the column first"):
        numbers(pd.DataFrame({"click": [0, 7]}), "click", low=0, high=1)
    with pytest.raises(TableError, match=r"row 2: wanted numbers in \[0, 1\], got 'x'$"):
        numbers(pd.DataFrame({"click": [0, "x"]}), "click", low=0, high=1)


@pytest.mark.parametrize("path", [None, 3, b"log.csv", ["log.csv"]], ids=repr)
def test_what_is_no_path_is_refused(path):
    with pytest.raises(TableError, match="path: wanted the path of a file, got"):
        read_table(path)


def test_labels_stand_in_natural_order():
    labels = ["b", 10, "10", "-2", 9, "1e9999", "٣", "a", "01", 1, "1", ".5"]
    assert in_natural_order(labels * 2) == ["-2", ".5", "01", 1, "1", "٣", 9, 10, "10", "1e9999", "a", "b"]
