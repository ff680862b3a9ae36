"""What a picture is drawn of, checked before anything is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evenhand.errors import ArgumentError, wanted
from evenhand.frames import as_pandas, is_frame

if TYPE_CHECKING:
    import pandas as pd

DIMENSIONS = ("policy", "replication", "round")


def check_history(history: Any, *variables: str) -> None:
    """Refuse what is no history of `eh.simulate` with these variables.

    Raises
    ------
    ArgumentError
        If it is something else, lacks a variable, or a policy or replication was picked so that its dimension is gone.
    """
    import xarray as xr

    if not isinstance(history, xr.Dataset):
        raise ArgumentError(wanted("history", "what eh.simulate returns", history))
    for name in DIMENSIONS:
        if name not in history.dims:
            mend = "pick with a list, such as history.sel(policy=['a']); the picture takes the mean over replications"
            raise ArgumentError(wanted("history", f"the dimension {name!r}", list(history.dims), mend))
    for name in variables:
        if name not in history:
            raise ArgumentError(wanted("history", f"a simulation that records {name!r}", list(history.data_vars)))


def check_finding(name: str, given: Any, attribute: str, what: str) -> None:
    """Refuse an object without what the picture shows; `what` says which call returns one.

    Raises
    ------
    ArgumentError
        If it lacks the attribute.
    """
    if not hasattr(given, attribute) or is_frame(given):
        raise ArgumentError(wanted(name, what, given))


def checked_table(name: str, frame: Any, columns: Sequence[str], what: str) -> pd.DataFrame:
    """Return a table that has the columns of the picture.

    Raises
    ------
    ArgumentError
        If it is none, or lacks a column.
    """
    table = as_pandas(frame, name) if is_frame(frame) else None
    if table is None or not set(columns) <= set(table.columns):
        raise ArgumentError(wanted(name, what, frame if table is None else list(table.columns)))
    return table
