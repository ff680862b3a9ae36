"""The examples of docs/command-line.md run and print what it shows; every command line of the documentation is read."""

import re
import shlex
from pathlib import Path

import pytest

from evenhand.cli.command import COMMANDS, command_of
from tests.tasks.pages import follow

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "command-line.md"
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").iterdir(), *ROOT.glob("clients/*/*.md")]
OF_OTHERS = {"--service", "--preload"}
"""Options of the tests' own programs, and of gunicorn."""


@pytest.mark.slow
def test_the_console_shows_what_commands_print(tmp_path):
    (log,) = re.findall(r"^```text\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (tmp_path / "log.csv").write_text(log, encoding="cp1252")
    follow(PAGE.name, tmp_path)


def _command_lines():
    """Every command line that the documentation shows, with the page: in blocks, and in the text."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        shown = re.findall(r"`evenhand ([^`]+)`", text)
        shown += re.findall(r"^\s*(?:\$ |ExecStart=\S*/)?evenhand ((?:.*\\\n)*.*)$", text, re.MULTILINE)
        for words in shown:
            name, *rest = " ".join(words.replace("\\\n", " ").split(" # ")[0].split(" < ")[0].split()).split(" ", 1)
            says_what_it_does = name not in COMMANDS and name.removesuffix("s") in COMMANDS
            if re.fullmatch(r"[a-z]+(-[a-z]+)*", name) and not says_what_it_does:
                yield page.name, name, " ".join(rest).removesuffix("&")


def _refusal(name, words):
    """Return why a command line cannot be read, None where only a value is left out or written as STORE."""
    if name not in COMMANDS:
        return f"evenhand {name} {words}: no such command"
    try:
        command_of(name).make_context(name, shlex.split(words))
    except Exception as error:
        kinds = {kind.__name__ for kind in type(error).__mro__}
        left_out = kinds & {"MissingParameter", "BadParameter", "BadOptionUsage", "Exit"}
        return None if left_out or "No closing quotation" in str(error) else f"evenhand {name} {words}: {error}"


def test_every_command_line_of_the_documentation_is_one():
    """No option is unknown and no word is left over; `...` stands for a value, or for options."""
    lines = list(_command_lines())
    wrong = [
        f"{page}: {refusal}"
        for page, name, words in lines
        if (refusal := _refusal(name, words)) and _refusal(name, words.replace("...", ""))
    ]
    assert len(lines) > 150
    assert not wrong


def test_every_option_that_stands_alone_is_one_of_some_command():
    own = [one for name in COMMANDS for one in command_of(name).params]
    known = {option for one in own for option in (*one.opts, *one.secondary_opts)}
    known |= OF_OTHERS | {"--help", "--version", "--install-completion", "--show-completion"}
    found = [(page.name, option) for page in PAGES for option in re.findall(r"`(--[a-z][a-z-]*)", page.read_text())]
    assert len(found) > 30
    assert [(page, option) for page, option in found if option not in known] == []
