"""What a saved state may hold: each value is read by name, and refused where evenhand cannot have written it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import StateFileError, wanted

__all__ = ["LOADING_DEVICE", "column_names", "fill", "item", "packed", "real", "refused", "unpacked", "whole"]

LOADING_DEVICE: ContextVar[Any] = ContextVar("LOADING_DEVICE", default=None)
"""The device that `load` was given, for what computes on one."""
MEND = "the file is damaged or was edited by hand; load an earlier one"


def refused(name: str, what: str, got: Any) -> StateFileError:
    """Return the refusal of a value in a saved state."""
    return StateFileError(wanted(f"saved {name}", what, got, MEND))


def item(saved: Any, name: str) -> Any:
    """Return a value of a saved state.

    Raises
    ------
    StateFileError
        If it is missing.
    """
    if not isinstance(saved, Mapping) or name not in saved:
        raise refused(name, "a value", "nothing")
    return saved[name]


def column_names(saved: Mapping[str, Any]) -> list[str] | None:
    """Return the names of the columns that a saved state knows, None where it knows none.

    Raises
    ------
    StateFileError
        If they are no list of names.
    """
    names = saved.get("columns")
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise refused("columns", "a list of names", names)
    return names


def whole(saved: Any, name: str, low: int, high: float = math.inf) -> int:
    """Return a whole number from `low` to `high` of a saved state.

    >>> whole({"round": 3}, "round", 0)
    3

    Raises
    ------
    StateFileError
        If it is missing or anything else.
    """
    value = item(saved, name)
    if type(value) is not int or not low <= value <= high:
        raise refused(name, f"a whole number from {low}" + (f" to {high}" if high < math.inf else ""), value)
    return value


def real(saved: Any, name: str, low: float = -math.inf) -> float:
    """Return a finite number >= `low` of a saved state.

    Raises
    ------
    StateFileError
        If it is missing or anything else.
    """
    value = item(saved, name)
    if type(value) not in (int, float) or not low <= value < math.inf:
        raise refused(name, f"a finite number >= {low:g}", value)
    return float(value)


def fill(own: NDArray[Any], saved: Any, name: str, *, numbers: bool = True) -> None:
    """Write a saved array into one of the same type and shape; without `numbers` it may hold not-a-number.

    Raises
    ------
    StateFileError
        If it has another type or shape, or a number is none.
    """
    if not isinstance(saved, np.ndarray) or saved.dtype != own.dtype or saved.shape != own.shape:
        got = f"{saved.dtype} {saved.shape}" if isinstance(saved, np.ndarray) else saved
        raise refused(name, f"an array {own.dtype} {own.shape}", got)
    if numbers and saved.dtype.kind == "f" and np.isnan(saved).any():
        raise refused(name, "numbers", saved.tolist())
    own[...] = saved


def packed(rows: Iterable[Sequence[Any]]) -> list[list[NDArray[Any]]]:
    """Return many rows of numbers and arrays as few arrays: of each column the values, end to end, and their shapes."""
    columns = [[np.asarray(value) for value in column] for column in zip(*rows, strict=True)]
    return [
        [np.concatenate([value.ravel() for value in column]), np.array([value.shape for value in column], np.int64)]
        for column in columns
    ]


def unpacked(columns: Any, name: str) -> list[tuple[Any, ...]]:
    """Return the rows that `packed` made columns of.

    >>> unpacked(packed([(7, np.eye(2)), (8, np.zeros((0, 3)))]), "rows")[0]
    (7, array([[1., 0.],
           [0., 1.]]))

    Raises
    ------
    StateFileError
        If the columns do not fit together.
    """
    if not isinstance(columns, list):
        raise refused(name, "a list of columns", columns)
    rows = [_column(column, f"{name}[{number}]") for number, column in enumerate(columns)]
    if len({len(column) for column in rows}) > 1:
        raise refused(name, "columns of one length", [len(column) for column in rows])
    return list(zip(*rows, strict=True))


def _column(column: Any, name: str) -> list[Any]:
    match column:
        case [np.ndarray() as values, np.ndarray() as shapes] if (
            values.ndim == 1 and shapes.ndim == 2 and shapes.dtype == np.int64 and (shapes >= 0).all()
        ):
            ends = np.cumsum([0, *shapes.prod(axis=1, dtype=np.int64)])
            if ends[-1] == values.size:
                if shapes.shape[1] == 0:
                    return values.tolist()
                parts = zip(shapes.tolist(), ends[:-1].tolist(), ends[1:].tolist(), strict=True)
                return [values[start:end].reshape(shape) for shape, start, end in parts]
    raise refused(name, "the values of a column, end to end, and their shapes", column)
