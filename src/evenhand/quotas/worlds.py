"""Worlds of arms without contexts: Bernoulli arms, and arms whose rewards are resampled from a log.

Worlds whose means change: at once, at rounds that nobody announces, or slowly, all the time.

Regret is dynamic: each decision is compared with the arm that is best in its own round, and in a simulation several
arms with the best slate of their round.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.arguments import array, as_float, as_whole_numbers, one_of, real
from evenhand.data.tables import chances, column, in_column_order, numbers, places_in
from evenhand.errors import ArgumentError, Wording, expected
from evenhand.frames import as_pandas, is_frame
from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.kernels.compose import kernel
from evenhand.kernels.random import uniform
from evenhand.labels import Labels
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.simulation.measures import shares_change
from evenhand.simulation.world import KernelWorld, WorldKernels, shows_nothing

if TYPE_CHECKING:
    import pandas as pd


class BernoulliParams(NamedTuple):
    means: Floats
    gaps: Floats


class StreamState(NamedTuple):
    stream: Words


@kernel
def toss(params: BernoulliParams, state: StreamState, contexts: Floats, index: int) -> float:
    return 1.0 if uniform(state.stream) < params.means[index] else 0.0


@kernel
def lose_gap(params: Any, state: object, contexts: Floats, index: int, reward: float, totals: Floats) -> None:
    totals[0] += params.gaps[index]


@register("quotas/bernoulli-arms", "world")
class BernoulliArms(KernelWorld):
    """Arms that pay 1 with probability mu_i and 0 otherwise.

    One uniform number a round is compared with the mean of the arm that is pulled, so policies see common random
    numbers.

    Parameters
    ----------
    means : mu_i in [0, 1] for each arm: a list, or a dict arm -> mean.

    Raises
    ------
    ArgumentError
        If a mean is not in [0, 1], or there are fewer than two arms.

    Examples
    --------
    >>> BernoulliArms({"a": 0.7, "b": 0.5}).gaps.round(3).tolist()
    [0.0, 0.2]
    """

    _kernels = WorldKernels(shows_nothing, toss, lose_gap)
    reward_range = (0.0, 1.0)

    def __init__(self, means: Sequence[float] | Mapping[Label, float]) -> None:
        given = Labels().read(means, "means", "a probability for each arm: a list, or a dict arm -> mean")
        super().__init__(list(given) if isinstance(given, dict) else len(given))
        values = list(given.values()) if isinstance(given, dict) else given
        self.means = np.array([as_float(mean) for mean in values])
        for arm, mean, number in zip(self.arms, values, self.means, strict=True):
            if not 0 <= number <= 1:
                raise ArgumentError(expected(f"means[{arm!r}]", "a probability in [0, 1]", mean))
        self.gaps = self.means.max() - self.means

    def _parameters(self) -> BernoulliParams:
        assert self.gaps is not None
        return BernoulliParams(self.means, self.gaps)

    def _memory(self, stream: Words) -> StreamState:
        return StreamState(stream)

    @classmethod
    def _examples(cls) -> Iterator[BernoulliArms]:
        yield cls([0.7, 0.5, 0.4])
        yield cls({"a": 0.0, "b": 1.0})


class LoggedParams(NamedTuple):
    rewards: Floats
    first: Ints
    counts: Ints
    gaps: Floats
    upto: Floats
    """The share of an arm's weight up to each of its rewards, the last one 1; empty where all weigh alike."""


@kernel
def resample(params: LoggedParams, state: StreamState, contexts: Floats, index: int) -> float:
    drawn = uniform(state.stream)
    first, count = params.first[index], params.counts[index]
    if params.upto.size == 0:
        return params.rewards[first + int(drawn * count)]
    low, high = first, first + count - 1
    while low < high:
        middle = (low + high) // 2
        if params.upto[middle] > drawn:
            high = middle
        else:
            low = middle + 1
    return params.rewards[low]


@register("quotas/logged-arms", "world")
class LoggedArms(KernelWorld):
    """Arms whose rewards are real: each pull draws one of the rewards that a log holds for that arm, with replacement.

    The mean of an arm is the mean of its logged rewards; the log may come from any policy, as long as an arm's logged
    rewards represent what it would pay. They do not where arms were chosen by contexts that matter, or by earlier
    rewards, as a learner does; `propensity` corrects that.

    Parameters
    ----------
    frame : the log, one row per logged reward.
    arm, reward : names of its columns; rewards must lie in [0, 1], or be True and False, which count as 1 and 0.
    propensity : the column with the probability that the log's policy gave the arm of each row; a reward is then drawn
        with a probability proportional to 1 / propensity, and means are weighted likewise.

    Attributes
    ----------
    made_by_learner : whether the arms' shares change over the log, or the propensities of an arm do, as in the log of a
        learner: without `propensity` the means of such a log are biased.

    Raises
    ------
    TableError
        If a column is missing, an arm is empty, a reward is not a number in [0, 1], or a propensity is not above 0 and
        at most 1; the message names row and column.

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame({"item": ["a", "a", "b", "b"], "click": [0, 1, 0, 0]})
    >>> world = LoggedArms(log, arm="item", reward="click")
    >>> world.arms, world.means.tolist()
    (('a', 'b'), [0.5, 0.0])
    """

    _kernels = WorldKernels(shows_nothing, resample, lose_gap)
    reward_range = (0.0, 1.0)

    def __init__(self, frame: pd.DataFrame, arm: str, reward: str, *, propensity: str | None = None) -> None:
        frame = as_pandas(frame)
        rewards = numbers(frame, reward, low=0.0, high=1.0)
        labels = column(frame, arm)
        kinds = in_column_order(frame, [arm], labels)
        codes = places_in(labels, kinds)
        super().__init__(kinds)
        order = np.argsort(codes, kind="stable")
        self.rewards = rewards[order]
        self.counts = np.bincount(codes, minlength=len(kinds)).astype(np.int64)
        self.first = np.concatenate([[0], np.cumsum(self.counts)[:-1]]).astype(np.int64)
        self.arm, self.reward, self.propensity = arm, reward, propensity
        self.made_by_learner = shares_change(codes, len(kinds))
        self.upto, weights = np.zeros(0), np.ones(len(codes))
        if propensity is not None:
            weights = 1 / chances(frame, propensity)[order]
            most, least = np.maximum.reduceat(weights, self.first), np.minimum.reduceat(weights, self.first)
            self.made_by_learner |= bool((most > least * (1 + 1e-12)).any())
            self.upto = np.concatenate([np.cumsum(part) / part.sum() for part in np.split(weights, self.first[1:])])
        paid = np.add.reduceat(self.rewards * weights, self.first)
        self.means = paid / np.add.reduceat(weights, self.first)
        self.gaps = self.means.max() - self.means

    def _parameters(self) -> LoggedParams:
        assert self.gaps is not None
        return LoggedParams(self.rewards, self.first, self.counts, self.gaps, self.upto)

    def _memory(self, stream: Words) -> StreamState:
        return StreamState(stream)

    @classmethod
    def _examples(cls) -> Iterator[LoggedArms]:
        import pandas as pd

        yield cls(pd.DataFrame({"arm": list("aabbb"), "pay": [0.0, 1.0, 0.5, 0.25, 1.0]}), arm="arm", reward="pay")


class MovingState(NamedTuple):
    means: Floats
    """Of this round."""
    best: Floats
    """(1,): the largest of them."""
    segment: Ints
    """(1,)"""
    stream: Words


@kernel
def toss_now(params: object, state: MovingState, contexts: Floats, index: int) -> float:
    return 1.0 if uniform(state.stream) < state.means[index] else 0.0


@kernel
def lose_now(params: object, state: MovingState, contexts: Floats, index: int, reward: float, totals: Floats) -> None:
    totals[0] += state.best[0] - state.means[index]


@kernel
def note_best(state: MovingState) -> None:
    best = state.means[0]
    for arm in range(1, state.means.size):
        best = max(best, state.means[arm])
    state.best[0] = best


class ChangingParams(NamedTuple):
    means: Floats
    changes: Ints


@kernel
def change(params: ChangingParams, state: MovingState, contexts: Floats, round: int) -> None:
    segment = state.segment[0]
    while segment < params.changes.size and round >= params.changes[segment]:
        segment += 1
    if segment > state.segment[0] or round == 1:
        state.segment[0] = segment
        for arm in range(state.means.size):
            state.means[arm] = params.means[segment, arm]
        note_best(state)


class MovingArms(KernelWorld):
    """What both worlds have in common: arms that pay 1 with the probability of this round and 0 otherwise."""

    reward_range = (0.0, 1.0)

    def means_at(self, rounds: Ints) -> Floats:
        """Return the means of all arms in each of these rounds (n_rounds, n_arms)."""
        raise NotImplementedError

    def _memory(self, stream: Words) -> MovingState:
        return MovingState(np.zeros(len(self.arms)), np.zeros(1), np.zeros(1, np.int64), stream)


@register("quotas/changing-arms", "world")
class ChangingArms(MovingArms):
    """Arms that pay 1 with a probability that stays for a while, then changes at once.

    Parameters
    ----------
    means : each arm's probabilities, one for each stretch of rounds: a table with one row per stretch and one column
        per arm, whose names are the arms' if it is a data frame, or a dict arm -> list.
    changes : the first round of each stretch but the first, in order, from 2 on.

    Raises
    ------
    ArgumentError
        If a probability is not in [0, 1], there are fewer than two arms, or the changes are not rising rounds from 2
        on, one fewer than the stretches.

    Examples
    --------
    >>> world = ChangingArms({"a": [0.7, 0.2], "b": [0.5, 0.5]}, changes=[1001])
    >>> world.arms, world.means.tolist()
    (('a', 'b'), [[0.7, 0.5], [0.2, 0.5]])
    """

    _kernels = WorldKernels(change, toss_now, lose_now)

    def __init__(self, means: object, changes: object) -> None:
        what = "a row of probabilities for each stretch of rounds, or a dict arm -> its probabilities"
        means = as_pandas(means, "means").to_dict("list") if is_frame(means) else means
        columns = isinstance(means, Mapping)
        given = list(means.values()) if isinstance(means, Mapping) else means
        table = array("means", given, what, dimensions=2)
        table = np.ascontiguousarray(table.T) if columns else table
        super().__init__(list(means) if isinstance(means, Mapping) else table.shape[1])
        bad = np.argwhere((table < 0) | (table > 1))
        if bad.size:
            stretch, arm = bad[0]
            where = f"means of {self.arms[arm]!r} in stretch {stretch + 1}"
            raise ArgumentError(expected(where, "a probability in [0, 1]", float(table[stretch, arm])))
        self.means, self.changes = table, _rising(changes, len(table) - 1)

    def means_at(self, rounds: Ints) -> Floats:
        stretches: Floats = self.means[np.searchsorted(self.changes, rounds, side="right")]
        return stretches

    def _parameters(self) -> ChangingParams:
        return ChangingParams(self.means, self.changes)

    @classmethod
    def _examples(cls) -> Iterator[ChangingArms]:
        yield cls([[0.7, 0.5, 0.4], [0.1, 0.5, 0.9]], [50])
        yield cls({"a": [0.0, 1.0, 0.5], "b": [1.0, 0.0, 0.5]}, [2, 100])


def _rising(changes: object, count: int) -> Ints:
    what = f"{count} rising rounds from 2 on, one for each stretch but the first"
    given = as_whole_numbers(changes)
    if given is None or len(given) != count or (given[1:] <= given[:-1]).any() or ((given < 2) | (given > 2**62)).any():
        raise ArgumentError(expected("changes", what, changes))
    return given


class DriftingParams(NamedTuple):
    means: Floats
    amplitudes: Floats
    phases: Floats
    period: float
    linear: bool


@kernel
def drift(params: DriftingParams, state: MovingState, contexts: Floats, round: int) -> None:
    for arm in range(state.means.size):
        place = (round - 1) / params.period + params.phases[arm]
        if params.linear:
            place += 0.25
            wave = 1.0 - 4.0 * abs(place - math.floor(place) - 0.5)
        else:
            wave = math.sin(2.0 * math.pi * (place - math.floor(place)))
        state.means[arm] = params.means[arm] + params.amplitudes[arm] * wave
    note_best(state)


@register("quotas/drifting-arms", "world")
class DriftingArms(MovingArms):
    """Arms that pay 1 with a probability that rises and falls all the time.

    In round t it is mean_i + amplitude_i wave((t - 1) / period + phase_i). The wave has period 1, values from -1 to 1,
    and begins at 0, rising: a sine, or straight lines up and down.

    Parameters
    ----------
    means : mean_i, around which each arm's probability moves: a list, or a dict arm -> mean.
    amplitude : how far from its mean each arm's probability goes: one number, or a list or dict as for the means.
    period : after how many rounds the wave repeats, above 0. A straight trend over T rounds is half a period of 2 T.
    shape : "sine", or "linear" for straight lines.
    phases : where in the wave each arm begins, in periods: a list or dict; None spreads them evenly.

    Raises
    ------
    ArgumentError
        If mean - amplitude or mean + amplitude of an arm is not in [0, 1], there is not one number per arm, the period
        is not above 0, or there are fewer than two arms.

    Examples
    --------
    >>> world = DriftingArms({"day": 0.5, "night": 0.5}, 0.4, period=24)
    >>> world.phases.tolist()
    [0.0, 0.5]
    """

    _kernels = WorldKernels(drift, toss_now, lose_now)

    def __init__(
        self, means: object, amplitude: object = 0.2, *, period: float, shape: str = "sine", phases: object = None
    ) -> None:
        given = Labels().read(means, "means", "a probability for each arm: a list, or a dict arm -> mean")
        super().__init__(list(given) if isinstance(given, dict) else len(given))
        self.means = self._numbers("means", given)
        each = amplitude if isinstance(amplitude, Sized) else [amplitude] * len(self.arms)
        self.amplitude = self._numbers("amplitude", each)
        self.period = real("period", period, above=0.0)
        self.shape = one_of("shape", shape, ("sine", "linear"))
        even = np.arange(len(self.arms)) / len(self.arms)
        self.phases = even if phases is None else self._numbers("phases", phases)
        reach = np.abs(self.amplitude)
        for arm, low, high in zip(self.arms, self.means - reach, self.means + reach, strict=True):
            if low < -1e-12 or high > 1 + 1e-12:
                what = "mean - amplitude and mean + amplitude in [0, 1]"
                raise ArgumentError(expected(f"amplitude of {arm!r}", what, (float(low), float(high))))

    def _numbers(self, name: str, given: object) -> Floats:
        what = "a number for each arm: a list, or a dict arm -> number"
        found = Labels(self.arms).read(given, name, what)
        if len(found) != len(self.arms) or (isinstance(found, dict) and set(found) != set(self.arms)):
            raise ArgumentError(expected(name, Wording("one for each of the arms ", list(self.arms)), given))
        values = [found[arm] for arm in self.arms] if isinstance(found, dict) else list(found)
        return np.array([real(f"{name}[{arm!r}]", value) for arm, value in zip(self.arms, values, strict=True)])

    def means_at(self, rounds: Ints) -> Floats:
        place = (rounds[:, None] - 1) / self.period + self.phases + (0.25 if self.shape == "linear" else 0.0)
        place = place - np.floor(place)
        wave = 1.0 - 4.0 * np.abs(place - 0.5) if self.shape == "linear" else np.sin(2.0 * np.pi * place)
        means: Floats = self.means + self.amplitude * wave
        return means

    def _parameters(self) -> DriftingParams:
        return DriftingParams(self.means, self.amplitude, self.phases, self.period, self.shape == "linear")

    @classmethod
    def _examples(cls) -> Iterator[DriftingArms]:
        yield cls([0.5, 0.5, 0.4], 0.3, period=80)
        yield cls({"a": 0.5, "b": 0.6}, {"a": 0.5, "b": 0.0}, period=100, shape="linear", phases=[0.0, 0.0])
