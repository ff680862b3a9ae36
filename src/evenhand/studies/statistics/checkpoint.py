"""The end of a verification: its counts and the policy that it came to, from which the next one continues; and a
checkpoint, which is small enough to be mailed and by which anybody checks the log later."""

from __future__ import annotations

from typing import Any

from evenhand.arguments import is_whole
from evenhand.errors import ArgumentError, EvenhandError, StateFileError, Wording, expected
from evenhand.learners.functions import stand_ins
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.studies.log.chain import Birth, Entry
from evenhand.studies.log.codec import arguments_of, from_text, promise_arguments, rewards_told
from evenhand.studies.log.log import CLOSED
from evenhand.studies.log.operations import CHANGES
from evenhand.studies.proofs.prover import Prover
from evenhand.studies.statistics.outcomes import Outcomes
from evenhand.studies.statistics.promise_check import PromiseCheck

WHAT = "the mark of an earlier verification"


class Count:
    """Counts of the entries of a log, and whether the policy's promise held.

    Attributes
    ----------
    proof : the log as others check it; None without the study's `birth`, or where arms are written alike.
    """

    NAMES = ("sequence", "digest", "decisions", "told", "forgotten", "open", "versions")

    def __init__(self, policy: Any, birth: Birth | None = None) -> None:
        self.sequence, self.digest = 0, "" if birth is None else birth.digest
        self.versions: list[str] = []
        self.decisions = self.told = self.forgotten = self.open = 0
        self.outcomes = Outcomes()
        self.check = PromiseCheck(policy)
        self.proof = None if birth is None else Prover.of(policy, birth, self.check)

    def take(self, entry: Entry) -> str:
        """Enter the next entry; return what its proof says of a change.

        Raises
        ------
        ReplayError
            If it is a decision for no arm.
        """
        self.sequence, self.digest = entry.sequence, entry.digest
        self._count(entry)
        return "" if self.proof is None else self.proof.take(entry)

    def _count(self, entry: Entry) -> None:
        if entry.version not in self.versions:
            self.versions.append(entry.version)
        if entry.kind == "ask":
            self.decisions += 1
            self.open += 1
            if self.check.when is not None:
                decision = from_text(entry.decision)
                played, given = decision.get("indexes", [decision["index"]]), promise_arguments(entry.given)
                self.check.decided(played, given, entry.ticket)
            return
        self.open -= entry.ticket is not None
        given = from_text(entry.given) if entry.kind in ("tell", "expire") else {}
        if entry.kind in CLOSED:
            self.check.closed(entry.ticket, given.get("weight", 0))
        rewards = rewards_told(given)
        self.outcomes.add(rewards)
        if entry.kind == "tell" or rewards:
            self.told += 1
        elif entry.kind in CHANGES:
            returned = (from_text(entry.decision) or {}).get("returned")
            self.check.changed(entry.kind, arguments_of(entry.given), returned)
        elif entry.kind in ("forget", "expire"):
            self.forgotten += 1
            self.outcomes.closed(from_text(entry.given))

    def notes(self) -> tuple[str, ...]:
        """Return what to know before believing the rewards, and which rounds no cap counts."""
        return (*self.outcomes.notes(self.decisions, self.forgotten, self.open), *self.check.outage_notes)

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restore` needs to continue exactly here."""
        parts = {"check": self.check.snapshot(), "outcomes": self.outcomes.snapshot()}
        parts |= {} if self.proof is None else {"proof": self.proof.snapshot()}
        return {name: vars(self)[name] for name in self.NAMES} | parts

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Continue from a snapshot of a count of the same log."""
        vars(self).update({name: snapshot[name] for name in self.NAMES})
        self.check.restore(snapshot["check"])
        self.outcomes.restore(snapshot["outcomes"])
        if self.proof is not None:
            self.proof.restore(snapshot["proof"])


def mark_of(study: str, policy: Any, count: Count) -> bytes:
    """Return the mark of a verification that came to this policy and count; `study` is the digest before the study's
    first entry, which no other study has."""
    return to_bytes({"study": study, "policy": policy, "count": count.snapshot()})


def read_checkpoint(data: Any, study: str) -> dict[str, Any]:
    """Return a checkpoint of the study of this name.

    Raises
    ------
    ArgumentError
        If it is none, or another study's.
    """
    checkpoint = data if isinstance(data, dict) else {}
    texts = all(isinstance(checkpoint.get(name), str) for name in ("study", "time", "root"))
    if not texts or not is_whole(checkpoint.get("entries")):
        raise ArgumentError(expected("known", "a digest, or a checkpoint as `evenhand verify --mark` writes it", data))
    if checkpoint["study"] != study:
        raise ArgumentError(expected("known", f"a checkpoint of the study {study!r}", checkpoint["study"]))
    return checkpoint


def read_mark(data: Any, study: str) -> dict[str, Any]:
    """Return what `mark_of` put into a mark of this study.

    Raises
    ------
    ArgumentError
        If it is no mark, was changed, or comes from a verification of another study.
    """
    if not isinstance(data, bytes):
        hint = "pass the earlier Verification or its .mark"
        raise ArgumentError(expected("since", f"{WHAT}, as bytes", data, hint))
    try:
        with stand_ins():
            mark: dict[str, Any] = from_bytes(data, "since")
        own = mark["study"] == study
        Count(mark["policy"]).restore(mark["count"])
    except StateFileError as error:
        raise ArgumentError(expected("since", WHAT, Wording("no mark, or a damaged one"))) from error
    except (AttributeError, LookupError, TypeError, ValueError, EvenhandError) as error:
        raise ArgumentError(expected("since", WHAT, Wording("no mark of this version"))) from error
    if not own:
        raise ArgumentError(expected("since", "a mark of this study", "another study's"))
    return mark
