"""`evenhand recommend DATA --edges ...`: a causal model fitted to a table, and what the data say of the candidates."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.errors import ArgumentError, wanted, wanted_one_of

if TYPE_CHECKING:
    from evenhand.interventions import CausalModel, Problem

__all__ = ["fitted_model", "model_in", "show_posterior"]


UNCERTAIN = "The two factors rest on the fitted tables; how uncertain these are is not in them."


def model_in(path: str | Path) -> CausalModel:
    """Return the model in a BIF file, in the encoding that the command is given.

    Raises
    ------
    TableError
        If the file is absent, in another encoding, or not BIF.
    """
    from evenhand.cli.reading.tables import GIVEN
    from evenhand.interventions import CausalModel

    return CausalModel.from_bif(path, encoding=GIVEN.get().encoding)


def fitted_model(path: Path, edges: str, smoothing: float, cuts: Sequence[str]) -> CausalModel:
    """Return the model of a graph over the columns of a CSV or Parquet file, whose cells are read as texts.

    Raises
    ------
    ArgumentError, TableError
        If the file, the edges or a cut are not as wanted.
    """
    from evenhand.cli.reading.tables import read_table
    from evenhand.interventions import CausalModel
    from evenhand.interventions.edges import parents_of, read_edges

    nodes = list(parents_of(*read_edges(edges)))
    frame = read_table(path, text=nodes)
    for cut in cuts:
        column, _, ends = cut.partition("=")
        if column.strip() not in nodes:
            raise ArgumentError(wanted_one_of("--cut", nodes, cut, what="COLUMN=25,45 with one of the columns"))
        frame[column.strip()] = _grouped(frame, column.strip(), ends, cut)
    return CausalModel.fit(frame, edges, smoothing)


def _grouped(frame: Any, column: str, ends: str, cut: str) -> Any:
    """Return the numbers of a column as texts of where they lie: "under 25", "25 to under 45", "45 or more"."""
    import numpy as np

    from evenhand.data.tables import numbers

    try:
        limits = [float(end) for end in ends.split(",")]
    except ValueError as error:
        raise ArgumentError(wanted("--cut", "COLUMN=25,45: limits in ascending order", cut)) from error
    if any(not np.isfinite(limit) for limit in limits) or sorted(set(limits)) != limits:
        raise ArgumentError(wanted("--cut", "COLUMN=25,45: limits in ascending order", cut))
    texts = [f"{limit:g}" for limit in limits]
    inner = [f"{low} to under {high}" for low, high in pairwise(texts)]
    names = np.array([f"under {texts[0]}", *inner, f"{texts[-1]} or more"], object)
    return names[np.searchsorted(limits, numbers(frame, column), side="right")]


def show_posterior(
    problem: Problem, tolerance: float, level: float, seed: int | None, out: Path | None, json: bool
) -> None:
    """Print what the data say: the answer, every candidate, rows that were never seen, and how sensitive it is."""
    from evenhand.cli.output import as_json, say, say_notes, table
    from evenhand.rng import draw_seed

    seed = draw_seed(seed)
    posterior = problem.posterior(seed=seed)
    found, unseen = posterior.best(tolerance, level=level), posterior.unseen
    rows = found.table.reset_index()
    sensitive = [
        problem.sensitivity(tolerance=tolerance, between=(node, problem.structure.outcome))
        for node in (problem.structure.intervene, problem.structure.sensitive[0])
    ]
    if out is not None:
        _write(found, rows, tolerance, sensitive, out)
    body: dict[str, Any] = {
        "candidate": found.candidate,
        "status": found.status,
        "confidence": found.confidence,
        "seed": seed,
    }
    body["notes"] = [*found.notes, UNCERTAIN]
    if json:
        causes = [{"between": list(s.between), "strength": s.strength, "words": str(s)} for s in sensitive]
        cells = rows.astype(object).where(rows.notna(), None)
        more = {"unseen": unseen.to_dict("records"), "sensitivity": causes}
        as_json({**body, **more, "table": cells.to_dict("records")}, found)
        return
    _print_candidates(rows)
    say(_in_words(found, rows))
    say_notes(found)
    for words in (*map(str, sensitive), UNCERTAIN):
        say(words)
    if len(unseen):
        shown = unseen.assign(mass=unseen["mass"].map("{:.3g}".format), candidates=unseen["candidates"].map(_listed))
        title = "Never seen in the data: here the prior alone speaks"
        table(title, ["node", "given", "probability", "candidates"], shown.to_numpy().tolist())
    say(f"Drawn with seed {seed}")


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(map(str, names))


def _print_candidates(rows: Any) -> None:
    """Print every candidate; of more than three gaps the largest alone."""
    from evenhand.cli.output import table
    from evenhand.cli.recommendation import compact

    gaps = [name for name in rows.columns if name.startswith("gap[")]
    header, lines = compact(rows.drop(columns=gaps) if len(gaps) > 3 else rows)
    extra = ["is fair", "is best"]
    shares = [[f"{share:.3f}" for share in row] for row in rows[["fair", "best"]].to_numpy()]
    if len(gaps) > 3:
        extra.insert(0, "largest gap")
        for share, (_, row) in zip(shares, rows[gaps].iterrows(), strict=True):
            share.insert(0, f"{row.abs().max():.3f} ({row.abs().idxmax()[4:-1].replace(', ', ' - ')})")
    table("Candidates", [*header, *extra], [[*line, *share] for line, share in zip(lines, shares, strict=True)])


def _in_words(found: Any, rows: Any) -> str:
    """Return the answer as a sentence."""
    if found.status == "none_is_fair":
        return f"none is fair (posterior probability {found.confidence:.3f} or more)"
    if found.status == "certified":
        return f"certified: {found.candidate} (posterior probability {found.confidence:.3f} or more)"
    if found.candidate is None:
        return "not shown: probably none is fair"
    share = float(rows.loc[rows["candidate"] == found.candidate, "best"].iloc[0])
    return f"not shown: {found.candidate} is the best guess (posterior probability {share:.3f})"


def _write(found: Any, rows: Any, tolerance: float, sensitive: list[Any], out: Path) -> None:
    """Write the tables and the pictures into a folder."""
    from functools import partial

    from evenhand.cli.output import draw, folder
    from evenhand.data.csv_files import write_csv
    from evenhand.plots.interventions import plot_candidates, plot_sensitivity

    folder(out)
    write_csv(rows, out / "candidates.csv")
    both = partial(plot_candidates, found, tolerance=tolerance)
    draw(out, "candidates", both, width=9.5, height=1.6 + 0.28 * len(rows), columns=2)
    for one, name in zip(sensitive, ("sensitivity", "sensitivity-to-groups"), strict=True):
        write_csv(one.curve(), out / f"{name}.csv")
        draw(out, name, partial(plot_sensitivity, one), width=9.5, height=4.2, columns=2)
