"""What a worker of a study does to learn together with the others."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from evenhand.errors import (
    ArgumentError,
    EvenhandError,
    StoreError,
    wanted,
)
from evenhand.studies.exchange import Exchange, keep_report, read_report
from evenhand.studies.log.codec import now
from evenhand.studies.log.operations import Operation
from evenhand.studies.log.snapshots import mark_version
from evenhand.studies.log.transaction import Transaction
from evenhand.studies.study import Study
from evenhand.studies.workers.members import Members
from evenhand.studies.workers.membership import BEGINNING
from evenhand.studies.workers.worker_logs import (
    row_of,
)

if TYPE_CHECKING:
    Base = Members
else:
    Base = object

__all__ = ["Exchanging"]


class Exchanging(Base):
    """How a `SharedStudy` reports what it learned, and learns what the others reported."""

    last_exchange: Exchange | None
    _exchanging: threading.Lock
    _heard: float
    _since: int
    _counted: bool

    def exchange(self) -> Exchange:
        """Report to the other workers what this one learned, and learn what they reported.

        A worker that nobody hears goes on, keeps the promise and learns alone: what it missed it hears later.

        Raises
        ------
        ArgumentError
            If this process only reads, or the learner's statistics do not add over workers.
        FencedError
            If another process has claimed the worker since.
        """
        own = self._deciding()
        if not self._membership.settings["exchange"]:
            self._template.new_pool()
        reports, unheard = self._reports()
        with own._turn:
            taken, report = self._take(own, reports, unheard)
        if report is not None:
            held = {name: peer["rounds"] for name, peer in taken.items()}
            keep_report(own.store, own._number, str(self.worker), self._secret, report, held)
        self._heard, self._since = time.monotonic(), 0
        new = {name: peer["rounds"] - peer["before"] for name, peer in taken.items() if name in reports}
        self.last_exchange = Exchange({name: rounds for name, rounds in new.items() if rounds > 0}, unheard)
        return self.last_exchange

    def _reports(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the last reports of all others, and why some could not be read."""
        reports: dict[str, Any] = {}
        unheard: dict[str, str] = {}
        with suppress(StoreError):  # then those who were members before
            self._membership = self.membership()
        for one in self._membership.members.values():
            if one.name == self.worker:
                continue
            try:
                log = self.log_of(one)
                if one.number == 0:
                    self._report_beginning(log)
                with log.store.reading() as connection:
                    report = read_report(row_of(connection, log._number), one.name, self._secret)
                if report is not None:
                    reports[one.name or BEGINNING] = report
            except EvenhandError as error:
                unheard[one.name or BEGINNING] = str(error)
        return reports, unheard

    def _report_beginning(self, log: Study) -> None:
        """Report what was learned in the serial beginning, which has no process of its own."""
        with log._turn, log._read() as (connection, replay):
            new = row_of(connection, log._number).reported < replay.sequence
            report = replay.policy.report() if new else None
            number = replay.sequence
        if report is not None:
            keep_report(log.store, log._number, "", self._secret, report | {"number": number}, {})

    def _take(
        self, own: Study, reports: dict[str, Any], unheard: dict[str, str]
    ) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Take in what is new of these reports, and note in `unheard` why one is refused; return what is held of each
        worker then, and the own new report."""
        with own._transaction() as (connection, _):
            replay = own._follow(connection)
            assert own._admit is not None
            own._admit(connection, replay, [Operation("ask")])
            before = {name: peer["rounds"] for name, peer in replay.policy.pool.peers.items()}
            held = {name: peer["number"] for name, peer in replay.policy.pool.peers.items()}
            newer = {name: one for name, one in reports.items() if one["number"] > held.get(name, 0)}
            refused = {name: why for name, one in newer.items() if (why := replay.policy.refuses(name, one))}
            unheard |= refused
            newer = {name: one for name, one in newer.items() if name not in refused}
            transaction = Transaction(connection, own._log, replay, own._ticket)
            if newer:
                mark_version(replay, connection, own._number, now())
                transaction.take_in(newer)
                transaction.commit()
            report = replay.policy.report()
            peers = replay.policy.pool.peers.items()
            taken = {name: {"rounds": peer["rounds"], "before": before.get(name, 0)} for name, peer in peers}
        return taken, None if report is None else report | {"number": replay.sequence}

    def _exchange_in_passing(self, rounds: int) -> None:
        """Exchange after a decision if it is time; a failure is noted and changes nothing."""
        settings = self._membership.settings
        self._since += rounds
        if settings["exchange"] and not self._counted:
            self._count_from_log()
        many = settings["exchange_rounds"] is not None and self._since >= settings["exchange_rounds"]
        waited = settings["exchange_seconds"]
        late = waited is not None and time.monotonic() - self._heard >= waited
        if not (settings["exchange"] and (many or late)) or not self._exchanging.acquire(blocking=False):
            return
        try:
            self.exchange()
        except EvenhandError as error:
            self._heard, self._since = time.monotonic(), 0
            self.last_exchange = Exchange({}, {str(self.worker): str(error)})
        finally:
            self._exchanging.release()

    def _count_from_log(self) -> None:
        """Count rounds and seconds from the worker's last report: its processes may end after a few decisions each."""
        own, self._counted = self._deciding(), True
        with own.store.reading() as connection:
            row = row_of(connection, own._number)
        with suppress(EvenhandError):
            report = read_report(row, str(self.worker), self._secret) or {"rounds": 0}
            self._since = own._now_or_earlier().policy.round - report["rounds"]
        self._heard -= max(0, now() - (row.reported_at or own._created)) / 1e6

    def _deciding(self) -> Study:
        """Return the log in which this process decides."""
        if self._own is None:
            self._membership = self.membership()
            there = ", ".join(one.name for one in self._membership.workers if one.returned is None)
            if not there:
                raise ArgumentError(f"every worker of {self.name!r} has left; study.join(NAME) adds a new one")
            first = there.partition(",")[0]
            mend = f"open the study with worker={first!r}, in the shell with --worker {first}"
            raise ArgumentError(wanted("worker", f"one that decides, among {there}", None, mend))
        return self._own
