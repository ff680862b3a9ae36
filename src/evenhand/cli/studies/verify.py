"""`evenhand verify`: replay a study's log and check its promise at every round."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.options import JSON, STORE, STUDY
from evenhand.errors import ArgumentError

__all__ = ["verify"]


def verify(
    store: STORE,
    study: STUDY = None,
    known: Annotated[
        str | None, typer.Option(help="A digest that an earlier verify printed; the log must still contain its entry.")
    ] = None,
    mark: Annotated[
        Path | None,
        typer.Option(
            help="The file that keeps where this verification ends; the next one with the same file continues there. "
            "Keep it where those who can write to the store cannot change it."
        ),
    ] = None,
    json: JSON = False,
) -> None:
    """Replay a study from its start and check the promise at every round; exit code 1 if something is wrong."""
    from evenhand.cli.output import as_json, promise_sentence, say
    from evenhand.saving.state import write
    from evenhand.studies import Study

    with Study.open(store, study) as running:
        try:
            since = mark.read_bytes() if mark is not None and mark.exists() else None
            found = running.verify(known=known, since=since, progress=not json and sys.stdout.isatty())
        except (ArgumentError, OSError) as error:
            mend = "name another file, or none to verify the whole log"
            raise ArgumentError(f"--mark {mark}: {error}; {mend}") from error
    if mark is not None and found.mark is not None:
        write(mark, found.mark)
    if json:
        as_json(found.as_dict())
    else:
        say(
            f"{running.name}: {found.decisions} decisions, {found.told} told, {found.forgotten} forgotten, "
            f"{found.open} open; written by {', '.join(found.versions) or 'nobody yet'}"
        )
        for problem in found.problems:
            say(f"WRONG: {problem}")
        for note in found.notes:
            say(f"note: {note}")
        say("note: the keys of the service are not part of the log; they were not checked.")
        new = found.entries - found.since
        if found.ok and found.replayed == new:
            what = (
                f"The {new} entries since then are whole and replay" if found.since else "The log is whole and replays"
            )
            say(f"{what} to the same decisions and states.")
        elif found.ok:
            say(f"The log is whole; {found.replayed} of its {new} entries were replayed, to the same decisions.")
        if found.promise_kept is None and found.problems and found.promise not in (None, "in the long run"):
            say("Whether the promise was kept is unknown: see the problems above.")
        elif found.worst_shortfall is not None:
            worst = found.worst_shortfall, found.worst_arm, found.worst_round
            say(promise_sentence(str(found.promise), found.promise_kept, *worst))
        elif found.promise_kept is not None:
            say(f"The promise {'was kept' if found.promise_kept else 'was BROKEN'} {found.promise}.")
        if found.room and min(found.room.values()) > 0:
            arm, left = min(found.room.items(), key=lambda one: one[1])
            nearest = f"arm {arm} is nearest to the limit, by {left:.4g} plays"
            say(f"In any order of the workers' decisions it was kept too; {nearest}.")
        say(f"Last digest: {found.digest or 'none'}")
    if not found.ok:
        raise typer.Exit(1)
