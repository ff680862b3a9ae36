"""Items leave a queue, and labels come back, in the files of labelling tools."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

from evenhand import errors
from evenhand.sampling import LabelQueue, OptimisticSampler, annotations_table
from tests.sampling.test_label_queue import made

pytestmark = pytest.mark.compiled


@pytest.mark.parametrize("labels", [["cat", "dog", "cow"], ["cat", "dog", 3], ["cat", 1]], ids=str)
def test_labels_that_do_not_fit_together_are_refused_and_nothing_is_told(labels):
    queue = made()
    rows = pd.DataFrame({"id": queue.ask(len(labels)), "label": labels})
    with pytest.raises(errors.ArgumentError, match=r"labels (among|of one type)"):
        queue.read_labels(rows)
    assert annotations_table(queue).empty


@pytest.mark.parametrize("convert", [pd.DataFrame, pl.DataFrame, pa.table])
def test_labels_come_as_a_data_frame(convert):
    queue = made()
    one, two, three = queue.ask(3)
    frame = convert({"id": [one, two, three], "label": [1, 0, None], "rejected": [False, False, True]})
    assert queue.read_labels(frame) == {"told": 2, "rejected": 1, "left": 0}
    with pytest.raises(errors.TableError, match="labels: expected the columns id and label"):
        queue.read_labels(convert({"id": [one]}))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("labels.txt", "", "the file is empty"),
        ("labels.csv", "name,label\na,1\n", "columns id and label"),
        ("labels.csv", "id,label\nnobody,1\n", "row 1, item 'nobody': expected the id of an item"),
        ("labels.csv", "id,label\nitem 0,1\n", "nobody was asked to label it"),
        ("labels.csv", "id,label\nOPEN,cat\n", "labels of one type"),
        ("labels.csv", "id,label\nOPEN,1\nOPEN,0\n", "each item once"),
        ("labels.jsonl", "{", "cannot be read as JSON: .* line 1"),
        ("labels.jsonl", "[1]", "row 1: expected an object"),
        ("labels.jsonl", "{}", "line 1: expected an id"),
        ("labels.jsonl", '{"id": "OPEN", "label": 1, "answer": "reject"}', "expected a label, or rejected"),
        ("labels.json", '{"tasks": [{}]}', "line 1: expected an id"),
        ("labels.json", '[{"data": {}}]', "data with an id"),
        ("labels.csv", "id,label\nOPEN,1,0\n", "more cells than the header"),
        ("missing.csv", None, "no such file"),
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
    assert len(annotations_table(queue)) == 1


def test_a_file_for_no_tool_is_refused(tmp_path):
    with pytest.raises(errors.ArgumentError, match=r"ends in \.csv"):
        made().write_tasks(tmp_path / "tasks.xml")
    with pytest.raises(errors.UnknownTicketError, match="id: expected the id of an item of this queue, got True"):
        made().write_tasks(tmp_path / "tasks.csv", items=True)


@pytest.mark.parametrize("path", [None, 7, [{"id": "a", "label": 1}]], ids=repr)
def test_what_is_no_file_is_refused(path):
    with pytest.raises(errors.ArgumentError, match="path: expected the path of a file, or a data frame, got"):
        made().read_labels(path)


@pytest.mark.parametrize("name", ["labels.csv", "labels.json"])
def test_the_encoding_of_a_file_may_be_said(name, tmp_path):
    queue = made()
    (one,) = queue.ask(1)
    record = {"id": one, "label": 1, "annotator": "José"}
    text = json.dumps([record], ensure_ascii=False) if name.endswith("json") else f"id,label,annotator\n{one},1,José\n"
    (tmp_path / name).write_text(text, encoding="cp850")
    with pytest.raises(errors.TableError, match=r"is not UTF-8; .*; nothing was recorded"):
        queue.read_labels(tmp_path / name)
    with pytest.raises(errors.ArgumentError, match="encoding: expected the name of an encoding, got 'cp85O'"):
        queue.read_labels(tmp_path / name, encoding="cp85O")
    assert queue.read_labels(tmp_path / name, encoding="cp850")["told"] == 1
    assert annotations_table(queue)["annotator"].tolist() == ["José"]


class Failing(LogisticRegression):
    """A model whose third fit fails."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Failing.fits += 1
        if Failing.fits == 3:
            raise RuntimeError("out of memory")
        return super().fit(X, y, sample_weight)


def test_where_a_model_fails_the_labels_before_are_recorded_and_the_file_is_read_again():
    Failing.fits = 0
    features = np.random.default_rng(0).normal(size=(40, 2))
    sampler = OptimisticSampler(["a", "b"], model=Failing(), seed=1)
    queue = LabelQueue(range(40), features, groups=["a", "b"] * 20, sampler=sampler, seed=1)
    items = queue.ask(20)
    labels = pd.DataFrame({"id": items, "label": ["yes" if features[item, 0] > 0 else "no" for item in items]})
    with pytest.raises(
        errors.ModelError, match=r"memory; the (\d+) labels before labels, row \d+ are recorded"
    ) as failed:
        queue.read_labels(labels)
    before = int(re.search(r"the (\d+) labels", str(failed.value))[1])
    assert len(queue.open_tickets) == 20 - before
    assert queue.read_labels(labels) == {"told": 20 - before, "rejected": 0, "left": 0, "repeated": before}
