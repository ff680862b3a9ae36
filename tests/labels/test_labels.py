"""Labels stay as many as they were: combined into one label, written as columns, drawn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.errors import ArgumentError
from evenhand.labels import combined_labels, label_texts

PIECES = st.one_of(st.sampled_from(["a", "b", "a & b", "&", " & ", "1", "a/b", '"1"', '["a", "b"]']), st.integers(0, 2))
ROWS = st.one_of(PIECES, st.lists(PIECES, min_size=2, max_size=3).map(tuple))


@given(st.lists(ROWS, min_size=1, max_size=8))
def test_combined_labels_are_equal_exactly_where_their_rows_are(rows):
    try:
        labels = combined_labels(rows, "groups")
    except ArgumentError:
        assert any(isinstance(row, str) and row.startswith("[") for row in rows)
        return
    assert [[one == other for other in labels] for one in labels] == [[one == other for other in rows] for one in rows]
    assert all(label == row for label, row in zip(labels, rows, strict=True) if not isinstance(row, tuple))


@given(st.lists(ROWS, min_size=1, max_size=8), st.sampled_from([" & ", "/"]))
def test_texts_are_equal_exactly_where_labels_are(labels, between):
    texts = label_texts(labels, between)
    assert all(isinstance(text, str) for text in texts)
    assert [[one == other for other in texts] for one in texts] == [[a == b for b in labels] for a in labels]


def test_labels_read_plainly_where_nothing_is_lost():
    assert label_texts(["a", 1, ("b", 2)]) == ["a", "1", "b & 2"]


def test_a_label_that_is_another_ones_json_is_refused():
    with pytest.raises(ArgumentError, match="groups: expected labels that tell the combinations apart"):
        combined_labels([("F", "M"), "F & M", '["F", "M"]'], "groups")
