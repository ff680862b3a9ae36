"""Items and labels in files: tables, JSON lines as Doccano has them, Label Studio's JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from evenhand.data.csv_files import EVERY, write_csv
from evenhand.data.files import Given, format_of, read_table
from evenhand.data.json_files import rows_of
from evenhand.data.text_files import checked_encoding, text_of
from evenhand.errors import ArgumentError, TableError, wanted
from evenhand.frames import as_pandas, is_frame
from evenhand.protocol import Label
from evenhand.sampling.labelling.label_records import LABELS, OWN, Said, labels_of


class LabelFile(NamedTuple):
    """A file of labels, and how its text is encoded; None is found out."""

    path: str | os.PathLike[str]
    encoding: str | None = None


def write_tasks(path: Path, asked: list[tuple[Label, Label, str, str | None]]) -> int:
    """Write (id, group, text) of the items to a file, and to a table also who is asked, where these have names; return
    how many items they are.
    """
    tasks = list(dict.fromkeys(task[:3] for task in asked))
    match path.suffix:
        case ".csv":
            import pandas as pd

            rows = pd.DataFrame(asked, columns=["id", "group", "text", "annotator"], dtype=object)
            unnamed = rows["annotator"].isna().all()
            write_csv(rows.drop(columns="annotator").drop_duplicates() if unnamed else rows, path)
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
    """Return what a `LabelFile` or a data frame, called `name`, says of items, label by label.

    Raises
    ------
    ArgumentError, TableError
        If the file cannot be read, or holds no labels of items.
    """
    if is_frame(source):
        return labels_of(_records(source, name), name)
    path = Path(source.path)
    encoding = None if source.encoding is None else checked_encoding("encoding", source.encoding)
    if format_of(path) in ("json", "jsonl"):
        rows = ((f"{name}, {where}", row) for where, row in rows_of(text_of(path, encoding), name))
        return labels_of(rows, name)
    return labels_of(_records(read_table(path, text=EVERY, given=Given(encoding=encoding)), name), name)


def _records(frame: Any, name: str) -> Iterable[tuple[str, Any]]:
    table = as_pandas(frame, name)
    if not {"id", OWN} & set(table.columns) or not set(LABELS) & set(table.columns):
        raise TableError(wanted(name, "the columns id and label", list(table.columns)))
    cells = table.astype(object).where(table.notna(), None)
    return [(f"{name}, row {number}", row) for number, row in enumerate(cells.to_dict("records"), 1)]
