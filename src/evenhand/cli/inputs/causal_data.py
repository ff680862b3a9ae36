"""`evenhand recommend DATA --edges ...`: a causal model fitted to a table, and what the data say of the candidates."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from evenhand.arguments import real
from evenhand.cli.inputs.inputs import number_of
from evenhand.cli.inputs.tables import GIVEN, read_table
from evenhand.cli.recommendation import in_brief, show
from evenhand.data.tables import numbers
from evenhand.errors import ArgumentError, wanted, wanted_one_of
from evenhand.interventions import CausalModel, Problem
from evenhand.interventions.edges import parents_of, read_edges
from evenhand.interventions.sensitivity import Sensitivity
from evenhand.rng import draw_seed

PRIOR_WEIGHTS = (0.1, 2.0)
"""Weights of the prior between which an answer should not change."""
UNCERTAIN = "The two factors are computed from the fitted tables and ignore how uncertain these are."


def model_in(path: str | Path) -> CausalModel:
    """Return the model in a BIF file, in the encoding that the command is given.

    Raises
    ------
    TableError
        If the file is absent, in another encoding, or not BIF.
    """
    return CausalModel.from_bif(path, encoding=GIVEN.get().encoding)


def fitted_model(path: Path, edges: str, smoothing: float, cuts: Sequence[str]) -> CausalModel:
    """Return the model of a graph over the columns of a CSV or Parquet file, whose cells are read as texts.

    Raises
    ------
    ArgumentError, TableError
        If the file, the edges or a cut are not as wanted.
    """
    nodes = list(parents_of(*read_edges(edges)))
    limits = {column.strip(): (ends, cut) for cut in cuts for column, _, ends in [cut.partition("=")]}
    for column, (_, cut) in limits.items():
        if column not in nodes:
            raise ArgumentError(wanted_one_of("--cut", nodes, cut, what="COLUMN=25,45 with one of the columns"))
    frame = read_table(path, text=[node for node in nodes if node not in limits])
    for column, (ends, cut) in limits.items():
        frame[column] = _grouped(frame, column, ends, cut)
    return CausalModel.fit(frame, edges, smoothing)


def _grouped(frame: Any, column: str, ends: str, cut: str) -> Any:
    """Return the numbers of a column as texts of where they lie: "under 25", "25 to under 45", "45 or more"."""
    import numpy as np

    limits = [number_of(end, "--cut", "COLUMN=25,45: limits in ascending order") for end in ends.split(",")]
    if any(not np.isfinite(limit) for limit in limits) or sorted(set(limits)) != limits:
        raise ArgumentError(wanted("--cut", "COLUMN=25,45: limits in ascending order", cut))
    texts = [f"{limit:g}" for limit in limits]
    inner = [f"{low} to under {high}" for low, high in pairwise(texts)]
    names = np.array([f"under {texts[0]}", *inner, f"{texts[-1]} or more"], object)
    return names[np.searchsorted(limits, numbers(frame, column), side="right")]


def show_answer(
    problem: Problem, tolerance: float, delta: float | None, seed: int | None, out: Path | None, json: bool
) -> None:
    """Print what a complete model or a table of data says: the answer, every candidate, how sensitive it is, and rows
    that were never seen."""
    structure, fitted = problem.structure, problem.model.counts is not None
    if fitted:
        seed, level = draw_seed(seed), 1.0 - (0.05 if delta is None else real("--delta", delta, above=0, below=0.5))
        posterior = problem.posterior(seed=seed)
        found = posterior.best(tolerance, level=level)
        found.notes = (*found.notes, UNCERTAIN)
    else:
        found = problem.recommend(tolerance)
    sensitive = [
        Sensitivity(problem, found.candidate, tolerance=tolerance, between=(node, structure.outcome))
        for node in (structure.intervene, structure.sensitive[0])
    ]
    sentences = [str(one) for one in sensitive]
    body: dict[str, Any] = {
        "sensitivity": [{"between": list(s.between), "strength": s.strength, "words": str(s)} for s in sensitive]
    }
    if fitted:
        body |= {"seed": seed, "from_prior": posterior.from_prior.to_dict("records")}
        others = {at: problem.posterior(seed=seed, smoothing=at).best(tolerance, level=level) for at in PRIOR_WEIGHTS}
        changed = [f"{at:g} it is {in_brief(other)!r}" for at, other in others.items() if other[:2] != found[:2]]
        if changed:
            sentences.append(f"The answer hangs on the prior: with --smoothing {', '.join(changed)}")
        sentences.append(f"Drawn with seed {seed}")
    sure = "posterior probability {:.3f} or more" if fitted else "exact"
    show(found, body, sentences, tolerance, out, json, sure, sensitive)
