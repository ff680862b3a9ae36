"""`evenhand reproduce`: a paper's figure, with a verdict on each of its claims."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.options import JSON, Options
from evenhand.cli.output import as_json, folder, picture_formats, print_text, table
from evenhand.errors import ArgumentError, expected
from evenhand.extras import optional


@Options(beside={"--reduced": "not --quick"})
def reproduce(
    experiment: str,
    *,
    quick: bool = False,
    reduced: bool = False,
    trials: Annotated[int | None, typer.Option(min=1)] = None,
    rounds: Annotated[int | None, typer.Option(min=1)] = None,
    device: str | None = None,
    finished_only: bool = False,
    out: Path = Path("out"),
    pictures: str = "png",
    jobs: int = -1,
    strict: bool = False,
    json: JSON = False,
) -> None:
    """Reproduce a paper's figure: data, picture, and one verdict per claim. Repeat it after an interruption.

    Parameters
    ----------
    experiment : An experiment such as quotas/fig3, or a paper such as quotas.
    quick : Use small settings: seconds instead of minutes.
    reduced : Use settings that take hours on a CPU, for picture experiments.
    trials : The number of trials, in sampling experiments. Finished trials are kept, so more can follow.
    rounds : The number of rounds in each trial or replication.
    device : Where to compute: cpu, cuda or cuda:1, for picture experiments.
    finished_only : Report the finished trials of a picture experiment; run nothing.
    out : Folder for data, pictures and reports.
    pictures : Formats of the pictures: png, pdf, svg, or several, pdf,png.
    jobs : The number of processes; -1 for all cores.
    strict : Exit with code 1 if a conclusive claim is not reproduced.
    """
    from evenhand.experiments.framework import Runner, find

    optional("h5netcdf", "a reproduction")
    formats = picture_formats(pictures)
    bodies = []
    missed = False
    given = {"trials": trials, "rounds": rounds, "device": device}
    changes = {name: value for name, value in given.items() if value is not None}
    for one in [found.chosen(quick=quick, reduced=reduced, **changes) for found in find(experiment)]:
        if finished_only and one.reduced is None:
            raise ArgumentError(expected("--finished-only", "a picture experiment", one.id, "leave it out"))
        place = folder(out / one.id / (one.size if rounds is None else f"{one.size}-{rounds}-rounds"))
        started = time.perf_counter()
        runner = Runner(jobs=jobs, progress=not json, store=place / "partial", finished_only=finished_only)
        report = one.run(runner)
        one.write(report, place, formats)
        if trials is None and not finished_only:
            shutil.rmtree(place / "partial", ignore_errors=True)
        verdicts = [verdict.as_dict() for verdict in report.verdicts]
        missed |= any(verdict.conclusive and not verdict.reproduced for verdict in report.verdicts)
        seconds = time.perf_counter() - started
        bodies.append({"id": one.id, "verdicts": verdicts, "folder": str(place), "seconds": round(seconds, 1)})
        if not json:
            rows = [(v.claim.says, v.claim.where, v.measured, v.text) for v in report.verdicts]
            table(f"{one.id}: {one.title}", ("claim", "where", "measured", "verdict"), rows)
            print_text(*(f"- {remark}" for remark in report.remarks), f"{seconds:.0f} s; written to {place}\n")
    if json:
        as_json(bodies)
    if strict and missed:
        raise typer.Exit(1)
