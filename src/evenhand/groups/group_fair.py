"""GroupFairTopInterval: the top interval, after the learned bias of each group has been subtracted.

Two groups, one of them sensitive: its arms are compared by beta_i'x - psi_sens'x + psi_ref'x, with all three widths
added, against the reference arms' beta_i'x + w_i. Any number of groups: every arm is corrected towards the pooled
regression over all pulls, psi_pool. The paper's own form for m groups adds a scalar rho to every arm, which changes no
comparison; what is left pulls each group towards its own mean. It is `mean_reward=rho`.

Invariance: adding one vector to a group's bias shifts beta_i and psi_P of its arms alike, once each regression is
regular, and so changes no decision in the two-group form.

Source: C. Schumann, Z. Lang, N. Mattei, J. P. Dickerson, "Group Fairness in Bandits with Biased Feedback", AAMAS 2022,
Algorithm 1, Theorems 1 and 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.arguments import one_of, real
from evenhand.errors import NOTHING, ArgumentError, Wording, argument, expected
from evenhand.groups.bias import INTERCEPT, Balance, estimate, named
from evenhand.groups.interval_policies import ColdStart, IntervalSettings, Preset
from evenhand.groups.intervals import CHAIN_WITHIN, INTERVALS, TOP, IntervalParams, IntervalState
from evenhand.groups.problem import Grouped, Groups, Membership, one_of_two
from evenhand.groups.worlds import BiasedLinearArms
from evenhand.parameters import locked
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.rng import Seed

if TYPE_CHECKING:
    import pandas as pd

LIFTED = Wording(
    "The two-group form (",
    argument("sensitive"),
    ") adds both groups' widths to the sensitive arms alone: as long as little is known, or the noise is large, that "
    "group is chosen more often than its share of the arms, in about 3 of 4 rounds for half of the arms at T = 1000. "
    "The pooled form (group-fair-top-interval without it) lifts no group.",
)
OWN_MEAN = (
    "mean_reward= adds the same number to every arm, which changes no comparison; what is left pulls each group "
    "towards its own mean. In the paper's setting the true regret is about four times that of the other forms."
)


@register("groups/group-fair-top-interval")
class GroupFairTopInterval(Grouped):
    """Pull the arm whose interval ends highest once its group's bias is subtracted; that bias is learned on the way.

    With b_P = |Phi^{-1}(delta |P| / (2 n T))| sigma sqrt(x (X_P'X_P)^+ x') for a regression over all pulls of a group
    P, a corrected arm has the index beta_i'x + w_i - psi_P'x + b_P + psi_target'x + b_target. The promise is a true
    regret of O(T^(2/3)) where groups are equal on average (Theorem 1); nothing is promised about shares: for those wrap
    it in `FairLearn`.

    Parameters
    ----------
    groups : the group of each arm: a list, or a dict arm -> group; several attributes form one, ("F", "under 25").
    sensitive : with exactly two groups, the one that is corrected towards the other. None: every group is corrected
        towards the pooled regression.
    mean_reward : rho, the mean reward over everyone: the paper's form for m groups instead of the pooled one.
    within : "top", or "chain": the arms of the chosen arm's group whose corrected intervals overlap in a chain are
        equally likely.
    delta : 1 - delta is the level at which all intervals hold, in (0, 1).
    noise_scale : sigma, the standard deviation of the reward's noise.
    horizon : T of the groups' widths; None for t instead. Past the horizon `ask` refuses, simulations go on with t.
    preset, exploration, cold_start : as for `TopInterval`.
    intercept : whether the bias, or the worth of an arm, has a constant part; see `TopInterval`. A bias that is the
        same whatever an arm shows, such as 5 points off for everyone of a group, can be learned and subtracted only
        with an intercept, and only then do the intervals of `bias` hold.
    seed : seed of the exploration.

    Raises
    ------
    ArgumentError
        If a setting is invalid, `sensitive` is given for more or fewer than two groups, or together with `mean_reward`.
    UnknownArmError
        If the sensitive group has no arm.

    Examples
    --------
    >>> from evenhand.groups import BiasedLinearArms
    >>> world = BiasedLinearArms(arms=4, sensitive=2, bias=10.0)
    >>> policy = GroupFairTopInterval(world.groups, "sensitive", horizon=500, seed=1)
    >>> world.reset(seed=2)
    >>> for _ in range(500):
    ...     decision = policy.ask(*world.observe())
    ...     policy.tell(decision, *world.respond(decision))
    >>> table = policy.bias()
    >>> table.columns.tolist()
    ['group', 'reference', 'feature', 'bias', 'low', 'high']

    Source: Schumann, Lang, Mattei, Dickerson (2022), Algorithm 1 and Theorem 1 (two groups), Theorem 2
    (`mean_reward`).
    """

    _kernels = INTERVALS

    def __init__(
        self,
        groups: Membership,
        sensitive: Label | None = None,
        *,
        mean_reward: float | None = None,
        within: Literal["top", "chain"] = "top",
        delta: float = 0.1,
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
        names = self.membership.names
        if len(names) < 2:
            raise ArgumentError(expected("groups", "at least two groups", list(names)))
        if sensitive is not None:
            sensitive = names[self.membership.code(sensitive, "sensitive")]
            if len(names) > 2:
                hint = "leave it out to correct every group"
                got = Wording(f"{len(names)} groups")
                raise ArgumentError(expected("sensitive", "exactly two groups with it", got, hint))
            if mean_reward is not None:
                what = Wording(NOTHING, " together with sensitive=")
                raise ArgumentError(expected("mean_reward", what, mean_reward, "give one"))
        if mean_reward is not None:
            mean_reward = real("mean_reward", mean_reward)
        self.sensitive, self.mean_reward = sensitive, mean_reward
        self.within = one_of("within", within, ("top", "chain"))

    @property
    def reference(self) -> Label | None:
        """The group towards which the sensitive one is corrected; None where that is the pooled regression or a
        scalar."""
        if self.sensitive is None:
            return None
        return next(name for name in self.membership.names if name != self.sensitive)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know about exploration, and about the forms with `sensitive` and `mean_reward`."""
        forms = (LIFTED,) * (self.sensitive is not None) + (OWN_MEAN,) * (self.mean_reward is not None)
        return self._settings.notes(self) + forms

    def _parameters(self) -> IntervalParams:
        names, target = self.membership.names, -1
        if self.reference is not None:
            target = names.index(self.reference)
        elif self.mean_reward is None:
            target = len(names)
        corrected = np.array([self.sensitive in (None, name) for name in names])
        pick, shift = CHAIN_WITHIN if self.within == "chain" else TOP, self.mean_reward or 0.0
        blind = self._settings.parameters(self.membership, int(self.dimension or 0), pick)
        return blind._replace(corrected=corrected, target=target, shift=shift)

    def _memory(self) -> IntervalState:
        of_groups = len(self.membership.names) + (self.sensitive is None)
        return self._settings.memory(self.membership, int(self.dimension or 0), self._stream(), of_groups)

    @locked
    def bias(
        self,
        reference: Label | None = None,
        *,
        balance: Balance = "pulls",
        level: float = 0.95,
        features: Sequence[str] | None = None,
    ) -> pd.DataFrame:
        """Return the learned bias of each group, feature by feature, with confidence intervals.

        With `balance="pulls"` the difference of the groups' regressions over all pulls, as the policy subtracts it.
        With `balance="arms"` the difference of the means over arms of each arm's own regression, whatever was pulled.
        Both hold the bias PLUS the difference between the groups' true coefficients, and are the bias only if groups
        are equal on average. The intervals suppose that the arms of each group are like draws from one population,
        whose means are equal: how much arms of one group differ is part of their width (`evenhand.groups.bias`). A
        group of one arm has no interval, (-inf, inf), nor has a coefficient that the pulls so far do not determine.
        With `intercept=True` the last row of each group is its constant bias.

        In rounds that are resampled from a table the arms are all there are; `TableArms.bias` gives intervals of the
        table.

        Parameters
        ----------
        reference : the group to compare with; None for the policy's own. Where it has none: with two groups the one
            with more arms, or the second if they are equal; with more groups everyone pooled.
        balance : "pulls" or "arms", see above.
        level : the level at which each interval holds.
        features : names of the d features; None for those of the contexts or of the encoder, or 0 .. d-1.

        Returns
        -------
        pandas.DataFrame
            Columns group, reference, feature, bias, low, high; a row for each group but the reference and each feature.
            `attrs` are the level, and `intervals`: what they are of.

        Raises
        ------
        ArgumentError
            If an argument is invalid, or no reward has been told yet.
        """
        chosen, groups = self.reference if reference is None else reference, self.membership.names
        if chosen is None and len(groups) == 2:
            chosen = groups[1 - one_of_two(self.membership.sizes())]
        real("level", level, low=0, below=1)
        one_of("balance", balance, ("pulls", "arms"))
        fit = self.engine.state.fit
        own = self.contexts.feature_names or []
        if features is None and own and not (self.intercept and INTERCEPT in own):
            features = own
        names = named(features, fit.coefficients.shape[1], self.intercept)
        return estimate(fit, self.membership, chosen, balance=balance, level=level, features=names)

    @classmethod
    def _examples(cls) -> Iterator[tuple[GroupFairTopInterval, Any]]:
        world = BiasedLinearArms(arms=4, sensitive=2)
        yield cls(world.groups, "sensitive", horizon=10_000, seed=1), world
        yield cls(world.groups, "sensitive", horizon=10_000, preset="authors", seed=2), world
        yield cls(world.groups, mean_reward=30.0, within="chain", seed=3), world
        three = BiasedLinearArms(groups={"a": "x", "b": "y", "c": "z", "d": "x"}, bias={"y": 5.0}, dimension=3)
        yield cls(three.groups, cold_start="minimum_norm", seed=4), three
        yield cls(three.groups, intercept=True, seed=5), three
