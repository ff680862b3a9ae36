"""Settings of the service: the command line comes before the environment, and that before the file."""

from __future__ import annotations

import pytest

from evenhand.errors import ArgumentError, TableError
from evenhand.service import run
from evenhand.service.run import read_password
from evenhand.service.settings import KINDS, read_settings
from evenhand.studies import Store
from evenhand.studies.keys import list_keys
from tests.cli.shell import answer, refused

TEXT = """
store = "postgresql://evenhand@database/evenhand"
password-file = "/run/secrets/password"
port = 9000
max-body = 500
open_metrics = true
print_keys = false
"""
SAID = {
    "store": "postgresql://evenhand@database/evenhand",
    "password_file": "/run/secrets/password",
    "port": 9000,
    "max_body": 500,
    "open_metrics": True,
    "print_keys": False,
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "service.toml"
    path.write_text(TEXT)
    return str(path)


def test_a_file_holds_settings_by_the_names_of_the_options(file):
    assert read_settings(file, {}) == SAID
    assert read_settings(None, {}) == {}
    assert read_settings(None, {"EVENHAND_SETTINGS": file})["port"] == 9000


def test_the_environment_comes_before_the_file(file):
    said = {"EVENHAND_PORT": "7000", "EVENHAND_OPEN_METRICS": "false", "EVENHAND_MAX_BODY": "7", "EVENHAND_DATA": "x"}
    found = read_settings(file, said)
    assert (found["port"], found["open_metrics"], found["max_body"], found["print_keys"]) == (7000, False, 7, False)
    assert "data" not in found


def test_the_command_line_comes_before_both(file, monkeypatch):
    seen = {}
    monkeypatch.setattr(run, "serve", lambda store, **settings: seen.update(settings, store=store))
    monkeypatch.setenv("EVENHAND_PORT", "7000")
    monkeypatch.setenv("EVENHAND_WORKERS", "3")
    answer("serve", "--settings", file, "--port", "0", "--log-level", "error")
    assert seen == SAID | {"port": 0, "workers": 3, "log_level": "error"}


def test_every_setting_is_an_option_and_an_argument():
    import inspect

    from evenhand.cli.studies.serve import serve

    assert set(KINDS) == set(inspect.signature(serve).parameters) - {"context", "settings"}
    assert set(KINDS) == set(inspect.signature(run.serve).parameters)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("prot = 1", r"got 'prot'; did you mean 'port'\?"),
        ("[service]\nport = 1", "expected settings among .* got 'service'"),
        ('port = "9000"', "port: expected a whole number, got '9000'"),
        ("port = true", "port: expected a whole number, got True"),
        ("open_metrics = 1", "open_metrics: expected true or false, got 1"),
        ("store = 1", "store: expected a text, got 1"),
        ("port = ", r"service\.toml: cannot be read as TOML"),
        ("\0", r"service\.toml: cannot be read as TOML"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_file_that_says_something_else_is_refused(tmp_path, text, words):
    if text is not None:
        (tmp_path / "service.toml").write_text(text)
    with pytest.raises((ArgumentError, TableError), match=words):
        read_settings(str(tmp_path / "service.toml"), {})


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [("PORT", "http", "a whole number"), ("OPEN_METRICS", "maybe", "true or false"), ("STORE", "", "a text")],
)
def test_a_variable_that_says_something_else_is_refused(name, text, words):
    with pytest.raises(ArgumentError, match=f"EVENHAND_{name}: expected {words}, got '{text}'"):
        read_settings(None, {f"EVENHAND_{name}": text})


def test_without_a_store_it_is_said_where_to_name_one(monkeypatch):
    monkeypatch.delenv("EVENHAND_STORE", raising=False)
    refused(ArgumentError, "give --store, EVENHAND_STORE, or store in the settings file", "serve")


def test_a_password_is_read_from_a_file_and_opens_a_store_on_a_server(tmp_path, monkeypatch):
    path, seen = tmp_path / "password", []
    path.write_text("s3/cr:et@word\n")
    assert read_password(str(path)) == "s3/cr:et@word"
    with pytest.raises(ArgumentError, match="password_file: expected none for a store in a file"):
        run._open(str(tmp_path / "ads.evenhand"), str(path))
    monkeypatch.setattr(Store, "at", lambda where, create: seen.append((where, create)))
    run._open("postgresql://evenhand@database/evenhand", str(path))
    assert seen == [("postgresql://evenhand:s3%2Fcr%3Aet%40word@database/evenhand", False)]
    path.write_text("\n")
    with pytest.raises(ArgumentError, match="a file whose first line is the password"):
        read_password(str(path))


def test_no_key_is_printed_or_made_where_none_is_to_be_written(capsys):
    import socket

    store = Store.at(":memory:", create=True)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        run._print_addresses(store, listening, "127.0.0.1", None)
    assert ("eh_" in capsys.readouterr().out, list_keys(store)) == (False, [])
