"""Where a store may be and who may read it, what is refused and how, and that its tables come whole or not at all."""

from __future__ import annotations

import os
import socket
import sqlite3
import stat
import sys
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import event, inspect, text

import evenhand as eh
from evenhand.errors import ArgumentError, MissingExtraError, StoreError, UnreachableError
from evenhand.studies import Ask, Store, Study
from evenhand.studies.store.address import read_address
from evenhand.studies.store.engine import ways_of
from evenhand.studies.store.schema import METADATA, VERSION
from tests.naming import named
from tests.studies.conftest import administer


def policy():
    return eh.quotas.FairUCB({"ads": 0.2, "news": 0.3}, seed=1)


def bare(place):
    """A store as it is before anything was looked at."""
    return Store(ways_of(read_address(place)))


@pytest.mark.parametrize(
    ("where", "file", "name"),
    [
        ("ads.evenhand", "ads.evenhand", "ads"),
        (Path("ads.evenhand"), "ads.evenhand", "ads"),
        ("./ads.evenhand", "ads.evenhand", "ads"),
        ("sqlite:///loans.db", "loans.db", "loans"),
        ("sub/loans", "sub/loans", "loans"),
    ],
    ids=named,
)
def test_a_file_by_path_or_url(tmp_path, monkeypatch, where, file, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    with Study.create(where, policy()) as study:
        study.tell(study.ask(), 1.0)
    assert study.name == name
    assert (tmp_path / file).read_bytes()[:15] == b"SQLite format 3"
    again = Study.open(str(tmp_path / file))
    assert (again.name, again.log.sequence) == (name, 2)


@pytest.mark.parametrize("name", ["a b.evenhand", "100%41.evenhand", "a?b=c#d.evenhand", "ä ö.evenhand", "'q\".eh"])
def test_paths_with_odd_characters(tmp_path, name):
    store = Store.at(tmp_path / name, create=True)
    assert [path.name for path in tmp_path.iterdir() if "-" not in path.name] == [name]
    again = Store.at(store.url)
    Study.create(again, policy(), name="ads")
    assert store.names() == ["ads"]


@pytest.mark.parametrize("where", [":memory:", "sqlite://", "sqlite:///:memory:", "sqlite:///"])
def test_in_memory(tmp_path, monkeypatch, where):
    monkeypatch.chdir(tmp_path)
    study = Study.create(where, policy())
    assert (study.name, study.store.in_memory) == ("study", True)
    assert study.ask().id == 1
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StoreError, match="there is no store yet"):
        Store.at(where)


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize("where", [None, 7, 1.5, b"ads", "", "  ", [], object], ids=named)
def test_what_is_no_place_is_refused(where):
    with pytest.raises(ArgumentError, match="store: expected a path such as"):
        Store.at(where)


@pytest.mark.parametrize("create", [False, True])
def test_what_is_no_file_for_a_store_is_refused_and_left_alone(tmp_path, create):
    (tmp_path / "text").write_text("a, b\n1, 2\n")
    with closing(sqlite3.connect(tmp_path / "foreign")) as foreign:
        foreign.execute("CREATE TABLE theirs (version TEXT)")
    (tmp_path / "cut").write_bytes((tmp_path / "foreign").read_bytes()[:600])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name, said in (
        (".", "a folder; expected a file"),
        ("text", "not a store of evenhand; choose another file"),
        ("foreign", "is a database, but not a store of evenhand"),
        ("cut", "the store did not do it: (file is not a database|database disk image is malformed)"),
        ("text/ads", "there is no store yet|its folder does not exist|cannot be reached"),
        ("nowhere/ads", "its folder does not exist" if create else "there is no store yet"),
        ("x" * 300, "cannot be reached: File name too long"),
        ("a\0b", "cannot be reached: embedded null"),
    ):
        with pytest.raises(StoreError, match=said) as refusal:
            Store.at(tmp_path / name, create=create)
        assert isinstance(refusal.value, UnreachableError) == ("cannot be reached" in str(refusal.value))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_missing_file_is_not_made_by_looking(tmp_path):
    (tmp_path / "empty").touch()
    for name in ("ads.evenhand", "empty"):
        said = "there is no store yet; `evenhand new`, `serve --create` and Study.create make one"
        with pytest.raises(StoreError, match=said):
            Study.open(tmp_path / name)
    assert [(path.name, path.stat().st_size) for path in tmp_path.iterdir()] == [("empty", 0)]


@pytest.fixture
def nobody():
    """A folder that anybody may enter."""
    with tempfile.TemporaryDirectory(prefix="eh-", dir="/tmp") as name:
        os.chmod(name, 0o755)
        yield Path(name)


@contextmanager
def as_nobody():
    """Act as a user who may not everything."""
    root = os.geteuid()
    os.seteuid(root or 65534)
    try:
        yield
    finally:
        os.seteuid(root)


def test_a_folder_or_file_that_may_not_be_written_or_read(nobody):
    place = nobody / "ads.evenhand"
    Study.create(place, policy()).close()
    os.chmod(place, 0o444)
    (nobody / "locked").mkdir(mode=0o000)
    os.chmod(nobody, 0o555)
    with as_nobody():
        with pytest.raises(StoreError, match=r"readonly database; even reading needs .*: copy all its files"):
            Study.open(place)
        with pytest.raises(StoreError, match="unable to open database file"):
            Store.at(nobody / "new.evenhand", create=True)
        with pytest.raises(StoreError, match="cannot be reached: Permission denied"):
            Store.at(nobody / "locked" / "ads.evenhand")
        with pytest.raises(StoreError, match=r"ads.evenhand: the store did not do it: (attempt|unable|readonly)"):
            Study.open(place).ask()
    os.chmod(nobody, 0o755)
    os.chmod(place, 0o000)
    with as_nobody(), pytest.raises(StoreError, match="cannot be reached: Permission denied"):
        Store.at(place)
    os.chmod(place, 0o644)
    assert Study.open(place).ask().id == 1


def test_a_full_disk_is_said_and_changes_nothing(tmp_path):
    store = Store.at(tmp_path / "ads.evenhand", create=True)
    study = Study.create(store, eh.learners.UCB1(arms=["a" * 2000, "b" * 2000]))
    full = [False]

    @event.listens_for(store._engine, "begin")
    def _limit(connection):
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar() if full[0] else 2**30
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

    decision, state = study.ask(), study.state.now().bytes()
    full[0] = True
    with pytest.raises(StoreError, match="database or disk is full"):
        study.run([Ask()] * 50)
    assert (study.log.sequence, study.state.now().bytes()) == (1, state)
    full[0] = False
    assert study.tell(decision, 1.0) == "told"
    assert study.ask().id == 2
    assert study.verify().problems == ()


# ---------------------------------------------------------------------- PostgreSQL


def test_a_server_that_is_not_there_is_refused_without_the_password():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    at = f"127.0.0.1:{port}/db"
    for place in (f"postgresql://u:s3cret@{at}", f"postgres://u@{at}?password=s3cret&connect_timeout=5"):
        with pytest.raises(StoreError, match="the store did not do it: connection failed") as refusal:
            Store.at(place)
        assert "s3cret" not in str(refusal.value)


def test_a_database_that_is_not_there_or_another_programs(postgres, database):
    with pytest.raises(StoreError, match='database "nowhere" does not exist'):
        Store.at(postgres.format(database="nowhere"), create=True)
    with pytest.raises(StoreError, match="there is no store yet"):
        Store.at(database)
    other = bare(database)
    with other.writing() as connection:
        connection.execute(text("CREATE TABLE theirs (version TEXT)"))
    for create in (False, True):
        with pytest.raises(StoreError, match="is a database, but not a store of evenhand"):
            Store.at(database, create=create)
    with other.reading() as connection:
        assert inspect(connection).get_table_names() == ["theirs"]


def test_a_missing_driver_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'evenhand\[postgresql\]'"):
        Store.at("postgresql://u@host/db")


# ---------------------------------------------------------------------- tables


def tables(store):
    with store.reading() as connection:
        return set(inspect(connection).get_table_names())


@pytest.mark.parametrize("at", ["CREATE TABLE events", "CREATE TABLE summaries", "INSERT INTO evenhand_version"])
def test_a_store_that_cannot_be_made_whole_leaves_nothing(shared, at):
    store = bare(shared)

    @event.listens_for(store._engine, "before_cursor_execute")
    def _break(connection, cursor, statement, parameters, context, many):
        if statement.strip().startswith(at):
            raise RuntimeError("the plug was pulled")

    with pytest.raises(RuntimeError, match="the plug was pulled"):
        store._settle(create=True)
    assert tables(store) == set()
    event.remove(store._engine, "before_cursor_execute", _break)
    store._settle(create=True)
    assert tables(store) == set(METADATA.tables)


@pytest.mark.parametrize("version", [VERSION - 1, VERSION + 1])
def test_a_store_of_another_version_is_refused_and_left_alone(shared, version):
    study = Study.create(shared, policy(), name="ads")
    study.ask()
    with study.store.writing() as connection:
        connection.execute(text("UPDATE evenhand_version SET version = :version"), {"version": version})
    said = rf"its tables are of version {version}, but this evenhand reads only version {VERSION}"
    for create in (False, True):
        with pytest.raises(StoreError, match=said):
            Store.at(shared, create=create)
    with study.store.reading() as connection:
        assert connection.scalar(text("SELECT version FROM evenhand_version")) == version
        assert connection.scalar(text("SELECT count(*) FROM events")) == 1


def test_a_connection_that_the_server_ended_meanwhile_is_replaced(database):
    study = Study.create(database, policy())
    study.ask()
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
    administer(database, f"{ended} AND pid != pg_backend_pid()")
    assert study.ask().id == 2
    assert study.verify().ok


# ---------------------------------------------------------------------- who may read it


def modes(folder):
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@pytest.fixture(params=[0o022, 0o000, 0o277], ids=oct)
def umask(request):
    """A umask, and the mode that it leaves of 0600."""
    before = os.umask(request.param)
    yield 0o600 & ~request.param
    os.umask(before)


@pytest.mark.parametrize("place", ["{}", "sqlite:///{}"])
def test_a_new_store_is_for_its_owner_alone(place, umask, tmp_path):
    Study.create(place.format(tmp_path / "ads.evenhand"), policy()).close()
    assert set(modes(tmp_path).values()) == {umask}


def test_a_store_that_is_there_keeps_its_mode(tmp_path):
    path = tmp_path / "ads.evenhand"
    Study.create(path, policy()).close()
    path.chmod(0o640)
    with Study.open(path) as study:
        study.ask()
        assert set(modes(tmp_path).values()) == {0o640}
    Store.at(path, create=True).close()
    empty = tmp_path / "empty.evenhand"
    empty.touch(0o644)
    Store.at(empty, create=True).close()
    assert set(modes(tmp_path).values()) == {0o640, 0o644}


def test_a_link_to_a_store_that_is_not_there_yet_leads_to_it(tmp_path):
    (tmp_path / "link.evenhand").symlink_to(tmp_path / "ads.evenhand")
    Study.create(tmp_path / "link.evenhand", policy()).close()
    assert stat.S_IMODE((tmp_path / "ads.evenhand").stat().st_mode) == 0o600
