"""Who is promised what, since when and until when, and what they had: for people and for programs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from evenhand.audit.findings import Audit
from evenhand.audit.period import moment
from evenhand.cli.output import PROMISED
from evenhand.display.digits import number
from evenhand.promises.clause import AT_MOST

Row = dict[str, Any]


def promised_rows(
    finding: Audit, unit: str, segments: bool, worth: tuple[str, Mapping[Any, float]] | None = None
) -> list[Row]:
    """Return a row for each promise: to whom, how much, in which rounds, what they had of these, how far they are
    behind at the end, also in the mean reward of an arm (what it is called, and by arm), and were at most, and when it
    was broken."""
    found, ahead = [], finding.promise.ahead
    worth = None if finding.promise.weight else worth  # what a play earns says nothing of a weight
    owed = finding.owed.sort_values(["rounds_in_violation", "worst_shortfall"], ascending=False, kind="stable")
    for one in owed.to_dict("records"):
        within, most = " in " in one["limit"], one["promise"] in AT_MOST
        floor = not within and not most
        row = {"arm": _name(one["arm"]), "segment": one["segment"], **({} if segments else _span(finding, one))}
        row |= {"promised": _limit(one), "share": one["share"], finding.unit: one["had"]}
        row["behind"] = one["behind"] if floor else None
        if worth is not None and not isinstance(one["arm"], tuple):
            mean = worth[1].get(one["arm"], math.nan)
            row[f"behind, in {worth[0]}"] = max(0.0, row["behind"]) * mean if floor else None
        row["most behind"] = one["worst_shortfall"] if floor else one["broken_by"] if within else None
        row["above"] = one["broken_by"] + ahead if most and (one["broken_by"] or not ahead) else None
        row["broken"] = finding.when_one(one, unit)
        found.append(row)
    return found


def free_rows(finding: Audit) -> list[Row]:
    """Return a row for each arm that was promised nothing, or for its rounds without a promise."""
    return [
        {"arm": _name(row["name"]), **_span(finding, row), "share": row["share"], finding.unit: row["had"]}
        for row in _free(finding)
    ]


def who(finding: Audit) -> list[Row]:
    """Return for programs who is promised what from which round to which, and what they had of these rounds; then the
    others, nothing of whom is promised."""
    rows = []
    for one in finding.owed.to_dict("records"):
        limit = one["limit"] if " in " in one["limit"] else float(Fraction(one["limit"]))
        row: Row = {"name": one["arm"], "promised": None, PROMISED.get(one["promise"], one["promise"]): limit}
        row |= {} if one["segment"] is None else {"segment": one["segment"]}
        rows.append(row | {name: one[name] for name in ("since", "until", "had", "of", "share", "behind")})
    rows += [row | {"promised": None, "behind": None} for row in _free(finding)]
    for row in rows:
        times = {f"{name}_at": finding.time_of(row[name]) for name in ("since", "until")}
        row |= {name: time for name, time in times.items() if time is not None} | {"until": row["until"] or None}
    return rows


def changes(finding: Audit, events: Mapping[int, str] | None = None) -> list[Row]:
    """Return the rounds with which another promise began: what was promised from then on, and what happened then, by
    rounds."""
    rows, said = finding.owed.to_dict("records"), events or {}
    found = []
    for round in sorted({*said, *(row["until"] + 1 for row in rows if row["until"])}):
        time = finding.time_of(round) if round <= finding.rounds else None
        begun = dict.fromkeys(f"{_name(row['arm'])} {_limit(row)}" for row in rows if row["since"] == round)
        ended = [f"{_name(row['arm'])} {_limit(row)} ended" for row in rows if row["until"] == round - 1]
        what = "; ".join([said[round]] * (round in said) + list(begun)) or "; ".join(dict.fromkeys(ended))
        found.append({"round": round, **({} if time is None else {"at": time}), "what": what})
    return found


def _free(finding: Audit) -> list[Row]:
    """Return what each arm had in the rounds in which nothing was promised to it alone."""
    free, owed = finding.promises.drop(finding.owed.index), dict[Any, list[Row]]()
    for one in finding.owed.to_dict("records"):
        owed.setdefault((one["arm"], one["segment"]), []).append(one)
    place = {arm: i for i, arm in enumerate(finding.promise.arms)}
    found: list[Row] = []
    for one in sorted(free.to_dict("records"), key=lambda one: (place[one["arm"]], one["since"])):
        own = owed.get((one["arm"], one["segment"]), ())
        if any(other["since"] <= one["since"] <= (other["until"] or math.inf) for other in own):
            continue
        last = found[-1] if found else {"name": None}
        if last["name"] == one["arm"] and (one["segment"] is not None or last["until"] == one["since"] - 1):
            one |= {name: last[name] + one[name] for name in ("had", "of")} | {"since": last["since"]}
            one["share"] = one["had"] / one["of"] if one["of"] else None
            found.pop()
        found.append({"name": one["arm"], **{name: one[name] for name in ("since", "until", "had", "of", "share")}})
    return found


def _span(finding: Audit, row: Mapping[Any, Any]) -> Row:
    """Return from which round on and up to which a row is about, where promises changed."""
    changing = finding.promises["until"].any() or (finding.owed["since"] > 1).any()
    rounds = {name: row[name] if changing else 0 for name in ("since", "until")}
    times = {name: finding.time_of(round) for name, round in rounds.items()}
    at = {name: "" if time is None else f" ({moment(time)})" for name, time in times.items()}
    return {name: f"{round:,}{at[name]}" if round else None for name, round in rounds.items()}


def _limit(row: Mapping[Any, Any]) -> str:
    """Return what a row of promises promises, in words."""
    if " in " in row["limit"]:
        return f"at least {row['limit'].replace('in', 'in any')}"
    return f"at {'most' if row['promise'] in AT_MOST else 'least'} {number(float(Fraction(row['limit'])))}"


def _name(arm: Any) -> str:
    return " + ".join(map(str, arm if isinstance(arm, tuple) else (arm,)))
