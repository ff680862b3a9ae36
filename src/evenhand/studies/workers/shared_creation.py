"""The creation of a study with several workers: its members, and what each is given."""

from __future__ import annotations

import os
from typing import Any

from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from evenhand import registry
from evenhand.arguments import real
from evenhand.arguments import whole as whole_number
from evenhand.errors import (
    ArgumentError,
    wanted,
)
from evenhand.saving.state import to_bytes
from evenhand.simulation.sharing import plan_of, shared_promise
from evenhand.studies.creation import open_store
from evenhand.studies.log.chain import genesis
from evenhand.studies.log.codec import now
from evenhand.studies.log.log import Log
from evenhand.studies.log.snapshots import write_snapshot
from evenhand.studies.log.versions import policy_version
from evenhand.studies.signing import new_secret
from evenhand.studies.store.schema import STUDIES
from evenhand.studies.store.store import Store
from evenhand.studies.workers.members import begin_member, can_exchange
from evenhand.studies.workers.membership import (
    MOST,
    Member,
    enter,
    worker_name,
)
from evenhand.studies.workers.shared_study import SharedStudy

__all__ = ["SharedStudy", "create_shared", "read_exchange"]


def read_exchange(rounds: Any, seconds: Any) -> dict[str, Any]:
    """Return how often workers exchange what they learned.

    Raises
    ------
    ArgumentError
        If these are not a whole number of rounds and a number of seconds, or None.
    """
    if rounds is not None:
        rounds = whole_number("exchange_rounds", rounds, low=1)
    if seconds is not None:
        seconds = real("exchange_seconds", seconds, above=0)
    return {"exchange_rounds": rounds, "exchange_seconds": seconds}


def create_shared(
    store: Store | str | os.PathLike[str],
    policy: Any,
    name: str,
    expire_after: float | None,
    workers: int,
    exchange: dict[str, Any],
) -> SharedStudy:
    """Create a study with workers "w1", "w2", ...; see `Study.create`."""
    if workers > MOST:
        raise ArgumentError(wanted("workers", f"at most {MOST}", workers))
    plan = plan_of(shared_promise(policy), workers)
    row = {"name": name, "policy": registry.name_of(policy), "secret": new_secret(), "created_at": now()}
    begin = {
        "workers": workers,
        "burn_in": 0 if plan is None else plan.rounds,
        "pulls": [] if plan is None else plan.pulls,
        "expire_after": expire_after,
        "exchange": can_exchange(policy),
        **exchange,
    }
    endowment = None if plan is None else tuple(plan.endowment)
    names = ["", *_names(name, workers)] if begin["burn_in"] else _names(name, workers)
    first = 0 if begin["burn_in"] else 1
    return _begin(store, policy, row, begin, [Member(w, n, endowment, "") for n, w in enumerate(names, first)])


def _names(study: str, workers: int) -> list[str]:
    return [worker_name(f"w{number}", study) for number in range(1, workers + 1)]


def _begin(
    store: Store | str | os.PathLike[str],
    policy: Any,
    row: dict[str, Any],
    begin: dict[str, Any],
    members: list[Member],
) -> SharedStudy:
    """Write a study with these members to a store, which is created if missing."""
    name, version = row["name"], policy_version(policy)
    with open_store(store, create=True) as place:
        with place.writing() as connection:
            try:
                number = connection.scalar(insert(STUDIES).values(row).returning(STUDIES.c.id))
            except IntegrityError as error:
                raise ArgumentError(f"{place.url}: study {name!r} already exists; choose another name") from error
            assert number is not None
            birth, log = genesis(row), Log(place, number)
            write_snapshot(connection, number, 0, birth, row["created_at"], version, to_bytes(policy))
            enter(connection, log, "begin", begin, version, birth)
            for member in members:
                begin_member(connection, place, log, member, policy, row, version)
        return SharedStudy(place, name, None)
