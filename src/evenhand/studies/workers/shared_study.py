"""A study that several processes decide for at the same time, none waiting for another, under one exact promise.

Each worker has a log of its own: its own chain of digests, its own random streams, its own tickets. By what each arm is
ahead or behind in one log, which adds over logs, every merge order of all logs keeps the promise, whoever is slow, cut
off or killed; the mathematics stand at the head of `evenhand.promises.workers`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeGuard

from sqlalchemy import Connection

from evenhand import registry
from evenhand.errors import (
    ArgumentError,
    EvenhandError,
    FencedError,
    ReplayError,
    UnknownTicketError,
    wanted,
)
from evenhand.promises.balance import Balance
from evenhand.promises.workers import least_tolerance, owned
from evenhand.protocol import Label, composed
from evenhand.studies.exchange import Exchange
from evenhand.studies.log.chain import Entry
from evenhand.studies.log.codec import Event
from evenhand.studies.log.log import Record, as_event
from evenhand.studies.log.operations import CHANGES, Arguments, Operation
from evenhand.studies.log.replay import Replay
from evenhand.studies.log.request_keys import text_of
from evenhand.studies.log.subjects import Erasure
from evenhand.studies.store.exclusion import excluding
from evenhand.studies.store.store import Store
from evenhand.studies.study import Study
from evenhand.studies.table import log_table
from evenhand.studies.workers.exchanging import Exchanging
from evenhand.studies.workers.members import Members
from evenhand.studies.workers.membership import SPAN
from evenhand.studies.workers.merged import Following, merged_frame
from evenhand.studies.workers.worker_logs import (
    Claim,
    claim,
    row_of,
)

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.studies.verify import Verification

__all__ = ["SharedStudy"]


class SharedStudy(Exchanging, Members, Study):
    """A study with several workers, made by `Study.create(..., workers=4)`, opened by `Study.open(..., worker="w1")`.

    It is asked and told as any study. A ticket carries its worker: told through any process, it reaches that worker's
    log. Opened without a worker, it can be read, told and verified, and workers can join and leave.

    Attributes
    ----------
    worker : which worker this process is, None where it only reads and tells.
    last_exchange : what came of the last exchange of this process, None before the first.
    burn_in : how many rounds are decided one after another before the workers go on by themselves; 0 for none.

    Examples
    --------
    >>> import evenhand as eh
    >>> policy = eh.quotas.DeadlineLearn(eh.learners.UCB1(), {"ads": 0.2, "news": 0.3}, tolerance=3)
    >>> study = eh.Study.create(":memory:", policy, name="banner", workers=2)
    >>> first, second = (eh.Study.open(study.store, "banner", worker=name) for name in ("w1", "w2"))
    >>> decision = first.ask()
    >>> second.tell(decision, 1.0)
    'told'
    >>> study.verify().ok
    True
    """

    def __init__(self, store: Store, name: str, worker: str | None = None) -> None:
        super().__init__(store, name)
        self.worker = worker
        self._logs: dict[int, Study] = {}
        self._balances: dict[int, tuple[int, Balance]] = {}
        self._followings: dict[int, Following] = {0: Following()}
        self._membership = self.membership()
        self._first: Any = None
        self._arguments_ = Arguments(registry.get(self.policy_name).cls)
        self.burn_in = self._membership.rounds
        self._begun = not self.burn_in
        self.last_exchange: Exchange | None = None
        self._exchanging, self._heard, self._since = threading.Lock(), time.monotonic(), 0
        self._counted = False
        self._own: Study | None = None
        self._claim: Claim | None = None
        if worker is not None:
            self._own = own = self.log_of(self._member(worker))
            self._claim = claim(own.store, own._number, worker)
            own._admit = self._claim.check
            own._log.read_claims()

    # ------------------------------------------------------------------ the conversation

    def add(self, arm: Label, share: Any = 0) -> int:
        raise self._fixed("add")

    def retire(self, arm: Label) -> None:
        raise self._fixed("retire")

    def change(self, shares: Any) -> dict[Label, float]:
        raise self._fixed("change")

    def _fixed(self, kind: str) -> ArgumentError:
        mend = "create another study with the new promise"
        return ArgumentError(wanted(kind, "a study with one worker: several cannot change a promise", self.name, mend))

    def _perform_all(self, operations: Sequence[Operation], *, whole: bool = False) -> list[Any]:
        """Perform operations; of workers that are asked with one key at the same moment, one decides."""
        keys = {one.key for one in operations if one.kind == "ask" and _is_key(one.key)}
        if not keys:
            return self._perform_parts(operations, whole)
        with excluding(self.store, (f"{self.name}\t{composed(key)}" for key in keys)):
            return self._perform_parts(operations, whole)

    def _perform_parts(self, operations: Sequence[Operation], whole: bool) -> list[Any]:
        """Perform the operations for each worker in a transaction of its own."""
        outcomes: list[Any] = [None] * len(operations)
        parts: dict[int, list[tuple[int, Operation]]] = {}
        for i, operation in enumerate(operations):
            try:
                number, operation = self._routed(operation)
                parts.setdefault(number, []).append((i, operation))
            except EvenhandError as refusal:
                if whole:
                    raise
                outcomes[i] = refusal
        parts = self._joined(parts)
        for number, part in parts.items():
            chosen = [operation for _, operation in part]
            try:
                done = self._performed(number, chosen, whole)
            except EvenhandError as failure:
                if whole or len(parts) == 1:
                    raise
                done = [failure] * len(chosen)
            for (i, _), outcome in zip(part, done, strict=True):
                outcomes[i] = outcome
        return outcomes

    def _joined(self, parts: dict[int, list[tuple[int, Operation]]]) -> dict[int, list[tuple[int, Operation]]]:
        """Return the parts with what is told of this worker's tickets among its decisions, in one transaction."""
        if len(parts) == 1 or -1 not in parts or self._claim is None or not self._begun:
            return parts
        own = self._member(str(self.worker)).number
        joined = sorted([*parts[-1], *parts.get(own, [])], key=itemgetter(0))
        return {-1: joined} | {number: part for number, part in parts.items() if number not in (-1, own)}

    def _performed(self, number: int, operations: Sequence[Operation], whole: bool) -> list[Any]:
        return (
            self._decided(operations, whole) if number < 0 else self._logs[number]._perform_all(operations, whole=whole)
        )

    def _routed(self, operation: Operation) -> tuple[int, Operation]:
        """Return the number of the worker that an operation is for, -1 for a new decision of this one, and the
        operation with its ticket as that worker knows it."""
        if operation.kind in CHANGES:
            raise self._fixed(operation.kind)
        if operation.kind == "ask":
            if operation.subject is not None:
                mend = "create a study with one worker"
                raise ArgumentError(wanted("subject", "None, with several workers", operation.subject, mend))
            number = self._number_with_key(operation)
            if number < 0 and "segment" in operation.given and self.burn_in:
                enough = least_tolerance(owned(self.promise), len(self._membership.workers))
                mend = f"segments have none of their own; create the study with a tolerance of {enough}"
                what = "None, in a study whose workers have a serial beginning"
                raise ArgumentError(wanted("segment", what, operation.given["segment"], mend))
            return number, operation
        ticket = self._ticket(operation.ticket)
        plain = operation._replace(ticket=ticket) if isinstance(operation.ticket, str) else operation
        return self._of_ticket(ticket), plain

    def erase(self, subject: str | None = None, *, older_than: float | str | timedelta | None = None) -> Erasure:
        """Refuse: contexts of studies with several workers are not encrypted."""
        raise ArgumentError(wanted("erase", "a study with one worker", f"{self.name!r}, which has several"))

    def _of_ticket(self, ticket: int) -> int:
        number = ticket // SPAN
        if number not in self._logs:
            known = {one.number: one for one in (*self._membership.members.values(),)}
            if number not in known:
                self._membership = self.membership()
                known = {one.number: one for one in self._membership.members.values()}
            if ticket < 1 or number not in known:
                raise UnknownTicketError(f"ticket {ticket} was never handed out by the study {self.name!r}")
            self.log_of(known[number])
        return number

    def _number_with_key(self, operation: Operation) -> int:
        """Return the number of the worker that decided under this key before, -1 where none did.

        Raises
        ------
        StoreError
            If a log cannot be read: it may hold the decision.
        """
        if not _is_key(operation.key):
            return -1
        with suppress(ArgumentError):  # the transaction refuses it by name
            text = text_of(operation.key, operation.number)
            for number, log in self._every_log().items():
                with log.store.reading() as connection:
                    if log._log.of_keys(connection, [text]):
                        return number
        return -1

    def _decided(self, operations: Sequence[Operation], whole: bool) -> list[Any]:
        """Take decisions: in the log of the serial beginning as long as it lasts, then in this worker's own, together
        with what is told of its tickets."""
        own = self._deciding()
        outcomes: list[Any] = []
        while not self._begun and not outcomes:
            self._check_claim(own)
            outcomes = self._in_turn(operations, whole)
        rest = operations[len(outcomes) :]
        if outcomes and rest:  # where the same keys may stand again
            return outcomes + self._perform_parts(rest, whole)
        outcomes += self._in_own(own, rest, whole) if rest else []
        self._exchange_in_passing(sum(operation.kind == "ask" for operation in rest))
        return outcomes

    def _check_claim(self, own: Study) -> None:
        """Refuse decisions in the serial beginning, whose log is not this worker's, where its claim is lost."""
        assert self._claim is not None
        with own.store.reading() as connection:
            row = row_of(connection, own._number)
        self._claim.compare(row.claim, row.holder, row.left_at)

    def _in_own(self, own: Study, operations: Sequence[Operation], whole: bool) -> list[Any]:
        """Perform operations in this worker's log; one that another process has claimed may only be told."""
        try:
            return own._perform_all(operations, whole=whole)
        except FencedError as fenced:
            reports = [operation for operation in operations if operation.kind != "ask"]
            if whole or not reports:
                raise
            told = iter(own._perform_all(reports))
            return [fenced if operation.kind == "ask" else next(told) for operation in operations]

    def _in_turn(self, operations: Sequence[Operation], whole: bool) -> list[Any]:
        """Decide in the serial beginning as often as it still lasts; note when it is over."""
        base = self.log_of(self._membership.members[""])
        shown = [operation for operation in operations if "available" in operation.given]
        if shown:
            mend = f"the first {self.burn_in} rounds offer every arm"
            raise ArgumentError(wanted("available", "None in the serial beginning", shown[0].given["available"], mend))
        left = self.burn_in - base._now().policy.round
        if left <= 0:
            self._begun = True
            return []
        with suppress(_OverError), base._turn:
            base._admit = self._check_beginning
            try:
                return base._perform_all(operations[:left], whole=whole)
            finally:
                base._admit = None  # a request that is repeated later is not a new decision
        return []

    def beginning_left(self) -> int:
        """Return how many rounds of the serial beginning are still to be decided."""
        return self.burn_in - self.log_of(self._membership.members[""])._now().policy.round if self.burn_in else 0

    def _check_beginning(self, connection: Connection, replay: Replay, operations: Sequence[Operation]) -> None:
        asks = sum(operation.kind == "ask" for operation in operations)
        if asks and replay.policy.round + asks > self.burn_in:
            raise _OverError

    # ------------------------------------------------------------------ what is known

    @property
    def expire_after(self) -> timedelta | None:
        after = self._membership.settings["expire_after"]
        return None if after is None else timedelta(seconds=after)

    @property
    def sequence(self) -> int:
        """How many entries the logs have together, that of the members included."""
        own = super().sequence
        return own + sum(log.sequence for log in self._every_log().values())

    @property
    def policy(self) -> Any:
        """A copy of this worker's policy as it is now; without a worker, the policy that the study was created with."""
        return self.first_policy if self._own is None else self._own.policy

    @property
    def bare_policy(self) -> Any:
        return self.first_policy if self._own is None else self._own.bare_policy

    @property
    def open_tickets(self) -> list[int]:
        return sorted(ticket for log in self._every_log().values() for ticket in log.open_tickets)

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """Yield the entries of all workers after the one numbered `after`, in one merge order of their logs.

        Entries are numbered in the order in which this object reads them; with `after` = 0 it reads in the canonical
        order.
        """
        with self._turn:
            following = self._followings[after].copy() if after in self._followings else Following()
            behind = max(0, after - following.sequence)
            for entry in following.new(self._every_log()):
                if behind:
                    behind -= 1
                else:
                    yield entry
            recent = dict(list(self._followings.items())[-KEPT:])
            self._followings = {0: Following()} | recent | {following.sequence: following}

    def canonical(self) -> Iterator[Entry]:
        """Yield the entries of all workers in the canonical order."""
        return Following().new(self._every_log())

    def page(self, after: int, last: int) -> list[Entry]:
        return [entry for entry in self.entries(after) if entry.sequence <= last]

    def events(self, after: int = 0) -> Iterator[Event]:
        yield from map(as_event, self.entries(after))

    def record(self, ticket: Any) -> Record:
        number = self._ticket(ticket)
        return self._logs[self._of_ticket(number)].record(number)

    def latest(self, count: int) -> list[Record]:
        records = [record for log in self._every_log().values() for record in log.latest(count)]
        return sorted(records, key=lambda record: (record.at, record.ticket))[-count:]

    def verify(
        self, *, known: str | None = None, since: Verification | bytes | None = None, progress: bool = False
    ) -> Verification:
        from evenhand.studies.verify import cut_off
        from evenhand.studies.workers.shared_verify import verify_shared

        with cut_off():
            return verify_shared(self, known=known, since=since, progress=progress)

    def frame(self) -> pd.DataFrame:
        """Return the decisions of all workers in the canonical order, with a column `worker`; see
        `evenhand.studies.workers.merged`."""
        logs = self._every_log()
        names = {one.number: one.name for one in self._membership.members.values()}
        # the serial beginning last, so that what follows it comes with the whole of it
        read = {number: logs[number] for number in sorted(logs, reverse=True)}
        tables = {number: log_table(log.store, log._log, clock=True) for number, log in read.items()}
        return merged_frame({names[number]: tables[number] for number in sorted(logs)})

    def compile(self) -> None:
        if self._own is not None:
            self._own.compile()

    def snapshot(self) -> None:
        for log in self._every_log().values() if self._own is None else [self._own]:
            log.snapshot()

    def rest(self) -> None:
        for log in self._logs.values():
            log.rest()

    def close(self) -> None:
        self.rest()
        for log in self._logs.values():
            if log.store is not self.store:
                log.store.close()
        self.store.close()

    def _place(self, sequence: int) -> list[list[Any]]:
        logs, found = self._every_log(), self._followings.get(sequence)
        if found is None:
            raise ReplayError(f"the logs were not read up to entry {sequence} of their merge order")
        return [[number, after, at, logs[number]._digest(after)] for number, (after, at) in found.read.items()]

    def _continues(self, place: list[list[Any]]) -> bool:
        logs = self._every_log()
        if not all(logs[number]._continues([[0, after, 0, digest]]) for number, after, _, digest in place):
            return False
        following = Following({number: (after, at) for number, after, at, _ in place})
        with self._turn:
            self._followings[following.sequence] = following
        return True

    def _live(self) -> tuple[Any, int] | None:
        return None if self._own is None else self._own._live()

    def __repr__(self) -> str:
        worker = "" if self.worker is None else f", worker={self.worker!r}"
        return f"SharedStudy({self.store.url!r}, {self.name!r}, {self.policy_name}{worker})"

    def _arguments(self) -> Arguments:
        return self._arguments_


KEPT = 8
"""How many of the last ends of `entries` are remembered, to read on from there."""


def _is_key(key: Any) -> TypeGuard[str]:
    """Say whether a key can be looked up; a transaction refuses any other by name."""
    return isinstance(key, str) and key.isprintable()


class _OverError(EvenhandError):
    """The serial beginning is over."""
