"""Processes that decide and report on a shared study, and write down what was acknowledged.

Each line of a journal is handed to the operating system after the call returned: what stands there was acknowledged.
The processes are forked from one that has evenhand loaded and compiled, so that many can be started and killed.
"""

import itertools
import json
import multiprocessing
import os
from multiprocessing.context import ForkServerContext

import evenhand as eh
from evenhand.studies import Study

__all__ = ["nursery", "work"]

SHARES = {"ads": 0.2, "news": 0.3, "sports": 0.1}


def work(place: str, conversations: int, journal: str) -> None:
    """Ask and tell so often, for ever with a number below zero; some reports come late."""
    study = Study.open(place, "ads")
    file = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def acknowledged(**what: object) -> None:
        os.write(file, (json.dumps(what) + "\n").encode())

    def tell(ticket: int) -> None:
        reward = (ticket % 5) / 4
        study.tell(ticket, reward)
        acknowledged(tell=ticket, reward=reward)

    waiting = study.open_tickets if conversations < 0 else []
    for n in itertools.count() if conversations < 0 else range(conversations):
        decision = study.ask()
        acknowledged(ask=decision.id, arm=decision.arm, reason=decision.reason)
        waiting.append(decision.id)
        if n % 3 != 1:
            tell(waiting.pop(0))
    for ticket in waiting:
        tell(ticket)


def nursery() -> ForkServerContext:
    """Return where processes are forked from."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.studies.worker"])
    return context


for policy in (eh.quotas.FairUCB(SHARES, seed=1), eh.quotas.FairLearn(eh.learners.Thompson(seed=2), SHARES, seed=1)):
    policy.tell(policy.ask(), 1.0)
