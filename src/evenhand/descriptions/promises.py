"""Promises from plain data, and the objects with named parts of which descriptions consist."""

from __future__ import annotations

from typing import Any

from evenhand.arguments import is_whole
from evenhand.descriptions.limits import check_sizes
from evenhand.errors import ArgumentError, expected, nearest
from evenhand.promises.plain_data import ARGUMENTS, TABLES
from evenhand.promises.promise import Promise
from evenhand.promises.reading import in_all
from evenhand.promises.versions import named_as


def promise_from(data: Any, labels: Any = None, where: str = "promise", *, bounded: bool = False) -> Promise:
    """Return the promise of plain data, whose arms are among these labels where they are given: one number as shares is
    then the share of each; see `eh.Promise.from_dict`.

    Raises
    ------
    ArgumentError, SharesError
        If it cannot be read, or cannot be kept.
    """
    if not isinstance(data, dict):
        raise ArgumentError(expected(where, f"an object with {', '.join(ARGUMENTS)}", data))
    for name in TABLES if bounded else ():
        check_sizes(name, {"shares": data.get(name)})
    known = list(range(labels) if is_whole(labels) else labels or ())
    if known and data.get("shares") is not None and in_all(data["shares"]):
        data = data | {"shares": [{"arms": [arm], "value": data["shares"]} for arm in known]}
    return named_as(Promise.from_dict(data), known)


def with_sets(shares: object, sets: object, where: str) -> dict[Any, Any]:
    """Return shares beside those of sets of arms, [{"arms": ["a", "b"], "share": 0.5}], which have tuples as keys.

    Raises
    ------
    ArgumentError
        If they are not written so.
    """
    what = 'a list of objects {"arms": [labels], "share": number} beside an object of shares'
    if not isinstance(shares, dict) or not isinstance(sets, list) or not all(isinstance(one, dict) for one in sets):
        raise ArgumentError(expected(where, what, sets))
    found = dict(shares)
    for one in sets:
        part = parts_of(one, where, ("arms", "share"))
        arms = part["arms"]
        key = tuple(arms) if isinstance(arms, list) else ()
        if not key or not all(type(arm) in (str, int) for arm in key) or key in found:
            raise ArgumentError(expected(f"{where}: arms", "a list of labels, each set once", arms))
        found[key] = part["share"]
    return found


def parts_of(spec: object, where: str, names: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return an object that has exactly these names; those that are optional may be missing."""
    if not isinstance(spec, dict):
        raise ArgumentError(expected(where, f"an object with {', '.join(names)}", spec))
    check_names(where, spec, names)
    missing = [name for name in names if name not in optional and spec.get(name) is None]
    if missing:
        raise ArgumentError(f"{where}: needs {', '.join(missing)}")
    return dict(spec)


def check_names(where: str, given: Any, takes: Any) -> None:
    """Refuse a name that is not among those that are taken."""
    for name in given:
        if name not in takes:
            near = nearest(name, takes, likeness=0.7)
            hint = f"did you mean {near[0]!r}?" if near else ""
            raise ArgumentError(expected(where, f"arguments among {', '.join(takes)}", name, hint))
