"""What users type, read once: shares, policies with their learners."""

from __future__ import annotations

import difflib
import inspect
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from evenhand import registry
from evenhand.errors import ArgumentError, RegistryError, SharesError, TableError, wanted
from evenhand.protocol import Label

__all__ = ["chosen_policies", "named_shares", "numbers_of", "registered", "shares_of"]


def shares_of(text: str, arms: Sequence[Label]) -> dict[Label, Any]:
    """Read `0.02` (each arm), `a=0.2,b=1/3`, or a CSV (columns arm and share) or JSON file, for these arms."""
    given = named_shares(text)
    if given is None:
        return dict.fromkeys(arms, text)
    known = {str(arm): arm for arm in arms}
    unknown = [name for name in given if name not in known]
    if unknown:
        raise SharesError(wanted("--shares", f"arms among {list(known)[:12]}", unknown[0]))
    return {arm: given.get(str(arm), 0) for arm in arms}


def named_shares(text: str, option: str = "--shares") -> dict[str, Any] | None:
    """Return the shares by the arms' names, or None where one number serves every arm.

    Read are ARM=SHARE,ARM=SHARE, an object {"ARM": SHARE}, and CSV, Parquet and JSON files.

    Raises
    ------
    SharesError, TableError
        If it cannot be read, a cell of a file is empty, or an arm is named twice.
    """
    if text.lstrip().startswith("{"):
        return _object(text, option)
    if text.lower().endswith(".json"):
        return _json(Path(text))
    if "=" in text:
        pairs = []
        for part in text.split(","):
            name, _, share = part.rpartition("=")
            if not name.strip() or not share.strip():
                raise SharesError(wanted(option, "ARM=SHARE,ARM=SHARE", part))
            pairs.append((name.strip(), share.strip()))
        return _once(pairs, option)
    if text.lower().endswith((".csv", ".csv.gz", ".parquet", ".pq")):
        from evenhand.tables import cells, column, read_table

        frame = read_table(text, text=["arm", "share"])
        if "arm" not in frame.columns or "share" not in frame.columns:
            raise TableError(f"{text}: wanted the columns 'arm' and 'share', got {[str(c) for c in frame.columns]}")
        return _once(zip(map(str, column(frame, "arm")), cells(frame, "share").tolist(), strict=True), text)
    return None


def _once(pairs: Iterable[tuple[str, Any]], source: str) -> dict[str, Any]:
    """Return what is given by name, each name once and at least one."""
    given: dict[str, Any] = {}
    for name, value in pairs:
        if name in given:
            raise SharesError(wanted(source, "each name once", f"{name}, twice"))
        given[name] = value
    if not given:
        raise SharesError(wanted(source, "at least one name with its value", "nothing"))
    return given


def _json(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise TableError(f"{path}: cannot be read as JSON: {error}") from error
    return _object(text, str(path))


def _object(text: str, source: str) -> dict[str, Any]:
    try:
        body = json.loads(text, object_pairs_hook=lambda pairs: _once(pairs, source))
    except SharesError:
        raise
    except ValueError as error:
        raise TableError(f"{source}: cannot be read as JSON: {error}") from error
    if not isinstance(body, dict):
        raise TableError(f'{source}: wanted an object {{"arm": share}}, got a {type(body).__name__}')
    return body


def chosen_policies(
    specs: Sequence[str], world: Any, shares: dict[Label, Any] | None, tolerance: float, horizon: int
) -> dict[str, Any]:
    """Build the policies named by `--policy`: a registered name, its last part, or RULE+LEARNER such as fair-
    learn+thompson."""
    if not specs:
        specs = _for_groups(shares) if hasattr(world, "groups") else _default(shares, tolerance)
    return {spec: _policy(spec, world, shares, tolerance, horizon) for spec in specs}


def _for_groups(shares: dict[Label, Any] | None) -> list[str]:
    from evenhand.cli.groups import POLICIES

    return [*POLICIES, *(["deadline-learn+group-fair-top-interval"] if shares is not None else [])]


def _default(shares: dict[Label, Any] | None, tolerance: float) -> list[str]:
    if shares is None:
        return ["ucb1", "thompson"]
    from evenhand.quotas import FairUCB, Promise

    promise = Promise.read(shares, tolerance)
    try:
        FairUCB(shares)
    except SharesError:
        if sum(promise.shares) <= 1:
            return ["deadline-learn+ucb1", "deadline-learn+thompson", "ucb1", "thompson"]
        raise
    return ["fair-ucb", "deadline-learn+thompson", "ucb1", "thompson"]


def _policy(spec: str, world: Any, shares: dict[Label, Any] | None, tolerance: float, horizon: int) -> Any:
    rule, _, learner = spec.partition("+")
    cls = registered(rule).cls
    takes = inspect.signature(cls).parameters
    settings: dict[str, Any] = {}
    if "learner" in takes:
        settings["learner"] = _learner(learner or "ucb1", world, horizon)
    elif learner:
        raise ArgumentError(wanted("--policy", f"{rule!r} alone, it takes no learner", spec))
    if "shares" in takes:
        if shares is None:
            raise ArgumentError(f"--policy {rule}: needs --shares, such as 0.02 or a=0.2,b=0.3 or shares.csv")
        settings["shares"] = shares
    if "tolerance" in takes:
        settings["tolerance"] = tolerance
    if rule.endswith("horizon-fair-ucb"):
        settings["horizon"] = horizon
    if "arms" in takes and "shares" not in takes:
        settings["arms"] = list(world.arms)
    if "groups" in takes:
        settings |= _grouped(spec, cls, world, horizon)
    return cls(**settings)


def _learner(name: str, world: Any, horizon: int) -> Any:
    cls = registered(name).cls
    return cls(**_grouped(name, cls, world, horizon)) if "groups" in inspect.signature(cls).parameters else cls()


def _grouped(spec: str, cls: Any, world: Any, horizon: int) -> dict[str, Any]:
    from evenhand.cli.groups import group_settings

    if not hasattr(world, "groups"):
        raise ArgumentError(wanted("--policy", "one for arms without groups, or --group COLUMN", spec))
    return group_settings(cls, world, horizon)


def registered(name: str, option: str = "--policy", prefix: str = "") -> registry.Entry:
    """Return the policy of that name, or of that last part: fair-ucb is quotas/fair-ucb.

    Raises
    ------
    RegistryError
        If there is none below `prefix`, or several have that last part.
    """
    known = registry.entries("policy", prefix)
    matches = [e for e in known if e.name == name] or [e for e in known if e.name.endswith("/" + name)]
    if len(matches) > 1 and option == "--learner":
        matches = [e for e in matches if e.name.startswith("learners/")] or matches
    if len(matches) > 1:
        raise RegistryError(f"{option}: {name!r} may be {' or '.join(e.name for e in matches)}; say which")
    if not matches:
        ends = {e.name.split("/")[-1]: e.name for e in known}
        near = [ends[end] for end in difflib.get_close_matches(name.split("/")[-1], ends, n=3)]
        names = f"near it: {', '.join(near)}" if near else f"there are: {', '.join(e.name for e in known)}"
        raise RegistryError(f"{option}: no policy is named {name!r}; {names}")
    return matches[0]


def numbers_of(text: str, name: str) -> list[float]:
    """Read a list of numbers such as 0.7,0.5,0.4."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise ArgumentError(wanted(name, "numbers separated by commas", text)) from error
