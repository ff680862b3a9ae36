"""Arguments and options that several commands have."""

from typing import Annotated

import typer

__all__ = ["EMPTY", "JSON", "STORE", "STUDY"]

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
