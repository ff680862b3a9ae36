"""Studies are kept in our stores and in those that others bring, as long as these keep the contract of a storage."""

import functools

import pytest

from evenhand.studies import Store
from tests.studies.conftest import empty_database
from tests.studies.storage_contract import CHECKS, LASTING, check_store

MEMBERS = "url", "in_memory", "serial", "reading", "writing", "names", "check_writable", "purge", "close"


class Outsider:
    """A storage that shares no base with `Store`, and has what `Storage` lists and nothing else."""

    def __init__(self, inner, **other):
        vars(self).update({name: getattr(inner, name) for name in MEMBERS} | other)


def opened(place):
    return Store.at(place, create=True)


def loose(place, way):
    """Reads or writes outside of transactions."""
    inner = opened(place)
    return Outsider(inner, **{way: lambda: inner._block(inner._ways.outside)})


def places(kind, request, tmp_path):
    """Return name -> a place of this kind, the same for the same name."""
    if kind == "postgresql":
        server = request.getfixturevalue("postgres")
        return functools.cache(lambda name: empty_database(server))
    return (lambda name: ":memory:") if kind == "memory" else lambda name: tmp_path / f"{name}.evenhand"


@pytest.mark.parametrize("kind", ["memory", "file", "postgresql"])
@pytest.mark.parametrize("made", [opened, lambda place: Outsider(opened(place))], ids=["ours", "outsider"])
def test_stores_keep_the_contract(made, kind, request, tmp_path):
    place = places(kind, request, tmp_path)
    left_out = LASTING if kind == "memory" else ()
    assert check_store(lambda name: made(place(name))) == [name for name in CHECKS if name not in left_out]


@pytest.mark.parametrize(
    ("way", "check"),
    [
        ("writing", "whole: a block that raised left \\['undone'\\]"),
        ("reading", "one state: a reader saw \\[\\], and \\['late'\\] in the same block"),
    ],
)
def test_a_storage_that_breaks_the_contract_is_named(way, check, tmp_path):
    with pytest.raises(AssertionError, match=f"^{check}"):
        check_store(lambda name: loose(tmp_path / f"{name}.evenhand", way))
