"""`evenhand verify`: replay a study's log and check its promise at every round."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from evenhand.cli.options import JSON, STORE, STUDY
from evenhand.cli.output import as_json, print_text, promise_sentence, promise_verdict
from evenhand.cli.refusals import in_shell
from evenhand.data.json_files import to_json
from evenhand.errors import ArgumentError, Wording, expected
from evenhand.saving.state import write
from evenhand.studies import Study
from evenhand.studies.verify import Verification

STATE = ".state"
"""What follows the name of a checkpoint's file in that of the file from which the next verification goes on."""


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
    known : A digest that an earlier verify printed, whose entry the log must still contain; or a checkpoint, the file
        of an earlier --mark, to whose root its entries must still lead.
    mark : The file, of at most 1 KB, for the root at which this verification ends. The next one with the same file goes
        on from FILE.state, which stands beside it. Keep FILE where nobody who can write to the store can change it.
    strict : Exit with code 2 where not all decisions could be repeated.
    """
    root = _checkpoint(Path(known)) if known is not None and Path(known).is_file() else known
    with Study.open(store, study) as running:
        try:
            earlier = _checkpoint(mark) if mark is not None and mark.exists() else None
            since = None if mark is None or earlier is None else _state(mark, earlier)
            if earlier is not None and since is None and root is not None:
                raise ArgumentError(expected("--known", f"nothing beside a mark without its {STATE}", known))
            shown = not json and sys.stdout.isatty()
            found = running.verify(known=earlier if root is None else root, since=since, progress=shown)
        except (ArgumentError, OSError) as error:
            if mark is None:
                raise
            hint = "name another file, or leave --mark out to verify the whole log"
            raise ArgumentError(f"--mark {mark}: {in_shell(error).removeprefix(f'{mark}: ')}; {hint}") from error
    if mark is not None and found.checkpoint is not None:
        state = {} if found.mark is None else {"state": hashlib.sha256(found.mark).hexdigest()}
        write(mark, to_json(found.checkpoint | state))
        if found.mark is not None:
            write(mark.with_name(mark.name + STATE), found.mark)
    if json:
        as_json(found.as_dict())
    else:
        print_text(*in_words(running.name, found))
    if not found.ok or (strict and found.replayed < found.entries - found.since):
        raise typer.Exit(2 if found.ok else 1)


def _checkpoint(file: Path) -> Any:
    """Return the checkpoint in a file."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        got = Wording("something else")
        raise ArgumentError(expected(str(file), "a checkpoint, as --mark writes it", got)) from error


def _state(mark: Path, checkpoint: dict[str, Any]) -> bytes | None:
    """Return the state beside a checkpoint, None where it is not there or not that of the checkpoint."""
    file = mark.with_name(mark.name + STATE)
    state = file.read_bytes() if file.exists() else b""
    return state if state and hashlib.sha256(state).hexdigest() == checkpoint.get("state") else None


def in_words(name: str, found: Verification) -> Iterator[str]:
    """Yield what a verification has found, in sentences."""
    decisions = f"{found.decisions} decision{'s' * (found.decisions != 1)}"
    yield (
        f"{name}: {decisions}, {found.told} told, {found.forgotten} forgotten, {found.open} open; "
        f"written by {', '.join(found.versions) or 'nobody yet'}"
    )
    yield from (f"WRONG: {problem}" for problem in found.problems)
    yield from (f"note: {in_shell(note)}" for note in found.notes)
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
        yield promise_sentence(str(found.promise), found.promise_kept, *worst, found.weight)
    elif found.promise_kept is not None:
        yield f"{promise_verdict(str(found.promise), found.promise_kept, found.decisions)}."
    yield f"Last digest: {found.digest or 'none'}"
    if found.checkpoint is not None:
        yield f"Checkpoint, to keep elsewhere: {to_json(found.checkpoint).decode()}"
