"""An option that would have no effect beside what else was typed is refused, in every command."""

import re
from pathlib import Path

import pytest

from evenhand import cli
from evenhand.cli.command import COMMANDS, TABLES, command_of
from evenhand.errors import ArgumentError
from tests.cli.shell import refused

EVERYWHERE = {"--json", "--study", "--out"}
COUNTS = {
    "new": "--policy --shares --arms-from --learn --tolerance --groups --sensitive --seed --name --expire-after "
    "--set --spec --promise",
    "ask": "--contexts --available --groups --annotator --weight --scores --count --key --subject",
    "tell": "--values --violations --acceptable --rows --samples --annotator --auditor --weight",
    "add": "--share --cap",
    "change": "--shares --promise --from",
    "show": "--decision",
    "verify": "--known --mark --strict",
    "serve": "--store --settings --host --port --workers --open-metrics --max-body --log-level --password-file "
    "--print-keys --create --wait",
    "keys": "--role --note --expires --for",
    "erase": "--subject --older-than",
    "simulate": "--means --policy --shares --cap --window --log --learn --delay --missing --control "
    "--rounds --replications --seed --jobs",
    "sample": "--group --budget --label --features --costs --batch --loss --trend --reweighted --multiclass "
    "--empty --seed",
    "certify": "--at-most --fresh --once --delta",
    "label": "--id --group --features --labels --show --state --annotators --choice --tasks --empty --seed",
    "audit": "--shares --arm --order --cap --window --promise --segment --available --round --times --weight "
    "--since --until --by",
    "report": "--shares --arm --order --cap --window --promise --segment --available --round --times --weight --reward "
    "--call --since --until --by",
    "evaluate": "--arm --reward --propensity --policy --shares --cap --window --estimator --model "
    "--largest-weight --stationary --interval --each --fit "
    "--level --contexts --position --order --unit --rounds --replays --seed --at-least --picture",
    "effects": "--control --alpha --anytime --arm --reward --propensity",
    "price": "--shares --cap --window",
    "recommend": "--edges --intervene --sensitive --outcome --candidates --values --tolerance --budget --trial",
    "audit-pairs": "--features --reward --individuals --errors --check --auditor --store --auditors --seed",
    "choose": "--places --reward --group",
    "audit-parity": "--group --value --level --unit --rates",
    "reproduce": "--quick --trials --rounds --device --finished-only --pictures --jobs --strict",
    "demo": "--seed",
}
"""The options that count whatever else is typed, or of which the command itself says by their values when they do."""
FORM = {"--sep", "--decimal", "--encoding", "--format", "--header", "--values"}
RULES = {
    command: {option: rule for options, rule in command_of(command).said.beside.items() for option in options.split()}
    for command in COMMANDS
}
EVERY = [(command, option, rule.partition("not ")) for command in RULES for option, rule in RULES[command].items()]
NEEDED = [(command, option, needed.split()) for command, option, (needed, _, _) in EVERY if needed]
EXCLUDED = [(command, option, other) for command, option, (_, _, others) in EVERY for other in others.split()]


def options_of(command):
    return {max(one.opts, key=len): one for one in command_of(command).params if one.opts[0].startswith("-")}


def typed(command, *options):
    """The words of a command with these options or arguments, and with what it requires."""
    parameters = command_of(command).params
    names = {next((word for word in one.opts if word[:2] == "--"), one.name.upper()): one for one in parameters}
    words = []
    for name, one in names.items():
        if one.required or name in options:
            value = [] if getattr(one, "is_flag", False) else ["2"]
            words += [name, *value] if name.startswith("--") else value
    return [command, *words]


@pytest.mark.parametrize("command", COMMANDS)
def test_of_every_option_it_is_said_whether_it_counts_alone(command):
    names = {next(word for word in one.opts if word[:2] == "--") for one in options_of(command).values()}
    rules, counts = RULES[command], set(COUNTS.get(command, "").split())
    assert names == counts | set(rules) | ((EVERYWHERE | (FORM if names >= FORM else set())) & names)
    assert not counts & set(rules)
    every = {one.name.upper() for one in command_of(command).params} | names
    assert {word for rule in rules.values() for word in rule.split()} - {"not"} <= every


@pytest.mark.parametrize(("command", "option", "needed"), NEEDED)
def test_an_option_that_counts_only_beside_others_is_refused_without_them(command, option, needed):
    said = f"{option}: expected {' or '.join(needed)} as well, got nothing"
    refused(ArgumentError, said, *typed(command, option))


@pytest.mark.parametrize(("command", "option", "other"), EXCLUDED)
def test_an_option_that_says_nothing_beside_another_is_refused(command, option, other):
    refused(ArgumentError, f"{option}: expected nothing together with {other}, got ", *typed(command, option, other))


GROUPS = ("choose", "b.csv", "--group", "a", "--places", 2)
LABEL = ("--id", "a", "--group", "a", "--features", "a", "--labels", "x,y")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("choose", "log.csv", "--places", 2, "--out", "log.csv"), "--out: expected another place than that of TABLE"),
        (("choose", "log.csv", "--places", 2, "--out", "./log.csv"), "log.csv, which would be written over"),
        ((*GROUPS, "--applicants", "log.csv", "--out", "log.csv"), "than that of --applicants"),
        (("audit-parity", "out/groups.csv", "--out", "out"), "than that of LOG, out/groups.csv, which"),
        (("audit", "log.csv", "out/groups.csv", "--shares", "0.1", "--out", "out"), "got 'out'"),
        (("label", "log.csv", *LABEL, "--tasks", "log.csv"), "--tasks: expected another place than that of"),
    ],
)
def test_no_input_is_written_over(words, says):
    Path("out").mkdir()
    for file in ("log.csv", "out/groups.csv"):
        Path(file).write_text("a\n1\n")
    refused(ArgumentError, says, *words)
    assert Path("log.csv").read_text() == Path("out/groups.csv").read_text() == "a\n1\n"


def test_every_table_that_a_command_writes_into_a_folder_is_known():
    sources = [path.read_text() for path in Path(cli.__file__).parent.rglob("*.py")]
    written = {name for text in sources for name in re.findall(r'out / "([\w-]+)\.csv"', text)}
    assert written <= {*TABLES}
    assert len(written) > 10
