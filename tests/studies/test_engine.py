"""Connections to a database: who waits for whom, what a kill or a fork leaves behind, and a database that stops."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest
from sqlalchemy import text
from sqlalchemy.exc import TimeoutError as PoolTimeout

import evenhand as eh
from evenhand.errors import StoreError, UnreachableError
from evenhand.studies import Ask, Store, Study
from evenhand.studies.keys import add_key, list_keys
from evenhand.studies.store.schema import EVENTS
from tests.forks import forked
from tests.studies.postgres import Server

SHARES = {"a": 0.2, "b": 0.3}


def created(place):
    return Study.create(place, eh.quotas.FairUCB(SHARES, seed=1), name="ads")


# ---------------------------------------------------------------------- waiting


def test_a_writer_that_hangs_holds_up_others_for_as_long_as_is_said(shared, monkeypatch):
    created(shared).close()
    monkeypatch.setattr("evenhand.studies.store.engine.PATIENCE", 0.1)
    study, other = Study.open(shared), Study.open(shared)
    with other.state.writing(), pytest.raises(UnreachableError, match=r"database is locked|lock timeout"):
        study.ask()
    assert study.ask().id == 1
    assert study.verify().ok


def test_a_server_is_told_how_long_to_wait_and_the_url_has_the_last_word(database):
    for url, said in ((database, "1min"), (f"{database}&options=-c%20lock_timeout%3D5s", "5s")):
        store = Store.at(url, create=True)
        for use in (store.reading, store.writing):
            with use() as connection:
                assert connection.exec_driver_sql("SHOW lock_timeout").scalar() == said
        store.close()


# ---------------------------------------------------------------------- what goes wrong in between


@pytest.mark.parametrize("saved", [False, True])
def test_an_interruption_at_the_commit_is_answered_by_asking_again(shared, saved, monkeypatch):
    """Nobody knows whether the commit was done: the key says it."""
    study = created(shared)
    first = study.ask(key="first")
    dialect = study.store._engine.dialect
    commit = dialect.do_commit

    def interrupted(connection):
        if saved:
            commit(connection)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(dialect, "do_commit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            study.ask(key="second")
    assert study.log.sequence == 1 + saved
    assert study.ask(key="second").id == 2
    assert study.tell(first, 1.0) == "told"
    assert study.verify().ok


def test_an_interrupted_statement_leaves_a_database_in_memory(monkeypatch):
    study = created(":memory:")
    study.ask()

    def interrupted(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(study.store._engine.dialect, "do_execute", interrupted)
        with pytest.raises(KeyboardInterrupt):
            study.store.names()
    assert study.ask().id == 2
    study.store.close()
    with pytest.raises(StoreError, match="no such table"):
        study.store.names()


# ---------------------------------------------------------------------- processes


def test_a_forked_process_and_its_parent_go_on_with_one_study(shared):
    study = created(shared)
    study.ask()
    count = text("SELECT count(*) FROM events")
    inside = not study.store.serial  # of a file see the next test
    with study.store.reading() if inside else nullcontext() as connection:  # it stays the parent's
        assert not inside or connection.scalar(count) == 1
        found = [forked(lambda: study.ask().id) for _ in range(2)]
        assert not inside or connection.scalar(count) == 1
    assert [*found, study.ask().id] == [[2], [3], 4]
    assert study.verify().ok


def test_a_file_that_is_in_use_at_a_fork_is_refused_in_the_child(tmp_path):
    """SQLite would take the locks of the parent for its own."""
    study = created(tmp_path / "ads.evenhand")
    with study.store.reading() as connection:
        said = forked(lambda: study.ask().id, lambda: Study.open(tmp_path / "ads.evenhand").name)
        assert connection.scalar(text("SELECT count(*) FROM events")) == 0
    for words in said:
        assert "ads.evenhand: this process was forked in the middle of a transaction on it" in words
        assert words.startswith("StoreError: ")
    assert forked(lambda: study.ask().id) == [1]
    assert study.ask().id == 2


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_waits_for_the_transactions_of_other_threads(tmp_path):
    study, done = created(tmp_path / "ads.evenhand"), threading.Event()

    def asking():
        while not done.is_set():
            study.ask()

    with ThreadPoolExecutor(2) as pool:
        pool.submit(asking), pool.submit(asking)
        try:
            for _ in range(5):
                first, second = forked(lambda: study.ask().id, lambda: study.ask().id)
                assert first != second
        finally:
            done.set()
    assert study.verify().ok


def test_what_a_child_has_decided_stays_when_its_parent_closes_the_file(tmp_path):
    study = created(tmp_path / "ads.evenhand")
    study.ask()
    (told, tell), (going, go) = os.pipe(), os.pipe()

    def child():
        found = [study.ask().id]
        os.write(tell, b"x")
        os.read(going, 1)
        return [*found, study.ask().id]

    def parent():
        os.read(told, 1)
        study.close()
        os.write(go, b"x")

    closing = threading.Thread(target=parent)
    closing.start()
    assert forked(child) == [[2, 3]]
    closing.join()
    assert Study.open(tmp_path / "ads.evenhand").ask().id == 4


def test_what_is_decided_beside_a_second_store_of_one_file_stays_when_another_process_closes_it(tmp_path):
    """SQLite's locks on a file end when its process closes the file anywhere."""
    file = tmp_path / "ads.evenhand"
    study = created(file)
    study.ask()
    Study.open(file)
    opened = (
        f"from evenhand.studies import Study; one = Study.open({str(file)!r}); print(one.log.sequence); one.close()"
    )
    elsewhere = lambda: subprocess.check_output([sys.executable, "-c", opened], text=True)  # noqa: E731
    assert elsewhere() == "1\n"
    assert study.ask().id == 2
    assert elsewhere() == "2\n"


def test_many_threads_share_few_connections(shared):
    study = created(shared)
    with ThreadPoolExecutor(30) as threads:
        assert [*threads.map(lambda _: study.store.names(), range(30))] == [["ads"]] * 30
    pool = study.store._engine.pool
    assert pool.checkedin() <= 5
    assert (pool.size(), pool._max_overflow, pool.timeout()) == (5, 10, 30)  # as docs/workers.md says


# ---------------------------------------------------------------------- a database that stops


POLICY = eh.quotas.DeadlineLearn(eh.learners.UCB1(), {"a": 0.2, "b": 0.3}, tolerance=3)
CALLS = [
    *(lambda study: study.ask(), lambda study: study.ask(key="new"), lambda study: study.tell(5, 1.0)),
    *(lambda study: study.log.record(5), lambda study: study.verify(), lambda study: study.frame()),
    *(lambda study: list(study.log.entries()), lambda study: study.statistics(), lambda study: study.store.names()),
    *(lambda study: Study.open(study.store, "ads"), lambda study: Study.create(study.store, POLICY, name="new")),
    *(lambda study: study.erase("me"), lambda study: study.state.snapshot(), lambda study: study.policy),
    *(lambda study: study.open_tickets, lambda study: study.store.purge(EVENTS)),
    *(lambda study: add_key(study.store, "read"), lambda study: list_keys(study.store)),
    lambda study: study.store.check_writable(),
]


def test_a_server_that_stops_is_said_by_name_whatever_is_called_and_within_a_transaction(programs):
    with Server() as server:
        server.make()
        study = Study.create(f"postgresql://postgres@/postgres?host={server.home}", POLICY, name="ads")
        study.run([Ask()] * 1_500)
        for use in (study.store.reading, study.store.writing):
            with pytest.raises(UnreachableError), use() as connection:  # noqa: PT012
                server.control("-m", "immediate", "stop")
                connection.execute(text("SELECT 1"))
            server.start()
            assert study.log.sequence == 1_500
        server.control("-m", "immediate", "stop")
        for call in CALLS * 2:
            with pytest.raises(UnreachableError, match=r"the store did not do it: "):
                call(study)
        study.store.close()


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
