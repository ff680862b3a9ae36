"""The judge of a simulated service: what was acknowledged is in the log, and what was promised held, by an arithmetic
of its own; each answer is true of the log, and each request has one."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np

from evenhand.studies import Study
from evenhand.studies.log.log import as_event
from tests.service.simulated_requests import Book, Broken

__all__ = ["judge"]


def judge(service: Any, study: Study, *, whole: bool) -> None:
    """Check a study after a run; `whole` has the program verify itself and make its table too, which takes longer."""
    events = [as_event(entry) for entry in study.log.entries()]
    if [event.sequence for event in events] != list(range(1, len(events) + 1)):
        raise Broken("the entries are not numbered one by one")
    asks = {event.ticket: event for event in events if event.kind == "ask"}
    _acknowledged(service.book, events, asks)
    _promise(service, list(asks.values()))
    _learned(study, events)
    _decisions(service.book, asks)
    _reports(service.book, events)
    _answers(service)
    for decisions, told in service.book.shown:
        if decisions > len(asks) or told > sum(event.kind == "tell" for event in events):
            raise Broken(f"a view showed {decisions} decisions and {told} reports, more than there ever were")
    if whole:
        if study.frame()["ticket"].tolist() != list(asks):
            raise Broken("the table is not in the order of the log")
        problems = study.verify().problems
        if problems:
            raise Broken("; ".join(problems))


def _acknowledged(book: Book, events: list[Any], asks: dict[int, Any]) -> None:
    """Each ticket is handed out once, before anything is said of it; what was acknowledged is there."""
    if list(asks) != list(range(1, len(asks) + 1)) or len(asks) < sum(event.kind == "ask" for event in events):
        raise Broken("the tickets are not numbered one by one")
    for event in events:
        if event.kind != "ask" and event.ticket and asks[event.ticket].sequence > event.sequence:
            raise Broken(f"entry {event.sequence} is a {event.kind} of ticket {event.ticket} before it was handed out")
    rewards = {event.ticket: event.given["reward"] for event in events if event.kind == "tell"}
    for ticket, arm in book.asked.items():
        if ticket not in asks or asks[ticket].decision["arm"] != arm:
            raise Broken(f"decision {ticket} was acknowledged and is not there")
    for ticket, reward in book.told.items():
        if rewards.get(ticket) != reward:
            raise Broken(f"the reward of {ticket} was acknowledged and is not there")


def _promise(service: Any, asks: list[Any]) -> None:
    """No arm is ever short, in the order of the log."""
    shares, counts = {arm: Fraction(share) for arm, share in service.shares.items()}, Counter[str]()
    for t, ask in enumerate(asks, 1):
        counts[ask.decision["arm"]] += 1
        for arm, share in shares.items():
            if counts[arm] < (share * t).__floor__() - service.tolerance:
                raise Broken(f"arm {arm} is short at round {t}")


def _learned(study: Study, events: list[Any]) -> None:
    """The policy counts each decision and each reward of the log once, whoever took it or told it."""
    policy = study.state.now().policy
    played = Counter(event.decision["arm"] for event in events if event.kind == "ask")
    if any(policy.pulls[arm] != played[arm] for arm in policy.arms):
        raise Broken(f"the policy counts the decisions {policy.pulls}, and the log has {dict(played)}")
    state = policy.engine.state.learner
    count = state.successes + state.failures if hasattr(state, "successes") else state.pulls
    told = sum(event.kind == "tell" for event in events)
    if int(count.sum()) != told:
        raise Broken(f"the policy knows {int(count.sum())} rewards, and {told} were told")
    if hasattr(state, "means"):
        seen = state.pulls > 0
        if not np.allclose(state.means[seen], state.sums[seen] / state.pulls[seen]):
            raise Broken("the policy decides by means of earlier")


def _decisions(book: Book, asks: dict[int, Any]) -> None:
    """Each key has one decision, and each decision was asked for, by a request that was not refused before."""
    keys = Counter(event.key for event in asks.values() if event.key is not None)
    wanted: Counter[str | None] = Counter()
    for call in book.calls:
        for key, number in call.named:
            wanted[_shown(key, number)] += sum(not delivery.undone for delivery in call.deliveries)
    for key, times in keys.items():
        if times > 1:
            raise Broken(f"{times} decisions were taken under {key}")
        if not wanted[key]:
            raise Broken(f"a decision was taken under {key}, and nobody asked for it")
    if len(asks) - len(keys) > wanted[None]:
        raise Broken(f"{len(asks) - len(keys)} decisions without a key, for {wanted[None]} requests")
    for (key, number), ticket in book.keyed.items():
        if asks[ticket].key != _shown(key, number):
            raise Broken(f"decision {ticket} is that of {asks[ticket].key}, and was the answer to {key}")
    for ticket in book.keyless:
        if asks[ticket].key is not None:
            raise Broken(f"decision {ticket} is that of {asks[ticket].key}, and was the answer to another request")


def _shown(key: str | None, number: int) -> str | None:
    return key if not number else f"{key}#{number}"


def _reports(book: Book, events: list[Any]) -> None:
    """Each reward was sent by somebody, and is counted once; what was refused was closed otherwise."""
    told = {event.ticket: event.given["reward"] for event in events if event.kind == "tell"}
    closed = {event.ticket for event in events if event.kind in ("forget", "expire")}
    if len(told) < sum(event.kind == "tell" for event in events):
        raise Broken("a ticket was told twice")
    for ticket, reward in told.items():
        if reward not in book.rewards[ticket]:
            raise Broken(f"ticket {ticket} was told {reward}, which nobody sent")
    for event in events:
        if event.kind == "forget" and event.ticket not in book.forgotten:
            raise Broken(f"ticket {event.ticket} was forgotten, and nobody wanted it")
    for ticket, reward in book.refused:
        if ticket not in closed and (ticket not in told or told[ticket] == reward):
            raise Broken(f"ticket {ticket} was refused, and nothing else was said of it")
    sent: dict[int, list[bool]] = {}
    for call in book.calls:
        if call.path.endswith("/tell"):
            for ticket in call.tickets:
                known = [one.answered and one.status == 200 for one in call.deliveries if not one.undone]
                sent.setdefault(ticket, []).extend(known)
    for ticket, answered in sent.items():
        first = book.first_told[ticket]
        if first > 1:
            raise Broken(f"ticket {ticket} was told for the first time {first} times")
        if all(answered) and ticket in book.told and not first and ticket not in book.unsure:
            raise Broken(f"ticket {ticket} was told before, and nobody had told it")


def _answers(service: Any) -> None:
    """An instance that stopped by itself has answered all that it accepted; any other one, until it was killed."""
    for instance in service.instances:
        for delivery in instance.deliveries:
            if instance.ended and not (delivery.answered or delivery.gone or delivery.cancelled):
                raise Broken(f"request {delivery.name} was accepted by {instance.name} and not answered")
