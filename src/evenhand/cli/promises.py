"""Promises in a TOML file, for `evenhand new --promises` and `evenhand simulate --promises`."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenhand.errors import ArgumentError, TableError, nearest, wanted
from evenhand.protocol import Label

__all__ = ["described_promises"]

NAMES = ("learner", "arms", "shares", "sets", "tolerance", "plays", "caps", "cap_tolerance", "behind", "windows")


def described_promises(path: Path, learner: str = "", arms: Sequence[Label] | int | None = None) -> dict[str, Any]:
    """Return the description of the policy that keeps the promises in a file: window-learn where it has windows, else
    deadline-learn. An arm without a share is promised nothing.

    Parameters
    ----------
    learner : the learner's name, in the place of the file's.
    arms : all arms, in the place of the file's.

    Raises
    ------
    TableError
        If the file cannot be read as TOML.
    ArgumentError
        If it has a name that is not known, has neither shares nor windows, or has windows beside other promises.
    """
    from evenhand.cli.policies import describe

    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TableError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise TableError(f"{path}: cannot be read as TOML: {error}") from error
    for name in given:
        if name not in NAMES:
            near = nearest(name, NAMES)
            mend = f"did you mean {near[0]!r}?" if near else ""
            raise ArgumentError(wanted(str(path), f"names among {', '.join(NAMES)}", name, mend))
    wished = learner or given.pop("learner", "")
    given.pop("learner", None)
    if not isinstance(wished, str):
        raise ArgumentError(wanted(f"{path}: learner", "the name of a learner", wished))
    given |= {} if arms is None else {"arms": arms if isinstance(arms, int) else list(arms)}
    if "windows" in given:
        beside = [name for name in given if name not in ("windows", "arms")]
        if beside:
            mend = "no rule is known to keep both"
            raise ArgumentError(wanted(str(path), "windows alone, beside learner and arms", beside[0], mend))
        return describe("window-learn", wished) | given
    if not {"shares", "sets"} & set(given):
        raise ArgumentError(wanted(str(path), "shares, sets or windows", ", ".join(given) or "nothing"))
    return describe("deadline-learn", wished) | given | {"shares": _every_arm(given)}


def _every_arm(given: dict[str, Any]) -> Any:
    """Return the shares with 0 for arms that have none."""
    shares, listed = given.get("shares", {}), given.get("arms")
    sets = given.get("sets", [])
    if not isinstance(shares, dict) or not isinstance(sets, list):
        return shares
    arms = range(listed) if isinstance(listed, int) else listed if isinstance(listed, list) else []
    members = [one.get("arms") for one in sets if isinstance(one, dict)]
    texts = [*arms, *(arm for named in members if isinstance(named, list) for arm in named)]
    return {str(arm): 0 for arm in texts} | shares
