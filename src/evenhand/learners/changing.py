"""Indices that follow means that change: old rewards count less and less, or only the last ones count.

Discounted UCB. Each reward that is told first multiplies all counts and sums by gamma, then adds itself: N_i and S_i
are the discounted count and sum of arm i, and n = sum_i N_i. The index of arm i is S_i / N_i + 2 sqrt(xi ln(n) / N_i).

Sliding-window UCB. Over the last tau rewards that were told, N_i and S_i are the count and sum of arm i, and n <= tau
is the number of all. The index of arm i is S_i / N_i + sqrt(xi ln(n) / N_i); an arm without a reward in the window goes
first.

Source: A. Garivier, E. Moulines, "On Upper-Confidence Bound Policies for Switching Bandit Problems", ALT 2011, sections
2.1 and 2.2, Theorems 1 and 2; L. Kocsis, C. Szepesvári, "Discounted UCB", 2nd PASCAL Challenges Workshop (2006).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenhand.arguments import real, whole
from evenhand.errors import NOTHING, ArgumentError, Wording, expected
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import bind, kernel
from evenhand.learners.indices import by_index, choose_highest, rank_by_index
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.kernel_set import Kernels, reason
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.rng import Seed

DISCOUNT = 0.999
LONGEST = 10**9
"""The longest horizon that sets a discount; beyond it 1 - gamma would be lost in rounding."""
FORGOTTEN = 1e-300
"""A discounted count below this is as good as none."""
WINDOW = 1000
WIDEST = 10**7
"""The largest window: each reward in it takes 16 bytes."""
NONE_IN_WINDOW = reason("no reward within the window", "untried")


def read_changes(name: str, own: object, horizon: int | None, changes: int) -> tuple[int | None, int]:
    """Return the horizon and how many times the means change within it; a horizon decides `own`, which `name` names."""
    read = None if horizon is None else whole("horizon", horizon, low=1, high=LONGEST)
    times = whole("changes", changes, low=1, high=read)
    if read is None and times > 1:
        raise ArgumentError(expected("changes", "1 without horizon=, within which the means change", changes))
    if own is not None and read is not None:
        raise ArgumentError(expected(name, Wording(NOTHING, " together with horizon=, which sets it"), own))
    return read, times


class DiscountedParams(NamedTuple):
    discount: float
    xi: float


class DiscountedState(NamedTuple):
    pulls: Ints
    """How many rewards of each arm were ever told."""
    counts: Floats
    sums: Floats
    total: Floats
    """(1,): the sum of the discounted counts."""


@kernel
def discounted_index(params: DiscountedParams, state: DiscountedState, round: int, arm: int) -> float:
    count = state.counts[arm]
    if count < FORGOTTEN:
        return math.inf
    level = params.xi * max(0.0, math.log(state.total[0]))
    return state.sums[arm] / count + 2.0 * math.sqrt(level / count)


@kernel
def fade(params: DiscountedParams, state: DiscountedState, contexts: Floats, index: int, reward: float) -> None:
    for i in range(state.pulls.size):
        state.counts[i] *= params.discount
        state.sums[i] *= params.discount
    state.pulls[index] += 1
    state.counts[index] += 1.0
    state.sums[index] += reward
    state.total[0] = params.discount * state.total[0] + 1.0


@register("learners/discounted-ucb")
class DiscountedUCB(KernelPolicy):
    """Play the arm with the largest discounted mean + 2 sqrt(xi ln(n) / N_i); every arm once first.

    The discount counts rewards, not rounds: a reward that comes late counts as new when it is told, and while nothing
    is told nothing is forgotten. Where several arms are played in a round, each of their rewards discounts.

    Parameters
    ----------
    discount : gamma in (0, 1]; None for 0.999, or as the horizon implies. About the last 1 / (1 - gamma) rewards count.
    xi : how much is explored, above 0. The theorem requires more than 1/2.
    horizon : T, the number of rounds to come: gamma is 1 - sqrt(changes / T) / 4.
    changes : how many times the means change within the horizon.
    arms : number of arms or their labels; may be left out where FairLearn or simulate names them.
    seed : unused by this rule, kept so that learners are interchangeable.

    Raises
    ------
    ArgumentError
        If the discount is not in (0, 1] or is given beside a horizon, xi is not above 0, horizon or changes are not
        whole numbers with 1 <= changes <= horizon, there are fewer than two arms, or a label occurs twice.

    Examples
    --------
    >>> learner = DiscountedUCB(0.98, arms=["tea", "coffee"])
    >>> for t in range(600):
    ...     decision = learner.ask()
    ...     better = "tea" if t < 300 else "coffee"
    ...     learner.tell(decision, 0.9 if decision.arm == better else 0.1)
    >>> [learner.choose() for _ in range(1)]
    [1]

    Source: Garivier and Moulines (2011), Theorem 1 and Remark 3: with that gamma the expected number of times that a
    wrong arm is played is O(sqrt(changes T) ln T).
    """

    _kernels = by_index(discounted_index, fade)

    def __init__(
        self,
        discount: float | None = None,
        xi: float = 0.5,
        *,
        horizon: int | None = None,
        changes: int = 1,
        arms: int | Sequence[Label] | None = None,
        seed: Seed = None,
    ) -> None:
        self.discount = None if discount is None else real("discount", discount, above=0.0, high=1.0)
        self.horizon, self.changes = read_changes("discount", discount, horizon, changes)
        self.xi = real("xi", xi, above=0.0)
        super().__init__(arms, seed)

    def _parameters(self) -> DiscountedParams:
        discount = DISCOUNT if self.discount is None else self.discount
        if self.horizon is not None:
            discount = 1.0 - 0.25 * math.sqrt(self.changes / self.horizon)
        return DiscountedParams(discount, self.xi)

    def _memory(self) -> DiscountedState:
        k = len(self._labels)
        return DiscountedState(np.zeros(k, np.int64), np.zeros(k), np.zeros(k), np.zeros(1))


class WindowParams(NamedTuple):
    xi: float


class WindowState(NamedTuple):
    pulls: Ints
    """Of each arm, within the window."""
    sums: Floats
    told: Ints
    """(1,): how many rewards were ever told."""
    arms: Ints
    """(tau,): whose the last rewards were, the one told as number n at place n % tau."""
    rewards: Floats


@kernel
def window_index(params: WindowParams, state: WindowState, round: int, arm: int) -> float:
    pulls = state.pulls[arm]
    seen = min(state.told[0], state.arms.size)
    return state.sums[arm] / pulls + math.sqrt(params.xi * math.log(seen) / pulls)


@kernel
def slide(params: WindowParams, state: WindowState, contexts: Floats, index: int, reward: float) -> None:
    place = state.told[0] % state.arms.size
    if state.told[0] >= state.arms.size:
        oldest = state.arms[place]
        state.pulls[oldest] -= 1
        state.sums[oldest] = max(0.0, state.sums[oldest] - state.rewards[place]) if state.pulls[oldest] > 0 else 0.0
    state.arms[place], state.rewards[place] = index, reward
    state.pulls[index] += 1
    state.sums[index] += reward
    state.told[0] += 1


@register("learners/sliding-window-ucb")
class SlidingWindowUCB(KernelPolicy):
    """Play the arm with the largest mean_i + sqrt(xi ln(n) / N_i) over the last `window` rewards.

    The window counts rewards, not rounds: a reward that comes late enters it when it is told. Where several arms are
    played in a round, each of their rewards takes a place.

    Parameters
    ----------
    window : tau, how many of the last rewards count, up to ten million; None for 1000, or as the horizon implies. It
        should be well above the number of arms, or else all rounds go to arms without a reward in the window.
    xi : how much is explored, above 0. The theorem requires more than 1/2.
    horizon : T, the number of rounds to come: the window is 2 sqrt(T ln(T) / changes), rounded up.
    changes : how many times the means change within the horizon.
    arms : number of arms or their labels; may be left out where FairLearn or simulate names them.
    seed : unused by this rule, kept so that learners are interchangeable.

    Raises
    ------
    ArgumentError
        If the window is not a whole number from 1 to ten million or is given beside a horizon, xi is not above 0,
        horizon or changes are not whole numbers with 1 <= changes <= horizon, there are fewer than two arms, or a label
        occurs twice.

    Examples
    --------
    >>> learner = SlidingWindowUCB(50, arms=["tea", "coffee"])
    >>> for t in range(600):
    ...     decision = learner.ask()
    ...     better = "tea" if t < 300 else "coffee"
    ...     learner.tell(decision, 0.9 if decision.arm == better else 0.1)
    >>> learner.ask().arm
    'coffee'

    Source: Garivier and Moulines (2011), Theorem 2 and Remark 9: with that window the expected number of times that a
    wrong arm is played is O(sqrt(changes T ln T)).
    """

    _kernels = Kernels(
        bind(choose_highest, index=window_index, UNSEEN=NONE_IN_WINDOW),
        slide,
        rank=bind(rank_by_index, index=window_index, UNTRIED=NONE_IN_WINDOW),
    )

    def __init__(
        self,
        window: int | None = None,
        xi: float = 0.5,
        *,
        horizon: int | None = None,
        changes: int = 1,
        arms: int | Sequence[Label] | None = None,
        seed: Seed = None,
    ) -> None:
        self.window = None if window is None else whole("window", window, low=1, high=WIDEST)
        self.xi = real("xi", xi, above=0.0)
        self.horizon, self.changes = read_changes("window", window, horizon, changes)
        super().__init__(arms, seed)

    def _parameters(self) -> WindowParams:
        return WindowParams(self.xi)

    def _memory(self) -> WindowState:
        k, tau = len(self._labels), self._width()
        zero = np.zeros(k, np.int64), np.zeros(k), np.zeros(1, np.int64)
        return WindowState(*zero, np.zeros(tau, np.int64), np.zeros(tau))

    def _width(self) -> int:
        if self.horizon is None:
            return WINDOW if self.window is None else self.window
        return max(1, math.ceil(2.0 * math.sqrt(self.horizon * math.log(self.horizon) / self.changes)))
