"""Verification: the log replayed from its first entry, or from where an earlier one ended, and its promise checked."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import Connection, func, select, text

from evenhand.display.html import Card, HasCard
from evenhand.display.progress import tracked
from evenhand.errors import ErasedError, EvenhandError, RegistryError, ReplayError, StoreError, UnreachableError
from evenhand.learners.functions import stand_ins
from evenhand.protocol import Label
from evenhand.studies.log.chain import Birth, Entry, check_link
from evenhand.studies.log.codec import Sealed, from_text
from evenhand.studies.log.log import Log
from evenhand.studies.log.operations import replay_entry
from evenhand.studies.log.request_keys import shown_key
from evenhand.studies.log.snapshots import Snapshot, first_replay, replay_at, same_but_dumps, same_state, snapshots
from evenhand.studies.log.state import LivePolicy
from evenhand.studies.log.subjects import changed_subjects, sealed_under
from evenhand.studies.statistics.checkpoint import Count, mark_of
from evenhand.studies.store.integrity import damages
from evenhand.studies.store.schema import SNAPSHOTS, STUDIES
from evenhand.studies.store.store import Store

EXACT = 1e-9
"""By how much stated chances may be off, for rounding."""
KEPT = {True: "kept", False: "broken", None: "not due yet"}


@dataclass(frozen=True, repr=False)
class Verification(HasCard):
    """The result of a verification of a study's log.

    Attributes
    ----------
    ok : whether nothing is wrong: the log is whole, the promise held, and what was repeated came out the same; see
        `repeated`.
    repeated : whether "all" decisions were taken again and came out as they stand, "some", or "none", as where the
        module of a learner of one's own is not here: `notes` say why. What was not repeated is checked all the same for
        its chain of digests, its counts, the promise, and its chances.
    problems, notes : what is wrong, and what could not be checked, in words.
    entries, decisions, told, forgotten, open : counts of the log; tickets that expired without a reward count as
        forgotten.
    digest : of the last entry; keep it elsewhere to show later that no entry before it was removed or rewritten.
    since : how many entries an earlier verification found sound, which were not read again; 0 without one.
    replayed : how many of the other entries this version of the code replayed.
    versions : the versions of the policy's code that wrote the log.
    promise : when the policy keeps its promise, None if it makes none that can be checked from a log.
    promise_kept : whether it was kept; None if there is none, or it is not due yet.
    worst_shortfall, worst_arm, worst_round : the largest r_i t - N_i(t), in plays, its arm and round; None without one.
    rounds_in_violation, first_violation : the number of rounds that broke the promise, and the first (round, arm).
    mark : where this verification ended, for the next one to continue from (`since=`); None if something is wrong.
    """

    entries: int
    digest: str
    replayed: int
    decisions: int
    told: int
    forgotten: int
    open: int
    versions: tuple[str, ...]
    promise: str | None
    promise_kept: bool | None
    worst_shortfall: float | None
    worst_arm: Label | None
    worst_round: int | None
    rounds_in_violation: int
    first_violation: tuple[int, Label] | None
    problems: tuple[str, ...] = field(default=())
    notes: tuple[str, ...] = field(default=())
    since: int = 0
    mark: bytes | None = field(default=None, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Whether the verification found no problem."""
        return not self.problems

    @property
    def repeated(self) -> Literal["all", "some", "none"]:
        """Whether the decisions were taken again."""
        new = self.entries - self.since
        return "all" if self.replayed == new else "some" if self.replayed else "none"

    def _card(self) -> Card:
        facts = {
            "finding": "sound" if self.ok else "not sound",
            "repeated": self.repeated,
            "entries": self.entries,
            "decisions": self.decisions,
            "told": self.told,
            "open": self.open,
            "promise": "none" if self.promise is None else f"{self.promise}: {KEPT[self.promise_kept]}",
            "digest": self.digest,
        }
        said = {f"problem {number}": words for number, words in enumerate(self.problems, 1)}
        return Card("Verification", facts | said)

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain data: `ok`, `repeated` and every attribute but `mark`."""
        found = {"ok": self.ok, "repeated": self.repeated} | dataclasses.asdict(self)
        del found["mark"]
        return found


def verify(
    store: Store,
    log: Log,
    birth: Birth,
    state: LivePolicy,
    *,
    known: str | None,
    mark: dict[str, Any] | None,
    progress: bool,
) -> Verification:
    """Replay a study's log from the start, or from where an earlier verification ended; see `Verification`.

    Parameters
    ----------
    state : the policy that the study works with.
    known, mark, progress : see `Study.verify`; `mark` is where an earlier verification ended.

    Raises
    ------
    UnreachableError
        If the store could not be read to the end, so that neither "sound" nor "not sound" was shown.

    Checked are: the database itself is sound, and no key was used twice; every entry is there and unchanged (a chain of
    digests); the policy, started from the first snapshot, decides as the log says, entry by entry; every snapshot on
    the way, and the state that the study works with now, equal the state of the replay, bit by bit; the promise was
    kept at every round at which it is due. Two changes cannot be found here: entries that were removed from the end, if
    no snapshot was taken after them, and a history that was rewritten with all its digests and still replays. To find
    these, keep the last `digest` elsewhere and pass it as `known`.

    Where the functions of a learner of somebody's own are not in this process, its decisions are not taken again.
    Chain, counts and promise are checked all the same, and that the stated chances are chances: none below 0, together
    1, that of the arm that was played above 0, and that of an arm with a share never between 0 and its floor. Where the
    policy itself is somebody's own and is not there, chain and counts alone are checked. Notes say so.

    Where contexts of a subject were erased, the replay stops and continues from the next snapshot, whose state is taken
    as it is; digests and the promise are checked all the same. Notes say so, and contexts that cannot be read though no
    entry says that they were erased are a problem.

    With a mark, the entries up to it are not read again: they are assumed to be unchanged, except for the last one,
    whose digest must be the mark's. The mark vouches for the state after it, so keep it where those who can write to
    the store cannot change it.
    """
    problems: list[str] = []
    notes: list[str] = []
    verifier, count, begun = None, Count(None), True
    try:
        with store.reading() as connection:
            problems += [*damages(connection), *_duplicate_keys(connection, log.study)]
            if known is not None and not log.has_digest(connection, known):
                problems.append(f"no entry has the digest {known}: entries were cut off or rewritten")
            try:
                verifier = _Verifier(connection, log, birth.digest, mark, notes)
                count = verifier.count
            except RegistryError as error:
                notes.append(
                    f"nothing but the chain of digests and the counts was checked, neither the decisions nor what was "
                    f"promised: {error}"
                )
                count.digest = birth.digest
            except EvenhandError as error:
                problems.append(str(error))
                begun = False
            last, _ = log.last(connection)
            entries = log.rows(connection, count.sequence, up_to=last)
            seen = tracked(entries, "replaying", last - count.sequence, shown=progress)
            problems += _follow(seen, verifier, count, linked=begun)
            problems += _missing(connection, log, last, count.sequence)
            problems += [] if verifier is None else verifier.unexplained()
        if verifier is not None:
            problems += [] if problems else verifier.compare(state)
            verifier.note_differences()
    except UnreachableError as error:
        mend = "the log was not checked; verify again when the store can be read"
        raise UnreachableError(f"{error}; the verification could not be finished: {mend}") from error
    except StoreError as error:
        problems.append(str(error))
    check = count.check
    notes += count.notes()
    if check.kept is False:
        at = "" if check.first_violation is None else " first at round {} to {!r}".format(*check.first_violation)
        problems.append(f"the promise was broken:{at} ({check.violations} rounds in all)")
    return Verification(
        entries=count.sequence,
        digest=count.digest if count.sequence else "",
        replayed=0 if verifier is None else verifier.replayed,
        decisions=count.decisions,
        told=count.told,
        forgotten=count.forgotten,
        open=count.open,
        versions=tuple(count.versions),
        promise=check.when,
        promise_kept=check.kept,
        **check.worst_case(),
        first_violation=check.first_violation,
        problems=tuple(problems),
        notes=tuple(notes),
        since=0 if mark is None else mark["count"]["sequence"],
        mark=None if problems or verifier is None else verifier.mark(birth.digest),
    )


def _follow(entries: Iterable[Entry], verifier: _Verifier | None, count: Count, *, linked: bool) -> Iterator[str]:
    """Replay and count entries, and yield problems; entries that cannot be replayed are still counted. `linked` says
    whether the chain of digests can be followed from the start."""
    for entry in entries:
        if linked:
            try:
                check_link(count.sequence, count.digest, entry)
                if verifier is not None:
                    verifier.take(entry)
            except EvenhandError as error:
                yield str(error)
                verifier, linked = None, False
        try:
            count.take(entry)
        except (AttributeError, EvenhandError, LookupError, TypeError, ValueError) as error:
            yield f"entry {entry.sequence} cannot be read: {error}"


def _duplicate_keys(connection: Connection, study: int) -> Iterator[str]:
    """Yield the keys that several decisions have, which only a damaged index can allow."""
    keyed = f"SELECT key, count(*) FROM {_unindexed(connection)} WHERE study = :study AND key IS NOT NULL"
    for key, times in connection.execute(text(f"{keyed} GROUP BY key HAVING count(*) > 1"), {"study": study}):
        yield f"{times} decisions have the key {shown_key(key)!r}"


def _missing(connection: Connection, log: Log, last: int, reached: int) -> Iterator[str]:
    """Yield a problem if the number of entries is not the number of the last one."""
    counted = text(f"SELECT count(*) FROM {_unindexed(connection)} WHERE study = :study")
    there = connection.scalar(counted, {"study": log.study})
    if not last == reached == there:
        seen = f"the last that can be read in order has the number {reached}"
        yield f"the last entry has the number {last}, there are {there} entries, {seen}"


def _unindexed(connection: Connection) -> str:
    """Return the table of entries as it is named where no index may be used."""
    return "events NOT INDEXED" if connection.dialect.name == "sqlite" else "events"


class _Verifier:
    """A replay of the log from the first snapshot, or from a mark.

    If this version of the code decides otherwise than another version that wrote an entry, the replay stops there, and
    continues where this version began.
    """

    def __init__(
        self, connection: Connection, log: Log, birth: str, mark: dict[str, Any] | None, notes: list[str]
    ) -> None:
        fields = (STUDIES.c[name] for name in Birth._fields)
        born = connection.execute(select(*fields).where(STUDIES.c.id == log.study)).one()
        with stand_ins() as absent:
            begun = first_replay(connection, log)
        if begun.sequence or not Birth(*born).digest == begun.digest == birth:
            parts = "the study's name, policy, secret and time of creation"
            raise ReplayError(f"{parts} differ from the first snapshot: one of them was changed")
        self._connection, self._log, self._notes = connection, log, notes
        self.replayed = self._reworded = 0
        self._erased = False
        self._ids: set[str] = set()
        """Of the keys of subjects that encrypt contexts."""
        self._unreadable: dict[str, int] = {}
        """By the id of a subject's key that is not there: the first entry that needs it."""
        self._policy: Any = begun.policy
        self._floor: float = 0.0
        self._absent, self._other_dumps = bool(absent), False
        if absent:
            modules = ", ".join(sorted({name.partition(":")[0] for name in absent}))
            notes.append(
                f"the learner's choices were not repeated: its module {modules} is not here. The chain of digests, the "
                "counts, the promise and the stated chances were checked"
            )
            self._floor = begun.policy.config().get("lottery") or 0.0
            self._policy = None
        self._version = begun.version
        self.count = Count(begun.policy, begun.digest)
        if mark is not None:
            self._policy = mark["policy"]
            self.count.restore(mark["count"])
        if since := self.count.sequence:
            if log.digest(connection, since) != self.count.digest:
                raise ReplayError(f"entry {since} is not the one that the earlier verification ended with")
            notes.append(f"entries 1 to {since} were not read: an earlier verification found them sound")
        self._kept: dict[int, list[Snapshot]] = defaultdict(list)
        for one in snapshots(connection, log.study, self.count.sequence):
            self._kept[one.sequence].append(one)
        own = SNAPSHOTS.c.study == log.study, SNAPSHOTS.c.version == self._version
        self._began = connection.scalar(select(func.min(SNAPSHOTS.c.sequence)).where(*own)) or 0
        last, _ = log.last(connection)
        # The chain of digests cannot show that its own end was cut off; a later snapshot does.
        # See test_an_end_that_was_cut_off_is_seen_where_a_snapshot_was_taken_later.
        if self._kept and max(self._kept) > last:
            after = max(self._kept)
            raise ReplayError(f"the log ends with entry {last}, but a snapshot was taken after entry {after}")

    def take(self, entry: Entry) -> None:
        """Replay the next entry.

        Raises
        ------
        ReplayError
            If the policy decides otherwise.
        """
        if self._absent and entry.kind == "ask":
            self._check_chances(entry)
        if self._policy is not None:
            try:
                self._reworded += replay_entry(self._policy, entry, self._version)
                self.replayed += 1
            except ErasedError:
                self._policy, self._erased = None, True
                self._notes.append(
                    f"the contexts of entry {entry.sequence} were erased: from there on the chain of digests and the "
                    "promise are checked, but decisions are not replayed"
                )
            except ReplayError:
                if entry.version == self._version:
                    raise
                self._policy = None
                self._notes.append(
                    f"entries from {entry.sequence} on were written by version {entry.version}, and version "
                    f"{self._version} would decide otherwise: verify them with the version that wrote them"
                )
        if entry.kind == "erase" or isinstance(entry.given, Sealed):
            self._watch_erasures(entry)
        if entry.sequence in self._kept:
            for kept in self._kept[entry.sequence]:
                self._met(kept, entry.digest)

    def _met(self, kept: Snapshot, digest: str) -> None:
        """Compare the state with a snapshot that was taken here, or continue the replay from it.

        The states of other versions may have another form; their snapshots need only belong to this entry.
        """
        own = kept.version == self._version
        same = self._policy is not None and self._same(kept.state)
        began = kept.sequence == self._began
        if digest != kept.digest or (own and not same and not (began or self._policy is None)):
            raise ReplayError(f"the snapshot after entry {kept.sequence} differs from the state after replay")
        if own and not same and not self._absent:
            self._policy = replay_at(self._log, kept).whole_copy(self._connection)
            why = f"version {self._version} began" if not self._erased else "the state was saved"
            taken = ", taking that state as it is" if self._erased else ""
            self._notes.append(f"{why} after entry {kept.sequence}: replayed from there{taken}")
            self._erased = False

    def _same(self, state: bytes) -> bool:
        """Return whether the replay came to this state. What a learner from elsewhere remembers may differ, such as the
        last bits of a fit with other threads: its decisions are compared, one by one."""
        same = same_state(self._policy, state)
        if not same and same_but_dumps(self._policy, state):
            self._other_dumps = same = True
        return same

    def _check_chances(self, entry: Entry) -> None:
        """Check that the chances of a decision are some, and keep the lottery's floor under each share."""
        decision = from_text(entry.decision)
        chances, played = decision.get("probabilities"), decision.get("indexes", [decision["index"]])
        if chances is None:
            return
        promise = self.count.check.promise
        plays = len(played)
        floors = [self._floor * float(share) for share in promise.shares] if self._floor and promise else []
        low = any(0 < chance < floor - EXACT for chance, floor in zip(chances, floors, strict=False))
        if (
            low
            or min(chances) < 0
            or abs(sum(chances) - plays) > EXACT * len(chances)
            or not all(chances[arm] > 0 for arm in played)
        ):
            raise ReplayError(f"entry {entry.sequence}, ask {entry.ticket}: these cannot be its chances: {chances}")

    def _watch_erasures(self, entry: Entry) -> None:
        """Note which contexts cannot be read, which the log says to be erased, and which keys stand in it."""
        if entry.kind == "erase":
            for id in from_text(entry.given)["subjects"]:
                self._unreadable.pop(id, None)
        if isinstance(entry.given, Sealed):
            id = sealed_under(entry) or ""
            self._ids.add(id)
            if entry.given.plain is None:
                self._unreadable.setdefault(id, entry.sequence)

    def unexplained(self) -> Iterator[str]:
        """Yield problems: contexts that cannot be read, and keys of subjects of which the log says something else."""
        for sequence in self._unreadable.values():
            yield f"the contexts of entry {sequence} cannot be read, and no later entry says that they were erased"
        yield from changed_subjects(self._connection, self._log.study, self._ids)

    def note_differences(self) -> None:
        """Note which reasons have other words in the log, and what a learner from elsewhere remembers otherwise."""
        if self._reworded:
            self._notes.append(f"{self._reworded} reasons were worded differently by the version that wrote them")
        if self._other_dumps:
            self._notes.append(
                "the learner from elsewhere remembers something else after replay, such as the last bits of a fit; its "
                "decisions, the counts, the promise and the random streams are the same"
            )

    def compare(self, state: LivePolicy) -> list[str]:
        """Compare the state reached with the one that the study works with, if nothing was added meanwhile."""
        if self._absent:
            return []
        with state.lock:
            try:
                live = state.now()
            except UnreachableError:
                raise
            except EvenhandError as error:
                return [str(error)]
            newer = self._policy is None or live.sequence != self.count.sequence
            if newer or self._same(live.bytes()):
                return []
        if live.origin != self._version:
            self._notes.append(f"the state was made by version {live.origin}, and replay differs from it")
            return []
        return ["the state in use differs from the state after replay"]

    def mark(self, birth: str) -> bytes | None:
        """Return the mark of what was reached, None where this version of the code could not get there."""
        return None if self._policy is None else mark_of(birth, self._policy, self.count)
