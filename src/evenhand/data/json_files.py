"""JSON: rows, as objects one after another (JSON lines) or one array of objects, and any value, written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import numpy as np
import orjson

from evenhand.data.text_files import shown_encoding
from evenhand.errors import TableError, expected, why_unreadable

BLANK = re.compile(r"[ \t\r\n]*")
"""What JSON has between values; other line separators of Unicode stand inside texts alone."""

LARGEST = 2**53 - 1
"""The largest whole number that JavaScript, and whoever reads numbers as floats, tells from its neighbours."""
OPTIONS = orjson.OPT_STRICT_INTEGER | orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these names and values.

    Raises
    ------
    ValueError
        If a name appears twice.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} appears twice")
    return found


DECODER = json.JSONDecoder(object_pairs_hook=each_once)
"""Refuses an object that has a name twice."""


def rows_of(text: str, name: object) -> list[tuple[str, dict[str, Any]]]:
    """Return where each row stands in a file that is called `name`, such as "line 3", and its object.

    >>> rows_of('{"arm": "a"}\\n{ "arm": "b"}', "log"), rows_of('[{"arm": "a"}]', "log")
    ([('line 1', {'arm': 'a'}), ('line 2', {'arm': 'b'})], [('row 1', {'arm': 'a'})])

    Raises
    ------
    TableError
        If it is not JSON, a row is no object, or a name stands twice in one.
    """
    values = list(_values(text, name))
    if len(values) == 1 and isinstance(values[0][1], list):
        values = [(f"row {number}", row) for number, row in enumerate(values[0][1], 1)]
    for where, row in values:
        if not isinstance(row, dict):
            raise TableError(expected(f"{name}, {where}", "an object {...}", row))
    return values


def first_signs(head: bytes) -> str:
    """Return the first two signs of a text that begins so, without blanks: "[{" is an array of objects in JSON."""
    return "".join(head.decode(shown_encoding(head), errors="replace").removeprefix("\ufeff").split())[:2]


def _values(text: str, name: object) -> Iterator[tuple[str, Any]]:
    """Yield the values of a text, each with its line."""
    line = last = at = 0
    while (at := BLANK.match(text, at).end()) < len(text):  # type: ignore[union-attr]
        line, last = line + text.count("\n", last, at), at
        try:
            value, at = DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise TableError(f"{name}: cannot be read as JSON: {why_unreadable(error)}") from error
        except (ValueError, RecursionError) as error:
            raise TableError(f"{name}, line {line + 1}: cannot be read as JSON: {error}") from error
        yield f"line {line + 1}", value


def to_json(value: object) -> bytes:
    """Return a value in JSON; numbers that are not finite become null, and whole numbers beyond `LARGEST` texts, since
    whoever reads them as floats would take several labels for one."""
    try:
        return orjson.dumps(value, _plain, OPTIONS)
    except orjson.JSONEncodeError:
        return orjson.dumps(in_digits(value), _plain, OPTIONS)


def in_digits(value: object) -> Any:
    """Return a value with texts for whole numbers beyond `LARGEST`."""
    if isinstance(value, int):
        return value if abs(value) <= LARGEST else str(value)
    if isinstance(value, dict):
        return {name: in_digits(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [in_digits(one) for one in value]
    return in_digits(value.tolist()) if isinstance(value, (np.ndarray, np.generic)) else value


def _plain(value: object) -> Any:
    """Return what JSON can hold of an array, a time of pandas, or another object of a table."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return value.isoformat() if isinstance(value, datetime) else str(value)
