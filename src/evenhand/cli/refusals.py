"""Refusals of the library in the words of the shell: they name the option that was typed, or left out."""

from __future__ import annotations

import re
from typing import Any

from evenhand.errors import EvenhandError

__all__ = ["name_options"]

NO_COLUMN = re.compile(r"^column: wanted one of (.*), got '(.*?)'(?=$|;)")
OF_PYTHON = {
    r"\ban int >= 0, a numpy Generator or None\b": "a whole number >= 0",
    r"\b(wanted|got) None\b": r"\1 nothing",
    r", or None for [\w ]+": "",
    r"\ba timedelta, ": "",
    r"; call ask\(\w*\)$": "; leave it out",
    r"\bStudy\.create\b": "a program in Python",
}
"""What the library says to programs, and how the shell says it."""
NAME = re.compile(r"^([a-z_]+)(?=[:,])")
ARGUMENT = re.compile(r"(?<![\w'-])([a-z_]+)=(?:True\b|'([\w-]+)'|(\d[\d.]*\b))?(?=$|[\s,;.)])")
"""An argument as programs write it: stationary=True, estimator='replay', rounds=."""


def name_options(error: EvenhandError, context: Any) -> None:
    """Change the message of a refusal so that it names an option of the command where it named an argument of the
    library, and says of a column that is not there which option asked for it."""
    if not error.args or not isinstance(error.args[0], str):
        return
    options = {one.name: max(one.opts, key=len) for one in context.command.params if one.opts[0].startswith("-")}
    words = error.args[0]
    for python, shell in OF_PYTHON.items():
        words = re.sub(python, shell, words)
    words = ARGUMENT.sub(lambda found: _as_option(found, options), words)
    missing, named = NO_COLUMN.search(words), NAME.search(words)
    files = [option for own, option in options.items() if words.startswith(f"{context.params.get(own)}:")]
    if missing:
        words = _of_column(words, missing, options, context)
    elif named and named[1] in options:
        words = options[named[1]] + words[named.end() :]
    elif files:
        words = f"{files[0]} {words}"
    error.args = (words, *error.args[1:])


def _as_option(found: re.Match[str], options: dict[str, str]) -> str:
    """Return an argument with its value as it is typed in the shell, or unchanged if no option is named so."""
    name, text, number = found.groups()
    return " ".join(filter(None, (options[name], text or number))) if name in options else found[0]


def _of_column(words: str, missing: re.Match[str], options: dict[str, str], context: Any) -> str:
    """Return the refusal of a missing column with the one option that named it."""
    known, name = missing.groups()
    given = {option: context.params.get(own) for own, option in options.items()}
    asked = [one for one, value in given.items() if isinstance(value, str) and name in map(str.strip, value.split(","))]
    if len(asked) != 1:
        return words
    default = next(own for own, option in options.items() if option == asked[0])
    left_out = "DEFAULT" in str(context.get_parameter_source(default))
    mend = f"; {asked[0]} was left out and is {name!r} then: name the column" if left_out else words[missing.end() :]
    return f"{asked[0]}: wanted one of the columns {known}, got {name!r}{mend}"
