"""Graphs that people write down: arrows between columns, and unobserved causes that two columns share."""

from __future__ import annotations

import re
from itertools import count, pairwise
from typing import Any

from evenhand.arguments import in_sequence
from evenhand.errors import ArgumentError, Wording, expected

Arcs = tuple[tuple[str, str], ...]
ARROW = re.compile(r"\s*(<-+>|<-+|-+>)\s*")
BETWEEN = re.compile(r"[,;\r\n]")
"""What stands between the parts of a graph; a line may end or begin with an arrow."""
QUOTED = re.compile(r"""(?<![^\s,;>-])(["'])(.*?)\1(?![^\s,;<-])""")
"""A name in quotation marks, whatever signs it holds."""
PLACE = re.compile(r"\0(\d+)\0")
"""Where such a name stood."""
FOREIGN = re.compile(r'--|=>|#|//|[\[\]|"\0]')
"""Signs of comments, attributes and other notations, which are no part of a name."""
DRAWN = re.compile(r"[^{]*\{|\s*(?:strict\s+)?digraph\b(?!\s*<?-)")
"""A graph in the language of a drawing program."""


def read_edges(edges: Any) -> tuple[Arcs, Arcs]:
    """Return arrows and latent arcs from "sex -> dose -> cured, dose <-> cured", or arrows from pairs (parent, child).

    The parts of a text are separated by commas, semicolons or lines; arrows may be longer, and point to the left. A
    name may be quoted, and must be where it contains the symbols of a graph.

    >>> read_edges("sex -> dose -> cured, dose <-> age")
    ((('sex', 'dose'), ('dose', 'cured')), (('dose', 'age'),))
    >>> read_edges("dose <-- sex --> 'weight, kg'")[0]
    (('sex', 'dose'), ('sex', 'weight, kg'))

    Raises
    ------
    ArgumentError
        If it is neither, or says an arrow twice.
    """
    if not isinstance(edges, str):
        return read_pairs("edges", edges), ()
    quoted = [name for _, name in QUOTED.findall(edges)]
    at = count()
    text = QUOTED.sub(lambda _: f"\0{next(at)}\0", edges)
    if DRAWN.match(text):
        hint = "leave out digraph, braces and attributes"
        raise ArgumentError(expected("edges", "only arrows, parent -> child; parent -> child", edges, hint))
    arrows: list[tuple[str, str]] = []
    arcs: list[tuple[str, str]] = []
    for part in filter(str.strip, BETWEEN.split(ARROW.sub(r" \1 ", text))):
        first, *others = ARROW.split(part.strip())
        names = [_name(name, quoted) for name in (first, *others[1::2])]
        if not others or not all(names):
            raise ArgumentError(expected("edges", "parent -> child, parent -> child, or a <-> b", _read(part, quoted)))
        for arrow, (left, right) in zip(others[::2], pairwise(names), strict=True):
            found = arcs if arrow[0] + arrow[-1] == "<>" else arrows
            found.append((left, right) if arrow[-1] == ">" else (right, left))
    return read_pairs("edges", arrows), read_pairs("edges", arcs)


def _name(written: str, quoted: list[str]) -> str:
    """Return a name, without its quotation marks; or refuse signs that no name holds without them."""
    if PLACE.fullmatch(written):
        return _read(written, quoted)
    if FOREIGN.search(written):
        hint = "leave out comments, attributes and other signs, or put a name that holds them in quotation marks"
        raise ArgumentError(expected("edges", "only names and arrows", _read(written, quoted), hint))
    return written


def _read(text: str, quoted: list[str]) -> str:
    return PLACE.sub(lambda at: quoted[int(at[1])], text.strip())


def read_latent(latent: Any) -> Arcs:
    """Return pairs of nodes that share an unobserved cause, from pairs or from "a <-> b, c <-> d".

    Raises
    ------
    ArgumentError
        If it is neither.
    """
    if not isinstance(latent, str):
        return read_pairs("latent", latent)
    arrows, arcs = read_edges(latent)
    if arrows:
        raise ArgumentError(expected("latent", "pairs a <-> b", " -> ".join(arrows[0])))
    return arcs


def read_pairs(name: str, pairs: Any) -> Arcs:
    """Return pairs of different names, each once."""
    what = "pairs of names such as ('sex', 'dose')"
    found = []
    for pair in in_sequence(name, pairs, what):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not all(isinstance(end, str) for end in pair):
            raise ArgumentError(expected(name, what, pair))
        if pair[0] == pair[1]:
            raise ArgumentError(expected(name, "two different nodes", tuple(pair)))
        found.append((pair[0], pair[1]))
    if len(set(found)) < len(found):
        raise ArgumentError(expected(name, "each pair once", next(pair for pair in found if found.count(pair) > 1)))
    return tuple(found)


def parents_of(arrows: Arcs, latent: Arcs) -> dict[str, list[str]]:
    """Return the parents of every node, parents in the order in which their arrows are written."""
    if not arrows:
        raise ArgumentError(expected("edges", "at least one arrow parent -> child", Wording("none")))
    parents: dict[str, list[str]] = {node: [] for pair in (*arrows, *latent) for node in pair}
    for parent, child in arrows:
        parents[child].append(parent)
    return parents
