"""`evenhand demo`: decide on real data under guaranteed shares, and show that the promise held and what it cost."""

from __future__ import annotations

from pathlib import Path

import typer

from evenhand.cli.options import JSON
from evenhand.cli.output import as_json, folder, picture, print_text, say_notes, table
from evenhand.data.csv_files import write_csv
from evenhand.experiments.quotas.programme import GUARANTEE, Programme, draw, run
from evenhand.simulation.measures import cost_of


def demo(*, out: Path = Path("out/demo"), seed: int = 442, json: JSON = False) -> None:
    """Give away 1,000 places in a programme to 442 diabetes patients, each group with a promised share; no download.

    Parameters
    ----------
    out : Folder for the decision log and the picture.
    seed : Seed of the demonstration.
    """
    folder(out)
    shown = run(seed=seed)
    write_csv(shown.log, out / "decisions.csv")
    path = picture(draw(shown), out, "demo")
    if json:
        body = {"kept": shown.finding.kept, "rounds": shown.finding.rounds, "seed": seed, "folder": str(out)}
        as_json(body | {"arms": shown.finding.arms.to_dict("records")}, shown.finding)
    else:
        _say(shown)
        say_notes(shown.finding)
        print_text(f"Written: {out / 'decisions.csv'}, {path}")
        print_text("\nDo the same with your own table, and check whether your own log kept a promise:")
        print_text("  evenhand simulate --data YOURS.csv --arm COLUMN --reward COLUMN --shares 0.1")
        print_text("  evenhand audit YOURS.csv --arm COLUMN --shares 0.1")
    if not shown.finding.kept:
        raise typer.Exit(1)


def _say(shown: Programme) -> None:
    """Print who got what, why, and what the promise cost."""
    places = len(shown.log)
    print_text(f"Who gets the next of {places} places? 442 patients in six groups; the reward of a")
    print_text("place is the need of the patient who gets it, in [0, 1].")
    print_text(f"Promised: at every moment each group has had at least {GUARANTEE} of its part among the")
    print_text("patients.\n")
    last = shown.history.isel(round=-1)
    parts = (last.pulls / places).mean("replication")
    rows = [
        (
            row.arm,
            row.pulls,
            f"{row.owed:.3f}",
            f"{row.share:.3f}",
            f"{row.worst_shortfall:.3f}",
            f"{float(parts.sel(policy='without', arm=row.arm)):.3f}",
        )
        for row in shown.finding.arms.itertuples()
    ]
    columns = ("group", "places", "owed", "got", "most behind", "without")
    table("Shares of the places under the promise (DeadlineLearn over Thompson)", columns, rows)
    print_text("Four of the decisions, each with its reason:")
    for place in (1, 50, 200, places):
        decision = shown.decisions[place - 1]
        print_text(f"  place {decision.round:>4}: {decision.arm} ({decision.reason})")
    held = "after EVERY place" if shown.finding.kept else f"NOT after {shown.finding.rounds_in_violation} places"
    print_text(f"\nThe promise held {held}, as an audit of the log shows;")
    worst = shown.finding.worst_shortfall
    print_text("no group was ever a whole place behind." if worst < 1 else f"a group was {worst:.3f} places behind.")
    print_text(cost_of(shown.history, "with the promise", "without").sentences("Thompson sampling"))
