"""A study's table as CSV: no cell is a formula, and what was written can be read again."""

from __future__ import annotations

import csv
import io
import re

import pandas as pd
import pytest

import evenhand as eh
from evenhand.checks import examples
from evenhand.data.csv_files import write_csv
from evenhand.errors import TableError
from evenhand.service.routes.views import export_log
from evenhand.studies import Ask, Study
from evenhand.studies.export import bandit_frame
from evenhand.studies.files import read_csv
from tests.cli.shell import answer

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
@pytest.mark.parametrize("form", ["log", "bandit"])
def test_no_cell_of_an_export_is_a_formula(exported, form, tmp_path):
    study = spoken([*FORMULAS, *HARMLESS], tmp_path / "ads.evenhand")
    text = exported(study, tmp_path, form)
    dangerous = [cell for cell in cells(text) if cell[:1] in set("=+-@\t\r\n＝＋－＠") and not NUMBER.fullmatch(cell)]
    assert dangerous == []
    assert "'=1+1" in cells(text)
    assert "-1.5" in cells(text), "text that is a number does no harm and stays as it is"


@pytest.mark.parametrize("exported", [by_shell, by_http])
def test_a_log_is_read_back_as_it_was(exported, tmp_path):
    study = spoken([*FORMULAS, *HARMLESS], tmp_path / "ads.evenhand")
    expected = study.frame()
    found = read_csv(io.StringIO(exported(study, tmp_path, "log"), newline=""))
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
    made, world = next(iter(examples(eh.registry.get(policy).cls)))
    study = Study.create(":memory:", made, name="any")
    world.reset(seed=1)
    study.tell(ticket := study.ask(*world.observe()), *world.respond(ticket))
    text, body = (export_log(study, kind, "log")[0] for kind in ("csv", "json"))
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
