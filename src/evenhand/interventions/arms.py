"""What a trial shows by itself, and how many people there are: counts and means of the rows of a fitted model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.kernels.arrays import Floats
from evenhand.rng import Seed

if TYPE_CHECKING:
    from evenhand.interventions import Problem


def by_arm(problem: Problem, seed: Seed = None) -> Any:
    """Return a data frame by value of V: `people`; `outcome`, the mean of their outcomes, with the ends of its 95 %
    t interval; and `model`, what the model says if everybody got the value, with the ends of its 95 % interval.

    Source: W. Gosset, "The Probable Error of a Mean" (1908), for the interval.
    """
    import pandas as pd
    from scipy.stats import t

    v, y = problem.structure.intervene, problem.structure.outcome
    states = problem.model.states[v]
    arms, (values, times) = _codes(problem, [v])[:, 0], _outcomes(problem, y)
    sizes = np.bincount(arms, times, len(states))
    means = np.bincount(arms, times * values, len(states)) / np.maximum(sizes, 1.0)
    squares = np.bincount(arms, times * (values - means[arms]) ** 2, len(states))
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = t.ppf(0.975, sizes - 1.0) * np.sqrt(squares / (sizes - 1.0) / sizes)
    everybody = _constant(problem).posterior(seed=seed)
    low, high = np.quantile(everybody.outcomes, [0.025, 0.975], axis=0)
    frame = pd.DataFrame(
        {"people": sizes, "outcome": means, "outcome_low": means - reach, "outcome_high": means + reach}
    )
    frame = frame.assign(model=everybody.expected[0], model_low=low, model_high=high)
    return frame.set_axis(pd.Index(states, name=v))


def _constant(problem: Problem) -> Problem:
    """Return the problem whose candidates give everybody the same value."""
    from evenhand.interventions.problem import Problem

    s, model = problem.structure, problem.model
    numbers = (problem.low + problem.scale * problem.scores).tolist()
    asked: Any = {"intervene": s.intervene, "sensitive": list(s.sensitive), "outcome": s.outcome}
    values = dict(zip(model.states[s.outcome], numbers, strict=True))
    return Problem(model, **asked, candidates={state: state for state in model.states[s.intervene]}, values=values)


def group_sizes(problem: Problem) -> dict[str, int]:
    """Return how many people there are in each group, by its name in words."""
    structure, times = problem.structure, _rows(problem)[:, -1]
    shape = [len(problem.model.states[name]) for name in structure.sensitive]
    places = np.ravel_multi_index(tuple(_codes(problem, structure.sensitive).T), shape)
    sizes = np.bincount(places, times, len(structure.groups))
    return {structure.named(group): round(float(size)) for group, size in zip(structure.groups, sizes, strict=True)}


def state_sizes(problem: Problem, node: str) -> dict[Any, int]:
    """Return how many people there are in each state of a node."""
    counts = np.bincount(_codes(problem, [node])[:, 0], _rows(problem)[:, -1], len(problem.model.states[node]))
    return {state: round(float(count)) for state, count in zip(problem.model.states[node], counts, strict=True)}


def _rows(problem: Problem) -> Floats:
    assert problem.model.rows is not None
    return problem.model.rows


def _codes(problem: Problem, nodes: Any) -> Any:
    place = list(problem.model.states)
    return _rows(problem)[:, [place.index(node) for node in nodes]].astype(np.int64)


def _outcomes(problem: Problem, node: str) -> tuple[Floats, Floats]:
    """Return the outcome of each row in its units, and how often the row was seen."""
    place = _rows(problem)[:, list(problem.model.states).index(node)]
    scores = np.interp(place, np.arange(len(problem.scores)), problem.scores)
    return problem.low + problem.scale * scores, _rows(problem)[:, -1]
