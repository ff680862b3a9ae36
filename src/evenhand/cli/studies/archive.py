"""`evenhand archive`: move the oldest decisions of a study to Parquet files."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from evenhand.cli.options import JSON, STORE, STUDY

__all__ = ["archive"]


def archive(
    store: STORE,
    to: Annotated[str, typer.Option(help="The folder of the files; it is made if it is missing.")],
    up_to: Annotated[int | None, typer.Option(help="The last round to move.")] = None,
    older_than: Annotated[str | None, typer.Option(help="Move only entries older than this, such as 90d.")] = None,
    study: STUDY = None,
    json: JSON = False,
) -> None:
    """Move the oldest decisions of a study, whose tickets are closed, to a Parquet file, which every command reads."""
    from evenhand.cli.output import as_json, say
    from evenhand.studies import Study

    with Study.open(store, study) as running:
        moved = running.archive(to, up_to=up_to, older_than=older_than)
    if json:
        names = "path", "first", "last", "sha256", "digest"
        as_json([{name: getattr(one, name) for name in names} for one in moved])
        return
    for one in moved:
        size = os.path.getsize(one.path)
        say(f"{running.name}: entries {one.first} to {one.last} moved to {one.path} ({size:,} bytes)")
    if not moved:
        say(f"{running.name}: nothing to move: entries stay until the tickets before them are closed")
