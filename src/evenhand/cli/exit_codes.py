"""Exit codes: 0 done; 1 the answer is no (a promise was broken, a contract is not kept); 2 the input or the machine
refused; 3 nothing can be said yet (too few rows); 70 evenhand itself failed; 130 interrupted."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path

import typer

from evenhand.cli.output import discard_output, visible
from evenhand.errors import EvenhandError, SimulationInterrupted, masked

UNDECIDED = 3


@contextmanager
def exit_with_code() -> Iterator[None]:
    """End the program with the code of what is raised inside, and say why in one line on standard error."""
    try:
        yield
    except SimulationInterrupted as stopped:
        typer.secho(f"evenhand: {stopped}", err=True, fg="yellow")
        sys.exit(130)
    except EvenhandError as error:
        later = "; the same command may succeed later" if error.repeatable else ""
        typer.secho(f"evenhand: {visible(str(error))}{later}", err=True, fg="red")
        sys.exit(2)
    except KeyboardInterrupt:
        typer.secho("evenhand: interrupted; all that was printed is done, the rest may be", err=True, fg="yellow")
        sys.exit(130)
    except (OSError, MemoryError) as error:
        named = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
        what = f"the operating system reports: {named or 'not enough memory'}"
        if isinstance(error, OSError) and (folder := _missing_folder(error)):
            what = f"there is no folder {folder}; create it, or name another"
        typer.secho(f"evenhand: {masked(what)}", err=True, fg="red")
        sys.exit(2)
    except Exception:
        typer.echo(masked(traceback.format_exc()), err=True)
        typer.secho("evenhand: this is a bug in evenhand, not a result; please report it", err=True, fg="red")
        sys.exit(70)
    finally:
        _drop_unwritten()


def _missing_folder(error: OSError) -> str:
    """Return the folder that a file was to be written into and that is not there, nothing where it is another error."""
    said = re.search("non-existent directory: '(.*)'", str(error))  # pandas says no more
    folder = Path(error.filename or "").parent if isinstance(error, FileNotFoundError) else Path()
    return said[1] if said else str(folder) * (not folder.exists())


def _drop_unwritten() -> None:
    """Drop what standard output did not take: at exit Python would fail at it again and replace the exit code."""
    if isinstance(sys.stdout, TextIOWrapper):
        try:
            sys.stdout.flush()
        except OSError:
            discard_output()
