"""The contract of a storage, for ours and for those that others bring.

whole            a block that raises leaves nothing behind
kept             what a block wrote is there when the place is opened again, and a closed storage reconnects
one state        a reader sees one state while others write, and holds no writer up
refusals         what the database refuses is a StoreError, and the next block works
tables           every table is there
same decisions   a study decides as it does in memory, and goes on after it is opened again
threads          threads with one storage and with their own take every round once, and the log verifies
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from typing import Any

import pytest
from sqlalchemy import Connection, insert, inspect, select, text

from evenhand.errors import StoreError, UnreachableError
from evenhand.quotas import FairUCB
from evenhand.studies.store.schema import KEYS, METADATA
from evenhand.studies.store.storage import Storage
from evenhand.studies.store.store import Store
from evenhand.studies.study import Study

__all__ = ["check_store"]

Opener = Callable[[str], Storage]
ROUNDS, THREADS = 12, 4
IDS = select(KEYS.c.id).order_by(KEYS.c.id)


def check_store(opened: Opener) -> list[str]:
    """Run the contract over the storages that `opened` returns by name, and return the names of the checks; the same
    name is the same place, except in memory, where those are left out of what outlives the process.

    Raises
    ------
    AssertionError
        At the first check that fails, with its name and what was seen.
    """
    with closing(opened("first")) as storage:
        assert isinstance(storage, Storage)
        done = [name for name in CHECKS if not storage.in_memory or name not in LASTING]
    for name in done:
        try:
            CHECKS[name](opened, name.replace(" ", ""))
        except (AssertionError, StoreError) as error:
            raise AssertionError(f"{name}: {error}") from error
    return done


def _keys(storage: Storage) -> list[str]:
    with storage.reading() as connection:
        return list(connection.scalars(IDS))


def _add_key(storage: Storage, id: str) -> None:
    with storage.writing() as connection:
        _insert(connection, id)


def _insert(connection: Connection, id: str) -> None:
    connection.execute(insert(KEYS), {"id": id, "role": "read", "digest": id, "note": "", "created_at": 1})


def _whole(opened: Opener, name: str) -> None:
    with closing(opened(name)) as storage:
        with suppress(ZeroDivisionError), storage.writing() as connection:
            _insert(connection, "undone")
            raise ZeroDivisionError
        found = _keys(storage)
        assert not found, f"a block that raised left {found}"
        storage.check_writable()
        assert not _keys(storage), "check_writable left a row behind"


def _kept(opened: Opener, name: str) -> None:
    with closing(opened(name)) as storage:
        _add_key(storage, "first")
        storage.close()
        _add_key(storage, "later")
    with closing(opened(name)) as storage:
        found = _keys(storage)
        assert found == ["first", "later"], f"of the rows 'first' and 'later', the place opened again holds {found}"


def _one_state(opened: Opener, name: str) -> None:
    with closing(opened(name)) as storage, closing(opened(name)) as other:
        with storage.reading() as connection, ThreadPoolExecutor(1) as elsewhere:
            before = list(connection.scalars(IDS))
            # In a thread: a reader that holds writers up would otherwise wait for itself until the patience ends.
            elsewhere.submit(_add_key, other, "late").result()
            after = list(connection.scalars(IDS))
        assert before == after, f"a reader saw {before}, and {after} in the same block"
        assert _keys(storage) == ["late"], "what another opening wrote is not seen by a later block"


def _refusals(opened: Opener, name: str) -> None:
    with closing(opened(name)) as storage:
        for block in (storage.reading, storage.writing):
            with pytest.raises(StoreError) as refusal, block() as connection:
                connection.execute(text("SELECT * FROM no_such_table"))
            assert storage.url in str(refusal.value), f"the error {refusal.value} does not name {storage.url}"
            assert not isinstance(refusal.value, UnreachableError), "a later try cannot succeed"
        _add_key(storage, "next")
        assert _keys(storage) == ["next"], "the block after a refusal did not work"


def _tables(opened: Opener, name: str) -> None:
    with closing(opened(name)) as storage, storage.reading() as connection:
        missing = METADATA.tables.keys() - set(inspect(connection).get_table_names())
        assert not missing, f"the tables {sorted(missing)} are missing"


def _policy() -> FairUCB:
    return FairUCB({"a": 0.2, "b": 0.3}, seed=1)


def _play(study: Any, rounds: int) -> list[int]:
    """Take and report decisions; return their tickets."""
    tickets = []
    for _ in range(rounds):
        decision = study.ask()
        study.tell(decision, float(decision.arm == "a"))
        tickets.append(decision.id)
    return tickets


def _same_decisions(opened: Opener, name: str) -> None:
    with closing(opened(name)) as storage, closing(Store.at(":memory:", create=True)) as memory:
        played = []
        for place in (memory, storage):
            _play(Study.create(place, _policy(), name="ads"), ROUNDS)
            study = Study.open(place, "ads")
            _play(study, ROUNDS)
            study.verify()
            played.append(list(study.frame()["arm"]))
        wished, found = played
        assert found == wished, f"decided {found}, in memory {wished}"
        assert storage.names() == ["ads"], f"names() is {storage.names()} after the study 'ads' was created"


def _threads(opened: Opener, name: str) -> None:
    with ExitStack() as stack:
        storage = stack.enter_context(closing(opened(name)))
        Study.create(storage, _policy(), name="ads")
        places = [storage] * THREADS
        if not storage.in_memory:
            places[: THREADS // 2] = [stack.enter_context(closing(opened(name))) for _ in range(THREADS // 2)]
        with ThreadPoolExecutor(THREADS) as pool:
            tickets = pool.map(lambda place: _play(Study.open(place, "ads"), ROUNDS), places)
            found = sorted(id for each in tickets for id in each)
        assert found == list(range(1, THREADS * ROUNDS + 1)), f"{THREADS} threads got the tickets {found}"
        Study.open(storage, "ads").verify()


CHECKS: dict[str, Callable[[Opener, str], None]] = {
    "whole": _whole,
    "kept": _kept,
    "one state": _one_state,
    "refusals": _refusals,
    "tables": _tables,
    "same decisions": _same_decisions,
    "threads": _threads,
}
LASTING = ("kept", "one state")
"""What a store in memory cannot keep, as it is gone with the process and has one user at a time."""
