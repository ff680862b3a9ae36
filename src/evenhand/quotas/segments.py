"""Promises inside segments, such as one for each country or device: every segment has floors and clocks of its own.

A round belongs to one segment. In each, N_i >= floor(r_i t_g) - a holds exactly, t_g the segment's rounds; rounds of
other segments move its deadlines and nothing else, as rounds in which an arm is not on offer do. Over all G segments

    r_i t - N_i <= sum_g frac(r_i t_g) + G a < G (1 + a)

follows, and no rule that keeps the promise inside each segment avoids the order of G: visit G new segments, then go
back to those that began with the same arm. So a second exact promise over all segments is not offered; what follows is
computed.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from evenhand.arguments import is_whole
from evenhand.errors import ArgumentError, wanted
from evenhand.kernels.arrays import Ints
from evenhand.kernels.due_times import NEVER
from evenhand.protocol import Label, composed
from evenhand.quotas.problem import Promise
from evenhand.saved import refused

__all__ = ["Segment", "Segments", "read_segment"]

MOVED = ("whole", "rest", "spare", "cap_whole", "cap_rest")
"""The fields of a rule's state that each segment has for itself, where the rule has them."""


class Segment(NamedTuple):
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
    if not isinstance(segment, str) and not is_whole(segment):
        raise ArgumentError(wanted("segment", "a text or a whole number", segment))
    label: Label = composed(str(segment) if isinstance(segment, str) else int(segment))
    return label


class Segments:
    """The parts of a rule's state that belong to segments; those of the present one are in the state itself."""

    def __init__(self, state: Any, promise: Promise) -> None:
        self._promise = promise
        self._fields = [name for name in MOVED if hasattr(state, name)]
        self._fresh = {name: getattr(state, name).copy() for name in self._fields}
        self._kept: dict[Label, tuple[int, dict[str, Ints]]] = {}
        self._counts: dict[Label, Ints] = {}
        self._rounds: dict[Label, int] = {}
        self.present: Label | None = None

    def enter(self, segment: Label, state: Any, round: int) -> None:
        """Bring a segment's part into the state after so many rounds of all segments."""
        if segment == self.present:
            return
        if self.present is not None:
            self._kept[self.present] = round, {name: getattr(state, name).copy() for name in self._fields}
        left, kept = self._kept.pop(segment, (0, self._fresh))
        for name in self._fields:
            own = getattr(state, name)
            own[:] = kept[name]
            if name == "whole":
                own[own < NEVER] += round - left
            elif name == "cap_whole":
                own[self.capped] += round - left
            elif name == "spare":
                own[own < 0] -= round - left
        self.present = segment

    @property
    def capped(self) -> list[bool]:
        """Which arms have a cap."""
        return [cap is not None for cap in self._promise.caps or [None] * len(self._promise.arms)]

    def count(self, arms: list[int]) -> None:
        """Enter a round of the present segment."""
        assert self.present is not None
        pulls = self._counts.setdefault(self.present, np.zeros(len(self._promise.arms), np.int64))
        pulls[arms] += 1
        self._rounds[self.present] = self._rounds.get(self.present, 0) + 1

    def report(self) -> dict[Label, Segment]:
        """Return what was decided inside each segment."""
        return {
            label: Segment(self._rounds[label], dict(zip(self._promise.arms, pulls.tolist(), strict=True)))
            for label, pulls in self._counts.items()
        }

    def behind(self) -> dict[Label, tuple[float, float]]:
        """Return by how many pulls each arm is behind its share of all rounds, and what follows that it may be."""
        found = {}
        for i, (arm, share) in enumerate(zip(self._promise.arms, self._promise.shares, strict=True)):
            pulls = sum(int(counts[i]) for counts in self._counts.values())
            parts = sum(((share * rounds) % 1 for rounds in self._rounds.values()), Fraction(0))
            most = float(parts) + len(self._rounds) * self._promise.slack
            found[arm] = float(share * sum(self._rounds.values()) - pulls), most
        return found

    def save(self) -> dict[str, Any]:
        """Return what `restore` needs."""
        kept = [[label, left, *(part[name] for name in self._fields)] for label, (left, part) in self._kept.items()]
        counts = [[label, self._rounds[label], pulls] for label, pulls in self._counts.items()]
        return {"present": self.present, "kept": kept, "counts": counts}

    def restore(self, saved: Any) -> None:
        """Take up what was saved.

        Raises
        ------
        StateFileError
            If it cannot have been saved.
        """
        try:
            counts = [(read_segment(label), rounds, pulls) for label, rounds, pulls in saved["counts"]]
            kept = [(read_segment(label), left, parts) for label, left, *parts in saved["kept"]]
            self.present = None if saved["present"] is None else read_segment(saved["present"])
        except (KeyError, TypeError, ValueError) as error:
            raise refused("segments", "the counts and positions of segments", saved) from error
        for label, rounds, pulls in counts:
            self._rounds[label], self._counts[label] = rounds, self._like(pulls, np.zeros(len(self._promise.arms)))
        for label, left, parts in kept:
            if len(parts) != len(self._fields) or not is_whole(left):
                raise refused("segments", f"{len(self._fields)} arrays a segment", parts)
            fresh = self._fresh.values()
            held = (self._like(part, like) for part, like in zip(parts, fresh, strict=True))
            self._kept[label] = left, dict(zip(self._fields, held, strict=True))

    def _like(self, saved: Any, own: Any) -> Ints:
        if not isinstance(saved, np.ndarray) or saved.dtype != np.int64 or saved.shape != own.shape:
            raise refused("segments", f"whole numbers of shape {own.shape}", saved)
        return saved
