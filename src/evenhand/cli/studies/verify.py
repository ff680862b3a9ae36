"""`evenhand verify`: replay a study's log and check its promise at every round."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import typer

from evenhand.cli.options import JSON, STORE, STUDY
from evenhand.cli.output import as_json, print_text, promise_sentence, promise_verdict
from evenhand.cli.refusals import in_shell
from evenhand.errors import ArgumentError
from evenhand.saving.state import write
from evenhand.studies import Study
from evenhand.studies.verify import Verification


def verify(
    store: STORE,
    *,
    study: STUDY = None,
    known: str | None = None,
    mark: Path | None = None,
    strict: bool = False,
    json: JSON = False,
) -> None:
    """Replay a study from its start and check the promise at every round; exit code 1 if something is wrong.

    Where the module of a learner of one's own is not here, all but the learner's choices is checked.

    Parameters
    ----------
    known : A digest that an earlier verify printed; the log must still contain its entry.
    mark : The file that records where this verification ends; the next one with the same file continues there. Keep
        it where nobody who can write to the store can change it.
    strict : Exit with code 2 where not all decisions could be repeated.
    """
    with Study.open(store, study) as running:
        try:
            since = mark.read_bytes() if mark is not None and mark.exists() else None
            found = running.verify(known=known, since=since, progress=not json and sys.stdout.isatty())
        except (ArgumentError, OSError) as error:
            hint = "name another file, or leave --mark out to verify the whole log"
            raise ArgumentError(f"--mark {mark}: {in_shell(error).removeprefix('since: ')}; {hint}") from error
    if mark is not None and found.mark is not None:
        write(mark, found.mark)
    if json:
        as_json(found.as_dict())
    else:
        for line in in_words(running.name, found):
            print_text(line)
    if not found.ok or (strict and found.replayed < found.entries - found.since):
        raise typer.Exit(2 if found.ok else 1)


def in_words(name: str, found: Verification) -> Iterator[str]:
    """Yield what a verification has found, in sentences."""
    decisions = f"{found.decisions} decision{'s' * (found.decisions != 1)}"
    yield (
        f"{name}: {decisions}, {found.told} told, {found.forgotten} forgotten, {found.open} open; "
        f"written by {', '.join(found.versions) or 'nobody yet'}"
    )
    yield from (f"WRONG: {problem}" for problem in found.problems)
    yield from (f"note: {note}" for note in found.notes)
    yield "note: the keys of the service are not part of the log; they were not checked."
    new = found.entries - found.since
    if found.ok and not new:
        yield "No entries came since then." if found.since else "The log is empty."
    elif found.ok and found.replayed == new:
        what = f"The {new} entries since then are whole and replay" if found.since else "The log is whole and replays"
        yield f"{what} to the same decisions and states."
    elif found.ok:
        again = f"{found.replayed} of its {new} entries were replayed, to the same decisions"
        yield f"The log is whole; {again if found.replayed else 'its decisions were not repeated'}."
    if found.promise_kept is None and found.problems and found.promise not in (None, "in the long run"):
        yield "Whether the promise was kept is unknown: see the problems above."
    elif found.worst_shortfall is not None:
        worst = found.worst_shortfall, found.worst_arm, found.worst_round
        yield promise_sentence(str(found.promise), found.promise_kept, *worst)
    elif found.promise_kept is not None:
        yield f"{promise_verdict(str(found.promise), found.promise_kept, found.decisions)}."
    yield f"Last digest: {found.digest or 'none'}"
