"""A study of calls with tokens that several processes tell late, and what a database says of its log."""

import multiprocessing
import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.errors import InFlightError, UnreachableError
from evenhand.studies import Study
from tests.waiting import until

SHARES = {"A": "1/4", "B": "1/5", "C": 0}
BEHIND = """
    WITH log AS (
        SELECT asked.ticket AS row, json_extract(asked.decision, '$.arm') AS arm,
               coalesce(json_extract(told.given, '$.weight'), 0) AS tokens
        FROM events AS asked LEFT JOIN events AS told ON told.ticket = asked.ticket AND told.kind = 'tell'
        WHERE asked.kind = 'ask'),
    sums AS (
        SELECT sum(tokens) OVER up AS total, sum(tokens * (arm = 'A')) OVER up AS a,
               sum(tokens * (arm = 'B')) OVER up AS b
        FROM log WINDOW up AS (ORDER BY row))
    SELECT max(max(5 * total - 20 * a, 4 * total - 20 * b)) FROM sums"""
"""Twenty times the most that A or B were ever behind, by the store's own table."""


def behind_in_sql(place: Path) -> int:
    """Return it."""
    with sqlite3.connect(place) as database:
        return int(database.execute(BEHIND).fetchone()[0])


def converse(place: Path, asks: int, number: int, dies: int = 0) -> None:
    """Ask until the study has so many decisions; tell each weight only after the next decision was asked for. Or be
    killed after so many of one's own, with two of them untold."""
    random, waiting, last, own = np.random.default_rng(number), [], 0, 0
    with Study.open(place) as study:
        while last < asks or dies:
            decision = at_last(lambda key=f"{number}-{own}": study.ask(key=key))
            last, own = decision.id, own + 1
            waiting.append(decision)
            if dies and own == dies:
                os.kill(os.getpid(), signal.SIGKILL)
            while len(waiting) > 1 or (waiting and last >= asks):
                told = waiting.pop(int(random.integers(len(waiting))))
                weight = int(random.integers(3000, 4001) if told.arm == "C" else random.integers(1, 400))
                at_last(lambda told=told, weight=weight: study.tell(told, float(told.arm == "C"), weight=weight))


def at_last(call: Callable[[], Any]) -> Any:
    """Return what a call returns, which is repeated while others keep the database, or have too much in flight."""

    def tried() -> Any:
        with suppress(InFlightError, UnreachableError):
            return call()

    return until(tried, 0.01)


def nursery() -> ForkServerContext:
    """Return where processes are forked from."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.studies.weighed_calls"])
    return context
