"""`evenhand recommend DATA --edges ...`: a causal model fitted to a table, and what the data say of the candidates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from evenhand.arguments import real
from evenhand.cli.inputs.inputs import number_of
from evenhand.cli.inputs.tables import GIVEN, read_table
from evenhand.cli.recommendation_report import Shown, in_brief, show, with_interval
from evenhand.data.tables import numbers
from evenhand.errors import ArgumentError, expected, expected_one_of
from evenhand.interventions import CausalModel, Problem
from evenhand.interventions.arms import by_arm, group_sizes, state_sizes
from evenhand.interventions.edges import parents_of, read_edges
from evenhand.interventions.fitting import is_measured
from evenhand.interventions.recommendation import of_outcome
from evenhand.rng import draw_seed

PRIOR_WEIGHTS = (0.1, 2.0)
"""Weights of the prior between which an answer should not change."""
UNCERTAIN = "How strong something unrecorded has to be is computed from the estimates, which are themselves uncertain."
OPEN = "If the estimates are exact, the answer is another: {}. It takes nothing unrecorded to overturn it."


def model_in(path: str | Path) -> CausalModel:
    """Return the model in a BIF file, in the encoding that the command is given.

    Raises
    ------
    TableError
        If the file is absent, in another encoding, or not BIF.
    """
    return CausalModel.from_bif(path, encoding=GIVEN.get().encoding)


def fitted_model(path: Path, edges: str, smoothing: float, cuts: Sequence[str], outcome: str = "") -> CausalModel:
    """Return the model of a graph over the columns of a CSV or Parquet file, whose cells are read as texts; an outcome
    of more than a dozen numbers that changes nothing else is measured.

    Raises
    ------
    ArgumentError, TableError
        If the file, the edges or a cut are not as wanted.
    """
    import pandas as pd

    parents = parents_of(*read_edges(edges))
    nodes = list(parents)
    limits = {column.strip(): (ends, cut) for cut in cuts for column, _, ends in [cut.partition("=")]}
    for column, (_, cut) in limits.items():
        if column not in nodes:
            raise ArgumentError(expected_one_of("--cut", nodes, cut, what="COLUMN=25,45 with one of the columns"))
    leaf = outcome in parents and outcome not in limits and not any(outcome in above for above in parents.values())
    frame = read_table(path, text=[node for node in nodes if node not in limits])
    measured = None
    if leaf and outcome in frame and is_measured(values := pd.to_numeric(frame[outcome], errors="coerce")):
        measured, frame[outcome] = outcome, values
    for column, (ends, cut) in limits.items():
        frame[column] = _grouped(frame, column, ends, cut)
    return CausalModel.fit(frame, edges, smoothing, measured=measured)


def _grouped(frame: Any, column: str, ends: str, cut: str) -> Any:
    """Return the numbers of a column as texts of where they lie: "under 25", "25 to under 45", "45 or more"."""
    import numpy as np

    limits = [number_of(end, "--cut", "COLUMN=25,45: limits in ascending order") for end in ends.split(",")]
    if any(not np.isfinite(limit) for limit in limits) or sorted(set(limits)) != limits:
        raise ArgumentError(expected("--cut", "COLUMN=25,45: limits in ascending order", cut))
    texts = [f"{limit:g}" for limit in limits]
    inner = [f"{low} to under {high}" for low, high in pairwise(texts)]
    names = np.array([f"under {texts[0]}", *inner, f"{texts[-1]} or more"], object)
    bands = names[np.searchsorted(limits, numbers(frame, column), side="right")]
    if len(set(bands)) == 1:
        raise ArgumentError(expected("--cut", f"limits that divide {column}", cut, f"everybody is in {bands[0]!r}"))
    return bands


def show_answer(
    problem: Problem,
    tolerance: float,
    delta: float | None,
    seed: int | None,
    out: Path | None,
    json: bool,
    cuts: Sequence[str] = (),
    again: str = "",
) -> None:
    """Print what a complete model or a table of data says: the answer, every candidate, how sensitive it is, and rows
    that were never seen."""
    structure, fitted = problem.structure, problem.model.counts is not None
    if fitted:
        seed, level = draw_seed(seed), 1.0 - (0.05 if delta is None else real("--delta", delta, above=0, below=0.5))
        posterior = problem.posterior(seed=seed)
        found = posterior.best(tolerance, level=level)
    else:
        found = problem.recommend(tolerance)
    overturn = []
    if (exact := problem.best(tolerance)) != found.candidate:
        overturn.append(OPEN.format(_best_fair(exact)))
    causes = (
        [] if found.refuted or overturn else [structure.intervene] * (problem.lot is None) + [structure.sensitive[0]]
    )
    sensitive = [problem.sensitivity(tolerance=tolerance, between=(node, structure.outcome)) for node in causes]
    overturn += [f"{'If the estimates are exact: ' * (found.status == 'not_shown')}{one}" for one in sensitive]
    body: dict[str, Any] = {
        "sensitivity": [{"between": list(s.between), "strength": s.strength, "words": str(s)} for s in sensitive]
    }
    tables: list[Shown] = []
    sentences: list[str] = []
    if fitted:
        found.notes = (*found.notes, *([UNCERTAIN] if sensitive else []))
        body |= {"seed": seed, "from_prior": posterior.from_prior.to_dict("records"), "groups": group_sizes(problem)}
        others = {at: problem.posterior(seed=seed, smoothing=at).best(tolerance, level=level) for at in PRIOR_WEIGHTS}
        for at, other in others.items():
            overturn += _hanging(problem, found, other, tolerance, f"on the prior. With --smoothing {at:g}")
        if problem.lot is not None:
            arms = by_arm(problem, seed).reset_index()
            body["arms"] = arms.to_dict("records")
            tables.append(_arms(structure.intervene, of_outcome(problem), arms))
        sentences += [_sizes("The table has", group_sizes(problem))]
        columns = dict.fromkeys(cut.partition("=")[0].strip() for cut in cuts)
        sentences += [_sizes(f"Bands of {column}:", state_sizes(problem, column)) for column in columns]
    sure = "probability {:.3f} or more" if fitted else "exact, by the model"
    computed = [f"Drawn with seed {seed}."] * fitted + [again]
    show(problem, found, body, sentences, tolerance, out, json, sure, sensitive, tables, overturn, computed)


def _hanging(problem: Problem, found: Any, other: Any, tolerance: float, prior: str) -> Iterator[str]:
    """Say what another prior changes in the answer, and in what the estimates say of the rules."""
    if other[:2] != found[:2]:
        yield f"The answer hangs {prior}: {in_brief(other)}."
    (high, fair), (highest, fairest) = (_estimated(one.table, tolerance) for one in (found, other))
    said = [f"{highest!r} has the highest {of_outcome(problem)}"] * (highest != high)
    said += [f"{_best_fair(fairest)} if they are exact"] * (fairest != fair)
    if said:
        yield f"The estimates hang {prior}, {' and '.join(said)}."


def _estimated(rows: Any, tolerance: float) -> tuple[Any, Any]:
    """Return the candidate with the highest estimate of the outcome, and that of those that are estimated to be fair,
    None where none is."""
    gaps = rows[[name for name in rows.columns if name.startswith("gap[")]]
    fair = rows["outcome"][(gaps.abs() < tolerance).all(axis=1)]
    return rows["outcome"].idxmax(), fair.idxmax() if len(fair) else None


def _best_fair(label: Any) -> str:
    return "no rule is fair" if label is None else f"{label!r} is the best fair rule"


def _sizes(what: str, sizes: Mapping[Any, int]) -> str:
    """Say how many people are in each band or group.

    >>> _sizes("Bands of age:", {"under 25": 167, "25 or more": 278})
    'Bands of age: under 25 (167 people), 25 or more (278 people).'
    """
    return f"{what} {', '.join(f'{name} ({size:,} people)' for name, size in sizes.items())}."


def _arms(decided: str, outcome: str, arms: Any) -> Shown:
    """Return the table of what the trial shows by itself."""
    numbers = ("outcome", "model")
    lines = [
        [str(row[decided]), f"{row['people']:,.0f}", *(with_interval(row, name) for name in numbers)]
        for row in arms.to_dict("records")
    ]
    return "The trial by itself, and the model", [decided, "people", f"{outcome} as recorded", "by the model"], lines
