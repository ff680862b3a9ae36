"""What a trial shows by itself, and how many people there are: counts and means of the rows of a fitted model."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
    arms, times, sizes = _places(problem, v).astype(np.int64), _places(problem), _sizes(problem, [v])
    scores = np.interp(_places(problem, y), np.arange(len(problem.scores)), problem.scores)
    values = problem.low + problem.scale * scores
    means = np.bincount(arms, times * values, len(states)) / np.maximum(sizes, 1.0)
    squares = np.bincount(arms, times * (values - means[arms]) ** 2, len(states))
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = t.ppf(0.975, sizes - 1.0) * np.sqrt(squares / (sizes - 1.0) / sizes)
    everybody = _constant(problem).posterior(seed=seed)
    low, high = np.quantile(everybody.outcomes, [0.025, 0.975], axis=0)
    shown = {"people": sizes, "outcome": means, "outcome_low": means - reach, "outcome_high": means + reach}
    shown |= {"model": everybody.expected[0], "model_low": low, "model_high": high}
    return pd.DataFrame(shown, index=pd.Index(states, name=v))


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
    structure = problem.structure
    sizes = _sizes(problem, structure.sensitive)
    return {structure.named(group): round(size) for group, size in zip(structure.groups, sizes.tolist(), strict=True)}


def state_sizes(problem: Problem, node: str) -> dict[Any, int]:
    """Return how many people there are in each state of a node."""
    sizes = _sizes(problem, [node])
    return {state: round(size) for state, size in zip(problem.model.states[node], sizes.tolist(), strict=True)}


def _sizes(problem: Problem, nodes: Sequence[str]) -> Floats:
    """Return how many people there are in each combination of states."""
    shape = [len(problem.model.states[node]) for node in nodes]
    places = np.ravel_multi_index([_places(problem, node).astype(np.int64) for node in nodes], shape)
    return np.bincount(places, _places(problem), math.prod(shape)).astype(np.float64)


def _places(problem: Problem, node: str | None = None) -> Floats:
    """Return the position of a node's state in each row, or how often the row was seen."""
    assert problem.model.rows is not None
    return problem.model.rows[:, -1 if node is None else list(problem.model.states).index(node)]
