"""Refusals of the library in the words of the shell: they name the option that was typed, or left out."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from typing import Any

from evenhand.errors import SHOWN, EvenhandError, Refusal, Wording, file_said, masked, shown

ONE_OF = "one of "
NAMES = re.compile(r"^([a-z_]+(?:, [a-z_]+)*)(?:\[(.*?)\])?(?=[:,]| at )")
WORD = re.compile(r"\s*(?:[,;\n]|<?-+>|<-+)\s*")
"""What stands between the names of columns in an option."""
FILES = ("--promise", "--spec")
"""Options of files that hold what other options say too."""


def name_options(error: EvenhandError, context: Any) -> None:
    """Change the message of a refusal so that it names an option of the command where it named an argument of the
    library, and says of a column that is not there which option asked for it."""
    if not error.args or not isinstance(error.args[0], str):
        return
    options = {one.name: long_name(one) for one in context.command.params if one.opts[0].startswith("-")}
    words, refusal = in_shell(error.args[0]), error.refusal
    named = NAMES.search(words)
    files = [option for own, option in options.items() if words.startswith(f"{context.params.get(own)}:")]
    if refusal and refusal.name == "column" and refusal.expected.startswith(ONE_OF):
        words = _of_column(refusal, options, context)
    elif named and all(typed := [_typed(name, options, context) for name in named[1].split(", ")]):
        words = f"{', '.join(typed)}{f', {named[2]}' if named[2] else ''}{words[named.end() :]}"
    elif files:
        words = f"{files[0]} {words}"
    error.args = (words, *error.args[1:])


def typed_options(context: Any) -> dict[str, str]:
    """Return the options and arguments that were typed, by the names of the command's parameters."""
    source = context.get_parameter_source
    return {one.name: long_name(one) for one in context.command.params if "DEFAULT" not in str(source(one.name))}


def command_line(context: Any, name: str = "", without: Sequence[str] = ()) -> str:
    """Return the command as it was typed, or another one with its arguments, without some of them."""
    words, typed = ["evenhand", name or str(context.info_name)], typed_options(context)
    first = sorted(context.command.params, key=lambda one: str(one.opts[0]).startswith("-"))
    for one in (one for one in first if one.name not in without):
        value = context.params.get(one.name)
        option = one.secondary_opts[0] if value is False and one.secondary_opts else typed.get(one.name)
        for each in value if isinstance(value, (list, tuple)) else [value] if one.name in typed else []:
            named = [str(option)] if str(option).startswith("-") else []
            said = int(each) if isinstance(each, float) and each.is_integer() else each
            words += named if isinstance(each, bool) else [*named, str(said)]
    return shlex.join(words)


def long_name(parameter: Any) -> str:
    """Return an option as it is typed, in its long form, or an argument as help calls it."""
    return next((str(one) for one in parameter.opts if one.startswith("--")), str(parameter.name).upper())


def _typed(name: str, options: dict[str, str], context: Any) -> str:
    """Return what was typed, or left out, for an argument of the library; "" where nothing is known to stand for it."""
    given, own = typed_options(context).values(), f"--{name.replace('_', '-')}"
    exact = options.get(name, own if own in options.values() else "")
    alike = [exact] if exact else [f"{own}s", own.removesuffix("s"), context.command.said.arguments.get(name, "")]
    typed = [option for option in alike if option in given]
    argument = [long_name(one) for one in context.command.params if one.name == name and name not in options]
    file = [f"{option}, {name}" for option in FILES if option in given]
    pairs = [one for one in context.params.get("settings") or () if str(one).partition("=")[0] == name]
    return [*typed, *argument, *(f"--set {name}" for _ in pairs), *file, exact][0]


def _of_column(refusal: Refusal, options: dict[str, str], context: Any) -> str:
    """Return the refusal of a missing column with the one option that named it, or with the file that lacks it."""
    known, name = in_shell(refusal.expected).removeprefix(ONE_OF), refusal.got
    hint = f"; {in_shell(refusal.hint)}" if refusal.hint else ""
    given = {option: context.params.get(own) for own, option in options.items()}
    asked = [one for one, value in given.items() if isinstance(value, str) and name in WORD.split(value.strip())]
    if len(asked) != 1:
        tables = [context.params.get(one) for one in context.command.said.tables.split()]
        files = ", ".join(file_said(path) for path in tables if path and not isinstance(path, list))
        return f"{files or 'table'}: expected a column {name!r}, got the columns {known}{hint}"
    if asked[0] not in typed_options(context).values():
        hint = f"; {asked[0]} was left out and is {name!r} then: name the column"
    return f"{asked[0]}: expected one of the columns {known}, got {name!r}{hint}"


def in_shell(words: Any) -> str:
    """Return words of the library, or those of an error, as the shell says them.

    >>> in_shell(Wording("a number for each of ", ["no", "yes"], ", as ", {"no": 0.0}))
    'a number for each of no,yes, as no=0'
    """
    words = words.args[0] if isinstance(words, EvenhandError) and words.args else words
    if isinstance(words, Refusal):
        got = words.got if isinstance(words.got, Wording) else as_typed(words.got)
        got = got if len(got) <= SHOWN else f"{got[: SHOWN - 3]}..."
        words = Wording(words.name, ": expected ", words.expected, ", got ", got, words.hint and "; ", words.hint)
    if not isinstance(words, Wording):
        return str(words)
    return masked("".join(in_shell(one) if isinstance(one, str) else as_typed(one) for one in words.parts))


def as_typed(value: Any) -> str:
    """Return a value as it is typed; a text stays between quotation marks."""
    if not isinstance(value, (bool, list, tuple, dict)):
        return "nothing" if value is None else shown(value)
    inner = () if isinstance(value, bool) else [*value, *(value.values() if isinstance(value, dict) else ())]
    nested = any(isinstance(part, (list, dict)) for part in inner)
    return json.dumps(value, ensure_ascii=False, default=str) if nested else written(value)


def written(value: Any) -> str:
    """Return a label, or labels, as they are typed in the shell.

    >>> written(("a", "b")), written({"a": 0.0, "b,c": True}), written([])
    ('a,b', 'a=0,"b,c"=true', 'none')
    """
    if isinstance(value, dict):
        return ",".join(f"{written(key)}={written(part)}" for key, part in value.items()) or "none"
    if isinstance(value, (list, tuple, set)):
        return ",".join(map(written, value)) or "none"
    if isinstance(value, str) and value.strip() == value != "" and not set(value) & set(',="'):
        return value
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    return json.dumps(number, ensure_ascii=False, default=str)
