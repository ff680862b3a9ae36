"""Stores of every kind, each empty."""

import itertools
from unittest.mock import patch

import pytest
from sqlalchemy import create_engine, text

from evenhand import registry
from evenhand.checks import examples
from evenhand.errors import ArgumentError
from evenhand.promises.promise import Promise
from evenhand.protocol import Decision
from evenhand.studies import Store, Study
from tests.studies.postgres import binaries, server

NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def closed_stores():
    """Close every store that a test opened."""
    with patch.object(Store, "__init__", autospec=True, side_effect=Store.__init__) as begun:
        yield
    for call in begun.call_args_list:
        call.args[0].close()


@pytest.fixture(scope="session")
def programs():
    """See that PostgreSQL is installed."""
    if binaries() is None:
        pytest.skip("no PostgreSQL server is installed: apt-get install postgresql")


@pytest.fixture(scope="session")
def postgres(programs):
    """The URL of a PostgreSQL server for these tests, `{database}` left open."""
    with server() as url:
        yield url


@pytest.fixture(scope="session")
def used_database(postgres):
    """The URL of the PostgreSQL database that the tests of a process use one after another."""
    return empty_database(postgres)


@pytest.fixture
def database(used_database):
    """The URL of an empty PostgreSQL database: emptied, as making and removing one takes twenty times as long."""
    others = "pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    ended = f"SELECT pg_terminate_backend(pid, 60000) FROM {others}"
    administer(used_database, ended, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    return used_database


def administer(url, *statements):
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def empty_database(postgres):
    """Make a database on a server, and return its URL."""
    name = f"store{next(NUMBERS)}"
    administer(postgres.format(database="postgres"), f"CREATE DATABASE {name}")
    return postgres.format(database=name)


@pytest.fixture(params=["file", "postgresql"])
def shared(request, tmp_path):
    """Where an empty store that several processes can reach can be made."""
    return str(tmp_path / "ads.evenhand") if request.param == "file" else request.getfixturevalue("database")


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is moved on."""

    class Clock:
        time = 1_800_000_000_000_000

        def pass_by(self, microseconds):
            self.time += microseconds

    clock = Clock()
    for module in ("creation", "log.durations", "log.live_policy", "log.transaction"):
        monkeypatch.setattr(f"evenhand.studies.{module}.now", lambda: clock.time)
    return clock


def example(name, seed=1):
    """An example of what is registered under a name, and its world at the beginning."""
    policy, world = next(iter(examples(registry.get(name).cls)))
    world.reset(seed=seed)
    return policy, world


def example_study(name, rounds=1):
    """A study of such an example in which so many decisions are told."""
    policy, world = example(name)
    study = Study.create(":memory:", policy, name="example")
    for _ in range(rounds):
        ticket = study.ask(*world.observe())
        study.tell(ticket, *world.respond(ticket))
    return study


class Scripted:
    """Decides as it is told to, whatever it promises."""

    holds_when = "at every round"

    def __init__(self, shares, tolerance=0.0, round=0, open=()):
        self.promise = Promise(shares, tolerance)
        self.arms, self.round, self.open = self.promise.arms, round, set(open)

    def ask(self, index, reason_code="other"):
        self.round += 1
        self.open.add(self.round)
        return Decision(self.round, self.round, self.arms[index], index, None, "as it was told", reason_code)

    def tell(self, decision, reward):
        number = getattr(decision, "id", decision)
        if number not in self.open:
            raise ArgumentError("closed")
        self.open.remove(number)

    def forget(self, decision):
        self.tell(decision, 0.0)

    @property
    def open_tickets(self):
        return sorted(self.open)

    def snapshot(self):
        shares = [[*one] for one in zip(self.arms, self.promise.shares, strict=True)]
        return {"shares": shares, "tolerance": self.promise.tolerance, "round": self.round, "open": sorted(self.open)}

    @classmethod
    def restored(cls, snapshot):
        return cls(**{**snapshot, "shares": dict(snapshot["shares"])})


@pytest.fixture
def scripted(scratch_registry):
    """The class, registered for one test."""
    scratch_registry(Scripted)
    return Scripted
