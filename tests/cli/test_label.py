"""`evenhand label`: a day of labelling through the files of a labelling tool."""

import json
import pathlib
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes

import evenhand as eh
from evenhand.errors import EvenhandError
from evenhand.sampling import annotations_table
from tests.cli import shell
from tests.cli.shell import answer, as_json, call
from tests.naming import named

OPTIONS = ("--id", "patient", "--group", "sex", "--features", "age,bmi,s5", "--labels", "low,high")


ALONE = ("label", "patients.csv", *OPTIONS)
WORKED = (*ALONE, "--annotators", 2)
EACH = "--annotator-of: expected each user once with a name"
refused = partial(shell.refused, EvenhandError)


def labelled(items, label, *words):
    """Write so many items of the pool, and read them back with this label."""
    answer(*ALONE, *words, "--items", items, "--tasks", "labelled.csv")
    pd.read_csv("labelled.csv").assign(label=label).to_csv("labelled.csv", index=False)
    answer(*ALONE, *words, "--read", "labelled.csv")


@pytest.fixture
def patients():
    frame = load_diabetes(as_frame=True, scaled=False).frame
    frame["patient"] = [f"p{number}" for number in range(len(frame))]
    frame["sex"] = frame["sex"].map({1.0: "f", 2.0: "m"})
    frame.to_csv("patients.csv", index=False)
    return frame.set_index("patient")


@pytest.mark.parametrize("more", [[], ["--json"]], ids=named)
def test_a_command_that_would_do_nothing_says_what_it_needs(patients, more):
    said = str(call(*ALONE, *more).exception)
    assert said.startswith("--tasks, --read: expected one of them: a file to write items to, or a file of labels")
    assert "docs/labels.md" in said
    assert "/label" in said
    assert not pathlib.Path("labels.evenhand").exists()


def test_a_label_that_was_read_is_corrected(patients):
    labelled(2, ["low", "high"], "--seed", 1, "--annotator", "ann")
    item = pd.read_csv("labelled.csv")["id"][0]
    pd.DataFrame({"id": [item], "label": ["high"]}).to_csv("other.csv", index=False)
    refused("--correct changes a label", *ALONE, "--read", "other.csv", "--annotator", "ann")
    command, who = [*ALONE, "--correct", f"{item}=high", "--out", "out.csv"], ["--annotator", "ann"]
    refused("an unnamed annotator has not labelled it; it was labelled by ann", *command)
    wrong = {f"{item}=hihg": "--correct: expected one of the labels high,low, got 'hihg'; did you mean 'high'?"}
    wrong |= dict.fromkeys((item, "nobody=high"), "--correct: expected ITEM=LABEL with the id of an item of this table")
    for typed, words in wrong.items():
        refused(words, *command[:-3], typed, *who)
    assert f"Item {item} now has the label high." in answer(*command, *who)
    written = pd.read_csv("out.csv")
    assert set(written["label"]) == {"high"}
    assert set(written["annotators"]) == {"ann"}


def test_all_labels_so_far_are_written_and_counted(patients):
    labelled(2, ["low", "high"], "--seed", 1)
    answer(*ALONE, "--items", 2, "--tasks", "tasks.csv")
    pd.read_csv("tasks.csv").assign(label=["low", None], rejected=[None, "yes"]).to_csv("labels.csv", index=False)
    assert "1 labels read, 1 items rejected" in answer(*ALONE, "--read", "labels.csv")
    progress = as_json(*ALONE, "--out", "out.csv")["progress"]
    assert [sum(row[key] for row in progress) for key in ("labelled", "rejected")] == [3, 1]
    written = pd.read_csv("out.csv")
    assert sorted(written["label"]) == ["high", "low", "low"]
    assert set(written["group"]) <= {"f", "m"}


def test_an_export_of_a_tool_is_read_from_standard_input_in_its_encoding(patients):
    answer(*WORKED, "--seed", 1, "--items", 2, "--tasks", "t.json")
    label_studio("t.json", "Müller", {"id": 8, "email": "bob@example.org"})
    text = pathlib.Path("export.json").read_text().replace("M\\u00fcller", "Müller").encode("latin-1")
    refused("standard input: line 1 is not UTF-8; pass --encoding", *WORKED, "--read", "-", stdin=text)
    read = answer(*WORKED, "--read", "-", "--encoding", "latin-1", stdin=text)
    assert "4 labels read, 0 items rejected" in read
    assert set(annotations_table(eh.load("labels.evenhand"))["annotator"]) == {"Müller", "bob@example.org"}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"--labels": "low"}, "at least two labels"),
        ({"--id": "sex"}, "each id once"),
        ({"--features": "age,ward"}, "ward"),
        ({"--read": "patients.csv"}, "columns id and label"),
        ({"--tasks": "tasks.xml"}, "--tasks: expected a file that ends in .csv"),
    ],
)
def test_what_cannot_be_meant_is_refused(patients, changed, words):
    options = {**dict(zip(OPTIONS[::2], OPTIONS[1::2], strict=True)), **changed}
    if "--read" not in changed:
        options.setdefault("--tasks", "t.csv")
    refused(words, *ALONE[:2], *[word for pair in options.items() for word in pair])


def test_a_state_of_other_items_or_labels_is_refused(patients):
    tasks = "--items", 1, "--tasks", "t.csv"
    answer(*ALONE, *tasks)
    refused("as in labels.evenhand", *ALONE[:-1], "a,b", *tasks)
    pd.read_csv("patients.csv").head(100).to_csv("others.csv", index=False)
    refused("its ids differ from those", "label", "others.csv", *OPTIONS, *tasks)


OTHER = [
    (["--features", "age,bmi,s6"], "--features age,bmi,s6: its values differ from those with which"),
    (["--group", "site"], "--group site: its groups differ from those with which"),
    (["--show", "age"], "--show age: its values differ from those with which"),
    (["--annotators", "1"], "--annotators: expected 2 as in labels.evenhand, got 1; repeat what"),
    (["--seed", "2"], "--seed: expected 1 as in labels.evenhand, got 2; repeat what the state was begun with"),
]


@pytest.fixture
def begun(patients):
    pd.read_csv("patients.csv").assign(site=["x", "y"] * 221).to_csv("patients.csv", index=False)
    labelled(1, "low", "--seed", 1, "--annotators", 2, "--choice", "uniform", "--annotator", "ann")
    return pathlib.Path("labels.evenhand").read_bytes()


def test_a_queue_is_not_resumed_with_other_settings(begun):
    for other, words in OTHER:
        refused(words, *ALONE, *other, "--items", 1, "--tasks", "t.csv")
        assert pathlib.Path("labels.evenhand").read_bytes() == begun


@pytest.mark.parametrize("more", [[], ["--annotators", "2", "--choice", "uniform", "--seed", "1"]])
def test_a_queue_is_resumed_with_its_own_settings(begun, more):
    labelled(1, "low", *more, "--annotator", "bob")
    queue = eh.load("labels.evenhand")
    assert (queue.annotators, queue.choice, queue.seed, len(annotations_table(queue))) == (2, "uniform", 1, 2)


def label_studio(tasks, *users):
    """The export of a file of tasks that these users have labelled low."""
    choice = {"type": "choices", "value": {"choices": ["low"]}}
    given = [{"completed_by": user, "result": [choice]} for user in users]
    pathlib.Path("export.json").write_text(
        json.dumps([{**task, "annotations": given} for task in json.loads(pathlib.Path(tasks).read_text())])
    )


def test_the_control_that_holds_the_label_is_named(patients):
    command = [*ALONE, "--annotator", "ann"]
    answer(*command, "--items", 2, "--tasks", "tasks.json", "--seed", 1)
    done = json.loads(pathlib.Path("tasks.json").read_text())
    for task in done:
        result = [{"from_name": name, "value": {"choices": [one]}} for name, one in (("tone", "low"), ("sure", "high"))]
        task["annotations"] = [{"result": result}]
    pathlib.Path("done.json").write_text(json.dumps(done))
    read = answer(*command, "--read", "done.json", "--control", "tone", "--out", "out.csv")
    assert "2 labels read, 0 items rejected, 0 rows without a label, 2 answers of other controls passed over" in read
    assert set(pd.read_csv("out.csv")["label"]) == {"low"}


def test_what_is_left_of_a_pool_is_written(patients):
    pd.read_csv("patients.csv").head(30).to_csv("patients.csv", index=False)
    answer(*WORKED, "--seed", 1, "--items", 100, "--tasks", "t.csv")
    written = pd.read_csv("t.csv")["id"]
    assert written.is_unique
    assert 20 < len(written) <= 30
    answer(*WORKED, "--items", 100, "--tasks", "t.csv")
    assert sorted(pd.read_csv("t.csv")["id"]) == sorted(written)


def test_two_people_who_label_every_item_are_known_by_the_names_of_their_tool(patients):
    for who in ("ann", "bob"):
        answer(*WORKED, "--seed", 1, "--items", 3, "--annotator", who, "--tasks", f"{who}.json")
    assert pathlib.Path("ann.json").read_text() == pathlib.Path("bob.json").read_text()
    label_studio("ann.json", 7, 8)
    assert "6 labels read" in answer(*WORKED, "--read", "export.json", "--annotator-of", "7=ann, 8=bob")
    assert set(annotations_table(eh.load("labels.evenhand"))["annotator"]) == {"ann", "bob"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--annotator-of", "7="], f"{EACH}, such as 7=ann,8=bob, got '7='"),
        (["--annotator-of", "7=ann,7=bob"], EACH),
        (["--annotator", "ann,bob"], "--annotator: expected one name for the labels of a file, or --annotator-of"),
        (["--annotator", "ann", "--annotator-of", "7=bob"], "--annotator: expected one name for the labels of a file"),
        (["--annotator-of", "9=ann"], "--annotator-of: expected users of the file, 7"),
    ],
)
def test_names_that_cannot_be_meant_are_refused(patients, options, words):
    answer(*WORKED, "--seed", 1, "--items", 3, "--tasks", "t.json")
    label_studio("t.json", 7, 8)
    before = pathlib.Path("labels.evenhand").read_bytes()
    refused(words, *WORKED, "--read", "export.json", *options)
    assert pathlib.Path("labels.evenhand").read_bytes() == before


def test_new_items_are_sent_each_time_and_those_sent_before_on_request(patients):
    first = answer(*ALONE, "--seed", 1, "--items", 3, "--annotator", "ann", "--tasks", "one.csv")
    assert "sent before" not in first
    more = as_json(*ALONE, "--items", 2, "--annotator", "ann", "--tasks", "two.csv")
    assert (more["tasks"], more["sent_before"]) == (2, 3)
    sent = [pd.read_csv(name)["id"].tolist() for name in ("one.csv", "two.csv")]
    assert not set(sent[0]) & set(sent[1])
    pd.read_csv("one.csv").head(1).assign(label="low").to_csv("back.csv", index=False)
    assert "1 labels read" in answer(*ALONE, "--read", "back.csv")
    again = answer(*ALONE, "--annotator", "ann", "--tasks", "again.csv", "--again")
    assert "4 items for ann are in again.csv" in again
    assert pd.read_csv("again.csv")["id"].tolist() == [*sent[0], *sent[1]][1:]
    nobody = answer(*ALONE, "--annotator", "bob", "--tasks", "bob.csv", "--again")
    assert "No item for bob waits for a label" in nobody
    assert "2 that were sent" not in nobody
    third = answer(*ALONE, "--items", 2, "--annotator", "ann", "--tasks", "three.csv")
    assert "2 items for ann are in three.csv" in third
    assert "; 4 that were sent before are not labelled yet: --again writes them" in third


def test_a_sheet_without_names_is_refused_where_items_went_to_people_with_names(patients):
    answer(*ALONE, "--seed", 1, "--items", 2, "--annotator", "ann", "--tasks", "t.csv")
    pd.read_csv("t.csv").assign(label="low").drop(columns="annotator").to_csv("back.csv", index=False)
    said = str(call(*ALONE, "--read", "back.csv").exception)
    one, two = pd.read_csv("t.csv")["id"]
    assert said.startswith(f"back.csv, row 1, item '{one}', row 2, item '{two}': annotator: expected ann, got ")
    assert "annotator: expected ann, got nobody; add a column annotator, or pass --annotator NAME" in said
    assert annotations_table(eh.load("labels.evenhand")).empty
    assert "2 labels read" in answer(*ALONE, "--read", "back.csv", "--annotator", "ann")
    assert set(annotations_table(eh.load("labels.evenhand"))["annotator"]) == {"ann"}


def test_the_group_is_shown_on_request_alone_and_names_of_columns_do_not_clash(patients):
    pd.read_csv("patients.csv").assign(label=range(len(patients))).to_csv("patients.csv", index=False)
    shown = ["--show", "sex,label,age"]
    answer(*ALONE, *shown, "--seed", 1, "--items", 2, "--tasks", "t.csv")
    tasks = pd.read_csv("t.csv")
    assert list(tasks) == ["id", "sex", "item label", "age", "label", "allowed"]
    assert tasks["sex"].tolist() == patients.loc[tasks["id"], "sex"].tolist()
    answer(*ALONE, "--state", "other", "--seed", 1, "--items", 2, "--tasks", "t.json")
    assert json.loads(pathlib.Path("t.json").read_text())[0]["data"].keys() == {"evenhand_id", "id", "text"}


def test_the_model_predicts_the_rows_of_another_table(patients):
    labels = pd.Series(np.where(patients["target"] > 140, "high", "low"), patients.index)
    labelled(40, lambda tasks: tasks["id"].map(labels), "--seed", 1)
    patients.reset_index().drop(columns="target").head(50).to_csv("later.csv", index=False)
    said = answer(*ALONE, "--predict", "later.csv", "--out", "predicted.csv")
    assert "50 rows are in predicted.csv, with what the model says in the column predicted." in said
    queue = eh.load("labels.evenhand")
    expected = queue.sampler.finish().model.predict(queue.features[:50])
    assert pd.read_csv("predicted.csv")["predicted"].tolist() == expected.tolist()


def test_people_see_cells_as_they_are_written(patients):
    frame = pd.read_csv("patients.csv", dtype=str).assign(age=lambda f: f["age"] + "0")
    frame.loc[0, "s5"] = None
    frame.to_csv("patients.csv", index=False)
    answer(*ALONE, "--seed", 1, "--items", 442, "--tasks", "t.csv", "--empty", "fill")
    shown = pd.read_csv("t.csv", dtype=str).set_index("id")[["age", "bmi", "s5"]]
    expected = frame.set_index("patient").loc[shown.index, ["age", "bmi", "s5"]].fillna("empty")
    assert (shown == expected).all(axis=None)
    assert "59.00" in set(shown["age"])
    assert "empty" in set(shown["s5"])


def test_groups_may_be_several_columns(patients):
    frame = pd.read_csv("patients.csv").assign(site=["x", "y"] * 221)
    frame.to_csv("patients.csv", index=False)
    options = ["label", "patients.csv", "--id", "patient", "--features", "age,bmi", "--labels", "low,high", "--seed", 1]
    answer(*options, "--group", "sex,site", "--items", 8, "--tasks", "t.csv")
    assert set(eh.load("labels.evenhand").groups) == {"f & x", "f & y", "m & x", "m & y"}
    other = [*options, "--tasks", "t.csv", "--state", "other", "--group"]
    refused("--group sex: its groups differ from those with which", *other[:-3], "--group", "sex")
    refused("--group: expected groups with rows to train and to validate, got ", *other, "sex,age,bmi")
    refused("it is already in group", *other, "sex,sex")


def test_labels_may_be_a_list_as_json(patients):
    options = [*ALONE[:-1]]
    more = ["--choice", "uniform", "--seed", 1]
    answer(*options, '["01", "a,b"]', *more, "--items", 2, "--tasks", "t.csv")
    pd.read_csv("t.csv").assign(label=["01", "a,b"]).to_csv("t.csv", index=False)
    assert as_json(*options, '["01", "a,b"]', *more, "--read", "t.csv", "--out", "l.csv")["told"] == 2
    assert sorted(pd.read_csv("l.csv", dtype=str)["label"]) == ["01", "a,b"]
    words = "--labels: expected labels of one type, all text or all whole numbers, got 01,1"
    refused(words, *options, '["01", 1]', "--state", "other", "--tasks", "t.csv")
