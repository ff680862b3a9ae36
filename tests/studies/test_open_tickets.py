"""Open tickets live in the log: the policy is saved without them, and takes one up again when it is told."""

import pytest
from sqlalchemy import event

from evenhand import registry
from evenhand.checks import examples
from evenhand.errors import EvenhandError
from evenhand.quotas import FairUCB
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.studies import Study
from evenhand.studies.log.codec import as_decided, from_text, revive, to_plain, to_text
from tests.naming import at_night

APART = [entry.name for entry in registry.entries("policy") if getattr(entry.cls, "_tickets_live_in_log", False)]
QUICK = (
    "quotas/deadline-learn",
    "learners/lin-ucb",
    "groups/linear-thompson",
    "similarity/lipschitz-ucb",
    "sampling/optimistic",
    "interventions/csr",
)
"""One of each kind; the others at night."""
SHOWN = ("contexts", "groups")


def conversation(policy, world, rounds=14):
    """Ask and tell, late and out of order; yield before each step what is about to happen."""
    world.reset(seed=3)
    waiting = []
    for t in range(rounds):
        try:
            shown = world.observe()
            ticket = policy.ask(*shown)
        except EvenhandError:
            break
        yield ("asked", ticket, shown)
        waiting.append((ticket, world.respond(ticket)))
        if t % 4 == 3:
            forgotten, _ = waiting.pop(0)
            yield ("forget", forgotten, None)
            policy.forget(forgotten)
        while t % 3 == 2 and len(waiting) > 2:
            ticket, happened = waiting.pop(-2)
            yield ("tell", ticket, None)
            policy.tell(ticket, *happened)


def test_what_decides_by_its_open_tickets_keeps_them():
    every = {entry.name for entry in registry.entries("policy") if hasattr(entry.cls, "open_tickets")}
    assert every - set(APART) == {"sampling/certification"}


@pytest.mark.parametrize("name", [name if name in QUICK else at_night(name) for name in APART])
def test_tickets_are_laid_aside_and_taken_up_again_from_the_log(name):
    policy, world = next(iter(examples(registry.get(name).cls)))
    apart, log, seen = from_bytes(to_bytes(policy)), {}, []
    whole = [(kind, to_text(as_decided(ticket))) for kind, ticket, _ in conversation(policy, world)]

    def take_up(number):
        decided, given = log[number]
        apart.tickets.restore(number, from_text(decided), revive(from_text(given)))

    for kind, ticket, shown in conversation(apart, world):
        seen.append((kind, to_text(as_decided(ticket))))
        if kind == "asked":
            decided = {**as_decided(ticket), **apart.tickets.extra_log_fields(ticket.id)}
            given = dict(zip(SHOWN, shown, strict=False))
            log[ticket.id] = to_text(decided), to_text(to_plain(given))
            apart.tickets.evict(0)
            assert not apart.tickets.remembers(ticket.id)
        else:
            take_up(ticket.id)
    assert seen == whole
    assert len(seen) > 2
    for number in policy.open_tickets:
        take_up(number)
    assert to_bytes(apart) == to_bytes(policy)
    numbers, kept = policy.open_tickets, policy.open_tickets[:1]
    with policy.tickets.only(kept):
        bare = to_bytes(policy)
    assert policy.open_tickets == numbers
    assert from_bytes(bare).open_tickets == kept
    apart.tickets.evict(0, kept)
    assert to_bytes(apart) == bare


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
