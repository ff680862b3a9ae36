"""The members of a study with several workers: their logs, what each was given, who joins and leaves, who is held."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from evenhand.arguments import real
from evenhand.errors import (
    ArgumentError,
    FencedError,
    StoreError,
    UnknownStudyError,
    UnknownWorkerError,
    wanted,
)
from evenhand.promises.balance import Balance, reach, room
from evenhand.promises.workers import owned
from evenhand.protocol import Label, find_label, label_of, places, writing
from evenhand.simulation.sharing import shared_promise
from evenhand.studies.creation import open_store
from evenhand.studies.exchange import taken_of
from evenhand.studies.log.chain import genesis
from evenhand.studies.log.codec import moment
from evenhand.studies.log.log import Log
from evenhand.studies.log.versions import policy_version
from evenhand.studies.store.statements import lock_study
from evenhand.studies.store.store import Store
from evenhand.studies.study import Study
from evenhand.studies.table import WORKER_COLUMNS
from evenhand.studies.workers.membership import (
    BEGINNING,
    Member,
    Membership,
    enter,
    policy_of,
    worker_name,
)
from evenhand.studies.workers.merged import decision_of
from evenhand.studies.workers.worker_logs import (
    Claim,
    begin_log,
    claim,
    close_log,
    log_name,
    place_of,
    release,
    renew,
    row_of,
)

if TYPE_CHECKING:
    import pandas as pd

    Base = Study
else:
    Base = object

__all__ = ["BEGINNING", "Members", "begin_member", "can_exchange"]


def can_exchange(policy: Any) -> bool:
    try:
        policy.new_pool()
    except ArgumentError:
        return False
    return True


def begin_member(
    connection: Connection, store: Store, log: Log, one: Member, policy: Any, row: Any, version: str
) -> None:
    """Begin the log of a new member, and enter it and its endowment in the log of the study, in this transaction."""
    membership = Membership(log.rows(connection))
    made, name = policy_of(policy, one, membership), log_name(row["name"], one.name)
    file, after = place_of(store, row["name"], one.name), membership.settings["expire_after"]
    if file is None:
        birth = begin_log(connection, store, name, made, row["secret"], after)
    else:
        with open_store(file, create=True) as own, own.writing() as other:
            birth = begin_log(other, own, name, made, row["secret"], after)
        own.close()
    endowment = None if one.endowment is None else [str(e) for e in one.endowment]
    given = {"worker": one.name, "number": one.number, "endowment": endowment, "birth": birth}
    enter(connection, log, "join", given, version, row["birth"] if "birth" in row else genesis(row))


class Members(Base):
    """What a `SharedStudy` knows of its workers, and does with them."""

    worker: str | None
    _first: Any
    _membership: Membership
    _logs: dict[int, Study]
    _balances: dict[int, tuple[int, Balance]]
    _own: Study | None
    _claim: Claim | None

    @property
    def _template(self) -> Any:
        """The policy that the study was created with, read when it is needed first."""
        if self._first is None:
            self._first = self.first_policy
        return self._first

    @property
    def promise(self) -> Any:
        """The promise that the workers keep together, None where nothing is promised."""
        return shared_promise(self._template)

    def membership(self) -> Membership:
        """Return who works on the study now, and who did."""
        with self.store.reading() as connection:
            return Membership(self._log.rows(connection))

    @property
    def _fresh(self) -> Balance:
        """The balance of a log before its first entry."""
        return Balance([] if self.promise is None else owned(self.promise), self._template.arms or ())

    def pools(self) -> Iterator[list[Fraction]]:
        """Yield what was left for workers that join, after each entry about members."""
        with self.store.reading() as connection:
            entries = list(self._log.rows(connection))
        if self.promise is not None:
            for end in range(1, len(entries) + 1):
                yield Membership(entries[:end]).pool(self.promise)

    def _member(self, name: str) -> Member:
        known = isinstance(name, str) and name != ""
        if known and name not in self._membership.members:
            self._membership = self.membership()
        found = self._membership.members.get(name) if known else None
        if found is None:
            there = ", ".join(one.name for one in self._membership.workers[:12])
            raise UnknownWorkerError(f"no worker of {self.name!r} is named {name!r}; there: {there}")
        return found

    def log_of(self, member: Member) -> Study:
        """Return the log of a member, as a study of its own.

        Raises
        ------
        StoreError
            If it cannot be read, or another study's log stands in its place.
        """
        found = self._logs.get(member.number)
        if found is None:
            file = place_of(self.store, self.name, member.name)
            try:
                with open_store(self.store if file is None else file) as place:
                    with suppress(UnknownStudyError):
                        found = Study(place, log_name(self.name, member.name))
                    if found is None or found.birth != member.birth:
                        raise UnknownWorkerError(
                            f"{place.url}: the log there is not that of worker {member.name!r} of study {self.name!r}: "
                            "it was moved, or is another study's"
                        )
            except StoreError as error:
                if file is None or (Path(file).exists() and Path(file).stat().st_size):
                    raise
                mend = "put the file back, or restore it from a backup; the other workers may go on"
                missing = (
                    f"{file}: no store is there with the log of worker {member.name!r} of study {self.name!r}; {mend}"
                )
                raise StoreError(missing) from error
        self._logs[member.number] = found
        return found

    def _lost(self) -> dict[int, Member]:
        """Return the members whose logs cannot be read now, by their numbers."""
        self._membership = self.membership()
        found = {}
        for one in self._membership.members.values():
            try:
                self.log_of(one)
            except (StoreError, UnknownWorkerError):
                found[one.number] = one
        return found

    def _every_log(self) -> dict[int, Study]:
        """Return the logs of all members, by their numbers."""
        self._membership = self.membership()
        return {one.number: self.log_of(one) for one in self._membership.members.values()}

    def join(self, name: str) -> Any:
        """Add a worker in one short transaction, and return the study opened as that worker.

        Raises
        ------
        ArgumentError
            If the name is not valid or taken.
        SharesError
            If what is left of the tolerance is too little for one more.
        """
        worker_name(name, self.name)
        policy = self._template
        row = {"name": self.name, "policy": self.policy_name, "secret": self._secret, "birth": self.birth}
        with self._changing() as connection:
            membership = Membership(self._log.rows(connection))
            if name in membership.members:
                left = membership.members[name].returned is not None
                mend = "it has left: choose another name" if left else f"Study.open(store, name, worker={name!r})"
                raise ArgumentError(wanted("worker", "a new name", name, mend))
            one = Member(name, membership.next_number(name), membership.endow_next(self.promise, name), "")
            begin_member(connection, self.store, self._log, one, policy, row, policy_version(policy))
        again: Any = type(self)
        return again(self.store, self.name, name)

    def leave(self, name: str) -> None:
        """End the work of a worker, also of one that was killed; what its log never touched goes back to the others.

        Nobody decides as this worker any more. Its decisions count as ever, and its open tickets may still be told.

        Raises
        ------
        UnknownWorkerError
            If there is no such worker.
        FencedError
            If it has left before.
        """
        member = self._member(name)
        log = self.log_of(member)
        if self.membership().members[name].returned is not None:
            raise FencedError(f"worker {name!r} has left before; nothing has changed")
        close_log(log.store, log._number)
        balance = self.balance(member.number)
        returned: list[Fraction] = []
        if member.endowment is not None:
            returned = [e + low for e, low in zip(member.endowment, balance.least_of_all(), strict=True)]
        given = {"worker": name, "rounds": balance.rounds, "returned": [str(max(Fraction(0), one)) for one in returned]}
        version = policy_version(self._template)
        with self._changing() as connection:
            if Membership(self._log.rows(connection)).members[name].returned is not None:
                raise FencedError(f"worker {name!r} has left before; nothing has changed")
            enter(connection, self._log, "leave", given, version, self.birth)

    @contextmanager
    def _changing(self) -> Iterator[Connection]:
        """Provide a transaction in which nobody else joins or leaves."""
        with self.store.writing() as connection:
            lock_study(connection, self._number)
            yield connection

    def balance(self, number: int) -> Balance:
        """Return what a log did with the promise, as far as it goes now."""
        log = self._logs[number] if number in self._logs else self._every_log()[number]
        after, balance = deepcopy(self._balances.get(number, (0, self._fresh)))  # others may read it at this moment
        known = places(self._template.arms or ())
        for entry in log.entries(after):
            if entry.kind == "ask":
                arms, given = decision_of(entry)
                offered, segment = given.get("available"), given.get("segment")
                listed = [offered] if isinstance(offered, (str, int)) else offered or ()
                at = [place for place in (find_label(label, known) for label in listed) if place is not None]
                inside = None if segment is None else writing(label_of(segment))
                balance.play(arms, None if offered is None else at, inside)
            after = entry.sequence
        self._balances[number] = after, balance
        return balance

    def room(self) -> dict[Label, float]:
        """Return, for each arm, how many pulls more every merge order of the logs could lack before the promise is
        broken; {} without a promise. It is kept as long as all are above 0.

        Of several clauses of an arm the one that is nearest counts: of a cap the pulls that it could have more, of a
        window the rounds that it could be without one.

        Of a worker whose log is lost the worst is taken: that it has used up all that it may fall behind.
        """
        return {} if self.promise is None else self.room_beside(self._lost())

    def room_beside(self, lost: Mapping[int, Member]) -> dict[Label, float]:
        """Return the `room` of a promise, where the logs of these members cannot be read."""
        self._membership = self.membership()
        logs = {one.number: one for one in self._membership.members.values() if one.number not in lost}
        with self._turn:
            balances = {number: self.balance(number) for number in sorted(logs, reverse=True)}
        base, clauses = balances.pop(0, self._fresh), owned(self.promise)
        if base.rounds < self.burn_in:
            left = [low + reach(clause) for low, clause in zip(base.least(), clauses, strict=True)]
        else:
            left = room(base, balances.values())
        for one in lost.values():
            used = zip(one.endowment or (), one.returned or [Fraction(0)] * len(left), strict=True)
            left = [before - (e - back) for before, (e, back) in zip(left, used, strict=True)]
        nearest: dict[Label, float] = {}
        for clause, pulls in sorted(zip(clauses, left, strict=True), key=lambda each: not each[0].rate):
            for arm in clause.arms:  # one that is owed nothing counts where the arm has no other
                known = nearest.get(arm, math.inf)
                nearest[arm] = min(known, float(pulls)) if clause.rate or known == math.inf else known
        return {arm: nearest[arm] for arm in self.promise.arms}

    @property
    def workers(self) -> pd.DataFrame:
        """The workers, a row each.

        Columns: `worker`; `state`: "new" (nobody has opened it), "working", "left", or "lost" (its log cannot be read,
        and nothing else is known of it); `holder`, the machine and process that opened it last; `rounds` that it has
        decided; `surplus`: by how many pulls the arm that is nearest to its limit may still fall behind in its log, of
        a cap be ahead, of a window how many rounds it may still do without (None without a promise, and of a worker
        that has left); `heard`, when its log or its claim last changed, UTC; `exchanged`, when it last reported to the
        others; `lag`, how many rounds of the others it has not been told of.
        """
        import pandas as pd

        lost = self._lost()
        with self._turn:
            rows = [
                {"worker": one.name, "state": "lost"} if one.number in lost else self._worker_row(one, set(lost))
                for one in self._membership.workers
            ]
        table = pd.DataFrame(rows, columns=WORKER_COLUMNS)
        for name in ("heard", "exchanged"):
            table[name] = pd.to_datetime(table[name], utc=True)
        return table

    def team(self) -> dict[str, Any]:
        table = self.workers
        rows = table.astype(object).where(table.notna(), None).to_dict("records")
        for row in rows:
            for name in ("heard", "exchanged"):
                row[name] = None if row[name] is None else row[name].to_pydatetime()
        return {"workers": rows, "room": [{"label": arm, "pulls": left} for arm, left in self.room().items()]}

    def _worker_row(self, one: Member, lost: set[int]) -> dict[str, Any]:
        log, balance = self.log_of(one), self.balance(one.number)
        with log.store.reading() as connection:
            row = row_of(connection, log._number)
            last = next(iter(log._log.pages(connection, self._balances[one.number][0] - 1)), [])
        times = [row.claimed_at or 0, *(entry.at for entry in last)]
        surplus = None
        left = one.returned is not None
        if one.endowment is not None and not left:
            owed = list(zip(balance.clauses, one.endowment, strict=True))
            nows = (zip(owed, balance.now(key), strict=True) for key in balance.keys or [None])
            surplus = min((float(e + d) for now in nows for (c, e), d in now if c.rate), default=None)
        return {
            "worker": one.name,
            "state": "left" if left else "working" if row.claim else "new",
            "holder": None if left else row.holder,
            "rounds": balance.rounds,
            "surplus": surplus,
            "heard": moment(max(times)) if max(times) else None,
            "exchanged": None if row.reported_at is None else moment(row.reported_at),
            "lag": self._lag(one, row, lost) if self._membership.settings["exchange"] and not left else None,
        }

    def _lag(self, one: Member, row: Any, lost: set[int]) -> int:
        taken, known = taken_of(row), self._membership.members.values()
        others = (other for other in known if other.number != one.number and other.number not in lost)
        rounds = {other.name or BEGINNING: self.balance(other.number).rounds for other in others}
        return sum(max(0, count - taken.get(sender, 0)) for sender, count in rounds.items())

    def lease(self, seconds: float) -> str:
        """Decide as a worker that no live process holds, and return its name; `renew` it within so many seconds.

        Raises
        ------
        ArgumentError
            If `seconds` is no number above 0.
        FencedError
            If every worker is held.
        """
        seconds = real("seconds", seconds, above=0)
        self._membership = self.membership()
        for one in self._membership.workers:
            if one.returned is None:
                own = self.log_of(one)
                with suppress(FencedError):
                    self._claim = claim(own.store, own._number, one.name, lease=seconds)
                    own._admit = self._claim.check
                    own._log.read_claims()
                    self._own, self.worker = own, one.name
                    return one.name
        if all(one.returned is not None for one in self._membership.workers):
            raise FencedError(f"every worker of {self.name!r} has left; let a new one join")
        raise FencedError(
            f"every worker of {self.name!r} is held by a live process: start fewer processes, or let more workers join"
        )

    def renew(self) -> None:
        """Say that this process still decides as its worker; let go of a worker that another has claimed."""
        if self._own is not None and self._claim is not None and not renew(self._own.store, self._claim):
            self.release()

    def release(self) -> None:
        """Let another process decide as this one's worker at once."""
        own, self._own, self.worker = self._own, None, None
        if own is not None and self._claim is not None:
            release(own.store, self._claim)
            own._admit = None
