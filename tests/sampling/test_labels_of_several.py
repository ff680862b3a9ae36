"""Files of labelling tools in which several people label: who they are, what is told, and what is refused by name."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

from evenhand import errors
from evenhand.sampling import LabelQueue

IDS = [f"p{number}" for number in range(20)]
TEXTS = [f"patient {number}" for number in range(20)]
ANN = {"id": 7, "email": "ann@example.org", "first_name": "Ann", "last_name": "Lee"}
BOB = {"id": 8, "email": "bob@example.org", "first_name": "", "last_name": ""}


def made(annotators=2, **given):
    features = np.random.default_rng(0).normal(size=(20, 2))
    groups = ["f", "m"] * 10
    return LabelQueue(IDS, features, groups=groups, annotators=annotators, content=TEXTS, choice="uniform", seed=1)


def annotation(label, user, **more):
    """An annotation as Label Studio exports it, with a relation and a comment beside its choice."""
    result = [
        {"type": "relation", "from_id": "a", "to_id": "b", "direction": "right"},
        {"type": "textarea", "from_name": "why", "to_name": "text", "value": {"text": ["as it is"]}},
        {"type": "choices", "from_name": "label", "to_name": "text", "value": {"choices": [label]}},
    ]
    return {"id": 5, "completed_by": user, "was_cancelled": False, "result": result, "lead_time": 1.5, **more}


def exported(path, tasks, said, field="annotations"):
    """An export of the tasks in a file, in which each of `said` is annotated by all of its labels."""
    done = [
        {"id": number, **task, field: [annotation(*one) for one in said.get(task["data"]["id"], [])], "predictions": []}
        for number, task in enumerate(json.loads(tasks.read_text()), 1)
    ]
    path.write_text(json.dumps(done))
    return path


def told(queue):
    return sorted(queue.annotations[["id", "annotator", "label"]].astype(str).values.tolist())


@pytest.fixture
def tasks(tmp_path):
    """A queue whose items two people label, and the file of four items that were handed out at once."""
    queue = made()
    asked = queue.ask(4)
    assert queue.write_tasks(tmp_path / "next.json") == 4
    return queue, asked, tmp_path / "next.json"


def test_every_item_that_is_handed_out_to_nobody_is_asked_of_all(tasks):
    queue, asked, _ = tasks
    assert len(set(asked)) == len(asked) == 4
    for who in ("ann", "bob"):
        for one in asked:
            queue.tell(one, "low", annotator=who)
    assert queue.progress.sum()["labelled"] == 4
    with pytest.raises(errors.ClosedTicketError, match="labelled already, by ann and bob"):
        queue.tell(asked[0], "low", annotator="cid")


def test_of_what_is_left_of_the_pool_every_item_is_asked_of_all():
    queue = made(3)
    asked = queue.ask(50)
    assert len(set(asked)) == len(asked)
    assert all(len(queue._holders(IDS.index(one))) == 3 for one in asked)
    named = made(3).ask(2, annotator="ann")
    assert len(set(named)) == 2


@pytest.mark.parametrize("field", ["annotations", "completions"])
@pytest.mark.parametrize(
    ("users", "names"),
    [((ANN, BOB), ("ann@example.org", "bob@example.org")), ((1, 2), ("1", "2")), (("ann", "bob"), ("ann", "bob"))],
    ids=["objects", "numbers", "names"],
)
def test_two_people_label_the_same_tasks(tasks, tmp_path, field, users, names):
    queue, asked, file = tasks
    said = {one: [("low", users[0]), ("low" if i else "high", users[1])] for i, one in enumerate(asked)}
    export = exported(tmp_path / "export.json", file, said, field)
    assert queue.read_labels(export) == {"told": 8, "rejected": 0, "left": 0}
    assert queue.progress.sum()["labelled"] == 3
    assert queue.agreement.loc[names[0], names[1]] == 0.75
    assert queue.ask(1, annotator=names[0]) != queue.ask(1, annotator="cid") == asked[:1]


def test_an_export_of_everything_so_far_is_read_again_and_again(tasks, tmp_path):
    queue, asked, file = tasks
    said = {one: [("low", ANN)] for one in asked}
    assert queue.read_labels(exported(tmp_path / "one.json", file, said))["told"] == 4
    assert queue.progress.sum()["labelled"] == 0, "one person is not two"
    assert queue.read_labels(tmp_path / "one.json") == {"told": 0, "rejected": 0, "left": 0, "repeated": 4}
    said = {one: [("low", ANN), ("low", BOB)] for one in asked}
    assert queue.read_labels(exported(tmp_path / "two.json", file, said))["told"] == 4
    assert queue.read_labels(tmp_path / "two.json")["repeated"] == 8
    assert len(told(queue)) == 8


def test_a_third_label_breaks_a_tie_and_is_refused_where_there_is_none(tasks, tmp_path):
    queue, (one, other, *_), file = tasks
    said = {one: [("low", 1), ("high", 2), ("low", 3)]}
    assert queue.read_labels(exported(tmp_path / "tie.json", file, said))["told"] == 3
    assert queue.progress.sum()["labelled"] == 1
    said = {other: [("low", 1), ("low", 2), ("high", 3)]}
    with pytest.raises(errors.ClosedTicketError) as refused:
        queue.read_labels(exported(tmp_path / "three.json", file, said))
    assert f"three.json, row 2, item {other!r}: it is labelled already, by 1 and 2" in str(refused.value)
    assert str(refused.value).endswith("nothing was told: mend them, or leave them out of the file")
    assert len(told(queue)) == 3


@pytest.mark.parametrize(
    ("asked_as", "user", "given"),
    [
        ("ann@example.org", ANN, None),
        ("7", ANN, None),
        ("Ann Lee", ANN, None),
        ("ann", ANN, {7: "ann"}),
        ("ann", ANN, {"ann@example.org": "ann"}),
        ("ann", 7, {7: "ann", "8": "bob"}),
        ("7", 7.0, None),
        ("ann", None, "ann"),
    ],
)
def test_a_tools_users_are_the_annotators_that_were_asked(tmp_path, asked_as, user, given):
    queue = made()
    (one,) = queue.ask(1, annotator=asked_as)
    queue.ask(1, annotator="bob")
    queue.write_tasks(tmp_path / "next.json", annotator=asked_as)
    export = exported(tmp_path / "export.json", tmp_path / "next.json", {one: [("low", user)]})
    assert queue.read_labels(export, annotator=given)["told"] == 1
    assert told(queue) == [[one, asked_as, "low"]]


def test_the_account_of_an_older_export_is_the_annotator(tasks, tmp_path):
    queue, (one, *_), file = tasks
    export = exported(tmp_path / "export.json", file, {one: [("low", None)]}, "completions")
    text = export.read_text().replace('"completed_by": null', '"created_username": " ann@example.org, 7"')
    export.write_text(text)
    queue.read_labels(export)
    assert told(queue) == [[one, "ann@example.org", "low"]]


def test_tasks_of_one_annotator_are_written_alone(tmp_path):
    queue = made()
    mine, theirs = queue.ask(3, annotator="ann"), queue.ask(5, annotator="bob")
    assert queue.write_tasks(tmp_path / "ann.csv", annotator="ann") == 3
    assert set(pd.read_csv(tmp_path / "ann.csv")["id"]) == set(mine) < set(theirs)


def test_a_skipped_annotation_rejects_its_item(tasks, tmp_path):
    queue, (one, other, *_), file = tasks
    export = exported(tmp_path / "export.json", file, {one: [("low", 1), ("high", 2)], other: [("low", 1)]})
    done = json.loads(export.read_text())
    done[0]["annotations"][1] |= {"was_cancelled": True, "result": []}
    done[1]["annotations"].append({"skipped": True, "completed_by": 2, "result": []})
    export.write_text(json.dumps(done))
    assert queue.read_labels(export) == {"told": 2, "rejected": 2, "left": 0}
    assert queue.progress.sum()["rejected"] == 2
    assert told(queue) == []
    assert queue.read_labels(export) == {"told": 0, "rejected": 0, "left": 0, "repeated": 4}


def test_every_label_that_is_wrong_is_named_with_its_place_and_none_is_told(tasks, tmp_path):
    queue, (one, two, three, four), file = tasks
    queue.tell(four, "low", annotator="1")
    said = {one: [("low", 1), ("low", 2)], two: [("low", 1), ("high", 1)], three: [("low", 1)], four: [("high", 1)]}
    export = exported(tmp_path / "export.json", file, said)
    done = json.loads(export.read_text())
    done[2]["data"] = {"id": "nobody"}
    done.append({"data": {"id": IDS[-1]}, "annotations": [annotation("low", 1)]})
    export.write_text(json.dumps(done))
    with pytest.raises(errors.TicketError) as refused:
        queue.read_labels(export)
    for words in (
        f"export.json, row 2, item {two!r}: 1 labelled it 'low' before, not 'high'",
        "export.json, row 3, item 'nobody': wanted the id of an item",
        f"export.json, row 4, item {four!r}: 1 labelled it 'low' before, not 'high'; name the users",
        f"export.json, row 5, item {IDS[-1]!r}: it was not asked for",
        "nothing was told",
    ):
        assert words in str(refused.value)
    assert f"item {one!r}" not in str(refused.value)
    assert told(queue) == [[four, "1", "low"]]


def test_a_label_outside_the_classes_and_several_choices_are_named(tasks, tmp_path):
    queue, (one, two, *_), file = tasks
    export = exported(tmp_path / "export.json", file, {one: [("low", 1)], two: [(3, 1)]})
    with pytest.raises(errors.ArgumentError, match=f"export.json, row 2, item '{two}': .*nothing was told"):
        queue.read_labels(export)
    export.write_text(export.read_text().replace('"choices": [3]', '"choices": ["low", "high"]'))
    with pytest.raises(errors.TableError, match=f"row 2, item '{two}': wanted one choice.*; nothing was told"):
        queue.read_labels(export)
    assert told(queue) == []


def test_items_of_people_who_were_asked_by_name_are_not_for_others(tmp_path):
    queue = made()
    (one,) = queue.ask(1, annotator="ann")
    assert queue.ask(1, annotator="bob") == [one]
    queue.write_tasks(tmp_path / "next.json")
    export = exported(tmp_path / "export.json", tmp_path / "next.json", {one: [("low", 7)]})
    with pytest.raises(errors.UnknownTicketError, match=f"row 1, item '{one}': ann, bob was asked for it, not 7"):
        queue.read_labels(export)


def flat(item, number, label, annotator):
    """A record of Label Studio's JSON-MIN: what the task holds, with the number of the task over its id."""
    text = TEXTS[IDS.index(item)]
    return {"evenhand_id": item, "text": text, "id": number, "label": label, "annotator": annotator, "annotation_id": 9}


def test_label_studios_smaller_exports_are_read(tasks, tmp_path):
    queue, (one, two, *_), _ = tasks
    rows = [flat(one, 1, "low", 1), flat(one, 1, "low", 2), flat(two, 2, "high", 1)]
    (tmp_path / "min.json").write_text(json.dumps(rows))
    assert queue.read_labels(tmp_path / "min.json")["told"] == 3
    rows = [flat(two, 2, "high", "2") | {"was_cancelled": False}, flat(two, 2, "", "3") | {"was_cancelled": False}]
    with (tmp_path / "all.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, sorted(rows[0]), quoting=csv.QUOTE_NONNUMERIC)
        writer.writeheader()
        writer.writerows(rows)
    assert queue.read_labels(tmp_path / "all.csv") == {"told": 1, "rejected": 0, "left": 1}
    assert queue.progress.sum()["labelled"] == 2


@pytest.mark.parametrize("gone", ["text", "known text"])
def test_a_tools_own_number_is_not_taken_for_an_id(gone, tmp_path):
    features = np.random.default_rng(0).normal(size=(20, 2))
    queue = LabelQueue(range(20), features, groups=["f", "m"] * 10, content=TEXTS, seed=1)
    one, other = queue.ask(2)
    row = {"id": one, "text": TEXTS[other], "label": "low", "annotator": 1, "annotation_id": 9}
    if gone == "text":
        del row["text"]
    (tmp_path / "min.json").write_text(json.dumps([row]))
    with pytest.raises(errors.UnknownTicketError, match=rf"min.json, row 1, item {one}: wanted the id of an item"):
        queue.read_labels(tmp_path / "min.json")
    row |= {"text": TEXTS[one]}
    (tmp_path / "min.json").write_text(json.dumps([row]))
    assert queue.read_labels(tmp_path / "min.json")["told"] == 1


def test_doccanos_lines_are_read(tasks, tmp_path):
    queue, asked, _ = tasks
    queue.write_tasks(tmp_path / "next.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "next.jsonl").read_text().splitlines()]
    said = zip(lines, (["low"], [], ["high"]), strict=False)
    done = [line | {"label": label, "Comments": []} for line, label in said]
    (tmp_path / "admin.jsonl").write_text("\n".join(map(json.dumps, done)))
    assert queue.read_labels(tmp_path / "admin.jsonl", annotator="ann") == {"told": 2, "rejected": 0, "left": 1}
    assert {who for _, who, _ in told(queue)} == {"ann"}
    (tmp_path / "bob.jsonl").write_text(json.dumps(lines[0] | {"label": ["low", "high"]}))
    with pytest.raises(errors.TableError, match=f"bob.jsonl, line 1, item '{asked[0]}': wanted one label"):
        queue.read_labels(tmp_path / "bob.jsonl")


def test_records_that_say_nothing_are_refused(tasks, tmp_path):
    queue, (one, *_), _ = tasks
    (tmp_path / "min.json").write_text(json.dumps([{"id": one, "sentiment": "low", "annotator": 1}]))
    with pytest.raises(errors.TableError, match=r"min.json: wanted a label in each record.*control of Label Studio"):
        queue.read_labels(tmp_path / "min.json")


def test_labels_without_names_are_of_two_people_in_two_files(tasks, tmp_path):
    queue, asked, _ = tasks
    frame = pd.DataFrame({"id": asked, "label": "low"})
    with pytest.raises(errors.ArgumentError, match=f"who.csv, row 5, item '{asked[0]}': .*each item once for each"):
        queue.read_labels(pd.concat([frame, frame]), name="who.csv")
    for _ in range(2):
        assert queue.read_labels(frame)["told"] == 4
    assert queue.progress.sum()["labelled"] == 4
    assert queue.read_labels(frame)["repeated"] == 4
    with pytest.raises(errors.ClosedTicketError, match=r"labels, row 1, item .*: it is labelled already"):
        queue.read_labels(frame.assign(label="high"))


def test_a_line_separator_is_part_of_a_text_and_a_line_break_part_of_a_cell(tasks, tmp_path):
    queue, (one, two, *_), _ = tasks
    line = json.dumps({"id": one, "text": "a\u2028b\u0085", "label": "low"}, ensure_ascii=False)
    (tmp_path / "lines.jsonl").write_text(line, encoding="utf-8")
    (tmp_path / "cells.csv").write_text(f'id,text,label\n{two},"a\nb",low\nnobody,,low\n', encoding="utf-8")
    assert queue.read_labels(tmp_path / "lines.jsonl")["told"] == 1
    with pytest.raises(errors.UnknownTicketError, match=r"cells.csv, row 2, item 'nobody'"):
        queue.read_labels(tmp_path / "cells.csv")


def test_a_correction_that_makes_a_tie_asks_one_more():
    queue = made()
    (one,) = queue.ask(1)
    for who in ("ann", "bob"):
        queue.tell(one, "low", annotator=who)
    queue.correct(one, "high", annotator="bob")
    assert queue.ask(1, annotator="ann") != [one]
    assert queue.ask(1, annotator="cid") == [one]
    queue.tell(one, "high", annotator="cid")
    assert pd.concat([queue.training, queue.validation])[["id", "label"]].values.tolist() == [[one, "high"]]
