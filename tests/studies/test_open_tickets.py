"""Open tickets live in the log: the policy is saved without them."""

from sqlalchemy import event

from evenhand import registry
from evenhand.quotas import FairUCB
from evenhand.studies import Study


def test_what_decides_by_its_open_tickets_keeps_them():
    every = {entry.name: entry.cls for entry in registry.entries("policy") if hasattr(entry.cls, "open_tickets")}
    kept = {name for name, cls in every.items() if not getattr(cls, "_tickets_live_in_log", False)}
    assert kept == {"sampling/certification"}


def test_a_server_without_statistics_looks_each_ticket_up(database):
    """A join would read the log once for each ticket: seconds, in a database that was never analysed."""
    statements = []
    with Study.create(database, FairUCB({"a": 0.2, "b": 0.3}, seed=1)) as study:
        study.tell(study.ask(count=300)[0], 1.0)
        event.listen(study.store._engine, "before_cursor_execute", lambda *given: statements.append(given[2:4]))
        with study.store.reading() as connection:
            assert [ask.ticket for ask in study._log.open_asks(connection, 0, 300, 2)] == [2, 3]
            statement, parameters = statements[-1]
            plan = "\n".join(connection.exec_driver_sql(f"EXPLAIN {statement}", parameters).scalars())
    assert "ticket = events.ticket" in plan
    assert "Join" not in plan
