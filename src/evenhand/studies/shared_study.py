"""A study that several processes decide for at the same time, none waiting for another, under one exact promise.

Each worker has a log of its own: its own chain of digests, its own random streams, its own tickets. By what each arm is
ahead or behind in one log, which adds over logs, every merge order of all logs keeps the promise, whoever is slow, cut
off or killed; the mathematics stand at the head of `evenhand.promises.workers`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from evenhand import registry
from evenhand.arguments import real
from evenhand.arguments import whole as whole_number
from evenhand.errors import (
    ArgumentError,
    EvenhandError,
    FencedError,
    StoreError,
    UnknownTicketError,
    UnknownWorkerError,
    wanted,
)
from evenhand.promises.workers import Balance, room
from evenhand.protocol import Label
from evenhand.studies.chain import Entry, genesis
from evenhand.studies.codec import Event, moment, now
from evenhand.studies.creation import open_store
from evenhand.studies.exchange import Exchange, keep_report, read_report, taken_of
from evenhand.studies.log import Log, Record, as_event
from evenhand.studies.membership import (
    MOST,
    SPAN,
    Member,
    Membership,
    check_policy,
    enter,
    plan_of,
    policy_of,
    worker_name,
)
from evenhand.studies.merged import Following, decision_of, merged_frame
from evenhand.studies.operations import CHANGES, Arguments, Operation
from evenhand.studies.replay import Replay
from evenhand.studies.request_keys import texts_of
from evenhand.studies.schema import STUDIES
from evenhand.studies.signing import new_secret
from evenhand.studies.snapshots import mark_version, write_snapshot
from evenhand.studies.store import Store
from evenhand.studies.study import Study
from evenhand.studies.table import WORKER_COLUMNS
from evenhand.studies.transaction import Transaction
from evenhand.studies.versions import policy_version
from evenhand.studies.worker_logs import (
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

    from evenhand.studies.verify import Verification

__all__ = ["SharedStudy", "create_shared"]


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
    from evenhand.state import to_bytes

    if workers > MOST:
        raise ArgumentError(wanted("workers", f"at most {MOST}", workers))
    promise = check_policy(policy)
    plan = plan_of(promise, workers)
    names = [worker_name(f"w{number}", name) for number in range(1, workers + 1)]
    at, version = now(), policy_version(policy)
    row = {"name": name, "policy": registry.name_of(policy), "secret": new_secret(), "created_at": at}
    begin = {
        "workers": workers,
        "burn_in": 0 if plan is None else plan.rounds,
        "pulls": [] if plan is None else plan.pulls,
        "expire_after": expire_after,
        "exchange": _can_exchange(policy),
        **exchange,
    }
    with open_store(store, create=True) as place:
        place.upgrade()
        with place.writing() as connection:
            try:
                number = connection.scalar(insert(STUDIES).values(row).returning(STUDIES.c.id))
            except IntegrityError as error:
                raise ArgumentError(f"{place.url}: study {name!r} already exists; choose another name") from error
            assert number is not None
            birth, log = genesis(row), Log(place, number)
            write_snapshot(connection, number, 0, birth, at, version, to_bytes(policy))
            enter(connection, log, "begin", begin, version, birth)
            endowment = None if plan is None else tuple(plan.endowment)
            for position, worker in enumerate(["", *names] if begin["burn_in"] else names):
                given = Member(worker, position + (not begin["burn_in"]), endowment if worker else None, "")
                _join(connection, place, log, given, policy, row, version)
        return SharedStudy(place, name, None)


def _can_exchange(policy: Any) -> bool:
    try:
        policy.new_pool()
    except ArgumentError:
        return False
    return True


def _join(connection: Connection, store: Store, log: Log, one: Member, policy: Any, row: Any, version: str) -> None:
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


class SharedStudy(Study):
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
        template = self.first_policy
        self.promise = check_policy(template)
        self._template, self._arguments_ = template, Arguments(template)
        self.burn_in = self._membership.rounds
        self._begun = not self.burn_in
        self.last_exchange: Exchange | None = None
        self._exchanging, self._heard, self._since = threading.Lock(), time.monotonic(), 0
        self._own: Study | None = None
        self._claim: Claim | None = None
        if worker is not None:
            self._own = own = self.log_of(self._member(worker))
            self._claim = claim(own.store, own._number, worker)
            own._admit = self._claim.check

    # ------------------------------------------------------------------ who works on it

    def membership(self) -> Membership:
        """Return who works on the study now, and who did."""
        with self.store.reading() as connection:
            return Membership(self._log.rows(connection))

    def pools(self) -> Iterator[list[Fraction]]:
        """Yield what was left for workers that join, after each entry about members."""
        with self.store.reading() as connection:
            entries = list(self._log.rows(connection))
        if self.promise is not None:
            for end in range(1, len(entries) + 1):
                yield Membership(entries[:end]).pool(self.promise)

    def _member(self, name: str) -> Member:
        if name not in self._membership.members:
            self._membership = self.membership()
        found = self._membership.members.get(name) if name else None
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
            with open_store(self.store if file is None else file) as place:
                found = Study(place, log_name(self.name, member.name))
                if found.birth != member.birth:
                    raise UnknownWorkerError(
                        f"{place.url}: the log there is not that of worker {member.name!r} of study {self.name!r}: "
                        "it was moved, or is another study's"
                    )
            self._logs[member.number] = found
        return found

    def _every_log(self) -> dict[int, Study]:
        """Return the logs of all members, by their numbers."""
        self._membership = self.membership()
        return {one.number: self.log_of(one) for one in self._membership.members.values()}

    def join(self, name: str) -> SharedStudy:
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
            number = max((one.number for one in membership.workers), default=0) + 1
            if number > MOST:
                raise ArgumentError(wanted("worker", f"at most {MOST} workers, those that left counted", name))
            one = Member(name, number, membership.endow_next(self.promise, name), "")
            _join(connection, self.store, self._log, one, policy, row, policy_version(policy))
        return SharedStudy(self.store, self.name, name)

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
            returned = [e + low for e, low in zip(member.endowment, balance.least(), strict=True)]
        given = {"worker": name, "rounds": balance.rounds, "returned": [str(max(Fraction(0), one)) for one in returned]}
        with self._changing() as connection:
            if Membership(self._log.rows(connection)).members[name].returned is not None:
                raise FencedError(f"worker {name!r} has left before; nothing has changed")
            enter(connection, self._log, "leave", given, policy_version(self._template), self.birth)

    @contextmanager
    def _changing(self) -> Iterator[Connection]:
        """Provide a transaction in which nobody else joins or leaves."""
        with self.store.writing() as connection:
            connection.execute(select(STUDIES.c.id).where(STUDIES.c.id == self._number).with_for_update())
            yield connection

    def balance(self, number: int) -> Balance:
        """Return the rounds and pulls in a log, as far as it goes now."""
        log = self._logs[number] if number in self._logs else self._every_log()[number]
        promise = self.promise
        shares = (Fraction(0),) * len(self._template.arms or ()) if promise is None else promise.shares
        after, balance = self._balances.get(number, (0, Balance(shares)))
        labels = list(self._template.arms or ())
        for entry in log.entries(after):
            if entry.kind == "ask":
                arm, given = decision_of(entry)
                offered = given.get("available")
                balance.play(arm, None if offered is None else [labels.index(label) for label in offered])
            after = entry.sequence
        self._balances[number] = after, balance
        return balance

    def room(self) -> dict[Label, float]:
        """Return, for each arm, how many pulls more every merge order of the logs could lack before the promise is
        broken; {} without a promise. It is kept as long as all are above 0."""
        if self.promise is None:
            return {}
        logs = self._every_log()
        with self._turn:
            balances = {number: self.balance(number) for number in sorted(logs, reverse=True)}
        base = balances.pop(0, Balance(self.promise.shares))
        if base.rounds < self.burn_in:
            left = [low + self.promise.slack + 1 for low in base.least()]
        else:
            left = room(self.promise.slack, base, balances.values())
        return {arm: float(one) for arm, one in zip(self.promise.arms, left, strict=True)}

    @property
    def workers(self) -> pd.DataFrame:
        """The workers, a row each.

        Columns: `worker`; `state`: "new" (nobody has opened it), "working" or "left"; `holder`, the machine and process
        that opened it last; `rounds` that it has decided; `surplus`: by how many pulls the arm that is nearest to its
        limit may still fall behind in its log (None without a promise); `heard`, when its log or its claim last
        changed, UTC; `exchanged`, when it last reported to the others; `lag`, how many rounds of the others it has not
        been told of.
        """
        import pandas as pd

        logs = self._every_log()
        with self._turn:
            rows = [self._worker_row(one, logs[one.number]) for one in self._membership.workers]
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

    def _worker_row(self, one: Member, log: Study) -> dict[str, Any]:
        balance = self.balance(one.number)
        with log.store.reading() as connection:
            row = row_of(connection, log._number)
            last = next(iter(log._log.pages(connection, self._balances[one.number][0] - 1)), [])
        times = [row.claimed_at or 0, *(entry.at for entry in last)]
        surplus = None
        if one.endowment is not None:
            surplus = min((float(e + d) for e, d in zip(one.endowment, balance.now(), strict=True)), default=None)
        left = one.returned is not None
        return {
            "worker": one.name,
            "state": "left" if left else "working" if row.claim else "new",
            "holder": None if left else row.holder,
            "rounds": balance.rounds,
            "surplus": surplus,
            "heard": moment(max(times)) if max(times) else None,
            "exchanged": None if row.reported_at is None else moment(row.reported_at),
            "lag": self._lag(one, row) if self._membership.settings["exchange"] and not left else None,
        }

    def _lag(self, one: Member, row: Any) -> int:
        taken = taken_of(row)
        others = (other for other in self._membership.members.values() if other.number != one.number)
        return sum(
            max(0, self.balance(other.number).rounds - taken.get(other.name or BEGINNING, 0)) for other in others
        )

    def lease(self, seconds: float) -> str:
        """Decide as a worker that no live process holds, and return its name; `renew` it within so many seconds.

        Raises
        ------
        FencedError
            If every worker is held.
        """
        self._membership = self.membership()
        for one in self._membership.workers:
            if one.returned is None:
                own = self.log_of(one)
                with suppress(FencedError):
                    self._claim = claim(own.store, own._number, one.name, lease=seconds)
                    own._admit = self._claim.check
                    self._own, self.worker = own, one.name
                    return one.name
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

    # ------------------------------------------------------------------ learning together

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
            taken, report = self._take(own, reports)
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

    def _take(self, own: Study, reports: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Take in what is new of these reports; return what is held of each worker then, and the own new report."""
        with own._transaction() as (connection, _):
            replay = own._follow(connection)
            assert own._admit is not None
            own._admit(connection, replay, [Operation("ask")])
            before = {name: peer["rounds"] for name, peer in replay.policy.pool.peers.items()}
            held = {name: peer["number"] for name, peer in replay.policy.pool.peers.items()}
            newer = {name: one for name, one in reports.items() if one["number"] > held.get(name, 0)}
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

    def _deciding(self) -> Study:
        """Return the log in which this process decides."""
        if self._own is None:
            there = ", ".join(one.name for one in self._membership.workers if one.returned is None)
            mend = "open the study with worker="
            raise ArgumentError(wanted("worker", f"one that decides, among {there}", None, mend))
        return self._own

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
            if "segment" in operation.given:
                mend = "create a study for each segment"
                raise ArgumentError(wanted("segment", "None, with several workers", operation.given["segment"], mend))
            return self._number_with_key(operation), operation
        ticket = self._ticket(operation.ticket)
        plain = operation._replace(ticket=ticket) if isinstance(operation.ticket, str) else operation
        return self._of_ticket(ticket), plain

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
        """Return the number of the worker that decided under this key before, -1 where none did."""
        if operation.key is None or not isinstance(operation.key, str):
            return -1
        with suppress(EvenhandError):
            texts = texts_of(operation.key, operation.number)
            for number, log in self._every_log().items():
                with log.store.reading() as connection:
                    if log._log.of_keys(connection, texts):
                        return number
        return -1

    def _decided(self, operations: Sequence[Operation], whole: bool) -> list[Any]:
        """Take decisions: in the log of the serial beginning as long as it lasts, then in this worker's own."""
        own = self._deciding()
        outcomes: list[Any] = []
        while not self._begun and len(outcomes) < len(operations):
            outcomes += self._in_turn(operations[len(outcomes) :], whole)
        rest = operations[len(outcomes) :]
        outcomes += own._perform_all(rest, whole=whole) if rest else []
        self._exchange_in_passing(len(rest))
        return outcomes

    def _in_turn(self, operations: Sequence[Operation], whole: bool) -> list[Any]:
        """Decide in the serial beginning as often as it still lasts; note when it is over."""
        base = self.log_of(self._membership.members[""])
        base._admit = self._check_beginning
        shown = [operation for operation in operations if "available" in operation.given]
        if shown:
            mend = f"the first {self.burn_in} rounds offer every arm"
            raise ArgumentError(wanted("available", "None in the serial beginning", shown[0].given["available"], mend))
        left = self.burn_in - base._now().policy.round
        if left <= 0:
            self._begun = True
            return []
        with suppress(_OverError):
            return base._perform_all(operations[:left], whole=whole)
        return []

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
        from evenhand.studies.shared_verify import verify_shared

        return verify_shared(self, known=known, since=since, progress=progress)

    def frame(self) -> pd.DataFrame:
        """Return the decisions of all workers in the canonical order, with a column `worker`; see
        `evenhand.studies.merged`."""
        logs = self._every_log()
        names = {one.number: one.name for one in self._membership.members.values()}
        # the serial beginning last, so that what follows it comes with the whole of it
        tables = {names[number]: logs[number].frame() for number in sorted(logs, reverse=True)}
        return merged_frame({names[number]: tables[names[number]] for number in sorted(logs)})

    def snapshot(self) -> None:
        for log in self._logs.values() if self._own is None else [self._own]:
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

    def __repr__(self) -> str:
        worker = "" if self.worker is None else f", worker={self.worker!r}"
        return f"SharedStudy({self.store.url!r}, {self.name!r}, {self.policy_name}{worker})"

    def _arguments(self) -> Arguments:
        return self._arguments_


BEGINNING = "the serial beginning"
KEPT = 8
"""How many of the last ends of `entries` are remembered, to read on from there."""


class _OverError(EvenhandError):
    """The serial beginning is over."""
