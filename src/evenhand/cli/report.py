"""`evenhand report`: whether a promise was kept, as one HTML file for people who have neither evenhand nor a key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.audit import PROMISED, Audited, taking_audited
from evenhand.cli.exit_codes import UNDECIDED
from evenhand.cli.log_report import NOTES, log_report
from evenhand.cli.options import JSON, STUDY, Options, is_store
from evenhand.cli.output import answer, is_page
from evenhand.cli.refusals import command_line, typed_options
from evenhand.display.report import page
from evenhand.errors import ArgumentError, expected


@Options(tables="log", beside=PROMISED)
@taking_audited
def report(
    audited: Audited,
    context: typer.Context,
    log: Annotated[str, typer.Argument(metavar="STORE|LOG")],
    *,
    study: STUDY = None,
    reward: str = "",
    call: list[str] | None = None,
    out: Path = Path("report.html"),
    json: JSON = False,
) -> None:
    """Write one HTML file that opens without a server: the promise, whether and where it was broken, a picture, the
    cost, the last decisions with reasons, and how to check it again. Exit code 1 when the promise was broken.

    Parameters
    ----------
    log : The store of a study, or a log as `evenhand audit` reads it.
    reward : A log's column of rewards, to estimate what the promise costs.
    call : What the reader calls an arm, round, play, decision or reward: arm=carrier, or arm=city/cities.
    out : The HTML file to write.
    """
    if not is_page(out):
        raise ArgumentError(expected("--out", "a file that ends in .html", str(out)))
    store = is_store(log)
    for name, option in typed_options(context).items():
        if name not in ("log", "out", "call", "json", "since", "until") and store != (name == "study"):
            beside = "the store of a study, which holds its promise" if store else "a log"
            raise ArgumentError(expected(option, f"nothing together with {beside}", context.params.get(name)))
    again = command_line(context, "audit", ("reward", "out", "call", "json"))
    called = call or []
    if store:
        from evenhand.cli.studies.study_report import study_report

        found = study_report(log, study, called, audited.keywords["since"], audited.keywords["until"])
    else:
        found = log_report(audited, log, reward, again, called)
    of, kept, verdict, parts, told = found
    out.write_text(page(f"Was the promise kept? {of}", kept, verdict, parts), encoding="utf-8")
    notes = parts[NOTES][0]
    said = "\n".join([f"{verdict}.", f"Written: {out}", *(f"- {note}" for note in notes)])
    answer({"file": str(out), "kept": kept, "verdict": verdict, "notes": notes} | told, said, json)
    by = audited.keywords["by"]  # a promise that can still be kept is not broken
    if kept is False or not (kept or store or by):
        raise typer.Exit(UNDECIDED if kept is None else 1)
