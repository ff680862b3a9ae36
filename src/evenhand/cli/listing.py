"""`evenhand list`: the registered policies, worlds and experiments."""

from __future__ import annotations

from evenhand.cli.options import JSON
from evenhand.cli.output import as_json, table
from evenhand.errors import ArgumentError, wanted_one_of

KINDS = {"policies": "policy", "worlds": "world", "experiments": "experiment"}


def list_all(prefix: str = "", *, json: JSON = False) -> None:
    """List registered policies, worlds and experiments.

    Parameters
    ----------
    prefix : Only policies, worlds or experiments, or names that begin with this, such as quotas.
    """
    from evenhand import registry
    from evenhand.experiments.framework import catalogue

    kind = KINDS.get(prefix, prefix if prefix in KINDS.values() else None)
    every: list[tuple[str, str, str]] = [(e.kind, e.name, e.summary) for e in registry.entries()]
    every += [("experiment", e.id, e.title) for e in catalogue("")]
    rows = sorted(row for row in every if (row[0] == kind if kind else row[1].startswith(prefix)))
    if not rows:
        parts = sorted({name.partition("/")[0] for _, name, _ in every})
        what = "policies, worlds or experiments, or the beginning of a name:"
        raise ArgumentError(wanted_one_of("PREFIX", [*KINDS, *parts], prefix, what=what))
    if json:
        as_json([{"kind": kind, "name": name, "summary": summary} for kind, name, summary in rows])
    else:
        table("evenhand", ("kind", "name", "what it is"), rows)
