"""Keys: shown once, kept as a digest, good until revoked."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from evenhand.errors import ArgumentError
from evenhand.studies import Store
from evenhand.studies.keys import Ring, add_key, list_keys, new_key, passing_key, read_keys
from evenhand.studies.store.schema import KEYS


@pytest.fixture
def store():
    return Store.at(":memory:", create=True)


def test_a_secret_has_256_bits_and_is_never_the_same():
    texts = {new_key("read") for _ in range(50)}
    assert len(texts) == 50
    assert {len(text.split("_", 3)[3]) for text in texts} == {43}


def test_the_store_does_not_hold_the_text(store):
    text = add_key(store, "decide")
    with store.reading() as connection:
        row = connection.execute(select(KEYS)).one()
    assert text.split("_", 3)[3] not in repr(row)
    assert len(row.digest) == 64


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1] + ("A" if text[-1] != "A" else "B"),
        lambda text: text.replace("_read_", "_decide_"),
        lambda text: "",
        lambda text: text.split("_", 3)[3],
        lambda text: text + "ü",
        lambda text: "eh_read_00000000_" + text.split("_", 3)[3],
    ],
)
def test_a_text_that_differs_is_nobodys(store, change):
    text = add_key(store, "read")
    ring = Ring(read_keys(store))
    assert ring.holder(text).role == "read"
    assert ring.holder(change(text)) is None


@pytest.mark.parametrize("text", ["", "secret", "eh_read_1_short", "eh_boss_1_" + "x" * 43])
def test_a_passing_key_that_is_none_is_refused_without_being_shown(text):
    with pytest.raises(ArgumentError, match="the text of a key") as refused:
        passing_key(text, "the page")
    assert not text or text not in str(refused.value)


def limits(store, text):
    """Return the end and the studies of a key."""
    key = Ring(read_keys(store)).holder(text)
    return key.expires, key.studies


def test_a_key_ends_and_is_limited_to_studies(store):
    text = add_key(store, "read", expires="2999-12-31", studies=["b", "a", "a"])
    assert limits(store, text) == (datetime(2999, 12, 31, 23, 59, 59, tzinfo=UTC), ("a", "b"))
    key = list_keys(store)[0]
    assert (key.reaches("a"), key.reaches("c")) == (True, False)
    assert limits(store, add_key(store, "read")) == (None, None)


@pytest.mark.parametrize("end", ["90d", timedelta(days=90)])
def test_a_key_ends_after_a_duration(store, end):
    left = limits(store, add_key(store, "read", expires=end))[0] - datetime.now(UTC)
    assert timedelta(days=89, hours=23) < left <= timedelta(days=90)


AT = datetime(2999, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("end", [AT, "2999-01-01T14:00+02:00", "2999-01-01T12:00"])
def test_a_key_ends_at_a_time_with_its_zone(store, end):
    assert limits(store, add_key(store, "read", expires=end))[0] == AT


NOTES = ["x" * 201, "a\x1b[2Jb", "two\nlines", "\x9b31m", "\u202egnp.exe", "\0", 7]
ENDS = [timedelta(0), "2999-13-01", datetime(2999, 1, 1), "soon"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        *(({"note": note}, "note: expected a text of up to 200 printable characters") for note in NOTES),
        ({"expires": "2020-01-01"}, "expires: expected a time in the future"),
        *(({"expires": end}, "expires: expected a date such as 2030-12-31") for end in ENDS),
        *(({"studies": names}, "studies: expected the names") for names in ([], [""], ["a/b"], [1], "a b")),
    ],
)
def test_what_a_list_cannot_show_and_limits_that_are_none_are_refused(store, given, words):
    with pytest.raises(ArgumentError, match=words):
        add_key(store, "read", **given)
    assert list_keys(store) == []
