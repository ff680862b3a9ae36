"""What commands take: the options that several of them have, and how a function says its own.

A parameter before `*` is an argument of the command, and one behind it an option of its name; what each means is said
in the docstring, under "Parameters". Only what Python does not say, such as a second name or a least number, stands as
a `typer.Option` in the annotation.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_origin

import typer

from evenhand.errors import file_said

STORE = Annotated[str, typer.Argument(help="The store: a file such as ads.evenhand, or a URL.")]
STUDY = Annotated[str | None, typer.Option(help="The study's name, if the store has several.")]
JSON = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON.")]
EMPTY = Annotated[
    str,
    typer.Option(
        help="What to do with empty cells: refuse the table, drop the row, or fill: numbers with the median, "
        "text with a category of its own; rows without a group, label or id are dropped."
    ),
]
WRITTEN = "--sep --decimal --encoding --format --header"
FORM = f"{WRITTEN} --values"
"""How a table is written, in commands that need none."""
HEADING = "\n\nParameters\n----------\n"
ITEM = re.compile(r"^(\w+) : (.*(?:\n .*)*)", re.MULTILINE)


class Options(NamedTuple):
    """What a command says of its options, above its function.

    Parameters
    ----------
    tables : the parameters that name the tables of which --header speaks; without any it reads none.
    beside : options, those beside one of which they count, and after `not` those beside which they do not.
    arguments : the options that lead to an argument of the library which has another name, by these names.
    """

    tables: str = ""
    beside: Mapping[str, str] = {}
    arguments: Mapping[str, str] = {}

    def __call__(self, function: Callable[..., None]) -> Callable[..., None]:
        OPTIONS[function] = self
        return function


OPTIONS: dict[Callable[..., None], Options] = {}
"""What the commands that are imported say of theirs."""


def is_store(place: str) -> bool:
    """Return whether a place is a store of studies: a URL, or a file of SQLite."""
    if "://" in place or not Path(place).is_file():
        return "://" in place
    with Path(place).open("rb") as file:
        return file.read(15) == b"SQLite format 3"


def help_of(function: Callable[..., None]) -> str:
    """Return what the docstring of a command says of it, a line for each paragraph: the terminal breaks them."""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", (inspect.getdoc(function) or "").partition(HEADING)[0])


def with_options_of(call: Callable[..., None], *functions: Any, without: str = "") -> Callable[..., None]:
    """Give a function that is called by name the parameters of others, but for one; of two alike the last counts."""
    own = {name: one for function in functions for name, one in _parameters(function).items() if name != without}
    # typer reads a signature: written once for all commands, shared options could not drift apart from their help
    by_name = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own.values()]
    call.__signature__ = inspect.Signature(by_name)  # type: ignore[attr-defined]
    call.__annotations__ = {name: one.annotation for name, one in own.items()}
    return call


def with_table_options(function: Callable[..., None]) -> Callable[..., None]:
    """Return the function of a command as the shell calls it, with the options of tables if it reads them."""
    read = OPTIONS.get(function, Options()).tables.split()
    if not read:
        return with_options_of(function, function)
    added = inspect.signature(_of_tables).parameters.keys() - inspect.signature(function).parameters.keys()

    @functools.wraps(function)
    def call(**given: Any) -> None:
        from evenhand.cli.inputs.inputs import read_table_options
        from evenhand.cli.inputs.tables import GIVEN

        written = read_table_options(**{name: given.pop(name) for name in added})
        tables = read if written.header else []
        named = [path for one in tables for path in (given[one] if isinstance(given[one], list) else [given[one]])]
        headed = tuple(map(file_said, named))
        token = GIVEN.set(written._replace(headed=headed))
        try:
            function(**given)
        finally:
            GIVEN.reset(token)

    return with_options_of(call, _of_tables, function)


def _of_tables(
    *, sep: str = "", decimal: str = "", encoding: str = "", format: str = "", header: str = "", values: str = ""
) -> None:
    """Take the options of all commands that read tables; each is found out, and said, where it is not given.

    Parameters
    ----------
    sep : The separator of a CSV: ',', ';', '|' or tab.
    decimal : The decimal sign of numbers in a CSV: '.' or ','.
    encoding : The text encoding: utf-8, cp1252, gbk, ...
    format : csv, parquet, arrow, jsonl or json; by default the file's extension.
    header : The names of the columns, a,b,c, if a CSV has no header.
    values : The numbers that replace texts: no=0,yes=1.
    """


def _parameters(function: Any) -> dict[str, inspect.Parameter]:
    """Return the parameters of a function, annotated for typer."""
    said = dict(ITEM.findall((inspect.getdoc(function) or "").partition(HEADING)[2]))
    panel = "Tables" if function is _of_tables else None
    own = dict(inspect.signature(function, eval_str=True).parameters)
    for name in said.keys() & own.keys():
        one, words = own[name], " ".join(said[name].split())
        if get_origin(one.annotation) is Annotated:
            one.annotation.__metadata__[0].help = words
        elif one.kind is inspect.Parameter.KEYWORD_ONLY:
            flag = [f"--{name.replace('_', '-')}"] if one.annotation is bool else []  # typer would add a --no-NAME
            option = typer.Option(*flag, help=words, rich_help_panel=panel)
            own[name] = one.replace(annotation=Annotated[one.annotation, option])
        else:
            own[name] = one.replace(annotation=Annotated[one.annotation, typer.Argument(help=words)])
    return own
