"""A session of `evenhand audit-pairs`: two people are shown, an answer is read, learned and kept, one by one."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import typer

from evenhand import save
from evenhand.cli.output import print_text, table
from evenhand.errors import ArgumentError, ExhaustedError
from evenhand.similarity import PairQueue
from evenhand.similarity.pair_queue import WITHDRAW
from evenhand.similarity.questions import PairTask

POINTS = "percentage points"
CHOICES = "[u]nfair, [a]cceptable, unsure [Enter], [w]ithdraw, [l]ist, [q]uit"
WITHOUT = "[w]ithdraw 3 takes back answer 3, [l]ist, [q]uit"
HELP = (
    "Please answer u, a, w, l, q or nothing. w withdraws your last answer, w 3 the one with the number 3; "
    "l lists the answers with their numbers."
)
WORDS = {"unfair": "u", "acceptable": "a", "unsure": "", "withdraw": "w", "list": "l", "quit": "q"}
CONTRADICTS = "contradicts the answers before it in every form of distance; distances are now estimated, not certified"
TOLD = {"u": "unfair", "a": "acceptable", "": None}
TASK = (
    "You see two people at a time whose chances of being chosen differ, whichever is higher. Answer u if that is "
    "unfair, because the two are alike in what counts, and a if the difference is acceptable."
)
ANSWERS_A_NUMBER = 8, 12
"""About how many answers each number of a metric takes, d(d + 1)/2 of them: 25, 63 and 116 answers for 2, 3 and 4
columns of the student data. Checks come on top, once or twice as many as are wanted."""


def answers_needed(queue: PairQueue) -> str:
    """Return about how many answers a queue takes in all, checks among them."""
    d = len(queue.scale.centre)
    low, high = (each * d * (d + 1) // 2 + n * queue.check for n, each in enumerate(ANSWERS_A_NUMBER, 1))
    return f"{low} to {high}"


class PairAudit:
    """A person's answers to the questions of a queue.

    Parameters
    ----------
    queue : asks about people of a table.
    state : the file that the queue is kept in after each answer.
    auditor : the person's name, where several people audit.
    """

    def __init__(self, queue: PairQueue, state: Path, auditor: str | None = None) -> None:
        self._queue, self._state, self._auditor = queue, state, auditor
        self._cautioned: str | None = None

    def converse(self, most: int | None) -> None:
        """Ask, at most so many questions; say at the end what was learned.

        Raises
        ------
        typer.Exit
            With code 130 where the person interrupts, after everything was kept.
        """
        kept = len(self._queue.answers)
        print_text(TASK)
        about = f"It takes about {answers_needed(self._queue)} answers, checks among them"
        print_text(f"{about}. {self._state} has {kept}; each new answer is saved there at once.")
        save(self._queue, self._state)
        asked, interrupted = 0, False
        while most is None or asked < most:
            self._caution()
            task: PairTask | None = None
            try:
                task = self._queue.ask(annotator=self._auditor)
            except ExhaustedError:
                if not self._queue.ended:
                    print_text("No further answer about these people would teach anything.")
                    break
                print_text(f"{self._queue.form}. More answers would not help.")
            else:
                asked += 1
                rows = [f"row {int(row) + 1}" for row in task.item.split("-")]
                lines = [[name, *values] for name, values in task.people.items()]
                table(f"question {kept + asked}", ["", *rows], lines)
            try:
                going = self._answer(task)
            except typer.Abort:
                going, interrupted = False, task is not None
                print_text("")
            if not going:
                if task is not None:
                    self._queue.forget(task)
                break
            save(self._queue, self._state)
        self._leave()
        if interrupted:
            raise typer.Exit(130)

    def _answer(self, task: PairTask | None) -> bool:
        """Read until the question is closed, by an answer or a withdrawal; return False where the person quits. Without
        a question an answer may be withdrawn."""
        asked = WITHOUT if task is None else f"Their chances differ by {100 * task.gap:.1f} {POINTS}: {CHOICES}"
        while True:
            text = typer.prompt(asked, default="", show_default=False)
            word, _, rest = text.strip().lower().partition(" ")
            word = WORDS.get(word, word)
            if word == "q":
                return False
            if word == "l":
                self._list(self._queue.answers["number"])
            elif word == "w":
                if self._withdraw(task, rest.strip()):
                    return True
            elif task is not None and word in TOLD and not rest:
                self._learn(task, TOLD[word])
                return True
            else:
                print_text(HELP)

    def _learn(self, task: PairTask, label: str | None) -> None:
        """Take an answer; say where it asks for much."""
        metric = self._queue.policy.metric
        doublings, trusted, form = metric.doublings, metric.error_rate == 0.0, metric.structure
        self._queue.tell(task, label, annotator=self._auditor)
        if trusted and self._queue.policy.metric.error_rate > 0.0:
            print_text(f"This answer {CONTRADICTS}. w withdraws your last answer, l lists the answers.")
            print_text(f"{self._queue.form}.")
        elif self._queue.policy.metric.structure != form:
            print_text(f"{self._queue.form}.")
        if metric.doublings > doublings:
            print_text(
                f"This answer needs larger distances (radius {metric.radius_reached:g}). If it was a mistake, answer w."
            )

    def _caution(self) -> None:
        """Say why no distance is known, whenever there is a new reason."""
        caveat = self._queue.caveat
        if caveat and caveat != self._cautioned:
            print_text(f"Caution: {caveat}.")
        self._cautioned = caveat

    def _withdraw(self, task: PairTask | None, text: str) -> bool:
        """Withdraw the answer of this number, or the last one, and close the question that is open; return False where
        there is no such answer."""
        before = set(self._queue.answers["number"])
        try:
            if task is None:
                self._queue.withdraw(int(text) if text.isdecimal() else text or None, auditor=self._auditor)
            else:
                self._queue.tell(task, f"{WITHDRAW} {text}", annotator=self._auditor)
        except ArgumentError:
            known = not self._queue.answers.empty
            no = "No answer of yours has this number; l lists them."
            print_text(no if known else "There is no answer to withdraw.")
            return False
        (number,) = before - set(self._queue.answers["number"])
        print_text(f"Answer {number} is withdrawn.")
        return True

    def _list(self, numbers: Collection[int]) -> None:
        people = [", ".join(f"{name} {value}" for name, value in one.items()) for one in self._queue.people]
        answers = self._queue.answers
        answers = answers[answers["number"].isin(list(numbers))].drop(columns="wrong")
        if not answers["auditor"].any():
            answers = answers.drop(columns="auditor")
        for who in ("one", "other"):
            answers[who] = [people[row] for row in answers[who]]
        if answers.empty:
            print_text("There is no answer yet.")
        else:
            table("answers", list(answers), answers.to_numpy().tolist())

    def _leave(self) -> None:
        self._caution()
        many = len(self._queue.answers)
        print_text(f"{many} answer{' is' if many == 1 else 's are'} saved in {self._state}.")
        if many:
            print_text(f"{self._queue.form}.")
            print_text(f"{self._queue.checked}.")
        if doubted := self._queue.doubted:
            fits = self._queue.fits
            said = "These answers are probably wrong" if fits else "One way to explain it is that these are wrong"
            print_text(f"{said}; withdraw those that are.")
            self._list(doubted)
        if many:
            print_text(
                f"Chances for everybody from these answers: evenhand choose TABLE --state {self._state} --places N"
            )
