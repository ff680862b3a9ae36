"""One transaction of a study: operations become entries of the log and outcomes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection

from evenhand.arguments import whole, yes_or_no
from evenhand.errors import (
    ArgumentError,
    ClosedTicketError,
    ContradictionError,
    ErasedError,
    EvenhandError,
    ModelError,
    StoreError,
    Wording,
    expected,
)
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.traits import traits_of
from evenhand.protocol import id_of
from evenhand.studies.log.chain import Entry, digest_of
from evenhand.studies.log.codec import (
    by_arm,
    decision_from,
    first_random_state,
    from_text,
    now,
    random_state_of,
    revive,
    to_text,
)
from evenhand.studies.log.durations import duration
from evenhand.studies.log.log import LARGEST, Log, record_of
from evenhand.studies.log.operations import Ask, Change, Forget, Operation, Tell, apply, decision_text, returned_text
from evenhand.studies.log.replay import Replay
from evenhand.studies.log.request_keys import LONGEST, same_ask, text_of
from evenhand.studies.log.snapshots import latest_replay, save_latest
from evenhand.studies.log.subjects import Subjects, sealed_under

MANY = 1_000
"""The most subjects that one entry says to be erased."""


class Transaction:
    """The operations of one transaction, on a replay that is up to date while other writers wait."""

    def __init__(self, connection: Connection, log: Log, replay: Replay, number_of: Callable[[Any], int]) -> None:
        self._connection, self._log, self._replay, self._number_of = connection, log, replay, number_of
        self._entries: list[Entry] = []
        self._subjects = Subjects(connection, log.study)
        self._named: dict[str, tuple[dict[str, Any], Any]] = {}
        """The arguments and decisions of earlier asks, by the keys of these operations."""

    def run(self, operations: Sequence[Operation]) -> list[Any]:
        """Run the operations; return the outcome or the refusal of each. `write` saves them."""
        self._prepare(operations)
        outcomes: list[Any] = []
        for place, operation in enumerate(operations, 1):
            try:
                outcomes.append(self._run(operation))
            except EvenhandError as refusal:
                outcomes.append(refusal)
                policy = self._replay.policy
                if (
                    isinstance(refusal, ModelError)
                    and isinstance(policy, KernelPolicy)
                    and not traits_of(policy).compiled
                ):
                    self._replay_again()
                    self._prepare(operations[place:])
        self._replay.tickets.asked(sum(isinstance(operation, Ask) for operation in operations))
        return outcomes

    def _replay_again(self) -> None:
        """Bring the policy back to where the log stands: a learner from elsewhere that failed may have learned, or
        drawn, half of what it was told, and no replay would find the decisions that follow from it."""
        self.write()
        again = latest_replay(self._connection, self._log)
        again.catch_up(self._connection)
        vars(self._replay).update(vars(again))
        # A learner that fails once may fail at every report of a long batch: the next time nothing is replayed.
        save_latest(self._replay, self._connection, now())

    def write(self) -> None:
        """Write to the log what was done so far."""
        self._log.append(self._connection, self._entries)
        self._entries.clear()

    def set(self, setting: dict[str, Any]) -> None:
        """Change a setting of the study, and write it to the log."""
        self._replay.apply_setting(setting)
        self._enter("set", None, to_text(setting), time.perf_counter())
        self.write()

    def erase(self, ids: Sequence[str]) -> int:
        """Forget the open tickets of subjects, and delete their keys; return how many tickets were open.

        Parameters
        ----------
        ids : of the subjects' keys.
        """
        replay, gone = self._replay, set(ids)
        asks = self._log.open_asks(self._connection, replay.tickets.lower_bound, LARGEST)
        numbers = [ask.ticket for ask in asks if ask.ticket is not None and sealed_under(ask) in gone]
        # Forget them before the keys go: later their contexts cannot be read, and no replay could take the tickets up.
        # See test_open_tickets_of_an_erased_subject_are_forgotten.
        replay.tickets.fetch_blind(self._connection, numbers, replay.sequence)
        for number in numbers:
            self._close("forget", number, {}, {})
        for start in range(0, len(ids), MANY):
            self._enter("erase", None, to_text({"subjects": list(ids[start : start + MANY])}), time.perf_counter())
        self._subjects.drop(ids)
        return len(numbers)

    def _prepare(self, operations: Sequence[Operation]) -> None:
        """Read from the log what the operations need, and close the tickets that have expired."""
        texts: list[str | None] = []
        numbers: list[int] = []
        for operation in operations:
            with suppress(ArgumentError, StoreError):  # it is refused in its turn, and the others are not
                if isinstance(operation, Ask):
                    texts.append(self._name_of(operation))
                elif isinstance(operation, Tell | Forget) and operation.ticket is not None:
                    numbers.append(self._number_of(operation.ticket))
        if named := [text for text in texts if text is not None]:
            for text, event in self._log.of_keys(self._connection, named).items():
                self._named[text] = event.given, decision_from(event.decision or {})
        replay, at = self._replay, now()
        replay.tickets.fetch(self._connection, numbers, replay.sequence)
        after = replay.expire_after
        if after is not None:
            due = replay.tickets.expired(self._connection, at, after)
            late = self._log.late(self._connection, numbers, at - after)
            needed = [*numbers, *(ask.ticket or 0 for ask in due)]
            for ask in [*due, *late]:
                self._expire(ask, {"after": after / 1e6}, needed)

    def _expire(self, ask: Entry, why: dict[str, Any], needed: Sequence[int]) -> None:
        """Close a ticket that has expired; without its reward where the learner fails at that, since the study would
        otherwise stop for good. `needed` are the tickets to remember still."""
        try:
            self._close("expire", ask.ticket, why, self._reward_of_silence(ask))
        except ClosedTicketError:
            return
        except EvenhandError as failed:
            self._replay_again()
            self._replay.tickets.fetch(self._connection, needed, self._replay.sequence)
            self._close("expire", ask.ticket, why | {"refused": str(failed)}, {})

    def _reward_of_silence(self, ask: Entry) -> dict[str, Any]:
        """Return what a ticket that expires is told: the study's reward for each of its arms, or nothing."""
        reward = self._replay.expire_reward
        if reward is None:
            return {}
        arms = from_text(ask.decision).get("arms")
        return {"reward": reward if arms is None else [reward] * len(arms)}

    def _close(self, kind: str, number: int | None, why: dict[str, Any], told: dict[str, Any]) -> None:
        """Close a ticket that nobody reports on: it has expired, or its subject is erased."""
        started, drawn_from = time.perf_counter(), random_state_of(self._replay.policy)
        apply(self._replay.policy, kind, number, told)
        self._enter(kind, number, to_text(why | told), started, random_state=drawn_from)

    def _run(self, operation: Operation) -> Any:
        if operation.actor is not None:
            _check_name("actor", operation.actor, 100)
        if isinstance(operation, Ask):
            return self._run_ask(operation)
        if isinstance(operation, Tell):
            return self._run_tell(operation)
        if isinstance(operation, Forget):
            return self._report(operation, self._number_of(operation.ticket), {})
        return self._run_change(operation)

    def _run_ask(self, ask: Ask) -> Any:
        replay, name = self._replay, self._name_of(ask)
        if ask.subject is not None:
            self._subjects.check(ask.subject)
        before = None if name is None else self._named.get(name)
        if yes_or_no("sticky", ask.sticky) and ask.key is None:
            raise ArgumentError(expected("sticky", "an ask with a key", Wording("no key")))
        # Before the arguments are validated: arms may have changed since, and a sticky ask must not fail for that.
        if ask.sticky and before is not None:
            return before[1]
        if ask.refusal is not None:
            raise ask.refusal
        given = replay.arguments.validate_ask(ask.given, replay.policy)
        if before is not None:
            if not same_ask(before[0], given, replay.policy):
                hint = "use a new key, or pass sticky to get the decision of this one"
                raise ContradictionError(f"key {ask.key!r} was used before for a different ask; {hint}")
            return before[1]
        self._begin_planned("ask", given)
        begun = not isinstance(replay.policy, KernelPolicy) or replay.policy.dimension is not None
        # Saved before the policy draws: replay starts each decision from this state, and would draw other numbers if it
        # were saved afterwards.
        drawn_from, text, started = random_state_of(replay.policy), to_text(given), time.perf_counter()
        with replay.tickets.first_named(self._connection, self.write):
            decision = apply(replay.policy, "ask", None, revive(given) if "$" in text else given)
        if not begun:
            drawn_from = first_random_state(replay.policy)
        if ask.subject is not None:
            replay.sealed = True
            text = self._subjects.seal(ask.subject, given)
        words, actor = decision_text(replay.policy, decision), ask.actor
        self._enter("ask", decision.id, text, started, decision=words, random_state=drawn_from, key=name, actor=actor)
        if name is not None:
            self._named[name] = given, decision
        return decision

    def _run_tell(self, tell: Tell) -> str:
        given = self._replay.arguments.validate("tell", tell.given)
        number = None if tell.ticket is None else self._number_of(tell.ticket)
        if number is not None and isinstance(given.get("reward"), dict):
            given = given | {"reward": self._in_order(number, given["reward"])}
        return self._report(tell, number, given)

    def _report(self, operation: Tell | Forget, number: int | None, given: dict[str, Any]) -> str:
        """Apply what is said of a ticket, or return that the same was said before."""
        kind, done = ("tell", "told") if isinstance(operation, Tell) else ("forget", "forgotten")
        policy, text = self._replay.policy, to_text(given)
        drawn_from, started = random_state_of(policy), time.perf_counter()
        ticket = number if id_of(operation.ticket) is operation.ticket else operation.ticket
        try:
            apply(policy, kind, ticket, revive(given) if "$" in text else given)
        except ClosedTicketError as closed:
            assert number is not None
            return self._closed_before(closed, kind, number, given)
        self._enter(kind, number, text, started, random_state=drawn_from, actor=operation.actor)
        return done

    def _begin_planned(self, kind: str, given: dict[str, Any]) -> None:
        """Make the changes of the promise that are due before an operation, unless that will be refused. One that is
        refused, since the arms have changed meanwhile, is kept as such: decisions go on under the promise that is in
        force."""
        replay, at = self._replay, now()
        planned = replay.planned
        due = [plan for plan in planned if plan["begins"] <= at]
        if kind == "ask":
            replay.check_repeats(given, due)
        if due or kind != "ask":
            replay.rehearse(kind, given, due)
        refused = replay.setting.get("refused", [])
        for plan in due:
            try:
                replay.rehearse("change", plan["given"])
                self._change("change", plan["given"], plan["actor"])
            except EvenhandError as refusal:
                refused = [*refused, {"begins": plan["begins"], "why": str(refusal)}]
        if due:
            self.set(replay.setting | {"planned": planned[len(due) :], "refused": refused})

    def _run_change(self, change: Change) -> Any:
        """Change the policy's promise, now or later."""
        replay, kind = self._replay, change.kind
        given = replay.arguments.validate(kind, change.given)
        if change.due is not None:
            self.set(replay.setting | {"planned": replay.with_plan(change.due, given, change.actor)})
            return {}
        self._begin_planned(kind, given)
        return self._change(kind, given, change.actor)

    def _change(self, kind: str, given: dict[str, Any], actor: str | None) -> Any:
        """Change the policy's promise now. A copy must have gone first: a change that fails half-way would leave the
        policy with half of a promise."""
        replay, started = self._replay, time.perf_counter()
        drawn_from = random_state_of(replay.policy)
        returned = apply(replay.policy, kind, None, revive(given))
        words = returned_text(returned)
        self._enter(kind, None, to_text(given), started, decision=words, random_state=drawn_from, actor=actor)
        return returned

    def _in_order(self, number: int, reward: dict[str, Any]) -> Any:
        """Return rewards by arm as a list in the order of the decision's arms, as they are where they do not fit."""
        self.write()
        events = self._log.of_ticket(self._connection, number)
        arms = (events[0].decision or {}).get("arms") if events else None
        return reward if arms is None else by_arm(reward, arms)

    def _enter(
        self,
        kind: str,
        ticket: int | None,
        given: str,
        started: float,
        *,
        decision: str | None = None,
        random_state: str | None = None,
        key: str | None = None,
        actor: str | None = None,
    ) -> None:
        """Add an entry to the log for an operation that the policy has just applied."""
        replay = self._replay
        about = ticket, now(), given, decision, replay.version, random_state, key, actor
        # Each digest covers the one before it, so the lock must be held until the commit: two writers would chain to
        # the same entry, as tests/studies/test_processes.py shows.
        fields = replay.sequence + 1, kind, *about
        entry = Entry(*fields, digest_of(replay.digest, (*fields, "")))
        replay.advance_to(entry, started)
        self._entries.append(entry)

    def _closed_before(self, closed: ClosedTicketError, kind: str, number: int, given: dict[str, Any]) -> str:
        """Return that the same was told before, or refuse another report."""
        # The ticket may have been closed earlier in this transaction, and the query finds only what is written.
        self.write()
        try:
            events = self._log.of_ticket(self._connection, number)
        except StoreError as error:
            raise ClosedTicketError(
                f"ticket {number} was closed before, and its entries cannot be read: {error}"
            ) from error
        if not events:
            raise ClosedTicketError(f"ticket {number} was told or forgotten before the study began") from closed
        record = record_of(events)
        if record.status == "open":
            raise ErasedError(
                f"the contexts of ticket {number} cannot be read, and nothing can be learned from a report on it: "
                "restore the row of its subject, or erase the subject, which forgets the ticket"
            ) from closed
        if kind == "forget" and record.told is None and record.status in ("forgotten", "expired"):
            return "already forgotten"
        if kind == "tell" and record.told == given:
            return "already told"
        if record.told_at is not None and kind == "tell":
            assert record.told is not None
            was, says = _said(record.told), _said(given)
            raise ContradictionError(f"ticket {number} was told before: {was}, not {says}; nothing has changed")
        if record.expired_at is not None:
            after = duration(events[-1].given["after"])
            told = "" if record.told is None else f", and was told {_said(record.told)}"
            raise ClosedTicketError(
                f"ticket {number} expired at {record.expired_at:%Y-%m-%d %H:%M:%S} UTC, {after} after it was handed "
                f"out{told}; nothing has changed"
            ) from closed
        raise ClosedTicketError(f"ticket {number} was {record.status} before; nothing has changed") from closed

    def _name_of(self, ask: Ask) -> str | None:
        """Return the key under which the log holds the decision, None without one; a subject's says nothing of it."""
        text = _text(ask)
        if ask.subject is None:
            return text
        _check_name("subject", ask.subject, LONGEST)
        return None if text is None else self._subjects.hidden(ask.subject, text)


def _said(told: dict[str, Any]) -> str:
    return ", ".join(f"{name} {_short(revive(value))}" for name, value in told.items())


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _text(ask: Ask) -> str | None:
    """Return the key under which the log holds the decision, None without a key."""
    key, number = ask.key, ask.number
    if key is None:
        return None
    _check_name("key", key, LONGEST)
    whole("number", number, low=0)
    text = text_of(key, number)
    if len(text) > LONGEST:
        hint = f"decision {number} under it needs {len(text)}, shorten it"
        raise ArgumentError(expected("key", f"a text that fits {LONGEST} characters with its number", key, hint))
    return text


def _check_name(name: str, text: Any, most: int) -> None:
    if text is not None and not (isinstance(text, str) and 0 < len(text) <= most and text.isprintable()):
        raise ArgumentError(expected(name, f"a text of up to {most} printable characters", text))
