"""The end of a verification: its counts and the state that it reached, from which the next one continues."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Any, NamedTuple, Self

import orjson

from evenhand.errors import ArgumentError, wanted
from evenhand.studies.log.chain import Entry
from evenhand.studies.log.codec import arguments_of, from_text, plain, promise_arguments, revive
from evenhand.studies.log.operations import CHANGES
from evenhand.studies.statistics.promise_check import PromiseCheck

WHAT = "the mark of an earlier verification"


class Count:
    """Counts of the entries of a log, and whether the policy's promise held."""

    NAMES = ("sequence", "digest", "decisions", "told", "forgotten", "open", "versions")

    def __init__(self, policy: Any, digest: str = "") -> None:
        self.sequence, self.digest = 0, digest
        self.versions: list[str] = []
        self.decisions = self.told = self.forgotten = self.open = 0
        self.check = PromiseCheck(policy)

    def take(self, entry: Entry) -> None:
        """Enter the next entry.

        Raises
        ------
        ReplayError
            If it is a decision for no arm.
        """
        self.sequence, self.digest = entry.sequence, entry.digest
        if entry.version not in self.versions:
            self.versions.append(entry.version)
        if entry.kind == "ask":
            self.decisions += 1
            self.open += 1
            if self.check.when is not None:
                decision = from_text(entry.decision)
                self.check.decided(decision.get("indexes", [decision["index"]]), promise_arguments(entry.given))
            return
        self.open -= entry.ticket is not None
        if entry.kind == "tell":
            self.told += 1
        elif entry.kind in CHANGES:
            returned = (from_text(entry.decision) or {}).get("returned")
            self.check.changed(entry.kind, arguments_of(entry.given), returned)
        elif entry.kind in ("forget", "expire"):
            self.forgotten += 1


class VerificationCheckpoint(NamedTuple):
    """The end of a verification.

    Attributes
    ----------
    study : the digest before the study's first entry, which no other study has.
    counts, check : what was counted, the last entry's number and digest included, and how the promise was kept.
    state : the policy after it, as a saved file.
    """

    study: str
    counts: dict[str, Any]
    check: dict[str, Any]
    state: bytes

    @classmethod
    def of(cls, study: str, state: bytes, count: Count) -> Self:
        """Return the mark of a verification that came to this state and count."""
        counts = {name: vars(count)[name] for name in count.NAMES}
        return cls(study, counts, count.check.snapshot(), state)

    @property
    def sequence(self) -> int:
        """The number of the last entry."""
        return int(self.counts["sequence"])

    @property
    def digest(self) -> str:
        """The digest of the last entry."""
        return str(self.counts["digest"])

    def resume(self, policy: Any) -> Count:
        """Return the count that continues from here."""
        count = Count(policy)
        vars(count).update(self.counts)
        count.check.restore(self.check)
        return count

    def to_bytes(self) -> bytes:
        """Return the mark as text: a line of JSON, and one with its SHA-256."""
        fields = {**self._asdict(), "check": plain(self.check), "state": base64.b64encode(self.state).decode()}
        text = orjson.dumps(fields)
        return b"%b\n%b\n" % (text, hashlib.sha256(text).hexdigest().encode())

    @classmethod
    def from_bytes(cls, data: Any, study: str) -> Self:
        """Return the mark that these bytes are.

        Raises
        ------
        ArgumentError
            If they are not a mark, were changed, or come from a verification of another study.
        """
        if not isinstance(data, bytes):
            mend = "pass the earlier Verification or its .mark"
            raise ArgumentError(wanted("since", f"{WHAT}, as bytes", data, mend))
        text, _, rest = data.partition(b"\n")
        if hashlib.sha256(text).hexdigest().encode() != rest.strip():
            raise ArgumentError(wanted("since", WHAT, "no mark, or a damaged one"))
        try:
            fields = orjson.loads(text)
            state = base64.b64decode(fields["state"])
            mark = cls(**{**fields, "check": revive(fields["check"]), "state": state})
        except (orjson.JSONDecodeError, binascii.Error, LookupError, TypeError) as error:
            raise ArgumentError(wanted("since", WHAT, "no mark of this version")) from error
        if mark.study != study:
            raise ArgumentError(wanted("since", "a mark of this study", "another study's"))
        return mark
