"""Asked and told from the shell: one by one, many at once, and what is refused changes nothing."""

import json
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import (
    ArgumentError,
    ClosedTicketError,
    ContextError,
    ContradictionError,
    TableError,
    UnknownArmError,
    UnknownTicketError,
    VerdictError,
)
from evenhand.sampling import LabelQueue
from evenhand.studies import Study
from tests.cli.shell import answer, as_json, asked, call, refused
from tests.naming import named


def test_a_conversation(store):
    first = asked(store)[0]
    rest = {"probabilities": None, "propensity": 1.0, "reason": "never tried before", "reason_code": "untried"}
    assert first | {"ticket": ""} == {"ticket": "", "id": 1, "round": 1, "arm": "a", "index": 0} | rest
    assert answer("tell", store, first["ticket"], "1.0") == "told\n"
    assert answer("tell", store, "1", "1") == "already told\n"
    refused(ContradictionError, "reward 1.0, not reward 0.5", "tell", store, "1", "0.5")
    second = asked(store)[0]
    assert as_json("tell", store, second["id"], "0") == {"ticket": 2, "status": "told"}
    third = asked(store)[0]
    assert answer("forget", store, third["ticket"]) == "forgotten\n"
    assert as_json("forget", store, "3") == {"ticket": 3, "status": "already forgotten"}
    refused(ClosedTicketError, "ticket 3 was forgotten before", "tell", store, "3", "1")
    with Study.open(store) as study:
        assert study.log.sequence == 6
        assert study.verify().ok


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (["tell", "1"], ArgumentError, "REWARD: expected the outcome"),
        (["tell", "1", "--violations", "0-1"], ArgumentError, "a reward, null for none, --rows or --samples"),
        (["tell", "1", "1", "--acceptable", "true"], VerdictError, "--acceptable: expected pairs of positions"),
        (["ask", "--groups", '["x"'], ArgumentError, "--groups: expected labels"),
        (["tell", "1", "1", "--violations", "0-1"], ArgumentError, "expected reward, got 'violations'"),
        (["tell", "1", "1", "--violations", "0:1"], VerdictError, "--violations: expected pairs of positions"),
        (["ask", "--annotator", "ann"], ArgumentError, "ask: expected contexts, available, scores, got 'annotator'"),
        (["ask", "--groups", "x"], ArgumentError, "--groups: expected ARM=GROUP,ARM=GROUP, or a JSON file, object"),
        (["ask", "--contexts", "[[1, 2"], ContextError, "--contexts: expected rows of numbers"),
        (["show", "--decision", "9"], UnknownTicketError, "ticket 9 was never handed out"),
        (["export", "--out", "x.txt"], ArgumentError, "--out: expected a file ending in .csv"),
        (["export", "--out", "x.csv", "--form", "nope"], ArgumentError, "--form: expected one of log, bandit"),
        (["export", "--out", "/nowhere/x.csv"], ArgumentError, "--out: expected a file that can be written"),
    ],
    ids=named,
)
def test_what_is_refused_changes_nothing(store, arguments, error, words, tmp_path):
    asked(store)
    before = sorted(path.name for path in tmp_path.iterdir() if path.name != store.name)
    command, *rest = arguments
    refused(error, words, command, store, *rest)
    with Study.open(store) as study:
        assert study.log.sequence == 1
        assert study.open_tickets == [1]
    assert [name for name in before if "evenhand" not in name] == []
    assert not list(tmp_path.glob("x.*"))


def test_a_misspelt_option_is_no_reward(store):
    asked(store)
    assert "--jsno" in answer("tell", store, "1", "1", "--jsno", code=2)


def test_rewards_may_be_negative():
    answer("new", "pay", "-p", "linear-thompson", "--groups", "a=x,b=y")
    asked("pay", "--contexts", "[[1.0], [2.0]]")
    assert answer("tell", "pay", "1", "-3.5") == "told\n"
    with Study.open("pay") as study:
        assert study.log.record(1).told == {"reward": -3.5}


def test_contexts_come_as_text_files_or_through_a_pipe(tmp_path):
    shown = [[1.0, 0.5], [0.0, 1.0], [2.0, 0.0]]
    answer("new", "s", "-p", "top-interval", "--groups", "ann=F,bob=M,cid=M", "--seed", "2")
    Path("c.json").write_text(json.dumps(shown))
    Path("plain.csv").write_text("x,y\n1,0.5\n0,1\n2,0\n")
    Path("named.csv").write_text("arm,x,y\ncid,2,0\nann,1,0.5\nbob,0,1\n")
    asked("s", "--contexts", json.dumps(shown))
    for name in ("c.json", "plain.csv", "named.csv"):
        asked("s", "--contexts", tmp_path / name)
    answer("ask", "s", "--contexts", "-", stdin=json.dumps(shown))
    with Study.open("s") as study:
        named = {"$table": {"x": [1.0, 0.0, 2.0], "y": [0.5, 1.0, 0.0]}}
        assert [event.given["contexts"] for event in study.log.events()] == [shown, shown, named, named, shown]


def test_groups_of_a_round_are_read_as_those_of_the_study():
    shown = [[1.0], [2.0], [3.0]]
    spec = {"policy": "groups/linear-thompson", "groups": [1, 2, 2], "seed": 1}
    Path("spec.json").write_text(json.dumps(spec))
    answer("new", "s", "--spec", "spec.json")
    for groups in ("0=2,1=1", '{"0": 2, "1": 1}', "[2, 1, 2]", '["2", "1", "2"]'):
        asked("s", "--contexts", json.dumps(shown), "--groups", groups)
    for unknown in ("0=3", "[3, 1, 2]", '{"0": ["1", "2"]}'):
        ask = ("ask", "s", "--contexts", json.dumps(shown), "--groups", unknown)
        refused(UnknownArmError, "groups: expected", *ask)
    with Study.open("s") as study:
        said = [study.log.record(number).given["groups"] for number in (1, 2, 3, 4)]
        assert said == [{"$items": [[0, 2], [1, 1]]}] * 2 + [[2, 1, 2]] * 2


def test_who_labels_and_who_audits_is_recorded():
    queue = LabelQueue(range(8), np.arange(8.0)[:, None], groups=["x", "y"] * 4, seed=1)
    Study.create("labels", queue, name="labels").close()
    task = asked("labels", "--annotator", "ann")[0]
    assert answer("tell", "labels", task["ticket"], "cat", "--annotator", "ann") == "told\n"
    Study.create("audit", eh.similarity.LipschitzUCB(2, seed=1), name="audit").close()
    decision = asked("audit", "--contexts", "[[0.1, 0.2], [0.3, 0.1]]")[0]
    reward = "1.0" if decision["index"] >= 0 else "null"
    assert answer("tell", "audit", decision["ticket"], reward, "--acceptable", "0-1", "--auditor", "ann") == "told\n"
    for path, who in (("labels", "annotator"), ("audit", "auditor")):
        with Study.open(path) as study:
            assert study.log.record(1).told[who] == "ann"
            assert study.verify().ok


SPEC = {
    "policy": "learners/lin-ucb",
    "arms": ["tea", "coffee"],
    "seed": 1,
    "encoder": {"columns": {"weather": ["sun", "rain"], "hour": None}},
}


def test_contexts_with_text_are_named_columns():
    Path("spec.json").write_text(json.dumps(SPEC))
    answer("new", "s", "--spec", "spec.json")
    Path("c.csv").write_text("arm,hour,weather\ncoffee,0.5,sun\ntea,0.25,rain\n")
    row = {"weather": "rain", "hour": 0.25}
    for given in ("c.csv", json.dumps([row, {"hour": 0.5, "weather": "sun"}])):
        asked("s", "--contexts", given)
        answer("tell", "s", str(asked("s", "--contexts", given)[0]["id"]), "1")
    refused(ContextError, "one row per arm, got one row for all arms", "ask", "s", "--contexts", json.dumps(row))
    words = "column 'weather', row 2: expected one of the categories sun,rain, got 'snow'"
    refused(TableError, words, "ask", "s", "--contexts", json.dumps([row, row | {"weather": "snow"}]))
    words = "--contexts, row 2: expected the columns weather,hour, as in row 1, got hour"
    refused(ContextError, words, "ask", "s", "--contexts", json.dumps([row, {"hour": 1}]))
    with Study.open("s") as study:
        assert study.verify().ok
        policy = eh.learners.LinUCB(arms=["tea", "coffee"], seed=1).encode_with(eh.Encoder(SPEC["encoder"]["columns"]))
        for number in range(1, 5):
            decision = policy.ask([[0, 1, 0.25], [1, 0, 0.5]])
            assert decision.arm == study.log.record(number).decision["arm"]
            if number % 2 == 0:
                policy.tell(decision, 1.0)


NUMBERS_ONLY = (
    "column 'x', row 2: expected finite numbers, got 'much'; this study takes only numbers: turn text into columns of "
    "0 and 1 first"
)


@pytest.mark.parametrize(
    ("table", "error", "words"),
    [
        ("arm,x\nann,1\nbob,2\n", UnknownArmError, "column 'arm': expected a row for every arm, got none for 'cid'"),
        ("seat,x\nann,1\nbob,2\ncid,3\n", TableError, "rename 'seat', which has the names of arms, got seat,x"),
        ("arm,x\nann,1\nbob,2\nbob,2\n", UnknownArmError, "column 'arm': expected each arm once, got 'bob' more than"),
        ("arm,x\nann,1\nbob,much\ncid,2\n", TableError, NUMBERS_ONLY),
    ],
    ids=named,
)
def test_contexts_that_do_not_fit_are_refused(table, error, words):
    answer("new", "s", "-p", "top-interval", "--groups", "ann=F,bob=M,cid=M")
    Path("c.csv").write_text(table)
    refused(error, words, "ask", "s", "--contexts", "c.csv")


def test_rows_of_a_draw():
    answer("new", "s", "-p", "sampling/optimistic", "--set", 'groups=["u","v"]', "--set", "batch=2", "--seed", "4")
    draw = asked("s")[0]
    assert (draw["group"], draw["count"]) == ("u", 4)
    Path("rows.csv").write_text("x1,sick,x2\n1,yes,2\n3,no,4\n1,yes,1\n2,no,2\n")
    refused(TableError, "'label'", "tell", "s", "1", "--rows", "rows.csv")
    assert answer("tell", "s", "1", "--rows", "rows.csv", "--label", "sick") == "told\n"
    with Study.open("s") as study:
        assert study.log.record(1).told == {"X": [[1, 2], [3, 4], [1, 1], [2, 2]], "y": ["yes", "no", "yes", "no"]}
    assert [row["training"] for row in as_json("show", "s")["risks"]] == [2, 0]
    assert "Risks by group" in answer("show", "s")


def test_trials_of_an_allocation(trial):
    assert "unknown" in answer("show", trial)
    Path("log.csv").write_text("sex,dose,cured,count\nf,low,0,10\nm,high,1,12\n")
    assert answer("tell", trial, "--samples", "log.csv") == "told\n"
    allocation = asked(trial)[0]
    assert sum(row["count"] for row in allocation["trials"]) > 0
    assert set(allocation) == {"ticket", "id", "phase", "reason", "reason_code", "trials"}
    lines = [f"{one['candidate']},{one['do(sex)'] or ''},m,high,1,{one['count']}" for one in allocation["trials"]]
    Path("seen.csv").write_text("\n".join(["candidate,do(sex),sex,dose,cured,count", *lines]))
    assert answer("tell", trial, "1", "--samples", "seen.csv") == "told\n"
    assert "The rules" in answer("show", trial)
    assert answer("export", trial, "--out", "log.parquet").startswith("1 decision ")
    refused(ArgumentError, "bandit feedback", "export", trial, "--form", "bandit", "--out", "-")


# ---------------------------------------------------------------------------- many at once


def test_a_row_that_is_refused_holds_up_no_other(store):
    asked(store, "--count", "3")
    table = "ticket,reward\n1,1\n99,1\n2,7\n2,much\n2,\n3,0\n"
    result = call("tell", store, "--file", "-", "--json", stdin=table)
    assert isinstance(result.exception, ArgumentError)
    said = str(result.exception)
    assert "standard input, row 2: ticket 99 was never handed out" in said
    assert "; row 3: reward: expected a number in [0, 1], got 7" in said
    assert "; row 4: REWARD: expected a number" in said
    assert "; row 5: REWARD: expected a number" in said
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
        ("id,reward\n1,1\n", "standard input: expected a column 'ticket', got the columns id,reward"),
    ],
    ids=named,
)
def test_a_table_that_cannot_be_told_is_refused_as_a_whole(store, table, words):
    asked(store)
    refused(TableError, words, "tell", store, "--file", "-", stdin=table)


def test_a_subject_is_asked_about_and_erased():
    Study.create("seen", eh.groups.LinearThompson({"a": "F", "b": "M"}, seed=1)).close()
    for subject in ("ann", "ann", "bob"):
        asked("seen", "--contexts", "[[0.1, 0.2], [0.3, 0.4]]", "--subject", subject)
    assert answer("erase", "seen", "--subject", "ann") == "seen: 1 subject erased; 2 open tickets forgotten\n"
    for subject in ("ann", "anne"):
        words = f"seen: 0 subjects erased; no contexts of subject {subject!r} are kept\n"
        assert answer("erase", "seen", "--subject", subject, code=1) == words
    assert Study.open("seen").open_tickets == [3]
    assert as_json("erase", "seen", "--older-than", "1s") == {"subjects": 1, "forgotten": 1, "purged": True}
    assert "were erased" in answer("verify", "seen")
    refused(ArgumentError, "--subject, --older-than: expected one of them", "erase", "seen")
    words = "--older-than: expected seconds, or a text such as 90s"
    refused(ArgumentError, words, "erase", "seen", "--older-than", "soon")
