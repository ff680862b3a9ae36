"""A study: a policy in a store, whose every decision and report is saved."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

from sqlalchemy import bindparam, select

from evenhand.arguments import whole, yes_or_no
from evenhand.display.html import Card, notes_of
from evenhand.errors import NOTHING, ArgumentError, EvenhandError, UnknownStudyError, Wording, expected
from evenhand.policy.ask_tell import AskTell
from evenhand.policy.traits import traits_of
from evenhand.protocol import Label
from evenhand.studies.creation import expiry_of_new, name_of_new, open_store, state_of_new, write_study
from evenhand.studies.log.chain import Birth
from evenhand.studies.log.codec import moment
from evenhand.studies.log.live_policy import LivePolicy
from evenhand.studies.log.log import Log
from evenhand.studies.log.operations import Ask, Change, Forget, Operation, Tell, given_or_refusal
from evenhand.studies.log.reader import Reader
from evenhand.studies.log.subjects import Erasure
from evenhand.studies.signing import sign_ticket, ticket_number
from evenhand.studies.store.schema import STUDIES
from evenhand.studies.store.storage import Storage
from evenhand.studies.store.store import Store

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.studies.statistics.statistics import Statistics
    from evenhand.studies.verify import Verification

NAMED = select(STUDIES).where(STUDIES.c.name == bindparam("name"))
MOST = 1_000_000
"""The most decisions of one transaction."""


class Study:
    """A policy in a store: it is durable, can be shared, explains its decisions, and can be replayed at any time.

    Made by `Study.create`, opened again by `Study.open`. Any number of threads and processes may use one study at the
    same time; each decision is handed out once, and each report counts once.

    Examples
    --------
    >>> import evenhand as eh
    >>> study = eh.Study.create(":memory:", eh.quotas.FairUCB({"ads": 0.2, "news": 0.3}), name="banner")
    >>> decision = study.ask()
    >>> study.tell(decision, 1.0), study.tell(decision.id, 1.0)
    ('told', 'already told')
    >>> study.verify().ok
    True
    """

    def __init__(self, store: Store, name: str | None) -> None:
        with store.reading() as connection:
            born = connection.execute(NAMED, {"name": name}).first()
        if born is None:
            there = ", ".join(store.names()[:12]) or "none"
            raise UnknownStudyError(f"{store.url}: no study is named {name!r}; the store has: {there}")
        fields = born._asdict()
        self.store, self._log = store, Log(store, fields.pop("id"))
        self._birth = Birth(**fields)
        self.log = Reader(store, self._log, self._birth)
        self._read = partial(ticket_number, self._birth)
        self.state = LivePolicy(store, self._log, self._read)
        self._statistics: Statistics | None = None

    @classmethod
    def create(
        cls,
        store: Storage | str | os.PathLike[str],
        policy: Any,
        *,
        name: str | None = None,
        expire_after: float | str | timedelta | None = None,
        expire_reward: float | None = None,
    ) -> Study:
        """Create a study in a store, which is created if missing.

        Parameters
        ----------
        store : a `Store`, a path (an SQLite file) or a URL, see `Store.at`.
        policy : any registered policy; the study takes a copy of it as it is now.
        name : the study's name: letters, digits, - and _. By default the file's name, else "study".
        expire_after : how long a ticket may stay open: a timedelta, seconds, or a text such as "7d" or "12h". The first
            ask, tell or forget after that closes it, with an entry in the log. By default tickets never expire.
        expire_reward : the reward of a ticket that expires, such as 0 where only clicks are reported. By default it has
            none: the policy learns nothing from it.

        Raises
        ------
        ArgumentError
            If the name is not of that form or is taken, the policy cannot be saved or still has open tickets,
            `expire_after` is not a duration, or the policy takes no reward such as `expire_reward`.
        StoreError
            If the store cannot be reached, or the place is not a store.
        """
        state, chosen = state_of_new(policy), name_of_new(name, store)
        expiry = expiry_of_new(policy, expire_after, expire_reward)
        with open_store(store, create=True) as place:
            write_study(place, chosen, policy, state, expiry)
            return cls(place, chosen)

    @classmethod
    def open(cls, store: Storage | str | os.PathLike[str], name: str | None = None) -> Study:
        """Open a study; without a name, the only one in the store.

        Raises
        ------
        UnknownStudyError
            If there is no such study, or several and no name is given.
        StoreError
            If the store does not exist or cannot be reached.
        """
        with open_store(store) as place:
            if name is None:
                names = place.names()
                if len(names) != 1:
                    there = ", ".join(names[:12]) or "none"
                    raise UnknownStudyError(f"{place.url}: expected the name of a study; the store has: {there}")
                name = names[0]
            return cls(place, name)

    # ------------------------------------------------------------------ the conversation

    def ask(
        self,
        *observed: Any,
        key: str | None = None,
        sticky: bool = False,
        count: int | None = None,
        subject: str | None = None,
        **named: Any,  # the policy's own, which nobody but the policy can list
    ) -> Any:
        """Take the next decision; it is saved with its reason before it is returned.

        Parameters
        ----------
        observed, named : the arguments of the policy's own `ask`, by position or by name: `contexts` (n_arms, d),
            `groups`, `available`, `scores`, `annotator`, whichever it takes. Scores stand in the log as contexts.
        key : your own name for this request: asking again with the same key returns the same decision. An ask with
            other arguments under it is refused. What the arguments mean counts, not how they are written: the order of
            `available` makes no difference, and naming all arms is the same as naming none.
        sticky : whether the key alone counts: asking again returns its first decision, whatever else is given then.
        count : how many decisions to take in one transaction, all or none; they are returned as a list. With the same
            key, a smaller count returns the first of them, and a larger one takes new decisions for the rest. The `n`
            of a label queue does the same, but returns fewer tasks where fewer items are left.
        subject : whom the contexts are about, such as the id of a user: they are encrypted in the log, and `erase`
            makes them unreadable. A key then belongs to the subject.

        Raises
        ------
        ArgumentError
            If the policy's `ask` takes no such argument, or lacks one; nothing has changed.
        EvenhandError
            Whatever the policy's `ask` raises; nothing has changed.
        StoreError
            If the store cannot be reached. Ask again with the same key: it returns the decision if it was taken.
        """
        arguments = self.state.arguments
        given, refusal = given_or_refusal(lambda: arguments.named("ask", observed, named), sticky=sticky)
        several = given.pop(arguments.several, None)
        if several is not None and count is not None:
            what = Wording(NOTHING, f" together with {arguments.several}={several}")
            raise ArgumentError(expected("count", what, count))
        ask = Ask(given=given, key=key, subject=subject, sticky=sticky, refusal=refusal)
        if several is None and count is None:
            return self._run(ask)
        name, number = ("count", count) if several is None else (arguments.several, several)
        number = whole(name, number, low=1, high=MOST)
        decided = self.state.run([replace(ask, number=i) for i in range(number)], whole=several is None)
        taken = [one for one in decided if not isinstance(one, EvenhandError)]
        if not taken:
            raise decided[0]
        return taken

    def tell(self, ticket: Any = None, *happened: Any, **named: Any) -> Literal["told", "already told"]:
        """Record a decision's reward, which is saved before this returns and counts once even if it is told again.

        Parameters
        ----------
        ticket : the decision, its number, or its signed text; the policy's own name for this argument works as well.
        happened, named : the arguments of the policy's own `tell`, by position or by name: `reward`, for a decision for
            several arms a list in the order of its `arms`, or a dict arm -> reward; an auditor's `violations`,
            `acceptable` and `auditor`; `X` and `y`; `samples`; a `label` and its `annotator`.

        Raises
        ------
        ArgumentError
            If the policy's `tell` takes no such argument, or lacks one; nothing has changed.
        ContradictionError
            If a different reward was told for the ticket before.
        ForeignTicketError, UnknownTicketError, ClosedTicketError
            If the ticket is another study's or forged, was never handed out, was forgotten, or has expired.
        EvenhandError
            Whatever the policy's `tell` raises; nothing has changed.
        """
        arguments = self.state.arguments
        if ticket is None:
            ticket = named.pop(arguments.ticket, None)
        return self._run(Tell(ticket=ticket, given=arguments.named("tell", happened, named)))

    def forget(self, ticket: Any) -> Literal["forgotten", "already forgotten"]:
        """Close a ticket whose reward will never be known."""
        return self._run(Forget(ticket=ticket))

    def add(self, arm: Label, share: Any = 0, *, cap: Any = None) -> int:
        """Put a new arm on offer, or a retired one back, with the share that it is owed and the largest that it may
        have; return the number of rounds after which its promise begins.

        Raises
        ------
        ArgumentError
            If the policy's promise cannot change, or the policy refuses the arm, its share or its cap; nothing has
            changed.
        """
        return int(self._run(Change(kind="add", given={"arm": arm, "share": share, "cap": cap})))

    def retire(self, arm: Label) -> None:
        """Retire an arm: it is no longer offered, but its open tickets can still be told.

        Raises
        ------
        ArgumentError
            If the policy's promise cannot change, or the policy refuses to retire the arm; nothing has changed.
        """
        self._run(Change(kind="retire", given={"arm": arm}))

    def change(self, shares: Any, *, begins: str | datetime | timedelta | None = None) -> dict[Any, Any]:
        """Promise other shares, or another `eh.Promise`, from now on; return the shortfalls of arms and sets of arms,
        in plays, that are not carried over.

        Parameters
        ----------
        shares : the share of each arm on offer, or a promise; sets of arms stay as they are unless shares name some.
            None, together with `begins`, withdraws what was planned for that time.
        begins : when the promise changes, if not now: a time such as "2026-12-01T00:00+01:00" (UTC without a zone), a
            date, or a duration from now. The change is made right before the first decision after that, and counts from
            there; until then it can be replaced or withdrawn under its time, which `log.planned` has. Nothing is
            returned for it.

        Raises
        ------
        ArgumentError
            If the policy's promise cannot change, or the shares cannot be promised; nothing has changed.
        """
        dropped: dict[Any, Any] = self._run(Change(kind="change", given={"shares": shares}, begins=begins))
        return dropped

    def run(self, operations: Sequence[Operation]) -> list[Any]:
        """Run many operations in one transaction; all are saved when this returns.

        Parameters
        ----------
        operations : each an `evenhand.studies.Ask`, `Tell`, `Forget` or `Change`.

        Returns
        -------
        list
            For each operation, what the single call would return, or the EvenhandError that it would raise. A refused
            operation changes nothing and does not affect the others.

        Raises
        ------
        ArgumentError
            If one of them is something else; nothing has changed.
        """
        what = "a list of evenhand.studies.Ask, Tell, Forget and Change"
        if not isinstance(operations, (list, tuple)):
            raise ArgumentError(expected("operations", what, operations))
        for operation in operations:
            if not isinstance(operation, Operation):
                raise ArgumentError(expected("operations", what, operation))
        return self.state.run(operations)

    def erase(self, subject: str | None = None, *, older_than: float | str | timedelta | None = None) -> Erasure:
        """Make the contexts of a subject, or all that are older than a duration, unreadable for ever.

        The entries of the log stay, so that its chain of digests holds; the keys of their contexts are deleted. Open
        tickets of these contexts are forgotten. What the policy has learned stays: sums over many decisions. Call this
        once a day to keep contexts for `older_than` at most.

        Parameters
        ----------
        subject : as given to `ask`; a subject without contexts is not an error.
        older_than : a timedelta, seconds, or a text such as "365d"; contexts are erased by whole days (UTC), so that
            none is left that is older.

        Raises
        ------
        ArgumentError
            If neither or both are given, or `older_than` is not a duration.
        """
        return self.state.erase(subject, older_than)

    def compile(self) -> None:
        """Compile the policy's decisions now, if possible; otherwise this happens after a few thousand calls.

        Raises
        ------
        ArgumentError
            If the policy takes contexts and has not seen any: it does not know how many numbers describe an arm.
        """
        self.state.compile()

    def sign(self, ticket: Any) -> str:
        """Return the signed text of a ticket, which names the study and cannot be forged.

        Parameters
        ----------
        ticket : the decision, its number, or its signed text, which is returned as it is.

        Raises
        ------
        UnknownTicketError
            If it is none of these.
        ForeignTicketError
            If it is a signed text of another study, or a forged one.
        """
        return sign_ticket(self.name, self._birth.secret, self._read(ticket))

    # ------------------------------------------------------------------ what is known

    @property
    def name(self) -> str:
        """The study's name in its store."""
        return self._birth.name

    @property
    def created(self) -> datetime:
        """When the study was created, in UTC."""
        return moment(self._birth.created_at)

    @property
    def policy(self) -> Any:
        """A copy of the policy as it is now; decisions of the copy do not count."""
        return self.state.copy()

    @property
    def open_tickets(self) -> list[int]:
        """The numbers of the tickets that are neither told nor forgotten nor expired."""
        return self.state.open_tickets()

    def verify(
        self,
        *,
        known: str | dict[str, Any] | None = None,
        since: Verification | bytes | None = None,
        progress: bool = False,
    ) -> Verification:
        """Replay the whole log from its start and check every promise; see `Verification`.

        Parameters
        ----------
        known : what was kept elsewhere of an earlier verification: its `digest`, whose entry the log must still
            contain, or its `checkpoint`, to whose root the same entries must still lead.
        since : an earlier verification that found everything sound, or its `mark`: only later entries are read, and
            earlier ones are assumed to be unchanged.
        progress : show a progress bar.

        Raises
        ------
        ArgumentError
            If `since` is not the mark of a verification of this study.
        UnreachableError
            If the store could not be read to the end: then nothing is known about the log.
        """
        from evenhand.studies.statistics.checkpoint import read_checkpoint, read_mark
        from evenhand.studies.verify import Verification, verify

        if known is not None and not isinstance(known, str):
            known = read_checkpoint(known, self.name)
        progress = yes_or_no("progress", progress)
        given = since.mark if isinstance(since, Verification) else since
        mark = None if since is None else read_mark(given, self._birth.digest)
        return verify(self.store, self._log, self._birth, self.state, known=known, mark=mark, progress=progress)

    def statistics(self) -> Statistics:
        """Return shares, shortfalls and rewards over time, up to the present end of the log."""
        from evenhand.studies.statistics.summaries import begin

        with self.state.lock:
            statistics = begin(self.store, self.log)[0] if self._statistics is None else self._statistics.copy()
            statistics.advance(self.log.entries(statistics.sequence))
            self._statistics = statistics
            return statistics

    def frame(self) -> pd.DataFrame:
        """Return the decisions as a table, one row for each; see `evenhand.studies.export.log_table`."""
        from evenhand.studies.export import log_table

        return log_table(self.store, self._log, traits_of(self.log.first_policy))

    def close(self) -> None:
        """Save the state, so that the study opens quickly again, and close the store; skipping this loses nothing."""
        self.state.snapshot_if_small()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Study({self.store.url!r}, {self.name!r}, {self._birth.policy})"

    def _repr_html_(self) -> str:
        """Show in a notebook what this process knows, without a look at the store; once `statistics()` was read, also
        in how many rounds of a lottery an arm was certain."""
        facts: dict[str, Any] = {"study": self.name, "store": self.store.url, "policy": self._birth.policy}
        seen = self.state.seen
        if seen is None:
            return Card("Study", facts | {"log": "not yet read by this process"}).html()
        facts["entries of the log"] = seen.sequence
        shown = seen.policy._card() if isinstance(seen.policy, AskTell) else Card("", {})
        counted = () if self._statistics is None else self._statistics.certainty
        return Card("Study", facts | shown.facts, shown.tables, (*notes_of(seen.policy), *counted)).html()

    # ------------------------------------------------------------------ inside

    def _run(self, operation: Operation) -> Any:
        outcome = self.run([operation])[0]
        if isinstance(outcome, EvenhandError):
            raise outcome
        return outcome
