"""Arguments and options that several commands have."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

STORE = Annotated[str, typer.Argument(help="The store: a file such as ads.evenhand, or a URL.")]
STUDY = Annotated[str | None, typer.Option(help="The study's name, if the store has several.")]
JSON = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON.")]
EMPTY = Annotated[
    str,
    typer.Option(
        help="What to do where a cell is empty: refuse the table, drop the row, or fill: numbers with the median, "
        "text with a category of its own; rows without a group, label or id are dropped."
    ),
]


def is_store(place: str) -> bool:
    """Return whether a place is a store of studies: a URL, or a file of SQLite."""
    if "://" in place or not Path(place).is_file():
        return "://" in place
    with Path(place).open("rb") as file:
        return file.read(15) == b"SQLite format 3"


def with_options_of(call: Callable[..., None], *functions: Any, without: str = "") -> Callable[..., None]:
    """Give a function that is called by name the parameters of others, but for one; of two alike the last counts."""
    found = [inspect.signature(function, eval_str=True).parameters for function in functions]
    own = {name: one for parameters in found for name, one in parameters.items() if name != without}
    by_name = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own.values()]
    call.__signature__ = inspect.Signature(by_name)  # type: ignore[attr-defined]
    call.__annotations__ = {name: one.annotation for name, one in own.items()}
    return call


def file_said(path: object) -> str:
    """Return what messages call a file that was named."""
    return "standard input" if str(path) == "-" else str(path)
