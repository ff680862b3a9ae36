"""Regrets and group shares, in one pass over a stream or at once over a log: one definition for both.

In a round with expected biased rewards m_i and true rewards f_i, arm a pulled and reward y received,

    biased regret  max m - m_a,    true regret  max f - f_a,    perceived regret  max m - y.

The true regret is the one that counts; where nobody knows f, as with real data, only the perceived one is available.

Source: C. Schumann, Z. Lang, N. Mattei, J. P. Dickerson, "Group Fairness in Bandits with Biased Feedback", AAMAS 2022,
perceived regret as in the program published with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from evenhand.arguments import as_floats
from evenhand.data.rows import in_step
from evenhand.errors import ArgumentError, UnknownArmError, Wording, expected, expected_one_of
from evenhand.frames import is_frame
from evenhand.groups.problem import Groups, Membership
from evenhand.kernels.arrays import Floats, Ints
from evenhand.labels import in_order
from evenhand.protocol import Label
from evenhand.simulation.measures import arm_share, group_share, selection_rate_ratio


def round_regrets(biased: object, true: object, index: object, reward: object) -> Floats:
    """Return biased, true and perceived regret (..., 3) of rounds.

    Parameters
    ----------
    biased, true : expected biased and true reward of each arm (..., n_arms).
    index : the arm that was pulled (...).
    reward : the reward that was received (...).

    Raises
    ------
    ArgumentError
        If these are no numbers, their shapes do not fit, an arm is not there, or rows or arms of data frames and Series
        carry different labels.

    Examples
    --------
    >>> round_regrets([3.0, 1.0], [3.0, 4.0], 0, 2.5).tolist()
    [0.0, 1.0, 0.5]
    """
    biased, true, index, reward = in_step(("biased", biased), ("true", true), ("index", index), ("reward", reward))
    if is_frame(biased):
        true = in_order(true, [None, list(biased.columns)], "true")
    means = as_floats(biased)
    if means is None or means.ndim < 1 or means.size == 0:
        raise ArgumentError(expected("biased", "an expected reward for each arm (..., n_arms)", biased))
    rounds, k = means.shape[:-1], means.shape[-1]
    worth = _shaped("true", true, means.shape, "as many numbers as `biased` has")
    received = _shaped("reward", reward, rounds, "a finite number for each round")
    if not np.isfinite(received).all():
        raise ArgumentError(expected("reward", "a finite number for each round", reward))
    arms = _shaped("index", index, rounds, "the position of an arm for each round")
    if not np.isin(arms, np.arange(k)).all():
        raise ArgumentError(expected("index", f"positions of arms, from 0 to {k - 1}", index))
    at = arms.astype(np.int64)[..., None]
    lost = [of.max(axis=-1) - np.take_along_axis(of, at, axis=-1)[..., 0] for of in (means, worth)]
    return np.stack([*lost, means.max(axis=-1) - received], axis=-1)


def _shaped(name: str, given: object, shape: tuple[int, ...], what: str) -> Floats:
    """Return numbers of this shape."""
    found = as_floats(given)
    if found is None or found.shape != shape:
        raise ArgumentError(expected(name, f"{what}, of shape {shape}", given))
    return found


class Ledger:
    """Running totals over a stream of decisions: pulls, shares of groups and the three regrets.

    Parameters
    ----------
    groups : the group of each arm: a list, or a dict arm -> group.

    Examples
    --------
    >>> ledger = Ledger({"ann": "F", "bob": "M", "cid": "M"})
    >>> ledger.add("bob", 2.5, biased=[1.0, 3.0, 2.0], true=[4.0, 3.0, 2.0])
    >>> ledger.true_regret, ledger.group_share
    (1.0, {'F': 0.0, 'M': 1.0})
    """

    def __init__(self, groups: Membership) -> None:
        self.membership = Groups.read(groups)
        self.pulls: Ints = np.zeros(len(self.membership.arms), np.int64)
        self._regrets = np.zeros(3)

    def add(self, arm: Label, reward: float, *, biased: object = None, true: object = None) -> None:
        """Enter one round; without `biased` or `true` (n_arms,) the regrets that need them are unknown from then on.

        Raises
        ------
        UnknownArmError
            If there is no such arm.
        ArgumentError
            If expected rewards are given by label, as in a dict or Series, and the labels are not the arms'.
        """
        index = self.membership.labels.place(arm)
        if index is None:
            raise UnknownArmError(expected_one_of("arm", self.membership.arms, arm, what="one of the arms"))
        biased, true = (self._means(means, name) for name, means in (("biased", biased), ("true", true)))
        self._regrets += round_regrets(biased, true, index, reward)
        self.pulls[index] += 1

    def _means(self, means: object, name: str) -> Any:
        """Return expected rewards in the order of the arms, unknown ones as nan."""
        arms = self.membership.arms
        if means is None:
            return np.full(len(arms), np.nan)
        if not isinstance(means, Mapping):
            return in_order(means, [arms], name)
        given = dict(self.membership.labels.read(means, name, "an expected reward for each arm"))
        if set(given) != set(arms):
            raise ArgumentError(expected(name, Wording("an expected reward for each of the arms ", list(arms)), means))
        return [given[arm] for arm in arms]

    @property
    def biased_regret(self) -> float:
        """Expected biased reward lost against the arm with the largest, so far."""
        return float(self._regrets[0])

    @property
    def true_regret(self) -> float:
        """True reward lost against the arm with the largest, so far."""
        return float(self._regrets[1])

    @property
    def perceived_regret(self) -> float:
        """Largest expected biased reward less the reward received, so far."""
        return float(self._regrets[2])

    @property
    def group_share(self) -> dict[Label, float]:
        """Each group's share of the pulls."""
        return dict(
            zip(self.membership.names, group_share(self.pulls, self.membership.as_dict()).tolist(), strict=True)
        )

    @property
    def arm_share(self) -> dict[Label, float]:
        """Each group's share of the arms."""
        return dict(zip(self.membership.names, arm_share(self.membership.as_dict()).tolist(), strict=True))

    @property
    def selection_rate_ratio(self) -> float:
        """Smallest over largest selection rate of a group; the four-fifths rule asks for 0.8 and more."""
        return float(selection_rate_ratio(self.pulls, self.membership.as_dict()))
