"""What a round shows, read once: one row per arm, or one row that all arms share, as arrays, data frames or dicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.arguments import as_floats
from evenhand.data.encoding import encode_hint
from evenhand.data.tables import numbers
from evenhand.errors import ContextError, TableError, Wording, expected
from evenhand.frames import frame_or_value, has_row_labels, is_row, row_frame
from evenhand.kernels.arrays import Floats
from evenhand.labels import in_columns, in_order
from evenhand.protocol import Label

LARGEST = 1e100
"""How large a number of contexts or a reward may be: squares and sums of these are finite."""

OWN_ROWS = "this policy learns one regression for all arms: give each arm a row that says which arm it is"


def read_shown(
    contexts: object,
    arms: Sequence[Label],
    *,
    columns: list[str] | None,
    dimension: int | None,
    encoder: Any = None,
    own_rows: bool = False,
) -> tuple[Floats, list[str] | None]:
    """Return the contexts of a round (n_arms, d), and the names of their columns where they have any; with
    `own_rows` one row that all arms share is refused.

    Raises
    ------
    ContextError
        If they are missing, no numbers, of another shape, not finite, or may mean one row or one number per arm alike.
    TableError
        If the encoder refuses a cell.
    """
    shape = Wording(
        f"numbers of shape ({len(arms)}, {'d' if dimension is None else dimension}), one row per arm",
        shell=f"{len(arms)} rows of {'' if dimension is None else f'{dimension} '}numbers, one row per arm",
    )
    table = row_frame(contexts) if _is_row(contexts) else frame_or_value(contexts, "contexts")
    named = has_row_labels(table) and table.ndim == 2
    one = len(arms) > 1 and named and len(table) == 1
    if named and encoder is not None:
        table = table if one else in_order(table, [arms, None], "contexts", refusal=ContextError)
        table = encoder.transform(table)
    else:
        table, columns = in_columns(table, columns, "contexts")
        table = table if one else in_order(table, [arms, None], "contexts", refusal=ContextError)
    shown = as_floats(table)
    if shown is None:
        hint = encode_hint(table) if named else ""
        hint = f"encode text and categories: policy.encode_with({hint})" if hint else ""
        raise ContextError(expected("contexts", shape, "text or categories in a table" if hint else contexts, hint))
    if own_rows and len(arms) > 1 and (shown.ndim == 1 or (shown.ndim == 2 and len(shown) == 1)):
        raise ContextError(expected("contexts", shape, Wording("one row for all arms"), OWN_ROWS))
    if shown.ndim == 1 and shown.size and dimension in (None, shown.size):
        if dimension is None and shown.size == len(arms):
            hint = "write [[...]] for one row that all arms share, [[a], [b], ...] for one number per arm"
            got = Wording(f"{shown.size} numbers, as many as arms")
            raise ContextError(expected("contexts", shape, got, hint))
        shown = shown[None]
    if shown.ndim == 2 and len(shown) == 1:
        shown = np.repeat(shown, len(arms), axis=0)
    if shown.ndim != 2 or shown.shape[0] != len(arms) or shown.shape[1] != (dimension or shown.shape[1] or 1):
        raise ContextError(expected("contexts", shape, Wording(f"an array of shape {shown.shape}")))
    sound = np.abs(shown) <= LARGEST
    if not sound.all():
        arm, feature = np.argwhere(~sound)[0]
        what = f"finite numbers, of at most {LARGEST:g}"
        raise ContextError(expected("contexts", what, f"{shown[arm, feature]} for arm {arm}, feature {feature}"))
    return shown, columns


def feature_columns(frame: Any, names: Sequence[str], low: float = -np.inf, high: float = np.inf) -> Floats:
    """Return columns of numbers (n, d) that describe whom a decision is about.

    Raises
    ------
    TableError
        As `numbers` does; of text it says how to encode it.
    """
    if not names:
        return np.zeros((len(frame), 0))
    try:
        return np.stack([numbers(frame, name, low, high) for name in names], axis=1)
    except TableError as error:
        there = [name for name in names if isinstance(name, str) and name in frame.columns]
        hint = encode_hint(frame[[*dict.fromkeys(there)]])
        if not hint:
            raise
        python = f"; encode text and categories first: {hint}.replace(frame)"
        hint = Wording(python, shell="; turn text into columns of 0 and 1 first")
        raise TableError(Wording(error.args[0], hint)) from error


def _is_row(contexts: Any) -> bool:
    """Return whether a value is one row by names: a dict, or a Series of pandas with an index of texts."""
    if isinstance(contexts, Mapping):
        return True
    return is_row(contexts) and all(isinstance(name, str) for name in contexts.index)
