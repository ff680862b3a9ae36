"""Refusals of the library in the words of the shell: they name the option that was typed, or left out."""

from __future__ import annotations

import json
import re
from ast import literal_eval
from contextlib import suppress
from shlex import quote
from typing import Any

from evenhand.cli.options import TABLE_COMMANDS
from evenhand.errors import EvenhandError, file_said

NO_COLUMN = re.compile(r"^column: expected one of (.*), got '(.*?)'(?=$|;)")
BRACKET = re.compile(r"(?<![\w'])(?:\{|(?<!\bin )\[|[\[(](?![-+\d.e]+, ))(?!\"[^\"']*\")")
"""Where labels may begin; what has double quotation marks is JSON, [0, 1] after "in" an interval, (3, 2) a shape."""
CLOSING = {"[": "]", "(": ")", "{": "}"}
OF_PYTHON: dict[str, Any] = {
    r"\ban int >= 0, a numpy Generator or None\b": "a whole number >= 0",
    r"\b(expected|got) None\b": r"\1 nothing",
    r"\bgot (?:'((?:nothing|none|both|neither)|(?:an?|no|none|\d+) [^']*)'|\"([^\"]*'[^\"]*)\")(?=$|;)": r"got \1\2",
    r"\b(got|one of) (True|False)\b": lambda found: found[0].lower(),
    r", or None for [\w ]+": "",
    r"\bturn its texts into numbers first, such as (?=\{)": "pass --values ",
    r"\badd it to the edges\b": "add it to --edges",
    r"\ba timedelta, ": "",
    r"; call ask\(\w*\)$": "; leave it out",
    r"; call ask_again\(\[id\]\) to have it labelled once more": "",
    r"\bname the users, (1=ann,2=bob,) if": r"pass --annotator-of \1 if",
    r"\bcorrect\(\) changes": "--correct changes",
    r"\btake back what is wrong by withdraw\(.*?; where some verdicts ": "withdraw what is wrong; where some answers ",
    r"\buse MomentDistance\(error_rate=\.\.\.\)": "begin another --state with --errors 0.1",
    r"\bDeadlineLearn (?=keeps|knows)": "--policy deadline-learn ",
    r"; if a study decides, .*?: it works on a copy of this policy": "",
    r"\bpass offers= to Promise": "say offers in the file of --promise",
    r"\bwith change\(shares\)": "with evenhand change",
    r"\(plays, rounds\) with (.*), got \((\d+), (\d+)\)": r"plays/rounds with \1, got \2/\3",
    r"\bnumbers of shape \((\d+), (\d+)\), one row per arm": r"\1 rows of \2 numbers, one row per arm",
    r"\bnumbers of shape \((\d+), d\), one row per arm": r"\1 rows of numbers, one row per arm",
    r"\bStudy\.create\b": "a program in Python",
    r" or a function of \([\w, ]+\)": "",
    r"ask sensitivity\(\) how strong it has to be": "recommend then says how strong it has to be",
    r"encode text and categories first: eh\.Encoder\(.*\)\.replace\(frame\)": "turn text into columns of 0 and 1 first",
    r'such as "arms": \["a", "b"\]': "such as --arms a,b",
    r"\((\d+),\)": r"\1",
    r"(?<=\w) needs groups$": " needs --groups",
    r"rescale the features with Scale\.of\(pool\).*": "begin the study with a scale in the file of --spec, the part "
    "similarity/scale with a centre and a unit for each feature",
    r"fit it to a pool with such people: Scale\.of\(pool\)": "begin a study whose scale has a larger unit",
}
"""What the library says to programs, and how the shell says it."""
NAMES = re.compile(r"^([a-z_]+(?:, [a-z_]+)*)(?:\[(.*?)\])?(?=[:,]| at )")
WORD = re.compile(r"\s*(?:[,;\n]|<?-+>|<-+)\s*")
"""What stands between the names of columns in an option."""
FILES = ("--promise", "--spec")
"""Options of files that hold what other options say too."""
ELSEWHERE = {
    "classes": "--labels", "costs": "--candidates", "latent": "--edges", "parents": "--edges", "learner": "--policy",
    "policies": "--policy",
}  # fmt: skip
"""Options that lead to an argument of another name."""
ARGUMENT = re.compile(r"(?<![\w'-])([a-z_]+)=(?:True\b|'([\w-]+)'|(\d[\d.]*\b))?(?=$|[\s,;.)])")
"""An argument as programs write it: stationary=True, estimator='replay', rounds=."""


def name_options(error: EvenhandError, context: Any) -> None:
    """Change the message of a refusal so that it names an option of the command where it named an argument of the
    library, and says of a column that is not there which option asked for it."""
    if not error.args or not isinstance(error.args[0], str):
        return
    options = {one.name: _long(one) for one in context.command.params if one.opts[0].startswith("-")}
    words = error.args[0]
    for python, shell in OF_PYTHON.items():
        words = re.sub(python, shell, words)
    words = ARGUMENT.sub(lambda found: _as_option(found, options), words)
    missing, named = NO_COLUMN.search(words), NAMES.search(words)
    files = [option for own, option in options.items() if words.startswith(f"{context.params.get(own)}:")]
    if missing:
        words = _of_column(words, missing, options, context)
    elif named and all(typed := [_typed(name, options, context) for name in named[1].split(", ")]):
        words = f"{', '.join(typed)}{f', {named[2]}' if named[2] else ''}{words[named.end() :]}"
    elif files:
        words = f"{files[0]} {words}"
    error.args = (in_shell(words), *error.args[1:])


def typed_options(context: Any) -> dict[str, str]:
    """Return the options and arguments that were typed, by the names of the command's parameters."""
    source = context.get_parameter_source
    return {one.name: _long(one) for one in context.command.params if "DEFAULT" not in str(source(one.name))}


def _long(parameter: Any) -> str:
    """Return an option as it is typed, in its long form, or an argument as help calls it."""
    return next((str(one) for one in parameter.opts if one.startswith("--")), str(parameter.name).upper())


def _typed(name: str, options: dict[str, str], context: Any) -> str:
    """Return what was typed, or left out, for an argument of the library; "" where nothing is known to stand for it."""
    given, own = typed_options(context).values(), f"--{name.replace('_', '-')}"
    exact = options.get(name, own if own in options.values() else "")
    alike = [exact] if exact else [f"{own}s", own.removesuffix("s"), ELSEWHERE.get(name, "")]
    typed = [option for option in alike if option in given]
    argument = [_long(one) for one in context.command.params if one.name == name and name not in options]
    file = [f"{option}, {name}" for option in FILES if option in given]
    pairs = [one for one in context.params.get("settings") or () if str(one).partition("=")[0] == name]
    return [*typed, *argument, *(f"--set {name}" for _ in pairs), *file, exact][0]


def _as_option(found: re.Match[str], options: dict[str, str]) -> str:
    """Return an argument with its value as it is typed in the shell, or unchanged if no option is named so."""
    name, text, number = found.groups()
    return " ".join(filter(None, (options[name], text or number))) if name in options else found[0]


def _of_column(words: str, missing: re.Match[str], options: dict[str, str], context: Any) -> str:
    """Return the refusal of a missing column with the one option that named it, or with the file that lacks it."""
    known, name = missing.groups()
    given = {option: context.params.get(own) for own, option in options.items()}
    asked = [one for one, value in given.items() if isinstance(value, str) and name in WORD.split(value.strip())]
    if len(asked) != 1:
        tables = [context.params.get(one) for one in TABLE_COMMANDS.get(context.info_name, "").split()]
        files = ", ".join(file_said(path) for path in tables if path and not isinstance(path, list))
        return f"{files or 'table'}: expected a column {name!r}, got the columns {known}{words[missing.end() :]}"
    left_out = asked[0] not in typed_options(context).values()
    mend = f"; {asked[0]} was left out and is {name!r} then: name the column" if left_out else words[missing.end() :]
    return f"{asked[0]}: expected one of the columns {known}, got {name!r}{mend}"


def in_shell(words: str) -> str:
    """Return a message whose lists, tuples and dicts are written as they are typed.

    >>> in_shell("--values: expected a number for each of ['no', 'yes'] in [0, 1], got {'no': 0.0, 'maybe'...")
    '--values: expected a number for each of no,yes in [0, 1], got no=0,...'
    """
    parts, at = [], 0
    for bracket in BRACKET.finditer(words):
        if bracket.start() >= at and (found := _literal(words[bracket.start() :])):
            typed, length = found
            if words[: bracket.start()].endswith("pass --values "):  # which takes names with = or a comma as JSON
                value = literal_eval(words[bracket.start() :][:length])
                typed = quote(json.dumps(value, ensure_ascii=False) if '"' in typed else typed)
            parts += [words[at : bracket.start()], typed]
            at = bracket.start() + length
    return "".join([*parts, words[at:]])


def _literal(words: str) -> tuple[str, int] | None:
    """Return what stands at the start of some words as it is typed, and its length; None where it is no literal."""
    closing, end = CLOSING[words[0]], words.find("...")
    whole = [(words[:at], at, "") for at in range(2, len(words) + 1) if words[at - 1] == closing]
    cut = [(words[:at] + closing, end + 3, ",...") for at in range(end, 0, -1) if words.startswith(", ", at)]
    # the shortest that closes first: a longer one would take the brackets of the next list as well
    for text, length, more in (*whole, *cut):
        with suppress(ValueError, SyntaxError, TypeError):
            value = literal_eval(text)
            parts = [*value, *(value.values() if isinstance(value, dict) else ())]
            if isinstance(value, str):
                return None
            nested = any(isinstance(part, (dict, list)) for part in parts)
            typed = json.dumps(value, ensure_ascii=False) if nested else written(value) + more
            return f"({typed})" if isinstance(value, tuple) and ... in value else typed, length
    return None


def written(value: Any) -> str:
    """Return a label, or labels, as they are typed in the shell.

    >>> written(("a", "b")), written({"a": 0.0, "b,c": True}), written([])
    ('a,b', 'a=0,"b,c"=true', 'none')
    """
    if isinstance(value, dict):
        return ",".join(f"{written(key)}={written(part)}" for key, part in value.items()) or "none"
    if isinstance(value, (list, tuple, set)):
        return ",".join(map(written, value)) or "none"
    if value is ... or (isinstance(value, str) and value.strip() == value != "" and not set(value) & set(',="')):
        return str(value).replace("Ellipsis", "...")
    return json.dumps(int(value) if isinstance(value, float) and value.is_integer() else value, ensure_ascii=False)
