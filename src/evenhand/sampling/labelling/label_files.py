"""Items and labels in the files that labelling tools read and write: CSV, Prodigy's JSON lines, Label Studio's JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from evenhand.errors import ArgumentError, TableError, UnknownTicketError, wanted, why_unreadable
from evenhand.frames import as_pandas, is_frame
from evenhand.protocol import Label, find_label, labels_of_texts, places

__all__ = ["LEFT_OPEN", "read_labels", "write_tasks"]

LEFT_OPEN: Final = object()
"""What stands for a label where an annotator gave none."""
MOST = 10**6
Row = tuple[Label, Any, str | None]


def write_tasks(path: Path, tasks: list[tuple[Label, Label, str]]) -> int:
    """Write (id, group, text) of the items to a file, and return how many they are."""
    match path.suffix:
        case ".csv":
            with path.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([("id", "group", "text"), *tasks])
        case ".jsonl":
            lines = [{"id": one, "text": text, "meta": {"group": group}} for one, group, text in tasks]
            path.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), encoding="utf-8")
        case ".json":
            given = [{"data": {"id": one, "text": text, "group": group}} for one, group, text in tasks]
            path.write_text(json.dumps(given, ensure_ascii=False, indent=1), encoding="utf-8")
        case _:
            raise ArgumentError(wanted("path", "a file that ends in .csv, .jsonl or .json", str(path)))
    return len(tasks)


def read_labels(source: Any, items: Sequence[Label]) -> list[Row]:
    """Return (id, label, annotator) of every line: None rejects the item, `LEFT_OPEN` leaves it open.

    `source` is a file or a data frame, and `items` are all ids. Labels that are texts are numbers where all of them are
    written as whole numbers.

    Raises
    ------
    ArgumentError, TableError
        If the file cannot be read, or is no such file.
    UnknownTicketError
        If no item has an id.
    """
    if is_frame(source):
        return _of_items(_from_frame(source), "labels", items)
    path = Path(source)
    readers = {".csv": _from_csv, ".jsonl": _from_lines, ".json": _from_label_studio}
    if path.suffix not in readers:
        raise ArgumentError(wanted("path", "a file that ends in .csv, .jsonl or .json", str(path)))
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise TableError(f"{path}: cannot be read: {why_unreadable(error)}") from error
    return _of_items(readers[path.suffix](text, path), path.name, items)


def _of_items(lines: Iterable[tuple[Any, Any, Any]], name: str, items: Sequence[Label]) -> list[Row]:
    rows: list[Row] = []
    known = places(items)
    for place, (given, label, annotator) in enumerate(lines, 1):
        at = find_label(given, known)
        if at is None:
            raise UnknownTicketError(wanted(f"{name}, label {place}", "the id of an item of this queue", given))
        rows.append((items[at], label, str(annotator) if annotator not in (None, "") else None))
    texts = [label for _, label, _ in rows if isinstance(label, str)]
    read = dict(zip(texts, labels_of_texts(texts), strict=True))
    return [(item, read.get(label, label) if isinstance(label, str) else label, who) for item, label, who in rows]


def _from_csv(text: str, path: Path) -> Iterable[tuple[Any, Any, Any]]:
    lines = csv.DictReader(text.splitlines())
    return _from_table(lines, lines.fieldnames or (), path.name)


def _from_frame(frame: Any) -> Iterable[tuple[Any, Any, Any]]:
    table = as_pandas(frame, "labels")
    cells = table.astype(object).where(table.notna(), None)
    return _from_table(cells.to_dict("records"), list(table.columns), "labels")


def _from_table(lines: Iterable[dict[Any, Any]], columns: Sequence[Any], name: str) -> Iterable[tuple[Any, Any, Any]]:
    if not {"id", "label"} <= set(columns):
        raise TableError(wanted(name, "the columns id and label", list(columns)))
    for line in lines:
        rejected = str(line.get("rejected") or "").strip().lower() in ("1", "true", "yes")
        yield line["id"], None if rejected else _label(line["label"]), line.get("annotator")


def _from_lines(text: str, path: Path) -> Iterable[tuple[Any, Any, Any]]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            row = _object(line, f"{path.name}, line {number}")
            if "id" not in row:
                raise TableError(wanted(f"{path.name}, line {number}", "an id", row))
            accepted = row.get("accept")
            label = accepted[0] if isinstance(accepted, list) and len(accepted) == 1 else row.get("label")
            answer = row.get("answer", "accept")
            meaning = {"accept": _label(label), "reject": None, "ignore": LEFT_OPEN}
            if answer not in meaning:
                raise TableError(wanted(f"{path.name}, line {number}", "accept, reject or ignore", answer))
            yield row["id"], meaning[answer], row.get("annotator", row.get("_annotator_id"))


def _from_label_studio(text: str, path: Path) -> Iterable[tuple[Any, Any, Any]]:
    tasks = _parsed(text, path.name)
    if not isinstance(tasks, list):
        raise TableError(wanted(path.name, "a list of tasks, as Label Studio exports it", tasks))
    for number, task in enumerate(tasks, 1):
        where = f"{path.name}, task {number}"
        try:
            item = task["data"]["id"]
            for annotation in task.get("annotations", ()):
                results, cancelled = annotation["result"], annotation.get("was_cancelled", False)
                choices = [choice for one in results for choice in one["value"].get("choices", ())]
                if len(choices) > 1:
                    raise TableError(wanted(where, "one choice an annotation", choices))
                label = None if cancelled else _label(choices[0] if choices else "")
                yield item, label, annotation.get("completed_by")
        except (KeyError, TypeError, AttributeError) as error:
            raise TableError(wanted(where, "data with an id, and annotations with choices", task)) from error


def _object(text: str, where: str) -> dict[str, Any]:
    value = _parsed(text, where)
    if not isinstance(value, dict):
        raise TableError(wanted(where, "a JSON object", value))
    return value


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise TableError(f"{where}: no JSON: {error}") from error


def _label(given: Any) -> Any:
    """Return a label, and an empty one as none at all."""
    return LEFT_OPEN if given is None or given == "" else given
