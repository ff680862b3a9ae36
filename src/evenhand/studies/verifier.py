"""The replay of a log from its first snapshot, or from where an earlier verification ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Literal

from sqlalchemy import Connection, func, select

from evenhand.errors import ErasedError, EvenhandError, ReplayError, UnreachableError
from evenhand.learners.functions import not_repeated, stand_ins
from evenhand.studies.log.chain import Birth, Entry
from evenhand.studies.log.codec import Sealed, from_text
from evenhand.studies.log.live_policy import LivePolicy
from evenhand.studies.log.log import Log
from evenhand.studies.log.operations import replay_entry
from evenhand.studies.log.snapshots import Snapshot, first_replay, replay_at, same_state, snapshots
from evenhand.studies.log.subjects import changed_subjects, sealed_under
from evenhand.studies.statistics.checkpoint import Count, mark_of
from evenhand.studies.store.schema import SNAPSHOTS, STUDIES

Repeated = Literal["all", "some", "differently", "none"]


class Verifier:
    """A replay of the log from the first snapshot, or from a mark.

    If this version of the code decides otherwise than another version that wrote an entry, the replay stops there, and
    continues where this version began.
    """

    def __init__(
        self, connection: Connection, log: Log, birth: Birth, mark: dict[str, Any] | None, notes: list[str]
    ) -> None:
        fields = (STUDIES.c[name] for name in Birth._fields)
        born = connection.execute(select(*fields).where(STUDIES.c.id == log.study)).one()
        with stand_ins() as absent:
            begun = first_replay(connection, log)
        if begun.sequence or not Birth(*born).digest == begun.digest == birth.digest:
            parts = "the study's name, policy, secret and time of creation"
            raise ReplayError(f"{parts} differ from the first snapshot: one of them was changed")
        self._connection, self._log, self._notes = connection, log, notes
        self.replayed = self._reworded = 0
        self._erased = self._differed = False
        self._ids: set[str] = set()
        """Of the keys of subjects that encrypt contexts."""
        self._unreadable: dict[str, int] = {}
        """By the id of a subject's key that is not there: the first entry that needs it."""
        self._policy: Any = begun.policy
        self._absent, self._other_dumps = bool(absent), False
        if absent:
            checked = "The chain of digests, the counts, the promise and the stated chances were checked"
            notes.append(f"{not_repeated(absent)}. {checked}")
        self._version = begun.version
        self.count = Count(begun.policy, birth)
        if mark is not None:
            self._policy = mark["policy"]
            self.count.restore(mark["count"])
        if absent:
            self._policy = None
        self._since = since = self.count.sequence
        if since:
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

    @property
    def repeated(self) -> Repeated:
        """Whether the decisions were taken again, and came out the same; see `Verification`."""
        if self._differed:
            return "differently"
        if not self.replayed:
            return "none"
        return "all" if self.replayed == self.count.sequence - self._since else "some"

    def take(self, entry: Entry) -> None:
        """Replay the next entry.

        Raises
        ------
        ReplayError
            If the policy decides otherwise.
        """
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
                    self._differed = True
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
        """Return whether the replay came to this state. The numbers that a learner from elsewhere remembers may differ
        a little, such as in the last bits of a fit with other threads."""
        same = same_state(self._policy, state)
        self._other_dumps |= same == "nearly"
        return same != "other"

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
                "numbers that the learner from elsewhere remembers differ after replay by up to a millionth, as the "
                "last bits of a fit do; its decisions, the counts, the promise and the random streams are the same"
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
