"""`evenhand audit`: check any decision log against promised shares."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.options import JSON

if TYPE_CHECKING:
    from evenhand.audit.findings import Audit

__all__ = ["audit"]


def audit(
    log: Annotated[
        Path,
        typer.Argument(
            help="The log, one row per decision: CSV, Parquet, Arrow or JSON lines, or -; or 'logs/*.parquet'. Large "
            "CSV and Parquet files are read in batches."
        ),
    ],
    share_texts: Annotated[
        list[str] | None,
        typer.Option(
            "--shares",
            help="Promised share of each arm: 0.02, or a=0.2,b=1/3, or a CSV with columns arm, share; for shares that "
            "change, also a column named from: a round, or a time in the column of --order.",
        ),
    ] = None,
    arm: Annotated[
        str, typer.Option(help="The column with the arm of each decision, or the list of a round's arms.")
    ] = "arm",
    tolerance: Annotated[float, typer.Option(help="By how many plays an arm may be behind its share.")] = 0.0,
    behind_texts: Annotated[
        list[str] | None,
        typer.Option(
            "--behind", help="By how much an arm may be behind, exactly, instead of --tolerance: 3, or a=3,b=1/2."
        ),
    ] = None,
    order: Annotated[str, typer.Option(help="A column to sort by first, such as a timestamp.")] = "",
    cap_texts: Annotated[
        list[str] | None, typer.Option("--cap", help="The most that an arm may have: 0.5, or a=0.5,b=1/3.")
    ] = None,
    cap_tolerance: Annotated[float, typer.Option(help="By how many plays an arm may be ahead of its cap.")] = 0.0,
    window_texts: Annotated[
        list[str] | None,
        typer.Option(
            "--window", help="Least plays in any consecutive rounds: a=2/25,b=10 is twice in any 25, once in any 10."
        ),
    ] = None,
    promise: Annotated[
        Path | None, typer.Option(help="TOML or JSON file with a promise, in the place of the options above.")
    ] = None,
    segment: Annotated[str, typer.Option(help="A column; promises are checked inside each of its values.")] = "",
    available: Annotated[str, typer.Option(help="A column with the arms on offer, separated by commas.")] = "",
    round: Annotated[str, typer.Option(help="A column whose equal values mark the rows of one round.")] = "",
    out: Annotated[Path | None, typer.Option(help="Folder for audit.csv, timeline.csv and the picture.")] = None,
    json: JSON = False,
) -> None:
    """Check a decision log against promised shares, caps and windows. Exit code 1 when one was broken, 2 when most rows
    lie in segments that are too short to break one."""
    given = (share_texts, cap_texts, window_texts, behind_texts)
    shares, cap, window, behind = (",".join(texts or ()) for texts in given)
    from evenhand import quotas
    from evenhand.audit.audited_promise import check_named
    from evenhand.cli.output import say_notes
    from evenhand.cli.reading.inputs import changing_shares, named_shares, windows_of
    from evenhand.cli.reading.promises import promise_in

    changing: Any = changing_shares(shares)
    named = named_shares(shares) if changing is None and shares else None
    in_order = bool(order or round or changing is not None)
    frame, kinds = _decisions(log, arm, [name for name in (arm, available, segment) if name], named, in_order)
    caps = named_shares(cap, "--cap") if "=" in cap else cap or None
    limits = named_shares(behind, "--behind") if "=" in behind else behind or None
    bounds = windows_of(window) if window else None
    stated = None if promise is None else promise_in(promise, kinds)
    told: dict[str, Any] = {"--shares": named, "--cap": caps, "--behind": limits, "--window": bounds}
    told["--promise"] = {arm: 0 for clause in (stated.clauses if stated else ()) for arm in clause.arms}
    check_named(told, kinds, "owed" if shares and named is None else "free")
    finding = quotas.audit(
        frame,
        arm=arm,
        shares=(shares or None if changing is None else changing) if named is None else _with_every_arm(named, kinds),
        tolerance=tolerance,
        behind=limits,
        order=order or None,
        caps=caps,
        cap_tolerance=cap_tolerance,
        windows=bounds,
        promise=stated,
        segment=segment or None,
        available=available or None,
        round=round or None,
    )
    several = len(finding.promises) > len(finding.arms) or bool(segment)
    if out is not None:
        _write(finding, out, several)
    if json:
        _print_json(finding, several)
    else:
        _say(finding, f"{log}: {finding.rounds} decisions", several)
        say_notes(finding)
    if not finding.kept or not finding.enough:
        raise typer.Exit(2 if finding.kept else 1)


def _decisions(log: Path, arm: str, texts: list[str], named: Any, in_order: bool) -> tuple[Any, Any]:
    """Return the log, as a table or the name of files to be read in batches, and the labels of the arms in it."""
    from evenhand.audit.decision_log import read_plays
    from evenhand.audit.file_survey import labels_in_files
    from evenhand.cli.reading.tables import GIVEN, is_large, read_table
    from evenhand.data.files import FOUND_OUT
    from evenhand.errors import ArgumentError, wanted

    many = glob.has_magic(str(log)) and not log.exists()
    if many and GIVEN.get() != FOUND_OUT:
        what = "one file beside --sep, --decimal, --encoding, --format and --header"
        raise ArgumentError(wanted("LOG", what, str(log), "many files are read as CSV in UTF-8, with commas"))
    if many or (not in_order and is_large(log)):
        return str(log), labels_in_files(str(log), arm, named=named)
    frame = read_table(log, text=texts)
    return frame, read_plays(frame, arm, named).kinds


def _with_every_arm(named: dict[str, Any], kinds: Any) -> dict[Any, Any]:
    """Return the shares by the arms' labels in the log, 0 for those that are not named."""
    from evenhand.errors import SharesError
    from evenhand.labels import by_label
    from evenhand.protocol import find_label, places

    owed = dict(by_label(named, "--shares", "ARM=SHARE", kinds, refusal=SharesError))
    known = places(owed)
    return owed | {kind: 0 for kind in kinds if find_label(kind, known) is None}


def _write(finding: Audit, out: Path, several: bool) -> None:
    from functools import partial

    from evenhand.cli.output import draw, folder
    from evenhand.data.csv_files import write_csv
    from evenhand.plots import plot_audit

    folder(out)
    write_csv(finding.arms, out / "audit.csv")
    write_csv(finding.timeline, out / "timeline.csv")
    if several:
        write_csv(finding.promises, out / "promises.csv")
    draw(out, "audit", partial(plot_audit, finding))


def _print_json(finding: Audit, several: bool) -> None:
    from evenhand.cli.output import as_json

    names = ("kept", "enough", "rounds", "worst_shortfall", "worst_arm", "worst_round", "rounds_in_violation")
    body = {name: getattr(finding, name) for name in (*names, "first_violation", "never_seen")}
    body["first_breach"] = None if finding.first_breach is None else str(finding.first_breach)
    promises = {"promises": finding.promises.to_dict("records")} if several else {}
    as_json(body | {"arms": finding.arms.to_dict("records")} | promises, finding)


def _say(finding: Audit, title: str, several: bool) -> None:
    from evenhand.cli.output import records, say

    said = {"owed": "promised_share", "pulls": "decisions"}
    worst = finding.arms.sort_values("worst_shortfall", ascending=False).rename(columns=said)
    records(title, worst.to_dict("records"))
    owes = dict(zip(finding.promise.arms, finding.promise.shares, strict=True))
    for name in finding.never_seen:
        capped = not owes[name] and name not in finding.windows
        say(f"ATTENTION: arm {name} {'has a cap' if capped else 'is promised a share'} and never appears in the log.")
    if several:
        records("Promises", finding.promises.to_dict("records"), empty=False)
    when = "no arm was ever behind a share"
    if finding.worst_round:
        behind = f"worst shortfall {finding.worst_shortfall:.4g}, arm {finding.worst_arm}"
        when = f"{behind}, after row {finding.worst_round}"
    if not finding.enough:
        say(f"Nothing is shown: in most segments no decision could have broken the promise; {when}.")
    elif finding.first_violation is None:
        say(f"The promise was kept after every row; {when}.")
    else:
        row, first = finding.first_violation
        say(
            f"The promise was BROKEN after {finding.rounds_in_violation} of {finding.rounds} rows, "
            f"first after row {row}, to arm {first}; {when}."
        )
        if several:
            say(f"First of all, {finding.first_breach}.")
