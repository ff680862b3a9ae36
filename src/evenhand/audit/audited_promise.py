"""Read what a log is to be checked against: shares, caps and windows, and shares that change over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from evenhand.audit.decision_log import Numbered, moments_of
from evenhand.audit.weights import Weights
from evenhand.data.tables import cells, column, in_natural_order, named_alike, twin_of
from evenhand.errors import (
    NOTHING,
    ArgumentError,
    SharesError,
    TableError,
    Wording,
    argument,
    expected,
    expected_one_of,
    nearest,
    of_one_type,
)
from evenhand.frames import has_row_labels, is_frame
from evenhand.kernels.arrays import Ints
from evenhand.kernels.deadlines import NEVER
from evenhand.labels import Labels, is_by_label
from evenhand.promises.amounts import MOST, Unit
from evenhand.promises.clause import Clause
from evenhand.promises.promise import WINDOWS_COUNT, Promise, read_promise
from evenhand.promises.reading import is_set, key_of, name_arms
from evenhand.protocol import Label, as_label, distinct

if TYPE_CHECKING:
    import pandas as pd

Rest = Literal["refused", "owed", "free"]

ALL_ON_OFFER = (
    "Every arm counts as on offer in every round. Where arms were away and every other was at its cap, a cap that is "
    "broken here may have been kept: a column of the arms on offer would show it."
)


class Term(NamedTuple):
    """A clause, from a round on and up to another, counted from 0."""

    clause: Clause
    start: int
    end: int


class AuditedPromise(NamedTuple):
    """Everything that a log is checked against.

    Attributes
    ----------
    promise : shares, sets and caps, the latest where they changed.
    windows : arm -> (plays, rounds).
    terms : the single promises: floors of arms, of sets, then caps and windows.
    unit : what is shared, where these are weights.
    """

    promise: Promise
    windows: dict[Any, tuple[int, int]]
    terms: list[Term]
    unit: Unit | None = None

    @property
    def scale(self) -> int:
        """How many whole numbers, in which is counted, make one of the unit."""
        return self.unit.scale if self.unit else 1

    def scaled(self, weights: Weights) -> Ints:
        """Return weights (n_rows,) as they are counted."""
        return weights.scaled(self.unit.digits) if self.unit else weights.whole

    def check(self, total: int, digits: int) -> None:
        """Refuse weights whose sum, times 10^digits, is too large to be counted against these clauses.

        Raises
        ------
        TableError
            If it is.
        """
        for clause in (term.clause for term in self.terms if self.unit):
            most = Fraction(MOST, clause.share.denominator * self.scale) - clause.slack
            if Fraction(total, 10**digits) >= most:
                what = f"weights whose sum is below {max(0, int(most)):,}, to be counted against {clause.share} exactly"
                hint = "round the weights, or take a share with a smaller denominator"
                raise TableError(expected(f"column {clause.weight!r}", what, total / 10**digits, hint))


class ShareEntry(NamedTuple):
    """A share that is owed from a round on, counted from 0; `when` is how the user wrote it."""

    start: int
    when: Any
    arm: Label
    share: Any


def read_audited(
    kinds: list[Label],
    rounds: Numbered | None,
    *,
    shares: Any,
    tolerance: Any,
    caps: Any,
    cap_tolerance: Any,
    windows: Any,
    plays: int,
    promise: Promise | None = None,
    weight: str | None = None,
    digits: int = 0,
) -> AuditedPromise:
    """Read the promises; `kinds` are the log's arms, of which `plays` at most are played in a round. A promise that was
    read before stands in the place of all others. Without `rounds` no share changes. With the name of the log's
    weights, which have so many digits after the point, shares are of these.

    Raises
    ------
    SharesError, ArgumentError
        If they cannot be read, or no rule can keep them together.
    TableError
        If a table of shares lacks a column or a cell, or its dates do not fit the log's.
    """
    last = NEVER if rounds is None else len(rounds.first_row)
    if weight is not None and plays > 1:
        raise ArgumentError(expected("weight", Wording(NOTHING, " where several arms are played in a round"), weight))
    if promise is not None:
        if weight is not None and promise.windows:
            raise ArgumentError(expected("promise", "no windows beside weights", str(promise), WINDOWS_COUNT))
        stated = promise.varied(weight=weight)
        return _stated(stated, _singles(stated, last), last, digits)
    if shares is None and caps is None and windows is None:
        raise SharesError(expected("shares", "shares, caps or windows to check", None))
    by_arm = is_by_label(shares)
    limits: dict[str, Any] = {"caps": caps, "cap_tolerance": cap_tolerance, "windows": windows}
    limits |= {"audited": True, "weight": weight}
    if isinstance(shares, (list, tuple, np.ndarray)):
        raise SharesError(expected("shares", "a dict arm -> share, or one number for every arm", shares))
    if rounds is None:
        check_constant(shares)
    entries = None if rounds is None else _entries(shares, rounds)
    if entries is not None:
        limits["plays"] = min(plays, len({entry.arm for entry in entries}))  # more than all are refused with their row
        promise, floors = _read_changes(entries, tolerance, limits["plays"], last, weight)
        promise = read_promise(dict(zip(promise.arms, promise.shares, strict=True)), tolerance, **limits)
    else:
        rest: Rest = "refused" if by_arm else "free" if shares is None else "owed"
        check_named({"shares": shares, "caps": caps, "windows": windows}, kinds, rest)
        singles = Labels(distinct([*_labels_in(caps), *_labels_in(windows)]))
        every = None if by_arm else in_natural_order([*singles.names, *(kind for kind in kinds if kind not in singles)])
        limits["plays"] = min(plays, len(name_arms(shares, caps, windows, arms=every)))
        promise = read_promise(0 if shares is None else shares, tolerance, arms=every, **limits)
        floors = _singles(promise, last)
    return _stated(promise, floors, last, digits)


def check_constant(shares: Any) -> None:
    """Refuse shares that change over time, where rounds have no number: in files, and in logs that were written apart.

    Raises
    ------
    SharesError
        If they change.
    """
    parts = shares.values() if isinstance(shares, Mapping) else ()
    if is_frame(shares) or any(isinstance(part, Mapping) for part in parts):
        what = "shares that do not change, when files or several logs are audited"
        hint = "audit the logs one by one, each read into a table"
        raise SharesError(expected("shares", what, Wording("a share that changes"), hint))


def check_named(given: Mapping[str, Any], kinds: Sequence[Label], rest: Rest) -> None:
    """Refuse labels of a promise that the log has not and that cannot be meant: one that is written otherwise there,
    and all of them where none is in the log, but for windows: an arm that is never played breaks its window.

    Parameters
    ----------
    given : what names the labels -> a dict or Series by label; anything else names none.
    kinds : the log's arms.
    rest : what becomes of those that are not named: they are refused, owed a share, or free of any promise.

    Raises
    ------
    SharesError
        If there are such; nothing would be promised to an arm of the log.
    """
    told = [(name, label) for name, promised in given.items() for label in _labels_in(promised)]
    arms = Labels(distinct(label for _, label in told))
    others = [kind for kind in kinds if kind not in arms]
    if others and rest == "refused":
        return
    known = Labels([*arms.names, *others])
    met = set(map(known.place, kinds))
    absent = [(name, label) for name, label in told if known.place(label) not in met]
    for name, label in absent:
        twin = twin_of(label, others if of_one_type(kinds, label) else kinds)
        if twin is not None:
            raise SharesError(expected_one_of(name, kinds, label, what="arms among", hint=f"did you mean {twin!r}?"))
    spaced = all(name in ("windows", "--window") and of_one_type(kinds, label) for name, label in told)
    if absent == told and rest == "free" and not spaced:
        name, label = absent[0]
        hint = "" if nearest(label, kinds) else "also name an arm of the log, with a share of 0 if it is owed nothing"
        raise SharesError(expected_one_of(name, kinds, label, what="an arm of the log, one of", hint=hint))


def _labels_in(given: Any) -> list[Label]:
    """Return the labels of the arms that a dict or Series names by themselves, as they are written first."""
    names = given if isinstance(given, Mapping) else given.index if has_row_labels(given) else ()
    return [as_label(name) for name in names if not is_set(name)]


def _singles(promise: Promise, last: int) -> list[Term]:
    return [Term(floor, 0, last) for floor in promise.floors]


def _stated(promise: Promise, floors: list[Term], last: int, digits: int) -> AuditedPromise:
    """Return everything that is promised, with these floors of single arms."""
    slack, weight = promise.slack, promise.weight
    floors += [Term(Clause("floor", members, share, slack, weight), 0, last) for members, share in promise.sets]
    terms = [*floors, *(Term(clause, 0, last) for clause in promise.clauses if clause.kind != "floor")]
    read = {key_of(members): window for members, window in promise.windows}
    tolerances = {"tolerance": promise.tolerance, "cap_tolerance": promise.cap_tolerance}
    unit = None if weight is None else Unit.of(weight, digits, **tolerances)
    return AuditedPromise(promise, read, terms, unit)


def _entries(shares: Any, rounds: Numbered) -> list[ShareEntry] | None:
    """Return the entries of shares that change over time, by their first rounds; None where they do not change."""
    import pandas as pd

    if isinstance(shares, pd.DataFrame) and "from" in shares.columns:
        lacking = [name for name in ("arm", "share") if name not in shares.columns]
        if lacking:
            what = "a table with the columns 'from', 'arm' and 'share'"
            raise TableError(expected("shares", what, [str(name) for name in shares.columns]))
        dates, parts = cells(shares, "from"), cells(shares, "share").tolist()
        arms = named_alike(column(shares, "arm")).tolist()
    elif isinstance(shares, Mapping) and shares and all(isinstance(v, Mapping) for v in shares.values()):
        what = "a dict from -> (arm -> share)"
        flat: list[tuple[Any, Any, Any]] = []
        for when, owed in shares.items():
            before = Labels(dict.fromkeys(arm for _, arm, _ in flat))
            by_arm = dict(before.read(owed, "shares", what, refusal=SharesError))
            flat += [(when, arm, share) for arm, share in by_arm.items()]
        if not flat or any(isinstance(arm, tuple) for _, arm, _ in flat):
            got = "none" if not flat else "a set of arms"
            raise SharesError(expected("shares", "shares of single arms where they change over time", got))
        dates, arms, parts = pd.Series([row[0] for row in flat]), [row[1] for row in flat], [row[2] for row in flat]
    else:
        return None
    whens = dates.tolist()
    twice = pd.Series(list(zip(map(str, whens), arms, strict=True))).duplicated()
    if twice.any():
        at = int(np.argmax(twice))
        raise SharesError(
            expected("shares", "each arm once at each date", Wording(f"{arms[at]!r} twice from {whens[at]}"))
        )
    starts = _starts(dates, rounds)
    return sorted(map(ShareEntry, starts.tolist(), whens, arms, parts), key=lambda entry: entry.start)


def _starts(dates: pd.Series[Any], rounds: Numbered) -> Ints:
    """Return the first round, counted from 0, of each date."""
    found = moments_of(dates, "from")
    if rounds.moments is None:
        exact = found.astype(np.float64)
        bad = np.flatnonzero((found.dtype.kind == "M") | (exact != np.floor(exact)))
        if bad.size or found.min() < 1:
            first = dates.iloc[bad[0] if bad.size else 0]
            raise TableError(expected("from", Wording("numbers of rounds from 1, or ", argument("order")), first))
        return found.astype(np.int64) - 1
    if (found.dtype.kind == "M") != (rounds.moments.dtype.kind == "M"):
        raise TableError(expected("from", Wording("values as in the column of ", argument("order")), dates.iloc[0]))
    return np.searchsorted(rounds.moments, found, side="left")


def _read_changes(
    entries: list[ShareEntry], tolerance: Any, plays: int, last: int, weight: str | None
) -> tuple[Promise, list[Term]]:
    """Return the promise that holds in the end, and the floors of each arm from each of its entries on."""
    arms = list(dict.fromkeys(entry.arm for entry in entries))
    owed: dict[Label, Any] = dict.fromkeys(arms, 0)
    begun: dict[Label, tuple[int, Fraction]] = {}
    fixed: dict[str, Any] = {"plays": plays, "arms": arms, "audited": True, "weight": weight}
    promise = read_promise(owed, tolerance, **fixed)
    floors = []
    for start in dict.fromkeys(entry.start for entry in entries):
        now = [entry for entry in entries if entry.start == start]
        owed |= {entry.arm: entry.share for entry in now}
        try:
            promise = read_promise(owed, tolerance, **fixed)
        except SharesError as error:
            raise SharesError(Wording(f"from {now[0].when}: ", error.args[0])) from error
        by_arm = dict(zip(promise.arms, promise.shares, strict=True))
        for arm in dict.fromkeys(entry.arm for entry in now):
            if arm in begun:
                floors.append(_floor(arm, promise, *begun[arm], min(start, last)))
            begun[arm] = start, by_arm[arm]
    floors += [_floor(arm, promise, *since, last) for arm, since in begun.items()]
    order = {arm: i for i, arm in enumerate(arms)}
    kept = [term for term in floors if term.start < term.end]
    return promise, sorted(kept, key=lambda term: (term.start, order[term.clause.arms[0]]))


def _floor(arm: Label, promise: Promise, start: int, share: Fraction, end: int) -> Term:
    return Term(Clause("floor", (arm,), share, promise.slack, promise.weight), start, end)
