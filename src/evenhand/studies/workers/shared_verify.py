"""Verification of a study with several workers: every log, what each was given, and the promise in every order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Any

import orjson

from evenhand.errors import ArgumentError, EvenhandError, ReplayError, UnreachableError, wanted
from evenhand.promises.balance import Balance
from evenhand.studies.log.codec import from_text, plain, to_text
from evenhand.studies.log.operations import replay_entry
from evenhand.studies.statistics.mark import Count
from evenhand.studies.study import Study
from evenhand.studies.verify import Verification
from evenhand.studies.workers.membership import BEGINNING, Member, Membership, policy_of
from evenhand.studies.workers.merged import decision_of

__all__ = ["verify_shared"]

MEMBERS = "the members"
WHAT = "the mark of an earlier verification, as bytes"


def verify_shared(study: Any, *, known: str | None, since: Verification | bytes | None, progress: bool) -> Verification:
    """Verify every log of a study, and that the promise was kept in every merge order of them; see `Verification`.

    Each log is verified as that of any study. Beside that: every member began with the policy that its endowment says;
    the endowments were paid from the pool; no worker went below its own, nor decided after it had left; no worker began
    before the serial beginning was over; and no merge order of the logs breaks the promise.
    """
    marks = _marks(since)
    members = Study(study.store, study.name)
    found = {MEMBERS: members.verify(since=marks.get(MEMBERS), progress=False)}
    problems = [f"members: {problem}" for problem in found[MEMBERS].problems]
    logs: dict[Member, Study] = {}
    membership = study.membership()
    for member in membership.members.values():
        name = shown(member)
        try:
            log = study.log_of(member)
            logs[member] = log
            found[name] = log.verify(since=marks.get(name), progress=progress)
            problems += [f"{name}: {problem}" for problem in found[name].problems]
        except (ArgumentError, UnreachableError):
            raise
        except EvenhandError as error:
            problems.append(f"{name}: its log cannot be read: {error}")
    balances = {member: study.balance(member.number) for member in logs if study.promise is not None}
    problems += _promises(study, membership, logs, balances)
    problems += _forged({member.name: log for member, log in logs.items()})
    whole = _counted(study, found) if len(logs) == len(membership.members) else Count(study.first_policy)
    left = study.room_beside({}) if balances and len(logs) == len(membership.members) else None
    for arm, room in (left or {}).items():
        if room <= 0:
            problems.append(
                f"the promise to arm {arm!r} is broken in some merge order of the logs, by {-room:.4g} pulls"
            )
    if whole.check.kept is False:
        at = (
            ""
            if whole.check.first_violation is None
            else " first at round {} to {!r}".format(*whole.check.first_violation)
        )
        problems.append(f"the promise was broken:{at} ({whole.check.violations} rounds in all)")
    digests = " ".join(one.digest for one in found.values() if one.digest)
    there = set(digests.split())
    for digest in ("" if known is None else str(known)).split():
        if digest not in there and not any(log.has_digest(digest) for log in (members, *logs.values())):
            problems.append(f"no entry has the digest {digest}: entries were cut off, or written anew")
    kept = None  # unknown, where a log is lost
    if len(logs) == len(membership.members):
        kept = whole.check.kept and (left is None or min(left.values(), default=1.0) > 0)
    return Verification(
        **{name: sum(getattr(one, name) for one in found.values()) for name in SUMS},
        digest=digests,
        versions=tuple(dict.fromkeys(version for one in found.values() for version in one.versions)),
        promise=whole.check.when,
        promise_kept=kept,
        **whole.check.worst_case(),
        first_violation=whole.check.first_violation,
        problems=tuple(problems),
        notes=tuple(f"{name.replace(MEMBERS, 'members')}: {note}" for name, one in found.items() for note in one.notes),
        mark=None if problems else _mark(found),
        room=left,
    )


SUMS = ("entries", "replayed", "decisions", "told", "forgotten", "open", "since")


def shown(member: Member) -> str:
    """Return how a member is named in words."""
    return member.name or BEGINNING


def _promises(
    study: Any, membership: Membership, logs: dict[Member, Study], balances: dict[Member, Balance]
) -> Iterator[str]:
    """Yield what is wrong with what the members were given, and with what they did with it."""
    template = study.first_policy
    for member, log in logs.items():
        first, wanted_ = log.first_policy, policy_of(template, member, membership)
        if (first.first_ticket, vars(first).get("promise")) != (wanted_.first_ticket, vars(wanted_).get("promise")):
            yield f"{shown(member)}: it did not begin with the policy that its endowment says"
    if study.promise is None:
        return
    if any(left < 0 for step in study.pools() for left in step):
        yield "members: more of the tolerance was given away than there is"
    base = next((balance for member, balance in balances.items() if not member.number), None)
    decided = any(balance.rounds for member, balance in balances.items() if member.number)
    if membership.rounds and (
        base is None or base.rounds > membership.rounds or (decided and base.rounds < membership.rounds)
    ):
        yield f"the serial beginning has {0 if base is None else base.rounds} rounds and not {membership.rounds}"
    for member, balance in balances.items():
        if member.endowment is None:
            continue
        for clause, low, e in zip(balance.clauses, balance.least_of_all(), member.endowment, strict=True):
            if low < -e:
                whom = ", ".join(map(repr, clause.arms))
                how = {"floor": "fell", "cap": "was ahead by", "window": "was not played for"}[clause.kind]
                unit = {"floor": " behind", "cap": "", "window": " rounds"}[clause.kind]
                more = f"{float(-low):.4g}{unit}, more than its endowment {float(e):.4g}"
                yield f"{shown(member)}: arm {whom} {how} {more}"
        if member.rounds is not None and balance.rounds != member.rounds:
            yield f"{shown(member)}: it left after {member.rounds} rounds, and its log has {balance.rounds}"


def _forged(logs: dict[str, Study]) -> Iterator[str]:
    """Yield the reports that workers took in and that the logs of their senders do not lead to."""
    taken: dict[str, dict[int, list[tuple[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for taker, log in logs.items():
        senders = {name or BEGINNING: name for name in logs}
        for entry in log.entries():
            if entry.kind == "take":
                for sender, report in from_text(entry.given)["peers"].items():
                    if sender in senders:
                        taken[senders[sender]][report["number"]].append((taker or BEGINNING, report))
                    else:
                        yield f"reports of {sender} were taken in, whose log is not there"
    for name, reports in taken.items():
        sender = name or BEGINNING
        for number, own in _reported(logs[name], reports):
            for taker, report in reports[number]:
                if to_text({**own, "number": number}) != to_text({name: report.get(name) for name in (*own, "number")}):
                    yield f"{taker}: what it took in as report {number} of {sender} is not what {sender} had learned"


def _reported(log: Study, numbers: Collection[int]) -> Iterator[tuple[int, Any]]:
    """Yield what a log reports after each of these entries, as far as this version of the code replays it."""
    policy, last = log.first_policy, max(numbers)
    for entry in log.entries():
        try:
            replay_entry(policy, entry, entry.version)
        except ReplayError:
            return
        if entry.sequence in numbers:
            yield entry.sequence, plain(policy.report() or {})
        if entry.sequence >= last:
            return


def _counted(study: Any, found: dict[str, Verification]) -> Count:
    """Return the counts of the decisions in the canonical order."""
    count = Count(study.first_policy)
    for entry in study.canonical():
        if entry.kind == "ask" and count.check.when is not None:
            arms, given = decision_of(entry)
            count.check.decided(arms, given)
    return count


def _marks(since: Verification | bytes | None) -> dict[str, bytes]:
    given: Any = since.mark if isinstance(since, Verification) else since
    if since is None:
        return {}
    try:
        return {name: text.encode("latin-1") for name, text in orjson.loads(given)["workers"].items()}
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        mend = "pass the earlier Verification of this study, or its .mark"
        raise ArgumentError(wanted("since", WHAT, "something else", mend)) from error


def _mark(found: dict[str, Verification]) -> bytes | None:
    if any(one.mark is None for one in found.values()):
        return None
    return orjson.dumps({"workers": {name: (one.mark or b"").decode("latin-1") for name, one in found.items()}})
