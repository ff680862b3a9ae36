"""`evenhand audit`: check any decision log, or logs that were written apart, against promised shares."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.audit.audited_promise import check_named
from evenhand.audit.decision_log import read_plays, times_of
from evenhand.audit.findings import Audit
from evenhand.audit.period import PeriodOutlook, between, read_time
from evenhand.audit.separate_logs import ApartAudit
from evenhand.cli.exit_codes import UNDECIDED
from evenhand.cli.inputs.inputs import changing_shares, columns_of, limits_of, named_shares, one_each, shares_of
from evenhand.cli.inputs.promises import promise_in
from evenhand.cli.inputs.tables import read_log, read_table
from evenhand.cli.options import JSON, Options, with_options_of
from evenhand.cli.output import as_json, cell, draw, folder, print_text, records, say_notes
from evenhand.cli.promised import promised_rows
from evenhand.data.csv_files import write_csv
from evenhand.data.tables import in_natural_order
from evenhand.display.digits import number, plain_number
from evenhand.errors import ArgumentError, SharesError, expected
from evenhand.labels import Labels
from evenhand.promises.clause import AT_MOST
from evenhand.protocol import distinct

if TYPE_CHECKING:
    import pandas as pd

PROMISED = {"--tolerance": "--shares --promise", "--cap-tolerance": "--cap --promise"}
Audited = partial[tuple[Any, Any]]
"""What audits the log that the options of a command name, with these options as its `keywords`."""
OF_OUTLOOK = {True: 0, False: 1, None: UNDECIDED}
"""The exit code by whether a promise can be kept by the end of a period."""


def audited_log(
    log: Annotated[list[Path], typer.Argument(metavar="LOG...")],
    *,
    share_texts: Annotated[list[str] | None, typer.Option("--shares")] = None,
    arm: str = "arm",
    tolerance: float = 0.0,
    order: list[str] | None = None,
    cap_tolerance: float = 0.0,
    cap_texts: Annotated[list[str] | None, typer.Option("--cap")] = None,
    window_texts: Annotated[list[str] | None, typer.Option("--window")] = None,
    promise: Path | None = None,
    segment: str = "",
    available: str = "",
    round: str = "",
    times: str = "",
    weight: str = "",
    since: str = "",
    until: str = "",
    by: str = "",
) -> tuple[Any, Any]:
    """Return the audit of a log, or of several that were written apart, and the log: a table, or the name of files that
    were read in batches.

    Parameters
    ----------
    log : The log, one row per decision: CSV, Parquet, Arrow or JSON lines, or -; or 'logs/*.parquet'. Large CSV and
        Parquet files are read in batches. Several logs are taken to come from processes that decided at the same time:
        the promise is then checked in every order in which their rounds can have happened.
    share_texts : Promised share of each arm: 0.02, or a=0.2,b=1/3, or a CSV with columns arm, share; for shares that
        change, also a column named from: a round, or a time in the column of --order.
    arm : The column with the arm of each decision, or the list of a round's arms.
    tolerance : By how many plays, or by how much of --weight, an arm may be behind its share.
    order : A column to sort by first, such as a timestamp, or several: time,id sorts rows of one time by id, as does
        --order time --order id.
    cap_texts : The most that an arm may have: 0.5, or a=0.5,b=1/3; rounded up to whole plays, 3 of 10 rounds for 25%.
    cap_tolerance : By how many plays, rounded up, or by how much of --weight, an arm may be ahead of its cap.
    window_texts : Least plays in any consecutive rounds: a=2/25,b=10 is twice in any 25, once in any 10.
    promise : TOML or JSON file with a promise, instead of the options above.
    segment : A column; promises are checked inside each of its values.
    available : A column with the arms on offer, separated by commas; by default that of an exported study.
    round : A column whose equal values mark the rows of one round.
    times : A column of times, to say when a promise was broken; the first column of --order if it holds times.
    weight : A column of weights from 0, such as costs or tokens, of whose sum shares and caps are then parts.
    since : Only the rows from a time on, in --times or --order, such as 2026-12-01 or 2026-12-01T09:00+01:00.
    until : Only the rows before a time; a date means to its end.
    by : The end of a period whose shares count then, to say what is still due and whether it can be kept: a time, a
        date to its end, or the number of its rounds (with --weight how much of it). Rounds come as fast as so far.
    """
    given = (share_texts, cap_texts, window_texts)
    shares, cap, window = (",".join(texts or ()) for texts in given)
    from evenhand import audit

    changing: Any = changing_shares(shares)
    named: Any = named_shares(shares) if changing is None and shares else None
    in_order = bool(order or round or changing is not None or since or until or by)
    texts = [name for name in (arm, available, segment) if name]
    if len(log) == 1:
        frame, kinds = read_log(log[0], arm, texts, named, whole=in_order)
        dates = columns_of(order, frame.columns) if order and not times and not isinstance(frame, str) else [times]
        frame, left_out = _between(frame, dates[0], since, until) if since or until else (frame, ())
        given_logs = {"frame": frame}
    else:
        left_out = ()
        frames, kinds = _written_apart(log, arm, texts, named)
        frame, given_logs = frames[0], {"frames": frames}
    if named is None and changing is None and one_each(shares):
        named = shares_of(shares, kinds)
    limits = limits_of(cap, window, None if cap_tolerance else tolerance)
    stated = None if promise is None else promise_in(promise, kinds)
    told: dict[str, Any] = {"--shares": named, "--cap": limits.get("caps"), "--window": limits.get("windows")}
    told["--promise"] = {arm: 0 for clause in (stated.clauses if stated else ()) for arm in clause.arms}
    check_named(told, kinds, "owed" if shares and named is None else "free")
    owed = (shares or None if changing is None else changing) if named is None else _with_every_arm(named, kinds)
    finding: Any = audit.promise(
        **given_logs,
        arm=arm,
        shares=owed,
        tolerance=tolerance,
        order=columns_of(order, frame.columns) if order else None,
        cap_tolerance=cap_tolerance,
        **limits,
        promise=stated,
        segment=segment or None,
        available=available or None,
        round=round or None,
        times=times or None,
        weight=weight or None,
        by=None if not by else int(by) if by.isdecimal() else read_time(by, "by", to_end=True),
    )
    return replace(finding, notes=(*finding.notes, *left_out)), given_logs.get("frame")


def _between(frame: pd.DataFrame | str, name: str, since: str, until: str) -> tuple[Any, tuple[str, ...]]:
    """Return the rows of a log from a time on and before another, and what is to be said of those that are left out."""
    if isinstance(frame, str) or not name:
        hint = "--since and --until leave out rows by their times"
        raise ArgumentError(expected("--times", "a column of times of one table", name or None, hint))
    inside, said = between(times_of(frame, name), since, until, "rows")
    return frame[inside].reset_index(drop=True), (f"{said} are counted, from the first of these.",)


def taking_audited(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that name a log and a promise in the place of its first parameter, `audited`."""
    names, own = (inspect.signature(function).parameters for function in (audited_log, command))

    @wraps(command)
    def call(**given: Any) -> None:
        # audited when the command asks: `report` may find a store in the place of a log, which nothing here can read
        read = partial(audited_log, **{name: given[name] for name in names})
        command(read, **{name: value for name, value in given.items() if name in own})

    return with_options_of(call, audited_log, command, without="audited")


@Options(tables="log", beside=PROMISED)
@taking_audited
def audit(audited: Audited, *, out: Path | None = None, json: JSON = False) -> None:
    """Check a decision log against promised shares, caps and windows. Exit code 1 when one was broken, with --by when
    it can no longer be kept; 3 when most rows lie in segments that are too short to break one.

    Parameters
    ----------
    out : Folder for audit.csv, promises.csv, timeline.csv and the picture.
    """
    (finding, _), given = audited(), audited.keywords
    if len(given["log"]) > 1:
        _show_apart(finding, given["log"], out, json)
        raise typer.Exit(0 if finding.kept else 1)
    unit = "round" if given["round"] or given["order"] else "row"
    if out is not None:
        _write(finding, out)
    if json:
        _print_json(finding)
    else:
        _say(finding, given["log"][0], unit, bool(given["segment"]))
        if finding.outlook is not None:
            records("By the end of the period", due_rows(finding.outlook), empty=False)
            print_text(f"{finding.outlook.verdict}.")
        say_notes(finding)
    if finding.outlook is not None:
        raise typer.Exit(OF_OUTLOOK[finding.outlook.kept])
    if not finding.kept or not finding.enough:
        raise typer.Exit(UNDECIDED if finding.kept else 1)


def _written_apart(logs: list[Path], arm: str, texts: list[str], named: Any) -> tuple[list[Any], list[Any]]:
    """Return the table of each log, and the labels of the arms in all of them."""
    if len({log.resolve() for log in logs}) < len(logs):
        raise ArgumentError(expected("LOG...", "each log once", " ".join(map(str, logs))))
    frames = [read_table(log, text=texts) for log in logs]
    return frames, in_natural_order(distinct(kind for one in frames for kind in read_plays(one, arm, named).kinds))


def _show_apart(finding: ApartAudit, logs: list[Path], out: Path | None, json: bool) -> None:
    if out is not None:
        folder(out)
        write_csv(finding.promises, out / "promises.csv")
    if json:
        rounds = dict(zip(map(str, logs), finding.rounds, strict=True))
        as_json({"kept": finding.kept, "rounds": rounds, "promises": finding.promises.to_dict("records")}, finding)
        return
    records(f"{len(logs)} logs, {sum(finding.rounds):,} rounds", finding.promises.to_dict("records"))
    verdict = "kept in every order" if finding.kept else "BROKEN in some order"
    print_text(f"The promise was {verdict} in which these rounds can have happened.")
    say_notes(finding)


def _with_every_arm(named: dict[str, Any], kinds: Any) -> dict[Any, Any]:
    """Return the shares by the arms' labels in the log, 0 for those that are not named."""
    owed = dict(Labels(kinds).read(named, "--shares", "ARM=SHARE", refusal=SharesError))
    known = Labels(owed)
    return owed | {kind: 0 for kind in kinds if kind not in known}


def _write(finding: Audit, out: Path) -> None:
    from evenhand.plots import plot_audit

    folder(out)
    write_csv(finding.arms, out / "audit.csv")
    write_csv(finding.timeline, out / "timeline.csv")
    write_csv(finding.promises, out / "promises.csv")
    draw(out, "audit", partial(plot_audit, finding))


def _print_json(finding: Audit) -> None:
    names = ("kept", "enough", "rounds", "worst_shortfall", "worst_arm", "worst_round", "rounds_in_violation")
    body = {name: vars(finding)[name] for name in (*names, "first_violation", "last_violation", "stretches")}
    if finding.times is not None:
        first = finding.first_violation[0] if finding.first_violation else 0
        at = {"first_violation": first, "last_violation": finding.last_violation, "worst": finding.worst_round}
        body |= {f"{name}_at": finding.time_of(round) for name, round in at.items()}
    if (ahead := finding.outlook) is not None:
        outlook = {"by": ahead.by, "kept": ahead.kept, "verdict": ahead.verdict, "rest": float(ahead.rest)}
        body |= {"outlook": outlook | {"due": ahead.due.to_dict("records")}}
    body |= {"unit": finding.unit} if finding.promise.weight else {}
    body |= {"never_seen": finding.never_seen, "first_breach": finding.first_breach and str(finding.first_breach)}
    as_json(body | {name: vars(finding)[name].to_dict("records") for name in ("arms", "promises")}, finding)


def _say(finding: Audit, log: Path, unit: str, segments: bool) -> None:
    title = f"{log}: {finding.rounds:,} decision{'s' * (finding.rounds > 1)}"
    if finding.promise.weight:
        title += f", {plain_number(sum(finding.arms['weight'].tolist()))} {finding.unit}"
    if segments:
        owed = finding.arms[finding.arms["owed"] > 0]
        counted = "weight" if finding.promise.weight else "pulls"
        shown = owed[["arm", counted, "share", "behind_over_segments"]].rename(columns={counted: finding.unit})
        records(title, shown.to_dict("records"))
    records("Promises" if segments else title, promised_rows(finding, unit, segments), empty=False)
    promised = {arm for named in finding.owed["arm"] for arm in (named if isinstance(named, tuple) else (named,))}
    if free := len(finding.arms) - len(promised):
        print_text(f"and {free} {'arm' if free == 1 else 'arms'} without a promise.")
    owes = dict(zip(finding.promise.arms, finding.promise.shares, strict=True))
    for name in finding.never_seen:
        what = "is promised a share" if owes[name] or name in finding.windows else "has a cap"
        print_text(f"ATTENTION: arm {name} {what} and never appears in the log.")
    floors = finding.owed[finding.owed["promise"] == "floor"]
    when = "; no arm was ever behind its share" * (len(floors) > 0 and not finding.worst_round)
    if finding.worst_round and (finding.kept or floors["first_broken"].any()):
        behind = f"by {finding.amount(finding.worst_shortfall)} after {finding.name_of(finding.worst_round, unit)}"
        when = f"; furthest behind was arm {cell(finding.worst_arm)}, {behind}"
    if not finding.enough:
        print_text(f"This log shows nothing: in most segments no decision could have broken the promise{when}.")
    elif finding.first_violation is None:
        print_text(f"The promise was kept after every {unit}{when}.")
    else:
        arm = cell(finding.first_violation[1])
        print_text(f"The promise was BROKEN {finding.when(unit)}, beginning with arm {arm}{when}.")
        if segments or len(finding.promises) > len(finding.arms):
            print_text(f"The first breach: {finding.first_breach}.")


def due_rows(ahead: PeriodOutlook) -> list[dict[str, Any]]:
    """Return a row for people of each share and cap: what is still due or allowed until the end of the period."""
    rows = []
    for one in ahead.due.to_dict("records"):
        most, amount = one["promise"] in AT_MOST, one["due"] if one["due"] == one["due"] else None
        rows.append(
            {
                "arm": cell(one["arm"]),
                "promised": f"at {'most' if most else 'least'} {number(float(Fraction(one['limit'])))}",
                "so far": plain_number(one["had"]),
                "still due": None if most else plain_number(amount or 0),
                "still allowed": plain_number(one["allowed"]) if most else None,
                "of the rest": None if math.isnan(one["rate"]) else one["rate"],
                "can be kept": "yes" if one["possible"] else "NO",
            }
        )
    return rows
