"""NaiveFair: first draw a group, then let a policy decide inside it.

Shares are fair by construction. What the rewards say about a group is ignored, so the true regret does not vanish.

Source: C. Schumann, Z. Lang, N. Mattei, J. P. Dickerson, "Group Fairness in Bandits with Biased Feedback", AAMAS 2022,
Algorithm 2. The program published with the paper explores over all arms and otherwise draws a group by its share of
the arms; that is `group_odds="size"`, since a group drawn by its share and an arm drawn inside it make a uniformly
random arm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from evenhand.arguments import one_of, yes_or_no
from evenhand.errors import ArgumentError, expected
from evenhand.groups.interval_policies import TopInterval
from evenhand.groups.intervals import any_of, group_of
from evenhand.groups.linear_thompson import LinearThompson
from evenhand.groups.problem import Grouped, Groups, Membership
from evenhand.groups.worlds import BiasedLinearArms
from evenhand.kernels.arrays import Bools, Floats, Ints, Words
from evenhand.kernels.compose import OPEN, bind, kernel
from evenhand.kernels.random import below
from evenhand.parameters import require_fresh
from evenhand.policy.kernel_set import Kernels, RewardContext, unknown_probability
from evenhand.registry import register
from evenhand.rng import Seed, child


class NaiveParams(NamedTuple):
    groups: Ints
    dimension: int
    equal: bool
    """Whether groups are equally likely, or by their share of the arms."""
    inner: Any


class NaiveState(NamedTuple):
    stream: Words
    present: Bools
    """(n_groups,): which groups have an arm in this round."""
    inner: Any


inner_choose = inner_update = OPEN


@kernel
def draw_group(params: NaiveParams, state: NaiveState, contexts: Floats) -> int:
    """Return the group in which this round is decided, one that has an arm."""
    arms = params.groups.size
    if not params.equal:
        return group_of(params, contexts, below(state.stream, arms))
    for group in range(state.present.size):
        state.present[group] = False
    for arm in range(arms):
        state.present[group_of(params, contexts, arm)] = True
    return any_of(state.stream, state.present)


@kernel
def choose(params: NaiveParams, state: NaiveState, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    group = draw_group(params, state, contexts)
    for arm in range(params.groups.size):
        state.inner.eligible[arm] = group_of(params, contexts, arm) == group
    return inner_choose(params.inner, state.inner, contexts, round, waiting)


@kernel
def update(
    params: NaiveParams, state: NaiveState, contexts: Floats, index: int, reward: float, ticket: RewardContext
) -> None:
    inner_update(params.inner, state.inner, contexts, index, reward, ticket)


@register("groups/naive-fair", baseline=True)
class NaiveFair(Grouped):
    """Draw a group, then let an inner policy decide among its arms.

    The inner policy is asked once, with the arms of the group alone to choose from.

    Parameters
    ----------
    groups : the group of each arm: a list, or a dict arm -> group; several attributes form one, ("F", "under 25").
    group_odds : "equal": each group is equally likely; "size": by its share of the arms.
    inner : the policy inside the group, one of this package; None for `TopInterval(groups, delta, noise_scale=...,
        intercept=...)`.
    delta, noise_scale, intercept : settings of that `TopInterval`.
    seed : seed of the groups drawn, and of the inner policy's own choices.

    Raises
    ------
    ArgumentError
        If the odds are neither, or the inner policy has other groups, has decided before, or draws groups itself.

    Examples
    --------
    >>> policy = NaiveFair({"ann": "F", "bob": "M", "cid": "M"}, seed=1)
    >>> decision = policy.ask([[1.0], [0.2], [0.4]])
    >>> policy.tell(decision, 30.0)

    Source: Schumann, Lang, Mattei, Dickerson (2022), Algorithm 2.
    """

    def __init__(
        self,
        groups: Membership,
        group_odds: Literal["equal", "size"] = "equal",
        *,
        inner: Grouped | None = None,
        delta: float = 0.1,
        noise_scale: float = 1.0,
        intercept: bool = False,
        seed: Seed = None,
    ) -> None:
        one_of("group_odds", group_odds, ("equal", "size"))
        self.membership = Groups.read(groups)
        self.group_odds, self.inner, self.delta, self.noise_scale = group_odds, inner, delta, noise_scale
        self.intercept = yes_or_no("intercept", intercept)
        said = {"delta": (delta, 0.1), "noise_scale": (noise_scale, 1.0), "intercept": (self.intercept, False)}
        for name, (value, silent) in said.items():
            if inner is not None and value != silent:
                raise ArgumentError(expected(name, f"{silent} together with inner=", value, "give it to inner"))
        if inner is None:
            inner = TopInterval(self.groups, delta, noise_scale=noise_scale, intercept=self.intercept)
        if not isinstance(inner, Grouped) or isinstance(inner, NaiveFair):
            raise ArgumentError(
                expected("inner", "a policy of evenhand.groups that does not draw groups itself", inner)
            )
        require_fresh("inner", inner, "pass inner.fresh()")
        if inner.membership != self.membership:
            raise ArgumentError(expected("inner", f"one for the groups {self.groups}", inner.groups))
        self._kernels = Kernels(
            bind(choose, inner_choose=inner._kernels.choose),
            bind(update, inner_update=inner._kernels.update),
            unknown_probability,
        )
        self._learner, self._traits = inner.fresh(), replace(self._traits, own_rows=inner._traits.own_rows)
        if self.inner is not None:
            self.inner = self._learner
        super().__init__(self.membership.arms, seed)

    @property
    def horizon(self) -> int | None:  # type: ignore[override]
        """The inner policy's horizon, where it has one."""
        return self._learner.horizon

    def _started(self) -> Any:
        learner = self._learner.fresh(seed=child(self.seed, 1))
        learner._begin(self.dimension or 0)
        return learner

    def _parameters(self) -> NaiveParams:
        codes = np.array(self.membership.codes, np.int64)
        return NaiveParams(codes, self.dimension or 0, self.group_odds == "equal", self._started().engine.params)

    def _memory(self) -> NaiveState:
        present = np.zeros(len(self.membership.names), np.bool_)
        return NaiveState(self._stream(), present, self._started().engine.state)

    @classmethod
    def _examples(cls) -> Iterator[tuple[NaiveFair, Any]]:
        world = BiasedLinearArms(arms=5, sensitive=2)
        yield cls(world.groups, seed=1), world
        yield cls(world.groups, "size", inner=LinearThompson(world.groups, spread=1.0, seed=3), seed=2), world
