"""A small reader of BIF files, the interchange format of discrete Bayesian networks.

Source: F. Cozman and others, "Interchange Format for Bayesian Networks" (1998), the 0.15 grammar as the bnlearn
repository writes it: discrete variables, `table` entries, entries by parents' states, `default` entries; properties
are skipped.
"""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import TableError

__all__ = ["Network", "read_bif"]

Network = tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]], dict[str, NDArray[np.float64]]]

_TOKEN = re.compile(r'"[^"]*"|[{}()\[\];,|]|[^\s{}()\[\];,|"]+')
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_PROPERTY = re.compile(r"\bproperty\b[^;]*;")


def read_bif(path: str | os.PathLike[str]) -> Network:
    """Return states, parents and tables of the network in a BIF file, which may be gzipped.

    A table has one axis a parent, in the order of the file, and the variable's own axis last.

    Raises
    ------
    TableError
        If the file is absent, or is not BIF; the message names the variable.
    """
    source = Path(path)
    if not source.is_file():
        raise TableError(f"{source}: no such file")
    raw = source.read_bytes()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8", errors="replace")
    text = _PROPERTY.sub(" ", _COMMENT.sub(" ", text))
    tokens = [token.strip('"') for token in _TOKEN.findall(text)]
    states: dict[str, tuple[str, ...]] = {}
    parents: dict[str, tuple[str, ...]] = {}
    tables: dict[str, NDArray[np.float64]] = {}
    for kind, head, body in _blocks(tokens, source):
        if kind == "variable":
            states[head[0]] = _states(body, head[0], source)
        elif kind == "probability":
            names = [token for token in head if token not in ("(", ")", "|", ",")]
            unknown = [name for name in names if name not in states]
            if not names or unknown:
                raise TableError(f"{source}: probability of {names or 'nothing'}: {unknown} are not declared before")
            parents[names[0]] = tuple(names[1:])
            tables[names[0]] = _table(body, names, states, source)
    if not states or set(states) != set(tables):
        raise TableError(f"{source}: not a BIF network; without probabilities: {sorted(set(states) - set(tables))}")
    return states, parents, tables


def _blocks(tokens: list[str], source: Path) -> list[tuple[str, list[str], list[str]]]:
    """Split into (keyword, what stands before the brace, what stands inside)."""
    blocks, at = [], 0
    while at < len(tokens):
        try:
            opened = tokens.index("{", at)
            depth, closed = 1, opened
            while depth:
                closed += 1
                depth += {"{": 1, "}": -1}.get(tokens[closed], 0)
        except (ValueError, IndexError):
            raise TableError(f"{source}: not a BIF file, or truncated: a block at {tokens[at]!r} has no end") from None
        blocks.append((tokens[at], tokens[at + 1 : opened], tokens[opened + 1 : closed]))
        at = closed + 1
    return blocks


def _states(body: list[str], name: str, source: Path) -> tuple[str, ...]:
    if "{" not in body or "discrete" not in body:
        raise TableError(f"{source}: variable {name}: wanted `type discrete [n] {{ ... }}`")
    inside = body[body.index("{") + 1 : body.index("}")]
    return tuple(token for token in inside if token != ",")


def _table(body: list[str], names: list[str], states: dict[str, tuple[str, ...]], source: Path) -> NDArray[np.float64]:
    shape = tuple(len(states[name]) for name in (*names[1:], names[0]))
    table = np.full(shape, np.nan)
    own = shape[-1]
    for line in _lines(body):
        try:
            if line[0] == "table":
                table[...] = np.moveaxis(np.array(line[1:], float).reshape((own, *shape[:-1])), 0, -1)
            elif line[0] == "default":
                row = np.array(line[1:], float)
                table[np.isnan(table[..., 0])] = row
            else:
                given = line[1 : line.index(")")]
                at = tuple(states[parent].index(state) for parent, state in zip(names[1:], given, strict=True))
                table[at] = np.array(line[line.index(")") + 1 :], float)
        except ValueError as error:
            raise TableError(
                f"{source}: probability of {names[0]}: cannot read {' '.join(line)!r} ({error})"
            ) from error
    if np.isnan(table).any():
        raise TableError(f"{source}: probability of {names[0]}: some parents' states have no entry")
    return table


def _lines(body: list[str]) -> list[list[str]]:
    """Return the entries between semicolons, commas left out, `default` last so that it fills what is open."""
    lines: list[list[str]] = [[]]
    for token in body:
        if token == ";":
            lines.append([])
        elif token != ",":
            lines[-1].append(token)
    return sorted((line for line in lines if line), key=lambda line: line[0] == "default")
