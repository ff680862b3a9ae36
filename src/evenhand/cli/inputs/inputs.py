"""What users type or name a file for, read once: shares, numbers, labels, JSON objects, names of columns."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import typer

from evenhand.cli.inputs.tables import is_table, read_table, text_in
from evenhand.data.files import FORMATS, TableOptions
from evenhand.data.json_files import each_once
from evenhand.data.tables import NUMBER, cells, column
from evenhand.data.text_files import read_encoding
from evenhand.errors import ArgumentError, SharesError, TableError, Wording, expected, expected_one_of, why_unreadable
from evenhand.labels import Labels
from evenhand.protocol import Label

Pairs = Iterable[tuple[str, Any]]
A_NUMBER = "a number such as 0.1, 1/10 or 10%"
STRICT = (
    "--tolerance is for shares: no arm may be above its cap by a whole play. To allow more, pass --cap-tolerance to an "
    "audit, --set cap_tolerance=2 to new, or write cap_tolerance in a promise file."
)
SETTING = re.compile(r",(?=[A-Za-z_]\w*=)")
"""Commas between settings, not those within a value."""
COMMA = re.compile(r"[+-]?\d*,\d+\s*%?")
"""A number with a decimal comma; lists have commas between numbers."""


def shares_of(text: str, arms: Sequence[Label]) -> dict[Label, Any]:
    """Read `0.02` (each arm), `0.2,1/3` (in their order), `a=0.2,b=1/3`, or a CSV (columns arm and share) or JSON file,
    for these arms."""
    given = named_shares(text)
    if given is None:
        each = one_each(text) or [text] * len(arms)
        if len(each) != len(arms):
            raise SharesError(expected("--shares", Wording("a share for each of the arms ", list(arms)), text))
        return dict(zip(arms, each, strict=True))
    named = dict(Labels(arms).read(given, "--shares", "ARM=SHARE,ARM=SHARE", refusal=SharesError))
    known = set(arms)
    unknown = [name for name in named if name not in known]
    if unknown:
        raise SharesError(expected_one_of("--shares", arms, unknown[0], what="arms among"))
    return {arm: named.get(arm, 0) for arm in arms}


def one_each(text: str) -> list[str]:
    """Return the numbers of a list such as 0.2,1/3, which are those of the arms in their order; none of one number."""
    return [part.strip() for part in text.split(",")] if "," in text else []


def changing_shares(text: str) -> Any:
    """Return the table in a CSV or Parquet file with a column `from`, of shares that change over time; None for any
    other text."""
    if "=" in text or not is_table(text):
        return None
    table = read_table(text, text=["arm", "share"])
    return _with_points(table) if "from" in table.columns else None


def delay_of(text: str) -> Any:
    """Read `50` rounds, delays `0,3,12` of which each round draws one, or `geometric:200`, a mean.

    >>> delay_of("50"), delay_of("0, 3, 12"), delay_of("geometric:200")
    ([50], [0, 3, 12], ('geometric', 200.0))

    Raises
    ------
    ArgumentError
        If it cannot be read.
    """
    name, colon, mean = text.partition(":")
    if colon and name.strip() == "geometric":
        return "geometric", number_of(mean, "--delay, geometric")
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        what = "a number of rounds, several as 0,3,12, or geometric:MEAN"
        raise ArgumentError(expected("--delay", what, text)) from error


def limits_of(cap: str, window: str, tolerance: float | None = None) -> dict[str, Any]:
    """Return what --cap and --window say, as arguments of a promise; beside a `tolerance`, say that caps have none.

    Raises
    ------
    SharesError, TableError
        If they cannot be read.
    """
    if cap and tolerance:
        typer.echo(STRICT, err=True)
    found = {"caps": (named_shares(cap, "--cap") or one_each(cap) or cap) if cap else None}
    found["windows"] = windows_of(window) if window else None
    return {name: limits for name, limits in found.items() if limits is not None}


def windows_of(text: str) -> dict[str, Any]:
    """Read `a=2/25,b=10`: at least twice in any 25 consecutive rounds, once in any 10.

    Raises
    ------
    SharesError
        If it cannot be read.
    """
    found: dict[str, Any] = {}
    for name, window in (named_shares(text, "--window") or {"": text}).items():
        least, _, rounds = str(window).rpartition("/")
        if not name or not rounds.isdecimal() or not (least or "1").isdecimal():
            raise SharesError(expected("--window", "ARM=ROUNDS or ARM=PLAYS/ROUNDS", window))
        found[name] = int(least or 1), int(rounds)
    return found


def named_shares(text: str, option: str = "--shares", what: str = "SHARE") -> dict[str, Any] | None:
    """Return the shares by the arms' names, or None where one number serves every arm.

    Read are ARM=SHARE,ARM=SHARE, an object {"ARM": SHARE}, also in a JSON file, and tables.

    Raises
    ------
    SharesError, TableError
        If it cannot be read, a cell of a file is empty, or an arm is named twice.
    """
    if text.lstrip().startswith("{"):
        return _parse(text, option, lambda pairs: _shares(pairs, option))
    if text.lower().endswith(".json") and not is_table(text):
        return _parse(text_in(Path(text)), text, lambda pairs: _shares(pairs, text))
    if "=" in text:
        pairs = []
        for part in text.split(","):
            name, _, share = part.rpartition("=")
            if not name.strip() or not share.strip():
                hint = f"{part!r} is not one; write decimals with a point, 0.1" if part != text else ""
                hint = f'write names with a comma as an object, {{"a, b": "{what}"}}' if '"' in text else hint
                raise SharesError(expected(option, f"ARM={what},ARM={what}", text, hint))
            pairs.append((name.strip(), share.strip()))
        return _shares(pairs, option)
    if is_table(text):
        frame = _with_points(read_table(text, text=["arm", "share"]))
        if "arm" not in frame.columns or "share" not in frame.columns:
            raise TableError(expected(text, "the columns 'arm' and 'share'", [str(name) for name in frame.columns]))
        return _shares(zip(map(str, column(frame, "arm")), cells(frame, "share").tolist(), strict=True), text)
    if COMMA.fullmatch(text.strip()):
        number_of(text, option)
    return None


def numbers_by_name(text: str, option: str, what: str = "a number") -> dict[str, float]:
    """Return what `named_shares` reads as numbers, each of which is `what`.

    Raises
    ------
    ArgumentError
        If one is no number, or nothing is named.
    """
    named = named_shares(text, option)
    if named is None:
        raise ArgumentError(expected(option, "NAME=NUMBER,NAME=NUMBER", Wording("a value without names")))
    return {name: number_of(value, f"{option}, {name}", what) for name, value in named.items()}


def means_of(text: str) -> list[float] | dict[Any, float]:
    """Read the arms' mean rewards, 0.7,0.5,0.4, or by name as `named_shares` reads them."""
    if named_shares(text, "--means") is not None:
        return numbers_by_name(text, "--means")
    return [number_of(part, "--means", "numbers separated by commas") for part in text.split(",")]


def _with_points(frame: Any) -> Any:
    """Return a table of shares that may be written 0,25: a share has no thousands."""
    if "share" in frame.columns and not any(frame.columns.duplicated()):
        frame["share"] = [cell.replace(",", ".") if isinstance(cell, str) else cell for cell in frame["share"]]
    return frame


def _shares(pairs: Pairs, source: str) -> dict[str, Any]:
    """Return what is given by name, each name once and at least one."""
    given: dict[str, Any] = {}
    for name, value in pairs:
        if name in given:
            raise SharesError(expected(source, "each name once", f"{name}, twice"))
        given[name] = value
    if not given:
        raise SharesError(expected(source, "at least one name with its value", Wording("nothing")))
    return given


def read_object(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file.

    Raises
    ------
    TableError
        If the file cannot be read, is no JSON object, or an object in it has a name twice.
    """
    return _parse(text_in(path), str(path), each_once)


def _parse(text: str, source: str, hook: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> dict[str, Any]:
    try:
        body = json.loads(text, object_pairs_hook=hook)
    except SharesError:
        raise
    except (ValueError, RecursionError) as error:
        hint = "; NAME=VALUE,NAME=VALUE is read as well" if source.startswith("--") else ""
        raise TableError(f"{source}: cannot be read as JSON: {why_unreadable(error)}{hint}") from error
    if not isinstance(body, dict):
        raise TableError(expected(source, 'an object {"name": value}', type(body).__name__))
    return body


def names_of(text: str) -> list[str]:
    """Read names separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def columns_of(texts: Iterable[str], known: Iterable[str]) -> list[str]:
    """Read names of columns, one or several in each text; one with a comma is a column where the table has it."""
    return [name for text in texts for name in ([text] if text in known else names_of(text))]


def read_table_options(
    sep: str, decimal: str, encoding: str, format: str, header: str = "", values: str = ""
) -> TableOptions:
    """Return what the options of a command say of its tables.

    Raises
    ------
    ArgumentError
        If one of them says nothing that can be read.
    """
    sep = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}.get(sep, sep)
    if len(sep) > 1 or (sep and (sep.isalnum() or sep in '"\r\n')):
        raise ArgumentError(expected("--sep", "one character such as ';' or '|', or tab", sep))
    if decimal not in ("", ",", "."):
        raise ArgumentError(expected("--decimal", "',' or '.'", decimal))
    if decimal and decimal == sep and sep != ",":
        raise ArgumentError(expected("--decimal", "a character other than that of --sep", decimal))
    if format and format not in FORMATS:
        raise ArgumentError(expected_one_of("--format", FORMATS, format))
    if encoding:
        read_encoding("--encoding", encoding)
    names = labels_in(header, "--header") if header else []
    if len({*map(str, names)} - {""}) < len(names):
        raise ArgumentError(expected("--header", "each name once, and none empty", header))
    numbers = numbers_by_name(values, "--values") if values else {}
    if already := [text for text in numbers if NUMBER.fullmatch(text)]:
        raise ArgumentError(expected("--values", "texts that stand for numbers, no=0,yes=1", already[0]))
    sure = (sep or None, decimal or None, encoding or None, format or None)
    return TableOptions(*sure, tuple(map(str, names)), values=tuple(numbers.items()))


def labels_in(text: str, option: str) -> list[Any]:
    """Read labels a,b, or a list as JSON.

    >>> labels_in("a, b", "--available"), labels_in('["a,b", 17]', "--available")
    (['a', 'b'], ['a,b', 17])
    """
    if not text.lstrip().startswith("["):
        return [label.strip() for label in text.split(",")]
    try:
        return list(json.loads(text))
    except ValueError as error:
        raise ArgumentError(expected(option, 'labels a,b,c or ["a", "b"] as JSON', text)) from error


def number_of(text: Any, name: str, what: str = A_NUMBER) -> float:
    """Return the number in a text.

    >>> number_of("0.1", "--gap"), number_of("1/4", "--gap"), number_of("2.5 %", "--gap")
    (0.1, 0.25, 0.025)

    Raises
    ------
    ArgumentError
        If there is none; of a decimal comma it says how to write the number.
    """
    typed = str(text).strip()
    part = typed.removesuffix("%").strip()
    try:
        number = float(Fraction(part)) if "/" in part else float(part)
    except (ValueError, ArithmeticError) as error:
        hint = f"write {typed.replace(',', '.')}, with a decimal point" if COMMA.fullmatch(typed) else ""
        raise ArgumentError(expected(name, what, text, hint)) from error
    return number if part == typed else number / 100


def settings_of(text: str, option: str) -> tuple[str, dict[str, Any]]:
    """Read `NAME` or `NAME:SETTING=VALUE,SETTING=VALUE`; a value may have commas too.

    >>> settings_of("my-policy:rates=.1,.2,patience=3", "--policy")
    ('my-policy', {'rates': [0.1, 0.2], 'patience': 3})
    """
    name, _, given = text.partition(":")
    pairs = [pair.partition("=") for pair in SETTING.split(given)] if given else []
    for setting, equals, value in pairs:
        if not setting or not equals or not value:
            raise ArgumentError(expected(option, "NAME or NAME:SETTING=VALUE,SETTING=VALUE", text))
    return name, {setting: setting_of(value) for setting, _, value in pairs}


def setting_of(text: str) -> Any:
    """Return what a text says: JSON where it reads as such, numbers or words separated by commas, else the text.

    >>> setting_of("2"), setting_of(".5,1"), setting_of("true"), setting_of("paper"), setting_of("f,m")
    (2, [0.5, 1.0], True, 'paper', ['f', 'm'])
    """
    with suppress(ValueError):
        return json.loads(text)
    with suppress(ValueError):
        numbers = [float(part.replace("_", "?")) for part in text.split(",")]  # 1_0 is a name
        return numbers if len(numbers) > 1 else numbers[0]
    return [word.strip() for word in text.split(",")] if "," in text else text
