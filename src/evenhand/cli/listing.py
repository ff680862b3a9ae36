"""`evenhand list`: the registered policies, worlds and experiments."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.cli.options import JSON

__all__ = ["list_all"]


def list_all(
    prefix: Annotated[str, typer.Argument(help="Only names that begin with this, such as quotas.")] = "",
    json: JSON = False,
) -> None:
    """List registered policies, worlds and experiments."""
    from evenhand import registry
    from evenhand.cli.output import as_json, table
    from evenhand.experiments.framework import catalogue

    rows: list[tuple[str, str, str]] = [(e.kind, e.name, e.summary) for e in registry.entries(prefix=prefix)]
    rows += [("experiment", e.id, e.title) for e in catalogue(prefix)]
    rows.sort()
    if json:
        as_json([{"kind": kind, "name": name, "summary": summary} for kind, name, summary in rows])
    else:
        table("evenhand", ("kind", "name", "what it is"), rows)
