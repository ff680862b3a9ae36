"""Write a part of a log to a Parquet file, in the form that `evenhand.studies.log.segment_files` describes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import orjson

from evenhand.extras import optional
from evenhand.studies.log.chain import Entry
from evenhand.studies.log.codec import from_text
from evenhand.studies.log.log import CLOSED
from evenhand.studies.log.segment_files import KEY, STORED, Contents

__all__ = ["write_segment"]

DECISIONS = 8_192
"""Decisions in a row group, which is read at once."""


def write_segment(
    path: str,
    entries: Iterable[Entry],
    closing: Callable[[int, int], dict[int, Entry]],
    numbered: bool,
    log: dict[str, Any],
) -> tuple[Contents, int]:
    """Write entries that follow one another, a decision last, to a new file, and wait until it is on disk.

    Parameters
    ----------
    closing : returns the entries that closed the tickets from one number to another.
    numbered : whether arms are whole numbers; otherwise they are text.
    log : the fields of `Contents` that are about the log.

    Returns
    -------
    tuple
        What the metadata say, and the last entry that closed one of the tickets.
    """
    pq = optional("pyarrow.parquet", "a segment of a log")
    starts: list[Entry] = []
    ends: list[Entry] = []
    rounds: list[int | None] = []
    closed_by = 0
    with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        with pq.ParquetWriter(file, _schema(numbered), compression="zstd") as writer:
            for group in _groups(entries):
                asks = [entry for entry in group if entry.kind == "ask"]
                closings = closing(asks[0].ticket or 0, asks[-1].ticket or 0)
                table = _table(group, asks, [closings[ask.ticket or 0] for ask in asks], numbered)
                writer.write_table(table)
                starts.append(group[0])
                ends.append(group[-1])
                rounds += table["round"].to_pylist()[:: max(1, table.num_rows - 1)]
                closed_by = max(closed_by, *(entry.sequence for entry in closings.values()))
            contents = Contents(
                **log,
                first=starts[0].sequence,
                last=ends[-1].sequence,
                rounds=[rounds[0], rounds[-1]],
                first_digest=starts[0].digest,
                ends=[entry.sequence for entry in ends],
                tickets=[entry.ticket or 0 for entry in ends],
                digests=[entry.digest for entry in ends],
            )
            writer.add_key_value_metadata({KEY: orjson.dumps(contents._asdict())})
        file.flush()
        os.fsync(file.fileno())
    return contents, closed_by


def _groups(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    group: list[Entry] = []
    asks = 0
    for entry in entries:
        group.append(entry)
        asks += entry.kind == "ask"
        if asks == DECISIONS:
            yield group
            group, asks = [], 0
    if group:
        yield group


def _schema(numbered: bool) -> Any:
    pa = optional("pyarrow", "a segment of a log")
    text, time = pa.string(), pa.timestamp("us", "UTC")
    entry = dict.fromkeys(STORED, text) | {"ticket": pa.int64(), "at": time}
    decided = {"index": pa.int64(), "reason": text, "probabilities": pa.list_(pa.float64())}
    outcome = {"status": text, "told_at": time, "reward": pa.float64(), "rewards": pa.list_(pa.float64())}
    log = {name: entry[name] for name in STORED if name not in ("kind", "ticket", "at")}
    return pa.schema(
        {"ticket": pa.int64(), "round": pa.int64(), "at": time, "arm": pa.int64() if numbered else text}
        | {"arms": pa.list_(text)}
        | decided
        | outcome
        | {"sequence": pa.int64(), "closed": pa.int64()}
        | log
        | {"entries": pa.list_(pa.struct(entry))}
    )


def _table(group: Sequence[Entry], asks: Sequence[Entry], closings: Sequence[Entry], numbered: bool) -> Any:
    pa = optional("pyarrow", "a segment of a log")
    schema = _schema(numbered)
    decided = [from_text(ask.decision) for ask in asks]
    told = [from_text(entry.given).get("reward") if entry.kind == "tell" else None for entry in closings]
    arms = [one.get("arm", one.get("group")) for one in decided]
    plain: dict[str, Any] = {
        "round": [one.get("round", one.get("phase")) for one in decided],
        "arm": arms if numbered else [None if arm is None else _text(arm) for arm in arms],
        "arms": [None if "arms" not in one else [_text(arm) for arm in one["arms"]] for one in decided],
        "index": [one.get("index") for one in decided],
        "reason": [one.get("reason") for one in decided],
        "probabilities": [one.get("probabilities") for one in decided],
        "status": [CLOSED[entry.kind] for entry in closings],
        "told_at": [entry.at if entry.kind == "tell" else None for entry in closings],
        "reward": [float(reward) if isinstance(reward, (int, float)) else None for reward in told],
        "rewards": [reward if isinstance(reward, list) else None for reward in told],
        "closed": [entry.sequence for entry in closings],
    }
    others = [entry for entry in group if entry.kind != "ask"]
    places = np.array([entry.sequence for entry in asks]) - group[0].sequence
    offsets = np.array([0, *(places - np.arange(len(asks)))], np.int32)
    struct = schema.field("entries").type.value_type
    parts = [pa.array(_column(others, name), struct.field(name).type) for name in STORED]
    lists = pa.ListArray.from_arrays(pa.array(offsets), pa.StructArray.from_arrays(parts, fields=list(struct)))
    columns = [
        lists if name == "entries" else pa.array(plain[name] if name in plain else _column(asks, name), kind)
        for name, kind in zip(schema.names, schema.types, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _column(entries: Sequence[Entry], name: str) -> list[Any]:
    place = Entry._fields.index(name)
    return [entry[place] for entry in entries]


def _text(arm: Any) -> str:
    return arm if isinstance(arm, str) else orjson.dumps(arm).decode()
