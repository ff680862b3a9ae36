"""Packages that only some tasks need: they are imported by the task, and the error where one is missing names the line
that installs it."""

from __future__ import annotations

import importlib
from typing import Any

from evenhand.errors import MissingExtraError

EXTRAS = {
    "dask": "dask",
    "distributed": "dask",
    "fairlearn": "fairlearn",
    "h5netcdf": "data",
    "highspy": "interventions",
    "pooch": "data",
    "psycopg": "postgresql",
    "pyarrow": "data",
    "ray": "ray",
    "skorch": "torch",
    "sqlalchemy": "studies",
    "torch": "torch",
}
"""The extra of evenhand that installs a package; other packages are installed by their own name."""


def optional(module: str, what: str, *, extra: str | None = None) -> Any:
    """Return a module of an optional package.

    Parameters
    ----------
    module : its full name, such as "pyarrow.parquet".
    what : what needs it, the beginning of the message if it is missing, such as "a Parquet file".
    extra : the extra to install, for a package that is in several.

    Raises
    ------
    MissingExtraError
        If it cannot be imported; the message names the line that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        extra = extra or EXTRAS.get(package)
        line = package if extra is None else f"'evenhand[{extra}]'"
        raise MissingExtraError(f"{what} needs {package}: pip install {line}") from error
