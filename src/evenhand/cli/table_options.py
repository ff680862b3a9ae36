"""The options of all commands that read tables: how these are written."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from evenhand.cli.options import file_said, with_options_of

TABLE_COMMANDS = {
    "simulate": "data", "sample": "pool", "certify": "fresh", "label": "table", "audit": "log", "evaluate": "log",
    "recommend": "model tell log", "audit-pairs": "table", "choose": "table", "audit-parity": "log", "report": "log",
    "new": "shares", "ask": "contexts", "tell": "file rows samples", "change": "shares",
}  # fmt: skip
"""The commands that read tables, and the parameters that name those of which --header speaks."""
TABLES = "Tables"


def _of_tables(
    sep: Annotated[
        str, typer.Option(help="What separates the cells of a CSV: ',', ';', '|' or tab.", rich_help_panel=TABLES)
    ] = "",
    decimal: Annotated[
        str, typer.Option(help="The decimal sign of numbers in a CSV: '.' or ','.", rich_help_panel=TABLES)
    ] = "",
    encoding: Annotated[
        str, typer.Option(help="How text is encoded: utf-8, cp1252, gbk, ...", rich_help_panel=TABLES)
    ] = "",
    format: Annotated[
        str, typer.Option(help="csv, parquet, arrow, jsonl or json, whatever the file's name.", rich_help_panel=TABLES)
    ] = "",
    header: Annotated[
        str, typer.Option(help="The names of the columns, a,b,c, if a CSV has no header.", rich_help_panel=TABLES)
    ] = "",
    values: Annotated[
        str, typer.Option(help="The numbers that texts stand for: no=0,yes=1.", rich_help_panel=TABLES)
    ] = "",
) -> None:
    """Each is found out, and said, where it is not given."""


def with_table_options(command: str, function: Callable[..., None]) -> Callable[..., None]:
    """Return the function of a command, with the options of tables if it reads them."""
    if command not in TABLE_COMMANDS:
        return function
    added = inspect.signature(_of_tables).parameters.keys() - inspect.signature(function).parameters.keys()

    @functools.wraps(function)
    def call(**given: Any) -> None:
        from evenhand.cli.reading.inputs import checked
        from evenhand.cli.reading.tables import GIVEN

        written = checked(**{name: given.pop(name) for name in added})
        tables = TABLE_COMMANDS[command].split() if written.header else []
        named = [path for one in tables for path in (given[one] if isinstance(given[one], list) else [given[one]])]
        headed = tuple(map(file_said, named))
        token = GIVEN.set(written._replace(headed=headed))
        try:
            function(**given)
        finally:
            GIVEN.reset(token)

    return with_options_of(call, _of_tables, function)
