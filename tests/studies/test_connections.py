"""Connections are kept between two uses, and no statement takes a round trip of its own that need not."""

import psycopg
import pytest
from evenhand.studies.store.server import execute, literals
from sqlalchemy import event, text

import evenhand as eh
from evenhand.errors import StoreError
from evenhand.studies import Store, Study

SHARES = {"a": 0.2, "b": 0.3}


def driver(store):
    with store.writing() as connection:
        return connection.connection.driver_connection


def test_writers_and_readers_use_a_kept_connection(tmp_path):
    store = Store.at(tmp_path / "ads.evenhand", create=True)
    taken = []
    event.listen(store._engine, "checkout", lambda *given: taken.append(given))
    first = driver(store)
    with store.reading() as connection:
        assert connection.connection.driver_connection is first
    assert driver(store) is first
    assert len(taken) == 1
    store.close()
    assert driver(store) is not first
    store.close()


def test_a_connection_whose_block_raised_goes_back_to_the_pool(tmp_path):
    store = Store.at(tmp_path / "ads.evenhand", create=True)
    taken = []
    event.listen(store._engine, "checkout", lambda *given: taken.append(given))
    with pytest.raises(RuntimeError, match="in between"), store.writing():
        raise RuntimeError("in between")
    assert driver(store).in_transaction is False
    assert len(taken) == 2
    store.close()


def test_no_more_than_a_few_connections_are_kept(tmp_path):
    store = Store.at(tmp_path / "ads.evenhand", create=True)
    opened = [store.reading() for _ in range(6)]
    for one in opened:
        one.__enter__()
    for one in opened:
        one.__exit__(None, None, None)
    assert len(store._connections._kept) == 4
    store.close()
    assert store._connections._kept == []


def test_an_ask_makes_two_round_trips_to_a_server_and_a_tell_too(database, monkeypatch, tmp_path):
    study = Study.create(database, eh.quotas.DeadlineLearn(eh.learners.UCB1(), SHARES, 8), name="ads")
    study.tell(study.ask(), 1.0)
    monkeypatch.setattr("evenhand.studies.store.store.IDLE", 3600.0)
    server, path, trips = driver(study.store).pgconn, tmp_path / "trace", []
    ticket = study.ask().id
    for call in (study.ask, lambda: study.tell(ticket, 1.0)):
        with open(path, "w") as trace:
            server.trace(trace.fileno())
            call()
            server.untrace()
        trips.append(path.read_text().count("ReadyForQuery"))
    assert trips == [2, 2]
    study.close()


def test_values_of_statements_arrive_as_they_are(database):
    values = [None, -3, 2**62, "it's", 'a "b"', "\\ back", "ä€😀", "", "$1; --"]
    with psycopg.connect(database) as connection:
        row = execute(connection, f"SELECT 1; SELECT {literals(connection, values)}")
        assert row == [None, "-3", str(2**62), *values[3:]]
        assert execute(connection, "SELECT 1 WHERE false") == ()
        with pytest.raises(psycopg.DataError, match="NUL"):
            literals(connection, ["a\0b"])


def test_a_statement_that_fails_says_why(database):
    with psycopg.connect(database, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.DivisionByZero, match=r"^division by zero"):
            execute(connection, "BEGIN; SELECT 1/0; SELECT 2")
        execute(connection, "ROLLBACK")
        assert execute(connection, "SELECT 2") == ["2"]


def test_a_connection_that_lost_its_prepared_statements_gets_them_again(database):
    study = Study.create(database, eh.quotas.DeadlineLearn(eh.learners.UCB1(), SHARES, 8), name="ads")
    store = study.store
    for _ in range(2):
        driver(store).execute("DISCARD ALL")
        study.tell(study.ask(), 1.0)
    named = [name for (name,) in driver(store).execute("SELECT name FROM pg_prepared_statements").fetchall()]
    assert sum(name.startswith("evenhand_") for name in named) == 3
    assert study.verify().ok
    study.close()


@pytest.mark.parametrize("use", ["reading", "writing"])
def test_a_connection_that_the_server_ends_is_said_and_replaced(database, use):
    store = Store.at(database, create=True)
    first = driver(store)
    refused = pytest.raises(StoreError, match="the store did not do it: terminating connection")
    with refused, getattr(store, use)() as connection:
        connection.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
    assert driver(store) is not first
    store.close()
