"""`evenhand audit`: check any decision log against promised shares."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.options import JSON

__all__ = ["audit"]


def audit(
    log: Annotated[Path, typer.Argument(help="The log, one row per decision: CSV (also .gz) or Parquet.")],
    shares: Annotated[
        str, typer.Option(help="Promised share of each arm: 0.02, or a=0.2,b=1/3, or a CSV with columns arm, share.")
    ],
    arm: Annotated[str, typer.Option(help="The column with the arm of each decision.")] = "arm",
    tolerance: Annotated[float, typer.Option(help="By how many pulls an arm may be behind its share.")] = 0.0,
    order: Annotated[str, typer.Option(help="A column to sort by first, such as a timestamp.")] = "",
    out: Annotated[Path | None, typer.Option(help="Folder for audit.csv, timeline.csv and the picture.")] = None,
    json: JSON = False,
) -> None:
    """Check a decision log against promised shares; exit code 1 when the promise was broken."""
    from evenhand import quotas
    from evenhand.cli.inputs import named_shares, shares_of
    from evenhand.cli.output import as_json, draw, folder, records, say
    from evenhand.tables import levels, read_table, write_csv

    frame = read_table(log, text=[arm])
    known = {str(label): label for label in levels(frame, arm)}
    arms = [*known.values(), *(name for name in named_shares(shares) or {} if name not in known)]
    owed = shares_of(shares, arms)
    finding = quotas.audit(frame, arm=arm, shares=owed, tolerance=tolerance, order=order or None)
    if out is not None:
        from evenhand.plots import plot_audit

        folder(out)
        write_csv(finding.arms, out / "audit.csv")
        write_csv(finding.timeline, out / "timeline.csv")
        draw(out, "audit", lambda axes: plot_audit(finding, axes))
    if json:
        body = {
            name: getattr(finding, name) for name in ("kept", "rounds", "worst_shortfall", "worst_arm", "worst_round")
        }
        body |= {"rounds_in_violation": finding.rounds_in_violation, "first_violation": finding.first_violation}
        body["never_seen"] = finding.never_seen
        as_json(body | {"arms": finding.arms.to_dict("records")})
    else:
        worst = finding.arms.sort_values("worst_shortfall", ascending=False)
        records(f"{log}: {finding.rounds} decisions", worst.to_dict("records"))
        for name in finding.never_seen:
            say(f"ATTENTION: arm {name} is promised a share and never appears in the log.")
        when = (
            f"worst shortfall {finding.worst_shortfall:.4g}, arm {finding.worst_arm}, after row {finding.worst_round}"
        )
        if finding.first_violation is None:
            say(f"The promise was kept after every row; {when}.")
        else:
            row, first = finding.first_violation
            say(
                f"The promise was BROKEN after {finding.rounds_in_violation} of {finding.rounds} rows, "
                f"first after row {row}, to arm {first}; {when}."
            )
    if not finding.kept:
        raise typer.Exit(1)
