"""Who works on a study, and what each worker was given: read from the study's own log, and written to it.

The log of a study with several workers holds no decisions. Its first entry, "begin", says how they begin together; each
"join" names a worker, its number and its endowment, and each "leave" what a worker gave back. The mathematics stand at
the head of `evenhand.promises.workers`.

Older versions gave parts of the tolerance to regions, stores of their own: "region" says what one was given, and the
"begin" of its store repeats it. Such stores are read and verified, and decide within what they were given.
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
from evenhand.policy import KernelPolicy
from evenhand.promises.promise import Promise
from evenhand.promises.workers import Plan, endow, limits, plan
from evenhand.quotas import DeadlineLearn, LotteryLearn
from evenhand.rng import child
from evenhand.simulation.refusals import tolerance_too_small
from evenhand.studies.chain import Entry, digest_of
from evenhand.studies.codec import from_text, now, to_text
from evenhand.studies.log import Log
from evenhand.traits import traits_of

__all__ = [
    "BEGINNING",
    "SPAN",
    "Member",
    "Membership",
    "Region",
    "check_policy",
    "enter",
    "plan_of",
    "policy_of",
    "worker_name",
]

BEGINNING = "the serial beginning"
"""How reports name the serial beginning, which is no worker's."""
SPAN = 10**12
"""The tickets of worker number n begin behind n times this."""
MOST = 9_000
"""The most workers that a study ever has: so every ticket is a whole number in JavaScript too."""
REGION = 100
"""The most workers that a region ever has."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


class Member(NamedTuple):
    """A worker of a study.

    Attributes
    ----------
    name, number : 1, 2, ... in the order in which they joined; number 0, named "", is the serial beginning.
    endowment : by how much D_i may be below 0 in its log (n_arms,), None without a promise.
    birth : the digest before the first entry of its log.
    returned : what it gave back when it left (n_arms,), None while it has not.
    rounds : how many rounds its log had when it left.
    """

    name: str
    number: int
    endowment: tuple[Fraction, ...] | None
    birth: str
    returned: tuple[Fraction, ...] | None = None
    rounds: int | None = None


class Region(NamedTuple):
    """The workers of one study that an older version let decide in a store of their own.

    Attributes
    ----------
    first : the number of its first worker; the next `REGION` - 1 are kept for it.
    endowment : by how much D_i may be below 0 over all its logs (n_arms,), None without a promise.
    """

    name: str
    first: int
    endowment: tuple[Fraction, ...] | None

    @classmethod
    def read(cls, given: dict[str, Any]) -> Region:
        """Return the region that an entry of the log speaks of."""
        return cls(given["region"], given["first"], _fractions(given["endowment"]))


class Membership:
    """The members of a study, and how they began.

    Attributes
    ----------
    members : by name, in the order in which they joined.
    rounds, pulls : the length of the serial beginning, and how often each arm must be played in it.
    settings : what "begin" says beside that.
    regions : by name, what other stores were given.
    region : what this store was given itself, None for the study's first store.
    sequence, digest : of the last entry that was read.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.members: dict[str, Member] = {}
        self.settings: dict[str, Any] = {}
        self.regions: dict[str, Region] = {}
        self.region: Region | None = None
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
            if "region" in given:
                self.region = Region.read(given["region"])
        elif entry.kind == "region":
            self.regions[given["region"]] = Region.read(given)
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

    def pool(self, promise: Any) -> list[Fraction]:
        """Return what is left for workers that join (n_arms,)."""
        if self.region is not None:
            pool = list(self.region.endowment or ())
        else:
            earned = zip(limits(promise.shares, promise.slack), self.pulls, promise.shares, strict=True)
            pool = [a + n - r * self.rounds for a, n, r in earned]
        for region in self.regions.values():
            pool = [left - e for left, e in zip(pool, region.endowment or (), strict=True)]
        for one in self.workers:
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
        used = [one.number for one in self.workers] + [region.first + REGION - 1 for region in self.regions.values()]
        first, most = (1, MOST) if self.region is None else (self.region.first, self.region.first + REGION - 1)
        number = max(used, default=first - 1) + 1
        if number > most:
            most += 1 - first
            raise ArgumentError(wanted("worker", f"at most {most} workers, those that left counted", name))
        return number

    def endow_next(self, promise: Any, name: str) -> tuple[Fraction, ...] | None:
        """Return what a new worker is given, None where nothing is promised.

        Raises
        ------
        SharesError
            If the pool is too small.
        """
        if promise is None:
            return None
        pool = self.pool(promise)
        endowment = endow(promise.shares, pool, 1)
        if endowment is None:
            zero = limits(promise.shares, 0)
            worst = min(range(len(pool)), key=lambda arm: pool[arm] - zero[arm])
            more = -(-(zero[worst] - pool[worst]) // 1)
            raise SharesError(
                f"worker {name!r} cannot join: of arm {promise.arms[worst]!r} all but {float(pool[worst]):.4g} pulls "
                f"of the tolerance are given to others, and a worker needs {float(zero[worst]):.4g}; let one that has "
                "hardly decided leave, open a worker that has stopped again, or create a study with a tolerance of "
                f"{promise.slack + int(more)}"
            )
        return tuple(endowment)


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


def check_policy(policy: Any) -> Any:
    """Return the promise that several workers are to keep, None where the policy promises nothing.

    Raises
    ------
    ArgumentError
        If no rule is known by which several workers keep it.
    """
    traits = traits_of(policy)
    name = type(policy).__name__
    if not isinstance(policy, KernelPolicy) or traits.windows:
        mend = "use workers=1"
        raise ArgumentError(wanted("policy", "a learner, or DeadlineLearn, for several workers", name, mend))
    promise = traits.promise
    if traits.kept is None or promise is None:
        return None
    if not isinstance(policy, DeadlineLearn):
        mend = "DeadlineLearn(UCB1(), shares) promises the same" if traits.kept == "at every round" else "use workers=1"
        if isinstance(policy, LotteryLearn):
            mend = "DeadlineLearn(UCB1(), shares, lottery=0.5) draws by lottery, too"
        raise ArgumentError(wanted("policy", "DeadlineLearn, whose promise several workers can keep", name, mend))
    for what, there in (("plays=1", promise.plays > 1), ("no caps", promise.caps), ("no sets of arms", promise.sets)):
        if there:
            raise ArgumentError(wanted("policy", f"{what}, for several workers", f"a {name} with others"))
    if promise.behind is not None:
        raise ArgumentError(wanted("policy", "a tolerance in the place of behind=, for several workers", name))
    return promise


def plan_of(promise: Any, workers: int) -> Plan | None:
    """Return how so many workers keep a promise together, None where nothing is promised.

    Raises
    ------
    SharesError
        If they cannot; the message names the least tolerance that would do.
    """
    if promise is None:
        return None
    found = plan(promise.shares, promise.slack, workers)
    if found is None:
        raise tolerance_too_small(promise, workers)
    return found


def policy_of(policy: Any, member: Member, membership: Membership) -> Any:
    """Return the policy of a worker, or of the serial beginning, before its first round.

    It has a random stream of its own, and its tickets have numbers that no other worker's have.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # they were given when the study was created
        made = policy._made_again(seed=child(policy.seed, 1, member.number), **_changed(policy, member, membership))
        made.number_tickets(member.number * SPAN + 1)
        if membership.settings["exchange"]:
            made.begin_exchange()
        return made


def _changed(policy: Any, member: Member, membership: Membership) -> dict[str, Any]:
    """Return the arguments of a member's policy that are others than the study's."""
    changed = _promised(policy, member, membership)
    if not changed or getattr(policy, "lottery", None) is None:
        return changed
    shares = dict(zip(policy.arms, policy.promise.shares, strict=True))
    return {"shares": Promise(**{"shares": shares} | changed)}


def _promised(policy: Any, member: Member, membership: Membership) -> dict[str, Any]:
    """Return what is promised of a member's rounds by other words than of the study's."""
    arms = policy.arms
    if not member.number:
        shares = (Fraction(n, membership.rounds) for n in membership.pulls)
        return {"shares": dict(zip(arms, shares, strict=True)), "tolerance": 0.0}
    if member.endowment is None:
        return {}
    over = {e - zero for e, zero in zip(member.endowment, limits(policy.promise.shares, 0), strict=True)}
    slack = over.pop()
    if not over and slack.denominator == 1:
        return {"tolerance": float(slack)}
    return {"tolerance": 0.0, "behind": dict(zip(arms, member.endowment, strict=True))}


def _fractions(texts: list[str] | None) -> tuple[Fraction, ...] | None:
    return None if texts is None else tuple(map(_fraction, texts))


@lru_cache(1_000)
def _fraction(text: str) -> Fraction:
    return Fraction(text)
