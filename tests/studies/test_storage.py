"""Studies are kept in our stores and in those that others bring, as long as these keep the contract of a storage."""

import functools
from contextlib import contextmanager

import pytest

from evenhand.studies import Store
from tests.studies.conftest import empty_database
from tests.studies.storage_contract import CHECKS, LASTING, check_store


class Outsider:
    """A storage that shares no base with `Store`, and has what `Storage` lists and nothing else."""

    def __init__(self, place):
        self._inner = Store.at(place, create=True)
        self.url, self.in_memory = self._inner.url, self._inner.in_memory

    @property
    def serial(self):
        return self._inner.serial

    def reading(self):
        return self._inner.reading()

    def writing(self):
        return self._inner.writing()

    def names(self):
        return self._inner.names()

    def check_writable(self):
        self._inner.check_writable()

    def purge(self, *tables):
        return self._inner.purge(*tables)

    def close(self):
        self._inner.close()


class Half(Outsider):
    """Saves what a block wrote before it raised."""

    @contextmanager
    def writing(self):
        failed = None
        with self._inner.writing() as connection:
            try:
                yield connection
            except ZeroDivisionError as error:
                failed = error
        if failed is not None:
            raise failed


class Fickle(Outsider):
    """Lets a reader see what is committed while it reads."""

    @contextmanager
    def reading(self):
        with self._inner._block(self._inner._ways.outside) as connection:
            yield connection


def places(kind, request, tmp_path):
    """Return name -> a place of this kind, the same for the same name."""
    if kind == "postgresql":
        server = request.getfixturevalue("postgres")
        return functools.cache(lambda name: empty_database(server))
    return (lambda name: ":memory:") if kind == "memory" else lambda name: tmp_path / f"{name}.evenhand"


@pytest.mark.parametrize("kind", ["memory", "file", "postgresql"])
@pytest.mark.parametrize("made", [lambda place: Store.at(place, create=True), Outsider], ids=["ours", "outsider"])
def test_stores_keep_the_contract(made, kind, request, tmp_path):
    place = places(kind, request, tmp_path)
    left_out = LASTING if kind == "memory" else ()
    assert check_store(lambda name: made(place(name))) == [name for name in CHECKS if name not in left_out]


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (Half, "whole: a block that raised left \\['undone'\\]"),
        (Fickle, "one state: a reader saw \\[\\], and \\['late'\\] in the same block"),
    ],
)
def test_a_storage_that_breaks_the_contract_is_named(broken, check, tmp_path):
    with pytest.raises(AssertionError, match=f"^{check}"):
        check_store(lambda name: broken(tmp_path / f"{name}.evenhand"))
