"""`evenhand region`: workers of one study in several stores."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand.cli.options import JSON, STORE, STUDY
from evenhand.errors import ArgumentError, wanted

__all__ = ["region"]

WHAT = {
    "export": "the name of the new region",
    "import": "the file that export wrote",
    "exchange": "the folder that the regions share",
}
"""The actions, and what their last argument is."""


def region(
    store: STORE,
    action: Annotated[str, typer.Argument(help="list, export, import or exchange.")] = "list",
    what: Annotated[
        str, typer.Argument(help="For export the region's name, for import the grant, for exchange a folder.")
    ] = "",
    workers: Annotated[int, typer.Option(help="How many workers a new region begins with.")] = 4,
    output: Annotated[Path | None, typer.Option(help="Where to write the grant; by default NAME.grant.")] = None,
    every: Annotated[float | None, typer.Option(help="Exchange again and again, after so many seconds.")] = None,
    study: STUDY = None,
    json: JSON = False,
) -> None:
    """Let workers of one study decide in several stores, each by itself, under one promise over all of them.

    Export a grant from the study's first store, import it at the place of the region, and have both exchange what they
    learn through a folder. The grant holds the study's secret: keep it as a password, and delete it once imported.
    """
    from evenhand.cli.output import answer, as_json, records
    from evenhand.studies import Study

    if action != "list" and action not in WHAT:
        raise ArgumentError(wanted("ACTION", f"one of list, {', '.join(WHAT)}", action))
    if bool(what) == (action == "list"):
        raise ArgumentError(wanted("WHAT", WHAT.get(action, "nothing"), what or None))
    if action == "import":
        with Study.import_region(store, _read(what)) as began:
            words = f"Region {began.region!r} of study {began.name!r} begins in {store}"
            words += f": evenhand workers {shlex.quote(store)}"
            answer({"status": "imported", "region": began.region, "study": began.name}, words, json)
        return
    with Study.open(store, study) as running:
        if action == "export":
            file = output or Path(f"{what}.grant")
            _write(file, lambda: running.export_region(what, workers=workers))
            place = shlex.quote(str(file))
            words = f"Wrote {file}: evenhand region STORE import {place}, at one place only; then delete it"
            answer({"status": "exported", "region": what, "file": str(file)}, words, json)
        elif action == "exchange":
            _exchange(running, what, every, json)
        else:
            table = running.regions
            rows = table.astype(object).where(table.notna(), None).to_dict("records")
            as_json({"regions": rows}) if json else records(f"{running.name}: regions", rows)


def _exchange(study: Any, folder: str, every: float | None, json: bool) -> None:
    from evenhand.cli.output import answer

    if every is not None and not every > 0:
        raise ArgumentError(wanted("--every", "seconds above 0", every))
    while True:
        outcome = study.exchange_reports(folder)
        words = "\n".join(f"{name}: {what}" for name, what in outcome.items()) or "no other region has reported yet"
        answer(outcome, words, json)
        if every is None:
            return
        time.sleep(every)


def _read(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise ArgumentError(wanted("WHAT", WHAT["import"], file, str(error.strerror))) from error


def _write(file: Path, content: Callable[[], bytes]) -> None:
    """Write a file that only its owner may read, and no existing one."""
    try:
        opened = open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")  # noqa: SIM115
    except OSError as error:
        raise ArgumentError(wanted("--output", "a new file", str(file), str(error.strerror))) from error
    with opened:
        try:
            opened.write(content())
        except BaseException:
            file.unlink()
            raise
