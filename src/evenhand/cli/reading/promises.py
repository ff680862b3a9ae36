"""Promises in a TOML or JSON file, for `evenhand new`, `evenhand simulate` and `evenhand audit`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.errors import ArgumentError, TableError, nearest, wanted, why_unreadable
from evenhand.protocol import Label, find_label, places

if TYPE_CHECKING:
    from evenhand.promises.promise import Promise

__all__ = ["described_promises", "promise_in"]

BESIDE = ("learner", "arms", "lottery")
NAMES = (*BESIDE, "promise", "shares", "sets", "tolerance", "plays", "caps", "cap_tolerance", "behind", "windows")


def described_promises(path: Path, learner: str = "", arms: Sequence[Label] | int | None = None) -> dict[str, Any]:
    """Return the description of the policy that keeps the promises in a file: window-learn where it has windows alone,
    else deadline-learn. An arm without a share is promised nothing.

    Parameters
    ----------
    learner : the learner's name, in the place of the file's.
    arms : all arms, in the place of the file's.

    Raises
    ------
    TableError
        If the file cannot be read.
    ArgumentError
        If it has a name that is not known, or promises nothing.
    """
    from evenhand.cli.reading.policies import describe

    given = _read(path)
    wished = learner or given.pop("learner", "")
    given.pop("learner", None)
    if not isinstance(wished, str):
        raise ArgumentError(wanted(f"{path}: learner", "the name of a learner", wished))
    given |= {} if arms is None else {"arms": arms if isinstance(arms, int) else list(arms)}
    if set(given) <= {"windows", "arms"} and "windows" in given:
        return describe("window-learn", wished) | given
    described = describe("deadline-learn", wished) | given
    if "promise" in given:
        return described | {"promise": _with_every_arm(given["promise"], given.get("arms"))}
    if not {"shares", "sets", "windows"} & set(given):
        what = "shares, sets or windows, or a table named promise"
        raise ArgumentError(wanted(str(path), what, ", ".join(given) or "nothing"))
    return described | {"shares": _every_arm(given)}


def promise_in(path: Path, labels: Sequence[Label]) -> Promise:
    """Return the promise in a file, to arms among these labels: its table named promise, or all of it.

    Raises
    ------
    TableError, ArgumentError, SharesError
        If it cannot be read, or cannot be kept.
    """
    from evenhand.studies.specification import promise_from

    given = _read(path)
    stated = {name: value for name, value in given.items() if name not in BESIDE}
    return promise_from(_with_every_arm(given.get("promise", stated), labels), labels, str(path))


def _read(path: Path) -> dict[str, Any]:
    """Return what stands in a file, its names checked."""
    from evenhand.cli.reading.inputs import read_object
    from evenhand.cli.reading.tables import text_in

    if path.suffix.lower() == ".json":
        given = read_object(path)
    else:
        text = text_in(path)
        try:
            given = tomllib.loads(text)
        except ValueError as error:
            raise TableError(f"{path}: cannot be read as TOML: {why_unreadable(error)}") from error
    for name in given:
        if name not in NAMES:
            near = nearest(name, NAMES)
            mend = f"did you mean {near[0]!r}?" if near else ""
            raise ArgumentError(wanted(str(path), f"names among {', '.join(NAMES)}", name, mend))
    return given


def _with_every_arm(promise: Any, arms: Any) -> Any:
    """Return a promise as plain data that names all arms, those that are owed nothing too."""
    labels = range(arms) if isinstance(arms, int) else arms or ()
    shares = promise.get("shares", {}) if isinstance(promise, dict) else None
    if isinstance(shares, dict):
        return promise | {"shares": _with_none(labels, shares)}
    if not isinstance(shares, list) or not all(isinstance(row, dict) for row in shares):
        return promise
    listed = [row.get("arms") for row in shares]
    alone = [arms[0] for arms in listed if isinstance(arms, list) and len(arms) == 1]
    none = [arm for arm in labels if find_label(arm, alone) is None]
    return promise | {"shares": shares + [{"arms": [arm], "value": 0} for arm in none]}


def _with_none(labels: Iterable[Any], shares: dict[str, Any]) -> dict[str, Any]:
    """Return shares with 0 for those of these arms that have none."""
    known = places(shares)
    return {str(arm): 0 for arm in labels if find_label(arm, known) is None} | shares


def _every_arm(given: dict[str, Any]) -> Any:
    """Return the shares with 0 for arms that have none."""
    shares, listed = given.get("shares", {}), given.get("arms")
    sets = given.get("sets", [])
    if not isinstance(shares, dict) or not isinstance(sets, list):
        return shares
    arms = range(listed) if isinstance(listed, int) else listed if isinstance(listed, list) else []
    members = [one.get("arms") for one in sets if isinstance(one, dict)]
    windows = given.get("windows", {})
    texts = [*arms, *(arm for named in members if isinstance(named, list) for arm in named)]
    texts += windows if isinstance(windows, dict) else ()
    return _with_none(texts, shares)
