"""Numbers and dates in the cells of a CSV as people write them: 0,5 and 1.234,56 and 31.12.2025."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from datetime import datetime
from typing import TYPE_CHECKING, Any

from evenhand.data.tables import UNREADABLE

if TYPE_CHECKING:
    import pandas as pd

LOOKED_AT = 1000
"""How many cells of a column show whether it may hold numbers."""
DATE = re.compile(r"(\d{1,2})([./])(\d{1,2})\2(\d{4})(?:[ T](\d{1,2}:\d{2}(?::\d{2})?))?")


def _number(decimal: str) -> re.Pattern[str]:
    """Return the pattern of a number with this decimal sign, with or without signs between thousands."""
    other = "." if decimal == "," else ","
    grouped = rf"[1-9]\d{{0,2}}(?:([{other} \u00a0\u202f'’])\d{{3}})(?:\1\d{{3}})*"
    return re.compile(rf"[+-]?(?=[\d{decimal}])(?:{grouped}|\d+)?(?:{re.escape(decimal)}\d*)?(?:[eE][+-]?\d+)?")


NUMBER = {decimal: _number(decimal) for decimal in ",."}


def _readable(cell: str, decimal: str) -> bool:
    return any(sign.isdigit() for sign in cell) and NUMBER[decimal].fullmatch(cell.strip()) is not None


def _value(cell: str, decimal: str) -> float:
    other = "." if decimal == "," else ","
    return float(re.sub(rf"[{other}\s'’]", "", cell).replace(decimal, "."))


def with_point(cell: str) -> str:
    """Return the text of a number with a decimal comma, 0,5 or 1.234,56, with a point; other text as it is.

    >>> with_point("0,5"), with_point("1.234,56"), with_point("1,234")
    ('0.5', '1234.56', '1,234')
    """
    clear = _readable(cell, ",") and not _readable(cell, ".")
    return str(_value(cell, ",")) if clear else cell


def convert_numbers(
    frame: pd.DataFrame,
    read_texts: Callable[[list[str]], pd.DataFrame],
    decimal: str | None,
    text: Container[str],
    *,
    commas: bool,
) -> str:
    """Turn columns of numbers that pandas took for text, or for other numbers, into numbers; return the decimal sign,
    "" where no column shows one.

    Parameters
    ----------
    frame : what pandas read with decimal points; changed in place. A column that cannot be read is noted in its
        attributes, and refused where it is wanted.
    read_texts : reads columns of the same file again, as text.
    decimal : the decimal sign if the user gives it, None to find it out from all columns.
    text : the columns that stay text.
    commas : whether commas separate the cells, so that 1.234 is hardly 1234.
    """
    each = [name for name in frame.columns[~frame.columns.duplicated(keep=False)] if name not in text]
    written = {name: frame[name] for name in each if _may_be_numbers(frame[name])}
    floats = [name for name in each if frame[name].dtype.kind == "f"]
    unsure = not commas or decimal == "," or any(_kind(cells) in ("either", ",") for cells in written.values())
    if floats and unsure and decimal != ".":
        again = read_texts(floats)
        written |= {name: again[name].where(frame[name].notna()) for name in floats}
    kinds = {name: _kind(cells) for name, cells in written.items()}
    signs = {kind for kind in kinds.values() if kind in (",", ".")}
    common = decimal or ("," if "," in signs else "." if signs else "")
    for name, kind in kinds.items():
        if kind == "" or (decimal == "." and kind == ","):
            continue
        if kind == "either" and not decimal and len(signs) != 1:
            _refuse(frame, name, written[name], lambda cell: not set(cell) & {",", "."}, _either)
        else:
            _put(frame, name, written[name], kind if kind in signs and not decimal else common or ".")
    return common


def _may_be_numbers(cells: pd.Series[Any]) -> bool:
    """Return whether one of a column's first texts is a number."""
    if cells.dtype.kind in "iufcbmM":
        return False
    first = cells.dropna().head(LOOKED_AT)
    return any(isinstance(cell, str) and (_readable(cell, ",") or _readable(cell, ".")) for cell in first)


def _kind(cells: pd.Series[Any]) -> str:
    """Say which decimal sign the numbers of a column have: "," or ".", "either" where both fit, "none" of whole
    numbers, "" for text.

    A column is one of numbers with a decimal comma if half of its different cells are; the others are refused.
    """
    texts = [str(cell) for cell in cells.dropna().unique()]
    comma, point = ([_readable(cell, sign) for cell in texts] for sign in ",.")
    if all(comma) and all(point):
        return "either" if any("," in cell or "." in cell for cell in texts) else "none"
    if all(point):
        return "."
    signed = any("," in cell for cell, fits in zip(texts, comma, strict=True) if fits)
    return "," if signed and 2 * sum(comma) >= len(texts) and sum(comma) >= sum(point) else ""


def _put(frame: pd.DataFrame, name: str, cells: pd.Series[Any], decimal: str) -> None:
    """Put a column's numbers into the frame, or note its first cell that is none."""
    texts = cells.dropna()
    if not all(_readable(str(cell), decimal) for cell in texts.unique()):
        words = f"is not a number with the decimal sign {decimal!r}"
        _refuse(frame, name, cells, lambda cell: _readable(cell, decimal), lambda _: words)
        return
    values = {cell: _value(str(cell), decimal) for cell in texts.unique()}
    frame[name] = cells.map(values).astype(float)


def _either(cell: str) -> str:
    """Say what a number is with either decimal sign."""
    comma, point = (f"{_value(cell, sign):.15g}" for sign in ",.")
    return f"may be {comma} or {point}; pass --decimal , for the first, --decimal . for the second"


def _refuse(
    frame: pd.DataFrame, name: str, cells: pd.Series[Any], fits: Callable[[str], bool], words: Callable[[str], str]
) -> None:
    row, cell = next((row, cell) for row, cell in enumerate(cells, 1) if cell == cell and not fits(str(cell)))
    refusal = f"column {name!r}, row {row}: {cell!r} {words(str(cell))}"
    frame.attrs[UNREADABLE] = frame.attrs.get(UNREADABLE, {}) | {name: refusal}


def convert_dates(frame: pd.DataFrame, text: Container[str]) -> list[str]:
    """Write days such as 31.12.2025 as in ISO 8601, 2025-12-31; return the names of the columns.

    With slashes, a day above 12 must show whether days or months come first; else the column stays as it is.
    """
    found = []
    for name in frame.columns[~frame.columns.duplicated(keep=False)]:
        if name in text or frame[name].dtype.kind in "iufcbmM":
            continue
        days = frame[name].dropna()
        if not len(days) or not isinstance(days.iloc[0], str) or not DATE.fullmatch(days.iloc[0].strip()):
            continue
        iso = _iso_days([str(day).strip() for day in days.unique()])
        if iso:
            frame[name] = frame[name].map(lambda day, iso=iso: iso[day.strip()] if isinstance(day, str) else day)
            found.append(str(name))
    return found


def _iso_days(texts: list[str]) -> dict[str, str] | None:
    """Return the days as in ISO 8601, None if one is no day or the order of day and month is not clear."""
    parts = [DATE.fullmatch(text) for text in texts]
    if not all(parts):
        return None
    day, month = 1, 3
    if any(part and part[2] == "/" for part in parts):
        over = [{place for part in parts if part and int(part[place]) > 12} and place for place in (1, 3)]
        if bool(over[0]) == bool(over[1]):
            return None
        if over[1]:
            day, month = 3, 1
    found = {}
    for text, part in zip(texts, parts, strict=True):
        assert part is not None
        time = f" {part[5]:0>{5 if part[5].count(':') == 1 else 8}}" if part[5] else ""
        try:
            parsed = datetime.fromisoformat(f"{part[4]}-{int(part[month]):02}-{int(part[day]):02}")
        except ValueError:
            return None
        found[text] = f"{parsed:%Y-%m-%d}{time}"
    return found
