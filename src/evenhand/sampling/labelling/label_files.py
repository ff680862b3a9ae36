"""Items and labels in files: tables, JSON lines as Prodigy and Doccano have them, Label Studio's JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from evenhand.errors import ArgumentError, TableError, wanted, why_unreadable
from evenhand.frames import as_pandas, is_frame
from evenhand.protocol import Label
from evenhand.sampling.labelling.label_records import LABELS, OWN, Said, labels_of

__all__ = ["read_labels", "write_tasks"]

Records = Iterable[tuple[str, Any]]


def write_tasks(path: Path, tasks: list[tuple[Label, Label, str]]) -> int:
    """Write (id, group, text) of the items to a file, and return how many they are."""
    match path.suffix:
        case ".csv":
            with path.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([("id", "group", "text"), *tasks])
        case ".jsonl":
            lines = [{"id": one, "text": text, "meta": {"group": group}} for one, group, text in tasks]
            path.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), encoding="utf-8")
        case ".json":  # Label Studio writes a number of its own over `id` in its smaller exports
            given = [{"data": {"id": one, OWN: one, "text": text, "group": group}} for one, group, text in tasks]
            path.write_text(json.dumps(given, ensure_ascii=False, indent=1), encoding="utf-8")
        case _:
            raise ArgumentError(wanted("path", "a file that ends in .csv, .jsonl or .json", str(path)))
    return len(tasks)


def read_labels(source: Any, name: str) -> list[Said]:
    """Return what a file, or a data frame called `name`, says of items, label by label.

    Raises
    ------
    ArgumentError, TableError
        If the file cannot be read, or holds no labels of items.
    """
    if is_frame(source):
        return labels_of(_from_frame(source, name), name)
    path = Path(source)
    readers = {".csv": _from_csv, ".jsonl": _from_lines, ".json": _from_json}
    if path.suffix not in readers:
        raise ArgumentError(wanted("path", "a file that ends in .csv, .jsonl or .json", str(path)))
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise TableError(f"{path}: cannot be read: {why_unreadable(error)}") from error
    return labels_of(readers[path.suffix](text, path.name), path.name)


def _from_csv(text: str, name: str) -> Records:
    lines = csv.DictReader(io.StringIO(text, newline=""))
    _check_columns(lines.fieldnames or (), name)
    return [(f"{name}, line {lines.line_num}", line) for line in lines]


def _from_frame(frame: Any, name: str) -> Records:
    table = as_pandas(frame, name)
    _check_columns(list(table.columns), name)
    cells = table.astype(object).where(table.notna(), None)
    return [(f"{name}, row {number}", row) for number, row in enumerate(cells.to_dict("records"), 1)]


def _check_columns(columns: Sequence[Any], name: str) -> None:
    if not {"id", OWN} & set(columns) or not set(LABELS) & set(columns):
        raise TableError(wanted(name, "the columns id and label", list(columns)))


def _from_lines(text: str, name: str) -> Records:
    lines = [(f"{name}, line {number}", line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    return [(place, _parsed(line, place)) for place, line in lines]


def _from_json(text: str, name: str) -> Records:
    tasks = _parsed(text, name)
    if isinstance(tasks, dict) and "data" in tasks:  # older Label Studio writes a file for each task
        tasks = [tasks]
    if not isinstance(tasks, list):
        raise TableError(wanted(name, "a list of tasks, as Label Studio exports it", tasks))
    return [(f"{name}, task {number}", task) for number, task in enumerate(tasks, 1)]


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise TableError(f"{where}: no JSON: {error}") from error
