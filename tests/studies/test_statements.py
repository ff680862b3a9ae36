"""What a call costs does not grow with the log: no statement of one reads it from end to end."""

import itertools
import json

import pytest
from sqlalchemy import event

import evenhand as eh
from evenhand.studies import Ask, Study, Tell

SHARES = {"a": 0.2, "b": 0.3}
SIZES = 2_000, 8_000
"""Both beyond the 1,000 tickets that a policy remembers."""
SLACK = 60
"""Instructions by which two calls may differ: a deeper index, a page boundary."""
TICKETS = itertools.count(20)


def steps_of(call, study):
    """Count the instructions that SQLite executes for a call, which no busy machine changes."""
    counted = []
    with study.store.reading() as connection:
        connection.connection.driver_connection.set_progress_handler(lambda: counted.append(1), 1)
    counted.clear()
    call(study, next(TICKETS))
    return len(counted)


def filled(size):
    study = Study.create(":memory:", eh.quotas.FairUCB(SHARES, seed=1), expire_after="7d")
    study.run([Ask(key=f"order {n}") for n in range(10)])
    study.ask(count=size)
    for ticket in range(size - 100, size):
        study.tell(ticket, 0.5)
    study.tell(15, 0.25), study.forget(16), study.ask(key="order 1")  # what is rehearsed once
    return study


CALLS = {
    "ask": lambda study, ticket: study.ask(),
    "ask under a key": lambda study, ticket: study.ask(key=f"new {ticket}"),
    "ask again": lambda study, ticket: study.ask(key="order 3"),
    "tell": lambda study, ticket: study.tell(ticket, 1.0),
    "tell again": lambda study, ticket: study.tell(15, 0.25),
    "tell one in a batch": lambda study, ticket: study.run([Tell(ticket=ticket, given={"reward": 1.0})] * 2),
    "tell by arm": lambda study, ticket: study.run([Tell(ticket=ticket, given={"reward": {"a": 1.0}})]),
    "forget": lambda study, ticket: study.forget(ticket),
    "record": lambda study, ticket: study.log.record(ticket),
    "latest": lambda study, ticket: study.log.latest(3),
    "last entries": lambda study, ticket: list(study.log.events(study.log.sequence - 10)),
    "a state": lambda study, ticket: study.state.bare_copy(),
    "number of entries": lambda study, ticket: study.log.sequence,
    "open": lambda study, ticket: Study.open(study.store).log.expire_after,
}


@pytest.fixture(scope="module")
def studies():
    return [filled(size) for size in SIZES]


@pytest.mark.parametrize("name", CALLS)
def test_a_call_takes_as_many_steps_in_a_log_four_times_as_long(studies, name):
    small, large = (steps_of(CALLS[name], study) for study in studies)
    assert 0 < large <= small + SLACK


def test_a_server_finds_the_entries_of_a_ticket_by_their_index(database):
    study = Study.create(database, eh.quotas.FairUCB(SHARES, seed=1))
    study.tell(study.ask(count=3_000)[0], 1.0)
    said = []
    event.listen(study.store._engine, "before_cursor_execute", lambda *given: said.append(given[2:4]))
    with study.store.reading() as connection:
        assert [ask.ticket for ask in study._log.open_asks(connection, 0, 300, 2)] == [2, 3]
        statement, values = said[-1]
        plan = "\n".join(connection.exec_driver_sql(f"EXPLAIN {statement}", values).scalars())
    assert "ticket = events.ticket" in plan
    assert "Join" not in plan  # it would read the log once for each ticket while the database was never analysed
    with study.store.writing() as connection:
        connection.exec_driver_sql("ANALYZE events")
    said.clear()
    study.tell(5, 1.0), study.tell(5, 1.0), study.forget(6), study.log.record(7)
    asked = [one for one in said if one[0].startswith("SELECT") and ".ticket " in one[0].partition("WHERE")[2]]
    assert len(asked) >= 4
    for statement, values in asked:
        with study.store.reading() as connection:
            plan = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", values).scalar()
        scans = [node for node in nodes(plan[0]["Plan"]) if node.get("Relation Name") == "events"]
        assert scans, statement
        assert all("ticket" in json.dumps(nodes_below(node)) for node in scans), (statement, plan)


def nodes(plan):
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


def nodes_below(plan):
    """The conditions of indexes in a plan and below it."""
    return [node["Index Cond"] for node in nodes(plan) if "Index Cond" in node]
