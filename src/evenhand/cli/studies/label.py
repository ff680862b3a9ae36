"""`evenhand label`: the items of a pool through files of a labelling tool; the worst-off group comes first."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from evenhand.cli.inputs.empty_cells import without_empty_cells
from evenhand.cli.inputs.inputs import labels_in, names_of
from evenhand.cli.inputs.tables import GIVEN, label_file, read_as_written, read_table
from evenhand.cli.options import EMPTY, JSON, Options
from evenhand.cli.output import as_json, print_text, records, say_notes
from evenhand.cli.refusals import as_typed, in_shell
from evenhand.cli.worst_off import worth_notes
from evenhand.data.csv_files import write_csv
from evenhand.data.groupings import Grouping, groups_in
from evenhand.data.tables import column
from evenhand.errors import ArgumentError, ExhaustedError, TableError, expected, expected_one_of
from evenhand.protocol import labels_of_texts
from evenhand.sampling import EstimatorModel, LabelQueue, OptimisticSampler, labelled_table, progress_table
from evenhand.sampling.measures import most_frequent_errors
from evenhand.sampling.pools.table_pool import TableFeatures
from evenhand.saving.state import load, save

if TYPE_CHECKING:
    import pandas as pd

MEND = "repeat what the state was begun with, or begin another --state"


@Options(
    tables="table",
    beside={
        "--annotator": "--tasks --read --correct",
        "--annotator-of --control": "--read",
        "--again": "--tasks not --items",
        "--items": "--tasks",
        "--read": "not --tasks",
        "--correct": "not --tasks --read",
        "--predict": "--out not --tasks --read --correct",
    },
    arguments={"classes": "--labels"},
)
def label(
    table: Path,
    *,
    id: str,
    group: str,
    features: str,
    labels: str,
    show: str = "",
    state: Path = Path("labels.evenhand"),
    annotator: str | None = None,
    annotator_of: str | None = None,
    annotators: int | None = None,
    choice: str | None = None,
    items: Annotated[int, typer.Option(min=1)] = 20,
    tasks: Path | None = None,
    again: bool = False,
    predict: Path | None = None,
    read: Path | None = None,
    control: str | None = None,
    correct: str | None = None,
    out: Path | None = None,
    empty: EMPTY = "refuse",
    seed: int | None = None,
    json: JSON = False,
) -> None:
    """Write items of a pool for a labelling tool, and read its labels; items of the worst-off group come first.

    The same command starts and continues the work: the queue is saved in --state. To label in a browser, serve the
    queue as a study.

    Parameters
    ----------
    table : The items, one per row: CSV, Parquet, Arrow or JSON lines.
    id : The column of ids, each once.
    group : The column of groups, or several: sex,race.
    features : The columns that the model learns from: age,hours.
    labels : All labels: cat,dog.
    show : The columns that people see; by default the id and the features.
    state : File that keeps the queue.
    annotator : The person who gets --tasks, or who gave the labels of --read or --correct: ann. With ann,bob each gets
        different items.
    annotator_of : With --read: the names of the labelling tool's users: 1=ann,2=bob.
    annotators : How many people label each item; by default 1, later as in --state.
    choice : How training items are chosen: uncertainty (default) or uniform; later as in --state.
    items : How many new items to write for each person.
    tasks : Write new items to this .csv, .jsonl or .json file; with several people to one file each, such as
        next-ann.csv.
    again : With --tasks: write the items that were sent before and are not labelled yet, and no new ones.
    predict : Write this table to --out, with the model's answer to each row in a column predicted.
    read : Read labels from this table, or from a .jsonl or .json file of a labelling tool.
    control : With --read: the control of Label Studio, or the column, that holds the label; by default label.
    correct : Change the label that an annotator gave to an item: p12=dog.
    out : Write all labels so far to this CSV file.
    seed : The seed; by default drawn, later as in --state.
    """
    if tasks is None and read is None and out is None and correct is None:
        what = "one of them: a file to write items to, or a file of labels"
        hint = "docs/labels.md shows both; `evenhand serve` has a page at /label for people in a browser"
        raise ArgumentError(expected("--tasks, --read", what, None, hint))
    if tasks is not None and tasks.suffix not in (".csv", ".jsonl", ".json"):
        raise ArgumentError(expected("--tasks", "a file that ends in .csv, .jsonl or .json", str(tasks)))
    columns, groups, names = names_of(features), names_of(group), list(dict.fromkeys(names_of(annotator or "")))
    shown, allowed = names_of(show) or [id, *columns], labels_of_texts(labels_in(labels, "--labels"))
    if len(set(allowed)) < 2:
        raise ArgumentError(expected("--labels", "at least two labels", labels))
    users = _users(annotator_of)
    if read is not None and len(names) + bool(users) > 1:
        what = "one name for the labels of a file, or --annotator-of 1=ann,2=bob"
        raise ArgumentError(expected("--annotator", what, annotator))
    frame, written = read_as_written(table, text=[name for name in (id, *groups) if name not in columns])
    frame = without_empty_cells(frame, [id, *groups], columns, empty)
    content = _content(written.loc[frame.index], shown)
    queue = _queue(frame, id, groups, columns, allowed, shown, content, state, choice, annotators, seed)
    words, done = "", dict[str, int]()
    if predict is not None and out is not None:
        other, encoder = read_table(predict), TableFeatures(frame, columns)
        said = queue.sampler.finish().model.predict(encoder.transform(other))
        write_csv(other.assign(predicted=said), out)
        print_text(f"{len(other):,} rows are in {out}, with what the model says in the column predicted.")
        return
    if tasks is not None:
        cells = written.loc[frame.index, [name for name in shown if name != id]].replace("", "empty")
        words, done = _write_tasks(queue, tasks, 0 if again else items, names, state, cells if len(cells.T) else None)
    elif read is not None:
        done = _told(queue, read, annotator, users, control)
        save(queue, state)
        words = f"{done['told']} labels read, {done['rejected']} items rejected, {done['left']} rows without a label"
        words += f", {done['repeated']} told before" if "repeated" in done else ""
        words += f", {done['others']} by somebody to whom the item was not handed" if "others" in done else ""
        words += f", {done['passed_over']} answers of other controls passed over" if "passed_over" in done else ""
    elif correct is not None:
        item, new = _corrected(queue, correct, annotator)
        save(queue, state)
        words = f"Item {item} now has the label {new}."
        words += "" if out is not None else " A file that --out wrote before is not rewritten: pass --out again."
    if out is not None:
        write_csv(labelled_table(queue), out)
    _show(queue, done, words, json)


def _show(queue: LabelQueue, done: dict[str, int], words: str, json: bool) -> None:
    """Print what was done, the progress, and the risks."""
    table, rows, classes = queue.risks, queue.sampler.validation, queue.sampler.known_classes
    if queue.sampler.loss == "zero_one" and rows.count:
        counts = np.zeros((len(table), len(classes)), np.int64)
        np.add.at(counts, (rows.group[: rows.count], rows.y[: rows.count]), 1)
        code, table["most_frequent"] = most_frequent_errors(counts)
        table.attrs["most_frequent"] = classes[code]
    risks, progress = (one.reset_index().to_dict("records") for one in (table, progress_table(queue)))
    worth = worth_notes(table)
    if json:
        as_json({**done, "groups": risks, "progress": progress, "worth": worth}, queue)
        return
    if words:
        print_text(words)
    records("Items", progress)
    records("Risks on the validation items", risks)
    print_text(*worth)
    say_notes(queue)


def _write_tasks(
    queue: LabelQueue, tasks: Path, items: int, names: list[str], state: Path, cells: pd.DataFrame | None
) -> tuple[str, dict[str, int]]:
    """Ask for so many new items for everybody, or for none where those sent before are wanted; keep the queue before
    anybody sees them, then write them. Return what was done, in words and numbers."""
    sent: dict[str | None, list[Any]] = {}
    new: dict[str | None, list[Any]] = {}
    for who in names or (None,):
        sent[who], new[who] = queue.open_items(annotator=who), []
        try:
            new[who] = queue.ask(items, annotator=who) if items else sent[who]
        except ExhaustedError:
            if not queue.open_items():
                raise
    save(queue, state)
    words, before = [], 0
    for who, ids in new.items():
        file = tasks if len(new) == 1 else tasks.with_stem(f"{tasks.stem}-{who}")
        whose, waiting = f" for {who}" * (who is not None), len(sent[who]) if items else 0
        before += waiting
        if ids:
            queue.write_tasks(file, annotator=who, items=set(ids), columns=cells)
            words.append(f"{len(ids)} items{whose} are in {file}; when they are labelled: --read FILE")
        else:
            words.append(f"No item{whose} is left to be sent" if items else f"No item{whose} waits for a label")
        if waiting:
            words[-1] += f"; {waiting} that were sent before are not labelled yet: --again writes them"
    return "\n".join(words), {"tasks": sum(map(len, new.values())), "sent_before": before}


def _told(
    queue: LabelQueue, path: Path, annotator: str | None, users: dict[str, str], control: str | None
) -> dict[str, int]:
    """Tell the labels of a file, and return how many were told, rejected and left open.

    Raises
    ------
    ArgumentError
        As `LabelQueue.read_labels` does, in the words of the command.
    """
    try:
        with label_file(path) as (given, name):
            encoding, who = GIVEN.get().encoding, users or annotator
            return queue.read_labels(given, annotator=who, name=name, encoding=encoding, control=control)
    except ArgumentError as refusal:
        words = in_shell(refusal)
        words = re.sub("^annotator(?=[: ])", "--annotator-of", words) if users else words
        words = words.replace("items that ask() returns", "items that --tasks writes")
        raise type(refusal)(words.replace("say who filled in the file", "pass --annotator NAME")) from refusal


def _corrected(queue: LabelQueue, text: str, annotator: str | None) -> tuple[str, str]:
    """Correct a label, of a text such as p12=dog; return the item and its new label."""
    item, _, label = text.rpartition("=")
    if item not in queue.ids:
        raise ArgumentError(expected("--correct", "ITEM=LABEL with the id of an item of this table", text))
    known = {str(one): one for one in queue.sampler.classes or ()}
    if label not in known:
        raise ArgumentError(expected_one_of("--correct", known, label, what="one of the labels"))
    queue.correct(item, known[label], annotator=annotator)
    return item, label


def _queue(
    frame: pd.DataFrame,
    id: str,
    group: list[str],
    features: list[str],
    labels: list[Any],
    shown: list[str],
    content: list[str],
    state: Path,
    choice: Any,
    annotators: int | None,
    seed: int | None,
) -> LabelQueue:
    """Return the queue in a file, which must be of these items and settings, or a new one."""
    from sklearn.linear_model import LogisticRegression

    ids, groups = [str(one) for one in column(frame, id)], [str(one) for one in groups_in(frame, group)]
    named, sizes = np.unique(groups, return_counts=True)
    Grouping.of_rows(named.tolist(), sizes).refuse("group")
    rows = TableFeatures(frame, features).transform(frame)
    if state.exists():
        queue = _resumed(state, labels, {"choice": choice, "annotators": annotators, "seed": seed})
        _same(f"--id {id}", "ids", list(queue.ids) == ids, state)
        _same(f"--group {','.join(group)}", "groups", queue.config()["groups"] == groups, state)
        _same(f"--features {','.join(features)}", "values", bool(np.array_equal(queue.features, rows)), state)
        _same(f"--show {','.join(shown)}", "values", queue.content in (None, content), state)
        return queue
    model = None if len(labels) == 2 else EstimatorModel(LogisticRegression(max_iter=1000))
    sampler = OptimisticSampler(sorted(set(groups)), model, classes=labels, seed=seed)
    return LabelQueue(
        ids,
        rows,
        groups=groups,
        sampler=sampler,
        choice="uncertainty" if choice is None else choice,
        annotators=1 if annotators is None else annotators,
        content=content,
        seed=seed,
    )


def _resumed(state: Path, labels: list[Any], settings: dict[str, Any]) -> LabelQueue:
    """Return the queue in a file, which settings that are given may not contradict."""
    queue = load(state)
    if not isinstance(queue, LabelQueue):
        raise ArgumentError(expected("--state", "a queue that `evenhand label` began", str(state)))
    if set(queue.sampler.classes or ()) != set(labels):
        known = ",".join(map(str, queue.sampler.classes or ()))
        raise ArgumentError(expected("--labels", f"{as_typed(known)} as in {state}", ",".join(map(str, labels))))
    for name, value in settings.items():
        if value not in (None, begun := getattr(queue, name)):
            raise ArgumentError(expected(f"--{name}", f"{as_typed(begun)} as in {state}", value, MEND))
    return queue


def _same(name: str, what: str, same: bool, state: Path) -> None:
    if not same:
        raise TableError(f"{name}: its {what} differ from those with which {state} was begun; {MEND}")


def _content(written: pd.DataFrame, shown: list[str]) -> list[str]:
    """Return what is shown of each item as a text: one column as it is, several by name; cells as they are written."""
    cells = [[cell or "empty" for cell in column(written, name)] for name in shown]
    if len(shown) == 1:
        return cells[0]
    return [
        ", ".join(f"{name} {cell}" for name, cell in zip(shown, row, strict=True)) for row in zip(*cells, strict=True)
    ]


def _users(text: str | None) -> dict[str, str]:
    """Return the annotators by the names of a tool's users, of a text such as 7=ann,8=bob."""
    pairs = [pair.rpartition("=") for pair in text.split(",")] if text is not None else []
    names = {user.strip(): name.strip() for user, _, name in pairs}
    if not all(user and name for user, name in names.items()) or len(names) < len(pairs):
        raise ArgumentError(expected("--annotator-of", "each user once with a name, such as 7=ann,8=bob", text))
    return names
