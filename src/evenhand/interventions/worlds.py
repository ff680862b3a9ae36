"""Simulated trials: the samples that an allocation asks for, drawn from the exact law of a problem."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from evenhand.errors import ArgumentError, Wording, expected
from evenhand.interventions.model import CausalModel
from evenhand.interventions.problem import Problem
from evenhand.interventions.trial_tables import TICKET, drawn
from evenhand.registry import register
from evenhand.rng import generator


@register("interventions/simulated-trial", kind="world")
class SimulatedTrial:
    """Answer allocations with samples of the problem's own model.

    Parameters
    ----------
    problem : a problem whose model has the tables of the outcome and of all its ancestors.

    Raises
    ------
    ArgumentError
        If the problem rests on a log: its law is an estimate.

    Examples
    --------
    >>> world = next(SimulatedTrial._examples())
    >>> world.reset(seed=1)
    >>> world.problem.candidates
    ('now', 'even', 'rich')
    """

    def __init__(self, problem: Problem) -> None:
        if not isinstance(problem, Problem) or not problem.exact:
            raise ArgumentError(expected("problem", "a Problem over a complete model", problem))
        self.problem = problem
        self._random: np.random.Generator | None = None

    def reset(self, seed: int) -> None:
        """Start anew from a seed."""
        self._random = generator(seed)

    def observe(self) -> tuple[()]:
        """Begin a round; a search is shown nothing."""
        return ()

    def respond(self, ticket: Any) -> tuple[Any]:
        """Return the samples of an allocation, one row per combination of values seen, with its count."""
        if self._random is None:
            raise ArgumentError(expected("world", "reset(seed) before the first round", Wording("none")))
        return (drawn(self.problem, ticket.plan, self._random).assign(**{TICKET: ticket.id}),)

    @classmethod
    def _examples(cls) -> Iterator[SimulatedTrial]:
        """Yield a small trial: a dose, set with or without regard to sex, and a mediator that depends on both."""
        model = CausalModel.from_tables(
            {"sex": ["f", "m"], "dose": ["low", "mid", "high"], "weight": [0, 1], "cured": [0, 1]},
            {"sex": [], "weight": ["sex"], "dose": ["weight"], "cured": ["dose", "weight"]},
            {
                "sex": [0.5, 0.5],
                "weight": [[0.7, 0.3], [0.3, 0.7]],
                "dose": [[0.5, 0.3, 0.2], [0.3, 0.4, 0.3]],
                "cured": [[[0.6, 0.4], [0.8, 0.2]], [[0.4, 0.6], [0.6, 0.4]], [[0.2, 0.8], [0.4, 0.6]]],
            },
        )
        candidates = {
            "now": [[0.5, 0.3, 0.2], [0.3, 0.4, 0.3]],
            "even": [[0.3, 0.4, 0.3], [0.05, 0.25, 0.7]],
            "rich": [[0.05, 0.15, 0.8], [0.3, 0.5, 0.2]],
        }
        yield cls(Problem(model, intervene="dose", sensitive="sex", outcome="cured", candidates=candidates))
