"""`evenhand effects`: each arm against a control, from a log whose arms were drawn with known chances."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.audit_parity import WITH_INTERVALS, written_rows
from evenhand.cli.evaluate import propensity_of
from evenhand.cli.inputs.tables import read_table
from evenhand.cli.options import JSON, STUDY, Options, is_store
from evenhand.cli.output import as_json, drawing, folder, print_text, records, say_notes
from evenhand.cli.refusals import command_line, in_shell, typed_options
from evenhand.data.csv_files import write_csv
from evenhand.display.digits import with_signs
from evenhand.display.html import Table
from evenhand.display.report import Part, Typed, page
from evenhand.errors import ArgumentError, expected, masked
from evenhand.evaluation import effects as compare

if TYPE_CHECKING:
    from evenhand.evaluation import Effects

IN_STUDIES = ("arm", "reward", "propensity")
"""What a study knows by itself."""


@Options(tables="log")
def effects(
    log: Annotated[str, typer.Argument(metavar="STORE|LOG")],
    context: typer.Context,
    *,
    study: STUDY = None,
    control: str,
    alpha: float = 0.05,
    anytime: bool = False,
    arm: str = "arm",
    reward: str = "reward",
    propensity: str = "",
    out: Path | None = None,
    json: JSON = False,
) -> None:
    """Compare each arm with a control: test, difference and interval, from a study or log whose arms were drawn by lot
    with known chances. Outcomes are 0 and 1.

    Parameters
    ----------
    log : The store of a study, or a log, one row per decision in their order: CSV, Parquet, Arrow or JSON lines, or -.
    control : The arm that others are compared with.
    alpha : The probability with which arms that are all alike are said to differ.
    anytime : Look at any time: e-values in place of intervals, up to the first open decision.
    arm : A log's column with the arm of each decision.
    reward : A log's column with the outcome, 0 or 1, empty where none is known.
    propensity : A log's columns with the chance of each arm, whichever was drawn: a=COLUMN,b=COLUMN. Those of an export
        are found.
    out : Folder for report.html, one page with the answer, a picture and the tables, for effects.png and effects.csv.
    """
    store = is_store(log)
    for name, option in typed_options(context).items():
        if (name in IN_STUDIES and store) or (name == "study" and not store):
            what = "nothing together with " + ("the store of a study" if store else "a log")
            raise ArgumentError(expected(option, what, context.params.get(name)))
    settings: dict[str, Any] = {"control": control, "alpha": alpha, "anytime": anytime}
    promises: list[str] = []
    if store:
        from evenhand.studies import Study

        with Study.open(log, study) as running:
            found, epochs = compare(running, **settings), running.statistics().epochs
        each = [", ".join(f"{one} at least {share:.4g}" for one, share in epoch.shares.items()) for epoch in epochs]
        promises = [f"From decision {one.round:,} on: {said}." for one, said in zip(epochs, each, strict=True)]
    else:
        frame = read_table(log, text=[arm, "status"])
        found = compare(frame, **settings, arm=arm, reward=reward, propensity=propensity_of(propensity, frame))
    written = [] if out is None else _write(found, promises, Path(log).name, folder(out), context)
    if json:
        tables = {name: getattr(found, name).to_dict("records") for name in ("arms", "chances", "dropped")}
        as_json(vars(found) | tables | {"course": found.course.reset_index().to_dict("list")}, found)
        return
    print_text(str(found))
    say_notes(found)
    records(f"Against {found.control}", _rows(found))
    if written:
        print_text("Written: " + ", ".join(map(str, written)))


def _rows(found: Effects) -> list[dict[Any, Any]]:
    """Return the table of arms as people read it."""
    table = found.arms.rename(columns={"low": "once_low", "high": "once_high"})
    rows = written_rows(table, ({"difference"} | WITH_INTERVALS, with_signs))
    return [row | ({} if row["observed"] else {"rate": "no known outcomes"}) for row in rows]


def _write(found: Effects, promises: list[str], log: str, out: Path, context: typer.Context) -> list[Path]:
    """Write a page to hand over, its picture and the arms into a folder, and return what was written."""
    import pandas as pd

    from evenhand.plots import plot_effects

    drawn = drawing(partial(plot_effects, found), width=12.0, columns=2)
    (out / "effects.png").write_bytes(drawn)
    write_csv(found.arms.assign(caution=in_shell(found.notes[0])), out / "effects.csv")
    parts: dict[str, list[Part]] = {
        "The arms": [Table.of(pd.DataFrame(_rows(found)).rename(columns=lambda name: name.replace("_", " ")))],
        "The picture": [drawn],
        "The promises in force": [promises],
        "The chances of each arm": [Table.of(found.chances)],
        "Decisions without an outcome": [Table.of(found.dropped)] if len(found.dropped) else ["None."],
        "How to check it again": [Typed(masked(command_line(context, without=("out", "json"))))],
        "Before you believe it": [[in_shell(note) for note in found.notes]],
    }
    title = f"Each arm against {found.control}: {log}"
    (out / "report.html").write_text(page(title, None, str(found), parts), encoding="utf-8")
    return [out / name for name in ("report.html", "effects.png", "effects.csv")]
