"""Promises in a TOML or JSON file, for `evenhand new`, `evenhand simulate` and `evenhand audit`."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenhand.cli.inputs.inputs import read_object
from evenhand.cli.inputs.policies import FOR_GROUPS, describe, fit
from evenhand.cli.inputs.tables import text_in
from evenhand.descriptions.promises import promise_from, with_sets
from evenhand.errors import ArgumentError, TableError, expected, expected_one_of, nearest, why_unreadable
from evenhand.labels import Labels
from evenhand.policy.traits import traits_of
from evenhand.promises.plain_data import ARGUMENTS
from evenhand.promises.promise import Promise
from evenhand.promises.reading import is_set
from evenhand.protocol import Label

UNDER = " under the promise"
"""What the name of a learner ends with where it keeps the promise of a file."""

BESIDE = ("learner", "arms", "lottery")
NAMES = (*BESIDE, "promise", "sets", *ARGUMENTS)


def described_promises(
    path: Path, learner: str = "", arms: Sequence[Label] | int | None = None, option: str = "--policy"
) -> dict[str, Any]:
    """Return the description of the policy that keeps the promises in a file. An arm without a share is promised
    nothing; where windows alone are promised, every arm is on offer.

    Parameters
    ----------
    learner : the learner's name, in the place of the file's, and the `option` that gave it.
    arms : all arms; those that the file lists must be the same.

    Raises
    ------
    TableError
        If the file cannot be read.
    ArgumentError
        If it has a name that is not known, promises nothing, or names an arm that there is not.
    """
    given = _read(path)
    named = learner or given.pop("learner", "")
    given.pop("learner", None)
    if not isinstance(named, str):
        raise ArgumentError(expected(f"{path}: learner", "the name of a learner", named))
    option = option if learner else f"{path}: learner"
    own = list(range(own)) if isinstance(own := given.get("arms"), int) else own
    given |= {} if arms is None else {"arms": arms if isinstance(arms, int) else list(arms)}
    stated = _stated(given, given.get("arms"), path)
    if arms is not None:
        known: Sequence[Label] = range(arms) if isinstance(arms, int) else arms
        _check_arms(str(path), promise_from(stated, known, str(path)).arms, known)
        for one, other in ((own, known), (known, own)) if isinstance(own, list) else ():
            _check_arms(f"{path}: arms", one, other)
    if set(given) <= {"windows", "arms"}:
        stated = {"offers": "all"} | stated
    beside = {name: value for name, value in given.items() if name in BESIDE}
    return describe("deadline-learn", named, option) | beside | {"promise": stated}


def _check_arms(where: str, named: Sequence[Label], known: Sequence[Label]) -> None:
    """Refuse an arm that there is not: what is promised to it could not be kept."""
    labels = Labels(known)
    for arm in named:
        if arm not in labels:
            raise ArgumentError(expected_one_of(where, known, arm, what="arms among"))


def with_and_without(path: Path, specs: Sequence[str], world: Any, horizon: int) -> dict[str, Any]:
    """Return each learner twice, by its name with nothing promised and under the promise in a file; the file's own
    learner where none is named, or in a world with groups one for these."""
    from evenhand.descriptions.policies import build
    from evenhand.quotas import DeadlineLearn

    found: dict[str, Any] = {}
    for spec in specs or [""]:
        own = _read(path).get("learner") or (FOR_GROUPS[0] if traits_of(world).groups is not None else "")
        named = spec or own
        described = described_promises(path, named, world.arms, "--policy" if spec else f"{path}: learner")
        fit(described, named, world, horizon)
        kept, name = build(described), spec or described["learner"]["policy"].rpartition("/")[2]
        nothing = Promise(dict.fromkeys(kept.arms, 0), plays=traits_of(kept).plays)
        found |= {name: DeadlineLearn(build(described["learner"]), nothing), name + UNDER: kept}
    return found


def names_arms(path: Path) -> bool:
    """Return whether a promise file lists the arms."""
    return "arms" in _read(path)


def promise_in(path: Path, labels: Sequence[Label]) -> Promise:
    """Return the promise in a file, to arms among these labels.

    Raises
    ------
    TableError, ArgumentError, SharesError
        If it cannot be read, or cannot be kept.
    """
    return promise_from(_stated(_read(path), labels, path), labels, str(path))


def _stated(given: dict[str, Any], arms: Any, path: Path) -> Any:
    """Return the promise of a file as plain data, its table named promise or all of it, with a share for every arm."""
    stated = {name: value for name, value in given.items() if name not in (*BESIDE, "promise")}
    if "promise" in given:
        for name, value in stated.items():
            raise ArgumentError(
                expected(f"{path}: {name}", "nothing outside the table promise", value, "move it there")
            )
        stated = given["promise"]
    elif not {"shares", "sets", "windows"} & set(stated):
        what = "shares, sets or windows, or a table named promise"
        raise ArgumentError(expected(str(path), what, ", ".join(given) or "nothing"))
    if isinstance(stated, dict) and "sets" in stated:
        owed = with_sets(stated.get("shares", {}), stated.pop("sets"), "sets")
        named = {key: list(map(str, key)) if is_set(key) else [key] for key in owed}  # the names of tables are text
        stated["shares"] = [{"arms": named[key], "value": owed[key]} for key in owed]
    return _with_every_arm(stated, arms) if isinstance(stated, dict) else stated


def _read(path: Path) -> dict[str, Any]:
    """Return what stands in a file, its names checked."""
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
            hint = f"did you mean {near[0]!r}?" if near else ""
            raise ArgumentError(expected(str(path), f"names among {', '.join(NAMES)}", name, hint))
    return given


def _with_every_arm(stated: dict[str, Any], arms: Any) -> dict[str, Any]:
    """Return a promise that names all arms in their order, those that are owed nothing too."""
    shares, windows = stated.get("shares", {}), stated.get("windows")
    rows = [{"arms": [arm], "value": shares[arm]} for arm in shares] if isinstance(shares, dict) else shares
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return stated
    if not all(isinstance(row.get("arms"), list) for row in rows):
        return stated
    labels = [*(range(arms) if isinstance(arms, int) else arms if isinstance(arms, list) else ())]
    labels += [*(windows if isinstance(windows, dict) else ()), *(arm for row in rows for arm in row["arms"])]
    alone = Labels(row["arms"][0] if len(row["arms"]) == 1 else None for row in rows)
    found: dict[Any, dict[str, Any]] = {}
    for arm in labels:
        place = alone.place(arm)
        found[str(arm) if place is None else place] = {"arms": [str(arm)], "value": 0} if place is None else rows[place]
    return stated | {"shares": list((found | dict(enumerate(rows))).values())}
