"""`evenhand init`: questions whose answers are checked at once, files that are whole, and calls that run as printed."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tomllib

import pytest

from evenhand.cli.studies import init_files
from evenhand.errors import ArgumentError, TableError
from evenhand.studies import Study
from tests.cli.shell import answer, call, refused

TWO = ["init", "--yes", "--name", "ads", "--arm", "ads=0.2", "--arm", "news=1/3"]
GROUPS = ["init", "--yes", "--name", "jobs", "--arm", "a=0.25", "--arm", "b", "--group", "a=men", "--group", "b=women"]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line, **settings):
    """Run a line in a shell that finds this Python and its commands."""
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", line], env=os.environ | {"PATH": path}, capture_output=True, text=True, **settings
    )


def test_a_person_is_asked_and_each_wrong_answer_is_asked_again(here):
    typed = [*("quotsa", "quotas", "my study", "ads"), *("one", "ads,news,ads", "ads, news, own")]
    typed += [*("1.2", "much", "20%"), *("0.9", "1/3"), "", "y"]
    said = answer("init", stdin="\n".join(typed) + "\n")
    for words in (
        "got 'quotsa'; did you mean 'quotas'?",
        "name: wanted letters, digits, - and _",
        "arms: wanted two names or more",
        "each name once, got 'ads, twice'",
        "share of ads: wanted a number from 0 to 1, got '1.2'",
        "share of ads: wanted a number from 0 to 1, such as 0.2, 20% or 1/5, got 'much'",
        "share of news: wanted a number from 0 to 0.8, got '0.9'; all shares together are at most 1",
        "Written: ads.evenhand, ads.toml",
    ):
        assert words in said
    with Study.open("ads.evenhand") as study:
        assert [float(share) for share in study.bare_policy.promise.shares] == pytest.approx([0.2, 1 / 3, 0])
    assert sorted(path.name for path in here.iterdir()) == ["ads.evenhand", "ads.toml"]


def test_nothing_is_asked_where_all_is_given(here):
    said = json.loads(answer(*TWO, "--json"))
    assert said["files"] == ["ads.evenhand", "ads.toml"]
    assert list(said["calls"]) == ["Python", "Shell", "HTTP"]
    options = tomllib.loads((here / "ads.toml").read_text())
    assert options["store"] == "ads.evenhand"
    assert options["new"]["shares"] == {"ads": "0.2", "news": "1/3"}


def test_commands_take_their_options_from_the_file(here):
    answer(*TWO)
    for _ in range(9):
        answer("tell", "ads.evenhand", json.loads(answer("ask", "--config", "ads.toml"))["ticket"], "1")
    assert "9 decisions" in answer("show", "--config", "ads.toml")
    answer("export", "--config", "ads.toml")
    assert json.loads(answer("audit", "--config", "ads.toml", "--json"))["kept"] is True
    assert json.loads(answer("new", "again.evenhand", "--config", "ads.toml", "--json"))["arms"] == ["ads", "news"]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [TWO, GROUPS], ids=["quotas", "groups"])
def test_the_lines_for_python_and_the_shell_run_as_printed(arguments):
    said = json.loads(answer(*arguments, "--json"))
    name = said["name"]
    asked = subprocess.run([sys.executable, "-c", said["calls"]["Python"]], capture_output=True, text=True)
    assert asked.returncode == 0, asked.stderr
    told = run(said["calls"]["Shell"])
    assert (told.returncode, told.stdout) == (0, "told\n"), told.stderr
    assert json.loads(answer("show", f"{name}.evenhand", "--json"))["told"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [TWO, GROUPS], ids=["quotas", "groups"])
def test_the_line_for_http_runs_as_printed(arguments, here):
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed: apt-get install curl")
    line = json.loads(answer(*arguments, "--json"))["calls"]["HTTP"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = line.replace("localhost:8000", f"localhost:{port}").replace(
        "evenhand serve", f"evenhand serve --port {port}"
    )
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    with open(here / "out", "w+") as out:
        shell = subprocess.Popen(
            ["bash", "-c", line], env=os.environ | {"PATH": path}, stdout=out, stderr=out, start_new_session=True
        )
        try:
            assert shell.wait(120) == 0
            out.seek(0)
            said = out.read()
        finally:
            os.killpg(shell.pid, signal.SIGTERM)
    assert re.search(r'"reason_code": ?"\w+"', said), said


def test_groups_are_asked_for_and_a_bias_is_corrected(here):
    typed = ["groups", "jobs", "a,b", "", "", "men", "men", "men", "women", "womn", "women", "none", "3", ""]
    said = call("init", stdin="\n".join(typed[:7]) + "\n")
    assert "groups: wanted two groups or more, got 'men'" in str(said.exception)
    typed = ["groups", "jobs", "a,b", "", "", "men", "women", "womn", "women", "none", "3", ""]
    said = answer("init", stdin="\n".join(typed) + "\n")
    assert "got 'womn'; did you mean 'women'?" in said
    assert "numbers: wanted a whole number above 0, got 'none'" in said
    with Study.open("jobs.evenhand") as study:
        assert study.policy_name == "groups/group-fair-top-interval"


def test_a_file_of_answers_serves_in_the_place_of_a_person(here):
    (here / "answers.toml").write_text('name = "ads"\n[arms]\nads = 0.2\n"night, late" = "10%"\nown = 0\n')
    assert "Written: ads.evenhand, ads.toml" in answer("init", "--yes", "--from", "answers.toml")
    again = json.loads(answer("new", "again.evenhand", "--config", "ads.toml", "--json"))
    assert again["arms"] == ["ads", "night, late", "own"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--arm", "a=0.7", "--arm", "b=0.7"], "share of b: wanted a number from 0 to 0.3, got '0.7'"),
        (["--arm", "a=0.7"], "arms: wanted two names or more"),
        (["--arm", "a", "--arm", "a=0.1"], "--arm: wanted each arm once, got 'a, twice'"),
        (["--arm", "=0.1", "--arm", "b"], "--arm: wanted ARM or ARM=SHARE, got '=0.1'"),
        (["--arm", "a", "--arm", "b", "--group", "a"], "--group: wanted ARM=GROUP, got 'a'"),
        (["--arm", "a", "--arm", "b", "--group", "c=x"], "groups: wanted arms among ['a', 'b'], got 'c'"),
        (["--arm", "a", "--arm", "b", "--group", "a=x"], "group of b: wanted an answer"),
        ([], "arms: wanted an answer: What can be chosen?"),
        (["--for", "quota"], "got 'quota'; did you mean 'quotas'?"),
        (["--for", "sampling"], "table: wanted an answer"),
        (["--name", "a/b", "--arm", "a", "--arm", "b"], "name: wanted letters, digits, - and _"),
    ],
)
def test_an_answer_that_cannot_be_used_is_refused_and_nothing_is_written(arguments, words, here):
    refused(ArgumentError, words, "init", "--yes", *arguments)
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("arm = 3", "got 'arm'; did you mean 'arms'?"),
        ("arms = 'a,b'", "answers.toml: arms: wanted a table [arms]"),
        ("name = [1]", "answers.toml: name: wanted a text or a number"),
    ],
)
def test_a_file_of_answers_is_checked(text, words, here):
    (here / "answers.toml").write_text(text)
    refused(ArgumentError, words, "init", "--yes", "--from", "answers.toml")
    (here / "answers.toml").write_text("name = ")
    refused(TableError, "cannot be read as TOML", "init", "--yes", "--from", "answers.toml")


@pytest.mark.parametrize("ending", [".evenhand", ".toml"])
def test_no_file_is_replaced(ending, here):
    (here / f"ads{ending}").write_text("mine")
    refused(ArgumentError, f"name: wanted a new one, got 'ads'; ads{ending} exists already", *TWO)
    said = answer("init", stdin="quotas\nads\nother\na,b\n\n\n\n")
    assert f"ads{ending} exists already" in said
    assert (here / f"ads{ending}").read_text() == "mine"
    assert (here / "other.toml").exists()


@pytest.mark.parametrize("typed", ["", "quotas\nads\na,b\n0.2\n", "quotas\nads\na,b\n0.2\n0.3\nn\n"])
def test_an_interruption_leaves_nothing(typed, here):
    stopped = call("init", stdin=typed)
    assert (stopped.exit_code, "Nothing was written." in stopped.output) == (130, True)
    assert list(here.iterdir()) == []


def test_a_failure_while_files_are_made_leaves_nothing(here, monkeypatch):
    def fail(plan):
        raise KeyboardInterrupt

    monkeypatch.setattr(init_files, "_content", fail)
    assert call(*TWO).exit_code != 0
    assert list(here.iterdir()) == []


@pytest.fixture
def people(here):
    rows = "".join(f"{20 + n};{'fm'[n % 2]};{n % 3 % 2};0,{n % 10}\n" for n in range(60))
    (here / "people.csv").write_text("age;sex;income;pay\n" + rows)
    return here


def test_sampling_is_a_command_that_runs(people):
    said = answer("init", stdin="sampling\npool\nnowhere.csv\npeople.csv\nsexx\nsex\nincome\n20\n\n")
    assert "nowhere.csv: no such file" in said
    assert "got 'sexx'; did you mean 'sex'?" in said
    assert "evenhand sample --config pool.toml" in said
    assert json.loads(call("sample", "--config", "pool.toml", "--seed", "1", "--json").stdout)["labels"] == 20
    assert (people / "out" / "pool" / "rows.csv").exists()


def test_similarity_is_a_command_that_runs(people):
    said = answer("init", stdin="similarity\ntwins\npeople.csv\nage\npay\n\n")
    assert "evenhand audit-pairs --config twins.toml" in said
    assert "verdicts given" in answer("audit-pairs", "--config", "twins.toml", stdin="q\n")
    assert (people / "twins-answers.evenhand").exists()


def test_interventions_are_a_command_that_runs(here):
    rows = "".join(f"{'fm'[n % 2]},{('low', 'high')[n % 3 % 2]},{n % 5 % 2}\n" for n in range(60))
    (here / "trial.csv").write_text("sex,dose,cured\n" + rows)
    typed = [
        "interventions",
        "doses",
        "trial.csv",
        "sex -> dosis",
        "sex -> dose -> cured",
        "dose",
        "sex",
        "cured",
        "a",
        "0,2",
        "",
    ]
    said = answer("init", stdin="\n".join(typed) + "\n")
    assert "got 'dosis'; did you mean 'dose'?" in said
    assert "tolerance: wanted a number of 0 or more, got 'a'" in said
    assert sorted(path.name for path in here.iterdir()) == ["doses-candidates.json", "doses.toml", "trial.csv"]
    body = json.loads(call("recommend", "--config", "doses.toml", "--seed", "1", "--json").stdout)
    assert {row["candidate"] for row in body["table"]} == {"as now", "always high", "always low"}
