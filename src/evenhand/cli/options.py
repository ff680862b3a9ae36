"""Arguments and options that several commands have."""

from typing import Annotated

import typer

from evenhand.cli import completion

__all__ = ["JSON", "STORE", "STUDY"]

STORE = Annotated[str, typer.Argument(help="The store: a file such as ads.evenhand, or a URL.")]
STUDY = Annotated[
    str | None, typer.Option(help="The study's name, if the store has several.", autocompletion=completion.studies)
]
JSON = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON.")]
