"""A database that stops: every call says so by name, and a verification that was cut off finds nothing out."""

import sqlite3
from contextlib import suppress

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import TimeoutError as PoolTimeout

import evenhand as eh
from evenhand.errors import UnreachableError
from evenhand.studies import Ask, Study
from evenhand.studies.keys import add_key, list_keys
from evenhand.studies.store.schema import EVENTS
from evenhand.studies.store.store import is_outage
from tests.studies.postgres import Server, binaries

POLICY = eh.quotas.DeadlineLearn(eh.learners.UCB1(), {"a": 0.2, "b": 0.3}, tolerance=3)
CALLS = {
    "ask": lambda study: study.ask(),
    "ask under a key": lambda study: study.ask(key="new"),
    "tell": lambda study: study.tell(5, 1.0),
    "record": lambda study: study.log.record(5),
    "verify": lambda study: study.verify(),
    "frame": lambda study: study.frame(),
    "entries": lambda study: list(study.log.entries()),
    "statistics": lambda study: study.statistics(),
    "names": lambda study: study.store.names(),
    "open": lambda study: Study.open(study.store, "ads"),
    "create": lambda study: Study.create(study.store, POLICY, name="new"),
    "erase": lambda study: study.erase("me"),
    "snapshot": lambda study: study.state.snapshot(),
    "policy": lambda study: study.policy,
    "open tickets": lambda study: study.open_tickets,
    "add a key": lambda study: add_key(study.store, "read"),
    "list keys": lambda study: list_keys(study.store),
    "purge": lambda study: study.store.purge(EVENTS),
    "write": lambda study: study.store.check_writable(),
}


@pytest.fixture(scope="module")
def stopping():
    """A server of its own that can be stopped, and a study on it."""
    if binaries() is None:
        pytest.skip("no PostgreSQL server is installed: apt-get install postgresql")
    server = Server()
    try:
        server.make()
        study = Study.create(f"postgresql://postgres@/postgres?host={server.home}", POLICY, name="ads")
        study.run([Ask()] * 1_500)
        yield server, study
        study.store.close()
    finally:
        with suppress(AssertionError):
            server.control("-m", "immediate", "stop")


@pytest.fixture
def running(stopping):
    """The same, while the server runs."""
    if not (stopping[0].data / "postmaster.pid").exists():
        stopping[0].start()
    stopping[1].store.close()
    return stopping


def test_a_server_that_stopped_is_said_by_name_whatever_is_called(running):
    server, study = running
    study.log.sequence  # noqa: B018
    server.control("-m", "immediate", "stop")
    for call in CALLS.values():
        for _ in range(2):
            with pytest.raises(UnreachableError, match=r"the store did not do it: "):
                call(study)
    study.store.close()


@pytest.mark.parametrize("use", ["reading", "writing"])
def test_a_server_that_stops_within_a_transaction_is_said_by_name(running, use):
    server, study = running
    with pytest.raises(UnreachableError), getattr(study.store, use)() as connection:  # noqa: PT012
        server.control("-m", "immediate", "stop")
        connection.execute(text("SELECT 1"))


def test_a_verification_that_a_file_cuts_off_finds_nothing_out(tmp_path, monkeypatch):
    study = Study.create(tmp_path / "ads.evenhand", POLICY, name="ads")
    study.run([Ask()] * 1_500)
    with study.store.reading() as connection:
        busy = connection.connection.driver_connection

    def cut_off(entries, *_, **__):
        for n, entry in enumerate(entries):
            if n == 700:
                busy.set_progress_handler(lambda: 1, 1)
            yield entry

    monkeypatch.setattr("evenhand.studies.verify.tracked", cut_off)
    with pytest.raises(UnreachableError, match="interrupted; the verification could not be finished"):
        study.verify()


def test_all_connections_in_use_is_an_outage(tmp_path):
    study = Study.create(tmp_path / "ads.evenhand", POLICY, name="ads")
    with pytest.raises(UnreachableError, match="all connections are in use"), study.store.reading():
        raise PoolTimeout


def test_damage_is_no_outage(tmp_path):
    path = tmp_path / "damaged"
    path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 5_000)
    for statement in ("SELECT * FROM sqlite_master", "SELECT * FROM nowhere"):
        with pytest.raises(sqlite3.Error) as error, sqlite3.connect(path) as connection:
            connection.execute(statement)
        assert not is_outage(error.value)
    with pytest.raises(Exception, match="no such table") as error, create_engine("sqlite://").connect() as connection:
        connection.exec_driver_sql("SELECT * FROM nowhere")
    assert not is_outage(error.value)
    assert not is_outage(None)
