"""The one set of books: what a promise owes and what was played, in whole numbers.

Each clause has a position for each key, such as a segment or a version. Books are read at any round and saved in a few
numbers (`standing`); `evenhand.promises.round_kernels` counts in them.

A log can be counted in stretches, anywhere and in any order. Each stretch is counted from nothing first, which says
where the books stand at the start of the next (`StretchCounts.then`). Then each is entered from there, and what they
show is joined (`join`).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import entry
from evenhand.kernels.deadlines import NEVER
from evenhand.promises.clause import Clause
from evenhand.promises.clause_counts import ClauseRates, Counts
from evenhand.promises.round_kernels import KINDS, Rounds, close, enter, follow, position_of
from evenhand.promises.weight_kernels import WEIGHED, WEIGHED_FLOOR, beyond, set_limit
from evenhand.protocol import Label

FIRSTS = {"begun": ("begun",), "first": ("first_by", "first")}
LARGEST = {"most": "most_at", "worst": "worst_at"}
LATEST = ("clock", "plays", "last")
SHOWN = ("times", "stretches", "broken", *LATEST, "begun", "first", "first_by", "most", "most_at", "worst", "worst_at")
SEEN = ("times", "stretches", "first", "first_by", "last", "most", "most_at", "worst", "worst_at")
OF_ALL = ("offered", "absent", "gone", "broken")
BY_KEY = ("tick", "next", "wrong", "round", "total")
NONE = np.zeros(0, np.int64)


class StretchCounts(NamedTuple):
    """Where books are: of each key (n_keys,) its ticks and the round of the last; of each key and clause (n_keys,
    n_clauses) the ticks of its clock, the round of the last, its plays, and (n_keys, n_clauses, most) the ticks of the
    last plays of a window, the latest last; where rounds have weights, that of all ticks and of those of each clause,
    and `plays` is that of the plays."""

    tick: Ints
    round: Ints
    clock: Ints
    seen: Ints
    plays: Ints
    recent: Ints
    total: Ints
    weight: Ints

    @classmethod
    def of_floors(
        cls, clauses: Sequence[Clause], pulls: Mapping[Label, int], rounds: int, round: int, weight: int = 0
    ) -> Self:
        """Return where books of floors and caps stand after so many rounds, up to this one, of this weight, in which
        every arm was on offer and had so many plays, or plays of such weights."""
        plays = np.array([[sum(pulls[arm] for arm in clause.arms) for clause in clauses]])
        clock, seen, weights = (np.full_like(plays, value) for value in (rounds, round, weight))
        recent, total = np.zeros((*plays.shape, 1), np.int64), np.array([weight])
        return cls(np.array([rounds]), np.array([round]), clock, seen, plays, recent, total, weights)

    def then(self, later: StretchCounts, windows: Ints) -> StretchCounts:
        """Return the counts of this stretch followed by `later`; each was counted from zero. `windows` (n_clauses,) are
        the plays that each window looks at."""
        recent = self.recent.copy()
        for key, q in np.argwhere(np.broadcast_to(windows > 0, self.plays.shape)):
            fresh = min(int(later.plays[key, q]), n := int(windows[q]))
            if fresh:
                moments = [*recent[key, q, :n], *(later.recent[key, q, n - fresh : n] + self.clock[key, q])]
                recent[key, q, :n] = moments[-n:]
        ticked, on = later.tick > 0, later.clock > 0
        return StretchCounts(
            self.tick + later.tick,
            np.where(ticked, later.round, self.round),
            self.clock + later.clock,
            np.where(on, later.seen, self.seen),
            self.plays + later.plays,
            recent,
            self.total + later.total,
            self.weight + later.weight,
        )


def join(parts: Sequence[Counts]) -> Counts:
    """Return what stretches that follow one another show together, of which each is closed; in any order."""
    first = parts[0]._asdict()
    whole = parts[0]._replace(**{name: first[name].copy() for name in SHOWN})
    mine = whole._asdict()
    for part in parts[1:]:
        theirs = part._asdict()
        for name, others in FIRSTS.items():
            earlier = (theirs[name] > 0) & ((mine[name] <= 0) | (theirs[name] < mine[name]))
            for field in others:
                mine[field][earlier] = theirs[field][earlier]
        for name, at in LARGEST.items():
            sooner = (theirs[name] == mine[name]) & (theirs[at] < mine[at]) & (theirs[name] > 0)
            further = (theirs[name] > mine[name]) | sooner
            for field in (at, name):
                mine[field][further] = theirs[field][further]
        for name in LATEST:
            np.maximum(mine[name], theirs[name], out=mine[name])
        for name in ("times", "stretches"):
            mine[name][:] += theirs[name]
        whole.broken[[0, 2]] += part.broken[[0, 2]]
        whole.broken[3] = max(whole.broken[3], part.broken[3])
    return whole


class ClauseCounts:
    """The counts of clauses in one sequence of rounds.

    Parameters
    ----------
    clauses, arms : what is promised, and the arms by their positions.
    keys : how many keys there are; `widen` makes room for more.
    standing : where the books are at their start, None for nothing yet.
    worst : the r A - N that is not worth noting.
    rounds : how many rounds there were before.
    scale : where clauses are about weights: how many whole numbers, in which weights are entered, make one of the unit.
    spans : from which round on, counted from 0, and up to which each clause is promised; None for all rounds.
    excuses : whether rounds are excused in which every arm on offer is at its cap.

    Attributes
    ----------
    counts : what was counted and found.

    Examples
    --------
    >>> from fractions import Fraction
    >>> books = ClauseCounts([Clause("floor", ("a",), Fraction(1, 2)), Clause("window", ("b",), (1, 3))], ("a", "b"))
    >>> [books.enter([arm]) for arm in (0, 1, 1, 1, 0, 0, 0)]
    [False, False, False, True, False, False, True]
    """

    def __init__(
        self,
        clauses: Sequence[Clause],
        arms: Sequence[Label],
        keys: int = 1,
        standing: StretchCounts | None = None,
        worst: float = 0.0,
        spans: Sequence[tuple[int, int]] | None = None,
        rounds: int = 0,
        scale: int = 1,
        *,
        excuses: bool = True,
    ) -> None:
        self.clauses, self.arms, n = list(clauses), tuple(arms), len(clauses)
        self.rounds = rounds
        self._spans = np.array([(0, NEVER)] * n if spans is None else spans).reshape(-1, 2)
        rates = [c.share for c in self.clauses]
        windows = [c.rate if isinstance(c.rate, tuple) else (0, 0) for c in self.clauses]
        slacks = [min(NEVER, int(c.slack * (scale if c.weight else 1))) for c in self.clauses]
        owners = [[q for q, c in enumerate(self.clauses) if arm in c.arms] for arm in arms]
        self.rates = ClauseRates(
            np.array([(WEIGHED if c.weight else KINDS)[c.kind] for c in self.clauses], np.int64),
            np.array([float(r) if c.kind == "floor" else 0.0 for r, c in zip(rates, self.clauses, strict=True)]),
            np.array([r.numerator for r in rates], np.int64),
            np.array([r.denominator for r in rates], np.int64),
            np.array([min(r.denominator // r.numerator, NEVER) if r else NEVER for r in rates], np.int64),
            np.array([r.denominator % r.numerator if r else 0 for r in rates], np.int64),
            np.array([count or more for (count, _), more in zip(windows, slacks, strict=True)], np.int64),
            np.array([length for _, length in windows], np.int64),
            (self._spans[:, 0] <= rounds) & (rounds < self._spans[:, 1]),
            np.cumsum([0, *map(len, owners)], dtype=np.int64),
            np.array([q for mine in owners for q in mine], np.int64),
            excuses,
        )
        self.windows: Ints = np.array([count for count, _ in windows], np.int64)
        size = {"worst": np.full(n * keys, worst), "worst_at": np.zeros(n * keys, np.int64)}
        size |= {"recent": np.zeros((n * keys, int(self.windows.max(initial=1))), np.int64)}
        size |= {name: np.zeros(keys, np.int64) for name in BY_KEY}
        size |= {"offered": np.zeros(n, np.int64), "broken": np.zeros(5, np.int64)}
        size |= {"absent": np.zeros(len(arms), np.int64), "gone": np.zeros((len(arms), 3), np.int64)}
        each = {name: np.zeros(n * keys, np.int64) for name in Counts._fields if name not in size}
        self.counts = Counts(**(size | each))
        self._worst, self._scale = worst, scale
        self._begin(self._nothing(keys) if standing is None else standing)

    def _nothing(self, keys: int) -> StretchCounts:
        by_key, each = np.zeros(keys, np.int64), np.zeros((keys, len(self.clauses)), np.int64)
        recent = np.zeros((*each.shape, int(self.windows.max(initial=1))), np.int64)
        return StretchCounts(by_key, by_key, each, each, each, recent, by_key, each)

    def _begin(self, standing: StretchCounts) -> None:
        """Take up the books where they stand."""
        counts, keys = self.counts, len(standing.tick)
        counts.tick[:], counts.round[:] = standing.tick, standing.round
        counts.plays[:], counts.before[:] = standing.plays.ravel(), standing.seen.ravel()
        counts.total[:], counts.away[:] = standing.total, (standing.total[:, None] - standing.weight).ravel()
        tick, round = np.repeat(standing.tick, len(self.clauses)), np.repeat(standing.round, len(self.clauses))
        clock = standing.clock.ravel()
        counts.idle[:], counts.since[:] = tick - clock, clock + 1
        counts.paused[:] = np.where(counts.before == round, -1, tick)
        counts.begun[:] = np.where((clock > 0) & np.tile(self.rates.live, keys), -1, 0)
        for at, clause in enumerate(self.clauses * keys):
            q = at % len(self.clauses)
            if clause.weight:
                set_limit(self.rates, counts, q, at)
                past = beyond(self.rates, counts, at // len(self.clauses), q, at)
                counts.missed[at] = past > self.rates.denominators[q] * self.rates.plays[q]
                continue
            n = self.windows[q]
            moments = standing.recent[divmod(at, len(self.clauses))][:n].tolist()
            found = position_of(clause, int(counts.plays[at]), int(clock[at]), moments)
            counts.whole[at], counts.rest[at], counts.missed[at] = found
            counts.recent[at, :n] = np.roll(moments, counts.plays[at])
        counts.next[:] = 0
        counts.wrong[:] = ((counts.missed.reshape(keys, -1) > 0) & self.rates.live).sum(axis=1)
        counts.broken[4] = counts.wrong.any()

    @property
    def standing(self) -> StretchCounts:
        """Where the books are now, the few numbers from which others go on."""
        counts, shape = self.counts, (len(self.counts.tick), len(self.clauses))
        tick, round = np.repeat(counts.tick, shape[1]), np.repeat(counts.round, shape[1])
        seen = np.where(counts.paused == tick, counts.before, round).reshape(shape)
        recent = counts.recent.copy()
        for at in range(len(recent)):
            n = self.windows[at % shape[1]]
            recent[at, :n] = np.roll(recent[at, :n], -counts.plays[at])
        clock = (tick - counts.idle).reshape(shape)
        clock[:, self._spans[:, 0] >= self.rounds] = 0
        plays = counts.plays.reshape(shape).copy()
        recent = recent.reshape((*shape, recent.shape[1]))
        weight = counts.total[:, None] - counts.away.reshape(shape)
        return StretchCounts(
            counts.tick.copy(), counts.round.copy(), clock, seen, plays, recent, counts.total.copy(), weight
        )

    def widen(self, more: int = 1) -> None:
        """Make room for more keys."""
        fresh = ClauseCounts(self.clauses, self.arms, more, worst=self._worst, scale=self._scale).counts
        both = map(np.concatenate, zip(self.counts, fresh, strict=True))
        of_all = {name: self.counts._asdict()[name] for name in OF_ALL}
        self.counts = Counts._make(both)._replace(**of_all)

    # ------------------------------------------------------------------ rounds

    def enter(self, played: Sequence[int], offered: Sequence[int] | None = None, key: int = 0) -> bool:
        """Enter a round: the positions of the arms that were played, those on offer where not all were, and the key;
        return whether a clause whose clock ticked is broken at its end."""
        offers = np.zeros((0 if offered is None else 1, len(self.arms)), np.bool_)
        if offered is not None:
            offers[0, list(offered)] = True
        starts, keys = np.array([0, len(played)]), np.array([key])
        rounds = Rounds(np.array(played, np.int32), np.arange(len(self.arms)), starts, keys, offers)
        self.rounds += 1
        enter(self.rates, self.counts, rounds, 0, self.rounds)
        return bool(self.counts.broken[1])

    def follow(self, rounds: Rounds, looks: Ints = NONE) -> tuple[int, Floats]:
        """Enter many rounds; return the first of them whose arm is unknown, or -1, and what is seen (n_looks, 3) after
        each of the rounds `looks`, counted from 1, that are among these: the largest r A - N of the floors and the
        largest N - c A of the caps whose clocks tick in it, -inf for none, and the rounds so far after which a clause
        was broken."""
        size = rounds.size
        mine = looks[(looks > self.rounds) & (looks <= self.rounds + size)]
        now, wrong, before, first = np.empty((len(mine), 3)), -1, self.rounds, 0
        turns = self._spans[(self._spans > before) & (self._spans < before + size)] - before
        for last in [*np.unique(turns).tolist(), size]:
            self._turn()
            part = (first, last, before, mine, now)
            wrong = int(entry(follow)(self.rates, self.counts, rounds, *part))
            if wrong >= 0:
                break
            self.rounds, first = before + last, last
        return wrong, now

    def _turn(self) -> None:
        """Promise what begins now, and no longer what ends."""
        entry(close)(self.rates, self.counts, self._spans[:, 1] <= self.rounds)
        fresh = (self._spans[:, 0] == self.rounds) & ~self.rates.live
        if fresh.any():
            self.rates.live[fresh] = True
            self.counts.idle.reshape(-1, len(fresh))[:, fresh] = self.counts.tick[:, None]
            self.counts.away.reshape(-1, len(fresh))[:, fresh] = self.counts.total[:, None]
            self.counts.next[:] = 0

    def close(self) -> None:
        """Note what the rounds up to now have shown of every clause; no more rounds can be entered."""
        entry(close)(self.rates, self.counts, np.ones(len(self.clauses), np.bool_))

    def closed(self) -> ClauseCounts:
        """Return a closed copy."""
        other = copy.deepcopy(self)
        other.close()
        return other

    @property
    def seen(self) -> list[Ints | Floats]:
        """What was seen of each clause of books that are closed, which others go on with."""
        return [self.counts._asdict()[name] for name in SEEN]

    def go_on(self, seen: Sequence[Ints | Floats], places: Mapping[int, int]) -> None:
        """Go on with what was seen before of some clauses, by their places here and there."""
        for mine, theirs in zip(self.seen, seen, strict=True):
            mine[list(places)] = np.asarray(theirs)[list(places.values())]

    @property
    def behind(self) -> Floats:
        """r A - N of each key and clause (n_keys, n_clauses) now; of weights in their unit."""
        standing, weighed = self.standing, self.rates.kinds == WEIGHED_FLOOR
        clock = np.where(weighed, standing.weight, np.maximum(standing.clock, 0))
        over = self.rates.numerators * clock - self.rates.denominators * standing.plays
        exact = over / (self.rates.denominators * self._scale)
        behind: Floats = np.where(weighed, exact, self.rates.shares * clock - standing.plays)
        return behind

    @property
    def worst(self) -> tuple[Floats, Ints]:
        """The largest r A - N of each key and clause (n_keys * n_clauses,) that was noted so far, 0 of those without a
        floor, of weights in their unit, and the rounds at whose end they were first reached."""
        counts, kinds = self.counts, np.tile(self.rates.kinds, len(self.counts.tick))
        weighed, whole = kinds == WEIGHED_FLOOR, np.resize(self.rates.denominators, len(kinds))
        most = np.where(
            weighed, counts.most / (whole * self._scale), np.where(kinds == KINDS["floor"], counts.worst, 0)
        )
        return most, np.where(weighed, counts.most_at, counts.worst_at)
