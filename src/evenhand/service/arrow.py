"""Batches as Arrow streams, with one row per decision or report.

A stream has few plain types, no dictionaries and no compression, so that a small body cannot grow into a large table.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from evenhand.errors import TableError, wanted
from evenhand.service.errors import Refusal

__all__ = ["MEDIA_TYPE", "decisions_stream", "read_stream", "results_stream"]

MEDIA_TYPE = "application/vnd.apache.arrow.stream"
COLUMNS = {
    "ask": "contexts (a list of rows of numbers), groups (lists, a group for each arm), available (lists of arms), "
    "segment, count (numbers), annotator, subject, key (text)",
    "tell": "ticket (text), reward (numbers, or lists of them), violations, acceptable (lists of pairs), label, "
    "auditor, annotator (text)",
}
RECORD_BATCH = 3


def read_stream(body: bytes, kind: str, most: int) -> list[dict[str, Any]]:
    """Return the rows of a stream as dicts; nulls are left out.

    Raises
    ------
    Refusal
        400 if it is not an Arrow stream, 413 if it has more than `most` rows.
    TableError
        If a column is unknown or of another type, or the buffers are compressed.
    """
    try:
        reader = pa.ipc.open_stream(body)
        _check_types(reader.schema, kind)
        _check_plain(body)
        batches, rows = [], 0
        for batch in reader:
            rows += batch.num_rows
            if rows > most:
                raise Refusal(413, f"more than {most} rows; send smaller batches")
            batch.validate(full=True)
            batches.append(batch)
        columns = pa.Table.from_batches(batches, reader.schema).to_pydict()
    except (pa.ArrowException, struct.error, IndexError, OSError, UnicodeDecodeError) as error:
        raise Refusal(400, f"the body is not an Arrow stream: {str(error)[:200]}") from error
    names = list(columns)
    return [
        {name: value for name, value in zip(names, row, strict=True) if value is not None}
        for row in zip(*columns.values(), strict=True)
    ]


def decisions_stream(rows: Sequence[dict[str, Any]]) -> bytes:
    """Return decisions as a stream; each row is a decision as in JSON, or has an "error"."""
    return _stream(rows, _DECISION)


def results_stream(rows: Sequence[dict[str, Any]]) -> bytes:
    """Return the outcomes of reports as a stream."""
    return _stream(rows, _RESULT)


_DECISION = {
    "ticket": pa.string(),
    "id": pa.int64(),
    "round": pa.int64(),
    "arm": pa.string(),
    "group": pa.string(),
    "index": pa.int64(),
    "count": pa.int64(),
    "probabilities": pa.list_(pa.float64()),
    "reason": pa.string(),
    "arms": pa.list_(pa.string()),
    "indexes": pa.list_(pa.int64()),
}
_RESULT = {"ticket": pa.string(), "status": pa.string()}


def _stream(rows: Sequence[dict[str, Any]], types: dict[str, pa.DataType]) -> bytes:
    schema = pa.schema({**types, "error": pa.string(), "message": pa.string()})
    table = pa.Table.from_pylist([_flat(row) for row in rows], schema=schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with labels as text, and with the name and the message of its error."""
    texts = {name: str(row[name]) for name in ("arm", "group") if row.get(name) is not None}
    several = {"arms": [str(arm) for arm in row["arms"]]} if "arms" in row else {}
    error = row.get("error") or {}
    return {**row, **texts, **several, "error": error.get("name"), "message": error.get("message")}


def _check_types(schema: pa.Schema, kind: str) -> None:
    if len(set(schema.names)) != len(schema.names):
        raise TableError(wanted("columns", "each name once", schema.names))
    names = dict.fromkeys(("annotator", "subject", "key") if kind == "ask" else ("auditor", "annotator"), _is_text)
    takes = (
        names
        | {
            "ask": {
                "contexts": lambda t: _is_list(t) and _is_list(t.value_type) and _is_number(t.value_type.value_type),
                "groups": _is_labels,
                "available": _is_labels,
                "segment": _is_label,
                "count": pa.types.is_integer,
            },
            "tell": {
                "ticket": _is_text,
                "reward": lambda t: _is_number(t) or (_is_list(t) and _is_number(t.value_type)),
                "violations": _is_pairs,
                "acceptable": _is_pairs,
                "label": _is_label,
            },
        }[kind]
    )
    if not schema.names:
        raise TableError(wanted("columns", COLUMNS[kind], "none"))
    for field in schema:
        if field.name not in takes:
            raise TableError(wanted("columns", COLUMNS[kind], field.name))
        if not takes[field.name](field.type):
            raise TableError(wanted(f"column {field.name}", COLUMNS[kind], str(field.type)))


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _is_label(kind: pa.DataType) -> bool:
    return _is_text(kind) or pa.types.is_integer(kind)


def _is_labels(kind: pa.DataType) -> bool:
    return _is_list(kind) and _is_label(kind.value_type)


def _is_pairs(kind: pa.DataType) -> bool:
    return _is_list(kind) and _is_list(kind.value_type) and pa.types.is_integer(kind.value_type.value_type)


def _check_plain(body: bytes) -> None:
    """Refuse compressed buffers: field 3 of each record batch's flatbuffer is its compression."""
    for message in pa.ipc.MessageReader.open_stream(body):
        meta = message.metadata.to_pybytes()
        (root,) = struct.unpack_from("<I", meta, 0)
        kind = _field(meta, root, 1)
        if kind is None or meta[kind] != RECORD_BATCH:
            continue
        header = _field(meta, root, 2)
        if header is None:
            continue
        (offset,) = struct.unpack_from("<I", meta, header)
        if _field(meta, header + offset, 3) is not None:
            raise TableError(wanted("body", "an Arrow stream without compression", "compressed buffers"))


def _field(meta: bytes, table: int, number: int) -> int | None:
    """Return the offset of a field in a flatbuffer's table, None if it is missing."""
    (back,) = struct.unpack_from("<i", meta, table)
    vtable = table - back
    (size,) = struct.unpack_from("<H", meta, vtable)
    slot = 4 + 2 * number
    if slot >= size:
        return None
    (offset,) = struct.unpack_from("<H", meta, vtable + slot)
    return table + offset if offset else None
