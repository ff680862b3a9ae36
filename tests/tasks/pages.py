"""Run the commands of a page as a reader does who copies them, and compare what they print with the page."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

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


def follow(page: str, folder: Path) -> None:
    """Run a page's commands one after another in a folder, and assert that each prints what the page shows."""
    tools = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "COLUMNS": WIDTH, "NO_COLOR": "1"}
    found = commands(page)
    assert found, f"{page} shows no command"
    for command, wanted in found:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        example = doctest.Example(command, wanted)
        checker = doctest.OutputChecker()
        same = checker.check_output(wanted, done.stdout, FLAGS)
        assert same, f"$ {command}\n{checker.output_difference(example, done.stdout, FLAGS)}"
