"""The policy of a study in memory: it follows the log, and is the one way to add to it.

Each call that adds is one transaction: other writers wait, the policy applies what they wrote meanwhile and then the
call, and the entry is on disk before the call returns. The policy in memory is always a replay of the log; when a
transaction fails, that replay is dropped and made again from the last snapshot.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection

from evenhand.errors import ArgumentError, ErasedError, EvenhandError, Wording, expected
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.rehearsal import compile_ahead
from evenhand.policy.traits import traits_of
from evenhand.processes import is_left_held, renew_in_child
from evenhand.studies.log.codec import now
from evenhand.studies.log.durations import read_expiry
from evenhand.studies.log.log import Log
from evenhand.studies.log.operations import Arguments, Ask, Operation
from evenhand.studies.log.replay import Replay
from evenhand.studies.log.snapshots import latest_replay, mark_version, only_snapshot, save_latest, take_snapshot
from evenhand.studies.log.subjects import Erasure, Subjects
from evenhand.studies.log.transaction import Transaction
from evenhand.studies.store.schema import SNAPSHOTS, SUBJECTS
from evenhand.studies.store.store import Store

SMALL = 2**20
"""The largest state, in bytes, that is saved when a study is closed."""


class LivePolicy:
    """The policy in memory; every method may be called from any thread.

    Parameters
    ----------
    number_of : returns the number of a ticket, which may be signed.

    Attributes
    ----------
    lock : held while the policy is used.
    seen : the replay as far as this process has followed the log, None before.
    """

    def __init__(self, store: Store, log: Log, number_of: Callable[[Any], int]) -> None:
        self._store, self._log, self._number_of = store, log, number_of
        self.lock = threading.RLock()
        self.seen: Replay | None = None
        self._added = self._asked = False
        renew_in_child(self, LivePolicy._forked)

    # ------------------------------------------------------------------ what it is

    @property
    def arguments(self) -> Arguments:
        """The names of the arguments of the policy's methods."""
        return self._now_or_earlier().arguments

    def now(self) -> Replay:
        """Return the replay of the whole log, with what others did."""
        with self.lock, self._reading() as (_, replay):
            return replay

    def copy(self) -> Any:
        """Return a copy of the policy as it is now, with all its open tickets."""
        with self.lock, self._reading() as (connection, replay):
            return replay.whole_copy(connection)

    def bare_copy(self) -> Any:
        """Return a copy of the policy as it is now, without its open tickets, however many there are."""
        with self.lock:
            return self.now().copy()

    def open_tickets(self) -> list[int]:
        """Return the numbers of the tickets that are neither told nor forgotten nor expired."""
        with self.lock, self._reading() as (connection, replay):
            return self._log.open_tickets(connection, replay.tickets.lower_bound)

    def compile(self) -> None:
        """Compile the policy's decisions now, where it can be; see `Study.compile`."""
        with self.lock:
            policy = self._now_or_earlier().policy
            if isinstance(policy, KernelPolicy):
                if policy.dimension is None:
                    hint = "take the first decision with contexts, which takes longer, then compile"
                    what = "a study that knows how many numbers describe an arm"
                    raise ArgumentError(expected("compile", what, Wording("one that has seen no contexts"), hint))
                compile_ahead(policy)

    # ------------------------------------------------------------------ what adds to the log

    def run(self, operations: Sequence[Operation], *, whole: bool = False) -> list[Any]:
        """Run operations in one transaction, and return the outcome or the refusal of each; with `whole`, the first
        refusal is raised and undoes all."""
        self._rehearse(operations)
        with self.lock, self.writing() as (connection, replay):
            before = replay.sequence
            transaction = self.transaction(connection, replay)
            outcomes = transaction.run(operations)
            refusal = next((one for one in outcomes if isinstance(one, EvenhandError)), None)
            if whole and refusal is not None:
                raise refusal
            self._added = self._added or replay.sequence > before
            # In one transaction with its entries: a snapshot whose entries a crash has undone would be ahead of the
            # log, and every later decision would follow from it: test_killed_at_any_moment_nothing_is_lost.
            if replay.wants_snapshot:
                self._snapshot(connection, replay)
            elif replay.should_save_latest:
                save_latest(replay, connection, now())
            transaction.write()
            return outcomes

    def _rehearse(self, operations: Sequence[Operation]) -> None:
        """Rehearse the first ask of a learner from elsewhere, which loads its library and compiles the rule around it:
        that may take a minute, in which no other writer must wait."""
        first = next((one for one in operations if isinstance(one, Ask)), None)
        with self.lock:
            if first is None or self._asked:
                return
            replay, self._asked = self._now_or_earlier(), True
            policy = replay.policy
            if isinstance(policy, KernelPolicy) and not traits_of(policy).compiled:
                with suppress(EvenhandError):  # the ask itself is refused in its turn
                    replay.rehearse("ask", replay.arguments.validate_ask(first.given, policy))

    @contextmanager
    def writing(self) -> Iterator[tuple[Connection, Replay]]:
        """Provide a transaction that excludes other writers, and the policy with all that they wrote; if it fails, drop
        the replay, which may be ahead of the log."""
        try:
            with self._store.writing() as connection:
                last, replay = self._log.lock(connection), self.seen
                yield connection, self._follow(connection) if replay is None or replay.sequence < last else replay
        except BaseException:
            # The policy has applied what the log may not hold. Later decisions would follow from it, and no replay
            # could repeat them: test_a_failed_transaction_leaves_no_trace.
            self.seen = None
            raise

    def transaction(self, connection: Connection, replay: Replay) -> Transaction:
        """Return the operations of a transaction that `writing` began."""
        mark_version(replay, connection, now())
        return Transaction(connection, self._log, replay, self._number_of)

    def erase(self, subject: str | None, older_than: float | str | timedelta | None) -> Erasure:
        """Delete the keys of a subject's contexts, or of all old ones; see `Study.erase`."""
        after = None if older_than is None else read_expiry(older_than, "older_than")
        if (subject is None) == (after is None) or (subject is not None and not isinstance(subject, str)):
            raise ArgumentError(
                expected("subject, older_than", "one of them", subject if after is None else older_than)
            )
        with self.lock, self.writing() as (connection, replay):
            before = None if after is None else now() - round(after * 1e6)
            found = Subjects(connection, self._log.study).find(name=subject, before=before)
            if not found:
                return Erasure(0, 0, True)
            transaction = self.transaction(connection, replay)
            forgotten = transaction.erase(list(found))
            # Snapshots hold contexts of open tickets unencrypted. From one that stayed, erased contexts could be read:
            # test_only_the_first_snapshot_and_the_last_are_left.
            only_snapshot(replay, connection, now())
            transaction.write()
        # After the commit: a transaction cannot clear the files of what it has just deleted.
        return Erasure(len(set(found.values())), forgotten, self._store.purge(SUBJECTS, SNAPSHOTS))

    # ------------------------------------------------------------------ what is kept of it

    def snapshot(self) -> None:
        """Save the state as it is now, so that earlier entries are not replayed when the study is opened.

        Snapshots are taken automatically as the log grows and when a study is closed. Take one by hand before you
        replace evenhand or the policy's own code, if a process may have been killed: the new code then continues from
        here even if it would have decided otherwise before.
        """
        with self.lock, self.writing() as (connection, replay):
            self._snapshot(connection, replay)

    def snapshot_if_small(self) -> None:
        """Take a snapshot if this object added entries since the last one and the state is small; this never fails."""
        with self.lock, suppress(EvenhandError):
            if self._added and self.seen is not None and len(self.seen.bytes()) <= SMALL:
                self.snapshot()

    def _snapshot(self, connection: Connection, replay: Replay) -> None:
        take_snapshot(replay, connection, now())
        self._added = False

    # ------------------------------------------------------------------ inside

    def _forked(self) -> None:
        """Read the log anew in a process that was forked while another thread was using the policy."""
        if is_left_held(self.lock):
            self.lock, self.seen = threading.RLock(), None

    def _now_or_earlier(self) -> Replay:
        with self.lock:
            return self.seen or self.now()

    @contextmanager
    def _reading(self) -> Iterator[tuple[Connection, Replay]]:
        """Provide a connection that sees one state of the store, and the replay of the log in that state."""
        try:
            with self._store.reading() as connection:
                yield connection, self._follow(connection)
        except BaseException:
            self.seen = None
            raise

    def _follow(self, connection: Connection) -> Replay:
        replay = self.seen or latest_replay(connection, self._log)
        try:
            replay.catch_up(connection)
        except ErasedError:  # by another process, which took a snapshot behind what it erased
            replay = latest_replay(connection, self._log)
            replay.catch_up(connection)
        self.seen = replay
        return replay
