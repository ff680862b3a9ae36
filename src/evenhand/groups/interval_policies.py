"""The interval policies: `IntervalChaining`, `TopInterval`, and the settings that they share.

IntervalChaining passes over no arm whose interval overlaps, directly or through others, with the best one. TopInterval
pulls the arm whose interval ends highest, blind to groups.

Two readings of the paper are offered. `preset="paper"`: N(0, v) has variance v, so a width is z sqrt(v); an arm's
level is delta / (2 n t); a regression counts from d samples on, before that its width is infinite. `preset="authors"`,
the program published with the paper: a width is z v; every level has the horizon T; a regression counts from its first
sample on, by the least squares solution of smallest norm; ties go to the first arm.

Sources: C. Schumann, Z. Lang, N. Mattei, J. P. Dickerson, "Group Fairness in Bandits with Biased Feedback", AAMAS
2022, who compare with both; M. Joseph, M. Kearns, J. Morgenstern, A. Roth, "Fairness in Learning: Classic and
Contextual Bandits", NeurIPS 2016, for the chain; M. Joseph, M. Kearns, J. Morgenstern, S. Neel, A. Roth, "Fair
Algorithms for Infinite and Contextual Bandits" (2018), for the top interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from evenhand.arguments import one_of, real, whole, yes_or_no
from evenhand.errors import ArgumentError, expected
from evenhand.groups.intervals import CHAIN, INTERVALS, TOP, TWO_SWEEPS, IntervalParams, IntervalState
from evenhand.groups.problem import Grouped, Groups, Membership
from evenhand.groups.worlds import BiasedLinearArms
from evenhand.kernels.arrays import Words
from evenhand.kernels.linear import regressions
from evenhand.registry import register
from evenhand.rng import Seed

Preset = Literal["paper", "authors"]
ColdStart = Literal["infinite", "minimum_norm"]
MUCH, FEWEST = 0.2, 10_000
"""A note says where more than this part of the rounds explores, of policies for so many rounds or fewer."""


class IntervalSettings(NamedTuple):
    """What every policy over the intervals of arms is set by; see `TopInterval` for what each means."""

    delta: float
    noise_scale: float
    horizon: int | None
    preset: Preset
    exploration: float
    cold_start: ColdStart | None
    intercept: bool

    def checked(self) -> IntervalSettings:
        """Return the settings as the rule counts with them.

        Raises
        ------
        ArgumentError
            If one is invalid.
        """
        horizon, preset, exploration = self.horizon, one_of("preset", self.preset, ("paper", "authors")), math.inf
        if preset == "authors" and horizon is None:
            what = "a number of rounds, as the authors' program uses it in every width"
            raise ArgumentError(expected("horizon", what, horizon))
        if not (isinstance(self.exploration, float) and self.exploration == math.inf):
            exploration = real("exploration", self.exploration, above=0)
        start = self.cold_start
        return IntervalSettings(
            real("delta", self.delta, above=0, below=1),
            real("noise_scale", self.noise_scale, above=0),
            None if horizon is None else whole("horizon", horizon, low=1, high=2**53),
            preset,
            exploration,
            None if start is None else one_of("cold_start", start, ("infinite", "minimum_norm")),
            yes_or_no("intercept", self.intercept),
        )

    def parameters(self, membership: Groups, dimension: int, pick: int) -> IntervalParams:
        """Return what the kernels never change, for a policy that corrects no group and picks in this way."""
        paper = self.preset == "paper"
        start = self.cold_start or ("infinite" if paper else "minimum_norm")
        return IntervalParams(
            dimension,
            self.delta,
            self.noise_scale,
            self.exploration,
            horizon=self.horizon or 0,
            anytime=paper,
            square_root=paper,
            needed=dimension + self.intercept if start == "infinite" else 1,
            fewest=paper,
            pick=pick,
            groups=np.array(membership.codes, np.int64),
            sizes=np.append(membership.sizes(), float(len(membership.arms))),
            corrected=np.zeros(len(membership.names), np.bool_),
            target=-1,
            shift=0.0,
        )

    def memory(self, membership: Groups, dimension: int, stream: Words, of_groups: int = 0) -> IntervalState:
        """Return what the kernels remember before the first round; `of_groups` regressions are of groups, the pooled
        one among them."""
        arms, groups = len(membership.arms), len(membership.names)
        return IntervalState(
            stream,
            eligible=np.ones(arms, np.bool_),
            middles=np.zeros(arms),
            halves=np.zeros(arms),
            chained=np.zeros(arms, np.bool_),
            levels=np.zeros(groups + 2),
            until=np.zeros(1, np.int64),
            fit=regressions(arms + of_groups, dimension, intercept=self.intercept),
        )

    def notes(self, policy: Grouped) -> tuple[str, ...]:
        """Return whether exploration takes a large part of the rounds that a policy so set is for."""
        if self.horizon is None or self.horizon > FEWEST or self.exploration == math.inf:
            return ()
        rows = int(policy.engine.state.fit.samples[: len(policy.membership.arms)].sum()) if policy.dimension else 0
        rounds = np.arange(1.0, self.horizon + 1) + max(0, rows - policy.round)
        explored = float((rounds**-self.exploration).sum())
        if explored < MUCH * self.horizon:
            return ()
        return (
            f"About {explored:.0f} of {self.horizon:,} choices are drawn at random, by t^(-{self.exploration:.3g}) in "
            "round t. For so few rounds learn from earlier rows first, which count as rounds, or explore less: "
            "exploration=math.inf.",
        )


@register("groups/interval-chaining", baseline=True)
class IntervalChaining(Grouped):
    """Pull a random arm of the chain: the top interval, all that overlap it, all that overlap those, and so on.

    The chain is the transitive closure of overlapping. `preset="authors"` makes two sweeps instead, and moves the
    lower end to an upper one, as the program published with the paper does.

    Parameters
    ----------
    groups, delta, noise_scale, horizon, preset, exploration, cold_start, intercept : as for `TopInterval`.
    seed : seed of the exploration and of the draw from the chain.

    Raises
    ------
    ArgumentError
        If a setting is invalid, or there are fewer than two arms.

    Examples
    --------
    >>> policy = IntervalChaining(["F", "M", "M"], seed=1)
    >>> decision = policy.ask([[1.0], [0.2], [0.5]])
    >>> policy.tell(decision, 3.5)

    Source: Joseph, Kearns, Morgenstern, Roth (2016), section 3; Schumann, Lang, Mattei, Dickerson (2022), as a
    baseline.
    """

    _kernels = INTERVALS

    def __init__(
        self,
        groups: Membership,
        delta: float = 0.1,
        *,
        noise_scale: float = 1.0,
        horizon: int | None = None,
        preset: Preset = "paper",
        exploration: float = 1 / 3,
        cold_start: ColdStart | None = None,
        intercept: bool = False,
        seed: Seed = None,
    ) -> None:
        self.membership = Groups.read(groups)
        given = IntervalSettings(delta, noise_scale, horizon, preset, exploration, cold_start, intercept)
        self._settings = settings = given.checked()
        self.delta, self.noise_scale, self.horizon, self.preset, *_ = settings
        self.exploration, self.cold_start, self.intercept = settings[4:]
        super().__init__(self.membership.arms, seed)

    @property
    def notes(self) -> tuple[str, ...]:
        """Whether exploration takes a large part of the rounds that the policy is for."""
        return self._settings.notes(self)

    def _parameters(self) -> IntervalParams:
        return self._settings.parameters(
            self.membership, int(self.dimension or 0), CHAIN if self.preset == "paper" else TWO_SWEEPS
        )

    def _memory(self) -> IntervalState:
        return self._settings.memory(self.membership, int(self.dimension or 0), self._stream())

    @classmethod
    def _examples(cls) -> Iterator[tuple[IntervalChaining, Any]]:
        world = BiasedLinearArms(arms=4, sensitive=2)
        yield cls(world.groups, seed=1), world
        yield cls(world.groups, 0.3, horizon=10_000, preset="authors", seed=2), world


@register("groups/top-interval")
class TopInterval(Grouped):
    """Pull the arm with the largest beta_i'x + w_i, each arm's beta_i estimated by its own least squares.

    w_i = |Phi^{-1}(delta / (2 n t))| sigma sqrt(x (X_i'X_i)^+ x'). Where a design is singular, the solution of smallest
    norm and the pseudo-inverse are used. Groups do not enter the decision; a bias in the rewards is learned as if it
    were part of an arm's worth.

    Parameters
    ----------
    groups : the group of each arm: a list, or a dict arm -> group; several attributes form one, ("F", "under 25").
    delta : 1 - delta is the level at which all intervals hold, in (0, 1).
    noise_scale : sigma, the standard deviation of the reward's noise.
    horizon : T; only the authors' program needs it.
    preset : "paper" or "authors": two readings, see `evenhand.groups.interval_policies`.
    exploration : p; with probability t^(-p) a random arm is pulled, where t counts rounds and rows that `learn` took.
        1/3 is the paper's, whose bound needs it. `math.inf` for never after the first: in the paper's own worlds the
        true regret is then far smaller, see the page about biased feedback.
    cold_start : "infinite": an arm with fewer than d samples goes first; "minimum_norm": it counts from its first
        sample on. None for the preset's.
    intercept : whether rewards have a constant part: every regression gets a coefficient that multiplies 1. Contexts
        stay as they are.
    seed : seed of the exploration.

    Raises
    ------
    ArgumentError
        If a setting is invalid, or there are fewer than two arms.

    Examples
    --------
    >>> policy = TopInterval({"ann": "F", "bob": "M"}, seed=1)
    >>> decision = policy.ask([[1.0, 0.5], [0.2, 0.9]])
    >>> policy.tell(decision, 31.5)

    Source: Schumann, Lang, Mattei, Dickerson (2022), the algorithm that GroupFairTopInterval is compared with.
    """

    _kernels = INTERVALS

    def __init__(
        self,
        groups: Membership,
        delta: float = 0.1,
        *,
        noise_scale: float = 1.0,
        horizon: int | None = None,
        preset: Preset = "paper",
        exploration: float = 1 / 3,
        cold_start: ColdStart | None = None,
        intercept: bool = False,
        seed: Seed = None,
    ) -> None:
        self.membership = Groups.read(groups)
        given = IntervalSettings(delta, noise_scale, horizon, preset, exploration, cold_start, intercept)
        self._settings = settings = given.checked()
        self.delta, self.noise_scale, self.horizon, self.preset, *_ = settings
        self.exploration, self.cold_start, self.intercept = settings[4:]
        super().__init__(self.membership.arms, seed)

    @property
    def notes(self) -> tuple[str, ...]:
        """Whether exploration takes a large part of the rounds that the policy is for."""
        return self._settings.notes(self)

    def _parameters(self) -> IntervalParams:
        return self._settings.parameters(self.membership, int(self.dimension or 0), TOP)

    def _memory(self) -> IntervalState:
        return self._settings.memory(self.membership, int(self.dimension or 0), self._stream())

    @classmethod
    def _examples(cls) -> Iterator[tuple[TopInterval, Any]]:
        world = BiasedLinearArms(arms=4, sensitive=2)
        yield cls(world.groups, seed=1), world
        yield cls(world.groups, 0.3, horizon=10_000, preset="authors", seed=2), world
