"""`evenhand list`: what there is."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["list_all"]


def list_all(
    prefix: Annotated[str, typer.Argument(help="Only names that begin so, such as quotas.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
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
