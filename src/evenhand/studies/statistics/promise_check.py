"""Whether a policy's promise held at every round of a log, counted as an audit counts.

Rounds are entered in batches. A change of the promise starts new counts, which continue the old ones for every clause
that stays in force.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np

from evenhand.errors import ReplayError, expected
from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.labels import Labels
from evenhand.policy.traits import traits_of
from evenhand.promises.books import NONE, ClauseCounts, StretchCounts
from evenhand.promises.clause import Clause
from evenhand.promises.clause_counts import Excused, Outage, away_of, note_outages
from evenhand.promises.promise import promise_of
from evenhand.promises.round_kernels import Rounds
from evenhand.promises.versions import changed, joined, without
from evenhand.protocol import Label, as_label
from evenhand.studies.statistics.late_weights import LateWeights
from evenhand.studies.statistics.promise_history import PromiseHistory, carried_over

BATCH = 2**16
"""Rounds times arms that are entered at once."""
Subject = Label | tuple[Label, ...]
"""An arm or a set of arms."""


class PromiseCheck:
    """Follows the decisions of a study whose policy may promise something.

    Attributes
    ----------
    promise : what is promised now, None where nothing is; `when` says when it is kept.
    retired : the arms that were taken off offer.
    """

    def __init__(self, policy: Any) -> None:
        traits = traits_of(policy)
        self.promise: Any = traits.promise
        self.when: str | None = traits.holds_when
        self.retired: list[Label] = list(traits.retired)
        self._horizon: int | None = traits.horizon
        self._labels: list[Label] = [] if self.promise is None else list(policy.arms)
        self._known = Labels()
        """The positions of the labels, of which there may come more, and the labels themselves."""
        self._violations, self._rounds = 0, 0
        self._first: tuple[int, Subject] | None = None
        self._worst: tuple[float, Subject | None, int] = 0.0, None, 0
        self._at_horizon: bool | None = None
        self._excused = Excused()
        self._outages: dict[Label, Outage] = {}
        # Rounds that are not in the books yet, in flat lists: a tuple for each would have Python collect garbage twice
        # as often, which takes a tenth of the time of a verification.
        self._played: list[int] = []
        self._ends: list[int] = []
        """How many plays there are up to each round."""
        self._offers: dict[int, Sequence[int]] = {}
        """The arms on offer in the rounds in which not all were."""
        weighed = self.promise is not None and self.promise.weight is not None
        self._late = LateWeights(self.promise) if weighed else None
        self._books = ClauseCounts((), ()) if self.promise is None else self._opened()
        self._history = PromiseHistory(len(self._books.clauses), self._scale)

    def decided(self, played: Sequence[Any], given: dict[str, Any] | None = None, ticket: int | None = None) -> None:
        """Count the next round's decision, by the positions of its arms, the arguments of its `ask`, and its ticket;
        only where something is promised.

        Raises
        ------
        ReplayError
            If there is no such arm, one was played twice, or one was not on offer.
        ArgumentError
            If a weight is promised, and it has none.
        """
        arms = len(self._labels)
        for index in played:
            if type(index) is not int or not 0 <= index < arms:
                raise ReplayError(expected("index", f"the position of an arm, below {arms}", index))
        offer = given.get("available") if given else None
        if offer is not None or self.retired or len(played) > 1:
            offer = self._on_offer(offer, played)
        if self._late is not None:
            self._late.decided((given or {}).get("weight"), ticket)
        if offer is not None:
            self._offers[len(self._ends)] = offer
        self._played += played
        self._ends.append(len(self._played))
        if len(self._ends) * arms >= BATCH or self._rounds + len(self._ends) == self._horizon:
            self.flush()

    def closed(self, ticket: int | None, weight: Any) -> None:
        """Count the weight that a ticket was told, where one is promised; 0 where it was closed without.

        Raises
        ------
        ArgumentError
            If it is none.
        """
        if self._late is not None:
            self._late.closed(ticket, weight)

    def _on_offer(self, offer: Any, played: Sequence[int]) -> list[int] | None:
        """Return the positions of the arms on offer, among which those that were played must be, each once; None for
        all arms."""
        gone = set(self._places(self.retired))
        on = [arm for arm in (range(len(self._labels)) if offer is None else self._places(offer)) if arm not in gone]
        off = [self._labels[arm] for arm in played if arm not in on]
        if off or len(set(played)) < len(played):
            twice = [self._labels[arm] for arm in played]
            raise ReplayError(expected("index", "arms on offer, each once", off[0] if off else twice))
        return None if len(on) == len(self._labels) else on

    def _places(self, labels: Any) -> list[int]:
        """Return the positions of labels, without those of unknown ones."""
        if len(self._known.names) != len(self._labels):
            self._known = Labels(self._labels)
        given = [labels] if isinstance(labels, (str, int)) else labels
        return [place for place in self._known.places(given) if place >= 0]

    def flush(self) -> None:
        """Enter all rounds that are not in the books yet, up to the first whose weight is not told."""
        rounds = len(self._ends) if self._late is None else self._late.told
        if not rounds:
            return
        plays = self._ends[rounds - 1]
        codes = np.array(self._played[:plays], np.int32)
        starts = np.array([0, *self._ends[:rounds]] if plays > rounds else [], np.int64)
        arms, keys = np.arange(len(self._labels)), np.zeros(rounds, np.int64)
        weights = NONE if self._late is None else self._late.take(rounds)
        self._books.follow(Rounds(codes, arms, starts, keys, self._offered(rounds), weights))
        self._rounds += rounds
        self._played, self._ends = self._played[plays:], [end - plays for end in self._ends[rounds:]]
        self._offers = {row - rounds: offer for row, offer in self._offers.items() if row >= rounds}
        if self._rounds == self._horizon:
            self._at_horizon = not self._books.counts.wrong.any()

    def _offered(self, rounds: int) -> Bools:
        """Return what was on offer in the first of the rounds that are not in the books (n_rounds, n_arms); without
        rows where everything was."""
        on = np.ones((rounds if self._offers else 0, len(self._labels)), np.bool_)
        for row, offer in self._offers.items():
            if row < rounds:
                on[row] = False
                on[row, offer] = True
        return on

    def _untold(self) -> Ints:
        """Return q (r A - N) of each clause after each round that waits for weights (n_rounds, n_clauses), at worst."""
        self.flush()
        if self._late is None or not self._ends:
            return np.zeros((0, len(self._books.clauses)), np.int64)
        return self._late.at_worst(self._books, self._played, self._offered(len(self._ends)))

    # ------------------------------------------------------------------ changes

    def changed(self, kind: str, given: dict[str, Any], returned: Any) -> None:
        """Take in a change of the promise: its kind, its arguments, and what the policy returned."""
        if self.promise is None:
            return
        self.flush()
        self._violations, self._first, self._worst = self._in_books()
        label: Any = None
        self._excused, before, gone = self.excused, self._books.closed(), self.retired
        self._outages = self._away()
        if kind != "change":
            (arm,) = self._places([given["arm"]]) or [len(self._labels)]
            if arm == len(self._labels):
                self._new_label(as_label(given["arm"]))
            label = self._labels[arm]
        if kind == "change":
            self._outages = {}
            self.promise = changed(self.promise, gone, given["shares"])
        elif kind == "retire":
            self.promise, gone = without(self.promise, label, gone), [*gone, label]
        else:
            self._outages.pop(label, None)
            self.promise = joined(self.promise, label, given.get("share", 0), given.get("cap"))
            gone = [other for other in gone if other != label]
        late, wait = (label, int(returned)) if kind == "add" else (None, 0)
        self._books = self._opened(None if label is None else self._books, late, wait)
        after = self._rounds + len(self._ends)
        self._history.go_on(before, self._books, after, label, retired=self.retired, wait=wait)
        self.retired = gone

    def _new_label(self, label: Label) -> None:
        """Make room for a new arm."""
        self._labels.append(label)

    def _clauses(self) -> list[Clause]:
        """Return what is promised: the floors of all arms first, also of those that are owed nothing."""
        others = (clause for clause in self.promise.clauses if len(clause.arms) > 1 or clause.kind != "floor")
        return [*self.promise.floors, *others]

    def _opened(self, before: ClauseCounts | None = None, late: Label | None = None, wait: int = 0) -> ClauseCounts:
        """Return books of what is promised now, whose clauses stand where they stood before; those of an arm that comes
        late start anew, its floor after so many rounds."""
        empty = self._new_books()
        return empty if before is None else self._new_books(carried_over(before, empty, late, wait))

    def _new_books(self, standing: StretchCounts | None = None) -> ClauseCounts:
        """Return books of what is promised now that stand there."""
        start: dict[str, Any] = {"standing": standing, "rounds": self._rounds, "scale": self._scale}
        return ClauseCounts(self._clauses(), self._labels, **start, excuses=self.promise.excuses)

    # ------------------------------------------------------------------ what it shows

    @property
    def promises(self) -> list[dict[str, Any]]:
        """A row for each promise that was in force so far, also of arms that were owed nothing, as `Audit.promises` has
        it; those of weights without rounds whose weight is not told."""
        self.flush()
        return [*self._history.ended, *self._history.rows(self._books.closed(), self.retired).values()]

    def _in_books(self) -> tuple[int, tuple[int, Any] | None, tuple[float, Subject | None, int]]:
        """Return the rounds that broke the promise, the first of them, and the largest r A - N, of rounds in the
        books."""
        self.flush()
        counts, first, books = self._books.counts, self._first, self._books
        if first is None and counts.first.any():
            at = int(np.argmin(np.where(counts.first > 0, counts.first, np.iinfo(np.int64).max)))
            first = int(counts.first[at]), self._subject(at)
        worst = self._worst
        for values, rounds in (books.worst, (books.behind.ravel(), books.standing.seen.ravel())):
            worst = self._further(worst, values, rounds)
        return self._violations + int(counts.broken[0]), first, worst

    def _further(self, found: Any, values: Floats, rounds: Ints) -> tuple[float, Subject | None, int]:
        """Return the largest r A - N found, or the first of these of several clauses if it is larger."""
        at = int(np.argmax(values)) if len(values) else 0
        larger = len(values) and values[at] > found[0]
        return (float(values[at]), self._subject(at), int(rounds[at])) if larger else found

    def _so_far(self) -> tuple[int, tuple[int, Any] | None, tuple[float, Subject | None, int]]:
        """Return the same of all rounds, with weights that are not told at their worst."""
        violations, first, worst = self._in_books()
        after, rates, n = self._untold(), self._books.rates, len(self._books.clauses)
        if not len(after):
            return violations, first, worst
        broken = after > rates.denominators * rates.plays
        wrong = np.flatnonzero(broken.any(axis=1))
        if first is None and len(wrong):
            first = self._rounds + int(wrong[0]) + 1, self._subject(int(np.argmax(broken[wrong[0]])))
        values = (after / (rates.denominators * self._scale)).ravel()
        rounds = self._rounds + 1 + np.arange(len(values)) // n
        return violations + len(wrong), first, self._further(worst, values, rounds)

    @property
    def _scale(self) -> int:
        return 1 if self._late is None else self._late.unit.scale

    def _subject(self, at: int) -> Subject:
        arms = self._books.clauses[at % len(self._books.clauses)].arms
        return arms[0] if len(arms) == 1 else arms

    @property
    def worst(self) -> tuple[float, Any, int] | None:
        """The largest shortfall r_i t - N_i(t) at the end of any round t of the arm's own clock, with its arm, or set
        of arms, and round; None without promised shares."""
        if self.promise is None or not (self.promise.owes or self._worst[1]) or not self._rounds + len(self._ends):
            return None
        shortfall, subject, round = self._so_far()[2]
        return shortfall, self._labels[0] if subject is None else subject, round

    @property
    def behind(self) -> Floats | None:
        """r_i t - N_i(t) for each arm (n_arms,) now, by its own clock; None where no shares are promised."""
        if self.promise is None:
            return None
        after, scale = self._untold(), self._books.rates.denominators * self._scale
        behind: Floats = (after[-1] / scale if len(after) else self._books.behind[0])[: len(self._labels)]
        return behind

    @property
    def weights(self) -> Floats | None:
        """The weight of each arm (n_arms,) that was told so far; None where none is promised."""
        if self._late is None:
            return None
        self.flush()
        arms = len(self._labels)
        late = np.bincount(np.array(self._played, np.int64), np.array(self._late.weights, np.int64), arms)
        weights: Floats = (self._books.standing.plays[0, :arms] + late) / self._scale
        return weights

    @property
    def violations(self) -> int:
        """The number of rounds at whose end the promise was broken to an arm that was on offer in them."""
        return self._so_far()[0]

    @property
    def first_violation(self) -> tuple[int, Any] | None:
        """The first round at whose end the promise was broken, and the arm or the set of arms."""
        return self._so_far()[1]

    @property
    def kept(self) -> bool | None:
        """Whether the promise was kept; None if it is not due yet."""
        if self.promise is None or self.when == "in the long run":
            return None
        self.flush()
        return self._at_horizon if self.when == "at the horizon" else self.violations == 0

    def worst_case(self) -> dict[str, Any]:
        """Return the worst shortfall with its arm and round (None without a promise), and the rounds in violation."""
        shortfall, arm, round = self.worst or (None, None, None)
        names = {"worst_shortfall": shortfall, "worst_arm": arm, "worst_round": round}
        return names | {"rounds_in_violation": self.violations}

    @property
    def excused(self) -> Excused:
        """The rounds in which every arm on offer was at its cap, whose plays no cap counts."""
        self.flush()
        return self._excused.then(Excused.of(self._books.counts, self._books.arms))

    def _away(self) -> dict[Label, Outage]:
        """Return when each arm was not on offer since it was promised its share."""
        self.flush()
        return away_of(self._books.counts, self._books.arms, self._outages)

    @property
    def behind_by_all(self) -> list[float]:
        """r_i t - N_i(t) for each arm (n_arms,) now, also by the rounds in which it was away; [] where no shares are
        promised."""
        away, behind, standing = self._away(), self.behind, self._books.standing
        missed = [away[arm].rounds if arm in away else 0 for arm in self._labels]
        if self._late is not None:
            missed = (standing.total - standing.weight[0]).tolist()
        owed = () if behind is None else zip(self.promise.shares, missed, behind * self._scale, strict=False)
        # What an arm is behind is a whole number of parts of its share: a sum of floats would not be 0 where it is.
        parts = ((share, more, round(float(now) * share.denominator)) for share, more, now in owed)
        return [float((share * more + Fraction(now, share.denominator)) / self._scale) for share, more, now in parts]

    @property
    def outages(self) -> dict[Label, Outage]:
        """Of each arm with a share that was not always on offer since it was promised, when that was, and how far it is
        behind by all rounds."""
        away = self._away()
        each = zip(self._labels, self.promise.shares, self.behind_by_all, strict=True) if away else ()
        return {arm: away[arm]._replace(behind=behind) for arm, share, behind in each if share and arm in away}

    @property
    def outage_notes(self) -> tuple[str, ...]:
        """What to know of rounds in which arms were away, in sentences."""
        unit = "plays" if self._late is None else self.promise.weight
        return (*note_outages(self.outages, unit), *self.excused.notes())

    # ------------------------------------------------------------------ copies and files

    def copy(self) -> Self:
        """Return a copy that continues independently."""
        self.flush()
        other = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, (np.ndarray, deque, dict, list, set)):
                setattr(other, name, value.copy())
        other._books, other._late = copy.deepcopy((self._books, self._late))
        other._history = copy.copy(self._history)
        return other

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restore` needs to continue exactly here."""
        promise, late = None if self.promise is None else self.promise.to_dict(), self._late
        violations, first, worst = self._in_books()
        waiting = [self._played, late.weights, [[*one] for one in late.untold.items()]] if late else [[], [], []]
        return {
            "rounds": self._rounds,
            "at_horizon": self._at_horizon,
            "violations": violations,
            "first": first,
            "worst": worst,
            "outages": [[arm, [*outage]] for arm, outage in self._away().items()],
            "excused": [*self.excused[:3], *map(list, self.excused.away.items())],
            "labels": self._labels,
            "promise": promise,
            "retired": self.retired,
            "standing": [*self._books.standing],
            "seen": self._books.closed().seen,
            "since": self._history.since,
            "ended": self._history.ended,
            "waiting": [*waiting, [[row, *offer] for row, offer in self._offers.items()]],
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Continue from a snapshot of a check of the same promise."""
        self._rounds, self._at_horizon = snapshot["rounds"], snapshot["at_horizon"]
        self._violations = snapshot["violations"]
        self._first, self._worst = _whole(snapshot["first"]), _whole(snapshot["worst"])
        self._outages = {arm: Outage._make(outage) for arm, outage in snapshot["outages"]}
        plays, since, last, *away = snapshot["excused"]
        self._excused = Excused(plays, since, last, dict(away))
        self._labels, self.retired = list(snapshot["labels"]), list(snapshot["retired"])
        if snapshot["promise"] is not None:
            self.promise = promise_of(snapshot["promise"])
        if self.promise is not None:
            standing = StretchCounts(*(np.array(values, np.int64) for values in snapshot["standing"]))
            self._books = self._new_books(standing)
            self._books.go_on(snapshot["seen"], {q: q for q in range(len(self._books.clauses))})
            self._history.since = [*map(tuple, snapshot["since"])]
            self._history.ended = [row | {"arm": _whole([row["arm"]])[0]} for row in snapshot["ended"]]
        played, weights, untold, offers = snapshot["waiting"]
        self._played, self._ends = [*played], [*range(1, len(played) + 1)]
        self._offers = {row: offer for row, *offer in offers}
        if self._late is not None:
            self._late.before, self._late.weights = self._rounds, [*weights]
            self._late.untold = dict(untold)


def _whole(found: Any) -> Any:
    """Return what was found with a set of arms as a tuple, as JSON holds none."""
    return found and tuple(tuple(part) if isinstance(part, list) else part for part in found)
