"""`evenhand export`: a study's log as a table, for a spreadsheet or for off-policy estimators."""

from __future__ import annotations

import json as json_
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.converse import STORE, STUDY
from evenhand.errors import ArgumentError, wanted

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["export"]

FORMS = ("log", "bandit")


def export(
    store: STORE,
    out: Annotated[str, typer.Option(help="The file: .csv, .csv.gz or .parquet; - for CSV on standard output.")],
    form: Annotated[
        str, typer.Option(help="log: a row a decision; bandit: logged bandit feedback with propensities.")
    ] = "log",
    study: STUDY = None,
) -> None:
    """Write the decisions to a file, a row each."""
    from evenhand.cli.output import say
    from evenhand.studies import Study
    from evenhand.studies.export import bandit_frame, frame

    if form not in FORMS:
        raise ArgumentError(wanted("--form", f"one of {', '.join(FORMS)}", form))
    parquet = out.lower().endswith((".parquet", ".pq"))
    if out != "-" and not parquet and not out.lower().endswith((".csv", ".csv.gz")):
        raise ArgumentError(wanted("--out", "a file ending in .csv, .csv.gz or .parquet, or -", out))
    with Study.open(store, study) as running:
        table = (frame if form == "log" else bandit_frame)(running)
    written = _flat(table)
    if out == "-":
        written.to_csv(sys.stdout, index=False, lineterminator="\n")
        return
    try:
        if parquet:
            written.to_parquet(out, index=False)
        else:
            written.to_csv(out, index=False, lineterminator="\n")
    except OSError as error:
        mend = error.strerror or str(error)
        raise ArgumentError(wanted("--out", "a file that can be written", str(Path(out)), mend)) from error
    say(f"{len(written)} decisions written to {out}")


def _flat(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with lists and objects as JSON, and columns of labels of several kinds as text."""
    table = table.copy()
    for name in table.columns:
        cells = table[name]
        if cells.dtype != object:
            continue
        if any(isinstance(cell, (list, tuple, dict)) for cell in cells):
            table[name] = [None if cell is None else json_.dumps(cell, ensure_ascii=False) for cell in cells]
        elif len({type(cell) for cell in cells if cell is not None}) > 1:
            table[name] = [None if cell is None else str(cell) for cell in cells]
    return table
