"""`evenhand verify`: a study's log replayed from its first entry, and all that was promised checked."""

from __future__ import annotations

import dataclasses
import sys
from typing import Annotated

import typer

from evenhand.cli.converse import JSON, STORE, STUDY

__all__ = ["verify"]


def verify(
    store: STORE,
    study: STUDY = None,
    known: Annotated[
        str | None, typer.Option(help="A digest that an earlier verify printed: the log must still hold its entry.")
    ] = None,
    json: JSON = False,
) -> None:
    """Replay a study from the start and check the promise at every round; exit code 1 when something is wrong."""
    from evenhand.cli.output import as_json, say
    from evenhand.studies import Study

    with Study.open(store, study) as running:
        found = running.verify(known=known, progress=not json and sys.stdout.isatty())
    if json:
        as_json({"ok": found.ok} | dataclasses.asdict(found))
    else:
        say(
            f"{running.name}: {found.decisions} decisions, {found.told} told, {found.forgotten} forgotten, "
            f"{found.open} open; written by {', '.join(found.versions) or 'nobody yet'}"
        )
        for problem in found.problems:
            say(f"WRONG: {problem}")
        for note in found.notes:
            say(f"note: {note}")
        if found.ok and found.replayed == found.entries:
            say("The log is whole and replays to the same decisions and states.")
        elif found.ok:
            some = f"{found.replayed} of its {found.entries} entries were replayed"
            say(f"The log is whole; {some}, to the same decisions.")
        if found.worst_shortfall is not None:
            held = {True: "was kept", False: "was BROKEN", None: "is not due yet"}[found.promise_kept]
            if found.promise == "in the long run":
                held = "is not one that a round can break"
            say(
                f"The promise, {found.promise}, {held}; worst shortfall {found.worst_shortfall:.4g}, "
                f"arm {found.worst_arm}, round {found.worst_round}."
            )
        say(f"Last digest: {found.digest or 'none'}")
    if not found.ok:
        raise typer.Exit(1)
