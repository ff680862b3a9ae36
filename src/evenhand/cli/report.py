"""`evenhand report`: whether a promise was kept, as one HTML file for people who have neither evenhand nor a key."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from evenhand.audit.decision_log import read_plays, read_rounds
from evenhand.cli.audit import PROMISED, Audited, due_rows, taking_audited
from evenhand.cli.exit_codes import UNDECIDED
from evenhand.cli.inputs.inputs import columns_of
from evenhand.cli.options import JSON, STUDY, Options, is_store
from evenhand.cli.output import answer, drawing, is_page
from evenhand.cli.promised import changes, who
from evenhand.cli.refusals import command_line, in_shell, typed_options
from evenhand.cli.report_parts import (
    AGAIN,
    COUNTED,
    LATEST,
    NOTES,
    WEIGHED,
    WHO,
    Found,
    as_table,
    cost_of,
    got,
    own_words,
    promised_lines,
    reworded,
    totals_of,
)
from evenhand.data.tables import numbers
from evenhand.display.report import Aside, Part, Typed, page
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


def log_report(audited: Audited, log: str, reward: str, again: str, call: Sequence[str] = ()) -> Found:
    """Return the report on a log, in the words of `call`."""
    import pandas as pd

    from evenhand.plots import plot_audit

    finding, frame = audited(log=[Path(log)])
    words = own_words(call, finding.promise.arms)
    cost: list[Part] = ["Not known: the log was read in batches."]
    named, last, worth, by = audited.keywords, [], None, finding.promise.weight
    totals: list[Part] = []
    if isinstance(frame, pd.DataFrame):
        cost = ["Not known: name the column of rewards with --reward."]
        order = columns_of(named["order"] or (), frame.columns)
        rounds = read_rounds(frame, order or None, named["round"] or None)
        rows = frame.assign(round=rounds.of_row + 1).sort_values("round", kind="stable").tail(LATEST)
        kept = (named["arm"], named["segment"], named["available"], named["weight"])
        shown = ("round", *order, *kept, "reason", reward)
        last = [as_table(rows[[name for name in dict.fromkeys(shown) if name in rows]], "_")]
        if reward:
            known = frame.dropna(subset=reward) if reward in frame else frame
            earned, plays = numbers(known, reward), read_plays(known, named["arm"], dict.fromkeys(finding.promise.arms))
            alone = len(plays.labels) == len(known)
            cost = cost_of(finding.promise, plays.labels, earned) if alone else ["Not known: arms share rewards."]
            cost = [f"Not known: the promise is about {by}, not about rounds."] if by else cost
            if alone:
                told = pd.DataFrame({named["arm"]: plays.labels, reward: earned})
                worth = reward, told.groupby(named["arm"])[reward].mean().to_dict()
                totals = [as_table(totals_of(told, named["arm"], reward, finding), "_")]
    inside = f"value of {named['segment']}" if named["segment"] else ""
    if Path(log).is_file():
        with Path(log).open("rb") as file:
            again += f"\nsha256sum {shlex.quote(log)}    # {hashlib.file_digest(file, 'sha256').hexdigest()}"
    breach, ahead = finding.first_breach, finding.outlook
    first = [f"The first breach: {breach}."] if breach else []
    parts = {
        WHO: [*first, *got(finding, bool(named["segment"]), worth)],
        "What changed": [as_table(pd.DataFrame(changed))] if (changed := changes(finding)) else [],
        "What is promised": [promised_lines(finding.promise, inside), Aside(WEIGHED.format(by) if by else COUNTED)],
        "By the end of the period": [f"{ahead.verdict}.", as_table(pd.DataFrame(due_rows(ahead)))] if ahead else [],
        "The picture": [drawing(partial(plot_audit, finding), words)],
        "Totals": totals,
        "What it costs": cost,
        "The last decisions": last,
        AGAIN: [Typed(again)],
        NOTES: [list(map(in_shell, finding.notes))],
    }
    kept_so_far = finding.kept if finding.enough else None
    if ahead:
        parts[NOTES] = [[f"{finding.verdict}, counted after each.", *map(in_shell, finding.notes)]]
        kept_so_far = ahead.kept if not (ahead.kept and ahead.rest) else None
    return (
        log,
        kept_so_far,
        words((ahead or finding).verdict),
        reworded(parts, words),
        {"who": who(finding), "changes": changed},
    )
