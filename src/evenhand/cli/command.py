"""The list of commands, each imported when it is called, and their form: an empty value is refused."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from evenhand.cli.refusals import name_options
from evenhand.cli.shared_options import with_shared_options
from evenhand.errors import ArgumentError, EvenhandError, nearest, wanted

__all__ = ["COMMANDS", "NUMBERS", "OF_STUDIES", "Command", "Commands", "command_of", "imported_when_called"]

NUMBERS = {"ignore_unknown_options": True}
"""A reward may be negative, and look like an option."""
OF_STUDIES = {
    "new": "studies.new",
    "ask": "studies.conversation:ask",
    "tell": "studies.conversation:tell",
    "forget": "studies.conversation:forget",
    "add": "studies.changes:add",
    "retire": "studies.changes:retire",
    "change": "studies.changes:change",
    "show": "studies.show",
    "export": "studies.export",
    "verify": "studies.verify",
    "workers": "studies.workers:workers",
    "join": "studies.workers:join",
    "leave": "studies.workers:leave",
    "studies": "studies.stores:studies",
    "serve": "studies.serve",
    "keys": "studies.keys",
    "snapshot": "studies.stores:snapshot",
    "archive": "studies.archive",
    "erase": "studies.stores:erase",
}
COMMANDS = {
    "init": "studies.init",
    "simulate": "simulate",
    "sample": "sample",
    "label": "studies.label",
    "audit": "audit",
    "evaluate": "evaluate",
    "recommend": "recommend",
    "audit-pairs": "studies.audit_pairs",
    "audit-parity": "audit_parity",
    "reproduce": "reproduce",
    "list": "listing:list_all",
    "check": "check",
    "demo": "demo",
    **OF_STUDIES,
}
"""Each command's module in `evenhand.cli`, and its function there if that has another name than the module."""


class Command(TyperCommand):
    """A command that refuses empty values, such as --shares "$SHARES" where the variable is not set."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of the command line.

        Raises
        ------
        ArgumentError
            If one of them is empty; the option before it is named.
        """
        if ctx.resilient_parsing and args and args[-1].startswith("-"):
            args = args[:-1]  # a shell completes the value of this option: the words before it are to be known
        for place, word in enumerate(args):
            option = args[place - 1] if place and args[place - 1].startswith("-") else f"argument {place + 1}"
            if word == "" or re.fullmatch(r"--[\w-]+=", word):
                mend = "leave it out if you mean none"
                raise ArgumentError(wanted(word.removesuffix("=") or option, "a value", "", mend))
        try:
            return super().parse_args(ctx, args)
        except Exception as refusal:
            error: Any = refusal
            if getattr(error, "option_name", "").startswith("--") and hasattr(error, "possibilities"):
                meant = nearest(error.option_name, error.possibilities or ())
                error.message = f"No such option: {error.option_name}."
                error.message += f" Did you mean {meant[0]}?" if meant else ""
                error.possibilities = None
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command; what it refuses names its options."""
        try:
            return super().invoke(ctx)
        except EvenhandError as error:
            name_options(error, ctx)
            raise


class Commands(TyperGroup):
    """The commands; those that are not called are listed without their parameters."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command as the help lists it, None if there is none."""
        listed = super().get_command(ctx, cmd_name)
        if listed is not None:
            listed.help = inspect.getdoc(_function(cmd_name))
        return listed

    def names(self) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def described(self, name: str) -> Any:
        """Return a command with its parameters."""
        return command_of(name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name of the command that is called, the command with its parameters, and the words after it."""
        name, listed, words = super().resolve_command(ctx, args)
        if name is None or listed is None:
            return name, listed, words
        everywhere = ["--json"] if ctx.params.get("json") else []
        if ctx.params.get("config"):
            everywhere += ["--config", str(ctx.params["config"])]
        return name, command_of(name), [*everywhere, *words]


def command_of(name: str) -> Any:
    """Return a command with its parameters."""
    called = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    settings = NUMBERS if name == "tell" else None
    called.command(name, cls=Command, context_settings=settings)(with_shared_options(name, _function(name)))
    return typer.main.get_command(called)


def imported_when_called() -> None:
    """Stand for the function of a command, which `Commands` imports."""


def _function(command: str) -> Callable[..., None]:
    module, _, name = COMMANDS[command].partition(":")
    function: Callable[..., None] = getattr(
        importlib.import_module(f"evenhand.cli.{module}"), name or module.rpartition(".")[2]
    )
    return function
