"""Items and labels in the files that labelling tools read and write: CSV, Prodigy's JSON lines, Label Studio's JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from evenhand.data.csv_files import EVERY, write_csv
from evenhand.data.files import format_of, read_table
from evenhand.data.json_files import rows_of
from evenhand.data.text_files import text_of
from evenhand.errors import ArgumentError, TableError, UnknownTicketError, wanted
from evenhand.frames import as_pandas, is_frame
from evenhand.protocol import Label

__all__ = ["LEFT_OPEN", "read_labels", "write_tasks"]

LEFT_OPEN: Final = object()
"""What stands for a label where an annotator gave none."""
Row = tuple[Label, Any, str | None]
Rows = list[tuple[str, dict[str, Any]]]


def write_tasks(path: Path, tasks: list[tuple[Label, Label, str]]) -> int:
    """Write (id, group, text) of the items to a file, and return how many they are."""
    match path.suffix:
        case ".csv":
            import pandas as pd

            write_csv(pd.DataFrame(tasks, columns=["id", "group", "text"], dtype=object), path)
        case ".jsonl":
            lines = [{"id": one, "text": text, "meta": {"group": group}} for one, group, text in tasks]
            path.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), encoding="utf-8")
        case ".json":
            given = [{"data": {"id": one, "text": text, "group": group}} for one, group, text in tasks]
            path.write_text(json.dumps(given, ensure_ascii=False, indent=1), encoding="utf-8")
        case _:
            raise ArgumentError(wanted("path", "a file that ends in .csv, .jsonl or .json", str(path)))
    return len(tasks)


def read_labels(source: Any, items: dict[str, Label]) -> list[Row]:
    """Return (id, label, annotator) of every line: None rejects the item, `LEFT_OPEN` leaves it open.

    `source` is a file or a data frame. `items` finds an id by its text, as CSV files hold text alone.

    Raises
    ------
    ArgumentError, TableError
        If the file cannot be read, or is no such file.
    UnknownTicketError
        If no item has an id.
    """
    if is_frame(source):
        return _of_items(_from_frame(source, "labels"), "labels", items)
    path = Path(source)
    if format_of(path) not in ("json", "jsonl"):
        return _of_items(_from_frame(read_table(path, text=EVERY), path.name), path.name, items)
    rows = rows_of(text_of(path), path.name)
    read = _from_label_studio if rows and "data" in rows[0][1] else _from_lines
    return _of_items(read(rows, path.name), path.name, items)


def _of_items(lines: Iterable[tuple[Any, Any, Any]], name: str, items: dict[str, Label]) -> list[Row]:
    rows: list[Row] = []
    for place, (given, label, annotator) in enumerate(lines, 1):
        item = items.get(str(given))
        if item is None:
            raise UnknownTicketError(wanted(f"{name}, label {place}", "the id of an item of this queue", given))
        rows.append((item, label, str(annotator) if annotator not in (None, "") else None))
    return rows


def _from_frame(frame: Any, name: str) -> Iterable[tuple[Any, Any, Any]]:
    table = as_pandas(frame, name)
    if not {"id", "label"} <= set(table.columns):
        raise TableError(wanted(name, "the columns id and label", list(table.columns)))
    for line in table.astype(object).where(table.notna(), None).to_dict("records"):
        rejected = str(line.get("rejected") or "").strip().lower() in ("1", "true", "yes")
        yield line["id"], None if rejected else _label(line["label"]), line.get("annotator")


def _from_lines(rows: Rows, name: str) -> Iterable[tuple[Any, Any, Any]]:
    for where, row in rows:
        if "id" not in row:
            raise TableError(wanted(f"{name}, {where}", "an id", row))
        accepted = row.get("accept")
        label = accepted[0] if isinstance(accepted, list) and len(accepted) == 1 else row.get("label")
        answer = row.get("answer", "accept")
        meaning = {"accept": _label(label), "reject": None, "ignore": LEFT_OPEN}
        if answer not in meaning:
            raise TableError(wanted(f"{name}, {where}", "accept, reject or ignore", answer))
        yield row["id"], meaning[answer], row.get("annotator", row.get("_annotator_id"))


def _from_label_studio(tasks: Rows, name: str) -> Iterable[tuple[Any, Any, Any]]:
    for place, task in tasks:
        where = f"{name}, {place}"
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


def _label(given: Any) -> Any:
    """Return a label: whole numbers as such, as they are in a queue, and an empty one as none at all."""
    if given is None or given == "":
        return LEFT_OPEN
    try:
        return int(given) if isinstance(given, str) else given
    except ValueError:
        return given
