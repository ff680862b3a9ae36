"""Run the commands of a page as a reader does who copies them, and compare what they print with the page."""

import atexit
import doctest
import functools
import multiprocessing
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from evenhand.cli import main

DOCS = Path(__file__).resolve().parents[2] / "docs"
SCRIPT = re.compile(r"^```python\n((?!>>>).*?)^```$", re.MULTILINE | re.DOTALL)
NAMED_SCRIPT = re.compile(r"^```python\n(# (\w+\.py).*?)^```$", re.MULTILINE | re.DOTALL)
PROMISE = re.compile(r"`(\w+\.toml)`:\n\n```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
WIDTH = "100"
LIBRARIES = ["matplotlib.pyplot", "numba", "scipy.stats", "sklearn.linear_model", "sqlalchemy", "xarray"]
"""Their import takes longer than most commands."""


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


def write_scripts(page: str, folder: Path) -> None:
    """Write the scripts of a page that begin with a comment on their file's name into files of these names."""
    for script, name in NAMED_SCRIPT.findall((DOCS / page).read_text()):
        (folder / name).write_text(script)


def run_scripts(page: str, folder: Path) -> None:
    """Run in a folder what a page shows of Python that is no session, such as what makes its tables."""
    for script in SCRIPT.findall((DOCS / page).read_text()):
        subprocess.run([sys.executable, "-c", script], cwd=folder, check=True)


def write_promises(page: str, folder: Path) -> None:
    """Write what a page shows of promises in TOML into the files that it names for them."""
    found = PROMISE.findall((DOCS / page).read_text())
    assert found, f"{page} shows no promise"
    for name, promise in found:
        (folder / name).write_text(promise)


def follow(page: str, folder: Path) -> None:
    """Run a page's commands one after another in a folder, and assert that each prints what the page shows."""
    tools = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "COLUMNS": WIDTH, "NO_COLOR": "1"}
    found = commands(page)
    assert found, f"{page} shows no command"
    for command, wanted in found:
        printed = typed(command, folder, environment)
        example = doctest.Example(command, wanted)
        checker = doctest.OutputChecker()
        same = checker.check_output(wanted, printed, FLAGS)
        assert same, f"$ {command}\n{checker.output_difference(example, printed, FLAGS)}"


@functools.cache
def server() -> Any:
    """Return what forks a process for each of our commands that has the libraries already."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload([__name__, *LIBRARIES])
    return found


def typed(command: str, folder: Path, environment: dict[str, str]) -> str:
    """Return what a command prints that is typed in a folder; what is more than one of ours, bash runs."""
    line, _, keys = command.replace("\\\n", " ").partition(" < ")
    with tempfile.NamedTemporaryFile("w+") as printed:
        if line.startswith("evenhand ") and not set(line) & set("|>&;$`*"):
            given = (shlex.split(line)[1:], folder / keys if keys else os.devnull, folder, environment)
            process = server().Process(target=run_main, args=(*given, printed.name))
            process.start()
            process.join()
        else:
            streams = {"stdin": subprocess.DEVNULL, "stdout": printed, "stderr": subprocess.STDOUT}
            subprocess.run(["bash", "-c", command], cwd=folder, env=environment, **streams)
        printed.seek(0)
        return printed.read()


def run_main(words: list[str], keys: str, folder: Path, environment: dict[str, str], printed: str) -> None:
    """Be evenhand, called with these words."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(os.open(keys, os.O_RDONLY), 0)
    os.dup2(os.open(printed, os.O_WRONLY | os.O_APPEND), 1)
    os.dup2(1, 2)
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
    sys.argv = ["evenhand", *words]
    try:
        main()
    finally:
        atexit._run_exitfuncs()
