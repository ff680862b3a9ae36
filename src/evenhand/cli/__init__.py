"""The command `evenhand`: each command a few lines over library calls."""

from __future__ import annotations

import os
import sys
import warnings
from io import TextIOWrapper

import typer

from evenhand.cli.command import COMMANDS, Command, Commands, imported_when_called
from evenhand.cli.exit_codes import exit_with_code
from evenhand.cli.options import JSON
from evenhand.cli.output import visible
from evenhand.cli.refusals import in_shell
from evenhand.errors import ArgumentError
from evenhand.version import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    name="evenhand",
    cls=Commands,
    help="Fair sequential decisions: bandits with guarantees.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
for name in COMMANDS:
    app.command(name, cls=Command)(imported_when_called)


@app.callback(invoke_without_command=True)
def no_command(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Show the version and exit."),
    json: JSON = False,
) -> None:
    """Fair sequential decisions: bandits with guarantees."""
    if version:
        typer.echo(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        raise ArgumentError("COMMAND: name a command; `evenhand --help` lists them")


def main() -> None:
    """Run the command line; what evenhand refuses becomes one line on standard error."""
    if not os.environ.get("COLUMNS", "80").strip("0 "):  # a width of 0 is one that is not known, as of a pipe
        del os.environ["COLUMNS"]
    warnings.formatwarning = lambda words, *_, **__: f"evenhand: note: {visible(in_shell(str(words)))}\n"
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # labels that a terminal cannot show are written \\u2603, not a defect
            stream.reconfigure(errors="backslashreplace")
    with exit_with_code():
        app()
