"""A writer that hangs holds up the others for as long as is said, and not for twice as long."""

from types import SimpleNamespace

import pytest

import evenhand as eh
from evenhand.errors import UnreachableError
from evenhand.studies import Store, Study
from evenhand.studies.store import connections
from evenhand.studies.store.server import PATIENCE

SHARES = {"a": 0.2, "b": 0.3}


def test_who_waits_for_a_turn_and_then_for_the_lock_waits_once(tmp_path, monkeypatch):
    monkeypatch.setattr("evenhand.studies.store.store.PATIENCE", 3)
    study = Study.create(tmp_path / "ads.evenhand", eh.quotas.FairUCB(SHARES, seed=1))
    study.ask()
    clock, set_to, driver_of = [0.0], [], connections.driver_of

    def turn(*given):
        clock[0] += 2.5  # this long, the others took their turns
        return

    def recording(connection):
        driver = driver_of(connection)
        return SimpleNamespace(execute=lambda statement: (set_to.append(statement), driver.execute(statement))[1])

    with monkeypatch.context() as patched, Store.at(tmp_path / "ads.evenhand").writing():
        patched.setattr(connections, "take_turn", turn)
        patched.setattr(connections.time, "monotonic", lambda: clock[0])
        patched.setattr(connections, "driver_of", recording)
        with pytest.raises(UnreachableError, match="database is locked"):
            study.ask()
    assert set_to == ["PRAGMA busy_timeout = 500", "PRAGMA busy_timeout = 3000"]
    assert study.ask().id == 2
    with study.store.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 3_000, "as it was"


def test_a_server_waits_for_a_writer_that_hangs_no_longer_either(database, monkeypatch):
    study = Study.create(database, eh.quotas.FairUCB(SHARES, seed=1))
    monkeypatch.setattr("evenhand.studies.store.server.BEGIN_WRITING", "BEGIN; SET LOCAL lock_timeout = '300ms'")
    other = Study.open(database)
    with other.state.writing(), pytest.raises(UnreachableError, match="lock timeout"):
        study.ask()
    assert study.ask().id == 1


def test_a_server_is_told_how_long_to_wait(database):
    study = Study.create(database, eh.quotas.FairUCB(SHARES, seed=1))
    said = f"{PATIENCE // 60}min"
    with study.store.writing() as connection:
        assert connection.exec_driver_sql("SHOW lock_timeout").scalar() == said
    with study.state.writing() as (connection, _):
        assert connection.exec_driver_sql("SHOW lock_timeout").scalar() == said
    with study.store.reading() as connection:
        assert connection.exec_driver_sql("SHOW lock_timeout").scalar() == "0", "only while a transaction writes"
