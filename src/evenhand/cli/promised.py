"""Who is promised what, since when and until when, and what they had: for people and for programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from evenhand.audit.findings import Audit
from evenhand.audit.period import moment
from evenhand.cli.output import PROMISED
from evenhand.display.digits import number
from evenhand.promises.clause import AT_MOST

if TYPE_CHECKING:
    import pandas as pd

Row = dict[Any, Any]
Means = Callable[[Mapping[Any, Any]], float]
"""What returns the mean reward of what a row of promises is about, NaN where none is known."""


def means_of(earned: pd.DataFrame) -> Means:
    """Return the mean rewards of rows by `earned`, with the columns `arm`, `round`, `reward` and `segment`, None where
    there are none: those of the arm in the rounds, and inside the segment, of the row."""
    by_arm = dict(iter(earned.groupby("arm", sort=False)))

    def mean(row: Mapping[Any, Any]) -> float:
        mine = None if isinstance(row["arm"], tuple) else by_arm.get(row["arm"])
        if mine is None:
            return math.nan
        here = mine["round"].between(row["since"], row["until"] or math.inf)
        if row["segment"] is not None:
            here &= mine["segment"] == row["segment"]
        return float(mine.loc[here, "reward"].mean())

    return mean


def promised_rows(
    finding: Audit, unit: str, segments: bool, worth: tuple[str, Means] | None = None, means: Means | None = None
) -> list[Row]:
    """Return a row for each promise: to whom, how much, in which rounds, what they had of these, how far they are
    behind at the end, also in the mean reward of an arm (what it is called, and which it is), and were at most, when it
    was broken, and the mean reward."""
    found = []
    worth = None if finding.promise.weight else worth  # what a play earns says nothing of a weight
    owed = finding.owed.sort_values(["rounds_in_violation", "worst_shortfall"], ascending=False, kind="stable")
    for one in owed.to_dict("records"):
        within, most = " in " in one["limit"], one["promise"] in AT_MOST
        floor = not within and not most
        row = {"arm": _name(one["arm"]), "segment": one["segment"], **({} if segments else _span(finding, one))}
        row |= {"promised": _limit(one), "share": one["share"], finding.unit: _had(finding, one)}
        row["behind"] = one["behind"] if floor else None
        if worth is not None and not isinstance(one["arm"], tuple):
            row[f"behind, in {worth[0]}"] = max(0.0, row["behind"]) * worth[1](one) if floor else None
        row["most behind"] = one["worst_shortfall"] if floor else one["broken_by"] if within else None
        row["most above"] = one["worst_excess"]
        row["broken"] = finding.when_one(one, unit)
        found.append(row | ({"mean reward": means(one)} if means else {}))
    return found


def free_rows(finding: Audit, means: Means | None = None) -> list[Row]:
    """Return a row for each arm of the rounds in which nothing was promised to it alone, also with its mean reward."""
    return [
        {"arm": _name(one["arm"]), **_span(finding, one), "share": one["share"], finding.unit: _had(finding, one)}
        | ({"mean reward": means(one)} if means else {})
        for one in _free(finding)
    ]


def who(finding: Audit) -> list[Row]:
    """Return for programs who is promised what from which round to which, and what they had of these rounds; then the
    others, nothing of whom is promised."""
    rows = []
    for one in [*finding.owed.to_dict("records"), *_free(finding)]:
        limit = one["limit"] if " in " in one["limit"] else float(Fraction(one["limit"])) or None
        row: Row = {"name": one["arm"], "promised": None, PROMISED.get(one["promise"], one["promise"]): limit}
        row |= {} if one["segment"] is None else {"segment": one["segment"]}
        row |= {name: one[name] for name in ("since", "until", "had", "of", "share")}
        times = {f"{name}_at": finding.time_of(one[name]) for name in ("since", "until")}
        row |= {name: time for name, time in times.items() if time is not None}
        rows.append(row | {"until": one["until"] or None, "behind": one["behind"] if limit else None})
    return rows


def changes(finding: Audit, events: Mapping[int, str] | None = None) -> list[Row]:
    """Return the rounds with which promises began and ended, and which; and what else happened then, by rounds."""
    said = {round: [event] for round, event in (events or {}).items()}
    rows = finding.owed.to_dict("records")
    for one in rows:
        if one["until"] and one["until"] + 1 not in said:
            said[one["until"] + 1] = []
    for round, events_then in said.items():
        begun = [f"{_name(one['arm'])} {_limit(one)}" for one in rows if one["since"] == round]
        ended = [f"no more {_name(one['arm'])} {_limit(one)}" for one in rows if one["until"] == round - 1]
        events_then += dict.fromkeys(begun or ended * (not events_then))
    times = {round: finding.time_of(round) for round in said}
    at = {round: {} if time is None else {"at": time} for round, time in times.items()}
    return [{"round": round, **at[round], "what": "; ".join(said[round])} for round in sorted(said)]


def _free(finding: Audit) -> list[Row]:
    """Return the rows of arms while nothing was promised to them alone."""
    owed: dict[Any, list[Row]] = {}
    for one in finding.owed.to_dict("records"):
        owed.setdefault((one["arm"], one["segment"]), []).append(one)
    rows = finding.promises.drop(finding.owed.index).to_dict("records")
    own = [owed.get((one["arm"], one["segment"]), ()) for one in rows]
    return [
        one
        for one, others in zip(rows, own, strict=True)
        if not any(other["since"] <= one["since"] <= (other["until"] or math.inf) for other in others)
    ]


def _span(finding: Audit, row: Mapping[Any, Any]) -> Row:
    """Return from which round on and up to which a row is about, where promises changed."""
    changing = finding.promises["until"].any() or (finding.owed["since"] > 1).any()
    rounds = {name: row[name] if changing else 0 for name in ("since", "until")}
    times = {name: finding.time_of(round) for name, round in rounds.items()}
    at = {name: "" if time is None else f" ({moment(time)})" for name, time in times.items()}
    return {name: f"{round:,}{at[name]}" if round else None for name, round in rounds.items()}


def _had(finding: Audit, row: Mapping[Any, Any]) -> Any:
    """Return what a row had of the plays, or of a weight as tables write how far it is behind."""
    return number(row["had"]) if finding.promise.weight else row["had"]


def _limit(row: Mapping[Any, Any]) -> str:
    """Return what a row of promises promises, in words."""
    if " in " in row["limit"]:
        return f"at least {row['limit'].replace('in', 'in any')}"
    return f"at {'most' if row['promise'] in AT_MOST else 'least'} {number(float(Fraction(row['limit'])))}"


def _name(arm: Any) -> str:
    return " + ".join(map(str, arm if isinstance(arm, tuple) else (arm,)))
