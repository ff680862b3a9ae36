"""Promises inside segments, such as one for each country or device: every segment has floors and clocks of its own.

A round belongs to one segment. In each, N_i >= floor(r_i t_g) - a holds exactly, t_g the segment's rounds; rounds of
other segments move its deadlines and nothing else, as rounds in which an arm is not on offer do. Over all G segments

    r_i t - N_i <= sum_g frac(r_i t_g) + G a < G (1 + a)

follows, and no rule that keeps the promise inside each segment avoids the order of G: visit G new segments, then go
back to those that began with the same arm. So a second exact promise over all segments is not offered; what follows is
computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from copy import copy
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from evenhand.errors import ArgumentError, wanted
from evenhand.kernels.arrays import Ints
from evenhand.kernels.compose import kernel
from evenhand.kernels.deadlines import NEVER
from evenhand.promises.promise import Promise
from evenhand.protocol import Label, first_named, label_of

MOVED = ("whole", "rest", "spare", "cap_whole", "cap_rest", "left")
"""The fields of a rule's state that each segment has for itself; what else is known of rounds to come is looked up
anew."""


def moved(state: Any) -> dict[str, Ints]:
    """Return copies of the fields of a rule's state that each segment has for itself."""
    fields = state._asdict()
    return {name: fields[name].copy() for name in MOVED}


class SegmentCounts(NamedTuple):
    """What was decided inside a segment so far.

    Attributes
    ----------
    rounds : t_g, the segment's rounds.
    pulls : how often each arm was decided for inside it.
    """

    rounds: int
    pulls: dict[Label, int]


def read_segment(segment: Any) -> Label:
    """Return a segment's label.

    Raises
    ------
    ArgumentError
        If it is neither a text nor a whole number.
    """
    label = label_of(segment)
    if label is None:
        raise ArgumentError(wanted("segment", "a text or a whole number", segment))
    return label


class Stacked(NamedTuple):
    """The parts of the state that belong to segments, a row for each, for the compiled loop of a simulation."""

    present: Ints
    """(1,): the row whose part is in the state itself, -1 for none."""
    left: Ints
    """(n_segments,): the round up to which each was followed."""
    capped: Ints
    """(n_arms,): 1 for an arm that has a cap."""
    whole: Ints
    rest: Ints
    spare: Ints
    cap_whole: Ints
    cap_rest: Ints
    due: Ints
    """(n_segments, n_tokens): the rule's `left`."""


@kernel
def enter_stacked(stacked: Stacked, state: Any, segment: int, round: int) -> None:
    """Do what `Segments.enter` does."""
    here = stacked.present[0]
    if here == segment:
        return
    if here >= 0:
        stacked.left[here] = round
        for i in range(state.whole.size):
            stacked.whole[here, i], stacked.rest[here, i] = state.whole[i], state.rest[i]
        for i in range(state.spare.size):
            stacked.spare[here, i] = state.spare[i]
        for i in range(state.cap_whole.size):
            stacked.cap_whole[here, i], stacked.cap_rest[here, i] = state.cap_whole[i], state.cap_rest[i]
        for i in range(state.left.size):
            stacked.due[here, i] = state.left[i]
    past = round - stacked.left[segment]
    for i in range(state.whole.size):
        whole = stacked.whole[segment, i]
        state.whole[i], state.rest[i] = whole + past if whole < NEVER else whole, stacked.rest[segment, i]
    for i in range(state.spare.size):
        spare = stacked.spare[segment, i]
        state.spare[i] = spare - past if spare < 0 else spare
    for i in range(state.cap_whole.size):
        state.cap_whole[i] = stacked.cap_whole[segment, i] + past * stacked.capped[i]
        state.cap_rest[i] = stacked.cap_rest[segment, i]
    for i in range(state.left.size):
        state.left[i] = stacked.due[segment, i]
    for i in range(state.tight.size):
        state.tight[i] = 0
    for i in range(state.refused.size):
        state.refused[i] = 0
    stacked.present[0] = segment


class Segments:
    """The parts of a rule's state that belong to segments; those of the present one are in the state itself."""

    def __init__(self, state: Any, promise: Promise) -> None:
        self._promise = promise
        self._fresh = moved(state)
        self._kept: dict[Label, tuple[int, dict[str, Ints]]] = {}
        self._counts: dict[Label, Ints] = {}
        self._rounds: dict[Label, int] = {}
        self._begun: dict[Label, tuple[list[Fraction | None], Ints]] = {}
        """Of segments in which the promise has changed: when each arm's first play fell due, in rounds from the change
        on, None where none did; and the arms' pulls up to it."""
        self._rounded: dict[Label, tuple[Fraction, ...]] = {}
        """By how much positions were rounded up at the last change; () for nothing."""
        self.present: Label | None = None
        self._names: dict[Any, Label] = {}
        """Each segment as it was named first: 1 and "1" are the same."""

    def enter(self, segment: Label, state: Any, round: int) -> None:
        """Bring a segment's part into the state after so many rounds of all segments."""
        segment = first_named(segment, self._names)
        if segment == self.present:
            return
        if self.present is not None:
            self._kept[self.present] = round, moved(state)
        left, kept = self._kept.pop(segment, (0, self._fresh))
        own = state._asdict()
        for name in MOVED:
            own[name][:] = kept[name]
        # deadlines are absolute and the segment's clocks stood still: without this its plays would seem overdue
        own["whole"][own["whole"] < NEVER] += round - left
        own["cap_whole"][self.capped] += round - left
        own["spare"][own["spare"] < 0] -= round - left
        state.tight[:] = 0
        state.refused[:] = 0
        self.present = segment

    def twin(self) -> Segments:
        """Return segments in the same state that may be entered and counted in without a trace here."""
        twin = copy(self)
        twin._kept, twin._counts = self._kept.copy(), self._counts.copy()
        twin._rounds, twin._names = self._rounds.copy(), self._names.copy()
        return twin

    def stacked(self, labels: Sequence[Label]) -> Stacked:
        """Return the parts as rows in the order of these segments; the present one is followed in the state."""
        labels = [first_named(label, self._names) for label in labels]
        parts = [self._kept.get(label, (0, self._fresh)) for label in labels]
        columns = [np.stack([part[name] for _, part in parts]) for name in MOVED]
        present = -1 if self.present is None else list(labels).index(self.present)
        left, capped = np.array([left for left, _ in parts], np.int64), np.array(self.capped, np.int64)
        return Stacked(np.array([present]), left, capped, *columns)

    def take_stacked(self, labels: Sequence[Label], stacked: Stacked, pulls: Ints, rounds: Ints) -> None:
        """Go on from where the compiled loop left off, with the arms' pulls in each segment (n_segments, n_arms) and
        its rounds (n_segments,)."""
        labels = [first_named(label, self._names) for label in labels]
        seen = [(row, label) for row, label in enumerate(labels) if rounds[row]]
        self.present = labels[int(stacked.present[0])]
        self._counts = {label: pulls[row].copy() for row, label in seen}
        self._rounds = {label: int(rounds[row]) for row, label in seen}
        columns = dict(zip(MOVED, stacked[3:], strict=True))
        self._kept = {
            label: (int(stacked.left[row]), {name: column[row].copy() for name, column in columns.items()})
            for row, label in seen
            if label != self.present
        }

    def parts(self, state: Any, round: int) -> Iterator[tuple[Label, int, dict[str, Ints], tuple[Fraction, ...]]]:
        """Yield each segment with the round up to which it was followed, its part of the state, and by how much its
        positions were rounded up."""
        for label in self._rounds:
            left, part = self._part(label, state, round)
            yield label, left, part, self._rounded.get(label, ())

    def _part(self, label: Label, state: Any, round: int) -> tuple[int, dict[str, Ints]]:
        return self._kept.get(label) or (round, state._asdict())

    def renewed(
        self,
        promise: Promise,
        params: tuple[Any, Any],
        fresh: Any,
        states: dict[Any, Any],
        rounded: dict[Any, Any],
        begins: Any,
    ) -> Any:
        """Go on with another promise, by the state of each segment at the round up to which it was followed; return the
        state of the present one. `params` are those of the rule before and now; `begins` says for which arm the promise
        begins now, or "all"."""
        before, arms, first = self._promise, len(promise.arms), self._first(params[0])
        self._kept = {}
        for label, (now, state) in states.items():
            counts = np.append(self._counts[label], np.zeros(arms - len(before.arms), np.int64))
            begun, pulls = self._begun.get(label) or (first, np.zeros(len(before.arms), np.int64))
            begun = [*begun, *[None] * (arms - len(begun))]
            pulls = np.append(pulls, np.zeros(arms - len(pulls), np.int64))
            for arm in range(arms) if begins == "all" else [] if begins is None else [begins]:
                due, n = int(state.whole[arm]), int(params[1].numerators[arm])
                begun[arm] = due - now + Fraction(int(state.rest[arm]), n) if n and due < NEVER else None
                pulls[arm] = counts[arm]
            self._counts[label], self._begun[label] = counts, (begun, pulls)
            self._kept[label] = now, moved(state)
        self._promise, self._rounded = promise, rounded
        self._fresh = moved(fresh)
        if self.present not in states:  # no round of it was decided
            self.present = None
            return fresh
        self._kept = {label: part for label, part in self._kept.items() if label != self.present}
        return states[self.present][1]

    @property
    def capped(self) -> list[bool]:
        """Which arms have a cap."""
        return [cap is not None for cap in self._promise.caps or [None] * len(self._promise.arms)]

    def count(self, arms: list[int]) -> None:
        """Enter a round of the present segment."""
        assert self.present is not None
        pulls = self._counts.get(self.present, np.zeros(len(self._promise.arms), np.int64))
        self._counts[self.present] = pulls + np.bincount(arms, minlength=len(pulls))
        self._rounds[self.present] = self._rounds.get(self.present, 0) + 1

    def report(self) -> dict[Label, SegmentCounts]:
        """Return what was decided inside each segment."""
        return {
            label: SegmentCounts(self._rounds[label], dict(zip(self._promise.arms, pulls.tolist(), strict=True)))
            for label, pulls in self._counts.items()
        }

    def behind(self, params: Any, state: Any, round: int) -> dict[Label, tuple[float, float]]:
        """Return for each arm r A - N, over the rounds A of all segments in which it was on offer since its promise
        last changed, and how large that can be while the promise inside each is kept; the present segment's part is in
        the state, after so many rounds.
        """
        found = []
        for i, (arm, share) in enumerate(zip(self._promise.arms, self._promise.shares, strict=True)):
            behind = most = Fraction(0)
            for segment, counts in self._counts.items():
                begun, before = self._begun.get(segment) or (self._first(params), 0 * counts)
                at, pulls = begun[i], int(counts[i] - before[i])
                if not share or at is None:
                    behind -= pulls
                    continue
                left, part = self._part(segment, state, round)
                due = int(part["whole"][i]) + Fraction(int(part["rest"][i]), int(params.numerators[i]))
                clock = at - (due - left) + pulls / share
                behind += share * clock - pulls
                most += share * clock - max(0, math.floor(share * (clock - at)) + 1)
            found.append((arm, (float(behind), float(most))))
        return dict(found)

    def _first(self, params: Any) -> list[Fraction | None]:
        """Return when the first play of each arm falls due in a segment that begins."""
        columns = (self._fresh[name].tolist() for name in ("whole", "rest"))
        parts = zip(*columns, params.numerators.tolist(), strict=True)
        due = [whole + Fraction(rest, n) if n and whole < NEVER else None for whole, rest, n in parts]
        return due[: len(self._promise.arms)]

    def save(self) -> dict[str, Any]:
        """Return what `restore` needs; of changes only where there were any."""
        kept = [[label, left, *(part[name] for name in MOVED)] for label, (left, part) in self._kept.items()]
        counts = [[label, self._rounds[label], pulls] for label, pulls in self._counts.items()]
        saved: dict[str, Any] = {"present": self.present, "kept": kept, "counts": counts}
        if self._begun:
            saved["begun"] = [[label, due, pulls] for label, (due, pulls) in self._begun.items()]
            saved["rounded"] = [[label, list(by)] for label, by in self._rounded.items()]
        return saved

    def restore(self, saved: Any) -> None:
        """Take up what was saved."""
        self.present = saved["present"]
        for label, rounds, pulls in saved["counts"]:
            first_named(label, self._names)
            self._rounds[label], self._counts[label] = rounds, pulls
        self._begun |= {label: (due, pulls) for label, due, pulls in saved.get("begun", ())}
        self._rounded |= {label: tuple(by) for label, by in saved.get("rounded", ())}
        self._kept |= {label: (left, dict(zip(MOVED, parts, strict=True))) for label, left, *parts in saved["kept"]}
