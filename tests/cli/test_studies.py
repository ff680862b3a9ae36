"""Studies from the shell: a conversation over files, exit codes that scripts can trust, nothing made by a refusal."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sqlalchemy import create_engine, text
from typer.testing import CliRunner

import evenhand as eh
from evenhand.cli import app
from evenhand.cli.show import bars
from evenhand.errors import (
    ArgumentError,
    ClosedTicketError,
    ContextError,
    ContradictionError,
    EvenhandError,
    ForeignTicketError,
    MissingExtraError,
    RegistryError,
    RewardError,
    StoreError,
    TableError,
    UnknownArmError,
    UnknownStudyError,
    UnknownTicketError,
    VerdictError,
)
from evenhand.online import REASONS
from evenhand.quotas.under_quota import OWED
from evenhand.studies import Operation, Study
from tests.naming import named


def call(*arguments, stdin=None):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def answer(*arguments, stdin=None):
    """What a command prints that is done."""
    result = call(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.output + str(result.exception)
    return result.output


def refused(error, words, *arguments, stdin=None):
    """The command raises what `main` turns into exit code 2 and one line."""
    result = call(*arguments, stdin=stdin)
    assert isinstance(result.exception, error), result.output + str(result.exception)
    assert words in str(result.exception)


@pytest.fixture
def store(tmp_path):
    """A store with one study, FairUCB over the arms a and b."""
    path = tmp_path / "ads.evenhand"
    answer("new", path, "--policy", "fair-ucb", "--shares", "a=0.2,b=0.3", "--seed", "1")
    return path


def asked(store, *options):
    return [json.loads(line) for line in answer("ask", store, *options).splitlines()]


# ---------------------------------------------------------------------------- new


def test_a_new_study_says_what_comes_next(tmp_path):
    path = tmp_path / "ads.evenhand"
    said = answer("new", path, "-p", "quotas/fair-ucb", "--shares", "a=0.2,b=0.3")
    assert f"evenhand ask {path}" in said
    assert f"evenhand tell {path} TICKET REWARD" in said
    with Study.open(path) as study:
        assert (study.name, study.policy_name, study.policy.arms) == ("ads", "quotas/fair-ucb", ("a", "b"))


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (["-p", "fair-learn+thompson", "--shares", "a=1/3,b=0.2"], "FairLearn(learner=Thompson(arms=None)"),
        (["-p", "fair-learn", "--learner", "moss", "--shares", "a=1/3,b=0.2"], "FairLearn(learner=MOSS("),
        (["-p", "fair-learn", "--shares", "a=1/3,b=0.2"], "FairLearn(learner=UCB1("),
        (["-p", "fair-ucb", "--shares", "0.2", "--arms", "3"], "arms=(0, 1, 2)"),
        (["-p", "fair-ucb", "--shares", "a=0.2", "--arms", "a,b"], "'b': Fraction(0, 1)"),
        (["-p", "fair-ucb", "--shares", "17=0.2,18=0.3"], "arms=('17', '18')"),
        (["-p", "fair-ucb", "--shares", "17=0.2", "--arms", "[17, 18]"], "arms=(17, 18)"),
        (["-p", "fair-ucb", "--shares", '{"a,b": 0.2, "☃": "1/5"}'], "arms=('a,b', '☃')"),
        (["-p", "horizon-fair-ucb", "--shares", "a=0.2,b=0.3", "--set", "horizon=1000"], "horizon=1000"),
        (["-p", "fair-ucb", "--shares", "a=0.2,b=0.3", "--tolerance", "2"], "tolerance=2.0"),
        (["-p", "learners/epsilon-greedy", "--arms", "a, b", "--set", "epsilon=0.2"], "EpsilonGreedy(epsilon=0.2"),
        (["-p", "group-fair-top-interval", "--groups", "a=men,b=women", "--sensitive", "women"], "sensitive='women'"),
        (["-p", "top-interval", "--groups", '{"a": 1, "b": 2}'], "groups={'a': 1, 'b': 2}"),
        (
            ["-p", "deadline-learn+top-interval", "--groups", "a=men,b=women", "--shares", "a=0.7,b=0.1"],
            "learner=TopInterval(groups={'a': 'men', 'b': 'women'}",
        ),
        (["-p", "lipschitz-ucb", "--set", "dimension=2", "--set", "select=many"], "select='many'"),
        (["-p", "sampling/optimistic", "--set", 'groups=["u", "v"]'], "groups=('u', 'v')"),
    ],
    ids=named,
)
def test_policies_are_named_in_few_words(tmp_path, options, shown):
    answer("new", tmp_path / "s.evenhand", *options)
    with Study.open(tmp_path / "s.evenhand") as study:
        assert shown in repr(study.policy)


def test_a_policy_may_be_a_file_and_options_go_before_it(tmp_path):
    (tmp_path / "policy.json").write_text('{"policy": "quotas/fair-ucb", "shares": {"a": "1/3", "b": 0.2}, "seed": 1}')
    body = json.loads(answer("new", tmp_path / "s", "--spec", tmp_path / "policy.json", "--seed", "5", "--json"))
    assert body == {"name": "s", "policy": "quotas/fair-ucb", "arms": ["a", "b"], "seed": 5}


def test_a_learner_that_is_named_goes_before_the_files(tmp_path):
    spec = {"policy": "quotas/fair-learn", "learner": "learners/moss", "shares": [0.1, 0.1]}
    (tmp_path / "policy.json").write_text(json.dumps(spec))
    for name, options, learner in (
        ("file", [], "MOSS"),
        ("rule", ["-p", "deadline-learn"], "MOSS"),
        ("both", ["-p", "fair-learn+thompson"], "Thompson"),
    ):
        answer("new", tmp_path / "s", "--spec", tmp_path / "policy.json", "--name", name, *options)
        with Study.open(tmp_path / "s", name) as study:
            assert type(study.policy.learner).__name__ == learner


MODEL = """network unknown {}
variable sex { type discrete [ 2 ] { f, m }; }
variable dose { type discrete [ 2 ] { low, high }; }
variable cured { type discrete [ 2 ] { 0, 1 }; }
probability ( sex ) { table 0.5, 0.5; }
probability ( dose | sex ) { (f) 0.8, 0.2; (m) 0.4, 0.6; }
probability ( cured | dose ) { (low) 0.7, 0.3; (high) 0.1, 0.9; }
"""


@pytest.fixture
def trial(tmp_path):
    """A store with a search whose model is a BIF file."""
    (tmp_path / "model.bif").write_text(MODEL)
    problem = {
        "model": str(tmp_path / "model.bif"),
        "intervene": "dose",
        "sensitive": "sex",
        "outcome": "cured",
        "candidates": {"now": None, "same": [[0.5, 0.5], [0.5, 0.5]]},
        "values": {"0": 0, "1": 1},
    }
    spec = {"policy": "interventions/csr", "problem": problem, "tolerance": 0.1, "budget": 600}
    (tmp_path / "search.json").write_text(json.dumps(spec))
    answer("new", tmp_path / "trial.evenhand", "--spec", tmp_path / "search.json")
    return tmp_path / "trial.evenhand"


NEW = ["-p", "fair-ucb", "--shares", "a=0.2,b=0.3"]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ([], ArgumentError, "--policy: wanted a policy, such as fair-ucb, or --spec FILE"),
        (["--learner", "ucb1"], ArgumentError, "--learner: wanted a learner beside --policy"),
        (["-p", "nonsense"], RegistryError, "--policy: no policy is named 'nonsense'"),
        (["-p", "epsilon-greedy"], RegistryError, "may be learners/epsilon-greedy or sampling/epsilon-greedy"),
        (["-p", "fair-ucb+thompson", "--shares", "a=0.1,b=0.1"], ArgumentError, "alone, it takes no learner"),
        (["-p", "fair-ucb"], ArgumentError, "quotas/fair-ucb needs shares"),
        (["-p", "fair-ucb", "--shares", "a=0.6,b=0.3"], ArgumentError, "DeadlineLearn keeps the promise"),
        (["-p", "fair-ucb", "--shares", "a=0.2,a=0.3"], ArgumentError, "--shares: wanted each name once"),
        (["-p", "fair-ucb", "--shares", "z=0.2", "--arms", "a,b"], ArgumentError, "--shares: wanted arms among"),
        (["-p", "fair-ucb", "--shares", "0.2"], ArgumentError, "shares: wanted a list, or a dict arm -> share"),
        (["-p", "fair-ucb", "--shares", "nowhere.csv"], TableError, "nowhere.csv: no such file"),
        (["-p", "ucb1", "--arms", "[1, "], ArgumentError, '--arms: wanted labels a,b,c or ["a", "b"] as JSON'),
        (["-p", "ucb1", "--arms", "a,a"], ArgumentError, "arms: wanted each label once"),
        (["-p", "ucb1"], ArgumentError, "arms: wanted a number of arms or a list of labels"),
        (["-p", "top-interval", "--groups", "men"], ArgumentError, "--groups: wanted ARM=GROUP,ARM=GROUP"),
        ([*NEW, "--groups", "a=x,b=y"], ArgumentError, "wanted arguments among shares, tolerance, arms, seed"),
        ([*NEW, "--seed", "-1"], ArgumentError, "seed: wanted a whole number from 0 to 2^63 - 1"),
        ([*NEW, "--set", "horizon"], ArgumentError, "--set: wanted NAME=VALUE"),
        ([*NEW, "--set", "horizon=3"], ArgumentError, "quotas/fair-ucb: wanted arguments among"),
        ([*NEW, "--name", "a b"], ArgumentError, "name: wanted up to 100 letters"),
        (["--spec", "nowhere.json"], TableError, "nowhere.json: cannot be read as JSON"),
    ],
    ids=named,
)
def test_what_cannot_be_a_study_is_refused_and_nothing_is_made(tmp_path, options, error, words):
    refused(error, words, "new", tmp_path / "ads.evenhand", *options)
    assert not list(tmp_path.iterdir())


def test_a_description_that_is_no_object_is_refused(tmp_path):
    (tmp_path / "policy.json").write_text("[1]")
    refused(TableError, "wanted an object", "new", tmp_path / "s", "--spec", tmp_path / "policy.json")


def test_a_study_that_is_there_is_refused_by_name(store):
    refused(ArgumentError, "has a study of that name", "new", store, *NEW)
    assert "ask" in answer("new", store, *NEW, "--name", "other")
    refused(UnknownStudyError, "there: ads, other", "ask", store)
    refused(UnknownStudyError, "no study is named 'third'; there: ads, other", "ask", store, "--study", "third")
    assert asked(store, "--study", "other")[0]["id"] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["ask", "{}"],
        ["tell", "{}", "1", "1.0"],
        ["forget", "{}", "1"],
        ["show", "{}"],
        ["verify", "{}"],
        ["export", "{}", "--out", "{}.csv"],
        ["studies", "{}"],
        ["snapshot", "{}"],
        ["upgrade", "{}"],
        ["monitor", "{}"],
    ],
    ids=named,
)
def test_a_store_that_is_not_there_is_refused_and_not_made(tmp_path, arguments):
    place = tmp_path / "nowhere.evenhand"
    refused(StoreError, "no store is there yet", *(part.format(place) for part in arguments))
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------------------- ask and tell


def test_a_conversation(store):
    first = asked(store)[0]
    assert first | {"ticket": ""} == {
        "ticket": "",
        "id": 1,
        "round": 1,
        "arm": "a",
        "index": 0,
        "probabilities": None,
        "reason": "never tried before",
    }
    assert answer("tell", store, first["ticket"], "1.0") == "told\n"
    assert answer("tell", store, "1", "1") == "already told\n"
    refused(ContradictionError, "reward 1.0, not reward 0.5", "tell", store, "1", "0.5")
    second = asked(store)[0]
    assert json.loads(answer("tell", store, second["id"], "0", "--json")) == {"ticket": 2, "status": "told"}
    third = asked(store)[0]
    assert answer("forget", store, third["ticket"]) == "forgotten\n"
    assert json.loads(answer("forget", store, "3", "--json")) == {"ticket": 3, "status": "already forgotten"}
    refused(ClosedTicketError, "ticket 3 was forgotten before", "tell", store, "3", "1")
    with Study.open(store) as study:
        assert study.sequence == 6
        assert study.verify().ok


def test_many_decisions_in_one_transaction(store):
    rows = asked(store, "--count", "20")
    assert [row["id"] for row in rows] == list(range(1, 21))
    mine = eh.quotas.FairUCB({"a": 0.2, "b": 0.3}, seed=1)
    assert [row["arm"] for row in rows] == [mine.ask().arm for _ in rows]


def test_the_same_key_is_the_same_decision(store):
    assert asked(store, "--key", "order 7") == asked(store, "--key", "order 7")
    several = asked(store, "--key", "night", "--count", "3")
    assert asked(store, "--key", "night", "--count", "3") == several
    assert len({row["id"] for row in several}) == 3
    with Study.open(store) as study:
        assert study.sequence == 4


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (["tell", "9", "1"], UnknownTicketError, "ticket 9 was never handed out"),
        (["tell", "1"], ArgumentError, "REWARD: wanted what the decision brought"),
        (["tell"], ArgumentError, "REWARD: wanted what the decision brought"),
        (["tell", "", "1"], ArgumentError, "TICKET: wanted a decision's number"),
        (["tell", "one", "1"], ForeignTicketError, "wanted a ticket as ask returned it"),
        (["tell", "ads.1.0000000000000000", "1"], ForeignTicketError, "not signed by the study 'ads'"),
        (["tell", "other.1.0000000000000000", "1"], ForeignTicketError, "belongs to the study 'other'"),
        (["tell", "1", "much"], RewardError, "REWARD: wanted a number"),
        (["tell", "1", "0,5"], RewardError, "REWARD: wanted a number"),
        (["tell", "1", "true"], RewardError, "REWARD: wanted a number"),
        (["tell", "1", '["a"]'], RewardError, "REWARD: wanted a number"),
        (["tell", "1", "-0.5"], RewardError, "reward: wanted a number in [0, 1], got -0.5"),
        (["tell", "1", "nan"], RewardError, "reward: wanted a number in [0, 1], got nan"),
        (["tell", "1", "1", "--violations", "0-1"], ArgumentError, "wanted reward, got 'violations'"),
        (["tell", "1", "1", "--violations", "0:1"], VerdictError, "--violations: wanted pairs of positions"),
        (["tell", "1", "1", "--file", "x.csv"], ArgumentError, "--file: wanted alone"),
        (["tell", "--file", "x.csv"], TableError, "x.csv: no such file"),
        (["tell", "1", "--samples", "x.csv"], TableError, "x.csv: no such file"),
        (["tell", "1", "--rows", "x.csv"], TableError, "x.csv: no such file"),
        (["ask", "--contexts", "[[1, 2]]"], ContextError, "this policy sees no contexts"),
        (["ask", "--contexts", "[[1, 2"], ContextError, "--contexts: wanted rows of numbers"),
        (["ask", "--contexts", "x.json"], ContextError, "--contexts: wanted rows of numbers"),
        (["ask", "--key", "k" * 201], ArgumentError, "key: wanted a text of up to 200 printable characters"),
        (["show", "--decision", "9"], UnknownTicketError, "ticket 9 was never handed out"),
        (["export", "--out", "x.txt"], ArgumentError, "--out: wanted a file ending in .csv"),
        (["export", "--out", "x.csv", "--form", "nope"], ArgumentError, "--form: wanted one of log, bandit"),
        (["export", "--out", "/nowhere/x.csv"], ArgumentError, "--out: wanted a file that can be written"),
        (["export", "--out", "/nowhere/x.parquet"], ArgumentError, "--out: wanted a file that can be written"),
        (["monitor", "what"], ArgumentError, "ACTION: wanted one of"),
        (["monitor", "remove"], ArgumentError, "NUMBER: wanted the id of a monitor"),
        (["monitor", "remove", "7"], ArgumentError, "monitor: wanted one of []"),
        (["monitor", "add", "--metric", "reward"], ArgumentError, "--metric, --threshold: wanted both"),
    ],
    ids=named,
)
def test_what_is_refused_changes_nothing(store, arguments, error, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked(store)
    before = sorted(path.name for path in tmp_path.iterdir() if path.name != store.name)
    command, *rest = arguments
    refused(error, words, command, store, *rest)
    with Study.open(store) as study:
        assert study.sequence == 1
        assert study.open_tickets == [1]
    assert [name for name in before if "evenhand" not in name] == []
    assert not list(tmp_path.glob("x.*"))


def test_a_misspelt_option_is_no_reward(store):
    asked(store)
    result = call("tell", store, "1", "1", "--jsno")
    assert result.exit_code == 2
    assert "--jsno" in result.output


def test_rewards_may_be_negative(tmp_path):
    path = tmp_path / "pay.evenhand"
    answer("new", path, "-p", "linear-thompson", "--groups", "a=x,b=y")
    asked(path, "--contexts", "[[1.0], [2.0]]")
    assert answer("tell", path, "1", "-3.5") == "told\n"
    with Study.open(path) as study:
        assert study.record(1).told == {"reward": -3.5}


def test_contexts_come_as_text_files_or_through_a_pipe(tmp_path):
    path, shown = tmp_path / "s.evenhand", [[1.0, 0.5], [0.0, 1.0], [2.0, 0.0]]
    answer("new", path, "-p", "top-interval", "--groups", "ann=F,bob=M,cid=M", "--seed", "2")
    (tmp_path / "c.json").write_text(json.dumps(shown))
    (tmp_path / "plain.csv").write_text("x,y\n1,0.5\n0,1\n2,0\n")
    (tmp_path / "named.csv").write_text("arm,x,y\ncid,2,0\nann,1,0.5\nbob,0,1\n")
    asked(path, "--contexts", json.dumps(shown))
    for name in ("c.json", "plain.csv", "named.csv"):
        asked(path, "--contexts", tmp_path / name)
    answer("ask", path, "--contexts", "-", stdin=json.dumps(shown))
    with Study.open(path) as study:
        assert [event.given["contexts"] for event in study.events()] == [shown] * 5


@pytest.mark.parametrize(
    ("table", "error", "words"),
    [
        ("arm,x\nann,1\nbob,2\n", UnknownArmError, "column 'arm': wanted each of ['ann', 'bob', 'cid'] once"),
        ("arm,x\nann,1\nbob,2\nbob,2\n", UnknownArmError, "got 'bob'"),
        ("arm,x\nann,1\nbob,2\ndan,2\n", UnknownArmError, "got 'dan'"),
        ("arm,x\nann,1\nbob,\ncid,2\n", TableError, "column 'x', row 2: the cell is empty"),
        ("arm,x\nann,1\nbob,much\ncid,2\n", TableError, "column 'x', row 2: wanted finite numbers"),
        ("x\n1\n2\n", ContextError, "contexts: wanted numbers of shape (3, d)"),
    ],
    ids=named,
)
def test_contexts_that_do_not_fit_are_refused(tmp_path, table, error, words):
    path = tmp_path / "s.evenhand"
    answer("new", path, "-p", "top-interval", "--groups", "ann=F,bob=M,cid=M")
    (tmp_path / "c.csv").write_text(table)
    refused(error, words, "ask", path, "--contexts", tmp_path / "c.csv")


def test_individuals_are_told_one_by_one_with_the_auditors_verdicts(tmp_path):
    path = tmp_path / "s.evenhand"
    answer("new", path, "-p", "lipschitz-ucb", "--set", "dimension=2", "--set", "select=many", "--seed", "2")
    row = asked(path, "--contexts", "[[0.5, 0.0], [0.0, 1.0]]")[0]
    assert row["probabilities"] == [1.0, 1.0]
    assert answer("tell", path, "1", "[0.5, 1]") == "told\n"
    answer("new", path, "-p", "lipschitz-ucb", "--set", "dimension=2", "--seed", "2", "--name", "single")
    row = asked(path, "--study", "single", "--contexts", "[[0.5, 0.0], [0.0, 1.0]]")[0]
    assert sum(row["probabilities"]) == pytest.approx(1.0)
    tell = ("tell", path, "--study", "single", "1", "0.5", "--acceptable", "0-1")
    assert answer(*tell) == "told\n"
    with Study.open(path, "single") as study:
        assert study.record(1).told == {"reward": 0.5, "acceptable": [[0, 1]]}


def test_rows_of_a_draw(tmp_path):
    path = tmp_path / "s.evenhand"
    answer("new", path, "-p", "sampling/optimistic", "--set", 'groups=["u","v"]', "--set", "batch=2", "--seed", "4")
    draw = asked(path)[0]
    assert (draw["group"], draw["count"]) == ("u", 4)
    (tmp_path / "rows.csv").write_text("x1,sick,x2\n1,yes,2\n3,no,4\n1,yes,1\n2,no,2\n")
    refused(TableError, "'label'", "tell", path, "1", "--rows", tmp_path / "rows.csv")
    assert answer("tell", path, "1", "--rows", tmp_path / "rows.csv", "--label", "sick") == "told\n"
    with Study.open(path) as study:
        assert study.record(1).told == {"X": [[1, 2], [3, 4], [1, 1], [2, 2]], "y": ["yes", "no", "yes", "no"]}
    shown = json.loads(answer("show", path, "--json"))
    assert [row["training"] for row in shown["risks"]] == [2, 0]
    assert "Risks by group" in answer("show", path)


def test_trials_of_an_allocation(trial, tmp_path):
    (tmp_path / "log.csv").write_text("sex,dose,cured,count\nf,low,0,10\nm,high,1,12\n")
    assert answer("tell", trial, "--samples", tmp_path / "log.csv") == "told\n"
    allocation = asked(trial)[0]
    assert sum(row["count"] for row in allocation["trials"]) > 0
    assert set(allocation) == {"ticket", "id", "phase", "trials"}
    (tmp_path / "seen.csv").write_text("candidate,do(sex),sex,dose,cured,count\nnow,,f,low,1,10\nsame,m,m,high,1,5\n")
    assert answer("tell", trial, "1", "--samples", tmp_path / "seen.csv") == "told\n"
    said = answer("show", trial)
    assert "Candidates" in said
    assert re.search(r"uncertified: (now|same)", said)
    assert answer("export", trial, "--out", tmp_path / "log.parquet").startswith("1 decisions")
    refused(ArgumentError, "bandit feedback", "export", trial, "--form", "bandit", "--out", "-")


# ---------------------------------------------------------------------------- many at once


def test_a_table_of_rewards_is_told_in_one_transaction(store, tmp_path):
    rows = asked(store, "--count", "6")
    table = "".join(f"{row['ticket'] if n % 2 else row['id']},{n % 2}\n" for n, row in enumerate(rows))
    (tmp_path / "t.csv").write_text("ticket,reward\n" + table)
    assert answer("tell", store, "--file", tmp_path / "t.csv") == "6 told, 0 already told, 0 refused\n"
    again = json.loads(answer("tell", store, "--file", "-", "--json", stdin="ticket,reward\n" + table))
    assert again == {"told": 0, "already_told": 6, "refused": []}


def test_a_row_that_is_refused_holds_up_no_other(store):
    asked(store, "--count", "3")
    table = "ticket,reward\n1,1\n99,1\n2,7\n2,much\n2,\n3,0\n"
    result = call("tell", store, "--file", "-", "--json", stdin=table)
    assert isinstance(result.exception, ArgumentError)
    said = str(result.exception)
    assert "standard input, row 2: ticket 99 was never handed out" in said
    assert "; row 3: reward: wanted a number in [0, 1], got 7" in said
    assert "; row 4: REWARD: wanted a number" in said
    assert "; row 5: REWARD: wanted a number" in said
    body = json.loads(result.output)
    assert (body["told"], [row["row"] for row in body["refused"]]) == (2, [2, 3, 4, 5])
    assert [row["ticket"] for row in body["refused"]] == ["99", "2", "2", "2"]
    with Study.open(store) as study:
        assert study.open_tickets == [2]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("", "standard input: the file is empty"),
        ("ticket,reward\n", "standard input: no rows"),
        ("id,reward\n1,1\n", "wanted one of ['id', 'reward'], got 'ticket'"),
        ("ticket,value\n1,1\n", "wanted one of ['ticket', 'value'], got 'reward'"),
    ],
    ids=named,
)
def test_a_table_that_cannot_be_told_is_refused_as_a_whole(store, table, words):
    asked(store)
    refused(TableError, words, "tell", store, "--file", "-", stdin=table)


# ---------------------------------------------------------------------------- show, verify, export


@pytest.fixture
def played(store):
    """The study after 60 decisions, the last two still open."""
    with Study.open(store) as study:
        rng = np.random.default_rng(3)
        for _ in range(3):
            decisions = study.perform([Operation("ask")] * 20)
            study.perform([Operation("tell", d.id, {"reward": float(rng.random() < 0.5)}) for d in decisions[:-1]])
        study.forget(20)
    return store


def test_show_tells_how_a_study_stands(played, tmp_path):
    said = answer("show", played, "--out", tmp_path / "out")
    assert "60 decisions, 57 told, 1 forgotten, 2 open" in said
    assert "The promise, at every round, was kept" in said
    assert "Open tickets: 40, 60." in said
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"arms.csv", "shares.png", "shortfall.png"}
    body = json.loads(answer("show", played, "--json"))
    with Study.open(played) as study:
        pulls = study.policy.pulls
    assert {row["label"]: row["decisions"] for row in body["arms"]} == pulls
    assert [row["promised"] for row in body["arms"]] == [0.2, 0.3]
    assert body["promise"]["kept"] is True
    assert body["open_tickets"] == [40, 60]
    assert [row["id"] for row in body["latest"]] == [56, 57, 58, 59, 60]
    assert body["latest"][-1]["status"] == "open"
    arms = pd.read_csv(tmp_path / "out" / "arms.csv")
    assert arms["decisions"].tolist() == list(pulls.values())


def test_show_before_the_first_decision(store, tmp_path):
    assert "0 decisions" in answer("show", store, "--out", tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"arms.csv"}
    assert json.loads(answer("show", store, "--json"))["arms"][0]["share"] is None


def test_the_last_decisions_are_found_behind_many_reports(store):
    asked(store, "--count", "3")
    assert [row["id"] for row in json.loads(answer("show", store, "--json"))["latest"]] == [1, 2, 3]
    with Study.open(store) as study:
        decisions = study.perform([Operation("ask")] * 297)
        study.perform([Operation("tell", n, {"reward": 0.5}) for n in range(1, 301)])
    latest = json.loads(answer("show", store, "--json"))["latest"]
    assert [row["id"] for row in latest] == [decision.id for decision in decisions[-5:]]


def test_show_lists_every_open_ticket_when_asked(store):
    asked(store, "--count", "20")
    assert "12 and 8 more, see --open" in answer("show", store)
    assert "19, 20." in answer("show", store, "--open")


def test_one_decision_with_all_that_is_known(played):
    said = answer("show", played, "--decision", "7")
    assert re.search(r"reason +\w", said)
    assert re.search(r"told +\{'reward': [01]\.0\}", said)
    body = json.loads(answer("show", played, "--decision", "7", "--json"))
    assert body["decision"]["id"] == 7
    assert body["version"].startswith(eh.__version__)


def test_the_learned_bias_is_shown_through_a_quota_as_well(tmp_path):
    for name, policy in (("plain", "group-fair-top-interval"), ("quota", "deadline-learn+group-fair-top-interval")):
        path = tmp_path / name
        options = ["--shares", "a=0.5,b=0.1"] if name == "quota" else []
        answer("new", path, "-p", policy, "--groups", "a=men,b=women", "--sensitive", "women", *options, "--seed", "1")
        assert json.loads(answer("show", path, "--json"))["bias"] is None
        with Study.open(path) as study:
            for n in range(8):
                study.tell(study.ask([[1.0, n], [1.0, 2.0 * n]]), 3.0 * n)
        body = json.loads(answer("show", path, "--json"))
        assert {row["group"] for row in body["bias"]} == {"women"}
        assert {row["group"] for row in body["arms"]} == {"men", "women"}
        assert "Learned bias by feature" in answer("show", path, "--out", tmp_path / "out" / name)
        assert (tmp_path / "out" / name / "bias.png").is_file()


def test_bars_are_as_long_as_the_shares():
    lines = bars([{"label": "a" * 30, "share": 0.5, "promised": 0.25}, {"label": 7, "share": 0.25}], "#|", 20)
    assert [line.count("#") for line in lines] == [19, 10]
    assert lines[0].index("|") - lines[0].index("#") == 10
    assert lines[0].startswith("a" * 19 + "~  ")


def test_verify_says_yes_and_no_by_its_exit_code(played):
    said = answer("verify", played)
    assert "replays to the same decisions and states" in said
    assert "was kept" in said
    body = json.loads(answer("verify", played, "--json"))
    assert (body["ok"], body["decisions"], body["promise_kept"], body["problems"]) == (True, 60, True, [])
    engine = create_engine(f"sqlite:///{played}")
    with engine.begin() as connection:
        connection.execute(text("UPDATE events SET given = :given WHERE sequence = 25"), {"given": '{"reward":0.25}'})
    engine.dispose()
    broken = call("verify", played)
    assert broken.exit_code == 1
    assert "WRONG: entry 25 was changed after it was written" in broken.output
    told = call("verify", played, "--json")
    assert told.exit_code == 1
    assert json.loads(told.output)["ok"] is False


def test_an_export_is_a_row_a_decision(played, tmp_path):
    assert (
        answer("export", played, "--out", tmp_path / "log.csv") == f"60 decisions written to {tmp_path / 'log.csv'}\n"
    )
    answer("export", played, "--out", tmp_path / "log.parquet")
    log, parquet = pd.read_csv(tmp_path / "log.csv"), pd.read_parquet(tmp_path / "log.parquet")
    assert log["ticket"].tolist() == parquet["ticket"].tolist() == list(range(1, 61))
    assert log["status"].value_counts().to_dict() == {"told": 57, "open": 2, "forgotten": 1}
    assert log["arm"].tolist() == parquet["arm"].tolist()
    assert json.loads(log["told"][0]) == {"reward": log["reward"][0]}
    printed = answer("export", played, "--out", "-")
    assert printed == (tmp_path / "log.csv").read_text()
    assert eh.quotas.audit(log, arm="arm", shares={"a": 0.2, "b": 0.3}).kept


def test_labels_of_several_kinds_are_exported_as_text(tmp_path):
    path = tmp_path / "s.evenhand"
    answer("new", path, "-p", "ucb1", "--arms", '["a,b", 17, "é"]')
    asked(path, "--count", "3")
    answer("export", path, "--out", tmp_path / "log.parquet")
    assert pd.read_parquet(tmp_path / "log.parquet")["arm"].tolist() == ["a,b", "17", "é"]


def test_the_bandit_form_holds_propensities(played, tmp_path):
    answer("export", played, "--form", "bandit", "--out", tmp_path / "b.csv")
    table = pd.read_csv(tmp_path / "b.csv")
    assert len(table) == 57
    assert (table["propensity"] == 1.0).all()
    assert (table["n_actions"] == 2).all()
    drawn = tmp_path / "drawn.evenhand"
    answer("new", drawn, "-p", "known-reward-lipschitz", "--set", "theta=[0.5, 0.1]", "--seed", "1")
    rows = asked(drawn, "--contexts", "[[0.5, 0.0], [0.0, 1.0]]", "--count", "5")
    for row in rows:
        answer("tell", drawn, row["id"], "0.5")
    answer("export", drawn, "--form", "bandit", "--out", tmp_path / "d.csv")
    table = pd.read_csv(tmp_path / "d.csv")
    assert table["propensity"].tolist() == [row["probabilities"][row["index"]] for row in rows]
    assert table["context_1_1"].tolist() == [1.0] * 5
    chance = tmp_path / "chance.evenhand"
    answer("new", chance, "-p", "thompson", "--arms", "a,b")
    asked(chance)
    answer("tell", chance, "1", "1")
    refused(ArgumentError, "does not say with which probabilities", "export", chance, "--form", "bandit", "--out", "-")


# ---------------------------------------------------------------------------- stores


def test_studies_are_listed(played):
    answer("new", played, "-p", "thompson", "--arms", "a,b", "--name", "second")
    rows = json.loads(answer("studies", played, "--json"))
    assert [(row["name"], row["decisions"], row["open"], row["promise"]) for row in rows] == [
        ("ads", 60, 2, "kept"),
        ("second", 0, 0, None),
    ]
    assert "second" in answer("studies", played)


def test_a_store_has_this_versions_form_or_is_brought_to_it(store):
    assert "has this version already" in answer("upgrade", store)
    engine = create_engine(f"sqlite:///{store}")
    with engine.begin() as connection:
        connection.execute(text("UPDATE evenhand_revision SET version_num = '9999'"))
    engine.dispose()
    refused(StoreError, "written by a newer version", "upgrade", store)
    refused(StoreError, "written by a newer version", "ask", store)


def test_after_a_snapshot_other_code_goes_on_and_says_what_it_did_not_replay(played, monkeypatch):
    entries = Study.open(played).sequence
    assert f"after {entries} entries is kept" in answer("snapshot", played)
    monkeypatch.setattr("evenhand.studies.snapshots.policy_version", lambda policy: "another")
    monkeypatch.setitem(REASONS, OWED, "owed by other words")
    asked(played)
    said = " ".join(answer("verify", played).split())
    assert "note: entries from" in said
    assert f"of its {entries + 1} entries were replayed" in said
    assert "the promise, at every round, was kept" in said.lower()


def test_what_is_no_store_is_refused(tmp_path):
    (tmp_path / "junk").write_text("hello")
    refused(StoreError, "no store of evenhand", "ask", tmp_path / "junk")
    refused(StoreError, "no store of evenhand", "new", tmp_path / "junk", *NEW)
    assert (tmp_path / "junk").read_text() == "hello"
    refused(StoreError, "a folder", "ask", tmp_path)
    refused(StoreError, "its folder is not there", "new", tmp_path / "no" / "where", *NEW)
    refused(ArgumentError, "store: wanted a path", "ask", "oracle://host/db")


def test_monitors_are_set_checked_and_removed(played):
    assert "no monitors yet" in answer("monitor", played)
    assert answer("monitor", played, "add", "--metric", "reward", "--threshold", "0.99", "--window", "20") == (
        "monitor 1 watches reward\n"
    )
    checked = call("monitor", played, "check", "--json")
    assert checked.exit_code == 1
    body = json.loads(checked.output)
    assert [alert["metric"] for alert in body["changed"]] == ["reward"]
    assert call("monitor", played, "check").exit_code == 1
    assert "Alerts that stand" in answer("monitor", played, "list")
    assert answer("monitor", played, "remove", "1") == "monitor 1 is removed\n"
    assert call("monitor", played, "check").exit_code == 0


def test_keys_are_given_out_listed_and_revoked(store):
    assert "no keys yet" in answer("keys", store)
    made = json.loads(answer("keys", store, "add", "--role", "report", "--note", "clicks", "--json"))
    assert made["role"] == "report"
    row = json.loads(answer("keys", store, "list", "--json"))[0]
    assert (row["role"], row["note"], row["revoked"]) == ("report", "clicks", None)
    assert made["key"].split("_")[3] not in json.dumps(row)
    assert answer("keys", store, "revoke", row["id"]) == "revoked\n"
    assert json.loads(answer("keys", store, "revoke", row["id"], "--json"))["status"] == "already revoked"
    assert row["id"] in answer("keys", store)
    assert "may read" in answer("keys", store, "add", "--role", "read")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["what"], "ACTION: wanted one of list, add, revoke"),
        (["add"], "--role: wanted decide, report or read"),
        (["add", "--role", "boss"], "role: wanted one of decide, report, read"),
        (["revoke"], "KEY: wanted the id of a key"),
        (["revoke", "nobody"], "key: wanted the id of a key"),
        (["list", "--role", "read"], "--role: wanted"),
    ],
    ids=named,
)
def test_keys_that_cannot_be_are_refused(store, arguments, words):
    refused(ArgumentError, words, "keys", store, *arguments)


def test_serving_without_its_extra_says_what_to_install_and_makes_nothing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "structlog", None)
    refused(MissingExtraError, "pip install 'evenhand[service]'", "serve", "--store", tmp_path / "ads.evenhand")
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------------------- processes


def evenhand(*arguments, **settings):
    return subprocess.Popen(
        [sys.executable, "-m", "evenhand", *map(str, arguments)], stdout=subprocess.PIPE, text=True, **settings
    )


def test_two_shells_at_once_share_a_study(store):
    shells = [evenhand("ask", store, "--count", "30") for _ in range(2)]
    rows = [json.loads(line) for shell in shells for line in shell.communicate()[0].splitlines()]
    assert [shell.returncode for shell in shells] == [0, 0]
    assert sorted(row["id"] for row in rows) == list(range(1, 61))
    answer("verify", store)


def test_labels_that_a_terminal_cannot_show_are_no_defect(tmp_path):
    path = tmp_path / "s.evenhand"
    answer("new", path, "-p", "ucb1", "--arms", "☃,é")
    shown = evenhand("show", path, env=os.environ | {"PYTHONIOENCODING": "ascii"}, stderr=subprocess.PIPE)
    said, wrong = shown.communicate()
    assert (shown.returncode, wrong) == (0, "")
    assert "\\u2603" in said


def test_whatever_is_refused_is_one_line_and_exit_code_2(tmp_path):
    shell = evenhand("ask", tmp_path / "nowhere.evenhand", stderr=subprocess.PIPE)
    said, wrong = shell.communicate()
    assert (shell.returncode, said) == (2, "")
    assert len(wrong.splitlines()) == 1
    assert issubclass(StoreError, EvenhandError)


def test_a_search_is_shown_before_its_first_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    problem = {
        "model": {
            "states": {"S": ["f", "m"], "W": ["0", "1"], "Y": ["0", "1"]},
            "parents": {"S": [], "W": ["S"], "Y": ["W"]},
            "tables": {"S": [0.5, 0.5], "W": [[0.9, 0.1], [0.2, 0.8]], "Y": [[0.7, 0.3], [0.4, 0.6]]},
        },
        "intervene": "W",
        "sensitive": "S",
        "outcome": "Y",
        "candidates": {"as it is": None, "even": [[0.5, 0.5], [0.5, 0.5]]},
    }
    spec = {"policy": "interventions/csr", "problem": problem, "tolerance": 0.1, "budget": 200}
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    answer("new", "search.evenhand", "--spec", "spec.json")
    assert "unknown" in answer("show", "search.evenhand")
    asked("search.evenhand")
    assert "unknown" in answer("show", "search.evenhand", "--out", "seen")


def test_a_digest_that_was_printed_is_looked_for(played):
    digest = re.search("Last digest: ([0-9a-f]{64})", answer("verify", played))[1]
    assert json.loads(answer("verify", played, "--json"))["digest"] == digest
    answer("verify", played, "--known", digest)
    result = call("verify", played, "--known", "0" * 64)
    assert result.exit_code == 1
    assert "WRONG: no entry has the digest 0000" in result.output


def test_what_is_to_be_typed_next_is_quoted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "next: evenhand ask 'my study.evenhand'" in answer("new", "my study.evenhand", *NEW, "--name", "mine")


def test_names_near_what_was_typed_are_shown(tmp_path):
    refused(RegistryError, "near it: quotas/fair-ucb", "new", tmp_path / "x", "--policy", "fairucb")
    learner = ["--policy", "fair-learn", "--learner", "epsilon-greedy", "--shares", "a=0.2,b=0.3"]
    assert "quotas/fair-learn" in answer("new", tmp_path / "greedy.evenhand", *learner)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")
def test_a_decision_that_cannot_be_printed_is_on_record_and_says_so(store):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "evenhand", "ask", str(store)], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert "taken and on record, but not printed" in done.stderr
    with Study.open(store) as study:
        assert study.open_tickets == [1]
