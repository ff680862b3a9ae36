"""Options of commands in a TOML file, and options before the command."""

import json

import pytest

from evenhand.cli.command import COMMANDS, command_of
from evenhand.errors import ArgumentError, TableError
from tests.cli.shell import NEW, answer, call, refused

LOG = "item,when\na,3\nb,1\na,2\nb,4\n"


@pytest.fixture
def config(tmp_path):
    def written(text):
        (tmp_path / "log.csv").write_text(LOG)
        path = tmp_path / "evenhand.toml"
        path.write_text(text)
        return path

    return written


def findings(*arguments):
    result = call(*arguments)
    assert result.exception is None or result.exit_code == 1, result.output
    return json.loads(result.stdout)


def test_a_command_takes_its_options_and_arguments_from_a_file(config, tmp_path):
    file = config(
        f"json = true\nrounds = 50\n[audit]\nlog = '{tmp_path / 'log.csv'}'\narm = 'item'\norder = 'when'\n"
        "cap-tolerance = 1.5\n[audit.shares]\na = 0.25\nb = '1/3'\n[simulate]\nseed = 4\n"
    )
    after, before = findings("audit", "--config", file), findings("--config", file, "audit")
    assert after == before
    assert {row["arm"]: row["owed"] for row in after["arms"]} == {"a": 0.25, "b": pytest.approx(1 / 3)}


def test_the_command_line_comes_first(config, tmp_path):
    file = config("arm = 'nothing'\nshares = 0.9\njson = true")
    arguments = ["audit", tmp_path / "log.csv", "--config", file, "--arm", "item", "--shares", "0.1"]
    assert findings(*arguments)["arms"][0]["owed"] == 0.1


def test_lists_and_tables_of_a_file_are_what_the_command_line_says(config, tmp_path):
    file = config("policy = ['fair-ucb', 'ucb1']\nmeans = [0.7, 0.5]\nshares = {0 = 0.2, 1 = '1/4'}\n")
    small = ["--rounds", "60", "--replications", "1", "--seed", "1", "--jobs", "1", "--json"]
    body = findings("simulate", "quotas/bernoulli-arms", "--config", file, *small)
    assert [row["policy"] for row in body["policies"]] == ["fair-ucb", "ucb1"]
    store = tmp_path / "s.evenhand"
    more = config('policy = "deadline-learn"\narms = ["a,b", 17]\n[new.shares]\n"a,b" = 0.2\n17 = 0.3\n')
    assert json.loads(answer("new", store, "--config", more, "--json"))["arms"] == ["a,b", 17]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sharse = 0.1", "got 'sharse'; did you mean 'shares'?"),
        ("[audit]\ntolerence = 1", "[audit]: wanted options among ["),
        ("[audit]\ntolerence = 1", "got 'tolerence'; did you mean 'tolerance'?"),
        ("[audti]\ntolerance = 1", "got 'audti'; did you mean 'audit'?"),
        ("[audit]\njson = 'yes'", "[audit] json: wanted true or false, got 'yes'"),
        ("[audit]\narm = true", "[audit] arm: wanted a text or a number, got True"),
        ("[audit]\narm = ''", "[audit] arm: wanted a value, got ''; leave it out if you mean none"),
    ],
)
def test_a_key_or_value_that_is_no_option_is_refused(text, words, config, tmp_path):
    refused(ArgumentError, words, "audit", tmp_path / "log.csv", "--config", config(text))


def test_a_file_that_is_no_toml_is_refused(config):
    refused(TableError, "cannot be read as TOML", "audit", "log.csv", "--config", config("a = "))
    missing = call("audit", "log.csv", "--config", "nowhere.toml")
    assert (missing.exit_code, "nowhere.toml" in missing.output) == (2, True)


def test_an_option_of_another_command_at_the_top_is_left_to_it(config, tmp_path):
    file = config("replications = 3\nshares = 0.1\narm = 'item'")
    assert findings("audit", tmp_path / "log.csv", "--config", file, "--json")["kept"] is True


def test_json_is_taken_before_and_after_the_command(config, tmp_path):
    config("")
    after = call("audit", tmp_path / "log.csv", "--arm", "item", "--shares", "0.1", "--json")
    before = call("--json", "audit", tmp_path / "log.csv", "--arm", "item", "--shares", "0.1")
    assert json.loads(after.stdout) == json.loads(before.stdout)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "serve"])
def test_every_command_has_json_config_and_short_help(name):
    shown = {word for parameter in command_of(name).params for word in parameter.opts}
    assert {"--json", "--config"} <= shown
    assert call(name, "-h").stdout.startswith(call(name, "--help").stdout)


def test_an_option_that_is_mistyped_is_guessed():
    said = call("audit", "log.csv", "--tolerence", "1").output
    assert "No such option: --tolerence. Did you mean --tolerance?" in said
    assert "Did you mean 'simulate'?" in call("simulat").output


def test_commands_that_change_a_store_or_write_files_say_so_as_json(tmp_path):
    store, out = tmp_path / "s.evenhand", tmp_path / "log.csv"
    answer("new", store, *NEW)
    assert json.loads(answer("ask", store, "--json"))["id"] == 1
    assert json.loads(answer("export", store, "--out", out, "--json")) == {"decisions": 1, "file": str(out)}
    assert json.loads(answer("--json", "snapshot", store)) == {"name": "s", "entries": 1}
    refused(ArgumentError, "--json: wanted a file as --out", "export", store, "--out", "-", "--json")


def test_an_audit_of_pairs_ends_with_json(tmp_path):
    people = tmp_path / "people.csv"
    people.write_text("age,pay\n1,0\n2,1\n3,0\n4,1\n5,1\n")
    arguments = ["audit-pairs", people, "--features", "age", "--reward", "pay", "--seed", "1", "--json"]
    said = answer(*arguments, "--rounds", "1", stdin="q\n").splitlines()
    assert json.loads(said[-1]) == {"rounds": 1, "verdicts": 0, "state": None, "caveat": None}
    store = tmp_path / "s.evenhand"
    assert json.loads(answer(*arguments, "--store", store)) == {"name": "audit", "store": str(store)}


def test_a_command_is_needed():
    refused(ArgumentError, "COMMAND: name a command", "--json")
