"""What a search has found: the recommendation, and a table of what is known about every candidate; what its
confidence means, and what the answer assumes, in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from evenhand.display.html import Card, HasCard, Table
from evenhand.interventions.structure import Structure
from evenhand.labels import label_texts
from evenhand.protocol import Label

if TYPE_CHECKING:
    from evenhand.interventions import Problem

Ends = tuple[Any, ...]
"""Estimates, lower ends, upper ends."""

Status = Literal["certified", "not_shown", "none_is_fair", "graph_refuted", "uncertified", "no_fair_candidate"]
TOO_MANY = 10
"""Beyond so many times the data, no number of more is said."""
EXACT = "Computed from the model's tables, which are taken as exact."


class Found(NamedTuple):
    """What a recommendation unpacks to."""

    candidate: Label | None
    status: Status
    table: Any


class Recommendation(HasCard, Found):
    """The candidate that the evidence favours.

    Attributes
    ----------
    candidate : its label; where the status is "not_shown" or "graph_refuted" the best guess; None where no candidate is
        fair, or none is known to be.
    status : "certified", "not_shown" or "none_is_fair"; of data that contradict the graph "graph_refuted"; of searches
        by the paper's rules "certified", "uncertified" or "no_fair_candidate".
    table : data frame by candidate: `outcome`, `outcome_low`, `outcome_high`; for each pair of values a, b of S
        `gap[a, b]`, `gap_low[a, b]`, `gap_high[a, b]`, all in the outcome's units, missing where no trial is
        informative; `verdict`, "certified", "fair", "unfair", "undecided" or "dropped", with the `phase` and `reason`
        of dropping. The estimates rest on all that was told; the paper's rules use others, so that the candidate that
        they name need not be the highest in the table.
    confidence : of a search that tests, 1 - delta: of 100 such trials at most 100 delta ever give a wrong answer, which
        is not the probability that this one is right. Of a posterior, a lower bound of the answer's posterior
        probability. None for "not_shown", and for the paper's rules, which state none.
    more : of a status "not_shown", about how many more trials, or rows of data, would show the answer if the estimates
        so far are right; None where that cannot be said. Above ten times the data the notes say why instead.
    refuted : what the graph asserts and the data contradict, one sentence for each.
    notes : what the confidence means here, and what the answer assumes, one sentence for each.
    """

    confidence: float | None = None
    more: int | None = None
    refuted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def over(self, problem: Problem) -> Recommendation:
        """Return the same with nothing certified, if the data of the problem's model contradict its graph."""
        if not problem.refuted:
            return self
        table = self.table.assign(verdict=self.table["verdict"].replace("certified", "fair"))
        found = Recommendation(self.candidate, "graph_refuted", table)
        found.refuted, found.notes = problem.refuted, self.notes
        return found

    def _card(self) -> Card:
        facts = {"candidate": self.candidate, "status": self.status, "confidence": self.confidence}
        return Card("Recommendation", facts, [Table.of(self.table, "Candidates")])


def report(
    problem: Problem, outcomes: Ends, gaps: Ends, verdicts: Sequence[str], dropped: Mapping[int, tuple[int, str]]
) -> Any:
    """Return the table of a recommendation, from estimates of outcomes (K,) and gaps (pairs, K) with their ends; its
    attributes say in words what its columns hold."""
    import pandas as pd

    groups = label_texts(problem.groups, "/")
    columns: dict[str, Any] = {"candidate": list(problem.candidates)}
    for name, part in zip(("outcome", "outcome_low", "outcome_high"), outcomes, strict=True):
        columns[name] = problem.low + problem.scale * part
    for i, (a, b) in enumerate(permutations(range(len(groups)), 2)):
        if a < b:
            for name, part in zip(("gap", "gap_low", "gap_high"), gaps, strict=True):
                columns[f"{name}[{groups[a]}, {groups[b]}]"] = problem.scale * part[i]
    columns["verdict"] = verdicts
    why = [dropped.get(k, (None, "")) for k in range(len(problem.candidates))]
    columns["phase"] = pd.array([phase for phase, _ in why], dtype="Int64")
    columns["reason"] = [words for _, words in why]
    table, who = pd.DataFrame(columns).set_index("candidate"), [problem.structure.named(one) for one in problem.groups]
    pairs = {f"gap[{a}, {b}]": (one, other) for (a, one), (b, other) in combinations(zip(groups, who, strict=True), 2)}
    table.attrs = {name: f"{one} minus {other}".replace(" = ", " ") for name, (one, other) in pairs.items()}
    table.attrs["outcome"] = of_outcome(problem)
    return table


def of_outcome(problem: Problem) -> str:
    """Say what candidates are judged by: "chance of cured = yes" or "average earnings"."""
    y, chance = problem.structure.outcome, len(problem.scores) == 2 and (problem.low, problem.high) == (0.0, 1.0)
    return f"chance of {y} = {problem.model.states[y][int(problem.scores.argmax())]}" if chance else f"average {y}"


def of_tests(delta: float, level: float) -> str:
    """Say what the confidence of a search that tests at this level means, and its intervals.

    >>> of_tests(0.05, 0.0125)[:71]
    'Confidence 0.95: of 100 such trials at most 5 ever give a wrong answer,'
    """
    return (
        f"Confidence {1.0 - delta:g}: of 100 such trials at most {100.0 * delta:g} ever give a wrong answer, whatever "
        "the model's tables; it is not the probability that this answer is right. The table's intervals are those of "
        f"the tests: each end, by itself, is ever wrong in at most {100.0 * level:.2g} of 100."
    )


def of_draws(draws: int) -> str:
    """Say what the confidence of a posterior means."""
    return (
        f"Probabilities come from {draws:,} draws of the model's tables given the data (their posterior); that of an "
        "answer that is shown is a lower bound. They suppose the graph and the prior of the tables. If you look again "
        "as data come in, ask for a higher level."
    )


def of_refuted(draws: int) -> str:
    """Say what intervals and shares mean where the data contradict the graph."""
    return (
        f"Intervals and shares come from {draws:,} draws under this graph and the prior of its tables. The table "
        "refutes the graph: more rows would not show an answer, another graph may."
    )


def of_more(
    more: int | None,
    seen: float,
    what: str,
    why: str = "the answer is too close",
    middle: tuple[float, float] | None = None,
) -> str:
    """Say how many more trials or rows an answer needs, given how many were seen; `middle` is a range of that number
    over at least the middle half of what the truth may be.

    >>> of_more(4200, 1000, "trials")
    'About 4,200 more trials like these would show the answer, if the estimates so far are right.'
    >>> of_more(4200, 1000, "rows", middle=(900, float("inf")))[56:]
    'if the estimates so far are right; 900 to more than 10,000 over at least half of what is probable.'
    >>> print(of_more(2_000_000, 1000, "rows", "the gap of 'now' is too near the tolerance 0.1"))
    Not by data like these: ten times as many rows would not show the answer, because the gap of 'now' is too near the
    tolerance 0.1.
    """
    if more is None and not seen:
        return f"It is unclear how many more {what} are needed: too little is known."
    if more is None or more > TOO_MANY * seen:
        return f"Not by data like these: ten times as many {what} would not show the answer, because {why}."
    most = TOO_MANY * seen
    ends = [f"{end:,.0f}" if end <= most else f"more than {most:,.0f}" for end in middle or ()]
    over = f"; {' to '.join(dict.fromkeys(ends))} over at least half of what is probable" if middle else ""
    return f"About {more:,} more {what} like these would show the answer, if the estimates so far are right{over}."


def never_given(problem: Problem) -> tuple[str, ...]:
    """Say which values of V the first candidate never gives, and another does."""
    given = np.asarray((problem.tables > 0).any(tuple(range(1, problem.tables.ndim - 1))))
    states, v = problem.model.states[problem.structure.intervene], problem.structure.intervene
    missed = [f"{v} = {state}" for state, by in zip(states, given.T, strict=True) if by.any() and not by[0]]
    why = (
        f"Trials of the first candidate, {problem.candidates[0]!r}, say nothing of {', '.join(missed)}, which it never "
    )
    return (f"{why}gives: put the rule that is in use first, or a lottery.",) if missed else ()


def supposed(structure: Structure, unknown: Sequence[str], *, through_v: bool) -> str:
    """Say what an answer of tests takes from the graph."""
    s, v, y = " and ".join(structure.sensitive), structure.intervene, structure.outcome
    words = f"Supposed: {s} has no causes in the graph, and every trial drew {v} by its candidate's own table"
    words += f", reaching {y} from {s} through {v} alone" if through_v else ""
    return (
        f"{words}; trials of {', '.join(map(repr, unknown))} inform only about themselves." if unknown else f"{words}."
    )
