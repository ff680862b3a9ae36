"""What the log keeps of what it is given: everything, or a refusal by name."""

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.errors import ArgumentError, ClosedTicketError, ReplayError
from evenhand.kernels.compose import flat
from evenhand.studies import Ask, Study
from evenhand.studies.log.codec import as_decided, decision_from, from_text, revive, to_plain, to_text
from tests.naming import named
from tests.studies.conftest import example

numbers = st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(), st.booleans(), st.none())
texts = st.one_of(st.text(max_size=6), st.sampled_from(["$float", "$table", "$items", "", "\x00", "ä"]))
values = st.recursive(
    numbers | texts,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(texts | st.integers(-9, 9) | st.tuples(texts, st.integers(0, 9)), inner, max_size=4)
    ),
    max_leaves=20,
)


def kept(value):
    """What comes out of the log for what goes in."""
    return revive(from_text(to_text(to_plain(value))))


def same(one, other):
    """Equal in value and kind, nan equal to nan."""
    return repr(one) == repr(other)


@given(values)
def test_what_goes_in_comes_out(value):
    assert same(kept(value), value)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "longdouble", "i1", "i4", "u8", "bool", "U3", "O"])
def test_arrays_and_their_numbers_come_out_as_lists_and_numbers(dtype):
    array = np.array([[0, 1], [1, 0]]).astype(dtype)
    expected = [["0", "1"], ["1", "0"]] if dtype == "U3" else [[0, 1], [1, 0]]
    assert kept(array) == expected
    assert same(kept(array[0, 1]), kept(array)[0][1])
    assert type(kept(array)[0][0]) in (int, float, bool, str)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "longdouble"])
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf], ids=str)
def test_numbers_that_json_does_not_have(dtype, odd):
    array = np.array([[1.5, 2.0], [3.0, odd]], dtype=dtype)
    assert same(kept(array), [[1.5, 2.0], [3.0, odd]])
    assert same(kept(array[1, 1]), odd)
    assert same(kept([1.0, odd]), [1.0, odd])


def test_sets_come_out_sorted_whatever_they_hold():
    assert kept({(1, 2), (0, 3)}) == [[0, 3], [1, 2]]
    assert kept(frozenset({np.int64(3), 1})) == [1, 3]
    assert kept({"a", 1}) == kept({1, "a"})


def test_tables_keep_columns_missing_cells_and_odd_numbers():
    table = pd.DataFrame(
        {
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "real": [0.5, np.nan, np.inf],
            "text": ["a", None, "c"],
            "kind": pd.Categorical(["x", "y", "x"]),
            7: [True, False, True],
        },
        index=[5, 6, 7],
    )
    again = kept(table)
    kinds = {"whole": object, "text": object, "kind": object}
    expected = table.astype(kinds).rename(columns=str).map(lambda cell: None if cell is pd.NA else cell)
    pd.testing.assert_frame_equal(again, expected, check_dtype=False)
    assert again["real"].dtype == np.float64
    assert to_plain(again) == to_plain(table)
    assert kept([table])[0].equals(again)


@pytest.mark.parametrize(("index", "columns"), [(None, None), ([1, 0], [1, 0]), (["b", "a"], None), (None, ["0", "1"])])
def test_tables_keep_what_numbers_their_rows_and_columns(index, columns):
    table = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], index=index, columns=columns)
    again = kept(table)
    assert again.index.tolist() == table.index.tolist()
    assert again.columns.tolist() == ([0, 1] if columns is None else list(map(str, columns)))


@pytest.mark.parametrize("index", [[0, 1], [1, 0], [5, 6], ["b", "a"]])
def test_a_series_keeps_its_labels_whatever_they_are(index):
    series = pd.Series([0.5, 1.0], index=index)
    assert kept(series).equals(series)


def test_fractions_and_decimals_are_texts_where_they_are_exact_and_numbers_elsewhere():
    given = {"a": Fraction(1, 3), "b": [Decimal("0.5")], "c": Decimal("NaN"), "d": Fraction(10**400)}
    assert to_plain(given) == {"a": "1/3", "b": ["0.5"], "c": "NaN", "d": str(10**400)}
    assert to_plain(given, exact=False) == {"a": 1 / 3, "b": [0.5], "c": {"$float": "nan"}, "d": {"$float": "inf"}}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        *((pd.DataFrame([[1, 2]], columns=both), "a table with each column once") for both in (["a", "a"], [1, "1"])),
        *((one, "numbers, texts, lists, arrays or tables") for one in (object(), pd.NaT, {"a": {1: [b"x"]}})),
    ],
    ids=named,
)
def test_what_a_log_cannot_keep_is_refused_by_name(value, words):
    with pytest.raises(ArgumentError, match=f"reward: expected {words}"):
        to_plain(value, "reward")


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, [10**30], "\ud800", {"\udfff": 1}], ids=named)
def test_numbers_too_large_and_texts_that_are_none_are_refused(value):
    with pytest.raises(ArgumentError, match=re.escape("given: expected numbers below 2^63 and text in UTF-8")):
        to_text(value)


# ---------------------------------------------------------------------- what goes through a study


@pytest.mark.parametrize("key", ["a\nb", "a\x1fb", "\ud800", "a\x00"], ids=named)
def test_keys_and_names_of_callers_are_texts_that_can_be_read(key):
    study = Study.create(":memory:", eh.quotas.FairUCB([0.3, 0.3], seed=1))
    *refused, sound = study.run([Ask(key=key), Ask(actor=key), Ask(actor="x" * 101), Ask(key="é ü", actor="cron")])
    assert [str(one).split(":")[0] for one in refused] == ["key", "actor", "actor"]
    assert all(isinstance(one, ArgumentError) for one in refused)
    assert sound.id == 1


def test_a_ticket_that_was_closed_before_the_study_began():
    used = eh.learners.UCB1(arms=2)
    used.tell(used.ask(), 1.0)
    study = Study.create(":memory:", used)
    with pytest.raises(ClosedTicketError, match="ticket 1 was told or forgotten before the study began"):
        study.tell(1, 1.0)
    assert study.ask().id == 2


def test_what_fails_in_replay_is_said_with_its_entry(monkeypatch):
    study = Study.create(":memory:", eh.learners.UCB1(arms=2))
    study.ask()

    def broken(self, contexts=None):
        raise ZeroDivisionError("a slip in new code")

    monkeypatch.setattr(eh.learners.UCB1, "ask", broken)
    with pytest.raises(ReplayError, match="entry 1, ask 1: refused in replay: a slip in new code"):
        Study.open(study.store).policy  # noqa: B018


@pytest.mark.parametrize(
    "home", ["quotas/fair-ucb", "similarity/lipschitz-ucb", "sampling/uniform", "interventions/csr"]
)
def test_a_ticket_of_any_kind_comes_back_as_it_was(home):
    policy, world = example(home)
    ticket = policy.ask(*world.observe())
    again = decision_from(from_text(to_text(as_decided(ticket))))
    assert type(again) is type(ticket)
    assert to_text(as_decided(again)) == to_text(as_decided(ticket))
    assert home == "interventions/csr" or again == ticket


@pytest.mark.parametrize("home", ["groups/group-fair-top-interval", "groups/linear-thompson"])
def test_the_first_decision_after_contexts_names_its_random_streams_too(home):
    policy, world = example(home)
    shown = world.observe()
    study = Study.create(":memory:", policy.fresh())
    study.ask(*shown)
    begun = policy.fresh()
    begun._begin(np.asarray(shown[0]).shape[1])
    streams = [field.tobytes().hex() for field in flat(begun.engine.state) if field.dtype == np.uint64]
    assert study.log.record(1).random_state == streams != []
