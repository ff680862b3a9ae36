"""The creation of a study: checks of its policy and its name, and the first rows in its store."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from evenhand import registry
from evenhand.errors import NOTHING, ArgumentError, Wording, argument, expected
from evenhand.parameters import rounds_of
from evenhand.policy.ask_tell import open_tickets_of
from evenhand.policy.given import checked_reward
from evenhand.policy.traits import traits_of
from evenhand.protocol import Forgetting, Policy
from evenhand.saving.state import to_bytes
from evenhand.studies.log.chain import Birth
from evenhand.studies.log.codec import now
from evenhand.studies.log.durations import read_expiry
from evenhand.studies.log.log import Log
from evenhand.studies.log.snapshots import Snapshot, latest_replay, write_snapshot
from evenhand.studies.log.transaction import Transaction
from evenhand.studies.log.versions import policy_version
from evenhand.studies.signing import new_secret
from evenhand.studies.store.address import read_address, shown_address
from evenhand.studies.store.schema import STUDIES
from evenhand.studies.store.storage import Storage
from evenhand.studies.store.store import Store

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
"""The form of a study's name, which is part of addresses and tickets."""


def write_study(store: Store, name: str, policy: Any, state: bytes, expiry: dict[str, float]) -> None:
    """Write a new study to a store: its row, the first state of its policy, and how its tickets expire.

    Raises
    ------
    ArgumentError
        If the store has a study of this name.
    """
    birth, version = Birth(name, str(registry.name_of(policy)), new_secret(), now()), policy_version(policy)
    with store.writing() as connection:
        try:
            number = connection.scalar(insert(STUDIES).values(birth._asdict()).returning(STUDIES.c.id))
        except IntegrityError as error:
            raise ArgumentError(f"{store.url}: study {name!r} already exists; choose another name") from error
        assert number is not None
        write_snapshot(connection, number, Snapshot(0, version, birth.created_at, birth.digest, state))
        if expiry:
            log = Log(store, number)
            Transaction(connection, log, latest_replay(connection, log), int).set(expiry)


def state_of_new(policy: Any) -> bytes:
    """Return the first state of a study of this policy.

    Raises
    ------
    ArgumentError
        If it is not a registered policy, cannot forget, has open tickets, or makes a promise and has decided already.
    """
    if registry.name_of(policy) is None or not isinstance(policy, Policy):
        raise ArgumentError(expected("policy", "a registered policy, such as eh.quotas.FairUCB({...})", policy))
    if not isinstance(policy, Forgetting):
        what = "one with a method forget, by which tickets are closed"
        raise ArgumentError(expected("policy", what, type(policy).__name__))
    waiting = len(open_tickets_of(policy))
    if waiting:
        raise ArgumentError(expected("policy", "one without open tickets", Wording(f"{waiting} open")))
    decided = rounds_of(policy)
    if traits_of(policy).holds_when is not None and decided:
        got = f"one at round {decided}"
        hint = "its promise is checked in every round, so the log must hold all rounds: pass policy.fresh()"
        raise ArgumentError(expected("policy", "one that has not decided yet", got, hint))
    return to_bytes(policy)


def expiry_of_new(policy: Any, after: Any, reward: Any) -> dict[str, float]:
    """Return how the tickets of a new study expire: `expire_after` in seconds, and the `expire_reward` that is told
    then, each where it is given.

    Raises
    ------
    ArgumentError
        If it is no duration, the policy takes no such reward, or a reward is given without a duration.
    """
    seconds = read_expiry(after)
    found = {} if seconds is None else {"expire_after": seconds}
    if reward is None:
        return found
    if seconds is None:
        raise ArgumentError(
            expected("expire_reward", Wording(NOTHING, " without expire_after"), reward, "say when tickets expire")
        )
    traits = traits_of(policy)
    if traits.feedback != "reward" or traits.audited:
        what = "verdicts" if traits.audited else traits.feedback
        hint = "leave it out: tickets then expire without one"
        raise ArgumentError(expected("expire_reward", "a policy that is told rewards alone", f"one told {what}", hint))
    if traits.promise is not None and traits.promise.in_flight is not None:
        hint = "leave it out: the weight of a ticket that expires then counts as 0"
        raise ArgumentError(expected("expire_reward", Wording(NOTHING, " where weights are told late"), reward, hint))
    low, high = traits.reward_range or (-math.inf, math.inf)
    return found | {"expire_reward": checked_reward(reward, low, high, "expire_reward")}


def name_of_new(name: str | None, store: Storage | str | os.PathLike[str]) -> str:
    """Return the name of a new study: the one that is given, else the store's file's, else "study".

    Raises
    ------
    ArgumentError
        If it is not a valid name.
    """
    chosen = _default(store) if name is None else name
    if not isinstance(chosen, str) or NAME.fullmatch(chosen) is None:
        hint = Wording("choose a name: ", argument("name")) if name is None else ""
        raise ArgumentError(
            expected("name", "up to 100 letters, digits, - and _, a letter or digit first", chosen, hint)
        )
    return chosen


@contextmanager
def open_store(store: Storage | str | os.PathLike[str], *, create: bool = False) -> Iterator[Store]:
    """Open the store at a place; close it again if the block fails."""
    place = Store.at(store, create=create)
    try:
        yield place
    except BaseException:
        if place is not store:
            place.close()
        raise


def _default(store: Storage | str | os.PathLike[str]) -> str:
    text = store.url if isinstance(store, Storage) else shown_address(read_address(store))
    stem = os.path.basename(text).split(".", 1)[0]
    return stem if "://" not in text and text != ":memory:" and stem else "study"
