"""Tables from users: columns are checked on entry, and errors name the offending row and column."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Sequence
from datetime import date, time, timedelta
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arguments import in_sequence
from evenhand.errors import TableError, Wording, expected, expected_one_of
from evenhand.frames import UNORDERED, holds_categories
from evenhand.kernels.arrays import Floats, Ints
from evenhand.labels import Labels
from evenhand.protocol import TRUTHS, Label, composed, distinct, label_of, writing

if TYPE_CHECKING:
    import pandas as pd

UNREADABLE = "unreadable"
"""Where the attributes of a frame hold, by column, why whoever read it could not read that column."""
SPELLED = {"True", "TRUE", "False", "FALSE"}
"""Texts that are the labels "true" and "false", written otherwise."""
FEW_TEXTS = 6
"""Of so many texts a refusal says which numbers they might be."""
FILL = "fill it or drop the row"
"""How an empty cell is mended."""
MONEY = re.compile(r"\(?[-+]?(?:[A-Z]{3}|[^\w\s.,]{0,3})\s*[-+]?\d[\d.,'’\s]*(?:[^\W\d]{1,3}|[^\w\s]{1,3})?\)?")
"""A number with what stands for its unit, such as $1.20, 1,200.50 EUR or 5 %."""
_DIGITS = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
NUMBER = re.compile(f"[+-]?{_DIGITS}")
_END = f"[+-]?(?:{_DIGITS}|inf)"
BAND = re.compile(
    rf"[\[(]({_END}), ?{_END}[\])]|(?:under|up to|<=?|≤) ?{_END}|({_END})(?: to (?:under )?| ?[-–] ?){_END}"
    rf"|(?:over|>=?|≥) ?({_END})|({_END}) ?(?:(?:or|and) (?:more|over|older|above)|\+)",
    re.IGNORECASE,
)
"""Bands of numbers as pandas.cut, --cut and people write them; a group is where one begins, nowhere where it has no
lower end."""
OFFERED = "available"
"""The column of a study's log with the arms on offer, which audits find by themselves."""
LEFT_OUT = "decisions_left_out"
"""The column of an exported log that says how many decisions beside each are not in it, as they have no reward."""
EACH = "propensity_"
"""Before an arm, the column of an exported log with the chance of that arm, whichever was drawn."""
LEAST_CHANCE = 1e-100
"""Squares of 1 / p are added up, which must stay finite."""
ROUNDING = 1e-9
"""By how much a chance may be above 1: sums of chances are rounded."""


def column(frame: pd.DataFrame, name: str) -> NDArray[Any]:
    """Return a column of labels (n_rows,), each as `evenhand.protocol.label_of` reads it: whole numbers as int, also
    those of a column of floats, truth values as "true" and "false", everything else as text in Unicode's composed form.

    A column of objects is read cell by cell, so that 1 stays 1 beside "a".

    Raises
    ------
    TableError
        If there is no such column, it appears twice, a cell is empty, an object is no label, or a float is so
        large that it may be any of several whole numbers.
    """
    values: Any = cells(frame, name)
    if values.dtype.kind == "i" or (values.dtype.kind == "u" and values.max() < 2**63):
        whole: NDArray[Any] = values.to_numpy(dtype=np.int64)
        return whole
    kind = values.cat.categories.dtype if values.dtype == "category" else values.dtype
    if kind.kind == "f":
        check_digits(values.astype(kind).to_numpy(), name, "labels")
    codes: Any = slice(None)
    if values.dtype.kind in "fb" or values.dtype in ("string", "category"):
        codes, values = values.factorize()
    labels, objects = np.empty(len(values), dtype=object), values.dtype == object
    spelled = objects and not SPELLED.isdisjoint(value for value in values if isinstance(value, str))
    for row, value in enumerate(values):
        labels[row] = label_of(value) if objects else _label_or_text(value)
        if labels[row] is None or (spelled and isinstance(value, (bool, np.bool_))):  # True beside "True"
            where, kind = f"column {name!r}, row {row + 1}", type(value).__name__
            raise TableError(expected(where, "a whole number or text", value, f"turn each {kind} into text"))
    chosen: NDArray[Any] = labels[codes]
    return chosen


def check_digits(values: Floats, name: str, what: str) -> None:
    """Refuse floats that stand for whole numbers which they cannot tell apart; `what` says what they are.

    Raises
    ------
    TableError
        If there are such; the first row is named.
    """
    least = 2.0 ** (np.finfo(values.dtype).nmant + 1)
    bad = np.flatnonzero(np.isfinite(values) & (abs(values) >= least))
    if bad.size:
        what = f"{what} that floats hold exactly, below {least:.0f}"
        hint = "read the column as whole numbers or as text; an empty cell turns it into floats"
        raise TableError(expected(f"column {name!r}, row {bad[0] + 1}", what, values[bad[0]], hint))


def _label_or_text(value: object) -> Label:
    """Return a value as its label, and what is none as its text."""
    label = label_of(value)
    return str(composed(str(value))) if label is None else label


def places_in(labels: NDArray[Any], known: Sequence[Any]) -> Ints:
    """Return the position among `known` of each label that `column` read (n_rows,), -1 where it is none of them; see
    `evenhand.labels.Labels.place`."""
    import pandas as pd

    codes, met = pd.factorize(labels)
    return np.array(Labels(known).places(met.tolist()), np.int64)[codes]


def in_natural_order(labels: Iterable[Any]) -> list[Any]:
    """Return different labels: numbers, texts that are numbers, and bands of numbers by size, then other texts. Of
    those that are the same, such as 1 and "1", one stays: the number.

    >>> in_natural_order(["10", "b", "9", "a", "9"]), in_natural_order(["10", 9, 10])
    (['9', '10', 'a', 'b'], [9, 10])
    >>> in_natural_order(["45 or more", "5 to under 45", "under 5"]), in_natural_order(["(10, 20]", "(5, 10]"])
    (['under 5', '5 to under 45', '45 or more'], ['(5, 10]', '(10, 20]'])
    """

    def place(label: object) -> tuple[Any, ...]:
        size = _size(label)
        return size is None, size or 0, str(label), isinstance(label, str)

    return distinct(sorted(set(labels), key=place))


def _size(label: object) -> Any:
    """Return the number that a label is, or where the band begins that it is; None of any other text."""
    if not isinstance(label, str) or NUMBER.fullmatch(label):
        return float(label) if isinstance(label, str) else label
    band = BAND.fullmatch(label)
    return None if band is None else float(next(filter(None, band.groups()), "-inf"))


def twin_of(label: object, known: Iterable[Any]) -> Any:
    """Return the label that is the same number as another one, written otherwise; None where there is none.

    >>> twin_of("01", [1, 2]), twin_of("1", ["1.0", "01"]), twin_of("a", ["1"])
    (1, '1.0', None)
    """
    if not NUMBER.fullmatch(str(label)):
        return None
    others = (one for one in known if NUMBER.fullmatch(str(one)) and writing(one) != writing(label))
    return next((one for one in others if float(str(one)) == float(str(label))), None)


def named_alike(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels that `column` read (n_rows,), those that are the same under one of them."""
    known = in_natural_order(labels.tolist())
    return np.array(known, dtype=labels.dtype)[places_in(labels, known)]


def levels_of(labels: NDArray[Any], values: pd.Series[Any]) -> list[Any]:
    """Return the labels that `column` read from these cells, in the order of whoever made the column: categories as
    they stand, those that no cell holds included; anything else in natural order."""
    import pandas as pd

    declared = _declared(values)
    if declared and _stated(values):
        return distinct(declared)
    return in_natural_order([*pd.unique(labels).tolist(), *declared])


def order_is_known(labels: Iterable[Any], values: pd.Series[Any]) -> bool:
    """Return whether whoever made a column knows in which order `levels_of` has its labels: its categories state one,
    or all are numbers, bands of numbers or truth values. What is by position is then read by it."""
    if holds_categories(values):
        return _stated(values)
    sizes = [TRUTHS.get(label) or _size(label) for label in labels]
    return None not in sizes and len(set(sizes)) == len(sizes)


def in_column_order(frame: pd.DataFrame, names: Sequence[Any], labels: NDArray[Any]) -> list[Any]:
    """Return the different ones among labels (n_rows,) that were made from columns, in the order of these columns'
    labels, the first column's first."""
    import pandas as pd

    read = [labels] if len(names) == 1 else [column(frame, name) for name in names]
    at = [places_in(each, levels_of(each, frame[name])) for each, name in zip(read, names, strict=True)]
    texts = np.array([isinstance(label, str) for label in labels.tolist()])  # of 1 and "1" the number stays
    return distinct(pd.unique(labels[np.lexsort([texts, *at[::-1]])]).tolist())


def _declared(values: pd.Series[Any]) -> list[Any]:
    return list(map(_label_or_text, values.cat.categories)) if holds_categories(values) else []


def _stated(values: pd.Series[Any]) -> bool:
    """Return whether the categories of a column are in an order that somebody has chosen: neither that in which a
    library met them, nor "1", "10", "2" as pandas sorts unasked."""
    kinds = _declared(values)
    sorted_unasked = kinds == sorted(kinds, key=str) != in_natural_order(kinds)
    return bool(values.cat.ordered) or not (values.name in values.attrs.get(UNORDERED, ()) or sorted_unasked)


def numbers(frame: pd.DataFrame, name: str, low: float = -np.inf, high: float = np.inf, empty: str = FILL) -> Floats:
    """Return a column of finite numbers (n_rows,) between `low` and `high`; `empty` says how to mend an empty cell.

    Raises
    ------
    TableError
        If there is no such column, it holds categories, or a cell is empty, not a number, not finite or out of range;
        its row is named.
    """
    import pandas as pd

    values = cells(frame, name, empty)
    if holds_times(values):
        hint = "turn dates and durations into numbers first"
        raise TableError(expected(f"column {name!r}", "finite numbers", values.iloc[0], hint))
    if holds_categories(values):
        hint = "if they are amounts, turn the column into numbers: .astype(float)"
        raise TableError(expected(f"column {name!r}", "finite numbers", "categories", hint))
    found = pd.to_numeric(values, errors="coerce")
    if found.dtype.kind == "c":
        raise TableError(expected(f"column {name!r}", "finite numbers", values.iloc[0]))
    read = found.to_numpy(dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(read) & (read >= low) & (read <= high)))
    if bad.size:
        row = int(bad[0])
        inside = "finite numbers" if np.isinf(low) else f"numbers in [{low:g}, {high:g}]"
        hint = "scale the column first" if np.isfinite(read[row]) else _as_numbers(values, values.iloc[row], found)
        raise TableError(expected(f"column {name!r}, row {row + 1}", inside, values.iloc[row], hint))
    return read


def _as_numbers(texts: pd.Series[Any], bad: object, found: pd.Series[Any]) -> str:
    """Return how to make numbers of a column whose cell `bad` is none: without the sign of a currency or a unit, or for
    few texts, such as yes and no; those that may deny come first."""
    if isinstance(bad, str) and MONEY.fullmatch(bad.strip()):
        return "it is a number written as text: take the currency, the unit or the percent sign out of the column"
    if not found.isna().all():
        return ""
    known = sorted({text for text in texts if isinstance(text, str)}, key=lambda text: (text[:1] not in "nN", text))
    numbered = {text: number for number, text in enumerate(known)}
    if not 1 < len(known) <= FEW_TEXTS:
        return ""
    typed = ",".join(f"{text}={number}" for text, number in numbered.items())
    if set("".join(known)) & set(',="'):  # --values takes such texts as JSON alone
        typed = json.dumps(numbered, ensure_ascii=False)
    return Wording("turn its texts into numbers first, such as ", numbered, shell=f"pass --values {quote(typed)}")


def chances(frame: pd.DataFrame, name: str) -> Floats:
    """Return a column of propensities (n_rows,), the chances of the decisions that the rows hold, at most 1.

    Raises
    ------
    TableError
        As `numbers` does, and if one is not above 0 and at most 1, or so small that no row can be weighed by it.
    """
    read = numbers(frame, name)
    bad = np.flatnonzero(~((read >= LEAST_CHANCE) & (read <= 1 + ROUNDING)))
    if bad.size:
        where, hint = f"column {name!r}, row {bad[0] + 1}", "it is the probability of the arm in that row"
        if 0 < read[bad[0]] < LEAST_CHANCE:
            hint = f"a row cannot be weighted by a probability below {LEAST_CHANCE:g}"
        raise TableError(expected(where, "a propensity above 0 and at most 1", read[bad[0]], hint))
    return np.minimum(read, 1.0)


def column_names(name: str, given: object) -> list[Any]:
    """Return the columns that a user names: one, or several in a list.

    Raises
    ------
    TableError
        If there is none, or something that cannot be a column's name.
    """
    what = "the name of a column, or a list of them"
    names = in_sequence(name, [given] if isinstance(given, (str, int)) else given, what, refusal=TableError)
    if not names or any(one is None or not isinstance(one, Hashable) for one in names):
        raise TableError(expected(name, what, given))
    return names


def check_column(frame: pd.DataFrame, name: object, use: str = "column") -> None:
    """Refuse a name that no column of a frame has; `use` is what the column is for.

    Raises
    ------
    TableError
        If there is no such column, or values were given and no name.
    """
    if not isinstance(name, Hashable):
        hint = "put the values into the table as one column, and name that"
        raise TableError(expected(use, "the name of a column", type(name).__name__, hint))
    if name not in frame.columns:
        of = "one of" + " the columns" * (use != "column")
        raise TableError(expected_one_of(use, map(str, frame.columns), name, what=of))


def cells(frame: pd.DataFrame, name: str, empty: str = FILL) -> pd.Series[Any]:
    """Return a column as it stands, without an empty cell.

    Raises
    ------
    TableError
        If there is no such column, it appears twice, it has no rows, or a cell is empty; its row is named.
    """
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise TableError(expected("frame", "a pandas DataFrame", type(frame).__name__, "read files with pandas first"))
    check_column(frame, name)
    if name in frame.attrs.get(UNREADABLE, ()):
        raise TableError(frame.attrs[UNREADABLE][name])
    values = frame[name]
    if isinstance(values, pd.DataFrame):
        raise TableError(f"column {name!r}: appears {values.shape[1]} times; rename all but one")
    if not len(values):
        raise TableError(f"column {name!r}: no rows")
    check_empty(name, values.isna(), empty)
    return values


def check_empty(name: object, empty: Any, hint: str = FILL) -> None:
    """Refuse a column of whose cells some are empty (n_rows,): the first is named, and how many there are.

    Raises
    ------
    TableError
        If there are.
    """
    rows = np.flatnonzero(empty)
    if rows.size:
        others = f"and so {'is' if rows.size == 2 else 'are'} {rows.size - 1:,} more in this column"
        more = f", {others}" if rows.size > 1 else ""
        raise TableError(f"column {name!r}, row {rows[0] + 1}: the cell is empty{more}; {hint}")


def holds_times(values: pd.Series[Any]) -> bool:
    """Return whether a column holds dates, times or durations."""
    import pandas as pd

    kind = values.dtype.categories.dtype if isinstance(values.dtype, pd.CategoricalDtype) else values.dtype
    if isinstance(kind, np.dtype) and kind.hasobject:
        times = (date, time, timedelta, pd.Period, np.datetime64, np.timedelta64)
        return any(isinstance(value, times) for value in values)
    return kind.kind in "mM" or isinstance(kind, pd.PeriodDtype)
