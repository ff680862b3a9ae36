"""Items and labels in files: tables, Doccano's JSON lines, Label Studio's JSON; and what one record says:
about which item, by whom, and which label, whatever the tool calls them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from evenhand.data.csv_files import EVERY, write_csv
from evenhand.data.files import TableOptions, format_of, read_table
from evenhand.data.json_files import rows_of
from evenhand.data.text_files import read_encoding, text_of
from evenhand.errors import ArgumentError, TableError, Wording, expected, expected_one_of
from evenhand.frames import as_pandas, is_frame
from evenhand.protocol import Label, labels_of_texts
from evenhand.sampling.labelling.label_users import names_of

LEFT_OPEN: Final = object()
"""What stands for a label where an annotator gave none."""
OWN = "evenhand_id"
"""The field of an item's id that no tool writes a number of its own into."""
LABELS = ("label", "labels")
TAKEN = ("id", OWN, *LABELS, "allowed", "annotator", "rejected")
"""The columns of a table of tasks that are not of the item."""
CANCELLED = ("was_cancelled", "skipped")
ANSWERS = (*LABELS, "rejected", *CANCELLED)
"""The fields of a flat record that say something of its item."""
MARKS = {"": False, "0": False, "0.0": False, "false": False, "no": False} | dict.fromkeys(
    ("1", "1.0", "true", "yes"), True
)
"""How a field says that nobody can label an item, or that somebody can."""


class Said(NamedTuple):
    """One label, as a file has it.

    Attributes
    ----------
    place : the file and the line, row or task.
    item : the item's id.
    label : the label; None rejects the item, `LEFT_OPEN` leaves it open.
    users : the names under which the tool may know who labelled, the most telling first; () where it names nobody.
    text : what the record shows of the item, None where it shows nothing.
    own : whether the id is the queue's; else it may be a number that the tool gave.
    passed_over : how many answers of other controls stand beside it, apart from free text.
    """

    place: str
    item: Any
    label: Any
    users: tuple[str, ...]
    text: str | None
    own: bool = True
    passed_over: int = 0


def labels_of(records: Iterable[tuple[str, Any]], name: str, control: str | None) -> list[Said]:
    """Return what the records of a file called `name` say, each with its place. Labels that are texts are numbers where
    all of them are written as whole numbers.

    Raises
    ------
    TableError
        If a record has another form, no record says anything, or controls were answered and it is not clear which of
        them holds the label.
    """
    records = list(records)
    chosen = _chosen_control((record for _, record in records), name, control)
    said: list[Said] = []
    flat: list[dict[str, Any]] = []
    for place, record in records:
        if not isinstance(record, dict):
            raise TableError(expected(place, "a JSON object", record))
        if "data" in record or "annotations" in record or "completions" in record:
            said += _of_task(record, place, chosen)
        else:
            flat.append(record)
            said.append(_of_record(record, place, LABELS if control is None else (control,)))
    if flat and not any(field in record for record in flat for field in (*ANSWERS, control)):
        hint = 'name the control of Label Studio that chooses them "label", or pass its name as control='
        raise TableError(expected(name, f"a {control or 'label'} in each record", list(flat[0]), hint))
    texts = [one.label for one in said if isinstance(one.label, str)]
    read = dict(zip(texts, labels_of_texts(texts), strict=True))
    return [one._replace(label=read[one.label]) if isinstance(one.label, str) else one for one in said]


def _annotations(task: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the annotations of a task of Label Studio; older versions call them completions."""
    return list(task.get("annotations") or task.get("completions") or ())


def _answers(annotation: dict[str, Any]) -> list[tuple[Any, dict[str, Any]]]:
    """Return the answers of an annotation, each with its control, None where the file names none."""
    return [(one.get("from_name"), one["value"]) for one in annotation.get("result") or () if one.get("value")]


def _chosen_control(records: Iterable[Any], name: str, control: str | None) -> Any:
    """Return the control of Label Studio that holds the label: the one that is given, or called as the label is; None
    where the file names none."""
    tasks = [record for record in records if isinstance(record, dict) and "data" in record]
    names: list[Any] = []
    with suppress(TypeError, AttributeError):  # `_of_task` refuses what is no annotation, with its place
        answers = [answer for task in tasks for one in _annotations(task) for answer in _answers(one)]
        names = list(dict.fromkeys(given for given, _ in answers if given is not None))
    if control is not None:
        if names and control not in (*names, *LABELS):
            raise TableError(expected_one_of(f"{name}, control", names, control))
        return control
    own = next((one for one in LABELS if one in names), None)
    if names and own is None:
        what = Wording("which one of ", names, " holds the label, as none of them is called label")
        raise TableError(
            expected(f"{name}, control", what, None, "if the label was left open in each task, pass label")
        )
    return own


def _of_task(task: dict[str, Any], place: str, control: object) -> Iterator[Said]:
    """Yield what the annotations of a task of Label Studio say by a control."""
    try:
        data = task["data"]
        item, text = data[OWN if OWN in data else "id"], data.get("text")
        for one in _annotations(task):
            where, given = f"{place}, item {item!r}", _answers(one)
            mine = [value for name, value in given if name in (None, control)]
            if odd := [value for value in mine if "choices" not in value]:
                raise TableError(expected(f"{where}, control {control or 'label'!r}", "choices", odd[0]))
            chosen = [value["choices"] or () for value in mine]
            choices = [choice for some in chosen for choice in ([some] if isinstance(some, str) else some)]
            cancelled = _marked(one, CANCELLED, where)
            label = None if cancelled else _one(list(dict.fromkeys(choices)), where, "one choice per annotation")
            users = names_of(one.get("completed_by"), one.get("created_username"))
            other = sum(name not in (None, control) and value.keys() != {"text"} for name, value in given)
            yield Said(place, item, label, users, text, passed_over=other)
    except (KeyError, TypeError, AttributeError) as error:
        raise TableError(expected(place, "data with an id, and annotations with choices", task)) from error


def _of_record(record: dict[str, Any], place: str, fields: Sequence[str]) -> Said:
    """Return what a flat record says: a row of a table, or a line of Doccano or Label Studio's JSON-MIN."""
    given = OWN if record.get(OWN) not in (None, "") else "id"
    if given not in record:
        raise TableError(expected(place, "an id", record))
    item, where = record[given], f"{place}, item {record[given]!r}"
    if record.get("answer", "accept") != "accept":  # of Prodigy, which writes the label of a rejected item as well
        raise TableError(expected(where, "a label, or rejected", {"answer": record["answer"]}))
    chosen = next((record[name] for name in fields if name in record), None)
    rejected = _marked(record, ("rejected", *CANCELLED), where)
    label = None if rejected else _one(chosen, where, "one label")
    users = names_of(record.get("annotator"))
    return Said(place, item, label, users, record.get("text"), given == OWN or "annotation_id" not in record)


def _marked(record: dict[str, Any], fields: Iterable[str], where: str) -> bool:
    """Return whether one of the fields is true."""
    found = False
    for field in fields:
        given = record.get(field)
        mark = MARKS.get("" if given is None else str(given).strip().lower())
        if mark is None:
            raise TableError(expected(f"{where}, {field}", "true or false", given))
        found |= mark
    return found


def _one(given: object, where: str, what: str) -> Any:
    """Return the label where a tool has it in a list or an object, as it has where several could be chosen."""
    chosen = given.get("choices") if isinstance(given, dict) else given
    if isinstance(chosen, str) and chosen.startswith('{"choices"'):  # of several, in a cell of a CSV
        raise TableError(expected(where, what, given))
    if not isinstance(chosen, (list, tuple)):
        return LEFT_OPEN if chosen in (None, "") else chosen
    if len(chosen) > 1 or not all(isinstance(one, (str, int)) for one in chosen):
        raise TableError(expected(where, what, given))
    return chosen[0] if chosen and chosen[0] != "" else LEFT_OPEN


def write_tasks(
    path: Path, asked: list[tuple[Label, str | None]], seen: Mapping[Label, Mapping[str, Any]], choices: Sequence[Label]
) -> int:
    """Write the items (id, who is asked) to a file, with what people see of each, by name; return how many they are.

    A table has a column for the label, and the labels that are allowed and who is asked where these are known.
    """
    items = list(dict.fromkeys(one for one, _ in asked))
    texts = [{"id": one, **seen[one]} for one in items]
    match path.suffix:
        case ".csv":
            import pandas as pd

            own = {"label": ""} | ({"allowed": " or ".join(map(str, choices))} if choices else {})
            rows = [
                {"id": one} | {f"item {name}" * (name in TAKEN) or name: cell for name, cell in seen[one].items()} | own
                for one, _ in asked
            ]
            table = pd.DataFrame(rows, dtype=object)
            names: Any = [who for _, who in asked]
            named = any(who is not None for who in names)
            write_csv(table.assign(annotator=names) if named else table.drop_duplicates(), path)
        case ".jsonl":
            path.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in texts), encoding="utf-8")
        case ".json":  # Label Studio writes a number of its own over `id` in its smaller exports
            given = [{"data": {OWN: line["id"], **line}} for line in texts]
            path.write_text(json.dumps(given, ensure_ascii=False, indent=1), encoding="utf-8")
        case _:
            raise ArgumentError(expected("path", "a file that ends in .csv, .jsonl or .json", str(path)))
    return len(items)


def read_labels(source: Any, encoding: str | None, name: str, control: str | None = None) -> list[Said]:
    """Return what a file or a data frame, called `name`, says about items, label by label; an encoding of None
    is detected, and so is the control or the column that holds the labels.

    Raises
    ------
    ArgumentError, TableError
        If the file cannot be read, or holds no labels of items.
    """
    if is_frame(source):
        return labels_of(_records(source, name, control), name, control)
    path = Path(source)
    encoding = None if encoding is None else read_encoding("encoding", encoding)
    if format_of(path) in ("json", "jsonl"):
        rows = ((f"{name}, {where}", row) for where, row in rows_of(text_of(path, encoding), name))
        return labels_of(rows, name, control)
    table = read_table(path, text=EVERY, given=TableOptions(encoding=encoding))
    return labels_of(_records(table, name, control), name, control)


def _records(frame: object, name: str, control: str | None) -> Iterable[tuple[str, Any]]:
    table = as_pandas(frame, name)
    if not {"id", OWN} & set(table.columns) or not {*(LABELS if control is None else [control])} & set(table.columns):
        raise TableError(expected(name, f"the columns id and {control or 'label'}", list(table.columns)))
    cells = table.astype(object).where(table.notna(), None)
    return [(f"{name}, row {number}", row) for number, row in enumerate(cells.to_dict("records"), 1)]
