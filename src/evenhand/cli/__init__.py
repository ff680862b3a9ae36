"""The command `evenhand`: each command a few lines over library calls.

Exit codes: 0 done; 1 the answer is no (a promise was broken, a contract is not kept); 2 the input was refused, or the
machine refused; 70 evenhand itself failed; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import traceback
from io import TextIOWrapper

import typer

from evenhand.cli.audit import audit
from evenhand.cli.audit_pairs import audit_pairs
from evenhand.cli.check import check
from evenhand.cli.command import Command
from evenhand.cli.conversation import NUMBERS, ask, forget, tell
from evenhand.cli.demo import demo
from evenhand.cli.export import export
from evenhand.cli.keys import keys
from evenhand.cli.listing import list_all
from evenhand.cli.monitor import monitor
from evenhand.cli.new import new
from evenhand.cli.recommend import recommend
from evenhand.cli.reproduce import reproduce
from evenhand.cli.sample import sample
from evenhand.cli.serve import serve
from evenhand.cli.show import show
from evenhand.cli.simulate import simulate
from evenhand.cli.stores import snapshot, studies, upgrade
from evenhand.cli.verify import verify
from evenhand.errors import EvenhandError, SimulationInterrupted
from evenhand.version import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    name="evenhand",
    help="Software that decides fairly while it learns.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command(cls=Command)(simulate)
app.command(cls=Command)(sample)
app.command(cls=Command)(audit)
app.command(cls=Command)(recommend)
app.command("audit-pairs", cls=Command)(audit_pairs)
app.command(cls=Command)(reproduce)
app.command("list", cls=Command)(list_all)
app.command(cls=Command)(check)
app.command(cls=Command)(demo)
for command in (new, ask, tell, forget, show, export, verify, monitor, studies, serve, keys, snapshot, upgrade):
    takes_numbers = NUMBERS if command is tell else None
    app.command(cls=Command, context_settings=takes_numbers, rich_help_panel="Studies that last")(command)


@app.callback(invoke_without_command=True)
def options(version: bool = typer.Option(False, "--version", help="Show the version and exit.")) -> None:
    """Software that decides fairly while it learns."""
    if version:
        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command line; what evenhand refuses becomes one line on standard error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # labels that a terminal cannot show are written \\u2603, not a defect
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except SimulationInterrupted as stopped:
        typer.secho(f"evenhand: {stopped}", err=True, fg="yellow")
        sys.exit(130)
    except EvenhandError as error:
        typer.secho(f"evenhand: {error}", err=True, fg="red")
        sys.exit(2)
    except KeyboardInterrupt:
        typer.secho("evenhand: interrupted; what was printed is done, what was not may be", err=True, fg="yellow")
        sys.exit(130)
    except (OSError, MemoryError) as error:
        what = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
        typer.secho(f"evenhand: the machine refused: {what or 'not enough memory'}", err=True, fg="red")
        sys.exit(2)
    except Exception:
        traceback.print_exc()
        typer.secho("evenhand: this is a defect of evenhand, not an answer", err=True, fg="red")
        sys.exit(70)
    finally:
        _drop_unwritten()


def _drop_unwritten() -> None:
    """Drop what standard output did not take: at exit Python would fail at it again and replace the exit code."""
    if isinstance(sys.stdout, TextIOWrapper):
        try:
            sys.stdout.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
