"""The judge of a simulated study: what was acknowledged is there, and what was promised held, by its own arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from evenhand.studies.log.log import as_event
from evenhand.studies.workers.membership import Membership
from evenhand.studies.workers.shared_study import SharedStudy

__all__ = ["Broken", "judge"]


class Broken(AssertionError):
    """What the judge found."""


def judge(run: Any, study: SharedStudy, *, whole: bool) -> None:
    """Check a study after a run; `whole` has the program verify itself and make its table too, which takes longer."""
    logs = {one.name: study.log_of(one) for one in study.membership().members.values()}
    events = {name: [as_event(entry) for entry in log.entries()] for name, log in logs.items()}
    arms = {name: [event for event in log if event.kind == "ask"] for name, log in events.items()}
    _acknowledged(run, [event for log in events.values() for event in log])
    played = {name: [event.decision["arm"] for event in asks] for name, asks in arms.items()}
    _orders(run, played)
    _payments(run, study)
    _streams(arms)
    _totals(logs, events)
    _canonical(study, {name: len(asks) for name, asks in arms.items()})
    if whole:
        frame = study.frame()
        order = [
            (study._membership.members[name].number, round)
            for name, round in zip(frame["worker"], frame["round"], strict=True)
        ]
        if order != list(_order(study)):
            raise Broken("the table is not in the canonical order")
        problems = study.verify().problems
        if problems:
            raise Broken("; ".join(problems))


def _acknowledged(run: Any, events: list[Any]) -> None:
    asked = Counter(event.ticket for event in events if event.kind == "ask")
    if asked and max(asked.values()) > 1:
        raise Broken("a ticket was handed out twice")
    arms = {event.ticket: event.decision["arm"] for event in events if event.kind == "ask"}
    rewards = {event.ticket: event.given["reward"] for event in events if event.kind == "tell"}
    for ticket, arm in run.asked.items():
        if arms.get(ticket) != arm:
            raise Broken(f"decision {ticket} was acknowledged and is not there")
    for ticket, reward in run.told.items():
        if rewards.get(ticket) != reward and ticket not in run.maybe:
            raise Broken(f"the reward of {ticket} was acknowledged and is not there")


def _orders(run: Any, played: dict[str, list[str]]) -> None:
    """Every merge order keeps the promise: the least of each worker's surpluses add up to enough; and some orders."""
    shares = {arm: Fraction(share) for arm, share in run.shares.items()}
    logs = dict(played)
    base = logs.pop("", [])
    for arm, share in shares.items():
        total = base.count(arm) - share * len(base)
        for log in logs.values():
            surplus, least = Fraction(0), Fraction(0)
            for one in log:
                surplus += (one == arm) - share
                least = min(least, surplus)
            total += least
        if total <= -(run.tolerance + 1):
            raise Broken(f"arm {arm} lacks {-total} pulls in some order")
    for _ in range(2):
        order, left = list(base), {worker: list(log) for worker, log in logs.items() if log}
        while left:
            worker = run.chance.choice(sorted(left))
            order.append(left[worker].pop(0))
            if not left[worker]:
                del left[worker]
        counts: Counter[str] = Counter()
        for t, arm in enumerate(order, 1):
            counts[arm] += 1
            for one, share in shares.items():
                if counts[one] < (share * t).__floor__() - run.tolerance:
                    raise Broken(f"arm {one} is short at round {t} of a merge order")


def _payments(run: Any, study: SharedStudy) -> None:
    """No more of the tolerance is given to workers than there is, what came back counted."""
    shares = {arm: Fraction(share) for arm, share in run.shares.items()}
    with study.store.reading() as connection:
        found = Membership(study._log.rows(connection))
    for i, arm in enumerate(study._template.arms or ()):
        share = shares[arm]
        left = run.tolerance + 1 - Fraction(1, share.denominator)
        if found.rounds:
            left += found.pulls[i] - share * found.rounds
        for one in found.workers:
            left -= (one.endowment or ())[i]
            left += one.returned[i] if one.returned else 0
        if left < 0:
            raise Broken(f"{-left} pulls of arm {arm} were given away that were not there")


def _streams(asks: dict[str, list[Any]]) -> None:
    """No two workers draw from the same stream."""
    first = [str(log[0].random_state) for log in asks.values() if log and log[0].random_state is not None]
    if len(set(first)) < len(first):
        raise Broken("two workers draw the same numbers")


def _totals(logs: dict[str, Any], events: dict[str, list[Any]]) -> None:
    """Each worker knows the rewards of its own log and of what it took in, each once."""
    named = {name or "the serial beginning": log for name, log in events.items()}
    for name, log in logs.items():
        policy, taken = log._now().policy, dict[str, int]()
        own = sum(event.kind == "tell" for event in events[name])
        for event in events[name]:
            for peer, report in (event.given.get("peers", {}) if event.kind == "take" else {}).items():
                taken[peer] = max(taken.get(peer, 0), report["number"])
        rounds = 0
        for sender, number in taken.items():
            if sender == (name or "the serial beginning"):
                raise Broken(f"{name} learned from itself")
            before = [event for event in named[sender] if event.sequence <= number]
            own += sum(event.kind == "tell" for event in before)
            rounds += sum(event.kind == "ask" for event in before)
        state = policy._learned
        count = state.successes + state.failures if hasattr(state, "successes") else state.pulls
        if int(count.sum()) != own:
            raise Broken(f"{name} knows {int(count.sum())} rewards, and {own} were told to it and to those it heard")
        if policy.pool.rounds != rounds:
            raise Broken(f"{name} counts {policy.pool.rounds} rounds of others, and heard of {rounds}")
        if hasattr(state, "means"):
            seen = state.pulls > 0
            if not np.allclose(state.means[seen], state.sums[seen] / state.pulls[seen]):
                raise Broken(f"{name} decides by means of earlier")


def _canonical(study: SharedStudy, rounds: dict[str, int]) -> None:
    """The canonical order keeps each log's own, and leaves nothing out."""
    numbers = {one.number: one.name for one in study._membership.members.values()}
    counted: Counter[str] = Counter()
    for number, round in _order(study):
        counted[numbers[number]] += 1
        if round != counted[numbers[number]]:
            raise Broken(f"the order of {numbers[number] or 'the beginning'} is not its own")
    if any(counted[name] != length for name, length in rounds.items()):
        raise Broken("decisions are missing in the canonical order")


def _order(study: SharedStudy) -> Iterator[tuple[int, int]]:
    """Yield the worker's number and its own round of each decision, in the canonical order."""
    rounds: Counter[int] = Counter()
    for entry in study.canonical():
        if entry.kind == "ask":
            number = (entry.ticket or 0) // 10**12
            rounds[number] += 1
            yield number, int(entry.ticket or 0) % 10**12
