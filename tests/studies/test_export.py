"""What leaves a study: its decisions as a table, bandit feedback with true propensities or none, and both as CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.data.csv_files import write_csv
from evenhand.data.tables import LEFT_OUT
from evenhand.errors import ArgumentError, TableError
from evenhand.service.routes.views import export_log
from evenhand.studies import Ask, Study
from evenhand.studies.export import bandit_frame
from evenhand.studies.files import read_csv
from tests.cli.shell import answer, call
from tests.studies.conftest import example, example_study

SHARES = {"ads": 0.2, "news": 0.3}
COLUMNS = [
    *("ticket", "round", "at", "arm", "index", "reason", "probabilities", "propensity", "given", "status"),
    *("told_at", "reward", "told", "decision", "version", "random_state", "key", "actor", "digest"),
]
CHANCES = ["propensity_ads", "propensity_news"]
FEEDBACK = ["ticket", "round", "at", "arm", "action", "n_actions", "reward", "propensity", "deterministic"]


def shown(table):
    """The contexts of a bandit frame, row by row."""
    return table[[name for name in table.columns if name.startswith("context_")]].to_numpy().tolist()


def talked(policy, rewards, place=":memory:"):
    """A study with these rewards, None for a ticket that is left open."""
    study = Study.create(place, policy, name="ads")
    for reward in rewards:
        decision = study.ask()
        if reward is not None:
            study.tell(decision, reward)
    return study


def test_bandit_feedback_of_contexts_by_name():
    encoder = eh.Encoder({"sky": ["sun", "rain"], "hour": None})
    policy = eh.groups.LinearThompson({"tea": "drink", "coffee": "drink"}, seed=1).encode_with(encoder)
    study = Study.create(":memory:", policy, name="bar")
    frame = pd.DataFrame({"hour": [0.5, 0.25], "sky": ["sun", "rain"]})
    for contexts in ({"sky": "rain", "hour": 0.5}, frame, [1.0, 0.0, 0.75], [[0, 1, 2], [1, 0, 3]]):
        study.tell(study.ask(contexts), 1.0)
    rows = [[0, 1, 0.5, 0, 1, 0.5], [1, 0, 0.5, 0, 1, 0.25], [1, 0, 0.75, 1, 0, 0.75], [0, 1, 2, 1, 0, 3]]
    table = bandit_frame(study)
    assert shown(table) == rows
    names = [f"context_{arm}_{place}" for arm in ("tea", "coffee") for place in range(3)]
    assert list(table.columns) == [*FEEDBACK, "propensity_tea", "propensity_coffee", *names, LEFT_OUT]


def test_bandit_feedback_of_tables_is_in_the_order_of_the_columns_that_the_policy_knows():
    study = Study.create(":memory:", eh.learners.LinUCB(arms=["tea", "coffee"], seed=1), name="bar")
    for order in (["a", "b"], ["b", "a"]):
        study.tell(study.ask(pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})[order]), 1.0)
    assert shown(bandit_frame(study)) == [[1, 3, 2, 4]] * 2


def test_a_row_a_decision():
    before = datetime.now(UTC)
    study = talked(eh.quotas.FairUCB(SHARES, seed=1), [1.0, None, 0.25])
    study.forget(study.ask())
    study.run([Ask(key="k", actor="cron")])
    table = study.frame()
    assert list(table.columns) == COLUMNS
    assert table["ticket"].tolist() == table["round"].tolist() == [1, 2, 3, 4, 5]
    assert table["status"].tolist() == ["told", "open", "told", "forgotten", "open"]
    assert table["reward"].isna().tolist() == [False, True, False, True, True]
    assert table["reward"].dropna().tolist() == [1.0, 0.25]
    assert table["told"].tolist() == [{"reward": 1.0}, None, {"reward": 0.25}, None, None]
    assert [SHARES[arm] for arm in table["arm"]] == [list(SHARES.values())[index] for index in table["index"]]
    assert (table["key"][4], table["actor"][4]) == ("k", "cron")
    assert table["version"].str.startswith(eh.__version__ + "+").all()
    assert {str(table[name].dtype.tz) for name in ("at", "told_at")} == {"UTC"}
    assert table["told_at"].isna().tolist() == [False, True, False, True, True]
    assert (table["at"] >= before).all()
    assert (table["told_at"].dropna() >= table["at"][[0, 2]]).all()
    record = study.log.record(1)
    assert (table["at"][0], table["told_at"][0]) == (record.at, record.told_at)
    assert {table[name].dtype for name in ("ticket", "round", "index")} == {np.dtype(np.int64)}


@pytest.mark.parametrize("policy", [eh.quotas.FairUCB(SHARES, seed=1), eh.similarity.LipschitzUCB(2, seed=1)], ids=type)
def test_an_empty_study(policy):
    study = Study.create(":memory:", policy, name="empty")
    assert (list(study.frame().columns), len(study.frame())) == (COLUMNS, 0)
    table = bandit_frame(study)
    chances = CHANCES if isinstance(policy, eh.quotas.FairUCB) else []
    assert (list(table.columns), len(table)) == ([*FEEDBACK, *chances, LEFT_OUT], 0)


# ---------------------------------------------------------------------- bandit feedback


@pytest.mark.parametrize(
    "policy",
    [
        eh.quotas.FairUCB(SHARES, seed=1),
        eh.learners.Thompson(arms=["ads", "news"], seed=1),
        eh.learners.EpsilonGreedy(arms=["ads", "news"], seed=1),
        eh.quotas.FairLearn(eh.learners.Thompson(seed=2), SHARES, seed=1),
        eh.quotas.FairLearn(eh.learners.EpsilonGreedy(0.5, seed=2), SHARES, seed=1),
    ],
    ids=type,
)
def test_decisions_with_a_reward_have_the_propensities_that_they_had(policy):
    study = Study.create(":memory:", policy.fresh(), name="ads")
    told = [study.ask() for _ in range(7)]
    told.pop(1)
    for decision in told:
        study.tell(decision, decision.id / 8)
    table = bandit_frame(study)
    assert list(table.columns) == [*FEEDBACK, *CHANCES, LEFT_OUT]
    expected = {"ticket": [1, 3, 4, 5, 6, 7], "n_actions": [2] * 6, "reward": [decision.id / 8 for decision in told]}
    expected |= {"action": [decision.index for decision in told]}
    expected |= {"propensity": [decision.propensity for decision in told]}
    expected |= {"deterministic": [decision.probabilities is None for decision in told]}
    assert {name: table[name].tolist() for name in expected} == expected
    for decision, chances in zip(told, table[CHANCES].to_numpy(), strict=True):
        certain = np.arange(2) == decision.index
        assert chances.tolist() == [*(certain if decision.probabilities is None else decision.probabilities)]
    assert table["propensity"].between(0, 1, inclusive="right").all()
    dtypes = {"action": np.int64, "n_actions": np.int64, "reward": np.float64, "propensity": np.float64}
    assert {name: table[name].dtype for name in dtypes} == dtypes
    assert table["deterministic"].dtype == bool
    assert study.verify().ok


def similar(rounds, *, individuals=4, seed=5, ragged=False):
    """A study of a fair rule that draws one of several, and what drawing each would have paid."""
    study = Study.create(":memory:", eh.similarity.LipschitzUCB(2, precision=0.4, seed=seed))
    random = np.random.default_rng(seed)
    for t in range(rounds):
        contexts = random.uniform(0, 0.7, (individuals + (t % 2 if ragged else 0), 2))
        decision = study.ask(contexts)
        study.tell(decision, None if decision.index < 0 else float(contexts[decision.index].sum()))
    return study


def test_propensities_of_a_fair_distribution_and_columns_of_an_individual_that_was_never_drawn():
    study = similar(12, ragged=True)
    table = bandit_frame(study)
    assert 0 < len(table) <= 12
    assert list(table.columns) == [*FEEDBACK, LEFT_OUT]
    assert not table["deterministic"].any()
    for row in table.itertuples():
        decision = study.log.record(row.ticket).decision
        assert row.propensity == decision["probabilities"][row.action] > 0
        assert row.n_actions == len(decision["probabilities"]) == 4 + (row.round - 1) % 2
    study = similar(2, individuals=6, seed=0)
    assert len(study.statistics().labels) < 6
    table = bandit_frame(study)
    assert [name for name in table if name.startswith("context_")][-1] == "context_5_1"
    assert table["n_actions"].tolist() == [6] * len(table)


def toss(learner):
    return 1


def ignore(learner, index, reward): ...


def test_decisions_that_are_for_no_arm_are_refused():
    for name in ("sampling/uniform", "interventions/one-shot"):
        with pytest.raises(ArgumentError, match=f"expected decisions for one arm each, got those of {name}"):
            bandit_frame(example_study(name))


COIN = eh.learners.Adapter([], choose=toss, update=ignore, dump=list, load=list)


@pytest.mark.parametrize(
    ("policy", "seen", "words"),
    [
        (eh.similarity.LipschitzUCB(2, select="many", seed=1), [np.full((3, 2), 0.2)], "decisions for one arm each"),
        (eh.groups.GroupFairTopInterval({"a": "m", "b": "w"}, seed=1), [np.eye(2)], "draws at random"),
        (eh.quotas.FairLearn(COIN, SHARES, seed=1), [], "its learner may"),
    ],
)
def test_decisions_for_several_at_once_and_those_with_chances_that_nobody_knows_are_refused(policy, seen, words):
    study = Study.create(":memory:", policy.fresh())
    decision = study.ask(*seen)
    study.tell(decision, [0.5] * len(decision.arm) if isinstance(decision.arm, list | tuple) else 1.0)
    with pytest.raises(ArgumentError, match=words):
        bandit_frame(study)


def test_a_draw_and_an_allocation_are_exported_whole():
    draws = Study.create(":memory:", eh.sampling.UniformSampler(["F", "M"], batch=3, seed=1), name="draws")
    draws.ask()
    assert draws.frame()["decision"][0]["count"] == 6
    search = Study.create(":memory:", example("interventions/csr")[0], name="search")
    planned = search.ask()
    assert search.frame()["decision"][0]["frame"]["$table"]["count"] == planned.frame["count"].tolist()


def test_decisions_without_a_reward_are_counted_where_they_are_left_out(tmp_path):
    path = tmp_path / "ads.evenhand"
    with talked(eh.quotas.FairUCB(SHARES, seed=1), (1.0, None, 0.25, None, None), path) as study:
        study.forget(5)
        assert bandit_frame(study).attrs["left_out"] == {"open": 2, "forgotten": 1}
    out = tmp_path / "log.csv"
    said = call("export", path, "--form", "bandit", "--out", out)
    words = "2 decisions written to", "left out because they have no reward of a single arm: 2 open, 1 forgotten"
    assert all(part in said.output for part in words)
    body = json.loads(call("export", path, "--form", "bandit", "--out", out, "--json").output)
    assert (body["decisions"], body["left_out"]) == (2, {"open": 2, "forgotten": 1})
    assert "left out" not in call("export", path, "--out", out).output


# ---------------------------------------------------------------------- as CSV


FORMULAS = [
    *("=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1", "\n=1", "=", "-", "＝1", "＋1", "－1", "＠a"),
    *("'=1+1", "''", "'", "-1,5", "+1 2"),
]
HARMLESS = ["-1.5", "+3", "1e-7", "-.5", "a=1", "a", "1", "é", 'say "x"', "a,b", "NA", "nan", "null", "x\ny"]


NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?")


def spoken(arms, place=":memory:"):
    """A study with these arms, each asked for, some told."""
    study = Study.create(place, eh.learners.UCB1(arms=arms, seed=1), name="ads")
    for n in range(2 * len(arms)):
        decision = study.run([Ask(key=f"={n}", actor="-x")])[0]
        if n % 5 < 4:
            study.tell(decision, 0.5)
    return study


def cells(text):
    return [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]


def by_shell(study, tmp_path, form):
    answer("export", tmp_path / "ads.evenhand", "--out", tmp_path / "log.csv", "--form", form)
    return (tmp_path / "log.csv").read_bytes().decode()


def by_http(study, tmp_path, form):
    return export_log(study, "csv", form)[0].decode()


@pytest.mark.parametrize("exported", [by_shell, by_http])
def test_no_cell_of_an_export_is_a_formula_and_a_log_is_read_back_as_it_was(exported, tmp_path):
    study = spoken([*FORMULAS, *HARMLESS], tmp_path / "ads.evenhand")
    log, bandit = (exported(study, tmp_path, form) for form in ("log", "bandit"))
    for text in (log, bandit):
        dangerous = [
            cell for cell in cells(text) if cell[:1] in set("=+-@\t\r\n＝＋－＠") and not NUMBER.fullmatch(cell)
        ]
        assert dangerous == []
        assert "'=1+1" in cells(text)
        assert "-1.5" in cells(text), "text that is a number does no harm and stays as it is"
    found, expected = read_csv(io.StringIO(log, newline="")), study.frame()
    assert list(found.columns) == list(expected.columns)
    names = ["ticket", "round", "arm", "index", "reason", "status", "given", "told", "key", "actor"]
    again, whole = (table[names].astype(object).where(table[names].notna(), None) for table in (found, expected))
    assert again.to_dict("list") == whole.to_dict("list")
    assert [one["arm"] for one in found["decision"]] == expected["arm"].tolist()
    assert found["reward"].dropna().tolist() == expected["reward"].dropna().tolist()
    for name in ("decision", "at", "told_at") * (exported is by_http):
        assert found[name].tolist() == expected[name].tolist()


def test_labels_that_are_numbers_and_lists_are_read_back():
    """Arms are text in a CSV; what was decided holds them as they were."""
    study = Study.create(":memory:", eh.similarity.LipschitzUCB(2, seed=1, select="many"), name="loans")
    study.tell(study.ask([[0.5, -0.5], [-0.25, 0.0]]), [1.0, 0.0])
    study.ask([[0.5, -0.5], [-0.25, 0.0]])
    found, expected = read_csv(io.StringIO(by_http(study, None, "log"))), study.frame()
    for name in ("given", "decision", "probabilities"):
        assert found[name].tolist() == expected[name].tolist()
    assert found["told"].tolist()[0] == {"reward": expected["reward"][0]}
    numbers = spoken([3, -1, 20])
    found = read_csv(io.StringIO(by_http(numbers, None, "bandit")))
    assert found["arm"].tolist() == [str(arm) for arm in bandit_frame(numbers)["arm"]]
    assert found["reward"].dtype == "float64"


@pytest.mark.parametrize("policy", ["interventions/one-shot", "similarity/lipschitz-ucb"])
def test_no_text_holds_what_only_python_reads(policy):
    text, body = (export_log(example_study(policy), kind, "log")[0] for kind in ("csv", "json"))
    found = read_csv(io.StringIO(text.decode()))
    assert isinstance(found["decision"][0], dict)
    assert isinstance(found["told"][0], dict)
    assert not any(b"{'" in content or b"None" in content for content in (text, body))


def test_numbers_stay_numbers_and_headers_are_text_too():
    text = io.StringIO()
    write_csv(pd.DataFrame({"=x": [-1.5, 2.0], "n": [-3, 4], "flag": [True, False], "t": ["-7", "-x"]}), text)
    assert text.getvalue() == "'=x,n,flag,t\n-1.5,-3,True,-7\n2.0,4,False,'-x\n"


def test_a_cell_that_no_export_holds_is_named():
    with pytest.raises(TableError, match="column 'told': not as an export of evenhand writes it"):
        read_csv(io.StringIO("ticket,told\n1,{'reward': 1}\n"))
