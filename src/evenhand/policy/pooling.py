"""Statistics that workers exchange: what each learned itself is kept apart, and they decide by the sum of all.

A worker reports the statistics of its own rewards, cumulative, with the number of its report. Of each peer the report
with the highest number is held, and the total is the worker's own plus the peers', added in the order of their names.
So a report that is lost, repeated or overtaken by a later one does no harm, and the same reports give the same total to
the last bit. The learner's clock is the sum of all rounds; the clock of a promise stays the worker's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from evenhand.errors import ArgumentError, wanted
from evenhand.kernels.arrays import Ints

__all__ = ["Pool", "checked_report"]

LARGEST = 2**53
EXACT = 2**52
"""Whole numbers below this have the same sum in any order."""


class Pool:
    """What one learner learned itself, and what its peers reported.

    Parameters
    ----------
    fields : the fields of the learner's state that add over workers.
    derive : sets what follows from them in the state.

    Attributes
    ----------
    rounds : how many rounds the peers have decided.
    """

    def __init__(self, fields: tuple[str, ...], derive: Callable[[Any], None]) -> None:
        self.fields, self.derive = fields, derive
        self.peers = {}
        self._own: dict[str, Any] = {}
        """Copies of the fields with what was learned here alone; {} as long as that is all."""

    @property
    def peers(self) -> dict[str, dict[str, Any]]:
        """By name, the last report of each peer: `number`, `rounds`, `waiting` (n_arms,) and `statistics`."""
        return self._peers

    @peers.setter
    def peers(self, peers: dict[str, dict[str, Any]]) -> None:
        self._peers = peers
        self.rounds: int = sum(peer["rounds"] for peer in peers.values())
        self._waiting = np.sum([peer["waiting"] for peer in peers.values()], axis=0) if peers else None
        self._sums: dict[str, Any] = {}
        """The sums of the peers' fields, None where those depend on their order."""

    def waiting(self, own: Ints) -> Ints:
        """Return the open tickets of each arm, the peers' among them."""
        return own if self._waiting is None else own + self._waiting

    def learn(self, state: Any, update: Callable[[Any], None], arrays: tuple[Any, ...]) -> None:
        """Have `update(arrays)` change the worker's own statistics, and add the peers' to them again."""
        for name, mine in self._own.items():
            getattr(state, name)[...] = mine
        update(arrays)
        if self._own:
            self._own = {name: getattr(state, name).copy() for name in self.fields}
            self._add_up(state)

    def beside(self, state: Any) -> Any:
        """Return the last fields of the state with what was learned here alone, where these learn every reward as well;
        None where the fields add."""

    def keep_in(self, arrays: tuple[Any, ...]) -> None:
        """Keep in these arrays what `beside` returns."""

    def statistics(self, state: Any) -> dict[str, Any]:
        """Return what was learned here alone, as plain data."""
        return {name: (self._own.get(name, getattr(state, name))).tolist() for name in self.fields}

    def take(self, state: Any, reports: Mapping[str, dict[str, Any]]) -> None:
        """Hold the reports that are newer than those held, and decide by the new total.

        Raises
        ------
        ArgumentError
            If a report is not one of this learner's; nothing has changed.
        """
        self._hold({name: self.checked(name, report, state) for name, report in reports.items()})
        if not self._own:
            self._own = {name: getattr(state, name).copy() for name in self.fields}
        self._add_up(state)

    def checked(self, name: str, report: Any, state: Any) -> dict[str, Any]:
        """Return a report as it is held, or refuse it as `take` does."""
        read = checked_report(name, report, len(getattr(state, self.fields[0])))
        given = read["statistics"]
        read["statistics"] = {
            field: _numbers(name, field, given.get(field), getattr(state, field)) for field in self.fields
        }
        return read

    def _hold(self, reports: Mapping[str, dict[str, Any]]) -> None:
        """Hold the reports that are newer than those held."""
        newer = {n: r for n, r in reports.items() if n not in self.peers or r["number"] > self.peers[n]["number"]}
        self.peers = dict(sorted((self.peers | newer).items()))

    def _add_up(self, state: Any) -> None:
        for name, mine in self._own.items():
            total = getattr(state, name)
            total[...] = mine
            if name not in self._sums:
                self._sums[name] = _sum([peer["statistics"][name] for peer in self.peers.values()])
            if self._sums[name] is not None and _are_whole(mine):
                total += self._sums[name]
            else:
                for peer in self.peers.values():
                    total += peer["statistics"][name]
        self.derive(state)

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restore` needs."""
        return {"own": dict(self._own), "peers": self.peers}

    def restore(self, snapshot: dict[str, Any], state: Any) -> None:
        """Continue from a snapshot."""
        self._own, self.peers = dict(snapshot["own"]), dict(snapshot["peers"])


def checked_report(name: str, report: Any, arms: int) -> dict[str, Any]:
    """Return a peer's report with arrays in the place of lists.

    Raises
    ------
    ArgumentError
        If it is not a report.
    """
    what = f"a report of worker {name!r}: number, rounds, waiting for each of {arms} arms, statistics"
    try:
        number, rounds = report["number"], report["rounds"]
        waiting, statistics = np.array(report["waiting"]), report["statistics"]
        whole = all(type(one) is int and 0 <= one < LARGEST for one in (number, rounds, *waiting.tolist()))
        if not whole or waiting.shape != (arms,) or not isinstance(statistics, dict):
            raise ValueError
    except (LookupError, TypeError, ValueError) as error:
        raise ArgumentError(wanted("peers", what, report)) from error
    return {"number": number, "rounds": rounds, "waiting": waiting.astype(np.int64), "statistics": statistics}


def _sum(arrays: list[Any]) -> Any:
    """Return the sum of arrays, None where it might be another in another order."""
    total = np.sum(arrays, axis=0)
    return total if arrays and _are_whole(total) and all(map(_are_whole, arrays)) else None


def _are_whole(numbers: Any) -> bool:
    """Return whether all are whole numbers that floats add exactly."""
    return bool(((np.abs(numbers) < EXACT) & (np.trunc(numbers) == numbers)).all())


def _numbers(worker: str, field: str, given: Any, like: Any) -> Any:
    """Return one statistic of a report as an array of the kind that the learner has."""
    what = f"a report of worker {worker!r} with {like.shape} finite numbers from 0 in {field}"
    try:
        read = np.array(given, dtype=np.float64)
        sound = read.shape == like.shape and bool((np.isfinite(read) & (read >= 0) & (read <= LARGEST)).all())
        exact = like.dtype.kind == "f" or all(type(one) is int for one in given)
    except (TypeError, ValueError) as error:
        raise ArgumentError(wanted("peers", what, given)) from error
    if not (sound and exact):
        raise ArgumentError(wanted("peers", what, given))
    return read.astype(like.dtype)
