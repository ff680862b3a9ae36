"""Checks of the conversation: seeds, files, tickets, bad input, the promise, threads."""

from __future__ import annotations

import copy
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from evenhand.checks.play import SEED, Skip, converse, first_difference, fresh_policy, must_refuse, state_of
from evenhand.errors import ArgumentError, EvenhandError, ExhaustedError, TicketError
from evenhand.kernels.compose import compiles
from evenhand.policy.ask_tell import open_tickets_of
from evenhand.policy.traits import traits_of
from evenhand.promises.books import ClauseCounts
from evenhand.promises.promise import Promise
from evenhand.protocol import Forgetting, id_of
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.simulation.loop import replicate, runs_compiled
from evenhand.threads import run_together

THREADS = 4
LONG, LONG_AS_PYTHON = 100_000, 10_000
"""Rounds in which a promise is checked by the compiled loop, and where that runs as plain Python."""


def check_same_seed(policy: object, world: Any, rounds: int) -> None:
    """See that two copies with one seed decide alike."""
    other_policy, other_world = fresh_policy(policy), copy.deepcopy(world)
    world.reset(SEED), other_world.reset(SEED)
    first = converse(policy, world, rounds)
    second = converse(other_policy, other_world, rounds)
    at = first_difference(first, second)
    assert at is None, f"with one seed, round {at} was {first[at or 0]} in one copy and {second[at or 0]} in another"


def check_save_and_load(policy: Any, world: Any, rounds: int) -> None:
    """See that a policy saved with a ticket open goes on exactly as the original."""
    world.reset(SEED)
    half = max(1, rounds // 2)
    converse(policy, world, half)
    open_ticket = policy.ask(*world.observe())
    happened = world.respond(open_ticket)
    try:
        saved = to_bytes(policy)
    except ArgumentError as error:
        raise Skip(f"cannot be saved: {error}") from error
    other, other_world = from_bytes(saved), copy.deepcopy(world)
    assert to_bytes(other) == saved, "saved again right after loading, the file differs"
    for one in (policy, other):
        one.tell(id_of(open_ticket), *happened)
    first, second = converse(policy, world, half), converse(other, other_world, half)
    at = first_difference(first, second)
    assert at is None, f"the loaded policy parts from the original {at} rounds later"


def check_tickets(policy: Any, world: Any, rounds: int) -> None:
    """See that tells may be late and out of order, and that no ticket is told twice."""
    world.reset(SEED)
    several = []
    for _ in range(min(6, rounds)):
        ticket = policy.ask(*world.observe())
        several.append((ticket, world.respond(ticket)))
    for ticket, happened in reversed(several):
        policy.tell(ticket, *happened)
    before = state_of(policy)
    last, happened = several[-1]
    number = id_of(last)
    for wrong in (last, number, 10**9, 0, -1, "x", None):
        must_refuse(policy, partial(policy.tell, wrong, *happened), f"tell({wrong!r}) after it was told", TicketError)
    assert state_of(policy) == before, "a refused tell changed the policy"
    if isinstance(policy, Forgetting):
        ticket = policy.ask(*world.observe())
        policy.forget(ticket)
        must_refuse(policy, partial(policy.tell, ticket, *happened), "tell of a forgotten ticket", TicketError)
        must_refuse(policy, partial(policy.forget, ticket), "forget of a forgotten ticket", TicketError)
    converse(policy, world, min(20, rounds))


def check_bad_input(policy: Any, world: Any, rounds: int) -> None:
    """See that what cannot be a reward or contexts is refused, and that nothing has changed."""
    world.reset(SEED)
    converse(policy, world, min(10, rounds))
    shown = world.observe()
    ticket = policy.ask(*shown)
    happened = world.respond(ticket)
    before = state_of(policy)
    if len(happened) == 1 and isinstance(happened[0], float):
        bad: list[Any] = [np.nan, np.inf, -np.inf, "much", None, [1.0, 2.0]]
        low, high = traits_of(policy).reward_range or (-np.inf, np.inf)
        bad += [value for value in (low - 0.1, high + 0.1) if np.isfinite(value)]
        for reward in bad:
            must_refuse(policy, partial(policy.tell, ticket, reward), f"a reward of {reward!r}", EvenhandError)
    if traits_of(policy).contextual:
        contexts = shown[0]
        holed = contexts.copy()
        holed[-1, -1] = np.nan
        for wrong in (None, np.vstack([contexts, contexts]), contexts[:, :-1], holed, "abc", contexts[None]):
            must_refuse(policy, partial(policy.ask, wrong), "contexts that do not fit", EvenhandError)
    assert state_of(policy) == before, "a refused call changed the policy"
    policy.tell(ticket, *happened)


def check_promise_kept(policy: Any, world: Any, rounds: int) -> None:
    """See that what the policy promises holds after every round, or at its horizon."""
    promise, kept = traits_of(policy).promise, traits_of(policy).holds_when
    if not isinstance(promise, Promise):
        raise Skip("promises nothing that is counted in plays")
    if not promise.clauses:
        raise Skip("promises nothing: all its shares are 0")
    if kept == "in the long run":
        raise Skip("promises its shares only in the long run")
    if kept == "at every round" and runs_compiled(policy, world):
        seeds: dict[str, Any] = {"policy_seed": SEED, "world_seed": SEED, "stop": lambda done: None}
        long = max(rounds, LONG if compiles() else LONG_AS_PYTHON)
        broken = int(replicate(policy, world, promise, checkpoints=np.array([long]), **seeds).violations[-1])
        assert not broken, f"within {long:,} rounds a clause was broken {broken:,} times, once for each round"
    world.reset(SEED)
    if kept == "at the horizon":
        rounds = traits_of(policy).horizon or rounds
    books = ClauseCounts(promise.clauses, promise.arms)
    for t in range(1, rounds + 1):
        ticket = policy.ask(*world.observe())
        policy.tell(ticket, *world.respond(ticket))
        broken = books.enter(ticket.indexes)
        assert not broken or (kept == "at the horizon" and t < rounds), f"after round {t} {_broken(books)} is broken"


def _broken(books: ClauseCounts) -> str:
    """Return in words which clauses are broken now."""
    missed = books.counts.missed.tolist()
    return "; ".join(str(clause) for clause, by in zip(books.clauses, missed, strict=True) if by)


def check_threads(policy: Any, world: Any, rounds: int) -> None:
    """See that several threads get tickets of their own, and that the promise holds over all of them."""

    def converse(own: Any) -> list[Any]:
        said = []
        try:
            for _ in range(max(1, min(24, rounds) // THREADS)):
                said.append(policy.ask(*own.observe()))
                policy.tell(said[-1], *own.respond(said[-1]))
        except ExhaustedError:
            pass
        return said

    worlds = [copy.deepcopy(world) for _ in range(THREADS)]
    for number, own in enumerate(worlds):
        own.reset(SEED + number)
    packages = {"evenhand", type(policy).__module__.partition(".")[0]}
    conversations = run_together([partial(converse, own) for own in worlds], packages)
    tickets = sorted((ticket for said in conversations for ticket in said), key=lambda ticket: ticket.id)
    for name in ("id", "round"):
        numbers = [getattr(ticket, name, number) for number, ticket in enumerate(tickets)]
        at = next((n for n, (a, b) in enumerate(pairwise(numbers)) if b != a + 1), None)
        assert at is None, f"{THREADS} threads got the {name}s {numbers[at or 0 :][:2]}, one after the other"
    left = list(open_tickets_of(policy))
    assert not left, f"the tickets {left[:5]} stayed open though all were told"
    promise = traits_of(policy).promise
    if isinstance(promise, Promise) and traits_of(policy).holds_when == "at every round":
        books = ClauseCounts(promise.clauses, promise.arms)
        for t, ticket in enumerate(tickets, 1):
            assert not books.enter(ticket.indexes), f"after round {t} of {THREADS} threads {_broken(books)} is broken"
