"""What a learner from elsewhere answered: a log keeps it, so that other processes can follow one that answers anew."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class LearnerAnswers:
    """The answers of a learner from elsewhere in the last round.

    Attributes
    ----------
    said : what it answered to each question of the round: a ranking of arms, or their scores.
    expected : what it answers in the round that comes, whatever it says; [] where that is not known.
    differed : what it said last in place of such an answer; None before.

    Examples
    --------
    >>> answers = LearnerAnswers(expected=[[1, 0]])
    >>> answers.heard([0, 1]), answers.differed
    ([1, 0], [0, 1])
    """

    said: list[Any] = field(default_factory=list)
    expected: list[Any] = field(default_factory=list)
    differed: Any = None

    def begin(self) -> None:
        """Begin a round."""
        self.said = []

    def heard(self, answer: list[Any]) -> list[Any]:
        """Return what counts as the answer to the next question of the round."""
        place = len(self.said)
        if place < len(self.expected) and self.expected[place] != answer:
            self.differed, answer = answer, list(self.expected[place])
        self.said.append(list(answer))
        return answer
