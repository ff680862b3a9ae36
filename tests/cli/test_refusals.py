"""What the shell refuses: a message names the option or the file, what came and what to do, in no words of Python."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evenhand.cli.command import COMMANDS, command_of
from evenhand.errors import EvenhandError
from tests.cli.shell import answer, as_json, call
from tests.naming import long

OF_PROGRAMS = re.compile(
    r"Traceback|Errno|NoneType|C error|\bNone\b|<class|object has no attribute|universal-newline|codec|\bnumpy\b"
    r"|timedelta|\b(Type|Value|Key|Attribute|Index)Error\b|\bDataFrame\b|\bSeries\b|\bndarray\b|\(\)|0x[0-9a-f]{6}"
    r"|\bchar \d"
)
FILES = {
    "none": ("none.csv", r"no such file"),
    "folder": ("folder", r"is a (folder|directory)"),
    "empty": ("empty.csv", r"is empty|no rows"),
    "header": ("header.csv", r"no rows"),
    "bytes": ("bytes.csv", r"cannot be read|not text|not a text file|is not UTF-8"),
    "workbook": ("book.xlsx", r"spreadsheet workbook.*save the sheet as CSV"),
    "ragged": ("ragged.csv", r"line 4 has 4 cells"),
    "unclosed": ("unclosed.csv", r"quotation mark"),
}
PEOPLE = ["--group", "sex", "--features", "x"]
CAUSES = ["--intervene", "dose", "--sensitive", "sex", "--outcome", "cured", "--candidates", "c.json"]
READING = {
    "audit": ["FILE", "--shares", "0.1"],
    "report": ["FILE", "--shares", "0.1"],
    "audit-parity": ["FILE", "--group", "sex"],
    "audit-pairs": ["FILE", "--features", "x", "--reward", "reward"],
    "choose": ["FILE", "--state", "pairs.evenhand", "--places", "1"],
    "evaluate": ["FILE", "-p", "a=0.5,b=0.5"],
    "effects": ["FILE", "--control", "a"],
    "price": ["FILE", "--shares", "0.1"],
    "label": ["FILE", "--id", "id", *PEOPLE, "--labels", "0,1", "--tasks", "t.csv"],
    "recommend": ["FILE", "--edges", "sex->dose,dose->cured", *CAUSES, "--tolerance", "0.1"],
    "sample": ["FILE", *PEOPLE, "--label", "label", "--budget", "10"],
    "certify": ["chosen", "--fresh", "FILE", "--at-most", "0.5"],
    "simulate": ["--data", "FILE"],
    "change": ["s.evenhand", "--shares", "FILE"],
    "ask": ["s.evenhand", "--contexts", "FILE"],
    "tell": ["s.evenhand", "--from", "FILE"],
    "new": ["n.evenhand", "-p", "fair-ucb", "--shares", "FILE"],
}
"""Every command that reads a table, with the place of the file."""


def reading(command, file):
    return [file if one == "FILE" else one for one in READING[command]]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The files that every case finds in its folder, made once."""
    folder = tmp_path_factory.mktemp("files")
    rows = np.arange(40)
    table = {"arm": np.where(rows % 2, "a", "b"), "reward": rows % 3 % 2, "sex": np.where(rows % 3 % 2, "f", "m")}
    pd.DataFrame(table | {"id": rows, "x": rows % 7, "label": rows // 2 % 2}).to_csv(folder / "log.csv", index=False)
    (folder / "folder").mkdir()
    (folder / "empty.csv").write_bytes(b"")
    (folder / "header.csv").write_text("arm,reward,share\n")
    (folder / "bytes.csv").write_bytes(bytes(range(128, 256)) + b"\r\x00\n" + bytes(range(256)))
    (folder / "book.xlsx").write_bytes(b"PK\x03\x04\x14\x00\x06\x00" + bytes(range(256)))
    (folder / "ragged.csv").write_text("arm,reward\na,1\nb,0\na,1,2,3\n")
    (folder / "unclosed.csv").write_text('arm,reward\na,1\n"b,0\na,1\n')
    (folder / "c.json").write_text('{"as now": null}')
    answer("new", str(folder / "s.evenhand"), "-p", "fair-ucb", "--shares", "a=0.2,b=0.3", "--name", "s")
    pool = [str(folder / "log.csv"), *PEOPLE, "--label", "label", "--budget", "10", "--out", str(folder / "chosen")]
    answer("sample", *pool)
    return folder


@pytest.fixture(autouse=True)
def here(files, tmp_path, monkeypatch):
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def refusal(*arguments):
    """Return what a command says that refuses; it must refuse, and in the words of the shell."""
    result = call(*arguments)
    assert result.exit_code != 0, result.output
    if isinstance(result.exception, SystemExit):
        words = result.output
    else:
        assert isinstance(result.exception, (EvenhandError, OSError)), repr(result.exception)
        words = str(result.exception)
    words = " ".join(words.split())
    assert not OF_PROGRAMS.search(words), words
    return words


def test_every_command_that_reads_tables_is_tried():
    assert set(READING) == {name for name in COMMANDS if command_of(name).said.tables}


@pytest.mark.parametrize(
    ("command", "kind"),
    [(command, kind) for command in READING for kind in FILES if command == "evaluate" or kind in ("none", "bytes")],
)
def test_a_file_that_cannot_be_read_is_named_with_the_reason(command, kind):
    file, reason = FILES[kind]
    words = refusal(command, *reading(command, file))
    assert file in words
    if command in ("audit", "audit-parity", "evaluate", "simulate", "audit-pairs", "label", "sample"):
        assert re.search(reason, words), words


@pytest.mark.parametrize(
    ("command", "arguments", "option"),
    [
        ("simulate", ["--data", "log.csv", "--reward", "clicked"], "--reward"),
        ("simulate", ["--data", "log.csv", "--arm", "item"], "--arm"),
        ("simulate", ["--data", "log.csv", "--arm", "arm", "--group", "race"], "--group"),
        ("simulate", ["--data", "log.csv", "--arm", "arm,sex", "--group", "sex", "--features", "age"], "--features"),
        ("evaluate", ["log.csv", "-p", "a=0.5,b=0.5", "--reward", "clicked"], "--reward"),
        ("evaluate", ["log.csv", "-p", "a=0.5,b=0.5", "--propensity", "chance"], "--propensity"),
        ("evaluate", ["log.csv", "-p", "a=0.5,b=0.5", "--contexts", "x,age"], "--contexts"),
        ("audit-parity", ["log.csv", "--group", "race"], "--group"),
        ("audit-parity", ["log.csv", "--group", "sex", "--value", "hired"], "--value"),
        ("audit", ["log.csv", "--arm", "item", "--shares", "0.1"], "--arm"),
        ("report", ["log.csv", "--shares", "0.1", "--reward", "clicked"], "--reward"),
        ("sample", ["log.csv", "--group", "race", "--label", "label", "--budget", "10"], "--group"),
        ("sample", ["log.csv", "--group", "sex", "--label", "cat", "--budget", "10"], "--label"),
        ("label", ["log.csv", "--id", "key", *PEOPLE, "--labels", "0,1", "--tasks", "t.csv"], "--id"),
        ("audit-pairs", ["log.csv", "--features", "age", "--reward", "reward"], "--features"),
    ],
)
def test_a_column_that_is_not_there_names_the_option(command, arguments, option):
    words = refusal(command, *arguments)
    assert words.startswith(f"{option}: expected one of the columns arm,reward,sex,id,x,label, got "), words
    assert "was left out" not in words


def test_an_arm_with_a_comma_is_told_what_to_write():
    words = refusal("effects", "log.csv", "--control", "a", "--propensity", 'a=p,"b, c"=q')
    assert words.endswith('write names with a comma as an object, {"a, b": "COLUMN"}')


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["simulate", "--data", "other.csv"], "--reward"),
        (["evaluate", "other.csv", "-p", "a=0.5,b=0.5"], "--reward"),
        (["audit-parity", "other.csv", "--group", "arm"], "--value"),
    ],
)
def test_an_option_that_was_left_out_is_said_to_be(arguments, option):
    pd.DataFrame({"arm": list("ab") * 10, "clicked": [0, 1] * 10}).to_csv("other.csv", index=False)
    words = refusal(*arguments)
    assert words.startswith(f"{option}: expected one of the columns arm,clicked, got 'reward'; {option} was left out")
    assert words.endswith("name the column")


BASES = {
    "simulate": ["--means", "0.5,0.4", "-p", "fair-ucb", "--shares", "0.1", "--rounds", "9", "--replications", "1"],
    **{one: reading(one, "log.csv") for one in ("audit", "report", "audit-parity", "evaluate", "effects", "sample")},
    "ask": ["s.evenhand"],
    "export": ["s.evenhand"],
    "new": ["n.evenhand", "-p", "fair-ucb", "--shares", "a=0.2,b=0.3"],
}


def numeric(command):
    """Return the options of a command that take a number."""
    import inspect

    from evenhand.cli.command import _function

    for name, one in inspect.signature(_function(command), eval_str=True).parameters.items():
        kinds = getattr(one.annotation, "__args__", (one.annotation,))
        if {int, float} & {*kinds, *(inner for kind in kinds for inner in getattr(kind, "__args__", ()))}:
            option = next((p for p in command_of(command).params if p.name == name and p.opts[0].startswith("-")), None)
            if option is not None:
                yield max(option.opts, key=len)


@pytest.mark.parametrize("command", BASES)
@pytest.mark.parametrize("value", ["-1", long("nan"), long("1e400"), "many"])
def test_a_number_that_cannot_be_is_refused_by_its_option(command, value):
    """Of every option that takes a number: either it is taken, or the refusal names the option and the value."""
    for option in numeric(command):
        arguments = list(BASES[command])
        result = call(command, *arguments, f"{option}={value}")
        if result.exit_code in (0, 1) and not isinstance(result.exception, EvenhandError):
            assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
            continue
        words = " ".join((result.output if isinstance(result.exception, SystemExit) else str(result.exception)).split())
        assert isinstance(result.exception, (EvenhandError, SystemExit)), (option, repr(result.exception))
        assert not OF_PROGRAMS.search(words), words
        assert option in words, words


WRITTEN = {
    "q.toml": "[shares]\na = 0.2\n",
    "f.toml": "[shares]\nf = 0.2\n",
    "learner.toml": "learner = 'nope'\n[shares]\na = 0.2\n",
    "few.csv": "arm,reward\na,1\nb,0\n",
    "sum.toml": "shares = {a = 0.7, b = 0.6}\n",
}
TYPED = {
    "audit log.csv --shares a=x": "--shares, 'a': expected numbers from 0 to 1, got 'x'",
    "audit log.csv --shares a=0.2 --cap a=0.1": "--cap, 'a': expected at least its share",
    "audit log.csv --shares 0.2 --window a=3/2": "--window, 'a': expected a number of rounds",
    "audit log.csv --promise sum.toml": "--promise, shares: they sum to 1.3",
    "new n.evenhand --promise sum.toml": "--promise, shares: they sum to 1.3, ",
    "new n.evenhand --spec c.json": "--spec, policy: expected",
    "tell s.evenhand x 1": "TICKET: expected a ticket",
    "label log.csv --id reward --group arm --features reward --labels 0,1 --tasks t.csv": "--id: expected each id once",
    "simulate --data log.csv -p nope --promise q.toml": "--policy: no policy is named",
    "simulate --data log.csv -p fair-learn+nope --shares 0.1": "--policy: no policy is named",
    "simulate --data log.csv -p fair-ucb --promise q.toml": "--policy: quotas/fair-ucb needs",
    "simulate --data log.csv --promise learner.toml": "--promise learner.toml: learner: no policy",
    "simulate --data log.csv --group sex --features x -p ucb1 --promise f.toml": "--policy, 'ucb1': expected a policy "
    "that takes contexts",
    "evaluate few.csv --promise q.toml --rounds 9": "--rounds: expected at most 2",
    "new n.evenhand -p deadline-learn --shares a=0.2": "--arms: expected at least two arms, got a",
}


@pytest.mark.parametrize(("arguments", "words"), TYPED.items())
def test_a_refusal_names_what_was_typed(arguments, words):
    for name, text in WRITTEN.items():
        Path(name).write_text(text)
    assert refusal(*arguments.split()).startswith(words)


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"list", "demo", "reproduce"}))
def test_a_command_without_anything_says_what_it_needs(command, monkeypatch):
    words = refusal(command)
    assert re.search(r"--\w|[Mm]issing|name |expected|WORLD|STORE|store", words), words


def test_a_list_of_a_kind_is_that_kind_and_an_unknown_beginning_is_refused():

    listed = {kind: as_json("list", kind) for kind in ("policies", "policy", "worlds", "quotas/")}
    assert {row["kind"] for row in listed["policies"]} == {"policy"}
    assert listed["policies"] == listed["policy"]
    assert "quotas/bernoulli-arms" in {row["name"] for row in listed["worlds"]}
    assert {row["kind"] for row in listed["quotas/"]} == {"policy", "world", "experiment"}
    assert refusal("list", "polices").endswith("did you mean 'policies'?")


def test_what_to_do_is_said_in_options():
    """Not as programs write it: arm=, stationary=True."""
    table = pd.DataFrame({"arm": ["a", "a", "b"] * 9, "sex": ["F", "M", "F"] * 9, "x": 0.5, "reward": [0, 1, 1] * 9})
    table.assign(pa=[0.0, 1.0, 0.5] * 9, pb=[1.0, 0.0, 0.5] * 9).to_csv("mixed.csv", index=False)
    words = refusal("simulate", "--data", "mixed.csv", "--arm", "arm", "--group", "sex", "--features", "x")
    assert words.endswith("expected arm 'a' in one group, got 'M'; name 'sex' in --arm too")
