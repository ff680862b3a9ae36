"""Options of commands in a TOML file: `evenhand simulate --config FILE`.

The keys are the names of options without their dashes, and of arguments. Those at the top count for every command that
has them, those under [simulate] for that command alone. A value means what it means on the command line, so a path is
relative to the working folder.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from evenhand.errors import ArgumentError, TableError, wanted, wanted_one_of, why_unreadable

__all__ = ["read_config"]

OTHERS = {"config", "help"}


def read_config(path: Path, command: Any, name: str, program: Any) -> dict[str, Any]:
    """Return what a file says for a command of the program, by the names of its parameters.

    Raises
    ------
    TableError
        If the file is no TOML.
    ArgumentError
        If a key is neither an option nor a command, or a value cannot be that of its option.
    """
    try:
        body = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise TableError(f"{path}: cannot be read as TOML: {why_unreadable(error)}") from error
    commands = program.names()
    sections = {key: value for key, value in body.items() if isinstance(value, dict) and key in commands}
    known, found = _options(command), dict[str, Any]()
    for key, value in body.items():
        if key in sections:
            continue
        option = known.get(_plain(key))
        if option is not None:
            found[option.name] = _value(option, value, f"{path}: {key}")
        elif not any(_plain(key) in _options(program.described(other)) for other in commands if other != name):
            names = [*known, *commands] if isinstance(value, dict) else [*known]
            raise ArgumentError(wanted_one_of(str(path), names, key, what="options of commands, such as"))
    for key, value in sections.get(name, {}).items():
        option = known.get(_plain(key))
        if option is None:
            raise ArgumentError(wanted_one_of(f"{path}: [{name}]", known, key, what="options among"))
        found[option.name] = _value(option, value, f"{path}: [{name}] {key}")
    return found


def _plain(key: str) -> str:
    return key.replace("_", "-")


def _options(command: Any) -> dict[str, Any]:
    """Return a command's options and arguments by their names, as a person writes them without dashes."""
    named: dict[str, Any] = {}
    for parameter in command.params:
        words: Iterable[str] = [word[2:] for word in parameter.opts if word.startswith("--")] or [parameter.name]
        named |= {_plain(word): parameter for word in words if word not in OTHERS}
    return named


def _value(option: Any, value: Any, where: str) -> Any:
    """Return a value as the command line would have it: text, a list of texts where an option may be repeated."""
    if isinstance(value, bool):
        if not getattr(option, "is_flag", False):
            raise ArgumentError(wanted(where, "a text or a number", value))
        return value
    if getattr(option, "is_flag", False):
        raise ArgumentError(wanted(where, "true or false", value))
    if getattr(option, "multiple", False):
        return [_text(one, where) for one in (value if isinstance(value, list) else [value])]
    return _text(value, where)


def _text(value: Any, where: str) -> str:
    """Return a value as text: a list as a,b, a table as a=0.2,b=0.3, both as JSON where names hold such signs."""
    if isinstance(value, Mapping):
        pairs = [f"{name}={one}" for name, one in value.items()]
        plain = all(isinstance(one, (str, int, float)) for one in value.values())
        simple = plain and all(set("=,").isdisjoint(pair.replace("=", "", 1)) for pair in pairs)
        text = ",".join(pairs) if simple else json.dumps(value)
    elif isinstance(value, list):
        simple = all(isinstance(one, (str, int, float)) and "," not in str(one) for one in value)
        text = ",".join(map(str, value)) if simple else json.dumps(value)
    else:
        text = str(value)
    if not text:
        raise ArgumentError(wanted(where, "a value", "", "leave it out if you mean none"))
    return text
