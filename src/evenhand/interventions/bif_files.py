"""A small reader of BIF files, the interchange format of discrete Bayesian networks.

Source: F. Cozman and others, "Interchange Format for Bayesian Networks" (1998), the 0.15 grammar as the bnlearn
repository writes it: discrete variables, `table` entries, entries by parents' states, `default` entries; properties
are skipped, and commas and bars are read like blanks.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from evenhand.data.probabilities import summed
from evenhand.data.text_files import text_of
from evenhand.errors import TableError, Wording, argument, expected, is_path
from evenhand.kernels.arrays import Floats

KINDS = ("network", "variable", "probability")
CUT = "not a BIF file, or cut off: "
_SKIPPED = re.compile(
    r'"[^"\n]*"|//[^\n]*|/\*.*?\*/|(?:^|(?<=[;{}]))[ \t]*property\b(?:[^;"{}]|"[^"\n]*")*;', re.DOTALL | re.MULTILINE
)
_NO_TEXT = re.compile("[\0\x80-\x84\x86-\x9f\ufffd]")
_TOKEN = re.compile(r'"([^"]*)"|("|/\*)|([{}()\[\];|]|[^\s{}()\[\];,|"]+)')
States = dict[str, tuple[str, ...]]
Network = tuple[States, dict[str, tuple[str, ...]], dict[str, Floats]]


class Word(str):
    """A word or a sign, or what a quotation holds, with the line in which it stands."""

    line: int


Words = list[Any]
"""Of `Word`, in which a checker of types would look for no text."""


class Block(NamedTuple):
    """`kind head { statements }` of a file."""

    source: Path
    kind: Word
    head: Words
    statements: list[Words]

    def fail(self, message: str, at: Words | None = None) -> NoReturn:
        """Refuse the file with the line of a statement, or of the block."""
        _fail(self.source, self.kind.line if at is None else at[0].line, message)


def read_text(path: str | os.PathLike[str], encoding: str | None) -> tuple[Path, str]:
    """Return a file's path and text, unpacked where its ending says that it is packed.

    Raises
    ------
    TableError
        If there is no such file, it cannot be read or unpacked, or it is not in this encoding.
    """
    if not is_path(path):
        raise TableError(expected("path", "the name of a BIF file", path))
    source = Path(path)
    text = text_of(source, encoding)
    if odd := _NO_TEXT.search(text):
        line = text.count("\n", 0, odd.start()) + 1
        hint = Wording("pass another ", argument("encoding"), ", or save the file as UTF-8")
        raise TableError(expected(f"{source}, line {line}", "text", f"U+{ord(odd[0]):04X}", hint))
    return source, _SKIPPED.sub(_blank, text)


def _blank(found: re.Match[str]) -> str:
    """Put blanks in the place of a comment or a property, so that everything else stays where it was."""
    return found[0] if found[0][0] == '"' else re.sub(r"[^\n]", " ", found[0])


def read_blocks(text: str, source: Path) -> Iterator[Block]:
    """Yield the blocks of a file in their order.

    Raises
    ------
    TableError
        If there is anything else, or a block, a comment or a quotation has no end.
    """
    tokens: Words = list(_words_of(text, source))
    at = 0
    while at < len(tokens):
        kind = tokens[at]
        if kind not in KINDS:
            _fail(source, kind.line, f"not BIF: expected one of {', '.join(KINDS)}, got {kind!r}")
        try:
            opened = closed = tokens.index("{", at)
            while not closed > opened or tokens[opened:closed].count("{") > tokens[opened : closed + 1].count("}"):
                closed = tokens.index("}", closed + 1)
        except ValueError:
            _fail(source, kind.line, f"{CUT}{kind!r} has no end")
        ends = [number for number in range(opened, closed) if tokens[number] == ";"]
        parts = (tokens[first + 1 : last] for first, last in pairwise([opened, *ends, closed]))
        yield Block(source, kind, tokens[at + 1 : opened], list(filter(None, parts)))
        at = closed + 1


def _words_of(text: str, source: Path) -> Iterator[Word]:
    line = at = 0
    for found in _TOKEN.finditer(text):
        line, at = line + text.count("\n", at, found.start()), found.start()
        if found[2]:
            _fail(source, line + 1, f"{CUT}a quotation or a comment has no end")
        token = Word(found[3] or found[1])
        token.line = line + 1
        yield token


def _fail(source: Path, line: int, message: str) -> NoReturn:
    raise TableError(f"{source}, line {line}: {message}")


def read_bif(path: str | os.PathLike[str], encoding: str | None = None) -> Network:
    """Return states, parents and tables of the network in a BIF file, which may be packed, as net.bif.gz is.

    A table has one axis a parent, in the order of the file, and the variable's own axis last. The text is UTF-8, what
    its byte order mark says, or in the encoding that is given.

    Raises
    ------
    TableError
        If the file cannot be read, is in another encoding or not BIF, a block or an entry appears twice, or
        numbers are not the probabilities that the variables need; the message names the line.
    """
    source, text = read_text(path, encoding)
    states: States = {}
    parents: dict[str, tuple[str, ...]] = {}
    tables: dict[str, Floats] = {}
    networks = 0
    for block in read_blocks(text, source):
        if block.kind == "variable":
            if len(block.head) != 1:
                block.fail("expected `variable NAME { ... }`")
            name = str(block.head[0])
            if name in states:
                block.fail(f"variable {name} is declared twice")
            states[name] = _states(block, name)
        elif block.kind == "probability":
            names = _names(block, states)
            if names[0] in tables:
                block.fail(f"probability of {names[0]} appears twice")
            parents[names[0]] = tuple(names[1:])
            tables[names[0]] = _table(block, names, states)
        else:
            networks += 1
            if networks > 1:
                block.fail("a second network; expected one a file")
    if not states or not tables:
        raise TableError(f"{source}: not a BIF network; it has no {'probabilities' if states else 'variables'}")
    return states, parents, tables


def _states(block: Block, name: str) -> tuple[str, ...]:
    expected = f"variable {name}: expected one `type discrete [n] {{ ... }};`"
    if len(block.statements) != 1:
        block.fail(expected)
    (tokens,) = block.statements
    if tokens[:2] != ["type", "discrete"] or "{" not in tokens or tokens[-1] != "}":
        block.fail(expected, tokens)
    opened = tokens.index("{")
    count, found = "".join(tokens[2:opened]), tuple(map(str, tokens[opened + 1 : -1]))
    if count not in ("", f"[{len(found)}]"):
        block.fail(f"variable {name}: {len(found)} states, where {count} were announced", tokens)
    if not found or len(set(found)) < len(found):
        block.fail(f"variable {name}: expected distinct states, got {list(found)}", tokens)
    return found


def _names(block: Block, states: States) -> list[str]:
    """Return the variable that a probability block is of, and its parents."""
    names = [str(token) for token in block.head[1:-1] if token != "|"]
    if block.head[:1] != ["("] or block.head[-1:] != [")"] or not names:
        block.fail(f"expected `probability ( NAME | PARENT, ... )`, got {' '.join(block.head)!r}")
    for name in names:
        if name not in states:
            block.fail(f"probability of {names[0]}: {name} is not declared before")
        if names.count(name) > 1:
            what = "its own parent" if name == names[0] else "a parent twice"
            block.fail(f"probability of {names[0]}: {name} is {what}")
    return names


def _table(block: Block, names: list[str], states: States) -> Floats:
    shape = tuple(len(states[name]) for name in (*names[1:], names[0]))
    of = f"probability of {names[0]}: "
    rows: dict[Any, list[float]] = {}
    """By the numbers of the parents' states, or under "table" and "default"."""
    codes = [{state: code for code, state in enumerate(states[parent])} for parent in names[1:]]
    for statement in block.statements:
        kind: Any = statement[0]
        size, first = (math.prod(shape) if kind == "table" else shape[-1]), 1
        if kind == "(":
            first += len(names)
            kind = tuple(map(dict.get, codes, statement[1:]))
            if statement[first - 1 : first] != [")"] or None in kind:
                known = ", ".join(f"{parent} in {list(states[parent])}" for parent in names[1:])
                known = known or "it has none"
                block.fail(f"{of}expected a row for states of its parents: {known}", statement)
        elif kind not in ("table", "default"):
            block.fail(f"{of}expected `table`, `default` or a row `(STATES) NUMBERS;`, got {kind!r}", statement)
        if kind in rows:
            block.fail(f"{of}{' '.join(statement[:first])} appears twice", statement)
        rows[kind] = _numbers(block, statement, first, size, of)
    if "table" in rows:
        if len(rows) > 1:
            block.fail(f"{of}`table` beside rows; expected either")
        table = np.moveaxis(np.reshape(rows["table"], (shape[-1], *shape[:-1])), 0, -1)
    else:
        every = list(np.ndindex(shape[:-1]))
        if "default" not in rows and len(rows) < len(every):
            missing = next(at for at in every if at not in rows)
            block.fail(f"{of}no row for {_words(missing, names, states)}")
        table = np.reshape([rows[at] if at in rows else rows["default"] for at in every], shape)
    read = summed(table.reshape(-1, shape[-1]))
    if (row := read.wrong) is not None:
        at = tuple(int(i) for i in np.unravel_index(row, shape[:-1])) if shape[:-1] else ()
        where = f"the row for {_words(at, names, states)}"
        block.fail(f"{of}{where} sums to {read.sums[row]:.6g}, not to one; {read.hint(row)}")
    return table


def _numbers(block: Block, statement: Words, first: int, size: int, of: str) -> list[float]:
    tokens = statement[first:]
    if len(tokens) != size:
        block.fail(f"{of}expected {size} numbers, got {len(tokens)}", statement)
    try:
        found = [float(token) for token in tokens]
    except ValueError:
        found = [math.nan]
    if not all(0.0 <= number < math.inf for number in found) or "_" in "".join(tokens):
        block.fail(f"{of}expected probabilities >= 0, got {' '.join(tokens)!r}", statement)
    return found


def _words(at: tuple[int, ...], names: list[str], states: States) -> str:
    """Write the states of the parents, "(yes, no)"."""
    return f"({', '.join(states[name][i] for name, i in zip(names[1:], at, strict=True))})"
