"""Worlds of arms without contexts: Bernoulli arms, and arms whose rewards are resampled from a log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.arguments import as_float
from evenhand.data.tables import chances, column, in_natural_order, numbers, places_in
from evenhand.errors import ArgumentError, wanted
from evenhand.frames import as_pandas
from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.kernels.compose import kernel
from evenhand.kernels.random import uniform
from evenhand.labels import by_label
from evenhand.metrics.drift import shares_change
from evenhand.protocol import Label
from evenhand.registry import register
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
def lose_gap(params: Any, state: Any, contexts: Floats, index: int, reward: float, totals: Floats) -> None:
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

    kernels = WorldKernels(shows_nothing, toss, lose_gap)
    reward_range = (0.0, 1.0)

    def __init__(self, means: Sequence[float] | Mapping[Label, float]) -> None:
        given = by_label(means, "means", "a probability for each arm: a list, or a dict arm -> mean")
        super().__init__(list(given) if isinstance(given, dict) else len(given))
        values = list(given.values()) if isinstance(given, dict) else given
        self.means = np.array([as_float(mean) for mean in values])
        for arm, mean, number in zip(self.arms, values, self.means, strict=True):
            if not 0 <= number <= 1:
                raise ArgumentError(wanted(f"means[{arm!r}]", "a probability in [0, 1]", mean))
        self.gaps = self.means.max() - self.means

    def parameters(self) -> BernoulliParams:
        assert self.gaps is not None
        return BernoulliParams(self.means, self.gaps)

    def memory(self, stream: Words) -> StreamState:
        return StreamState(stream)

    @classmethod
    def examples(cls) -> Iterator[BernoulliArms]:
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

    The mean of an arm is the mean of its logged rewards; nothing is assumed of who logged them, except that within an
    arm they stand for what it would pay. They do not where the log chose arms by contexts that matter, or by earlier
    rewards, as a learner does; `propensity` corrects that.

    Parameters
    ----------
    frame : the log, a row a logged reward.
    arm, reward : names of its columns; rewards must lie in [0, 1], or be True and False, which count as 1 and 0.
    propensity : the column with the chance that the log gave the arm of each row; a reward is then drawn with a
        probability in proportion to 1 / propensity, and means are weighted so.

    Attributes
    ----------
    made_by_learner : whether the arms' shares change over the log, or the propensities of an arm do, as in the log of a
        learner: without `propensity` the means of such a log are biased.

    Raises
    ------
    TableError
        If a column is missing, an arm is empty, a reward is not a number in [0, 1], or a propensity not above 0 and at
        most 1; row and column are named.

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame({"item": ["a", "a", "b", "b"], "click": [0, 1, 0, 0]})
    >>> world = LoggedArms(log, arm="item", reward="click")
    >>> world.arms, world.means.tolist()
    (('a', 'b'), [0.5, 0.0])
    """

    kernels = WorldKernels(shows_nothing, resample, lose_gap)
    reward_range = (0.0, 1.0)

    def __init__(self, frame: pd.DataFrame, arm: str, reward: str, *, propensity: str | None = None) -> None:
        import pandas as pd

        frame = as_pandas(frame)
        rewards = numbers(frame, reward, low=0.0, high=1.0)
        labels = column(frame, arm)
        kinds = in_natural_order(pd.unique(labels).tolist())
        codes = places_in(labels, kinds)
        super().__init__(kinds)
        order = np.argsort(codes, kind="stable")
        self.rewards = rewards[order]
        self.counts = np.bincount(codes, minlength=len(kinds)).astype(np.int64)
        self.first = np.concatenate([[0], np.cumsum(self.counts)[:-1]]).astype(np.int64)
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

    def parameters(self) -> LoggedParams:
        assert self.gaps is not None
        return LoggedParams(self.rewards, self.first, self.counts, self.gaps, self.upto)

    def memory(self, stream: Words) -> StreamState:
        return StreamState(stream)

    @classmethod
    def examples(cls) -> Iterator[LoggedArms]:
        import pandas as pd

        yield cls(pd.DataFrame({"arm": list("aabbb"), "pay": [0.0, 1.0, 0.5, 0.25, 1.0]}), arm="arm", reward="pay")
