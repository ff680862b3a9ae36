"""What a shell offers for a word that is not finished: names of policies, worlds, studies and arms.

Names are looked up in the text of modules and in the file of a store, as an import or a replay would take too long.
"""

from __future__ import annotations

import io
import json
import re
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import typer

__all__ = ["arms", "learners", "policies", "registered", "studies", "worlds"]

REGISTER = re.compile(r'^@register\("([\w/-]+)"(?:, (?:kind=)?"(\w+)")?', re.MULTILINE)


def _names(kind: str) -> list[str]:
    """Return what evenhand itself registers of a kind."""
    from evenhand import registry

    home = Path(registry.__file__).parent
    found = [
        match for folder in registry.HOMES for file in home.glob(f"{folder}/**/*.py")
        for match in REGISTER.findall(file.read_text(encoding="utf-8"))
    ]  # fmt: skip
    return sorted(name for name, said in found if (said or "policy") == kind)


def policies(incomplete: str) -> list[str]:
    """Return the short names of policies, and after RULE+ those of learners."""
    rule, plus, part = incomplete.rpartition("+")
    names = [name.rpartition("/")[2] for name in (_names("policy") if not plus else _learners())]
    return [f"{rule}{plus}{name}" for name in names if name.startswith(part)]


def learners(incomplete: str) -> list[str]:
    """Return the short names of learners."""
    return [name.rpartition("/")[2] for name in _learners() if name.rpartition("/")[2].startswith(incomplete)]


def _learners() -> list[str]:
    return [name for name in _names("policy") if name.startswith("learners/")]


def worlds(incomplete: str) -> list[str]:
    """Return the names of worlds."""
    return [name for name in _names("world") if name.startswith(incomplete)]


def registered(incomplete: str) -> list[str]:
    """Return the names of policies and worlds."""
    return [name for kind in ("policy", "world") for name in _names(kind) if name.startswith(incomplete)]


def studies(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of the studies in the store of the command, if that is a file."""
    return [name for (name,) in _rows(context, "SELECT name FROM studies") if name.startswith(incomplete)]


def arms(context: typer.Context, incomplete: str) -> list[str]:
    """Return the arms of the command's study; after a comma, those after the last one."""
    before, comma, part = incomplete.rpartition(",")
    query = (
        "SELECT snapshots.state FROM snapshots JOIN studies ON studies.id = snapshots.study "
        "WHERE studies.name = coalesce(?, studies.name) ORDER BY snapshots.sequence DESC LIMIT 1"
    )
    found: list[Any] = []
    for (state,) in _rows(context, query, context.params.get("study")):
        with suppress(ValueError, KeyError, zipfile.BadZipFile):
            config = _config(json.loads(zipfile.ZipFile(io.BytesIO(state)).read("evenhand.json")))
            found = config.get("arms") or config.get("shares") or []
    labels = [str(arm) for arm in found if not isinstance(arm, (dict, list))]
    return [f"{before}{comma}{arm}" for arm in labels if arm.startswith(part) and not arm.startswith("$")]


def _config(body: Any) -> dict[str, Any]:
    """Return the arguments of the policy in a saved state, the outermost that there are."""
    while isinstance(body, dict):
        if isinstance(body.get("config"), dict):
            return body["config"]
        body = body.get("object") or body.get("policy") or body.get("snapshot")
    return {}


def _rows(context: typer.Context, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
    """Give the rows of a query; nothing where the store is no file that can be read so."""
    file = Path(str(context.params.get("store") or ""))
    with suppress(sqlite3.Error, OSError):
        if file.is_file():
            with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection:
                yield from connection.execute(query, values)
