"""Whether a policy's promise held at every round of a log, in exact whole numbers.

As long as shares of single arms are all that is promised, and they stay as they were, rounds are checked in batches by
the kernels of an audit. `evenhand.studies.statistics.promise_books` counts several plays a round, caps, sets,
windows, arms that are not on offer, segments and changes.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from evenhand.errors import ReplayError, wanted
from evenhand.kernels.compose import entry
from evenhand.metrics.shares import Tally, follow, tally, worst
from evenhand.policy.traits import traits_of
from evenhand.promises.promise import promise_of, read_promise
from evenhand.promises.reading import read_share
from evenhand.promises.versions import changed, joined, without
from evenhand.protocol import Label, as_label, find_label, first_named, label_of, places
from evenhand.studies.statistics.promise_books import Books, Owner

__all__ = ["PromiseCheck"]

BATCH = 4_096
Subject = Label | tuple[Label, ...]
"""An arm or a set of arms."""


class PromiseCheck:
    """Follows the decisions of a study whose policy may promise shares or windows.

    Attributes
    ----------
    promise : the shares that are promised now, None where none are; `when` says when they are kept.
    windows : arm -> (plays, rounds) that are promised in any so many consecutive rounds; empty where none are.
    retired : the arms that were taken off offer.
    """

    def __init__(self, policy: Any) -> None:
        traits = traits_of(policy)
        self.promise: Any = traits.promise
        self.windows: dict[Label, tuple[int, int]] = dict(traits.windows or {})
        self.when: str | None = traits.kept
        self.retired: list[Label] = list(getattr(policy, "retired", ()))
        self._horizon: int | None = traits.horizon
        self._labels: list[Label] = list(policy.arms) if self._promised else []
        self._books = tally(self.promise, max(len(self._labels), 1))
        self._worst_rounds, self._summary = np.zeros(max(len(self._labels), 1), np.int64), np.zeros(3, np.int64)
        self._rounds = 0
        self._codes: list[int] = []
        self._at_horizon: bool | None = None
        self._parts: dict[Label | None, Books] = {}
        """The books of each segment, under None where there are none; empty as long as batches do."""
        self._names: dict[Any, Label] = {}
        """Each segment as it was named first."""
        self._broken: set[Any] = set()
        """The segments whose promise is broken now."""
        self._hit: Subject | None = None
        self._known: tuple[dict[Any, int], tuple[Label, ...]] = {}, ()
        """The positions of the labels, of which there may come more, and the labels themselves."""
        if self._promised and not self._in_batches:
            self._parts = {None: self._new_books()}

    @property
    def _promised(self) -> bool:
        return self.promise is not None or bool(self.windows)

    @property
    def _in_batches(self) -> bool:
        """Whether floors of single arms are all that is promised, one play a round, and every arm is on offer."""
        if self.promise is None or self.promise.plays > 1 or self.retired:
            return False
        return all(clause.kind == "floor" and len(clause.arms) == 1 for clause in self.promise.clauses)

    def decided(self, played: Sequence[Any], given: dict[str, Any] | None = None) -> None:
        """Count the next round's decision, by the positions of its arms and the arguments of its `ask`.

        Raises
        ------
        ReplayError
            If there is no such arm, one was played twice, or one was not on offer.
        """
        if not self._promised:
            return
        plain = len(played) == 1 and not given and not self._parts and type(played[0]) is int
        if plain and 0 <= played[0] < len(self._labels):
            self._batch(played[0])
            return
        for index in played:
            if type(index) is not int or not 0 <= index < len(self._labels):
                raise ReplayError(wanted("index", f"the position of an arm, below {len(self._labels)}", index))
        offer, segment = (given or {}).get("available"), (given or {}).get("segment")
        segment = None if segment is None else first_named(label_of(segment), self._names)
        if not self._parts and offer is None and segment is None and len(played) == 1:
            self._batch(played[0])
            return
        self._enter(played, None if offer is None else self._places(offer), segment)

    def _batch(self, index: int) -> None:
        """Note a round in which one arm was played, and all were on offer."""
        self._codes.append(index)
        if len(self._codes) >= BATCH or self._rounds + len(self._codes) == self._horizon:
            self.settle()

    def _enter(self, played: Sequence[int], offered: list[int] | None, segment: Any) -> None:
        """Count a round in the books."""
        gone = set(self._places(self.retired))
        on = set(range(len(self._labels)) if offered is None else offered) - gone
        off = [self._labels[arm] for arm in played if arm not in on]
        if off or len(set(played)) < len(played):
            twice = [self._labels[arm] for arm in played]
            raise ReplayError(wanted("index", "arms on offer, each once", off[0] if off else twice))
        books = self._open(segment)
        self._rounds += 1
        books.enter(played, offered)
        broken = books.broken()
        self._broken.discard(segment)
        if broken is not None:
            self._broken.add(segment)
            if self._summary[1] == 0:
                self._summary[1], self._hit = self._rounds, self._subject(broken)
        self._summary[0] += bool(self._broken)
        if self._rounds == self._horizon:
            self._at_horizon = not self._broken

    def changed(self, kind: str, given: dict[str, Any], returned: Any) -> None:
        """Take in a change of the promise: its kind, its arguments, and what the policy returned."""
        if self.promise is None:
            return
        parts = [*self._parts.values()] or [self._open(None)]
        if kind == "change":
            self.promise = changed(self.promise, self.retired, given["shares"])
            for books in parts:
                books.change(self.promise)
            return
        (arm,) = self._places([given["arm"]]) or [len(self._labels)]
        if kind == "retire":
            self.promise = without(self.promise, self._labels[arm], self.retired)
            self.retired.append(self._labels[arm])
            for books in parts:
                books.retire(arm, self.promise)
            return
        if arm == len(self._labels):
            self._new_label(as_label(given["arm"]))
        self.promise = joined(self.promise, self._labels[arm], read_share(given.get("share", 0)))
        self.retired = [label for label in self.retired if label != self._labels[arm]]
        for books in parts:
            books.add(arm, self.promise, int(returned))

    def _new_label(self, label: Label) -> None:
        """Make room for a new arm."""
        self._labels.append(label)

    def _places(self, labels: Any) -> list[int]:
        """Return the positions of labels, without those of unknown ones."""
        if len(self._known[1]) != len(self._labels):
            self._known = places(self._labels), tuple(self._labels)
        known, given = self._known[0], [labels] if isinstance(labels, (str, int)) else labels
        found = [find_label(label, known) for label in given]
        return [place for place in found if place is not None]

    def _new_books(self) -> Books:
        promise = self.promise
        if promise is None:  # windows alone, as WindowLearn promises them
            promise = read_promise(windows=self.windows, arms=self._labels, audited=True)
        return Books(promise, self._places(self.retired))

    def _open(self, segment: Any) -> Books:
        """Return the books of a segment, which continue what batches have counted."""
        self.settle()
        if segment is None and not self._parts:
            ends = self._largest()
            rounds = np.where(ends > self._books.worst, self._rounds, self._worst_rounds)
            books = Books.counted(self.promise, self._rounds, self._books.pulls, ends, rounds)
            self._parts = {None: books}
            if self._summary[0]:
                self._hit = self._labels[self._summary[2]]
        elif segment not in self._parts:
            self._parts[segment] = self._new_books()
        return self._parts[segment]

    def _subject(self, owner: Owner) -> Subject:
        return self._labels[owner] if isinstance(owner, int) else tuple(self._labels[arm] for arm in owner)

    def _largest(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array([entry(worst)(self._books, i, self._rounds) for i in range(len(self._labels))])

    @property
    def worst(self) -> tuple[float, Any, int] | None:
        """The largest shortfall r_i t - N_i(t) at the end of any round, with its arm, or set of arms, and round; None
        without promised shares. The rounds t are those of the arm's own clock."""
        self.settle()
        if self.promise is None or not self._rounds:
            return None
        if self._parts:
            books = max(self._parts.values(), key=lambda part: float(part.worst.max()))
            owner = int(np.argmax(books.worst))
            return float(books.worst[owner]), self._subject(books.owners[owner]), int(books.worst_round[owner])
        largest = self._largest()
        arm = int(np.argmax(largest))
        ended = largest[arm] > self._books.worst[arm]
        return float(largest[arm]), self._labels[arm], self._rounds if ended else int(self._worst_rounds[arm])

    @property
    def behind(self) -> Any:
        """r_i t - N_i(t) for each arm (n_arms,) now, by its own clock, the largest of all segments; None as long as
        every round counts for every arm."""
        arms = len(self._labels)
        return np.max([books.behind_of(arms) for books in self._parts.values()], axis=0) if self._parts else None

    @property
    def violations(self) -> int:
        """The number of rounds at whose end the promise was broken for some arm."""
        self.settle()
        return int(self._summary[0])

    @property
    def first_violation(self) -> tuple[int, Any] | None:
        """The first round at whose end the promise was broken, and the arm or the set of arms."""
        if not self.violations:
            return None
        return int(self._summary[1]), self._labels[self._summary[2]] if self._hit is None else self._hit

    @property
    def kept(self) -> bool | None:
        """Whether the promise was kept; None if it is not due yet."""
        if not self._promised or self.when == "in the long run":
            return None
        return self._at_horizon if self.when == "at the horizon" else self.violations == 0

    def worst_case(self) -> dict[str, Any]:
        """Return the worst shortfall with its arm and round (None without a promise), and the rounds in violation."""
        shortfall, arm, round = self.worst or (None, None, None)
        names = {"worst_shortfall": shortfall, "worst_arm": arm, "worst_round": round}
        return names | {"rounds_in_violation": self.violations}

    def copy(self) -> Self:
        """Return a copy that continues independently."""
        other = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, (np.ndarray, deque, dict, list, set)):
                setattr(other, name, value.copy())
        other._books = Tally._make(array.copy() for array in self._books)
        other._parts = copy.deepcopy(self._parts)
        return other

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restore` needs to continue exactly here."""
        self.settle()
        books = {f"books.{name}": array.tolist() for name, array in self._books._asdict().items()}
        rounds = {"worst_rounds": self._worst_rounds.tolist(), "summary": self._summary.tolist()}
        found = books | rounds | {"rounds": self._rounds, "at_horizon": self._at_horizon}
        if self._parts:
            parts = [[segment, part.state()] for segment, part in self._parts.items()]
            promise = None if self.promise is None else self.promise.to_dict()
            promised = {"labels": self._labels, "promise": promise, "retired": self.retired}
            found |= {"parts": parts, "hit": self._hit, **promised}
        return found

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Continue from a snapshot of a check of the same promise."""
        for name, array in self._books._asdict().items():
            array[...] = snapshot[f"books.{name}"]
        self._worst_rounds[...], self._summary[...] = snapshot["worst_rounds"], snapshot["summary"]
        self._rounds, self._at_horizon = snapshot["rounds"], snapshot["at_horizon"]
        if "parts" in snapshot:
            hit, self.retired = snapshot["hit"], list(snapshot["retired"])
            self._hit = tuple(hit) if isinstance(hit, list) else hit
            self._labels = list(snapshot["labels"])
            if snapshot.get("promise") is not None:
                self.promise = promise_of(snapshot["promise"])
        self._parts = {}
        for segment, state in snapshot.get("parts", []):
            if segment is not None:
                first_named(segment, self._names)
            self._parts[segment] = self._new_books()
            self._parts[segment].fill(state)
            if self._parts[segment].broken() is not None:
                self._broken.add(segment)

    def settle(self) -> None:
        """Check the promise at every round that has not been checked yet."""
        if self._codes:
            codes = np.array(self._codes, dtype=np.int64)
            now = np.empty(len(codes))
            entry(follow)(self._books, codes, self._rounds, self._worst_rounds, self._summary, now)
            self._rounds += len(codes)
            self._codes.clear()
            if self._rounds == self._horizon:
                self._at_horizon = self.promise.kept(self._books.pulls.tolist(), self._rounds)
