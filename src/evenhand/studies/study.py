"""A study: a policy in a store, whose every decision and report is saved.

Each call is one transaction: other writers wait, the policy applies what they wrote meanwhile and then the call, and
the entry is on disk before the call returns. The policy in memory is always a replay of the log;
when a transaction fails, that replay is dropped and made again from the last snapshot.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, Self

from sqlalchemy import Connection, insert
from sqlalchemy.exc import IntegrityError

from evenhand import registry
from evenhand.arguments import is_whole, whole
from evenhand.display.html import Card, noted, notes_of
from evenhand.errors import (
    ArgumentError,
    ErasedError,
    EvenhandError,
    ReplayError,
    UnknownStudyError,
    UnknownTicketError,
    wanted,
)
from evenhand.policy.conversation import Conversation
from evenhand.policy.policy import KernelPolicy
from evenhand.protocol import Label
from evenhand.studies.creation import name_of_new, open_store, state_of_new
from evenhand.studies.log.chain import BIRTH, Entry, genesis
from evenhand.studies.log.codec import Event, moment, now
from evenhand.studies.log.expiry import read_expiry
from evenhand.studies.log.log import Log, Record, as_event, record_of
from evenhand.studies.log.operations import Arguments, Operation, given_or_refusal
from evenhand.studies.log.replay import Replay
from evenhand.studies.log.snapshots import (
    first_replay,
    latest_replay,
    mark_version,
    only_snapshot,
    take_resting_place,
    take_snapshot,
    write_snapshot,
)
from evenhand.studies.log.subjects import Erasure, Subjects
from evenhand.studies.log.transaction import Transaction
from evenhand.studies.log.versions import policy_version
from evenhand.studies.signing import new_secret, number_of, sign_ticket
from evenhand.studies.store.schema import SNAPSHOTS, STUDIES, SUBJECTS
from evenhand.studies.store.statements import read
from evenhand.studies.store.storage import Storage
from evenhand.studies.store.store import Store

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.studies.statistics.statistics import Statistics
    from evenhand.studies.verify import Verification

__all__ = ["Study"]

FOUND = f"SELECT id, {', '.join(BIRTH)} FROM studies WHERE name = CAST(? AS VARCHAR)"
MOST = 1_000_000
"""The most decisions of one transaction."""
SMALL = 2**20
"""The largest state, in bytes, that closing a study saves."""


class Study:
    """A policy in a store: durable, shared, explained, and replayed at will.

    Made by `Study.create`, opened again by `Study.open`. Any number of threads and processes may use one study at the
    same time; each decision is handed out once, and each report counts once.

    Examples
    --------
    >>> import evenhand as eh
    >>> study = eh.Study.create(":memory:", eh.quotas.FairUCB({"ads": 0.2, "news": 0.3}), name="banner")
    >>> decision = study.ask()
    >>> study.tell(decision, 1.0), study.tell(decision.id, 1.0)
    ('told', 'already told')
    >>> study.verify().ok
    True
    """

    def __init__(self, store: Store, name: str | None) -> None:
        with store.reading() as connection:
            found = read(connection, FOUND, name)
        if not found:
            there = ", ".join(store.names()[:12]) or "it has none"
            raise UnknownStudyError(f"{store.url}: no study is named {name!r}; there: {there}")
        self._number, *born = found[0]
        self.store, (self.name, self.policy_name, self._secret, self._created) = store, born
        self.birth = genesis(dict(zip(BIRTH, born, strict=True)))
        self._log = Log(store, self._number)
        self._turn = threading.RLock()
        self._replay: Replay | None = None
        self._added = False
        self._statistics: Statistics | None = None

    @classmethod
    def create(
        cls,
        store: Storage | str | os.PathLike[str],
        policy: Any,
        *,
        name: str | None = None,
        expire_after: float | str | timedelta | None = None,
    ) -> Study:
        """Create a study in a store, which is created if missing.

        Parameters
        ----------
        store : a `Store`, a path (an SQLite file) or a URL, see `Store.at`.
        policy : any registered policy; the study takes a copy of it as it is now.
        name : the study's name: letters, digits, - and _. By default the file's name, else "study".
        expire_after : how long a ticket may stay open: a timedelta, seconds, or a text such as "7d" or "12h". The first
            ask, tell or forget after that closes it, with an entry in the log. By default tickets never expire.

        Raises
        ------
        ArgumentError
            If the name is not of that form or taken, the policy cannot be saved, its tickets are still open, or
            `expire_after` is no duration.
        StoreError
            If the store cannot be reached, or the place is not a store.
        """
        state = state_of_new(policy)
        name, after = name_of_new(name, store), read_expiry(expire_after)
        at = now()
        row = {"name": name, "policy": registry.name_of(policy), "secret": new_secret(), "created_at": at}
        with open_store(store, create=True) as place:
            try:
                with place.writing() as connection:
                    number = connection.scalar(insert(STUDIES).values(row).returning(STUDIES.c.id))
                    assert number is not None
                    write_snapshot(connection, number, 0, genesis(row), at, policy_version(policy), state)
                    if after is not None:
                        log = Log(place, number)
                        Transaction(connection, log, latest_replay(connection, log), int).set({"expire_after": after})
            except IntegrityError as error:
                raise ArgumentError(f"{place.url}: study {name!r} already exists; choose another name") from error
            return cls(place, name)

    @classmethod
    def open(cls, store: Storage | str | os.PathLike[str], name: str | None = None) -> Study:
        """Open a study; without a name, the only one in the store.

        Raises
        ------
        UnknownStudyError
            If there is no such study, or several and no name is given.
        StoreError
            If the store does not exist or cannot be reached.
        """
        with open_store(store) as place:
            if name is None:
                names = place.names()
                if len(names) != 1:
                    there = ", ".join(names[:12]) or "none"
                    raise UnknownStudyError(f"{place.url}: wanted the name of a study; there: {there}")
                name = names[0]
            return cls(place, name)

    # ------------------------------------------------------------------ the conversation

    def ask(
        self,
        *observed: Any,
        key: str | None = None,
        sticky: bool = False,
        count: int | None = None,
        subject: str | None = None,
        **named: Any,  # the policy's own, which nobody but the policy can list
    ) -> Any:
        """Take the next decision; it is saved with its reason before it is returned.

        Parameters
        ----------
        observed, named : the arguments of the policy's own `ask`, by position or by name: `contexts` (n_arms, d),
            `groups`, `available`, `segment`, `annotator`, whichever it takes.
        key : your own name for this request: asking again with the same key returns the same decision. An ask for
            something else under it is refused. What the policy reads counts, not how it is written: the order of
            `available` makes no difference, and all arms named is none named.
        sticky : whether the key alone decides: asking again returns its first decision, whatever else is given then.
        count : how many decisions to take in one transaction, all or none; they are returned as a list. With the same
            key, a smaller count returns the first of them, and a larger one takes new decisions for the rest. The `n`
            of a label queue does the same, but returns fewer tasks where fewer items are left.
        subject : whom the contexts are about, such as the id of a user: they are encrypted in the log, and `erase`
            makes them unreadable. A key then belongs to the subject.

        Raises
        ------
        ArgumentError
            If the policy's `ask` takes no such argument, or lacks one; nothing has changed.
        EvenhandError
            What the policy's `ask` raises; nothing has changed.
        StoreError
            If the store cannot be reached. Ask again with the same key: it returns the decision if it was taken.
        """
        arguments = self._arguments()
        given, refusal = given_or_refusal(lambda: arguments.named("ask", observed, named), sticky=sticky)
        several = given.pop(arguments.several, None)
        if several is not None and count is not None:
            raise ArgumentError(wanted("count", f"None beside {arguments.several}={several}", count))
        if several is None and count is None:
            return self._do(Operation("ask", None, given, key, None, 0, subject, sticky, refusal))
        name, number = ("count", count) if several is None else (arguments.several, several)
        number = whole(name, number, low=1, high=MOST)
        asks = [Operation("ask", None, given, key, None, i, subject, sticky, refusal) for i in range(number)]
        decided = self._perform_all(asks, whole=several is None)
        taken = [one for one in decided if not isinstance(one, EvenhandError)]
        if not taken:
            raise decided[0]
        return taken

    def tell(self, ticket: Any = None, *happened: Any, **named: Any) -> Literal["told", "already told"]:
        """Record a decision's reward. It is saved before this returns, and counts once even if it is told again.

        Parameters
        ----------
        ticket : the decision, its number, or its signed text; it may have the policy's own name for it.
        happened, named : the arguments of the policy's own `tell`, by position or by name: `reward`, for a decision for
            several arms a list in the order of its `arms`, or a dict arm -> reward; an auditor's `violations`,
            `acceptable` and `auditor`; `X` and `y`; `samples`; a `label` and its `annotator`.

        Raises
        ------
        ArgumentError
            If the policy's `tell` takes no such argument, or lacks one; nothing has changed.
        ContradictionError
            If another reward was told of the ticket before.
        ForeignTicketError, UnknownTicketError, ClosedTicketError
            If the ticket is another study's or forged, was never handed out, was forgotten, or has expired.
        EvenhandError
            What the policy's `tell` raises; nothing has changed.
        """
        arguments = self._arguments()
        if ticket is None:
            ticket = named.pop(arguments.ticket, None)
        return self._do(Operation("tell", ticket, arguments.named("tell", happened, named)))

    def forget(self, ticket: Any) -> Literal["forgotten", "already forgotten"]:
        """Close a ticket whose reward will never be known."""
        return self._do(Operation("forget", ticket))

    def add(self, arm: Label, share: Any = 0) -> int:
        """Put a new arm on offer, or a retired one again; return after how many rounds its promise begins.

        Raises
        ------
        ArgumentError
            If the policy's promise cannot change, or the policy refuses the arm or its share; nothing has changed.
        """
        return int(self._do(Operation("add", given={"arm": arm, "share": share})))

    def retire(self, arm: Label) -> None:
        """Take an arm off offer; its open tickets may still be told.

        Raises
        ------
        ArgumentError
            If the policy's promise cannot change, or the policy refuses to retire the arm; nothing has changed.
        """
        self._do(Operation("retire", given={"arm": arm}))

    def change(self, shares: Any) -> dict[Any, Any]:
        """Promise other shares, or another `eh.Promise`, from now on; return by how many pulls arms, and sets of arms,
        were behind that is not carried over, in each segment where rounds have segments.

        Raises
        ------
        ArgumentError
            If the policy's promise cannot change, or the shares cannot be promised; nothing has changed.
        """
        dropped: dict[Any, Any] = self._do(Operation("change", given={"shares": shares}))
        return dropped

    def perform(self, operations: Sequence[Operation]) -> list[Any]:
        """Perform many operations in one transaction; all are saved when this returns.

        Returns
        -------
        list
            For each operation, what the single call would return, or the EvenhandError that it would raise. A refused
            operation changes nothing and does not affect the others.

        Raises
        ------
        ArgumentError
            If one of them is no `Operation`; nothing has changed.
        """
        for operation in operations:
            if not isinstance(operation, Operation):
                raise ArgumentError(wanted("operations", "a list of evenhand.studies.Operation", operation))
        return self._perform_all(operations)

    def _perform_all(self, operations: Sequence[Operation], *, whole: bool = False) -> list[Any]:
        """Perform many operations in one transaction; with `whole`, the first refusal is raised and undoes all."""
        with self._turn:
            self._rehearse(operations)
            with self._transaction() as (connection, last):
                replay = self._replay
                if replay is None or replay.sequence < last:
                    replay = self._follow(connection)
                mark_version(replay, connection, self._number, now())
                transaction = Transaction(connection, self._log, replay, self._ticket)
                outcomes = transaction.done(operations)
                refusal = next((one for one in outcomes if isinstance(one, EvenhandError)), None)
                if whole and refusal is not None:
                    raise refusal
                self._added = self._added or replay.sequence > last
                if replay.wants_snapshot:
                    take_snapshot(replay, connection, self._number, now())
                    self._added = False
                elif replay.wants_resting_place:
                    take_resting_place(replay, connection, self._number, now())
                transaction.commit()
                return outcomes

    def erase(self, subject: str | None = None, *, older_than: float | str | timedelta | None = None) -> Erasure:
        """Make the contexts of a subject, or all that are older than a duration, unreadable for ever.

        The entries of the log stay, so that its chain of digests holds; the keys of their contexts are deleted. Open
        tickets of these contexts are forgotten. What the policy has learned stays: sums over many decisions. Call this
        once a day to keep contexts for `older_than` at most.

        Parameters
        ----------
        subject : as given to `ask`; a subject without contexts is no error.
        older_than : a timedelta, seconds, or a text such as "365d"; contexts are erased by whole days (UTC), so that
            none is left that is older.

        Raises
        ------
        ArgumentError
            If neither or both are given, or `older_than` is no duration.
        """
        after = None if older_than is None else read_expiry(older_than, "older_than")
        if (subject is None) == (after is None) or (subject is not None and not isinstance(subject, str)):
            raise ArgumentError(wanted("subject, older_than", "one of them", subject if after is None else older_than))
        with self._turn, self._transaction() as (connection, _):
            before = None if after is None else now() - round(after * 1e6)
            found = Subjects(connection, self._number).find(name=subject, before=before)
            if not found:
                return Erasure(0, 0, True)
            replay = self._follow(connection)
            mark_version(replay, connection, self._number, now())
            transaction = Transaction(connection, self._log, replay, self._ticket)
            forgotten = transaction.erase(list(found))
            only_snapshot(replay, connection, self._number, now())
            self._added = False
            transaction.commit()
        return Erasure(len(set(found.values())), forgotten, self.store.purge(SUBJECTS, SNAPSHOTS))

    def compile(self) -> None:
        """Compile the policy's decisions now, where it can be; by itself it is compiled after some thousand calls."""
        with self._turn:
            policy = self._now_or_earlier().policy
            if isinstance(policy, KernelPolicy):
                policy.compile()

    def snapshot(self) -> None:
        """Save the state as it is now, so that earlier entries are not replayed when the study is opened.

        Snapshots are taken automatically as the log grows and when a study is closed. Take one by hand before you
        replace evenhand or the policy's own code, if a process may have been killed: the new code then continues from
        here even if it would have decided otherwise before.
        """
        with self._turn, self._transaction() as (connection, _):
            take_snapshot(self._follow(connection), connection, self._number, now())
            self._added = False

    def rest(self) -> None:
        """Take a snapshot if this object added entries since the last one and the state is small; this never fails."""
        with self._turn, suppress(EvenhandError):
            if self._added and self._replay is not None and len(self._replay.bytes()) <= SMALL:
                self.snapshot()

    def sign(self, ticket: Any) -> str:
        """Return the signed text of a ticket, which names the study and cannot be forged.

        Parameters
        ----------
        ticket : the decision, its number, or its signed text, which is returned as it is.

        Raises
        ------
        UnknownTicketError
            If it is none of these.
        ForeignTicketError
            If it is a signed text of another study, or a forged one.
        """
        return sign_ticket(self.name, self._secret, self._ticket(ticket))

    def number(self, ticket: str) -> int:
        """Return the number of a signed ticket.

        Raises
        ------
        ForeignTicketError
            If it is another study's, or its signature is wrong.
        """
        return number_of(self.name, self._secret, ticket)

    # ------------------------------------------------------------------ what is known

    @property
    def created(self) -> datetime:
        """When the study was created, in UTC."""
        return moment(self._created)

    @property
    def expire_after(self) -> timedelta | None:
        """How long a ticket may stay open; None where tickets never expire."""
        after = self._now_or_earlier().expire_after
        return None if after is None else timedelta(microseconds=after)

    @property
    def sequence(self) -> int:
        """How many entries the log has."""
        with self.store.reading() as connection:
            return self._log.last(connection)[0]

    @property
    def policy(self) -> Any:
        """A copy of the policy as it is now; decisions of the copy do not count."""
        with self._turn, self._read() as (connection, replay):
            return replay.whole_copy(connection)

    @property
    def bare_policy(self) -> Any:
        """A copy of the policy as it is now, without its open tickets, however many there are."""
        with self._turn:
            return self._now().copy()

    @property
    def first_policy(self) -> Any:
        """The policy as it was when the study was created."""
        with self.store.reading() as connection:
            return first_replay(connection, self._log).policy

    @property
    def open_tickets(self) -> list[int]:
        """The numbers of the tickets that are neither told nor forgotten nor expired."""
        with self._turn, self._read() as (connection, replay):
            return self._log.open_tickets(connection, replay.tickets.floor)

    def events(self, after: int = 0) -> Iterator[Event]:
        """Yield the log's entries after the one numbered `after`, up to the present end."""
        last = self.sequence
        while after < last:
            page = self.next_page(after, last)
            yield from map(as_event, page)
            after = page[-1].sequence

    def record(self, ticket: Any) -> Record:
        """Return everything that is known of one decision.

        Raises
        ------
        UnknownTicketError, ForeignTicketError
            If no ticket has this number, or the signature is not this study's.
        """
        number = self._ticket(ticket)
        with self.store.reading() as connection:
            events = self._log.of_ticket(connection, number)
        if not events:
            raise UnknownTicketError(f"ticket {number} was never handed out by the study {self.name!r}")
        return record_of(events)

    def latest(self, count: int) -> list[Record]:
        """Return the records of the last decisions, oldest first."""
        with self.store.reading() as connection:
            tickets = self._log.last_tickets(connection, whole("count", count, low=1))
        return [self.record(ticket) for ticket in reversed(tickets)]

    def verify(
        self, *, known: str | None = None, since: Verification | bytes | None = None, progress: bool = False
    ) -> Verification:
        """Replay the whole log from its start and check every promise; see `Verification`.

        Parameters
        ----------
        known : a digest that was kept elsewhere, such as an earlier verification's: the log must still contain its
            entry.
        since : an earlier verification that found everything sound, or its `mark`: only later entries are read, and
            earlier ones are assumed to be unchanged.
        progress : show a progress bar.

        Raises
        ------
        ArgumentError
            If `since` is not the mark of a verification of this study.
        UnreachableError
            If the store could not be read to the end: nothing is known of the log then.
        """
        from evenhand.studies.statistics.mark import Mark
        from evenhand.studies.verify import Verification, cut_off, verify

        given = since.mark if isinstance(since, Verification) else since
        mark = None if since is None else Mark.from_bytes(given, self.birth)
        with cut_off():
            return verify(
                self.store, self._log, self.birth, self._now, self._turn, known=known, mark=mark, progress=progress
            )

    def statistics(self) -> Statistics:
        """Return shares, shortfalls and rewards over time, as far as the log goes now."""
        from evenhand.studies.statistics.summaries import begin

        with self._turn:
            statistics = begin(self)[0] if self._statistics is None else self._statistics.copy()
            statistics.advance(self.entries(statistics.sequence))
            self._statistics = statistics
            return statistics

    def has_digest(self, digest: str) -> bool:
        """Say whether an entry of the log has this digest."""
        with self.store.reading() as connection:
            return self._log.has_digest(connection, digest)

    def page(self, after: int, last: int) -> list[Entry]:
        """Return the first stored entries after the one numbered `after`, up to the one numbered `last`."""
        with self.store.reading() as connection:
            return next(self._log.pages(connection, after, last), [])

    def next_page(self, after: int, last: int) -> list[Entry]:
        """Return the same, and never nothing, so that who reads on comes to an end whatever is damaged.

        Raises
        ------
        ReplayError
            If the log lacks the entries.
        """
        found = self.page(after, last)
        if not found:
            raise ReplayError(f"entry {after + 1} is missing from the log")
        return found

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """Yield the log's entries after the one numbered `after`, as they are stored."""
        with self.store.reading() as connection:
            yield from self._log.rows(connection, after)

    def frame(self) -> pd.DataFrame:
        """Return the decisions as a table, a row each; see `evenhand.studies.table.log_table`."""
        from evenhand.studies.table import log_table

        return log_table(self.store, self._log)

    def close(self) -> None:
        """Save the state, so that the study opens quickly again, and close the store; nothing is lost without it."""
        self.rest()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return noted(self).html()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know of the policy, as far as this process has followed the log."""
        live = self._live()
        return () if live is None else notes_of(live[0])

    def card(self) -> Card:
        """Return what a notebook shows: what this process knows, without a look at the store."""
        facts: dict[str, Any] = {"study": self.name, "store": self.store.url, "policy": self.policy_name}
        live = self._live()
        if live is None:
            return Card(type(self).__name__, facts | {"log": "not read yet by this process"})
        policy, sequence = live
        facts["entries of the log"] = sequence
        if not isinstance(policy, Conversation):
            return Card(type(self).__name__, facts)
        shown = policy.card()
        return Card(type(self).__name__, facts | shown.facts, shown.tables)

    def _digest(self, sequence: int) -> str | None:
        with self.store.reading() as connection:
            return self._log.digest(connection, sequence)

    def _live(self) -> tuple[Any, int] | None:
        """Return the policy as far as this process has followed the log, and how far that is; None before."""
        replay = self._replay
        return None if replay is None else (replay.policy, replay.sequence)

    def __repr__(self) -> str:
        return f"Study({self.store.url!r}, {self.name!r}, {self.policy_name})"

    # ------------------------------------------------------------------ inside

    def _do(self, operation: Operation) -> Any:
        outcome = self.perform([operation])[0]
        if isinstance(outcome, EvenhandError):
            raise outcome
        return outcome

    def _arguments(self) -> Arguments:
        return self._now_or_earlier().arguments

    def _now_or_earlier(self) -> Replay:
        with self._turn:
            return self._replay or self._now()

    def _rehearse(self, operations: Sequence[Operation]) -> None:
        new = self._now_or_earlier().new_kinds(operations)
        if new:
            with self._read() as (connection, replay):
                replay.rehearse(connection, new)

    def _now(self) -> Replay:
        """Return the replay of the whole log, with what others did."""
        with self._turn, self._read() as (_, replay):
            return replay

    @contextmanager
    def _read(self) -> Iterator[tuple[Connection, Replay]]:
        """Provide a connection that sees one state of the store, and the replay of the log in that state."""
        try:
            with self.store.reading() as connection:
                yield connection, self._follow(connection)
        except BaseException:
            self._replay = None
            raise

    @contextmanager
    def _transaction(self) -> Iterator[tuple[Connection, int]]:
        """Provide a transaction that excludes other writers, and the last entry's position; if it fails, drop the
        replay, which may be ahead of the log."""
        try:
            with self.store.writing(begin=self.store.serial) as connection:
                yield connection, self._log.begin(connection)
        except BaseException:
            self._replay = None
            raise

    def _follow(self, connection: Connection) -> Replay:
        replay = self._replay or latest_replay(connection, self._log)
        try:
            self._take_in(replay, connection)
        except ErasedError:  # by another process, which took a snapshot behind what it erased
            replay = latest_replay(connection, self._log)
            self._take_in(replay, connection)
        self._replay = replay
        return replay

    def _take_in(self, replay: Replay, connection: Connection) -> None:
        for page in self._log.pages(connection, replay.sequence):
            replay.take_in(connection, page)

    def _ticket(self, ticket: Any) -> int:
        if isinstance(ticket, str):
            return self.number(ticket)
        number = getattr(ticket, "id", ticket)
        if not is_whole(number):
            raise UnknownTicketError(wanted("ticket", "a decision, its number or its signed text", ticket))
        return int(number)
