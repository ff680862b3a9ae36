"""Settings of the service: from a TOML file and from the environment, by the names of the options."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

from evenhand.errors import ArgumentError, TableError, expected, expected_one_of
from evenhand.service.run import serve

KINDS: dict[str, type] = {
    name: (get_args(kind) or (kind,))[0] for name, kind in get_type_hints(serve).items() if name != "return"
}
"""The settings and their types; `evenhand.service.run.serve` says what each means."""
WORDS = {str: "a text", int: "a whole number", bool: "true or false"}
PREFIX = "EVENHAND_"


def read_settings(path: str | None = None, environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Return the settings of a file, and those of environment variables such as EVENHAND_PORT, which come first.

    Parameters
    ----------
    path : a TOML file; by default the one that EVENHAND_SETTINGS names, if any.

    Raises
    ------
    TableError
        If the file cannot be read as TOML.
    ArgumentError
        If it has a name that is no setting, or a value has another type.
    """
    path = path or environment.get(f"{PREFIX}SETTINGS") or None
    found = {} if path is None else _in_file(path)
    for name, kind in KINDS.items():
        variable = PREFIX + name.upper()
        if variable in environment:
            found[name] = _from_text(variable, environment[variable], kind)
    return found


def _in_file(path: str) -> dict[str, Any]:
    try:
        body = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise TableError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise TableError(f"{path}: cannot be read as TOML: {error}") from error
    found = {}
    for key, value in body.items():
        name = key.replace("-", "_")
        if name not in KINDS:
            raise ArgumentError(expected_one_of(path, KINDS, key, what="settings among"))
        kind = KINDS[name]
        if type(value) is not kind:
            raise ArgumentError(expected(f"{path}: {key}", WORDS[kind], value))
        found[name] = value
    return found


def _from_text(variable: str, text: str, kind: type) -> Any:
    try:
        if kind is bool:
            return {"true": True, "1": True, "false": False, "0": False}[text.strip().lower()]
        if not text.strip():
            raise ValueError
        return kind(text)
    except (KeyError, ValueError) as error:
        raise ArgumentError(expected(variable, WORDS[kind], text)) from error
