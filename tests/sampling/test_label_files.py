"""Items leave a queue, and labels come back, in the files of labelling tools."""

import csv
import json

import pytest

from evenhand import errors
from tests.sampling.test_label_queue import TRUE, made


def as_csv(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("id", "label", "annotator"), *rows])


def as_lines(path, rows):
    path.write_text("\n".join(json.dumps({"id": one, "label": label, "answer": "accept"}) for one, label, _ in rows))


def as_label_studio(path, rows):
    tasks = [
        {"data": {"id": one}, "annotations": [{"result": [{"value": {"choices": [str(label)]}}], "completed_by": None}]}
        for one, label, _ in rows
    ]
    path.write_text(json.dumps(tasks))


@pytest.mark.parametrize(("suffix", "write"), [(".csv", as_csv), (".jsonl", as_lines), (".json", as_label_studio)])
def test_labels_go_there_and_back(suffix, write, tmp_path):
    queue = made()
    asked = queue.ask(8)
    assert queue.write_tasks(tmp_path / f"tasks{suffix}") == 8
    text = (tmp_path / f"tasks{suffix}").read_text()
    assert all(one in text for one in asked)
    write(tmp_path / f"labels{suffix}", [(one, TRUE[one], "") for one in asked[:6]])
    assert queue.read_labels(tmp_path / f"labels{suffix}") == {"told": 6, "rejected": 0, "left": 0}
    assert len(queue.training) + len(queue.validation) == 6
    assert queue.write_tasks(tmp_path / f"rest{suffix}") == 2


def test_rejected_and_empty_labels(tmp_path):
    queue = made()
    one, two, three = queue.ask(3)
    path = tmp_path / "labels.csv"
    path.write_text(f"id,label,rejected\n{one},,true\n{two},,\n{three},1,\n")
    assert queue.read_labels(path) == {"told": 1, "rejected": 1, "left": 1}
    assert queue.progress.sum()["rejected"] == 1
    lines = tmp_path / "labels.jsonl"
    lines.write_text(json.dumps({"id": two, "answer": "ignore"}) + "\n" + json.dumps({"id": two, "answer": "reject"}))
    assert queue.read_labels(lines) == {"told": 0, "rejected": 1, "left": 1}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("labels.txt", "", r"ends in \.csv"),
        ("labels.csv", "name,label\n", "columns id and label"),
        ("labels.csv", "id,label\nnobody,1\n", "label 1: wanted the id of an item"),
        ("labels.csv", "id,label\nitem 0,1\n", "not asked for"),
        ("labels.csv", "id,label\nOPEN,cat\n", "labels of one type"),
        ("labels.csv", "id,label\nOPEN,1\nOPEN,0\n", "each item once"),
        ("labels.jsonl", "{", "line 1: no JSON"),
        ("labels.jsonl", "[]", "line 1: wanted a JSON object"),
        ("labels.jsonl", "{}", "line 1: wanted an id"),
        ("labels.jsonl", '{"id": "OPEN", "answer": "maybe"}', "accept, reject or ignore"),
        ("labels.json", "{}", "a list of tasks"),
        ("labels.json", '[{"data": {}}]', "data with an id"),
        ("missing.csv", None, "cannot be read"),
    ],
)
def test_files_that_cannot_be_meant_are_refused_and_nothing_is_told(name, text, words, tmp_path):
    queue = made()
    queue.tell(queue.ask(1)[0], 0)
    (one,) = queue.ask(1)
    if text is not None:
        (tmp_path / name).write_text(text.replace("OPEN", one))
    with pytest.raises(errors.EvenhandError, match=words):
        queue.read_labels(tmp_path / name)
    assert len(queue.annotations) == 1


def test_a_file_for_no_tool_is_refused(tmp_path):
    with pytest.raises(errors.ArgumentError, match=r"ends in \.csv"):
        made().write_tasks(tmp_path / "tasks.xml")
