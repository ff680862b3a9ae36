"""A study's log as a proof: what `proofs/verify.py` makes of it, and what it must be told of the promise."""

from __future__ import annotations

from typing import Any, Self

from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.traits import traits_of
from evenhand.promises.clause import Clause
from evenhand.protocol import Label, writing
from evenhand.studies.log.chain import Birth, Entry
from evenhand.studies.log.codec import from_text, to_text
from evenhand.studies.log.operations import CHANGES
from evenhand.studies.proofs.verify import FORMAT, Followed
from evenhand.studies.statistics.promise_check import PromiseCheck


class Prover:
    """A log followed from its first entry.

    Attributes
    ----------
    header : the first line of the proof.
    log : what was followed so far.
    """

    def __init__(self, policy: Any, birth: Birth, check: PromiseCheck) -> None:
        self._check, self._arms = check, traits_of(policy).arms or ()
        about = {"format": FORMAT, "study": birth.name, "policy": birth.policy, "created": birth.created_at}
        lottery = policy.config().get("lottery") if isinstance(policy, KernelPolicy) else None
        weighed = check.promise is not None and check.promise.weight is not None
        kept = {"birth": birth.digest, "when": "by weight" if weighed else check.when, "lottery": lottery}
        self.header = to_text(about | kept | self._promised([]))
        self.log = Followed(self.header)

    @classmethod
    def of(cls, policy: Any, birth: Birth, check: PromiseCheck) -> Self | None:
        """Return the beginning of a proof, None where two arms are written alike, as 1 and "1" are."""
        written = list(map(writing, traits_of(policy).arms or ()))
        return cls(policy, birth, check) if len(set(written)) == len(written) else None

    def take(self, entry: Entry) -> str:
        """Take in the next entry, which the promise's check has counted; return what is promised after a change."""
        said = ""
        if entry.kind in CHANGES:
            stay = [] if entry.kind == "change" else [self.log.clauses[at]["said"] for at in self.log.live]
            late = from_text(entry.given)["arm"] if entry.kind == "add" else None
            wait = (from_text(entry.decision) or {}).get("returned") if entry.kind == "add" else 0
            said = to_text(self._promised(stay, entry.sequence, late, wait))
        self.log.take(entry, said)
        return said

    def _promised(
        self, stay: list[list[Any]], begun: int = 0, late: Label | None = None, wait: Any = 0
    ) -> dict[str, Any]:
        """Return what is promised now, of which those clauses of `stay` that are still promised go on."""
        promise = self._check.promise
        arms = self._arms if promise is None else promise.arms
        place = {arm: i for i, arm in enumerate(arms)}
        known = {to_text(one[1:5]): one for one in stay}
        clauses = []
        for clause in () if promise is None or promise.weight is not None else promise.clauses:
            terms = _terms(clause, place)
            waits = wait if clause.kind == "floor" and list(map(writing, clause.arms)) == [writing(late)] else 0
            clauses.append(known.get(to_text(terms), [begun, *terms, waits]))
        retired = sorted(place[arm] for arm in self._check.retired)
        return {"arms": list(map(writing, arms)), "retired": retired, "clauses": clauses}

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restore` needs to continue exactly here."""
        return vars(self.log)

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Continue from a snapshot of the proof of the same log."""
        vars(self.log).update(snapshot)


def _terms(clause: Clause, place: dict[Label, int]) -> list[Any]:
    """Return the kind of a clause, its arms by their positions, its rate and its slack."""
    rate = clause.rate if isinstance(clause.rate, tuple) else clause.rate.as_integer_ratio()
    return [clause.kind, [place[arm] for arm in clause.arms], "/".join(map(str, rate)), clause.slack]
