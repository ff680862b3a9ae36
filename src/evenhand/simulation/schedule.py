"""What the rounds of a simulation are given: the arms on offer, and promises that change.

Functions are called once a round, with generators that depend on the world's seed alone, so that all policies of a
replication are given the same rounds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arguments import is_whole
from evenhand.errors import ArgumentError, ContractError, Wording, expected
from evenhand.frames import as_pandas, is_frame
from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.labels import Labels, listed
from evenhand.protocol import Label
from evenhand.rng import generator
from evenhand.simulation.world import world_traits

if TYPE_CHECKING:
    import pandas as pd

OFFERS = "a bool array (rounds, n_arms), the labels on offer in each round, a log, or a function (round, rng) -> labels"
CHANGES = "a dict round -> eh.Promise or shares, with whole rounds from 2 on"
TRUTH = {"true", "false"}
"""Labels that are not to be taken for a mask."""
CHUNK = 1 << 16
"""So many rounds are looked at together."""


@dataclass(frozen=True)
class RoundSchedule:
    """The rounds of one replication.

    Attributes
    ----------
    arms : the labels of the arms.
    offers : whether each arm is on offer (rounds, n_arms); None where all always are.
    changes : the rounds before which another promise is made, in order, and what it is.
    """

    arms: tuple[Label, ...]
    offers: Bools | None = None
    changes: tuple[tuple[int, Any], ...] = ()

    def arguments(self, round: int) -> dict[str, Any]:
        """Return what `ask` is told of a round, counted from 1."""
        if self.offers is None:
            return {}
        return {"available": [arm for arm, here in zip(self.arms, self.offers[round - 1], strict=True) if here]}

    def on_offer(self, round: int) -> list[int] | None:
        """Return the positions of the arms on offer in a round, counted from 1; None where all always are."""
        return None if self.offers is None else np.flatnonzero(self.offers[round - 1]).tolist()

    def offered(self, rounds: Ints) -> Ints:
        """Return in how many rounds each arm was on offer, up to each of these rising rounds (n_rounds, n_arms)."""
        assert self.offers is not None
        parts = np.split(self.offers[: rounds[-1]], rounds[:-1])
        return np.cumsum([part.sum(axis=0) for part in parts], axis=0)


def least_loss(world: Any, rounds: Ints, plays: int, offers: Bools | None) -> Floats | None:
    """Return what the best `plays` arms of a round, of those on offer, lose against the best of all, summed up to each
    of these rising rounds; None where the world does not say what arms are worth."""
    traits, total, done, found = world_traits(world), 0.0, 0, []
    gaps, means_at = traits.gaps, traits.means_at
    if gaps is None and means_at is None:
        return None
    if gaps is not None and offers is None:
        return np.asarray(np.sort(gaps)[:plays].sum() * rounds)
    for round in rounds.tolist():
        for start in range(done, round, CHUNK):
            end = min(start + CHUNK, round)
            if means_at is not None and gaps is None:
                means = means_at(np.arange(start + 1, end + 1))
                lost = means.max(axis=1, keepdims=True) - means
            else:
                lost = np.broadcast_to(np.asarray(gaps), (end - start, len(world.arms)))
            best = np.sort(lost if offers is None else np.where(offers[start:end], lost, np.inf), axis=1)[:, :plays]
            total = np.cumsum(np.append(total, np.where(np.isfinite(best), best, 0.0).sum(axis=1)))[-1]
        done = round
        found.append(total)
    return np.array(found)


@dataclass(frozen=True)
class ScheduleSource:
    """What users gave: arrays, or functions that are called anew in each replication."""

    arms: tuple[Label, ...]
    rounds: int
    offers: Bools | Callable[..., Any] | None = None
    changes: tuple[tuple[int, Any], ...] = ()

    def schedule(self, replication: int, world_seed: int) -> RoundSchedule:
        """Return the rounds of a replication.

        Raises
        ------
        ContractError
            If a function returns no arms.
        """
        offers = self.offers
        if callable(offers):
            rng = generator(world_seed, 2)
            offers = np.array([_row(t, offers(t, rng), self.arms, ContractError) for t in range(1, self.rounds + 1)])
        elif offers is not None and offers.ndim == 3:
            offers = offers[replication]
        return RoundSchedule(self.arms, offers, self.changes)


def read_given(
    offers: object, changes: object, *, rounds: int, replications: int, arms: tuple[Label, ...]
) -> ScheduleSource | None:
    """Read what users write; None where nothing varies.

    Raises
    ------
    ArgumentError
        If there are fewer rounds than are played, a round offers no arm or an unknown one, or a change is not before a
        round from 2 to the last.
    """
    if offers is None and changes is None:
        return None
    if offers is not None and not callable(offers):
        offers = _read_offers(offers, rounds, replications, arms)
    return ScheduleSource(arms, rounds, offers, _read_changes(changes, rounds))


def _read_offers(given: object, rounds: int, replications: int, arms: tuple[Label, ...]) -> Bools:
    if is_frame(given):
        said = said_in(as_pandas(given, "offers"), "available")
        if said is None:
            what = "a log with a column available, or a column given that holds available"
            raise ArgumentError(expected("offers", what, list(given.columns)))
        given = said
    if isinstance(given, np.ndarray) and given.ndim > 1 and given.dtype.kind in "iuf":
        got = Wording(f"an array of {given.dtype}")
        raise ArgumentError(expected("offers", OFFERS, got, "write offers.astype(bool)"))
    try:
        found = np.asarray(given)
    except ValueError:  # rows of several lengths
        found = np.zeros(0)
    if found.dtype == np.bool_:
        want = (replications, rounds, len(arms)) if found.ndim == 3 else (rounds, len(arms))
        enough = len(found.shape) == len(want) and found.shape[-2] >= rounds
        if not enough or (*found.shape[:-2], rounds, found.shape[-1]) != want:
            raise ArgumentError(expected("offers", f"an array {want}", f"one {found.shape}"))
        found = np.ascontiguousarray(found[..., :rounds, :])
        none = np.argwhere(~found.any(axis=-1))
        if none.size:
            raise ArgumentError(expected(f"offers, round {none[0][-1] + 1}", "an arm on offer", Wording("none")))
        return found
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise ArgumentError(expected("offers", OFFERS, given))
    each = given.tolist() if isinstance(given, np.ndarray) else listed(given)
    if len(each) < rounds:
        what = f"one for each of the {rounds} rounds"
        raise ArgumentError(expected("offers", what, f"{len(each)}", "play fewer rounds"))
    return np.array([_row(t, one, arms, ArgumentError) for t, one in enumerate(each[:rounds], 1)])


def said_in(log: pd.DataFrame, key: str) -> list[Any] | None:
    """Return a column of a log, or what stands under that key in its column `given`, as `study.frame()` has it; None
    where it says nothing of the kind."""
    if key in log.columns:
        return [
            None if cell is None or (isinstance(cell, float) and math.isnan(cell)) else cell
            for cell in log[key].astype(object)
        ]
    cells = log["given"] if "given" in log.columns else ()
    parts = [_parsed(cell) if isinstance(cell, str) else cell for cell in cells]
    found = [part.get(key) if isinstance(part, Mapping) else None for part in parts]
    return None if all(one is None for one in found) else found


def _parsed(text: str) -> Any:
    """Return JSON as a value, None for any other text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _row(round: int, given: object, arms: tuple[Label, ...], error: type[ArgumentError | ContractError]) -> Bools:
    """Return which arms are on offer in a round: all for None, else by a mask or by labels, which may be text."""
    if given is None:
        return np.ones(len(arms), np.bool_)
    read = given
    if isinstance(given, str):
        read = _parsed(given) if given.startswith("[") else [part.strip() for part in given.split(",")]
    listed = list(read) if isinstance(read, Iterable) and not isinstance(read, Mapping) else []
    here = np.zeros(len(arms), np.bool_)
    mask = bool(listed) and all(isinstance(one, (bool, np.bool_)) for one in listed)
    if mask and TRUTH.isdisjoint(arms):  # no arm is called so
        here[:] = listed if len(listed) == len(arms) else False
    else:
        found = Labels(arms).places(listed)
        here[found] = -1 not in found and len(set(found)) == len(found)
    if not here.any():
        what = Wording("at least one of the arms ", list(arms)[:5], ", each once")
        raise error(expected(f"offers, round {round}", what, given))
    return here


def _read_changes(given: Any, rounds: int) -> tuple[tuple[int, Any], ...]:
    if given is None:
        return ()
    try:
        pairs = given.items() if isinstance(given, Mapping) else given
        found = sorted([(int(round) if is_whole(round) else 0, promise) for round, promise in pairs], key=itemgetter(0))
    except (TypeError, ValueError):
        raise ArgumentError(expected("changes", CHANGES, given)) from None
    if not all(2 <= round <= rounds for round, _ in found) or len({round for round, _ in found}) < len(found):
        raise ArgumentError(expected("changes", f"rounds from 2 to {rounds}, each once", [round for round, _ in found]))
    return tuple(found)


def over_time(promises: list[Any], measured: object, given: ScheduleSource) -> Any:
    """Return what a policy is measured against over all rounds: where the promise changes, shares that are the mean of
    those promised, weighted by their rounds."""
    if len(promises) < 2:
        return measured
    starts = [1, *(round for round, _ in given.changes), given.rounds + 1]
    weights = [Fraction(int(n), given.rounds) for n in np.diff(starts)]
    columns = zip(*(promise.shares for promise in promises), strict=True)
    shares = tuple(sum(w * s for w, s in zip(weights, column, strict=True)) for column in columns)
    return promises[0].varied(shares=shares)
