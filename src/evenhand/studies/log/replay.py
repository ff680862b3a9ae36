"""The policy in memory, which follows the log: it replays entries of others and applies new operations."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any

from sqlalchemy import Connection

from evenhand.errors import ArgumentError, EvenhandError, ReplayError, Wording, expected
from evenhand.policy.answers import LearnerAnswers
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.traits import traits_of
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.studies.log.chain import Entry, check_link
from evenhand.studies.log.codec import from_text, moment, revive
from evenhand.studies.log.durations import check_future
from evenhand.studies.log.log import LARGEST, Log
from evenhand.studies.log.open_tickets import OpenTickets, is_apart, only_these_tickets, restore_from_log
from evenhand.studies.log.operations import Arguments, answers_of, apply, replay_entry
from evenhand.studies.log.versions import policy_version

ENTRIES = 1_000
SECONDS = 0.5
LEAST = 10
"""A snapshot is due after ENTRIES entries, or after LEAST entries that took SECONDS to apply."""
SMALL = 2**16
"""The largest state, in bytes, that is saved after every transaction of a study with subjects."""
ASKED = 10
"""How often a learner from elsewhere is asked from the first state: one that draws between two arms alike is then not
noticed in one of 512 studies."""


class Replay:
    """A policy and its position in the log.

    Attributes
    ----------
    log : that it follows.
    version : of the policy's code; `writer` is that of the last entry, `origin` that of the snapshot it began with.
    tickets : the open tickets, which the log holds.
    expire_after : for how many microseconds a ticket may be open, None for ever.
    expire_reward : the reward of a ticket that expires, None where it has none.
    setting : all settings of the study. `planned` are changes of the promise that are due later, the next one first:
        each with `begins`, its arguments as `given`, and its `actor`; `refused` are those that could not be made when
        they were due.
    sealed : whether contexts are encrypted. Then the state after each transaction is saved, if it is small: if the key
        of one person is lost, the replay of the others does not need it.
    size, latest_saved : the bytes of the last snapshot, and the entry after which the last transaction of this process
        saved the state.
    """

    def __init__(self, policy: Any, log: Log, sequence: int, digest: str, writer: str, *, lower_bound: int = 0) -> None:
        self.policy, self.log, self.sequence, self.digest, self.writer = policy, log, sequence, digest, writer
        self.origin = writer
        self.version = policy_version(policy)
        self.arguments = Arguments(policy)
        self.tickets = OpenTickets(policy, log, lower_bound)
        self.expire_after: int | None = None
        self.expire_reward: float | None = None
        self.setting: dict[str, Any] = {}
        self.sealed = self._warned = False
        self.size = self.latest_saved = 0
        self.reset_work()

    def take_in(self, connection: Connection, entries: Sequence[Entry]) -> None:
        """Replay stored entries.

        Raises
        ------
        ReplayError
            If an entry is missing or was changed, or the policy decides otherwise than it did.
        """
        asked = {entry.ticket for entry in entries if entry.kind == "ask"}
        closed = {entry.ticket for entry in entries if entry.kind != "ask" and entry.ticket} - asked
        self.tickets.fetch(connection, [number for number in closed if number], self.sequence)
        for entry in entries:
            check_link(self.sequence, self.digest, entry)
            self._follow(entry)
        self.tickets.asked(len(asked))

    def catch_up(self, connection: Connection) -> None:
        """Replay what the log holds beyond."""
        for page in self.log.pages(connection, self.sequence):
            self.take_in(connection, page)

    def _follow(self, entry: Entry) -> None:
        started, answers = perf_counter(), answers_of(self.policy)
        if answers is not None and entry.kind == "ask":
            answers.expected = revive(from_text(entry.decision).get("answers", []))
        try:
            replay_entry(self.policy, entry, self.version)
        except ReplayError as error:
            if entry.version == self.version:
                raise
            hint = f"take a snapshot with version {entry.version} first: `evenhand snapshot`, or Study.snapshot()"
            raise ReplayError(f"{error}; this is version {self.version}: {hint}") from error
        if answers is not None:
            self._warn_of(answers, entry)
        if entry.kind == "set":
            self.apply_setting(from_text(entry.given))
        self.advance_to(entry, started)

    def _warn_of(self, answers: LearnerAnswers, entry: Entry) -> None:
        """Say once that a learner from elsewhere did not repeat itself; the log is followed."""
        answers.expected = []
        if answers.differed is not None and not self._warned:
            self._warned = True
            warnings.warn(
                f"learner: asked again about entry {entry.sequence} of the log, it answers {answers.differed}, not "
                f"{answers.said[-1]}: the log is followed. Its randomness belongs into what `dump` returns, and `seed` "
                "sets it; until then `verify` finds that its decisions cannot be repeated",
                stacklevel=2,
            )

    def advance_to(self, entry: Entry, started: float) -> None:
        """Note that the policy has applied an entry; `started` is the time of `perf_counter` before it."""
        self.sequence, self.digest, self.writer = entry.sequence, entry.digest, entry.version
        self._entries += 1
        self._seconds += perf_counter() - started

    def apply_setting(self, setting: dict[str, Any]) -> None:
        """Apply a setting of the study."""
        self.setting, after = setting, setting.get("expire_after")
        self.expire_after = None if after is None else round(after * 1e6)
        self.expire_reward = setting.get("expire_reward")
        self.tickets.changed()

    @property
    def planned(self) -> list[dict[str, Any]]:
        """The changes of the promise that are due later, the next one first."""
        return list(self.setting.get("planned", ()))

    def with_plan(self, begins: int, given: dict[str, Any], actor: str | None) -> list[dict[str, Any]]:
        """Return what is planned together with a change at this time, or without it where its shares are None.

        Raises
        ------
        ArgumentError
            If nothing is planned for that time, or it is over, or the change is refused after all that is planned
            before it.
        """
        others = [plan for plan in self.planned if plan["begins"] != begins]
        new = len(others) == len(self.planned)
        if given["shares"] is None:
            if new:
                times = ", ".join(moment(plan["begins"]).isoformat() for plan in others) or "none"
                what = f"a time for which a change is planned: {times}"
                raise ArgumentError(expected("begins", what, moment(begins).isoformat()))
            return others
        if new:
            check_future(begins, "begins")
        self.rehearse("change", given, [plan for plan in others if plan["begins"] < begins])
        return sorted([*others, {"begins": begins, "given": given, "actor": actor}], key=lambda plan: plan["begins"])

    def rehearse(self, kind: str, given: dict[str, Any], plans: Sequence[dict[str, Any]] = ()) -> Any:
        """Apply an operation to a copy, after planned changes; return what it returns. A refusal leaves no trace."""
        trial = self.copy()
        for plan in plans:
            with suppress(EvenhandError):  # it will be refused when it is due
                apply(trial, "change", None, revive(plan["given"]))
        return apply(trial, kind, None, revive(given))

    def check_repeats(self, given: dict[str, Any], plans: Sequence[dict[str, Any]]) -> None:
        """Refuse, at the first decision, which comes after `plans`, a learner from elsewhere that chooses anew from the
        same state: no replay could repeat its log."""
        policy = self.policy
        if not isinstance(policy, KernelPolicy) or policy.tickets.next > 1 or traits_of(policy).compiled:
            return
        one = self.rehearse("ask", given, plans)
        for _ in range(ASKED - 1):
            other = self.rehearse("ask", given, plans)
            if one != other:
                what = "a learner that chooses the same from the same state"
                got = Wording(f"one that chose {one.arm!r} and then {other.arm!r}")
                hint = "its randomness belongs into what `dump` returns, and `seed` sets it"
                raise ArgumentError(expected("learner", what, got, hint))

    @property
    def wants_snapshot(self) -> bool:
        """Whether a new snapshot is due."""
        return self._entries >= ENTRIES or (self._entries >= LEAST and self._seconds >= SECONDS)

    @property
    def should_save_latest(self) -> bool:
        """Whether the state after this transaction is to be saved, in the place of that after the one before."""
        return self.sealed and self._entries > 0 and self.size <= SMALL

    def reset_work(self) -> None:
        """Note that a snapshot was taken."""
        self._entries, self._seconds = 0, 0.0

    def bytes(self) -> bytes:
        """Return the policy's state as a saved file, without the tickets that the log holds."""
        with only_these_tickets(self.policy, self.tickets.not_in_log):
            return to_bytes(self.policy)

    def copy(self) -> Any:
        """Return an independent copy of the policy, without the tickets that the log holds."""
        return from_bytes(self.bytes())

    def whole_copy(self, connection: Connection) -> Any:
        """Return an independent copy of the policy, with all open tickets."""
        copy = self.copy()
        if is_apart(copy):
            for ask in self.log.open_asks(connection, self.tickets.lower_bound, LARGEST, up_to=self.sequence):
                if not copy.tickets.remembers(ask.ticket):
                    restore_from_log(copy, ask)
        return copy
