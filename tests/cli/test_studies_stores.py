"""Stores, keys and processes: exit codes that scripts can trust."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evenhand.errors import ArgumentError, EvenhandError, MissingExtraError, StoreError
from evenhand.studies import Study
from tests.cli.shell import answer, as_json, evenhand, exit_code, refused
from tests.naming import named


def test_studies_are_listed(played):
    answer("new", played, "-p", "thompson", "--arms", "a,b", "--name", "second")
    rows = as_json("studies", played)
    assert [(row["name"], row["decisions"], row["open"], row["promise"]) for row in rows] == [
        ("ads", 60, 2, "kept"),
        ("second", 0, 0, None),
    ]
    assert "second" in answer("studies", played)


def test_keys_are_given_out_listed_and_revoked(store):
    assert "no keys yet" in answer("keys", store)
    made = as_json("keys", store, "add", "--role", "report", "--note", "clicks")
    assert made["role"] == "report"
    row = as_json("keys", store, "list")[0]
    assert (row["role"], row["note"], row["revoked"]) == ("report", "clicks", None)
    assert made["key"].split("_", 3)[3] not in json.dumps(row)
    assert answer("keys", store, "revoke", row["id"]) == "revoked\n"
    assert as_json("keys", store, "revoke", row["id"])["status"] == "already revoked"
    assert row["id"] in answer("keys", store)
    assert "may read" in answer("keys", store, "add", "--role", "read")


def test_keys_end_and_are_limited_to_studies(store):
    added = "keys", store, "add", "--role", "both", "--for", "90d", "--study", "ads", "--study", "news"
    assert "This key may decide and report." in answer(*added)
    answer("keys", store, "add", "--role", "read", "--expires", "2999-12-31")
    first, second = as_json("keys", store, "list")
    assert (first["role"], first["studies"], first["expires"] > first["created"]) == ("both", ["ads", "news"], True)
    assert (second["studies"], second["expires"][:10]) == (None, "2999-12-31")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["add", "--role", "read", "--for", "1d", "--expires", "2999-01-01"], "--expires, --for: expected one of them"),
        (["list", "--study", "ads"], "--role: expected"),
        (["what"], "ACTION: expected one of list, add, revoke"),
        (["add"], "--role: expected decide, report, read or both"),
        (["revoke"], "KEY: expected the id of the key to revoke"),
    ],
    ids=named,
)
def test_keys_that_cannot_be_are_refused(store, arguments, words):
    refused(ArgumentError, words, "keys", store, *arguments)


def test_serving_without_its_extra_says_what_to_install_and_makes_nothing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "structlog", None)
    refused(MissingExtraError, "pip install 'evenhand[service]'", "serve", "--store", "ads.evenhand")
    assert not list(tmp_path.iterdir())


def test_labels_that_a_terminal_cannot_show_are_no_defect():
    answer("new", "s", "-p", "ucb1", "--arms", "☃,é")
    shown = evenhand("show", "s", env=os.environ | {"PYTHONIOENCODING": "ascii"}, stderr=subprocess.PIPE)
    said, wrong = shown.communicate()
    assert (shown.returncode, wrong) == (0, "")
    assert "\\u2603" in said


def test_whatever_is_refused_is_one_line_and_exit_code_2():
    shell = evenhand("ask", "nowhere.evenhand", stderr=subprocess.PIPE)
    said, wrong = shell.communicate()
    assert (shell.returncode, said) == (2, "")
    assert len(wrong.splitlines()) == 1
    assert issubclass(StoreError, EvenhandError)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")
@pytest.mark.parametrize("command", ["list", "show"])
def test_a_full_disk_is_exit_code_2_whatever_could_not_be_printed(command, store, monkeypatch, capsys):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert exit_code(monkeypatch, command, *([str(store)] if command == "show" else [])) == 2
        full.flush()
    assert "the operating system reports: " in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".html", ".csv"])
def test_a_file_in_a_folder_that_is_not_there_is_refused_with_the_folder(suffix, monkeypatch, capsys):
    out = ["--out", f"nowhere/file{suffix}"]
    report, label = ["report", "p.csv", "--shares", "0.2"], ["label", "p.csv", "--id", "id", "--group", "arm"]
    Path("p.csv").write_text("id,arm,x\n" + "".join(f"{i},{'ab'[i % 2]},{i}\n" for i in range(40)))
    words = report if suffix == ".html" else [*label, "--features", "x", "--labels", "u,v"]
    assert exit_code(monkeypatch, *words, *out) == 2
    assert "evenhand: there is no folder nowhere; create it, or name another\n" in capsys.readouterr().err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")
def test_a_decision_that_cannot_be_printed_is_on_record_and_says_so(store):
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-m", "evenhand", "ask", str(store)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=buffered)
    assert done.returncode == 2
    assert "taken and on record, but not printed" in done.stderr
    with Study.open(store) as study:
        assert study.open_tickets == [1]
