"""Verification: the log replayed from its first entry, or from where an earlier one ended, and its promise checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, text

from evenhand.display.html import Card, HasCard
from evenhand.display.progress import tracked
from evenhand.errors import EvenhandError, RegistryError, StoreError, UnreachableError
from evenhand.protocol import Label
from evenhand.studies.log.chain import Birth, Entry, check_link
from evenhand.studies.log.live_policy import LivePolicy
from evenhand.studies.log.log import Log
from evenhand.studies.log.request_keys import shown_key
from evenhand.studies.proofs.verify import fits
from evenhand.studies.statistics.checkpoint import Count
from evenhand.studies.statistics.promise_check import PromiseCheck
from evenhand.studies.store.integrity import damages
from evenhand.studies.store.store import Store
from evenhand.studies.verifier import Repeated, Verifier

PROMISE_WORDS = {True: "kept", False: "broken", None: "not due yet"}


@dataclass(frozen=True, repr=False)
class Verification(HasCard):
    """The result of a verification of a study's log.

    Attributes
    ----------
    ok : whether nothing is wrong: the log is whole, the promise held, and what was repeated came out the same; see
        `repeated`.
    repeated : whether "all" decisions were taken again and came out as they stand, or "some"; "differently" where one
        did not, as of a learner that does not repeat itself; or "none", as where there are none, or the module of a
        learner of one's own is not here: `notes` say why. What was not repeated is checked all the same for its chain
        of digests, its counts, the promise, and its chances.
    problems, notes : what is wrong, and what could not be checked, in words.
    entries, decisions, told, forgotten, open : counts of the log; tickets that expired without a reward count as
        forgotten.
    digest : of the last entry; keep it elsewhere to show later that no entry before it was removed or rewritten.
    since : how many entries an earlier verification found sound, which were not read again; 0 without one.
    replayed : how many of the other entries this version of the code replayed.
    versions : the versions of the policy's code that wrote the log.
    promise : when the policy keeps its promise, None if it makes none that can be checked from a log.
    weight : what is shared, such as "tokens"; None where it is rounds. What is not told yet counts at its worst.
    promise_kept : whether it was kept; None if there is none, or it is not due yet.
    worst_shortfall, worst_arm, worst_round : the largest r_i t - N_i(t), in plays, or r_i W - W_i in the unit of the
        weight, its arm and round; None without one.
    rounds_in_violation, first_violation : the number of rounds that broke the promise, and the first (round, arm).
    checkpoint : the root of the log, which states the promise, with the number of entries and the worst shortfall: keep
        it elsewhere, and pass it as `known`; None if something is wrong. Its format is described in docs/evidence.md.
    mark : where this verification ended, for the next one to continue from (`since=`); None if something is wrong.
    """

    entries: int
    digest: str
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
    checkpoint: dict[str, Any] | None = None
    weight: str | None = None
    mark: bytes | None = field(default=None, repr=False, compare=False)
    replayed: int = 0
    repeated: Repeated = "none"

    @property
    def ok(self) -> bool:
        """Whether the verification found no problem."""
        return not self.problems

    def _card(self) -> Card:
        facts = {
            "finding": "sound" if self.ok else "not sound",
            "repeated": self.repeated,
            "entries": self.entries,
            "decisions": self.decisions,
            "told": self.told,
            "open": self.open,
            "promise": "none" if self.promise is None else f"{self.promise}: {PROMISE_WORDS[self.promise_kept]}",
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
    known: str | dict[str, Any] | None,
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
    problems, notes = list[str](), list[str]()
    verifier, count, begun = None, Count(None), True
    try:
        with store.reading() as connection:
            problems += [*damages(connection), *_duplicate_keys(connection, log.study)]
            if isinstance(known, str) and not log.has_digest(connection, known):
                problems.append(f"no entry has the digest {known}: entries were cut off or rewritten")
            try:
                verifier = Verifier(connection, log, birth, mark, notes)
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
            checkpoint = known if isinstance(known, dict) else None
            if checkpoint is not None and (count.proof is None or checkpoint["entries"] < count.sequence):
                notes.append(f"the checkpoint of {checkpoint['time']} was not compared: its entries were not read")
            entries = log.rows(connection, count.sequence, up_to=last)
            seen = tracked(entries, "replaying", last - count.sequence, shown=progress)
            problems += _follow(seen, verifier, count, checkpoint, linked=begun)
            more = () if verifier is None else verifier.unexplained()
            problems += [*_missing(connection, log, last, count.sequence), *more]
        if verifier is not None:
            problems += [] if problems else verifier.compare(state)
            verifier.note_differences()
    except UnreachableError as error:
        raise UnreachableError(f"{error}; the verification could not be finished; try it again later") from error
    except StoreError as error:
        problems.append(str(error))
    check, proof = count.check, count.proof
    problems += [] if problems or proof is None else proof.log.problems
    problems += _broken(check)
    notes += count.notes()
    replay: Any = {} if verifier is None else {"replayed": verifier.replayed, "repeated": verifier.repeated}
    return Verification(
        entries=count.sequence,
        digest=count.digest if count.sequence else "",
        decisions=count.decisions,
        told=count.told,
        forgotten=count.forgotten,
        open=count.open,
        versions=tuple(count.versions),
        promise=check.when,
        weight=None if check.promise is None else check.promise.weight,
        promise_kept=check.kept,
        **check.worst_case(),
        first_violation=check.first_violation,
        problems=tuple(problems),
        notes=tuple(notes),
        since=0 if mark is None else mark["count"]["sequence"],
        checkpoint=None if problems or proof is None else proof.log.checkpoint(),
        mark=None if problems or verifier is None else verifier.mark(birth.digest),
        **replay,
    )


def _follow(
    entries: Iterable[Entry], verifier: Verifier | None, count: Count, known: dict[str, Any] | None, *, linked: bool
) -> Iterator[str]:
    """Replay and count entries, and yield problems, also where an earlier checkpoint, `known`, does not fit; entries
    that cannot be replayed are still counted. `linked` says whether the chain of digests can be followed from the
    start."""
    yield from _compared(count, known)
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
        yield from _compared(count, known)
    if known is not None and known["entries"] > count.sequence:
        yield f"the log ends before entry {known['entries']}, the last of the checkpoint of {known['time']}"


def _compared(count: Count, known: dict[str, Any] | None) -> Iterator[str]:
    """Yield a problem if the log has come to the end of a checkpoint and has another root."""
    proof = count.proof if known is not None and known["entries"] == count.sequence else None
    if known is not None and proof is not None and not fits(known, proof.log):
        yield f"the first {count.sequence} entries are not those of the checkpoint of {known['time']}"


def _broken(check: PromiseCheck) -> Iterator[str]:
    """Yield a problem if the promise was broken."""
    if check.kept is False:
        at = "" if check.first_violation is None else " first at round {} to {!r}".format(*check.first_violation)
        yield f"the promise was broken:{at} ({check.violations} rounds in all)"


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
