"""The list of commands, each imported when it is called, and their form: an empty value is refused, and so are options
that count only beside others, or only without them, anywhere else."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from evenhand.cli.options import OPTIONS, Options, help_of, with_table_options
from evenhand.cli.output import discard_output
from evenhand.cli.refusals import long_name, name_options, typed_options
from evenhand.errors import ArgumentError, EvenhandError, expected, is_path, masked, nearest

NUMBERS = {"ignore_unknown_options": True}
"""A reward may be negative, and look like an option."""
TYPES = {"str": "text", "int": "whole number", "float": "number", "bool": "flag", "Path": "path"}
"""What options take, as help says it."""
OUTPUTS = ("out", "ask", "tasks", "proof")
"""Parameters of files, or of folders, that commands write."""
TABLES = (
    *("arms", "audit", "bias", "candidates", "characteristics", "cost", "effects", "groups", "history", "means"),
    *("mixture", "promises", "rows", "sensitivity", "sensitivity-to-groups", "shortfall", "summary", "timeline"),
)
"""The tables, .csv, that commands write into a folder."""
GROUPS = {
    "Decide": {
        "new": "studies.new",
        "ask": "studies.decide:ask",
        "tell": "studies.decide:tell",
        "forget": "studies.decide:forget",
        "show": "studies.show",
        "add": "studies.changes:add",
        "retire": "studies.changes:retire",
        "change": "studies.changes:change",
        "export": "studies.export",
    },
    "Try and compare": {"simulate": "simulate", "evaluate": "evaluate", "effects": "effects", "price": "price"},
    "Check": {"audit": "audit", "audit-parity": "audit_parity", "verify": "studies.verify", "report": "report"},
    "Rows and people": {
        "sample": "sample",
        "certify": "certify",
        "label": "studies.label",
        "audit-pairs": "studies.audit_pairs",
        "choose": "choose",
        "recommend": "recommend",
    },
    "Stores, service": {
        "studies": "studies.stores:studies",
        "serve": "studies.serve",
        "keys": "studies.keys",
        "snapshot": "studies.stores:snapshot",
        "erase": "studies.stores:erase",
    },
    "evenhand itself": {"demo": "demo", "list": "list_names:list_all", "check": "check", "reproduce": "reproduce"},
}
"""Each command's module in `evenhand.cli`, and its function there if that has another name; all else stands there."""
COMMANDS = {name: place for group in GROUPS.values() for name, place in group.items()}
LISTED = "\n".join(f"{group:17}{', '.join(names)}" for group, names in GROUPS.items())
HELP = f"""\
Usage: evenhand COMMAND [ARGS]...

Fair sequential decisions: bandits with guarantees. Start from a table of yours:
  $ evenhand audit shop.csv --arm item_id --promise promise.toml
  The promise was BROKEN in 9,941 of 10,000 rounds, from row 60 on, ...
  $ evenhand audit-parity loans.csv --group sex --value repaid --given age,...
  Mean repaid is 0.0748 lower in group 'women' than in group 'men'. ...
  $ evenhand sample census.csv --group sex,race --label income --budget 800 ...
  Worst off: Male & Asian-Pac-Islander, error rate 0.270 (0.200 to 0.348) ...
  $ evenhand audit-pairs students.csv --features studytime,absences --reward G3
  Their chances differ by 21.1 percentage points: [u]nfair, [a]cceptable, ...
  $ evenhand recommend patients.bif --sensitive sex --outcome carcinoma ...
  'treat all' is certified as the best fair rule (exact, by the model): ...

{LISTED}

evenhand COMMAND --help explains a command; evenhand demo shows a whole example.
Options: --json for what programs read, --version, --help,
         --install-completion and --show-completion for your shell.
"""
"""What fits a screen of 24 lines by 80; tests/cli/test_starts.py counts, and looks for every command."""


class Command(TyperCommand):
    """A command that refuses empty values, such as --shares "$SHARES" where the variable is not set."""

    said = Options()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of the command line.

        Raises
        ------
        ArgumentError
            If one of them is empty; the option before it is named.
        """
        for place, word in enumerate(args):
            option = args[place - 1] if place and args[place - 1].startswith("-") else f"argument {place + 1}"
            if word == "" or re.fullmatch(r"--[\w-]+=", word):
                hint = "leave it out if you mean none"
                raise ArgumentError(expected(word.removesuffix("=") or option, "a value", "", hint))
        try:
            return super().parse_args(ctx, args)
        except Exception as refusal:
            error: Any = refusal
            if hasattr(error, "possibilities") and error.option_name.startswith("--"):
                meant = nearest(error.option_name, error.possibilities or ())
                error.message = f"No such option: {error.option_name}."
                error.message += f" Did you mean {meant[0]}?" if meant else ""
                error.possibilities = None
            raise

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; help says what they take in words, and numbers are read as in every option."""
        found: list[Any] = super().get_params(ctx)
        for one in found:
            if "display_type" not in vars(one):
                # typer keeps its parameters and asks for them again: what is replaced twice would be read twice
                typed, one.display_type = one.display_type, partial(_type_in_words, one.display_type)
                one.process_value = partial(_number_read, one, typed, one.process_value)
        return found

    def invoke(self, ctx: Any) -> Any:
        """Run the command; what it refuses names its options."""
        try:
            check_beside(ctx)
            check_outputs(ctx)
            return super().invoke(ctx)
        except EvenhandError as error:
            name_options(error, ctx)
            raise


class Commands(TyperGroup):
    """The commands; each is imported when it is called."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write(HELP)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; a refusal of what was typed shows no password, and a reader who leaves changes nothing."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            discard_output()
        except Exception as refusal:
            said = vars(refusal)
            said |= {"message": masked(said["message"])} if "message" in said else {}
            raise

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name of the command that is called, the command with its parameters, and the words after it."""
        name, listed, words = super().resolve_command(ctx, args)
        if name is None or listed is None:
            return name, listed, words
        return name, command_of(name), ["--json", *words] if ctx.params.get("json") else words


def command_of(name: str) -> Any:
    """Return a command with its parameters."""
    called = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    settings, function = NUMBERS if name == "tell" else None, _function(name)
    shell = called.command(name, cls=Command, context_settings=settings, help=help_of(function))
    shell(with_table_options(function))
    made: Any = typer.main.get_command(called)
    made.said = OPTIONS.get(function, Options())
    return made


def _type_in_words(typed: Callable[[Any], str], context: Any) -> str:
    """Return what an option takes as help says it: <text> where programs say <str>."""
    one = re.sub(r"list\[(.*)\]", r"\1", typed(context))
    return re.sub(r"\w+", lambda word: TYPES.get(word[0], word[0]), one)


def _number_read(one: Any, typed: Callable[[Any], str], read: Callable[..., Any], context: Any, value: Any) -> Any:
    """Return the value of an option; a number is read and refused as everywhere."""
    kind, option = typed(context).strip("<>").split()[0], one.opts[-1]
    if not isinstance(value, str) or kind not in ("float", "int"):
        return read(context, value)
    from evenhand.cli.inputs.inputs import A_NUMBER, number_of

    digits, what = value.strip().removeprefix("-").isdecimal(), A_NUMBER if kind == "float" else "a whole number"
    number = int(value) if digits else number_of(value, option, what)
    try:
        return read(context, number)
    except Exception as refusal:
        limit = str(getattr(refusal, "message", "")).removeprefix("Input should be ").partition(",")[0]
        raise ArgumentError(expected(option, what if "integer" in limit else f"a number {limit}", value)) from refusal


def check_beside(context: Any) -> None:
    """Refuse an option that would have no effect beside what else was typed.

    Raises
    ------
    ArgumentError
        If there is one.
    """
    typed = {option: context.params.get(own) for own, option in typed_options(context).items()}
    for options, rule in context.command.said.beside.items():
        needed, _, excluded = (part.split() for part in rule.partition("not "))
        for option in [one for one in options.split() if one in typed]:
            for other in [one for one in excluded if one in typed]:
                raise ArgumentError(expected(option, f"nothing together with {other}", typed[option]))
            if needed and not typed.keys() & {*needed}:
                raise ArgumentError(expected(option, f"{' or '.join(needed)} as well", None))


def check_outputs(context: Any) -> None:
    """Refuse an output that would be written over an input.

    Raises
    ------
    ArgumentError
        If there is one.
    """
    given = [(one, context.params.get(one.name)) for one in context.command.params]
    for own, out in [(one, str(value)) for one, value in given if one.name in OUTPUTS and value]:
        written = filter(os.path.isfile, [out, *(os.path.join(out, f"{name}.csv") for name in TABLES)])
        for file, (one, value) in product(written, given):
            for path in value if isinstance(value, (list, tuple)) else [value]:
                if one is not own and is_path(path) and os.path.isfile(path) and os.path.samefile(path, file):
                    what = f"another place than that of {long_name(one)}, {path}, which would be written over"
                    raise ArgumentError(expected(long_name(own), what, out))


def imported_when_called() -> None:
    """Stand for the function of a command, which `Commands` imports."""


def _function(command: str) -> Callable[..., None]:
    module, _, name = COMMANDS[command].partition(":")
    known = vars(importlib.import_module(f"evenhand.cli.{module}"))
    function: Callable[..., None] = known[name or module.rpartition(".")[2]]
    return function
