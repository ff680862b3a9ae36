"""A session of `evenhand audit-pairs`: rounds are shown, answers are read, learned and kept one by one."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from evenhand import save
from evenhand.cli.output import say, table
from evenhand.errors import VerdictError
from evenhand.similarity.robust import ANNOUNCEMENT

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.protocol import Decision
    from evenhand.similarity import LipschitzUCB, TableIndividuals

__all__ = ["Audit"]

Pair = tuple[int, int]

CHOICES = "[u]nfair, [a]cceptable, unsure [Enter], [w]ithdraw, [l]ist, [q]uit"
HELP = (
    "Please answer u, a, w, l, q or nothing. w withdraws your last answer, w 3 the one with the number 3; "
    "l lists your answers with their numbers."
)
WORDS = {"unfair": "u", "acceptable": "a", "unsure": "", "withdraw": "w", "list": "l", "quit": "q"}


class Audit:
    """A person's audit of a policy that decides about rows of a table.

    Parameters
    ----------
    policy, world : who decides, and who shows rows of the table.
    frame : the table as the person sees it.
    state : the file that the policy is kept in after each answer; None keeps nothing.
    auditor : the person's name, where several people audit.
    """

    def __init__(
        self,
        policy: LipschitzUCB,
        world: TableIndividuals,
        frame: pd.DataFrame,
        state: Path | None,
        auditor: str | None = None,
    ) -> None:
        self._policy, self._world, self._frame, self._state = policy, world, frame, state
        self._auditor = auditor
        self._given: set[int] = set()
        self._refused: tuple[Any, ...] | None = None
        self._cautioned: str | None = None

    def converse(self, rounds: int, questions: int) -> None:
        """Show rounds and ask about at most so many pairs in each; say at the end what was learned.

        Raises
        ------
        typer.Exit
            With code 130 where the person interrupts, after everything was kept.
        """
        going, interrupted = True, False
        while going and rounds > 0:
            (contexts,) = self._world.observe()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what they say is said after the round
                decision = self._policy.ask(contexts)
            self._keep()
            self._show(decision)
            try:
                going = self._ask(decision, contexts, self._policy.questions(decision)[:questions])
            except typer.Abort:
                going, interrupted = False, True
                say("")
            self._policy.tell(decision, self._world.respond(decision)[0])
            self._keep()
            self._caution()
            rounds -= 1
        self._leave()
        if interrupted:
            raise typer.Exit(130)

    def _ask(self, decision: Decision, contexts: Any, pairs: Iterable[Pair]) -> bool:
        """Ask about pairs until all are answered; return False where the person quits."""
        waiting, answered = deque(pairs), dict[int, Pair]()
        while waiting:
            i, j = pair = waiting[0]
            gap = self._gap(decision, i, j)
            word, _, rest = (
                typer.prompt(f"{i} and {j} differ by {gap:.3f}: {CHOICES}", default="", show_default=False)
                .strip()
                .lower()
                .partition(" ")
            )
            word = WORDS.get(word, word)
            if word == "q":
                return False
            if word == "l":
                self._list(verdict.id for verdict in self._policy.metric.verdicts)
            elif word == "w":
                number = self._withdraw(rest.strip())
                if number in answered:
                    waiting.appendleft(answered.pop(number))
            elif word in ("u", "a") and not rest:
                number = self._learn(contexts[i], contexts[j], gap, word == "u")
                if number:
                    answered[number] = pair
                    waiting.popleft()
            elif word == "" and not rest:
                waiting.popleft()
            else:
                say(HELP)
        return True

    def _learn(self, x: Any, y: Any, gap: float, unfair: bool) -> int:
        """Take an answer and keep it; return its number, or say which answers it contradicts and return 0.

        Whoever gives the same answer once more means it: the policy then believes that some answers are wrong.
        """
        doublings, answer = self._policy.metric.doublings, (*x, *y, gap, unfair)
        insists = answer == self._refused
        take = self._policy.verdict if insists else self._policy.metric.verdict
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trusted = self._policy.metric.error_rate == 0.0
            try:
                number = take(x, y, gap, unfair, auditor=self._auditor)
            except VerdictError as refusal:
                self._refused = answer
                say("This answer was not taken: it cannot hold together with these.")
                self._list(refusal.verdicts)
                say("Answer otherwise, or withdraw the wrong one by its number, such as w 3.")
                if self._policy.on_contradiction == "robust":
                    say("If you mean it, give the same answer again: some answers then count as wrong.")
                return 0
        if trusted and self._policy.metric.error_rate > 0.0:
            say(ANNOUNCEMENT)
        self._given.add(number)
        self._keep()
        if self._policy.metric.doublings > doublings:
            reached = f"{self._policy.metric.radius_reached:g}"
            say(f"This answer asks for larger distances (radius {reached}). If it was a slip, withdraw it: w.")
        return number

    def _caution(self) -> None:
        """Say why no distance is known, whenever there is a new reason."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            caveat = self._policy.metric.caveat(self._world.features)
        if caveat and caveat != self._cautioned:
            say(f"Caution: {caveat}.")
        self._cautioned = caveat

    def _withdraw(self, text: str) -> int:
        """Withdraw the answer of this number, or the last one; return its number, 0 where there is none."""
        mine = (None, self._auditor)
        known = [
            verdict.id for verdict in self._policy.metric.verdicts if self._auditor is None or verdict.auditor in mine
        ]
        number = int(text) if text.isascii() and text.isdigit() else 0 if text else max(known, default=0)
        if number not in known:
            say("No answer has this number; l lists them." if known else "There is no answer to withdraw.")
            return 0
        self._policy.metric.withdraw(number)
        self._given.discard(number)
        self._keep()
        say(f"Answer {number} is withdrawn.")
        return number

    def _keep(self) -> None:
        if self._state is not None:
            save(self._policy, self._state)

    def _gap(self, decision: Decision, i: int, j: int) -> float:
        assert decision.probabilities is not None
        return min(float(abs(decision.probabilities[i] - decision.probabilities[j])), 1.0)

    def _show(self, decision: Decision) -> None:
        assert decision.probabilities is not None
        rows = self._world.shown
        cells: list[list[Any]] = [
            [name, *(str(self._frame[name].iloc[int(row)]) for row in rows)] for name in self._world.features
        ]
        cells.append(["probability", *(f"{p:.3f}" for p in decision.probabilities)])
        table(f"round {decision.round}", ["", *map(str, range(len(rows)))], cells)

    def _list(self, numbers: Iterable[int]) -> None:
        wanted = set(numbers)
        cells = [
            [
                *([] if self._auditor is None else [v.auditor or ""]),
                *(
                    str(v.id),
                    "unfair" if v.unfair else "acceptable",
                    f"{v.gap:.3f}",
                    self._named(v.x),
                    self._named(v.y),
                ),
            ]
            for v in self._policy.metric.verdicts
            if v.id in wanted
        ]
        who = [] if self._auditor is None else ["auditor"]
        if cells:
            table("your answers", [*who, "number", "answer", "gap", "one", "other"], cells)
        else:
            say("There is no answer yet.")

    def _named(self, x: Any) -> str:
        """Return the features of an individual as the table has them."""
        rows = np.flatnonzero((self._world.rows == x).all(axis=1))
        if not rows.size:
            return "not in this table"
        return ", ".join(f"{name} {self._frame[name].iloc[int(rows[0])]}" for name in self._world.features)

    def _leave(self) -> None:
        kept = "" if self._state is None else f" The policy is kept in {self._state}."
        log = self._policy.metric.verdicts
        say(f"{len(self._given)} verdict{'' if len(self._given) == 1 else 's'} given, {len(log)} in the log.{kept}")
        self._compare_auditors()
        if self._policy.metric.error_rate > 0.0:
            suspect = [one.id for one in self._policy.suspects() if one.wrong > 0.5]
            if suspect:
                say("These answers are probably wrong; withdraw those that are.")
                self._list(suspect)
            return
        disputed = self._policy.metric.contradictions()
        if disputed:
            say("These answers contradict others that you gave; withdraw what is wrong.")
            self._list(disputed)

    def _compare_auditors(self) -> None:
        """Show how often each auditor seems to be wrong, and who contradicts whom, where several audit."""
        metric = self._policy.metric
        names = [str(name) for name in metric.agreement]
        if len(names) < 2:
            return
        rates, contradictions = metric.error_rates, metric.opposites
        against = [int(((contradictions.one == who) | (contradictions.other == who)).sum()) for who in names]
        cells = [
            [who, f"{rates[who]:.2f}" if rates else "trusted", str(n)] for who, n in zip(names, against, strict=True)
        ]
        table("auditors", ["auditor", "share of wrong answers", "contradicts others"], cells)
