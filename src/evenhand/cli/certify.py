"""`evenhand certify`: whether every group's risk is at most a limit, on rows that the collection has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.options import EMPTY, JSON

if TYPE_CHECKING:
    from evenhand.sampling import ArrayPool, Certification, TablePool


def certify(
    folder: Annotated[Path, typer.Argument(help="The folder that evenhand sample wrote.")],
    threshold: Annotated[float, typer.Option("--at-most", help="The limit of every group's risk, such as 0.25.")],
    fresh: Annotated[Path | None, typer.Option(help="Labelled rows in a table; else what the pool has left.")] = None,
    delta: Annotated[float, typer.Option(help="The probability with which the verdict may be wrong.")] = 0.05,
    empty: EMPTY = "refuse",
    json: JSON = False,
) -> None:
    """Certify that the risk of every group is at most a limit, on rows that the collection has not seen.

    Exit code 1 unless it is certified.
    """
    from evenhand import load
    from evenhand.cli.output import as_json, records, say
    from evenhand.errors import ArgumentError, wanted
    from evenhand.sampling import Certification

    if not (folder / "pool.evenhand").is_file():
        raise ArgumentError(wanted("folder", "the folder that `evenhand sample` wrote, its --out", str(folder)))
    sampler, model, pool = (load(folder / f"{name}.evenhand") for name in ("sampler", "model", "pool"))
    loss = "zero_one" if sampler.loss == "log" else sampler.loss
    check = Certification(pool.groups, model, threshold=threshold, delta=delta, batch=10, loss=loss)
    rows = pool if fresh is None else _rows_in(fresh, pool, empty)
    for group in set(pool.groups).difference(rows.groups):
        check.retire(group)
    while check.verdict == "undecided":
        draw = check.ask()
        check.tell(draw, *rows.respond(draw))
    risks = check.risks.reset_index().to_dict("records")
    if json:
        as_json({"verdict": check.verdict, "at_most": threshold, "groups": risks}, check)
    else:
        records(f"Risks on {check.counts.sum():,} rows that the collection has not seen", risks)
        say(_in_words(check))
    if check.verdict != "certified":
        raise typer.Exit(1)


def _rows_in(path: Path, pool: TablePool, empty: str) -> ArrayPool:
    """Return the rows of a table; they may not be those of the collection.

    Raises
    ------
    ArgumentError
        If the table is the pool, or holds the rows that were drawn.
    """
    import numpy as np

    from evenhand.cli.sample import labelled_rows
    from evenhand.errors import ArgumentError, wanted
    from evenhand.sampling import ArrayPool

    features = list(pool.features.encoder.columns)
    frame = labelled_rows(path, pool.group_columns, pool.label_column, features, empty, f"--fresh {path}")
    (X, y, group), known = pool.held_out(frame), np.asarray(pool.X)
    if any(np.array_equal(X, seen) for seen in (known, known[pool.chosen])):
        mend = "leave --fresh out to use what the pool has left"
        raise ArgumentError(wanted("--fresh", "rows that the collection has not seen", str(path), mend))
    return ArrayPool(X, y, group=group)


def _in_words(check: Certification) -> str:
    """Return the verdict as a sentence."""
    risks = check.risks
    few = risks.index[risks["verdict"] == "not_shown"]
    limit, sure = f"{check.threshold:g}", f"with {1 - check.delta:g} confidence, for rows like these"
    if check.verdict == "certified":
        return f"Certified: in every group the risk is at most {limit}, {sure}."
    if check.verdict == "refuted":
        worst = risks[risks["verdict"] == "refuted"].iloc[0]
        return f"Refuted: the risk of {worst.name} is above {limit} ({worst.low:.3f} to {worst.high:.3f}), {sure}."
    return f"Not shown: too few rows to tell whether the risk is at most {limit} for {', '.join(map(str, few))}."
