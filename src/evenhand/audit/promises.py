"""Audit any log of decisions, whoever made them, against every promise that a policy can make.

Round t is the t-th row, or what the log calls a round. Every promise is checked after every round, in exact integers;
see the head of `evenhand.promises.round_kernels`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from evenhand.audit.audited_promise import AuditedPromise, check_constant, read_audited
from evenhand.audit.decision_log import Numbered, Plays, offers_in, read_log, read_plays, read_rounds, times_of
from evenhand.audit.files import audit_files, in_turn
from evenhand.audit.findings import Audit, with_times
from evenhand.audit.outlook import outlook
from evenhand.audit.separate_logs import ApartAudit, judge_all_orders
from evenhand.audit.stretches import batches, placed, stretches
from evenhand.audit.weights import read_weights
from evenhand.data.tables import cells, check_column, in_natural_order, places_in
from evenhand.errors import NOTHING, ArgumentError, SharesError, TableError, Wording, expected
from evenhand.frames import as_pandas, frame_or_value
from evenhand.promises.promise import Promise
from evenhand.promises.round_kernels import Rounds
from evenhand.protocol import distinct

if TYPE_CHECKING:
    import pandas as pd

UNKNOWN = "which rounds to come will offer an arm is not known"


@overload
def promise(
    frame: pd.DataFrame | str | os.PathLike[str],
    *,
    arm: str,
    shares: Any = ...,
    tolerance: float = ...,
    order: str | Sequence[str] | None = ...,
    caps: Any = ...,
    cap_tolerance: float = ...,
    windows: Any = ...,
    promise: Promise | None = ...,
    segment: str | None = ...,
    available: str | None = ...,
    round: str | None = ...,
    times: str | None = ...,
    weight: str | None = ...,
    by: object = ...,
    jobs: int = ...,
) -> Audit: ...


@overload
def promise(
    *,
    frames: Sequence[pd.DataFrame],
    arm: str,
    shares: Any = ...,
    tolerance: float = ...,
    order: str | Sequence[str] | None = ...,
    caps: Any = ...,
    cap_tolerance: float = ...,
    windows: Any = ...,
    promise: Promise | None = ...,
    segment: str | None = ...,
    available: str | None = ...,
    round: str | None = ...,
    weight: str | None = ...,
) -> ApartAudit: ...


def promise(
    frame: pd.DataFrame | str | os.PathLike[str] | None = None,
    *,
    frames: Sequence[pd.DataFrame] | None = None,
    arm: str,
    shares: Any = None,
    tolerance: float = 0.0,
    order: str | Sequence[str] | None = None,
    caps: Any = None,
    cap_tolerance: float = 0.0,
    windows: Any = None,
    promise: Promise | None = None,
    segment: str | None = None,
    available: str | None = None,
    round: str | None = None,
    times: str | None = None,
    weight: str | None = None,
    by: object = None,
    jobs: int = -1,
) -> Audit | ApartAudit:
    """Check a decision log against promised shares, caps and windows after every round, or several logs that were
    written apart, such as those of `promise.split`, after every round of every order in which they can be merged.

    Parameters
    ----------
    frame : the log, one row per decision, in the order in which they were taken. Or the name of files, such as
        "logs/*.parquet", whose rows follow one another in the order of the files' names. Parquet and CSV are read batch
        by batch and in little memory, with the same finding; Parquet with one arm a row, always on offer, on all cores;
        JSON, Arrow and packed Parquet file by file. The labels of a CSV are text, exactly as written. `order` and
        `round` need a data frame; of `times` 8 bytes a row are held, in the zone that the first names.
    frames : instead of `frame`, a data frame for each log; an `ApartAudit` is then returned. Shares that change over
        time are refused, as the logs have no round in common.
    arm : name of the column with the arm of each decision; its cells may be lists, also as JSON, where several arms are
        played in a round.
    shares : the share owed to each arm: a dict or Series arm -> share, or one number for every arm of the log and every
        level that a categorical column declares. Keys may be tuples of arms, which are owed their share together.
        Shares that change are a data frame with the columns `from`, `arm` and `share`, or a dict from -> (arm ->
        share): an arm's rounds and plays count from its latest entry. `from` is a value of the column `order` or,
        without one, the number of a round.
    tolerance : alpha >= 0, by how many pulls an arm may be behind.
    order : a column to sort by first, numbers or times (text as in ISO 8601), or several: ["time", "id"] sorts rows
        with the same time by id. Rows with the same values keep their order, and are turned around in a log whose
        newest rows come first; a note says where their order could change the finding.
    caps : the largest share an arm may have, arm -> cap, or one number for all: N_i(t) <= ceil(c_i t) + cap_tolerance.
    cap_tolerance : by how many pulls an arm may be ahead of its cap.
    windows : a dict arm -> a, at least one play in any a consecutive rounds, or arm -> (c, a), at least c plays.
    promise : an `eh.Promise`, instead of shares, tolerance, caps, cap_tolerance and windows.
    segment : a column; every promise is then checked within each of its values.
    available : a column with the arms that were on offer, as lists or as text separated by commas; each arm is then
        owed its share of the rounds in which it was on offer. By default that of a study's log, where it has one.
    round : a column whose equal values mark the rows of one round, where several arms are played in a round.
    times : a column of times: the finding then says when a promise was broken, beside the number of the round. The
        first column of `order` where that holds times.
    weight : a column of weights from 0, such as costs or tokens. A share r is then one of their sum W, a cap c too, and
        tolerances are in its unit: r W - W_i <= alpha and W_i - c W <= beta after every round. Decimals, also floats
        and text, are taken exactly as they are written, with at most 9 digits after the point. By default that of the
        promise.
    by : the end of a period whose shares count then: a time, UTC where it names no zone, a date to its end, or how many
        rounds the period has (with `weight` how much of it), from the first of the log on. The finding's `outlook` then
        says what is still due, and whether it can be kept. Where a time is named, rounds are taken to come as fast as
        so far; in a log whose times are dates so many a day, from its last day on.
    jobs : how many workers audit files; -1 for all cores. `joblib.parallel_config` says where they run.

    Raises
    ------
    TableError
        If a column is missing or has an empty cell, the log has no rows, `order` is neither numbers nor times, an arm
        is played twice in a round or while not on offer, or rows of one round contradict each other.
    SharesError, ArgumentError
        If the promises cannot be read, or no rule can keep them together.
    UnknownArmError
        If the log decides for an arm that has no share.

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame({"item": ["a", "a", "a", "b", "a", "b"]})
    >>> finding = promise(log, arm="item", shares={"a": 0.5, "b": 0.5})
    >>> finding.kept, finding.first_violation, finding.rounds_in_violation
    (False, (2, 'b'), 5)
    >>> str(promise(log, arm="item", windows={"b": 3}).first_breach)
    "after round 3, the plays of arm 'b' were 1 fewer than the 1 owed in any 3 consecutive rounds"
    >>> by_cost = promise(log.assign(cost=[1, 1, 2.5, 4, 0.5, 0]), arm="item", shares={"b": 0.5, "a": 0}, weight="cost")
    >>> by_cost.worst_shortfall, by_cost.worst_round
    (2.25, 3)
    """
    promised = {
        "shares": frame_or_value(shares, "shares"),
        "tolerance": tolerance,
        "caps": caps,
        "cap_tolerance": cap_tolerance,
        "windows": windows,
        "promise": promise,
        "weight": weight,
    }
    _check_given(frame, frames, times, by, promised)
    if by is not None:
        _check_ahead(by, shares, segment)
    if weight is None and promise is not None:
        promised["weight"] = weight = promise.weight
    if isinstance(frame, (str, os.PathLike)):
        for name, value in {"order": order, "round": round, "by": by}.items():
            if value is not None:
                hint = "read the file with pandas, or sort its rows and list a round's arms in one cell"
                raise ArgumentError(expected(name, Wording(NOTHING, " where files are audited"), value, hint))
        file = os.fspath(frame)
        found = audit_files(file, arm=arm, available=available, segment=segment, jobs=jobs, **promised)
        return with_times(found, None if times is None else _times_in_files(file, times))
    tables = [as_pandas(one) for one in ([frame] if frames is None else frames)]
    named = promised["shares"] if promise is None else dict.fromkeys(promise.arms, 0)
    plays = [read_plays(table, arm, named) for table in tables]
    rounds = [read_rounds(table, order, round) for table in tables]
    weights = [read_weights(table, weight) for table in tables]
    most = max(map(_most_at_once, plays, rounds))
    kinds = in_natural_order(distinct(kind for each in plays for kind in each.kinds))
    promised["digits"] = digits = max(one.digits for one in weights)
    owed = read_audited(kinds, rounds[0] if frames is None else None, plays=most, **promised)
    owed.check(sum(int(one.whole.sum()) * 10 ** (digits - one.digits) for one in weights), digits)
    named_in = [offers_in(table.columns) if available is None else available for table in tables]
    logs = [
        read_log(table, one, of, owed.promise.arms, arm=arm, available=on, segment=segment, weights=owed.scaled(own))
        for table, one, of, on, own in zip(tables, plays, rounds, named_in, weights, strict=True)
    ]
    sure = ""
    finding: Audit | ApartAudit
    if frames is None:
        finding = with_times(in_turn(lambda: logs, owed, logs[0][0].size), _times(tables[0], rounds[0], times))
        sure = _in_every_order(rounds[0], logs[0][0], owed, finding.kept)
        if by is not None:
            if not logs[0][0].offers.all():
                raise ArgumentError(expected("by", Wording(NOTHING, " where arms come and go"), by, UNKNOWN))
            finding = replace(finding, outlook=outlook(finding, by, owed.scale))
    else:
        finding = judge_all_orders(owed, logs)
    notes = [note for each, (log, _) in zip(rounds, logs, strict=True) for note in each.notes(log, sure)]
    return replace(finding, notes=(*finding.notes, *notes))


def _times_in_files(pattern: str, name: str) -> pd.Series[Any]:
    """Return the time of each row of files (n_rows,), of which nothing else is held, in the zone that the first names.

    Raises
    ------
    TableError
        As `stretches` does, and if a cell is no time.
    """
    import pandas as pd

    found, zone = [], None
    for stretch in stretches(pattern, [name]):
        for frame, row in batches(stretch, [name]):
            try:
                found.append(times_of(frame.astype(object), name))
            except TableError as error:
                raise placed(error, stretch.path, row) from error
            zone = zone or pd.Timestamp(frame[name].iloc[0]).tzinfo
    times = pd.Series(np.concatenate(found))
    return times if zone is None else times.dt.tz_localize("UTC").dt.tz_convert(zone)


def _times(table: pd.DataFrame, rounds: Numbered, name: str | None) -> pd.Series[Any] | None:
    """Return the time of each round as a column has it (n_rounds,), None where no column of times is named."""
    if name is None:
        if rounds.ordered is None or rounds.ordered.moments.dtype.kind != "M":
            return None
        name = rounds.ordered.names[0]
    else:
        check_column(table, name, "times")
        times_of(table, name)
    return cells(table, name).iloc[rounds.first_row].reset_index(drop=True)


def _in_every_order(rounds: Numbered, log: Rounds, owed: AuditedPromise, kept: bool) -> str:
    """Return that the verdict is the same in every order of the rounds with the same place, "" where it may not be.

    A floor is at its worst where the others of a place come first, a cap where its own plays do; at the end of a place
    no order matters.
    """
    if rounds.ordered is None or len(log.weights) or len(log.starts) or len(log.keys) or len(log.offers):
        return ""
    place = rounds.ordered.place[rounds.first_row]
    sizes = np.bincount(place)
    ends = np.cumsum(sizes)
    for clause, start, end in owed.terms:
        p, q = clause.share.as_integer_ratio()
        if clause.kind == "window" or start or end < len(place) or q * (len(place) + clause.slack) >= 2**62:
            if kept:
                return ""
            continue
        mine = np.isin(log.codes, places_in(np.array(clause.arms, dtype=object), owed.promise.arms))
        plays = np.bincount(place, mine, len(sizes)).astype(np.int64)
        missed, more = p * ends - q * np.cumsum(plays), (q - p) * plays
        if clause.kind == "cap":
            missed, more = -missed, p * (sizes - plays)
        if (missed + more * kept >= q * (int(clause.slack) + 1)).any():
            return "" if kept else "The promise is broken in every order of them."
    return "The promise is kept in every order of them." if kept else ""


def _most_at_once(plays: Plays, rounds: Numbered) -> int:
    """Return the most plays in a round."""
    single = len(rounds.first_row) == len(plays.rows)
    return 1 if single else int(np.bincount(rounds.of_row[plays.rows]).max())


def _check_ahead(by: object, shares: object, segment: str | None) -> None:
    """Refuse to look ahead where shares change, or where promises are checked inside segments."""
    if segment is not None:
        raise ArgumentError(expected("by", Wording(NOTHING, " beside segments"), by, "audit the log of each by itself"))
    try:
        check_constant(shares)
    except SharesError as error:
        hint = "audit the log of the period alone, with the shares of it"
        raise ArgumentError(expected("by", Wording(NOTHING, " beside shares that change"), by, hint)) from error


def _check_given(frame: Any, frames: Any, times: Any, by: object, promised: dict[str, Any]) -> None:
    """Refuse one log beside several, a promise that is none, and anything that stands beside a promise."""
    if (frame is None) == (frames is None):
        got = "neither" if frame is None else "both"
        raise ArgumentError(expected("frame or frames", "one log, or a list of logs that were written apart", got))
    for name, value in {"times": times, "by": by}.items():
        if frames is not None and value is not None:
            raise ArgumentError(
                expected(name, Wording(NOTHING, " beside several logs"), value, "audit the logs one by one")
            )
    if frames is not None and (not isinstance(frames, (list, tuple)) or not frames):
        raise ArgumentError(expected("frames", "a list of data frames, one for each log", frames))
    promise = promised["promise"]
    if promise is None:
        return
    if not isinstance(promise, Promise):
        raise ArgumentError(expected("promise", "an eh.Promise", promise, "Promise.from_dict reads plain data"))
    beside = {name: promised[name] for name in ("shares", "caps", "windows")}
    for name, value in (beside | {name: promised[name] or None for name in ("tolerance", "cap_tolerance")}).items():
        if value is not None:
            raise ArgumentError(expected(name, "nothing together with a promise, which states it", value))
