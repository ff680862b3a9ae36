"""Damaged stores, changed rows and indexes that lead astray are found by `verify`, and stop one person at most."""

import random
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from sqlalchemy import text

import evenhand as eh
from evenhand.errors import ErasedError, EvenhandError, StoreError
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.studies import Ask, Study, Tell
from tests.fuzzing import many
from tests.studies.test_verify import change, execute

SHARES = {"ads": 0.2, "news": 0.3}
READ = ("* FROM studies", "* FROM events", "study, sequence, digest, state FROM snapshots")
"""When and by which version a snapshot was taken decides nothing."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A small store of several pages, with keys, closed tickets and snapshots; no process has it open."""
    path = tmp_path_factory.mktemp("sound") / "ads.evenhand"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("evenhand.studies.log.replay.ENTRIES", 16)
        study = Study.create(path, eh.quotas.FairLearn(eh.learners.Thompson(seed=2), SHARES, seed=1), name="ads")
        for n in range(24):
            decision = study.ask(key=f"order {n}" if n % 2 else None)
            study.forget(decision) if n % 7 == 3 else study.tell(decision, n % 3 / 2)
        study.close()
    return path


def contents(path):
    """What verification may read, found without any index; states as they are read."""
    with closing(sqlite3.connect(path)) as database:
        tables = [database.execute(f"SELECT {what} NOT INDEXED").fetchall() for what in READ]
    return [sorted(repr([read(cell) for cell in row]) for row in rows) for rows in tables]


def read(cell):
    return to_bytes(from_bytes(cell)) if isinstance(cell, bytes) else cell


def verified(path, content=None):
    """What verification says of a store, of this content: whether all is well; a store that cannot be opened is refused
    by name."""
    if content is not None:
        for file in path.parent.iterdir():
            file.unlink()
        path.write_bytes(content)
    try:
        study = Study.open(path, "ads")
    except EvenhandError:
        return False
    with closing(study.store):
        return study.verify().ok


def test_a_flipped_bit_is_found_wherever_it_changes_what_is_read(sound, tmp_path):
    before, whole = contents(sound), sound.read_bytes()
    assert verified(sound)
    chance, passed = random.Random(20261123), 0
    for _ in range(many(100)):
        place = chance.randrange(8 * len(whole))
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        path = tmp_path / "ads.evenhand"
        if verified(path, damaged):
            passed += 1
            assert contents(path) == before, f"bit {place}"
    assert passed > 0


def index_page(path, name):
    """The first byte of an index's root page and the size of a page."""
    with closing(sqlite3.connect(path)) as database:
        (size,) = database.execute("PRAGMA page_size").fetchone()
        (root,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [name]).fetchone()
    return (root - 1) * size, size


def test_each_byte_of_an_index_is_looked_at(sound, tmp_path):
    """Bits of the cells of an index alone: rows are whole, but are not found where they are looked for."""
    start, size = index_page(sound, "sqlite_autoindex_events_1")
    whole, found = sound.read_bytes(), 0
    used = [at for at in range(start, start + size) if whole[at]]
    for at in random.Random(1).sample(used, many(12)):
        found += not verified(tmp_path / "ads.evenhand", whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
    assert found >= 0.8 * many(12)


@pytest.fixture
def study(monkeypatch):
    monkeypatch.setattr("evenhand.studies.log.replay.ENTRIES", 4)
    study = Study.create(":memory:", eh.quotas.FairUCB(SHARES, seed=1), name="ads")
    for n in range(4):
        study.tell(study.ask(key=f"order {n}"), 0.5)
    return study


def test_entries_that_an_index_no_longer_leads_to_are_missed(study, monkeypatch):
    rows = study._log.rows
    monkeypatch.setattr(study._log, "rows", lambda *at, **upto: list(rows(*at, **upto))[:5])
    said = "the last entry has the number 8, there are 8 entries, the last that can be read in order has the number 5"
    assert study.verify().problems == (said,)


def test_an_end_that_an_index_hides_is_missed(study, monkeypatch):
    last = study._log.last
    sixth = list(study.log.entries())[5].digest
    monkeypatch.setattr(study._log, "last", lambda connection: (6, sixth) if last(connection) else None)
    problems = " ".join(study.verify().problems)
    assert "there are 8 entries" in problems or "after entry 8" in problems


def test_what_the_database_finds_wrong_with_itself_is_a_problem(study, monkeypatch):
    monkeypatch.setattr("evenhand.studies.verify.damages", lambda connection: ["the database is damaged: page 7"])
    finding = study.verify()
    assert finding.problems == ("the database is damaged: page 7",)
    assert (finding.entries, finding.replayed, finding.mark) == (8, 8, None)


@pytest.mark.parametrize("index", ["pk_events", "uq_events_study_key", "uq_events_study_ticket_kind"])
def test_an_index_of_postgresql_that_lost_an_entry_is_named(database, index):
    """An index that was not kept for a while leads past the rows that were written then."""
    study = Study.create(database, eh.quotas.FairUCB(SHARES, seed=1), name="ads")
    study.run([Ask(key=f"order {n}") for n in range(40)])
    ready = f"UPDATE pg_index SET indisready = :on WHERE indexrelid = '{index}'::regclass"
    assert study.verify().ok
    for on in (False, True):
        with study.store.writing() as connection:
            connection.execute(text(ready), {"on": on})
        if not on:
            study.store.close()
            other = Study.open(database)
            other.run([Ask(key=f"more {n}") for n in range(3)])
            other.store.close()
    finding = Study.open(database).verify()
    assert any("the database is damaged: the index of events" in problem for problem in finding.problems)


# ---------------------------------------------------------------------- people and rows beside the log


ROWS = [[0.1, 0.2], [0.3, 0.4]]


@pytest.fixture
def people():
    """A study with contexts of Ann and Ben, and an open ticket of each."""
    pytest.importorskip("cryptography")
    study = Study.create(":memory:", eh.groups.LinearThompson({"a": "F", "b": "M"}, seed=1), name="ads")
    for n in range(6):
        study.tell(study.ask(np.array(ROWS) + n / 10, subject=("Ann", "Ben")[n % 2], key=f"visit {n}"), n % 2)
    study.ask(ROWS, subject="Ann"), study.ask(ROWS, subject="Ben")
    assert study.verify().ok
    return study


@pytest.mark.parametrize(
    "other",
    ["name = 'Bob'", "day = day + 1", "name = 'Ann', day = day + 9", "secret = 'zz'", "secret = 'ab'", "study = 2"],
)
def test_a_changed_row_of_a_subject_is_found(people, other):
    Study.create(people.store, eh.quotas.FairUCB(SHARES, seed=1), name="other")
    execute(people, text(f"UPDATE subjects SET {other} WHERE name = 'Ben'"))
    problems = people.verify().problems
    assert any("subject key" in problem and ("was changed" in problem or "damaged" in problem) for problem in problems)


@pytest.mark.parametrize("damage", ["UPDATE subjects SET secret = 'zz'", "DELETE FROM subjects"])
@pytest.mark.parametrize("fresh", [True, False])
def test_a_bad_row_of_one_person_stops_this_person_alone(people, damage, fresh):
    if fresh:  # an object that read the log before it goes on by itself
        Study.open(people.store).ask(ROWS, subject="Eve")
    execute(people, text(f"{damage} WHERE name = 'Ben'"))
    study = Study.open(people.store) if fresh else people
    asks = [Ask(given={"contexts": ROWS}, subject=name) for name in ("Ann", "Ben", None)]
    first, second, third = study.run(asks)
    assert not isinstance(first, EvenhandError)
    assert not isinstance(third, EvenhandError)
    if damage.startswith("UPDATE"):
        assert isinstance(second, StoreError)
        assert "its secret is damaged" in str(second)
    told, refused = study.run([Tell(ticket=number, given={"reward": 1.0}) for number in (7, 8)])
    assert told == "told"
    if fresh:
        assert isinstance(refused, ErasedError)
        assert "the contexts of ticket 8 cannot be read" in str(refused)
    assert Study.open(people.store).ask(ROWS, subject="Ann").id > 8
    problems = study.verify().problems
    unread = "the contexts of entry 3 cannot be read, and no later entry says that they were erased"
    assert problems
    assert damage.startswith("UPDATE") or unread in problems
    assert study.erase("Ben").subjects == 1
    if damage.startswith("UPDATE"):
        assert study.log.record(8).status in ("forgotten", "told")


def test_a_damaged_decision_is_an_error_by_name():
    study = Study.create(":memory:", eh.quotas.FairUCB(SHARES, seed=1), name="ads")
    study.tell(study.ask(), 0.5)
    for decision in ("{", "[]", '{"index": "x"}', '{"index": 10.5}'):
        change(study, 1, decision=decision)
        with pytest.raises(EvenhandError, match=r"entry 1 cannot be read"):
            Study.open(study.store).statistics()
