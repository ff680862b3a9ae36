"""What the confidence of an answer means, and what the answer supposes, in words."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.interventions.structure import Structure

EXACT = "Computed from the model's tables as they stand; how sure these tables are is not in it."


def of_tests(delta: float) -> str:
    """Say what the confidence of a search that tests means.

    >>> of_tests(0.05)[:71]
    'Confidence 0.95: of 100 such trials at most 5 ever give a wrong answer,'
    """
    return (
        f"Confidence {1.0 - delta:g}: of 100 such trials at most {100.0 * delta:g} ever give a wrong answer, whatever "
        "the model's tables; it is not the probability that this answer is right."
    )


def of_draws(draws: int) -> str:
    """Say what the confidence of a posterior means."""
    return (
        f"The confidence is a lower bound of the answer's posterior probability, from {draws:,} draws. It supposes the "
        "graph and the prior of the tables. If you look again as data come in, ask for a higher level."
    )


def of_more(more: int | None, what: str) -> str:
    """Say how many more trials or rows an answer needs.

    >>> of_more(4200, "trials")
    'About 4,200 more trials like these would show the answer, if the estimates so far are right.'
    """
    if more is None:
        return f"How many more {what} would show the answer cannot be said: too little is known, or it is too close."
    return f"About {more:,} more {what} like these would show the answer, if the estimates so far are right."


def supposed(structure: Structure, unknown: Sequence[str], *, through_v: bool) -> str:
    """Say what an answer of tests takes from the graph."""
    s, v, y = " and ".join(structure.sensitive), structure.intervene, structure.outcome
    words = f"Supposed: {s} has no causes in the graph, and every trial drew {v} by its candidate's own table"
    words += f", reaching {y} from {s} through {v} alone" if through_v else ""
    return f"{words}; trials of {', '.join(unknown)} speak of themselves alone." if unknown else f"{words}."
