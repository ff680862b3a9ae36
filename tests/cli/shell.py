"""Studies as a shell talks to them."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from evenhand.cli import app, main

__all__ = ["NEW", "answer", "as_json", "asked", "call", "cells", "evenhand", "exit_code", "refused"]

NEW = ["-p", "fair-ucb", "--shares", "a=0.2,b=0.3"]


def call(*arguments, stdin=None):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def answer(*arguments, stdin=None, code=0):
    """What a command prints that ends with this exit code."""
    return ended(arguments, stdin, code).output


def as_json(*arguments, stdin=None, code=0):
    """What a command says as JSON that ends with this exit code; its notes on standard error are no part of it."""
    return json.loads(ended((*arguments, "--json"), stdin, code).stdout)


def ended(arguments, stdin, code):
    result = call(*arguments, stdin=stdin)
    assert result.exit_code == code, result.output + repr(result.exception)
    assert not isinstance(result.exception, Exception), repr(result.exception)
    return result


def exit_code(monkeypatch, *words):
    """The exit code of the program itself, in this process."""
    monkeypatch.setattr(sys, "argv", ["evenhand", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def refused(error, words, *arguments, stdin=None):
    """The command raises what `main` turns into exit code 2 and one line."""
    result = call(*arguments, stdin=stdin)
    assert isinstance(result.exception, error), result.output + str(result.exception)
    assert words in str(result.exception)


def cells(output):
    """The rows of the tables that a command prints, lists of texts; a row goes on where the first cell is empty."""
    rows = []
    for line in output.splitlines():
        if line.startswith("│"):
            row = [cell.strip() for cell in line.strip("│").split("│")]
            if row[0]:
                rows.append(row)
            else:
                rows[-1] = [" ".join(both).strip() for both in zip(rows[-1], row, strict=True)]
    return rows


def asked(store, *options):
    return [json.loads(line) for line in answer("ask", store, *options).splitlines()]


def evenhand(*arguments, **settings):
    return subprocess.Popen(
        [sys.executable, "-m", "evenhand", *map(str, arguments)], stdout=subprocess.PIPE, text=True, **settings
    )
