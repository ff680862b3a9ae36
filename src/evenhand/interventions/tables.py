"""Conditional tables from users: their shape, and rows that sum to one as far as their decimals say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.arguments import as_floats
from evenhand.data.probabilities import scaled_note, summed
from evenhand.errors import ArgumentError, wanted
from evenhand.kernels.arrays import Floats
from evenhand.labels import in_order


def checked_table(name: str, table: Any, axes: Sequence[Sequence[str | int]]) -> tuple[Floats, float]:
    """Return a conditional table as an array with the states of each axis in order, whose last axis is scaled to sum to
    one, and by how much it missed that."""
    shape = tuple(map(len, axes))
    array = as_floats(in_order(table, axes, name))
    if array is None:
        raise ArgumentError(wanted(name, f"numbers of shape {shape}", table))
    if array.shape != shape:
        mend = "one axis a parent, in order, and the node's own axis last"
        raise ArgumentError(wanted(name, f"a table of shape {shape}", array.shape, mend))
    if not np.isfinite(array).all() or (array < 0).any():
        raise ArgumentError(wanted(name, "probabilities >= 0", table))
    read = summed(array.reshape(-1, shape[-1]))
    if (row := read.wrong) is not None:
        at = tuple(int(i) for i in np.unravel_index(row, shape[:-1])) if shape[:-1] else ()
        got, mend = round(float(read.sums[row]), 6), (f"mend the row at {at}: " if at else "") + read.mend(row)
        raise ArgumentError(wanted(name, "rows that sum to one", got, mend))
    return read.rows.reshape(shape), read.missed


def rounded_tables(whose: str, missed: Mapping[Any, float]) -> tuple[str, ...]:
    """Return what is to be known of tables, by how much the rows of each missed a sum of one."""
    rounded = [name for name, by in missed.items() if scaled_note("", by)]
    names = ", ".join(map(repr, rounded[:3])) + (", ..." if len(rounded) > 3 else "")
    return scaled_note(f"The tables of {whose} ({names})", max(missed.values(), default=0.0))
