"""The examples of docs/command-line.md run, and print what it shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.shell import answer

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def _pattern(shown):
    """What a command must print: `...` stands for anything."""
    lines = [re.escape(line.strip()).replace(r"\.\.\.", ".*") for line in shown.strip().splitlines()]
    return r"\s*".join(lines)


@pytest.mark.slow
def test_the_console_shows_what_commands_print(tmp_path):
    (log,) = (body for kind, body in BLOCKS if kind == "text")
    (tmp_path / "log.csv").write_text(log, encoding="cp1252")
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    examples = [
        example for kind, body in BLOCKS if kind == "console"
        for example in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", body, re.MULTILINE)
    ]  # fmt: skip
    assert len(examples) >= 4
    for line, shown in examples:
        done = subprocess.run(["bash", "-c", f"{line} 2>&1"], cwd=tmp_path, env=os.environ | {"PATH": path},
                              capture_output=True, text=True)  # fmt: skip
        assert re.search(_pattern(shown), done.stdout, re.DOTALL), f"{line}\n{done.stdout}"


def test_the_files_shown_are_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (log,) = (body for kind, body in BLOCKS if kind == "text")
    answers, options = (body for kind, body in BLOCKS if kind == "toml")
    Path("log.csv").write_text(log, encoding="cp1252")
    Path("audit.toml").write_text(options, encoding="utf-8")
    Path("answers.toml").write_text(answers, encoding="utf-8")
    assert "kept after every row" in answer("audit", "--config", "audit.toml")
    assert "Written: jobs.evenhand, jobs.toml" in answer("init", "--yes", "--from", "answers.toml")
