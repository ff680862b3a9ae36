"""`evenhand list`: the registered policies, worlds and experiments."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

from evenhand import registry
from evenhand.cli.options import JSON
from evenhand.cli.output import as_json, table
from evenhand.errors import ArgumentError, expected_one_of

KINDS = {"policies": "policy", "worlds": "world", "experiments": "experiment"}
REGISTERED = re.compile(
    r'(?m)^@register\("(.+?)"(?:, (?:kind=)?"(\w+)")?(, baseline=True)?\)\n(?:@.*\n)*class .*:\n    """(.*)'
)
EXPERIMENT = re.compile(r'(?m)^@experiment\(\s*"(.+?)",\s*"(.+?)"')


def list_all(prefix: str = "", *, json: JSON = False) -> None:
    """List registered policies, worlds and experiments; policies that papers only compare with are left out.

    Parameters
    ----------
    prefix : Only policies, worlds or experiments, or names that begin with this, such as quotas.
    """
    kind = KINDS.get(prefix, prefix if prefix in KINDS.values() else None)
    every = set(_registered_in_source())
    if os.environ.get(registry.OWN) or entry_points(group=registry.PLUGINS):
        every |= {(e.kind, e.name, e.summary) for e in registry.entries() if not e.baseline}
    rows = sorted(row for row in every if (row[0] == kind if kind else row[1].startswith(prefix)))
    if not rows:
        parts = sorted({name.partition("/")[0] for _, name, _ in every})
        what = "policies, worlds or experiments, or the beginning of a name:"
        raise ArgumentError(expected_one_of("PREFIX", [*KINDS, *parts], prefix, what=what))
    if json:
        as_json([{"kind": kind, "name": name, "summary": summary} for kind, name, summary in rows])
    else:
        table("evenhand", ("kind", "name", "what it is"), rows)


def _registered_in_source() -> Iterator[tuple[str, str, str]]:
    """Yield kind, name and summary of what evenhand's own modules register, by their decorators.

    The source is read and not run: to import every policy and experiment takes ten times as long as to list them.
    """
    own = Path(registry.__file__).parent
    for file in (file for home in (*registry.HOMES, "experiments") for file in (own / home).rglob("*.py")):
        source = file.read_text(encoding="utf-8")
        for name, kind, baseline, summary in REGISTERED.findall(source):
            if kind != "part" and not baseline:
                yield kind or "policy", name, summary
        yield from (("experiment", name, title) for name, title in EXPERIMENT.findall(source))
