"""`evenhand workers`, `join` and `leave`: who decides for a study with several workers."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from typing import Annotated

import typer

from evenhand.cli.options import JSON, STORE, STUDY

__all__ = ["join", "leave", "workers"]


def workers(store: STORE, study: STUDY = None, json: JSON = False) -> None:
    """List the workers of a study: what each has decided, and how far each may still fall behind."""
    from evenhand.cli.output import as_json, records, say
    from evenhand.studies import Study

    with Study.open(store, study) as running:
        found = running.team()
        if json:
            as_json(found)
        elif not found:
            say(f"{running.name}: one log, which any number of processes share; evenhand new --workers 4 makes several")
        else:
            shown = [one | {name: _ago(one[name]) for name in ("heard", "exchanged")} for one in found["workers"]]
            records(f"{running.name}: workers", shown)
            for one in found["room"]:
                say(f"{one['label']}: in any order of the decisions {one['pulls']:.4g} decisions are left")


def join(
    store: STORE,
    worker: Annotated[str, typer.Argument(help="The name of the new worker.")],
    study: STUDY = None,
    json: JSON = False,
) -> None:
    """Add a worker to a study, if the tolerance has room for one more."""
    from evenhand.cli.output import answer
    from evenhand.studies import Study

    with Study.open(store, study) as running:
        running.join(worker).close()
        words = f"{worker} joined: evenhand ask {shlex.quote(store)} --worker {worker}"
        answer({"status": "joined", "worker": worker}, words, json)


def leave(
    store: STORE,
    worker: Annotated[str, typer.Argument(help="The name of the worker, also of one that was killed.")],
    study: STUDY = None,
    json: JSON = False,
) -> None:
    """End the work of a worker; its decisions count as ever, and its open tickets may still be told."""
    from evenhand.cli.output import answer
    from evenhand.studies import Study

    with Study.open(store, study) as running:
        running.leave(worker)
        answer({"status": "left", "worker": worker}, f"{worker} left", json)


def _ago(then: datetime | None) -> str | None:
    if then is None:
        return None
    seconds = max(0.0, (datetime.now(UTC) - then).total_seconds())
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"
