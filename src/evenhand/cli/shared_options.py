"""Options that many commands have alike: how tables are written, a file with options, JSON."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["TABLE_COMMANDS", "with_shared_options"]

TABLE_COMMANDS = (
    *("simulate", "sample", "label", "audit", "evaluate", "recommend", "audit-pairs", "audit-parity"),
    *("new", "ask", "tell", "change", "init"),
)
"""The commands that read tables."""
TABLES = "Tables"


def _read_config(context: typer.Context, value: Path | None) -> Path | None:
    if value is not None:
        from evenhand.cli.reading.config import read_config

        program = context.find_root().command
        context.default_map = read_config(value, context.command, str(context.info_name), program)
    return value


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
) -> None:
    """Each is found out, and said, where it is not given."""


def _of_all(
    config: Annotated[
        Path | None,
        typer.Option(
            help="TOML file with options of this command; those on the command line come first.",
            callback=_read_config,
            is_eager=True,
            exists=True,
            dir_okay=False,
        ),
    ] = None,
) -> None:
    """Every command has it."""


def with_shared_options(command: str, function: Callable[..., None]) -> Callable[..., None]:
    """Return the function of a command with the options that many commands have."""
    own = inspect.signature(function, eval_str=True).parameters
    tables = inspect.signature(_of_tables, eval_str=True).parameters if command in TABLE_COMMANDS else {}
    added = {**tables, **inspect.signature(_of_all, eval_str=True).parameters}
    parameters = {**own, **added}

    @functools.wraps(function)
    def call(**given: Any) -> None:
        form = {name: given.pop(name) for name in added}
        if not tables:
            function(**given)
            return
        from evenhand.cli.reading.tables import GIVEN, checked

        form.pop("config")
        token = GIVEN.set(checked(**form))
        try:
            function(**given)
        finally:
            GIVEN.reset(token)

    call.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    call.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    return call
