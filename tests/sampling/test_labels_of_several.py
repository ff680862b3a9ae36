"""Files of labelling tools in which several people label: who they are, what is told, and what is refused by name."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

from evenhand import errors
from evenhand.sampling import (
    LabelQueue,
    OptimisticSampler,
    agreement_table,
    annotations_table,
    progress_table,
)
from evenhand.saving.state import from_bytes, to_bytes

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


def exported(tasks, said, field="annotations"):
    """An export beside the tasks in a file, in which each of `said` is annotated by all of its labels."""
    done = [
        {"id": number, **task, field: [annotation(*one) for one in said.get(task["data"]["id"], [])], "predictions": []}
        for number, task in enumerate(json.loads(tasks.read_text()), 1)
    ]
    path = tasks.with_name("export.json")
    path.write_text(json.dumps(done))
    return path


def told(queue):
    return sorted(annotations_table(queue)[["id", "annotator", "label"]].astype(str).values.tolist())


@pytest.fixture
def tasks(tmp_path):
    """A queue whose items two people label, and the file of four items that were handed out at once."""
    queue = made()
    asked = queue.ask(4)
    assert queue.write_tasks(tmp_path / "next.json") == 4
    return queue, asked, tmp_path / "next.json"


@pytest.mark.parametrize("field", ["annotations", "completions"])
@pytest.mark.parametrize(
    ("users", "names"),
    [((ANN, BOB), ("ann@example.org", "bob@example.org")), ((1, 2), ("1", "2")), (("ann", "bob"), ("ann", "bob"))],
    ids=["objects", "numbers", "names"],
)
def test_two_people_label_the_same_tasks(tasks, field, users, names):
    queue, asked, file = tasks
    said = {one: [("low", users[0]), ("low" if i else "high", users[1])] for i, one in enumerate(asked)}
    assert queue.read_labels(exported(file, said, field)) == {"told": 8, "rejected": 0, "left": 0}
    assert progress_table(queue).sum()["labelled"] == 3
    assert agreement_table(queue).loc[names[0], names[1]] == 0.75
    assert queue.ask(1, annotator=names[0]) != queue.ask(1, annotator="cid") == asked[:1]


def test_how_far_annotators_agree_and_which_items_need_one_more_person_is_said(tasks):
    queue, (one, other, third, last), file = tasks
    assert not any("labels" in note for note in queue.notes)
    said = {one: [("low", ANN), ("high", BOB)], other: [("low", ANN), ("low", BOB)], third: [("low", ANN)]}
    queue.read_labels(exported(file, said))
    tie = "One item waits for one more label, as labels tie: ask another annotator."
    assert queue.notes[:2] == ["1 of 2 items that were labelled several times have equal labels.", tie]
    queue.read_labels(exported(file, {third: [("high", BOB)], last: [("low", ANN)]}))
    assert queue.notes[1] == tie.replace("One item waits", "2 items wait")
    queue.read_labels(exported(file, {one: [("low", "cid")], third: [("low", "cid")]}))
    assert queue.notes[0].startswith("1 of 3 items")
    assert not any("tie" in note for note in queue.notes)


def test_a_third_label_breaks_a_tie_and_is_refused_where_there_is_none(tasks):
    queue, (one, other, *_), file = tasks
    assert queue.read_labels(exported(file, {one: [("low", 1), ("high", 2), ("low", 3)]}))["told"] == 3
    assert progress_table(queue).sum()["labelled"] == 1
    with pytest.raises(errors.ClosedTicketError) as refused:
        queue.read_labels(exported(file, {other: [("low", 1), ("low", 2), ("high", 3)]}))
    assert f"export.json, row 2, item {other!r}: it is labelled already, by 1 and 2" in str(refused.value)
    assert str(refused.value).endswith("nothing was recorded: fix them, or remove them from the file")
    assert len(told(queue)) == 3


@pytest.mark.parametrize(
    ("asked_as", "user", "given"),
    [
        ("ann@example.org", ANN, None),
        ("7", ANN, None),
        ("Ann Lee", ANN, None),
        ("ann", ANN, {7: "ann"}),
        ("ann", 7, {7: "ann", "8": "bob"}),
        ("ann", None, "ann"),
    ],
)
def test_a_tools_users_are_the_annotators_that_were_asked(tmp_path, asked_as, user, given):
    queue = made()
    (one,) = queue.ask(1, annotator=asked_as)
    queue.ask(1, annotator="bob")
    queue.write_tasks(tmp_path / "next.json", annotator=asked_as)
    assert queue.read_labels(exported(tmp_path / "next.json", {one: [("low", user)]}), annotator=given)["told"] == 1
    assert told(queue) == [[one, asked_as, "low"]]


def test_tasks_of_one_annotator_are_written_alone(tmp_path):
    queue = made()
    mine, theirs = queue.ask(3, annotator="ann"), queue.ask(5, annotator="bob")
    assert queue.write_tasks(tmp_path / "ann.csv", annotator="ann") == 3
    assert set(pd.read_csv(tmp_path / "ann.csv")["id"]) == set(mine) < set(theirs)


def test_a_skipped_annotation_rejects_its_item(tasks):
    queue, (one, other, *_), file = tasks
    export = exported(file, {one: [("low", 1), ("high", 2)], other: [("low", 1)]})
    done = json.loads(export.read_text())
    done[0]["annotations"][1] |= {"was_cancelled": True, "result": []}
    done[1]["annotations"].append({"skipped": True, "completed_by": 2, "result": []})
    export.write_text(json.dumps(done))
    assert queue.read_labels(export) == {"told": 2, "rejected": 2, "left": 0}
    assert progress_table(queue).sum()["rejected"] == 2
    assert told(queue) == []
    assert queue.read_labels(export) == {"told": 0, "rejected": 0, "left": 0, "repeated": 4}


def test_every_label_that_is_wrong_is_named_with_its_place_and_none_is_told(tasks):
    queue, (one, two, three, four), file = tasks
    queue.tell(four, "low", annotator="1")
    said = {one: [("low", 1), ("low", 2)], two: [("low", 1), ("high", 1)], three: [("low", 1)], four: [("high", 1)]}
    export = exported(file, said)
    done = json.loads(export.read_text())
    done[2]["data"] = {"id": "nobody"}
    done.append({"data": {"id": IDS[-1]}, "annotations": [annotation("low", 1)]})
    export.write_text(json.dumps(done))
    with pytest.raises(errors.TicketError) as refused:
        queue.read_labels(export)
    for words in (
        "export.json, row 3, item 'nobody': expected the id of an item",
        f"row 2, item {two!r}, row 4, item {four!r}: 1 labelled it 'low' before, not 'high'; name the",
        f"export.json, row 5, item {IDS[-1]!r}: nobody was asked to label it",
        "nothing was recorded",
    ):
        assert words in str(refused.value)
    assert f"item {one!r}" not in str(refused.value)
    assert told(queue) == [[four, "1", "low"]]


def test_a_label_outside_the_classes_and_several_choices_are_named(tasks):
    queue, (one, two, *_), file = tasks
    export = exported(file, {one: [("low", 1)], two: [(3, 1)]})
    with pytest.raises(errors.ArgumentError, match=f"export.json, row 2, item '{two}': .*nothing was recorded"):
        queue.read_labels(export)
    export.write_text(export.read_text().replace('"choices": [3]', '"choices": ["low", "high"]'))
    with pytest.raises(errors.TableError, match=f"row 2, item '{two}': expected one choice.*; nothing was recorded"):
        queue.read_labels(export)
    assert told(queue) == []


def test_whoever_answers_takes_the_place_of_one_who_was_asked(tmp_path):
    queue = made()
    (one,) = queue.ask(1, annotator="ann")
    assert queue.ask(1, annotator="bob") == [one]
    queue.write_tasks(tmp_path / "next.json")
    assert queue.read_labels(exported(tmp_path / "next.json", {one: [("low", 7)]}))["told"] == 1
    assert queue.open_items(annotator="ann") == []
    assert queue.open_items(annotator="bob") == [one]
    queue.write_tasks(tmp_path / "next.json")
    with pytest.raises(errors.ClosedTicketError, match=f"row 1, item '{one}': it is labelled already, by 7 and 8"):
        queue.read_labels(exported(tmp_path / "next.json", {one: [("low", 8), ("low", "ann")]}))


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
    assert progress_table(queue).sum()["labelled"] == 2


@pytest.mark.parametrize("gone", ["text", "known text"])
def test_a_tools_own_number_is_not_taken_for_an_id(gone, tmp_path):
    features = np.random.default_rng(0).normal(size=(20, 2))
    queue = LabelQueue(range(20), features, groups=["f", "m"] * 10, content=TEXTS, seed=1)
    one, other = queue.ask(2)
    row = {"id": one, "text": TEXTS[other], "label": "low", "annotator": 1, "annotation_id": 9}
    if gone == "text":
        del row["text"]
    (tmp_path / "min.json").write_text(json.dumps([row]))
    with pytest.raises(errors.UnknownTicketError, match=rf"min.json, row 1, item {one}: expected the id of an item"):
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
    with pytest.raises(errors.TableError, match=f"bob.jsonl, line 1, item '{asked[0]}': expected one label"):
        queue.read_labels(tmp_path / "bob.jsonl")


def test_records_that_say_nothing_are_refused(tasks, tmp_path):
    queue, (one, *_), _ = tasks
    (tmp_path / "min.json").write_text(json.dumps([{"id": one, "sentiment": "low", "annotator": 1}]))
    with pytest.raises(errors.TableError, match=r"min.json: expected a label in each record.*control of Label Studio"):
        queue.read_labels(tmp_path / "min.json")


def test_labels_without_names_are_of_two_people_in_two_files(tasks):
    queue, asked, _ = tasks
    frame = pd.DataFrame({"id": asked, "label": "low"})
    with pytest.raises(errors.ArgumentError, match=f"who.csv, row 5, item '{asked[0]}', .*each item once for each"):
        queue.read_labels(pd.concat([frame, frame]), name="who.csv")
    for _ in range(2):
        assert queue.read_labels(frame)["told"] == 4
    assert progress_table(queue).sum()["labelled"] == 4
    assert queue.read_labels(frame)["repeated"] == 4
    with pytest.raises(errors.ClosedTicketError, match=r"labels, row 1, item .*: it is labelled already"):
        queue.read_labels(frame.assign(label="high"))


# ------------------------------------------------------------------ who is who

AT = {"id": 7, "email": "Ann@example.org"}


@pytest.fixture
def read(tasks):
    """Read a file in which the first two items have these labels by these users; the queue is saved before each."""
    queue, (one, two, *_), file = tasks

    def read(*said, annotator=None, second=()):
        nonlocal queue
        queue = from_bytes(to_bytes(queue))
        counts = queue.read_labels(exported(file, {one: said, two: second}), annotator=annotator)
        return counts["told"], counts.get("repeated", 0)

    read.told = lambda: [row[1:] for row in told(queue)]
    return read


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ([[("low", AT)], [("low", 7)]], "ann@example.org"),
        ([[("low", 7)], [("low", AT)]], "7"),
        ([[("low", AT), ("low", 7)]], "ann@example.org"),
        ([[("low", "7.0")], [("low", 7)]], "7"),
        ([[("low", "Ann@Example.org")], [("low", "ann@example.org")]], "ann@example.org"),
        ([[("low", {"id": 7, "username": "ann"})], [("low", AT | {"username": "ann"})], [("low", 7)]], "ann"),
    ],
    ids=str,
)
def test_a_user_is_one_annotator_under_every_name(read, files, name):
    assert read(*files[0]) == (1, len(files[0]) - 1)
    for said in files[1:]:
        assert read(*said) == (0, 1)
    assert read.told() == [[name, "low"]]


def test_an_account_names_the_user_of_a_number(tasks):
    queue, (one, *_), file = tasks
    export = exported(file, {one: [("low", None), ("low", 7), ("low", 8)]})
    done = json.loads(export.read_text())
    for annotation, account in zip(
        done[[t["data"]["id"] for t in done].index(one)]["annotations"], (" ann@x, 7", None, " ann@x, 7"), strict=True
    ):
        annotation["created_username"] = account
    export.write_text(json.dumps(done))
    assert queue.read_labels(export) == {"told": 2, "rejected": 0, "left": 0, "repeated": 1}
    assert [who for _, who, _ in told(queue)] == ["8", "ann@x"]


def test_two_users_with_one_name_are_two_annotators_and_the_name_alone_is_refused(read):
    both = [AT | {"last_name": "Lee"}, {"id": 7, "email": "bob@example.org", "last_name": "Lee"}]
    assert read(*(("low", user) for user in both)) == (2, 0)
    for name in (7, "Lee"):
        with pytest.raises(errors.ArgumentError, match=r"expected the name of one user, got .*'ann@.*and of 'bob@"):
            read(second=[("low", name)])
        with pytest.raises(errors.ArgumentError, match=r"expected the name of one user.*nothing was recorded"):
            read(second=[("low", both[0])], annotator={name: "cid"})
    assert read.told() == [["ann@example.org", "low"], ["bob@example.org", "low"]]


@pytest.mark.parametrize(
    ("users", "given"),
    [
        ([7], {7.0: "ann"}),
        (["A@x"], {"a@X": "ann"}),
        ([AT], {7: "ann", "ann@example.org": "ann"}),
        ([7, AT], {"ANN@example.org": "ann"}),
    ],
    ids=str,
)
def test_the_callers_names_fit_users_however_they_are_written(read, users, given):
    assert read(*(("low", user) for user in users), annotator=given) == (1, len(users) - 1)
    assert read(("low", users[0])) == (0, 1), "the name is kept"
    assert read.told() == [["ann", "low"]]


@pytest.mark.parametrize(
    ("users", "given", "words"),
    [
        ([7], {"ann@x": "ann"}, r"annotator: expected users of the file, \['7'\], got 'ann@x'; name every user"),
        ([7], {"": "ann"}, r"expected users of the file, \['7'\], got ''"),
        (["Ann"], {"ann": "bob"}, "got 'ann'"),
        ([7], {"7": "ann", 7: "bob"}, "one name for each user, got '7'; it appears twice, as '7' and as 7"),
        ([AT], {7: "ann", "ann@example.org": "bob"}, "it appears twice, as 7 and as 'ann@example.org'"),
    ],
    ids=str,
)
def test_names_that_fit_nobody_or_one_user_twice_are_refused(read, users, given, words):
    with pytest.raises(errors.ArgumentError, match=words) as refused:
        read(*(("low", user) for user in users), annotator=given)
    assert "nothing was recorded" in str(refused.value)
    assert read.told() == []


def test_a_user_who_was_told_stays_the_annotator_she_was(read):
    read(("low", 7))
    with pytest.raises(errors.ArgumentError, match="annotator 7: expected '7', as labels were told before, got 'ann'"):
        read(("low", 7), annotator={7: "ann"})
    assert read.told() == [["7", "low"]]


def test_two_annotators_who_turn_out_to_be_one_user_are_refused(read):
    read(("low", 7))
    read(second=[("low", "ann@example.org")])
    with pytest.raises(errors.ArgumentError, match=r"annotator ann@example.org: expected '7' and 'ann@example.org'"):
        read(("low", AT))


# ------------------------------------------------------------------ what a record says


def test_a_choice_alone_is_a_choice(tasks):
    queue, (one, *_), file = tasks
    export = exported(file, {one: [("low", 1)]})
    export.write_text(export.read_text().replace('["low"]', '"low"'))
    assert queue.read_labels(export)["told"] == 1
    assert told(queue) == [[one, "1", "low"]]


@pytest.mark.parametrize("mark", ["x", "ja", "2", "rejected"])
@pytest.mark.parametrize("field", ["rejected", "was_cancelled", "skipped"])
def test_what_is_neither_true_nor_false_is_refused(tasks, field, mark):
    queue, (one, two, *_), _ = tasks
    frame = pd.DataFrame({"id": [one, two], "label": ["low", None], field: [None, mark]})
    words = f"row 2, item '{two}', {field}: expected true or false, got '{mark}'; nothing was recorded"
    with pytest.raises(errors.TableError, match=words):
        queue.read_labels(frame)
    assert told(queue) == []


@pytest.mark.parametrize(("mark", "rejected"), [(True, 1), ("false", 0), ("True", 1), (0, 0), (1, 1), ("", 0)])
def test_an_annotation_is_skipped_where_it_says_so(tasks, mark, rejected):
    queue, (one, *_), file = tasks
    export = exported(file, {one: [("low", 1)]})
    export.write_text(export.read_text().replace('"was_cancelled": false', f'"was_cancelled": {json.dumps(mark)}'))
    assert queue.read_labels(export) == {"told": 1 - rejected, "rejected": rejected, "left": 0}


def with_controls(tasks, answers):
    """An export beside the tasks in a file, whose annotations answer controls by name."""
    done = json.loads(tasks.read_text())
    for task in done:
        said = answers.get(task["data"]["id"], {})
        result = [{"from_name": name, "type": "choices", "value": {"choices": [one]}} for name, one in said.items()]
        task["annotations"] = [{"id": 1, "completed_by": ANN, "was_cancelled": False, "result": result}]
    path = tasks.with_name("export.json")
    path.write_text(json.dumps(done))
    return path


def test_a_label_that_was_left_open_is_not_taken_from_another_control(tasks):
    queue, (one, two, *_), file = tasks
    export = with_controls(file, {one: {"label": "low", "sure": "high"}, two: {"sure": "high"}})
    assert queue.read_labels(export) == {"told": 1, "rejected": 0, "left": 3, "passed_over": 2}
    assert [(item, label) for item, _, label in told(queue)] == [(one, "low")]
    assert queue.read_labels(with_controls(file, {one: {"label": "low"}, two: {"sure": "high"}}))["passed_over"] == 1


def test_the_control_is_named_or_refused(tasks):
    queue, (one, two, *_), file = tasks
    export = with_controls(file, {one: {"tone": "low", "sure": "high"}, two: {"sure": "high"}})
    with pytest.raises(errors.TableError, match=r"t.json, control: expected which one of \['tone', 'sure'\] holds the"):
        queue.read_labels(export)
    with pytest.raises(errors.TableError, match=r"control: expected one of .*'ton'; did you mean 'tone'"):
        queue.read_labels(export, control="ton")
    with pytest.raises(errors.ArgumentError, match="control: expected the name of a control"):
        queue.read_labels(export, control="")
    assert told(queue) == []
    assert queue.read_labels(export, control="tone")["told"] == 1
    alone = with_controls(file, {two: {"sure": "low"}})
    with pytest.raises(errors.TableError, match=r"export.json, control: expected which one of \['sure'\] .*pass label"):
        queue.read_labels(alone)
    assert queue.read_labels(alone, control="label") == {"told": 0, "rejected": 0, "left": 4, "passed_over": 1}
    words = with_controls(file, {two: {"label": "low"}}).read_text()
    for value in ("rating", "text"):
        alone.write_text(words.replace('{"choices":', f'{{"{value}":'))
        with pytest.raises(errors.TableError, match=f"'{two}', control 'label': expected choices, got .*{value}"):
            queue.read_labels(alone)


def test_the_column_of_labels_is_named(tasks, tmp_path):
    queue, (one, two, three, *_), _ = tasks
    rows = [{"id": one, "label": "x", "tone": "low"}, {"id": two, "tone": ""}]
    (tmp_path / "min.json").write_text(json.dumps(rows))
    assert queue.read_labels(tmp_path / "min.json", control="tone", annotator="ann")["told"] == 1
    frame = pd.DataFrame({"id": [three], "tone": ["high"]})
    with pytest.raises(errors.TableError, match="the columns id and sure"):
        queue.read_labels(frame, control="sure", annotator="ann")
    assert queue.read_labels(frame, control="tone", annotator="ann")["told"] == 1


@pytest.mark.parametrize("empty", ["", "  "])
def test_an_empty_label_is_refused_where_labels_are_named_and_given(empty):
    with pytest.raises(errors.ArgumentError, match="classes: expected labels that are not empty"):
        OptimisticSampler(["f", "m"], classes=["yes", empty])
    queue = made(annotators=1)
    item = queue.ask(1)[0]
    with pytest.raises(errors.ArgumentError, match="label: expected labels that are not empty"):
        queue.tell(item, empty)
    queue.tell(item, "low")
    with pytest.raises(errors.ArgumentError, match="label: expected labels that are not empty"):
        queue.correct(item, empty)
