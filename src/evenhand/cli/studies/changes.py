"""`evenhand add`, `retire` and `change`: change what a study promises while it runs."""

from __future__ import annotations

from datetime import time
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand.cli.inputs.inputs import limits_of, named_shares, shares_of
from evenhand.cli.inputs.promises import promise_in
from evenhand.cli.options import FORM, JSON, STORE, STUDY, Options
from evenhand.cli.output import answer
from evenhand.errors import ArgumentError, expected
from evenhand.labels import Labels
from evenhand.policy.traits import traits_of
from evenhand.promises.promise import Promise
from evenhand.promises.versions import rows_of, with_parts
from evenhand.studies import Study
from evenhand.studies.log.codec import moment
from evenhand.studies.log.durations import in_utc, read_moment


def add(
    store: STORE, arm: str, *, share: str = "0", cap: str | None = None, study: STUDY = None, json: JSON = False
) -> None:
    """Add an arm, or bring back a retired one; the promises to all other arms continue.

    Parameters
    ----------
    arm : The label of the arm: a new one, or that of a retired arm.
    share : Its promised share, such as 0.1 or 1/5.
    cap : The most that it may have, such as 0.3, counted from now on; by default no limit.
    """
    with Study.open(store, study) as running:
        label = labels_of([arm], running)[0]
        wait = running.add(label, share, cap=cap)
        when = f"; its promise begins after {wait} rounds" if wait else ""
        answer({"status": "added", "arm": label, "begins_after": wait}, f"added {label}{when}", json)


def retire(store: STORE, arm: str, *, study: STUDY = None, json: JSON = False) -> None:
    """Retire an arm: it is no longer offered, but its open tickets can still be told.

    Parameters
    ----------
    arm : The label of the arm.
    """
    with Study.open(store, study) as running:
        label = labels_of([arm], running)[0]
        running.retire(label)
        answer({"status": "retired", "arm": label}, f"retired {label}", json)


@Options(tables="shares", beside={FORM: "--shares --promise", "--cap --window --tolerance": "not --promise"})
def change(
    store: STORE,
    *,
    shares: str = "",
    cap: str = "",
    window: str = "",
    tolerance: float | None = None,
    promise: Path | None = None,
    begins: Annotated[str, typer.Option("--from")] = "",
    study: STUDY = None,
    json: JSON = False,
) -> None:
    """Replace the promise, now or from a time on: rounds and decisions are counted from this change.

    Parameters
    ----------
    shares : The share of each arm on offer: a=0.2,b=1/3, or 0.2,1/3 in the order of the arms, 0.2 for each, or a CSV or
        JSON file. Of --shares, --cap, --window and --tolerance what is not given stays as it is.
    cap : The most that an arm may have: 0.5, or a=0.5,b=1/3; arms that are not named have no cap any more.
    window : Least plays in any consecutive rounds: a=2/25,b=10; arms that are not named have no window any more.
    tolerance : By how many plays an arm may be behind its share.
    promise : A promise file, as for `evenhand new --promise`, that replaces the current promise.
    begins : When the promise changes, if not now: a time such as 2026-12-01T00:00+01:00 (UTC without a zone), a date,
        or a duration such as 12h. The change is made right before the first decision after that. With the time that
        show lists it is replaced; with nothing else, it is withdrawn.
    """
    at = moment(read_moment(begins, "begins", of_date=time())) if begins else None
    parts = limits_of(cap, window) | ({} if tolerance is None else {"tolerance": tolerance})
    if at is not None and not shares and not parts and promise is None:
        with Study.open(store, study) as running:
            running.change(None, begins=at)
        answer({"status": "withdrawn", "begins": at}, f"withdrawn: the change planned for {in_utc(at)}", json)
        return
    if bool(shares or parts) == (promise is not None):
        what = "either --shares, --cap, --window and --tolerance or --promise FILE"
        raise ArgumentError(expected("--shares", what, shares or "neither"))
    named = named_shares(shares) if shares else None
    with Study.open(store, study) as running:
        policy = running.state.bare_copy()
        offered = [arm for arm in policy.arms or () if arm not in traits_of(policy).retired]
        owed: Any = promise_in(promise, offered) if promise is not None else None
        if named is not None:
            owed = _by_label(named, running)
        elif shares:
            owed = shares_of(shares, offered)
        if parts and (held := traits_of(policy).promise) is not None:
            named_parts = {name: _by_label(part, running) for name, part in parts.items()}
            owed = with_parts(held, offered, **named_parts | ({"shares": owed} if shares else {}))
        rows = rows_of(running.change(owed, begins=at))
        if at is not None:
            said = f"planned: the promise changes right before the first decision after {in_utc(at)}"
            answer({"status": "planned", "begins": at}, said, json)
            return
        lags = ", ".join(_said(row) for row in rows)
        more = f": {owed}" if isinstance(owed, Promise) else ""
        more += f"; not carried over, in plays: {lags}" if lags else ""
        answer({"status": "changed", "dropped": rows}, f"changed{more}", json)


def _by_label(given: Any, study: Study) -> Any:
    """Return what is given by the texts of arms by their labels; one value for all as it is."""
    return dict(zip(labels_of(list(given), study), given.values(), strict=True)) if isinstance(given, dict) else given


def _said(row: dict[str, Any]) -> str:
    who = " with ".join(map(str, row["label"])) if isinstance(row["label"], list) else row["label"]
    return f"{who} {row['plays']:.4g}"


def labels_of(texts: list[str], study: Study) -> list[Any]:
    """Return the study's labels for their texts, which may be those of numbers; see `Labels.typed`."""
    return list(map(Labels(study.state.bare_copy().arms or ()).typed, texts))
