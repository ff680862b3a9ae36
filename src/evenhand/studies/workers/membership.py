"""Who works on a study, and what each worker was given: read from the study's own log, and written to it.

The log of a study with several workers holds no decisions. Its first entry, "begin", says how they begin together; each
"join" names a worker, its number and its endowment, and each "leave" what a worker gave back. The mathematics stand at
the head of `evenhand.promises.workers`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection

from evenhand.errors import ArgumentError, ReplayError, SharesError, StoreError, wanted
from evenhand.promises.clause import Clause
from evenhand.promises.promise import Promise
from evenhand.promises.workers import endow, lowest, own_promise, owned, pool_of
from evenhand.rng import child
from evenhand.simulation.sharing import beginner, worker_of
from evenhand.studies.log.chain import Entry, digest_of
from evenhand.studies.log.codec import from_text, now, to_text
from evenhand.studies.log.log import Log

__all__ = [
    "BEGINNING",
    "SPAN",
    "Member",
    "Membership",
    "enter",
    "policy_of",
    "worker_name",
]

BEGINNING = "the serial beginning"
"""How reports name the serial beginning, which is no worker's."""
SPAN = 10**12
"""The tickets of worker number n begin behind n times this."""
MOST = 9_000
"""The most workers that a study ever has: so every ticket is a whole number in JavaScript too."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


class Member(NamedTuple):
    """A worker of a study.

    Attributes
    ----------
    name, number : 1, 2, ... in the order in which they joined; number 0, named "", is the serial beginning.
    endowment : what it was given of each clause, by how much its balance may be below 0 in the log (n_clauses,); None
        without a promise.
    birth : the digest before the first entry of its log.
    returned : what it gave back when it left (n_clauses,), None while it has not.
    rounds : how many rounds its log had when it left.
    """

    name: str
    number: int
    endowment: tuple[Fraction, ...] | None
    birth: str
    returned: tuple[Fraction, ...] | None = None
    rounds: int | None = None


class Membership:
    """The members of a study, and how they began.

    Attributes
    ----------
    members : by name, in the order in which they joined.
    rounds, pulls : the length of the serial beginning, and how often each arm must be played in it.
    settings : what "begin" says beside that.
    sequence, digest : of the last entry that was read.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.members: dict[str, Member] = {}
        self.settings: dict[str, Any] = {}
        self.sequence, self.digest = 0, ""
        for entry in entries:
            try:
                self._take(entry)
            except (ArithmeticError, AttributeError, LookupError, StoreError, TypeError, ValueError) as error:
                raise ReplayError(f"entry {entry.sequence} about the members cannot be read: {error!r}") from error
            self.sequence, self.digest = entry.sequence, entry.digest

    def _take(self, entry: Entry) -> None:
        given = from_text(entry.given)
        if entry.kind == "begin":
            self.settings = given
        elif entry.kind == "join":
            one = Member(given["worker"], given["number"], _fractions(given["endowment"]), given["birth"])
            self.members[one.name] = one
        elif entry.kind == "leave":
            left = {"returned": _fractions(given["returned"]) or (), "rounds": given["rounds"]}
            self.members[given["worker"]] = self.members[given["worker"]]._replace(**left)

    @property
    def rounds(self) -> int:
        return int(self.settings["burn_in"])

    @property
    def pulls(self) -> list[int]:
        return list(self.settings["pulls"])

    @property
    def workers(self) -> list[Member]:
        """The members but for the serial beginning."""
        return [one for one in self.members.values() if one.number]

    def pool(self, promise: Promise) -> list[Fraction]:
        """Return what is left of each clause for workers that join (n_clauses,)."""
        clauses, workers = owned(promise), self.workers
        pool = pool_of(clauses, [one.endowment or () for one in workers])
        for place, (pulls, share) in enumerate(zip(self.pulls, promise.shares, strict=False)):
            pool[place] += pulls - share * self.rounds
        for one in workers:
            back = one.returned or (Fraction(0),) * len(pool)
            pool = [left - e + b for left, e, b in zip(pool, one.endowment or (), back, strict=True)]
        return pool

    def next_number(self, name: str) -> int:
        """Return the number of a new worker.

        Raises
        ------
        ArgumentError
            If there are too many.
        """
        number = max((one.number for one in self.workers), default=0) + 1
        if number > MOST:
            raise ArgumentError(wanted("worker", f"at most {MOST} workers, those that left counted", name))
        return number

    def endow_next(self, promise: Promise | None, name: str) -> tuple[Fraction, ...] | None:
        """Return what a new worker is given, None where nothing is promised.

        Raises
        ------
        SharesError
            If the pool is too small.
        """
        if promise is None:
            return None
        clauses, pool = owned(promise), self.pool(promise)
        given = endow(clauses, pool, 1)
        if given is None:
            raise _too_little(clauses, pool, name)
        for place, clause in enumerate(clauses):
            if clause.kind == "window":  # as long as the others' at most, which the pool was counted with
                given[place] = min(given[place], max((one.endowment or ())[place] for one in self.workers))
        try:
            own_promise(promise, given)
        except SharesError as refusal:
            raise SharesError(
                f"worker {name!r} cannot join: what is left of the windows is too little for one more: {refusal}; let "
                "one that has hardly decided leave, or create a study with more workers"
            ) from refusal
        return tuple(given)


def enter(connection: Connection, log: Log, kind: str, given: dict[str, Any], version: str, birth: str) -> None:
    """Write an entry that is not for the policy at the end of a log."""
    sequence, digest = log.last(connection)
    entry = Entry(sequence + 1, kind, None, now(), to_text(given), None, version, None, None, None, "")
    log.append(connection, [entry._replace(digest=digest_of(digest if sequence else birth, entry))])


def worker_name(name: Any, study: str) -> str:
    """Return the name of a worker.

    Raises
    ------
    ArgumentError
        If it is not a valid name.
    """
    if not isinstance(name, str) or NAME.fullmatch(name) is None:
        raise ArgumentError(wanted("worker", "up to 40 letters, digits, - and _, a letter or digit first", name))
    if len(study) + 1 + len(name) > 100:
        raise ArgumentError(wanted("worker", "a name that has 100 characters with the study's", name, "shorten one"))
    return name


def policy_of(policy: Any, member: Member, membership: Membership) -> Any:
    """Return the policy of a worker, or of the serial beginning, before its first round.

    It has a random stream of its own, and its tickets have numbers that no other worker's have.
    """
    seed = child(policy.seed, 1, member.number)
    if not member.number:
        made = beginner(policy, membership.pulls, membership.rounds, seed)
    elif member.endowment is None:
        made = policy._made_again(seed=seed)
    else:
        made = worker_of(policy, member.endowment, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # they were given when the study was created
        made.number_tickets(member.number * SPAN + 1)
    if membership.settings["exchange"]:
        made.begin_exchange()
    return made


def _fractions(texts: list[str] | None) -> tuple[Fraction, ...] | None:
    return None if texts is None else tuple(map(_fraction, texts))


@lru_cache(1_000)
def _fraction(text: str) -> Fraction:
    return Fraction(text)


def _too_little(clauses: list[Clause], pool: list[Fraction], name: str) -> SharesError:
    """Return the refusal of a worker that the pool cannot pay; it names the clause that lacks most."""
    zero = list(map(lowest, clauses))
    worst = min(range(len(pool)), key=lambda place: pool[place] - zero[place])
    more = -(-(zero[worst] - pool[worst]) // 1)
    clause = clauses[worst]
    whom = f"arm {clause.arms[0]!r}" if len(clause.arms) == 1 else f"arms {list(clause.arms)}"
    which = "cap_tolerance" if clause.kind == "cap" else "tolerance"
    return SharesError(
        f"worker {name!r} cannot join: of {whom} all but {float(pool[worst]):.4g} pulls of the {which} are given to "
        f"others, and a worker needs {float(zero[worst]):.4g}; let one that has hardly decided leave, open a worker "
        f"that has stopped again, or create a study with a {which} of {int(clause.slack) + int(more)}"
    )
