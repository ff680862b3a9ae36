"""Run the commands of a page as a reader does who copies them, and compare what they print with the page."""

import doctest
import os
import re
import shlex
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

from typer.testing import CliRunner

from evenhand.cli import app

DOCS = Path(__file__).resolve().parents[2] / "docs"
SCRIPT = re.compile(r"^```python\n((?!>>>).*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
WIDTH = "100"


def commands(page: str) -> list[tuple[str, str]]:
    """Return the commands of a page's `console` blocks, each with what the page shows below it.

    A command begins with `$ ` and goes on where a line ends with a backslash; `...` stands for whatever comes there.
    """
    found: list[tuple[str, str]] = []
    for block in BLOCK.findall((DOCS / page).read_text()):
        goes_on = False
        for line in block.splitlines():
            if goes_on:
                command, printed = found[-1]
                found[-1] = f"{command}\n{line}", printed
            elif line.startswith("$ "):
                found.append((line[2:], ""))
            else:
                command, printed = found[-1]
                found[-1] = command, f"{printed}{line}\n"
            goes_on = line.endswith("\\") and (goes_on or line.startswith("$ "))
    return found


def run_scripts(page: str, folder: Path) -> None:
    """Run in a folder what a page shows of Python that is no session, such as what makes its tables."""
    for script in SCRIPT.findall((DOCS / page).read_text()):
        subprocess.run([sys.executable, "-c", script], cwd=folder, check=True)


def called(command: str, folder: Path) -> str:
    """Return what a command prints that is called in this process, which has imported everything already."""
    with chdir(folder):
        done = CliRunner(env={"COLUMNS": WIDTH, "NO_COLOR": "1"}).invoke(app, shlex.split(command)[1:])
    return done.output if isinstance(done.exception, SystemExit | None) else str(done.exception)


def follow(page: str, folder: Path, *, call: bool = False) -> None:
    """Run a page's commands one after another in a folder, and assert that each prints what the page shows; with `call`
    those of evenhand alone are called in this process."""
    tools = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "COLUMNS": WIDTH, "NO_COLOR": "1"}
    found = commands(page)
    assert found, f"{page} shows no command"
    for command, wanted in found:
        if call and command.startswith("evenhand "):
            printed = called(command.replace("\\\n", " "), folder)
        else:
            printed = subprocess.run(
                ["bash", "-c", command],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            ).stdout
        example = doctest.Example(command, wanted)
        checker = doctest.OutputChecker()
        same = checker.check_output(wanted, printed, FLAGS)
        assert same, f"$ {command}\n{checker.output_difference(example, printed, FLAGS)}"
