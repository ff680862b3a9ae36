"""The judge of a simulated service: each answer is true of the logs, and each request has one."""

from __future__ import annotations

from collections import Counter
from typing import Any

from evenhand.studies.log.log import as_event
from evenhand.studies.workers.shared_study import SharedStudy
from tests.studies.simulated_judge import Broken

__all__ = ["judge_answers"]


def judge_answers(service: Any, study: SharedStudy) -> None:
    """Check what was answered against the logs."""
    events = [as_event(entry) for log in study._every_log().values() for entry in log.entries()]
    asks = {event.ticket: event for event in events if event.kind == "ask"}
    _decisions(service.book, asks)
    _reports(service.book, events)
    _answers(service)


def _decisions(book: Any, asks: dict[int, Any]) -> None:
    """Each key has one decision, and each decision was asked for, by a request that was not refused before."""
    keys = Counter(event.key for event in asks.values() if event.key is not None)
    wanted: Counter[str | None] = Counter({None: book.besides})
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


def _reports(book: Any, events: list[Any]) -> None:
    """Each reward was sent by somebody, and is counted once."""
    for event in events:
        if event.kind == "tell" and event.given["reward"] not in book.rewards[event.ticket]:
            raise Broken(f"ticket {event.ticket} was told {event.given['reward']}, which nobody sent")
        if event.kind == "forget" and event.ticket not in book.forgotten:
            raise Broken(f"ticket {event.ticket} was forgotten, and nobody wanted it")
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
                raise Broken(f"request {delivery.name} was accepted by {instance.holder} and not answered")
