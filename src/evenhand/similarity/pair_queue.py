"""A queue of questions for auditors: which two people were treated too differently, the most informative pair first."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arguments import array, real, whole
from evenhand.data.rows import in_step
from evenhand.errors import ArgumentError, ExhaustedError, Wording, expected
from evenhand.frames import is_frame
from evenhand.kernels.arrays import Floats
from evenhand.parameters import Parameters, locked
from evenhand.policy.ask_tell import AskTell
from evenhand.policy.traits import Traits
from evenhand.registry import register
from evenhand.rng import Seed, child, draw_seed, generator
from evenhand.similarity.chances import PLAIN, SUPPOSES, PlaceChances, fair_chances
from evenhand.similarity.forms import Forms
from evenhand.similarity.lipschitz_ucb import LipschitzUCB
from evenhand.similarity.metric import EQUAL
from evenhand.similarity.moments import MomentDistance
from evenhand.similarity.proposals import at_the_limit, between_forms, judged
from evenhand.similarity.questions import PairTask, Question, as_shown, read_people
from evenhand.similarity.reading import LARGEST_FEATURE, LARGEST_REWARD
from evenhand.similarity.scale import Scale, read_scale
from evenhand.similarity.verdict_learning import believe_anew
from evenhand.similarity.verdicts import Verdict, read_auditor

UNFAIR, ACCEPTABLE, WITHDRAW = "unfair", "acceptable", "withdraw"
ROUNDS = 20
"""After so many rounds without a question nothing is left to ask."""
CHECK = "a check: the chances that follow from the answers may differ by this much"
WAITING = 12
"""The most questions that wait; the least telling ones are dropped."""


@register("similarity/pair-queue", kind="part")
class PairQueue(AskTell, Parameters):
    """Ask auditors about pairs of people whom a fair policy treats differently, and learn from each answer at once.

    Each round a `LipschitzUCB` decides about a few random people of a table; the questions are the pairs about which an
    answer is informative, the most informative first. Answers that contradict each other do not end the
    audit: the policy then believes that some are wrong.

    Parameters
    ----------
    features : what describes each person (n, d), a data frame where they have names.
    rewards : the reward of each person (n,); rewards and people that carry the row labels of the features are matched
        by them.
    people : what is shown of each person: a data frame, or a dict for each person, all with the same names; by default
        the features, under their names where they are a data frame.
    individuals : how many people a round has.
    auditors : how many auditors answer each question.
    errors : the share of answers that may be wrong; 0 trusts all until two contradict each other.
    check : how many questions are asked in the end, when no answer teaches anything more, to test what was supposed:
        which of two forms of distance holds, while answers agree with both, and whether pairs at the limit of the
        chances that follow are acceptable; where one is not, although a form fits, as many are asked again.
    scale : one scale for everybody; None for that of the features, `Scale.of(features)`.
    seed : the seed of the rounds.

    Raises
    ------
    ArgumentError
        If the lists have different lengths or row labels, or hold anything else.

    Examples
    --------
    >>> queue = PairQueue([[0.1, 0.3], [0.5, 0.2], [0.9, 0.9]], [0, 1, 1], individuals=2, seed=1)
    >>> task = queue.ask()
    >>> queue.tell(task, "acceptable")
    >>> queue.answers["answer"].tolist()
    ['acceptable']
    """

    _traits = Traits(hands_out=PairTask, feedback="labels")
    _noun = "queue"

    def __init__(
        self,
        features: ArrayLike,
        rewards: ArrayLike,
        *,
        people: object = None,
        individuals: int = 4,
        auditors: int = 1,
        errors: float = 0.0,
        check: int = 10,
        scale: Scale | None = None,
        seed: Seed = None,
    ) -> None:
        super().__init__()
        features, rewards, people = in_step(("features", features), ("rewards", rewards), ("people", people))
        self.features = array("features", features, "numbers (n, d)", dimensions=2, largest=LARGEST_FEATURE)
        n, d = self.features.shape
        self.rewards = array("rewards", rewards, f"{n} numbers, one per person", dimensions=1, largest=LARGEST_REWARD)
        if n < 2 or self.rewards.size != n:
            raise ArgumentError(expected("rewards", f"{max(n, 2)} numbers, one per person", self.rewards.size))
        shown = features if people is None and is_frame(features) else people
        self.people = read_people(shown, self.features)
        self.individuals = whole("individuals", individuals, low=2, high=n)
        self.auditors = whole("auditors", auditors, low=1)
        self.errors = real("errors", errors, low=0, below=0.5)
        self.check = whole("check", check, low=0)
        self.seed = draw_seed(seed)
        self.scale = read_scale(scale, d) or Scale.of(features)
        self._rows = self.scale(self.features)
        metric, random = MomentDistance(error_rate=self.errors), child(self.seed, 0)
        self.policy = LipschitzUCB(d, metric=metric, silence="nothing", on_contradiction="robust", seed=random)
        self._waiting: list[Question] = []
        self._answers: dict[int, Question] = {}
        """What was answered: by the verdict's id, the question as it was asked."""
        self.round = self.tested = 0
        self._forms = Forms(self.errors)

    # ------------------------------------------------------------------ the conversation

    @locked
    def ask(self, *, annotator: str | None = None) -> PairTask:
        """Return the most informative question that this auditor has not answered and that nobody is being asked.

        Raises
        ------
        ExhaustedError
            If no answer would teach anything, also since no form of distance fits; nothing has changed.
        ArgumentError
            If the auditor's name is not text.
        """
        who, waiting = read_auditor(annotator) or "", self._waiting
        if self.ended:
            raise ExhaustedError(f"{self.form}; no further answer would help until some are withdrawn")
        if (question := self._most_telling(who)) is None:
            self._waiting = waiting
            copy.deepcopy(self)._sought(who)  # that nothing is left is known only after decisions
            question = self._sought(who)
        self.round += 1
        one, other, gap = question[:3]
        said = (self.round, f"{one}-{other}", gap)
        number = self.tickets.hand_out((said, question, who))
        why = "an answer teaches most about this pair" if not question.proposed else CHECK
        if self.policy.metric.error_rate > 0.0 and self.errors == 0.0:
            known = self.caveat or f"so distances are {self.policy.metric.guarantee}"
            why = f"{why}; some answers contradict each other, {known}"
        shown = {name: [str(self.people[row][name]) for row in (one, other)] for name in self.people[0]}
        task = PairTask(number, *said, why, shown, (UNFAIR, ACCEPTABLE), token=self.tickets.token)
        self._last = said[1], why
        return task

    @locked
    def tell(self, ticket: PairTask | int, label: str | None, *, annotator: str | None = None) -> None:
        """Record the answer to a question: "unfair", "acceptable", or None for no answer.

        Instead of an answer, "withdraw" takes back this auditor's last answer, and "withdraw 3" answer 3 of `answers`;
        the open question will be asked again.

        Raises
        ------
        UnknownTicketError, ClosedTicketError, ForeignTicketError
            If there is no such question, it was not asked, or it was answered before.
        ArgumentError
            If the answer is none of these, or there is none to withdraw.
        """
        number, (_, question, asked) = self.tickets.find(ticket)
        who = read_auditor(annotator) or asked
        if isinstance(label, str) and label in (UNFAIR, ACCEPTABLE):
            x, y = self._rows[question.one], self._rows[question.other]
            told, contradicted = self.policy.judge(x, y, question.gap, label == UNFAIR, auditor=who or None)
            self._answers[told] = question
            self._put(question, who)
            self._take_form(contradicted)
            if question.proposed and label == UNFAIR and self.fits:
                self.tested = 0
        elif label is None:
            self._put(question, who)
        elif isinstance(label, str) and label.split()[:1] == [WITHDRAW]:
            which = " ".join(label.split()[1:])
            plain = which.isascii() and which.isdecimal()
            self.withdraw(int(which) if plain else which or None, auditor=who or None)
            self._waiting.insert(1, question)  # behind the one that was withdrawn, as if that had never been answered
        else:
            raise ArgumentError(expected("label", '"unfair", "acceptable", "withdraw" or null', label))
        del self.tickets.open[number]

    @locked
    def forget(self, ticket: PairTask | int) -> None:
        """Take back a question that was asked; it may be asked again."""
        number, (_, question, _) = self.tickets.find(ticket)
        del self.tickets.open[number]
        self.tested -= question.proposed
        self._put(question, None)

    @locked
    def withdraw(self, number: int | str | None = None, *, auditor: str | None = None) -> int:
        """Take back an auditor's answer with this number, by default the last one, and return the number; the question
        will be asked again.

        Raises
        ------
        ArgumentError
            If the auditor has given no such answer.
        """
        who = read_auditor(auditor) or ""
        mine = [verdict.id for verdict in self._verdicts() if (verdict.auditor or "") == who]
        number = max([*mine, 0]) if number is None else number
        if number not in mine:
            what = "the number of one of your answers" if mine else "an earlier answer of yours"
            raise ArgumentError(expected("number", what, number))
        self.policy.withdraw(number)
        question = self._answers.pop(int(number))
        left = [same.answered for same in self._waiting if same[:3] == question[:3]]
        self._waiting = [kept for kept in self._waiting if kept[:3] != question[:3]]
        others = tuple(name for name in (left[0] if left else question.answered) if name != who)
        self._waiting.insert(0, question._replace(answered=others))
        self._take_form(True)
        return int(number)

    # ------------------------------------------------------------------ what is known so far

    @locked
    def judge(self, one: int, other: int, gap: float, unfair: bool, *, auditor: str | None = None) -> int:
        """Record an answer outside the queue's questions: that a difference `gap` in the chances of two people (rows,
        from 0) would be unfair or acceptable; return its number.

        Raises
        ------
        ArgumentError, VerdictError
            If there are no such two people, or no metric could agree with the answer.
        """
        rows = self._rows
        one, other = (whole(name, row, low=0, high=len(rows) - 1) for name, row in (("one", one), ("other", other)))
        if one == other:
            raise ArgumentError(expected("other", "another person than one", Wording("the same")))
        told, contradicted = self.policy.judge(rows[one], rows[other], gap, unfair, auditor=read_auditor(auditor))
        self._answers[told] = Question(min(one, other), max(one, other), float(gap))
        self._take_form(contradicted)
        return told

    @property
    @locked
    def answers(self) -> Any:
        """The answers not withdrawn, a table: `number`, `one` and `other` (rows), `gap`, `answer`, `auditor`, `wrong`.

        `wrong` is the probability that the answer is wrong, 0 as long as all are trusted.
        """
        import pandas as pd

        wrong = {one.id: one.wrong for one in self.policy.suspects()}
        rows = [
            (v.id, *self._answers[v.id][:3], UNFAIR if v.unfair else ACCEPTABLE, v.auditor or "", wrong.get(v.id, 0.0))
            for v in self._verdicts()
        ]
        return pd.DataFrame(rows, columns=["number", "one", "other", "gap", "answer", "auditor", "wrong"])

    @locked
    def chances(self, people: object = None, rewards: ArrayLike | None = None, *, places: int = 1) -> PlaceChances:
        """Return each person's chance of a place: the chances with the highest mean reward under which no two people
        are treated more differently than the answers so far allow.

        Parameters
        ----------
        people : the features (n, d) of those to choose from, in the units of the queue's own; of a data frame, the
            columns of the features. None for the queue's people.
        rewards : the reward of each of them (n,); None for the queue's own, or for other people a linear prediction.
        places : how many are chosen.

        Raises
        ------
        ArgumentError, TableError
            If the features or rewards are not finite numbers, or there are fewer people than places.

        Examples
        --------
        >>> queue = PairQueue([[30], [40], [50]], [0, 1, 1], individuals=2, seed=1)
        >>> queue.chances(places=2).chances.round(2).tolist()  # nothing is known of distances: all are treated alike
        [0.67, 0.67, 0.67]
        """
        people, rewards = in_step(("people", people), ("rewards", rewards))
        rows, gains, notes = self._rows, self.rewards, [f"{why}." for why in (self.caveat,) if why]
        if people is not None:
            rows = self.scale(people)
            if far := int((np.square(rows).sum(axis=1) > 1.0 + 1e-9).sum()):
                notes.append(f"{far} of these people are farther out than anybody audited: distances are extrapolated.")
        if rewards is not None:
            what = f"{len(rows)} numbers, one per person"
            gains = array("rewards", rewards, what, dimensions=1, largest=LARGEST_REWARD)
            if gains.size != len(rows):
                raise ArgumentError(expected("rewards", what, gains.size))
        elif people is not None:
            gains = self.predicted(people)
            notes.append("Rewards are predicted from the people of the audit, linear in the features.")
        places, metrics = whole("places", places, low=1, high=len(rows)), self._forms.possible(self.policy.metric)
        supposed = f"{self.form}.", PLAIN * self.fits, SUPPOSES.get(metrics[0].guarantee), f"{self.checked}."
        return fair_chances(metrics, rows, gains, places, [*filter(None, supposed), *notes])

    @locked
    def predicted(self, people: object) -> Floats:
        """Return the rewards (n,) of people (n, d), predicted from the queue's own, linear in the features."""
        known, asked = (np.insert(one, 0, 1.0, axis=1) for one in (self._rows, self.scale(people)))
        return np.asarray(asked @ np.linalg.lstsq(known, self.rewards, rcond=None)[0])

    @property
    @locked
    def caveat(self) -> str | None:
        """Why no distance is known although answers were given, in words; None where distances are known."""
        return self.policy.metric.caveat(self.scale.features or ())

    @property
    @locked
    def form(self) -> str:
        """Which form of distance is supposed, and whether the answers agree with it, in words."""
        return self._forms.in_words(self.policy.metric)

    @property
    @locked
    def fits(self) -> bool:
        """Whether one of the forms of distance agrees with as many answers as are supposed to be right."""
        return self._forms.fit(self.policy.metric)

    @property
    @locked
    def doubted(self) -> list[int]:
        """The numbers of the answers that are probably wrong; where no form of distance fits, the fewest that were
        found without which one does: one way to explain the answers."""
        return self._forms.doubted(self.policy.metric)

    @property
    @locked
    def ended(self) -> bool:
        """Whether so many answers contradict every form of distance that nothing more is asked."""
        return self._forms.hopeless(self.policy.metric)

    @property
    @locked
    def checked(self) -> str:
        """How many of the differences that were proposed were called unfair, in words."""
        return judged([verdict.unfair for verdict in self._verdicts() if self._answers[verdict.id].proposed])

    # ------------------------------------------------------------------ inside

    def _verdicts(self) -> list[Verdict]:
        """Return what the metric was told by the answers, in their order."""
        return [verdict for verdict in self.policy.metric.verdicts if verdict.id in self._answers]

    def _sought(self, who: str) -> Question:
        """Return a question as `_most_telling` does, after as many decisions as it takes; then a test, while there are
        some left."""
        for _ in range(ROUNDS + 1):
            question = self._most_telling(who)
            if question is not None:
                return question
            self._decide()
        if self.tested < self.check and (question := self._test()) is not None:
            self.tested += 1
            return question
        raise ExhaustedError("nothing is left to ask for: no answer about these people would teach anything")

    def _test(self) -> Question | None:
        """Return a question that tests what was supposed; None where none is left."""
        metrics = self._forms.possible(self.policy.metric)
        asked = {question[:2] for question in self._answers.values() if question.proposed}
        return between_forms(metrics, self._rows, generator(self.seed, 2, self.round)) or at_the_limit(
            metrics, self._rows, self.rewards, asked, generator(self.seed, 3, self.round)
        )

    def _take_form(self, contradicted: bool) -> None:
        """Go over to the other form of distance where the answers agree better with it."""
        if (better := self._forms.better(self.policy.metric, contradicted)) is not None:
            believe_anew(self.policy, better)

    def _decide(self) -> None:
        """Let the policy decide about a few random people; keep the questions about them that an answer teaches."""
        shown = generator(self.seed, 1, self.policy.round).choice(len(self._rows), self.individuals, replace=False)
        decision = self.policy.ask(self._rows[shown])
        p = decision.probabilities
        assert p is not None
        for i, j in self.policy.questions(decision):
            one, other = sorted((int(shown[i]), int(shown[j])))
            if gap := as_shown(float(abs(p[i] - p[j]))):
                self._waiting.append(Question(one, other, gap))
        drawn = decision.index
        self.policy.tell(decision, float(self.rewards[shown[drawn]]) if drawn >= 0 else None)

    def _most_telling(self, who: str) -> Question | None:
        """Take the question out of those that wait that teaches this auditor's answer most; None where none does."""
        begun = [question for question in self._waiting if question.answered]
        worth = {question: self._worth(question) for question in self._waiting if not question.answered}
        telling = sorted((q for q in worth if worth[q] > EQUAL), key=lambda q: -worth[q])
        self._waiting = [*begun, *telling[:WAITING]]
        for question in self._waiting:
            if who not in question.answered:
                self._waiting.remove(question)
                return question
        return None

    def _worth(self, question: Question) -> float:
        return self.policy.metric.value_of_asking(self._rows[question.one], self._rows[question.other], question.gap)

    def _put(self, question: Question, who: str | None) -> None:
        """Let a question wait for another auditor, or for anybody where nobody has answered it."""
        answered = question.answered if who is None else (*question.answered, who)
        if who is None or len(answered) < self.auditors:
            self._waiting.insert(0 if who is None else len(self._waiting), question._replace(answered=answered))

    # ------------------------------------------------------------------ files

    def _ticket_fields(self, ticket: PairTask) -> tuple[Any, ...]:
        return ticket.round, ticket.item, ticket.gap

    def _ticket_to_saved(self, remembered: Any) -> tuple[Any, ...]:
        (round, *_), (one, other, gap, answered, proposed), who = remembered
        return round, one, other, gap, "\n".join(answered), proposed, who

    def _ticket_from_saved(
        self, round: int, one: int, other: int, gap: float, answered: str, proposed: bool, who: str
    ) -> tuple[Any, ...]:
        question = Question(one, other, gap, tuple(answered.split("\n") if answered else ()), proposed)
        return (round, f"{one}-{other}", gap), question, who

    def fresh(self, *, seed: Seed = None) -> Self:
        """Return a queue about the same people that remembers nothing, with another seed if given."""
        return self._made_again(seed=self.seed if seed is None else seed)

    @locked
    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs to continue exactly here."""
        plain = [question.saved() for question in self._waiting]
        answers = [[told, question.saved()] for told, question in self._answers.items()]
        return {
            "config": self.config(),
            "policy": self.policy,
            "round": self.round,
            "tested": self.tested,
            "tickets": self.tickets.snapshot(),
            "waiting": plain,
            "answers": answers,
        }

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the queue that `snapshot` was taken of."""
        queue = cls(**snapshot["config"])
        queue.policy, queue.round, queue.tested = snapshot["policy"], snapshot["round"], snapshot["tested"]
        queue._waiting = [Question.restored(kept) for kept in snapshot["waiting"]]
        queue._answers = {told: Question.restored(asked) for told, asked in snapshot["answers"]}
        queue.tickets.restore_all(snapshot["tickets"])
        return queue

    def _facts(self) -> dict[str, Any]:
        counts = {"people": len(self._rows), "questions": self.round, "answers": len(self._answers)}
        facts: dict[str, Any] = counts | {"scale": str(self.scale), "form": self.form, "checks": self.checked}
        return facts | ({"caveat": self.caveat} if self.caveat else {})

    def __repr__(self) -> str:
        return f"PairQueue({len(self._rows)} people, individuals={self.individuals}, auditors={self.auditors})"

    def _identity(self) -> str:
        return f"{type(self).__name__} {self.features.tolist()} {self.individuals} {self.auditors} {self.seed}"

    @classmethod
    def _examples(cls) -> Iterator[Self]:
        """Yield queues to check: one that is unused and one that has open questions."""
        features, rewards = [[0.1, 0.3], [0.5, 0.2], [0.9, 0.9], [0.2, 0.8]], [0, 1, 1, 0]
        yield cls(features, rewards, seed=1)
        begun = cls(features, rewards, auditors=2, individuals=3, seed=2)
        begun.tell(begun.ask(annotator="ann"), UNFAIR, annotator="ann")
        begun.ask(annotator="bob")
        yield begun
