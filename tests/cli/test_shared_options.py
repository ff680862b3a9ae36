"""Options that every command has, before and after its name."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from evenhand.cli.command import COMMANDS, command_of
from evenhand.errors import ArgumentError
from tests.cli.shell import NEW, answer, as_json, call, refused


def test_json_is_taken_before_and_after_the_command():
    Path("log.csv").write_text("item\na\nb\na\nb\n")
    audit = ("audit", "log.csv", "--arm", "item", "--shares", "0.1")
    assert json.loads(answer("--json", *audit)) == as_json(*audit)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "serve"])
def test_every_command_has_json_and_short_help(name):
    shown = {word for parameter in command_of(name).params for word in parameter.opts}
    assert "--json" in shown
    assert call(name, "-h").stdout.startswith(call(name, "--help").stdout)


def test_an_option_that_is_mistyped_is_guessed():
    said = answer("audit", "log.csv", "--tolerence", "1", code=2)
    assert "No such option: --tolerence. Did you mean --tolerance?" in said
    assert "Did you mean 'simulate'?" in answer("simulat", code=2)


def test_commands_that_change_a_store_or_write_files_say_so_as_json():
    answer("new", "s", *NEW)
    assert as_json("ask", "s")["id"] == 1
    assert as_json("export", "s", "--out", "log.csv") == {"decisions": 1, "file": "log.csv"}
    assert json.loads(answer("--json", "snapshot", "s")) == {"name": "s", "entries": 1}
    refused(ArgumentError, "--json: expected a file as --out", "export", "s", "--out", "-", "--json")


def test_an_audit_of_pairs_prints_its_questions_beside_its_json():
    Path("people.csv").write_text("age,pay\n1,0\n2,1\n3,0\n4,1\n5,1\n")
    arguments = ["audit-pairs", "people.csv", "--features", "age", "--reward", "pay", "--seed", "1", "--json"]
    done = call(*arguments, "--state", "pairs.eh", stdin="a\nq\n")
    assert json.loads(done.stdout) == {"questions": 2, "answers": 1, "state": "pairs.eh", "caveat": None}
    assert done.stderr.count("Their chances differ by ") == 2
    begun = json.loads(answer(*arguments, "--store", "s"))
    (link,) = begun.pop("links")
    assert re.fullmatch(r"/audit#study=audit&key=eh_both_[\w-]+&about=[\w+]+", link["link"])
    assert link["auditor"] is None
    assert begun == {"name": "audit", "store": "s"}


def test_a_command_is_needed():
    refused(ArgumentError, "COMMAND: name a command", "--json")


def offered(words, shell, **more):
    """What the shell is given for the last word, in a process of its own as a shell starts it."""
    place = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1), "_TYPER_COMPLETE_ARGS": words}
    environment = os.environ | place | more | {"_EVENHAND_COMPLETE": f"complete_{shell}"}
    run = "import sys; sys.argv[0] = 'evenhand'; from evenhand.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", run], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("shell", "more"), [("bash", {}), ("fish", {"_TYPER_COMPLETE_FISH_ACTION": "get-args"})])
def test_a_shell_is_offered_commands_and_options(shell, more):
    commands = offered("evenhand audit-", shell, **more)
    assert all(name in commands for name in ("audit-pairs", "audit-parity"))
    assert "--segment" in offered("evenhand audit --se", shell, **more)
