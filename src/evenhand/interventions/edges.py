"""Graphs that people write down: arrows between columns, and unobserved causes that two columns share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from evenhand.errors import ArgumentError, wanted

__all__ = ["Arcs", "parents_of", "read_edges", "read_latent"]

Arcs = tuple[tuple[str, str], ...]
ARROW = re.compile(r"\s*(<->|->)\s*")
BETWEEN = re.compile(r"[,;\r\n]")
"""What stands between the parts of a graph; a line may end or begin with an arrow."""
DRAWN = re.compile(r"[^{]*\{|\s*(?:strict\s+)?digraph\b(?!\s*<?->)")
"""A graph in the language of a drawing program."""


def read_edges(edges: Any) -> tuple[Arcs, Arcs]:
    """Return arrows and latent arcs from "sex -> dose -> cured, dose <-> cured", or arrows from pairs (parent, child).

    The parts of a text are separated by commas, semicolons or lines.

    >>> read_edges("sex -> dose -> cured, dose <-> age")
    ((('sex', 'dose'), ('dose', 'cured')), (('dose', 'age'),))

    Raises
    ------
    ArgumentError
        If it is neither, or says an arrow twice.
    """
    if not isinstance(edges, str):
        return read_pairs("edges", edges), ()
    if DRAWN.match(edges):
        mend = "leave out digraph, braces and attributes"
        raise ArgumentError(wanted("edges", "arrows alone, parent -> child; parent -> child", edges, mend))
    found: dict[str, list[tuple[str, str]]] = {"->": [], "<->": []}
    for part in filter(str.strip, BETWEEN.split(ARROW.sub(r" \1 ", edges))):
        names = [name.strip() for name in ARROW.split(part)]
        if len(names) < 3 or not all(names):
            raise ArgumentError(wanted("edges", "parent -> child, parent -> child, or a <-> b", part.strip()))
        for at in range(1, len(names), 2):
            found[names[at]].append((names[at - 1], names[at + 1]))
    return read_pairs("edges", found["->"]), read_pairs("edges", found["<->"])


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
        raise ArgumentError(wanted("latent", "pairs a <-> b", " -> ".join(arrows[0])))
    return arcs


def read_pairs(name: str, pairs: Any) -> Arcs:
    """Return pairs of different names, each once."""
    what = "pairs of names such as ('sex', 'dose')"
    if isinstance(pairs, (str, dict, set, frozenset)) or not isinstance(pairs, Iterable):
        raise ArgumentError(wanted(name, what, pairs))
    found = []
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not all(isinstance(end, str) for end in pair):
            raise ArgumentError(wanted(name, what, pair))
        if pair[0] == pair[1]:
            raise ArgumentError(wanted(name, "two different nodes", tuple(pair)))
        found.append((pair[0], pair[1]))
    if len(set(found)) < len(found):
        raise ArgumentError(wanted(name, "each pair once", next(pair for pair in found if found.count(pair) > 1)))
    return tuple(found)


def parents_of(arrows: Arcs, latent: Arcs) -> dict[str, list[str]]:
    """Return the parents of every node, parents in the order in which their arrows are written."""
    if not arrows:
        raise ArgumentError(wanted("edges", "at least one arrow parent -> child", "none"))
    parents: dict[str, list[str]] = {node: [] for pair in (*arrows, *latent) for node in pair}
    for parent, child in arrows:
        parents[child].append(parent)
    return parents
