"""What evenhand writes it can read: awkward texts come back as they were, through every kind of file."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.cli.inputs.tables import read_texts
from evenhand.data.csv_files import EVERY, write_csv
from evenhand.data.files import read_table
from evenhand.interventions import CausalModel, Problem
from evenhand.protocol import composed
from evenhand.sampling import LabelQueue, OptimisticSampler
from evenhand.service.routes.views import export_log
from evenhand.studies.export import bandit_frame
from evenhand.studies.files import read_csv
from tests.fuzzing import many
from tests.quotas.test_file_audit import same

AWKWARD = (
    *("NA", "nan", "null", "007", "-1.5", "1e5", "1,5", "True", "=1+1", "+x", "-x", "@x", "'", "''", "'=1", "'tis"),
    *("a,b", "a;b", "a\tb", 'say "x"', '"', "a\nb", "a\r\nb", "a\rb", "\r", "\n", "\t", " ", " x ", "# x", "sep=;"),
    *("\u2028", "a\u2029b", "\x85", "\x0b", "\x0c", "\x1e", "\ufeff", "😀", "é", "＝1"),
    *("{", '{"a": 1}', "[{", "\\", "\\N"),
)
SIGNS = st.sampled_from(",;|\t\"'\r\n\u2028\x85\x0b=+-@# 01.Aé😀") | st.characters(codec="utf-8", min_codepoint=1)
TEXTS = st.sampled_from(AWKWARD) | st.text(SIGNS, max_size=6)
LABELS = TEXTS.filter(str.strip)
KEYS = LABELS.filter(str.isprintable)
NAMES = TEXTS.map(lambda name: name.strip().lstrip("\ufeff").strip()).filter(bool)
"""Blanks around a name are none of its own, and neither is a mark of byte order."""
CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much]
common = settings(max_examples=many(30), deadline=None, suppress_health_check=CHECKS)


@common
@given(data=st.data())
def test_a_table_that_is_written_is_read_as_it_was(tmp_path, data):
    names = data.draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    rows = data.draw(st.lists(st.tuples(st.integers(0, 9), *[TEXTS] * len(names)), min_size=1, max_size=4))
    frame = pd.DataFrame(rows, columns=["id", *names] if "id" not in names else ["number", *names])
    alone = pd.DataFrame({"text": [*frame[names[0]], "end"]})
    for ending, table in ((".csv", frame), (".csv.gz", frame), (".csv", alone)):
        write_csv(table, tmp_path / f"t{ending}")
        found = read_texts(tmp_path / f"t{ending}")
        assert found.to_dict("split") == table.astype(str).to_dict("split")


@common
@given(names=st.lists(NAMES, min_size=1, max_size=3, unique=True), texts=st.lists(NAMES, min_size=1, max_size=4))
def test_a_name_in_the_header_is_never_taken_for_something_else(tmp_path, names, texts):
    """Comments, the line of a spreadsheet, blanks behind commas, another separator: what stands in a header is none."""
    frame = pd.DataFrame({name: texts for name in names if not name.lower().startswith("sep=")} or {"x": texts})
    write_csv(frame, tmp_path / "t.csv")
    assert read_texts(tmp_path / "t.csv").to_dict("list") == frame.to_dict("list")


def study_of(arms, keys):
    """A study whose arms and request keys are such texts."""
    study = eh.Study.create(":memory:", eh.learners.UCB1(arms=arms, seed=1), name="ads")
    for key in keys:
        study.tell(study.ask(key=key), 0.5)
    return study


@settings(parent=common, max_examples=many(3))
@given(arms=st.lists(LABELS, min_size=2, max_size=4, unique_by=composed), keys=st.lists(KEYS, min_size=1, max_size=4))
def test_an_export_is_read_and_audited_in_every_format(tmp_path, arms, keys):
    with study_of(arms, keys) as study:
        frame = study.frame()
        expected = eh.audit.promise(frame, arm="arm", shares=0.1)
        bandit = bandit_frame(study)
        for form, format in product(("log", "bandit"), ("csv", "parquet", "json")):
            path = tmp_path / f"log.{format}"
            path.write_bytes(export_log(study, format, form)[0])
            read = read_table(path, text=["arm", "key"])
            assert read["arm"].tolist() == frame["arm"].tolist()
            same(eh.audit.promise(read, arm="arm", shares=0.1), expected)
            if format in ("csv", "parquet"):
                same(eh.audit.promise(str(path), arm="arm", shares=0.1), expected)
            if format == "csv":
                again = read_csv(path)
                assert again["arm"].tolist() == frame["arm"].tolist()
                assert list(again.columns) == list(frame.columns if form == "log" else bandit.columns)
            if form == "log":
                assert read["key"].tolist() == frame["key"].tolist()


@settings(parent=common, max_examples=many(8))
@given(ids=st.lists(LABELS, min_size=4, max_size=6, unique_by=composed), texts=st.data())
@pytest.mark.parametrize("ending", ["csv", "jsonl", "json"])
def test_tasks_come_back_with_their_labels(tmp_path, ending, ids, texts):
    content = texts.draw(st.lists(TEXTS, min_size=len(ids), max_size=len(ids)))
    sampler = OptimisticSampler(["u", "v"], classes=["neg", "pos"], seed=1)
    features = np.random.default_rng(0).random((len(ids), 2))
    groups = [("u", "v")[place % 2] for place in range(len(ids))]
    queue = LabelQueue(ids, features, groups=groups, sampler=sampler, seed=1, content=content)
    open_items = queue.ask(2)
    path = tmp_path / f"tasks.{ending}"
    queue.write_tasks(path)
    shown = dict(zip(queue.ids, content, strict=True))
    if ending == "csv":
        tasks = read_table(path, text=EVERY)
        assert tasks["text"].fillna("").tolist() == [shown[one] for one in open_items]
        write_csv(tasks.assign(label="pos"), path)
    else:
        raw = path.read_text(encoding="utf-8")
        tasks = json.loads(raw) if ending == "json" else [json.loads(line) for line in raw.split("\n") if line]
        plain = [task["data"] if ending == "json" else task for task in tasks]
        assert [task["text"] for task in plain] == [shown[one] for one in open_items]
        found = [{"id": task["id"], "label": "pos"} for task in plain]
        end = json.dumps(found, ensure_ascii=False)
        if ending == "jsonl":
            end = "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in found)
        path.write_text(end, encoding="utf-8")
    assert queue.read_labels(path) == {"told": 2, "rejected": 0, "left": 0}


STATES = {"sex": ("=f", "'m"), "dose": ("-", "+", "1,5"), "cured": ("\u2028", "007")}


def test_a_plan_with_awkward_states_is_read_as_it_was(tmp_path):
    tables = {"sex": [0.5, 0.5], "dose": [[0.2, 0.3, 0.5]] * 2, "cured": [[[0.5, 0.5]] * 3] * 2}
    model = CausalModel.from_tables(STATES, {"sex": (), "dose": ("sex",), "cured": ("sex", "dose")}, tables)
    problem = Problem(
        model,
        intervene="dose",
        sensitive="sex",
        outcome="cured",
        candidates={"=now": "-", "@all": "+"},
        values={"\u2028": 0, "007": 1},
    )
    plan = eh.interventions.OneShot(problem, tolerance=0.5, budget=40).ask().frame
    write_csv(plan, tmp_path / "plan.csv")
    assert read_texts(tmp_path / "plan.csv").to_dict("list") == plan.fillna("").astype(str).to_dict("list")


def test_the_log_of_the_demonstration_is_read_as_it_was(tmp_path):
    from evenhand.experiments.quotas.contract import made_log

    log = made_log(40)
    write_csv(log, tmp_path / "log.csv")
    read = read_table(tmp_path / "log.csv")
    pd.testing.assert_frame_equal(read.assign(at=pd.to_datetime(read["at"])), log, check_dtype=False)
