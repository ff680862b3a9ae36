"""Optimism: draw the group whose risk might still be the largest.

Each group's validation risk gets a margin that shrinks with its samples; the group with the largest sum comes next,
because it is either badly served or little known. The heuristic bound adds, if wished, how steadily the group's
accuracy has been rising: a group whose classifier still improves is worth feeding, one with a high but flat risk
may be at its floor.

Source: S. Shekhar, G. Fields, M. Ghavamzadeh, T. Javidi, "Adaptive Sampling for Minimax Fair Classification",
NeurIPS 2021, Algorithm 1, equations (4) and (6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Self

import numpy as np

from evenhand.arguments import real
from evenhand.errors import ArgumentError, wanted
from evenhand.kernels import sampling
from evenhand.kernels.arrays import Bools, Floats
from evenhand.kernels.compose import entry
from evenhand.policy.conversation import locked
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.rng import Seed
from evenhand.sampling.bounds import theory_bounds, vc_deviation
from evenhand.sampling.models.losses import Loss
from evenhand.sampling.problem import Groups
from evenhand.sampling.sampler import Costs, Sampler
from evenhand.sampling.worlds import SyntheticModel1, SyntheticModel2
from evenhand.saving.saved import fill

WINDOW = 20
"""How many of a group's last accuracies the trend looks at."""
TIES = {"random": sampling.RANDOM, "first": sampling.FIRST, "least": sampling.LEAST}


@register("sampling/optimistic")
class OptimisticSampler(Sampler):
    """Draw the group with the largest upper bound on its risk (A_opt; with `trend` > 0 A_opt+).

    The heuristic bound is U(z) = risk(z) + c0 / sqrt(N_z) + c1 S_z / sqrt(var S_z), with N_z training samples of
    group z and the Mann-Kendall trend S_z of the last 20 accuracies in D_z. The theory bound is U(z) = risk(z) +
    e(N_z) + (2C / pi(z)) sum_z' pi(z') e(N_z'); at practical sizes it is vacuous and samples almost uniformly.

    Parameters
    ----------
    groups : number of groups or their labels.
    model : None for logistic regression with C = 1, a classifier of scikit-learn or skorch, or an `EstimatorModel`.
    exploration : c0 of the heuristic bound.
    trend : c1 of the heuristic bound.
    trend_series : "own": an accuracy is noted after each draw of the group itself; "every": after every draw.
    bound : "heuristic" or "theory".
    vc_dimension : d of the theory bound's e(N); d + 1 features for a linear classifier.
    deviation : a function e(N) to use instead.
    C : the constant of the theory bound.
    delta : probability with which the theory bound may fail.
    warmup : rounds a group before the rule begins; None for 1 with forced exploration and 10 without.
    forced : xi: a group with fewer than t^xi training samples goes first; None switches this off.
    batch : b0; a draw asks for 2 b0 rows, b0 train and b0 validate.
    ties : which of equal bounds: "random", "first" or "least" (fewest samples); the cheapest before that.
    loss : "zero_one", "log", "false_negative", "false_positive" or a function of (y, prediction).
    costs : cost of a label in each group; they count towards `budget` and decide between equal bounds.
    budget : total cost that may be spent.
    classes : all labels; without it the first two different labels told.
    validation_rows : validate on each group's last so many rows instead of all.
    seed : for ties and the model.

    Raises
    ------
    ArgumentError
        If an argument is out of range; UnknownArmError if `costs` names an unknown group.

    Examples
    --------
    >>> sampler, world = OptimisticSampler(["u", "v"], seed=1), SyntheticModel1(instance="I")
    >>> world.reset(1)
    >>> for _ in range(200):
    ...     draw = sampler.ask()
    ...     sampler.tell(draw, *world.respond(draw))
    >>> bool(sampler.mixture[1] > 0.6)  # v is the harder group
    True

    Source: Shekhar, Fields, Ghavamzadeh, Javidi (2021), Algorithm 1: with the theory bound, the excess worst-group
    risk is of the order of e(n) at n samples, with high probability.
    """

    def __init__(
        self, groups: Groups, model: Any = None, *, exploration: float = 0.1, trend: float = 0.0,
        trend_series: Literal["own", "every"] = "own", bound: Literal["heuristic", "theory"] = "heuristic",
        vc_dimension: float | None = None, deviation: Callable[[float], float] | None = None, C: float = 1.0,
        delta: float = 0.05, warmup: int | None = None, forced: float | None = 0.5, batch: int = 1,
        ties: Literal["random", "first", "least"] = "random", loss: Loss = "zero_one", costs: Costs = None,
        budget: float | None = None, classes: Sequence[Label] | None = None, validation_rows: int | None = None,
        seed: Seed = None,
    ) -> None:  # fmt: skip
        super().__init__(groups, model, batch, warmup, forced, loss, costs, budget, classes, validation_rows, seed)
        self.exploration = real("exploration", exploration, low=0.0)
        self.trend = real("trend", trend, low=0.0)
        self.ties = checked_ties(ties)
        if trend_series not in ("own", "every"):
            raise ArgumentError(wanted("trend_series", "'own' or 'every'", trend_series))
        if bound not in ("heuristic", "theory"):
            raise ArgumentError(wanted("bound", "'heuristic' or 'theory'", bound))
        if bound == "theory" and (vc_dimension is None) == (deviation is None):
            what, mend = "vc_dimension= or deviation=, one of them", "d + 1 features for a linear class"
            raise ArgumentError(wanted("bound", what, bound, mend))
        self.trend_series, self.bound, self.deviation = trend_series, bound, deviation
        self.vc_dimension = None if vc_dimension is None else real("vc_dimension", vc_dimension, low=1.0)
        self.C = real("C", C, low=0.0)
        self.delta = real("delta", delta, low=1e-300, high=1.0)
        m = len(self.groups)
        self._bounds = np.zeros(m)
        self._history, self._lengths = np.zeros((m, WINDOW)), np.zeros(m, np.int64)

    @property
    @locked
    def upper_bounds(self) -> Floats:
        """The bounds U (m,) that the next choice looks at; infinite where a risk is not known yet."""
        sums, counts = self.validation_losses()
        samples = np.maximum(self._asked, 0)
        if self.bound == "heuristic":
            _bounds(sums, counts, samples, self.exploration, self.trend, self._history, self._lengths, self._bounds)
            return self._bounds.copy()
        with np.errstate(invalid="ignore", divide="ignore"):
            return theory_bounds(sums / counts, samples, self.deviation or self._vc, self.C)

    def _vc(self, n: float) -> float:
        return vc_deviation(n, dimension=self.vc_dimension or 1.0, groups=len(self.groups), delta=self.delta)

    def select(self, available: Bools) -> tuple[int, str]:
        """Return the available group with the largest bound."""
        bounds = self.upper_bounds
        index = _largest(bounds, available, TIES[self.ties], self._asked, self._cost, self._stream)
        return index, f"highest upper bound on the risk: {bounds[index]:.4f}"

    def learned(self, index: int) -> None:
        """Note the accuracy of the group, or of all groups, for the trend."""
        if self.trend > 0.0:
            sums, counts = self.validation_losses()
            for z in [index] if self.trend_series == "own" else range(len(self.groups)):
                if counts[z]:
                    _remember(self._history, self._lengths, z, -sums[z] / counts[z])

    @locked
    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs to continue exactly here."""
        return super().snapshot() | {"history": self._history, "lengths": self._lengths}

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the sampler that `snapshot` was taken of."""
        sampler = super().restored(snapshot)
        for name, own in (("history", sampler._history), ("lengths", sampler._lengths)):
            fill(own, snapshot[name], name)
        return sampler

    @classmethod
    def examples(cls) -> Iterator[tuple[Self, Any]]:
        """Yield samplers and worlds to try them on."""
        yield cls(["u", "v"], seed=1), SyntheticModel1(instance="I")
        yield cls(["u", "v"], trend=0.1, batch=3, seed=2), SyntheticModel2()
        yield cls(["u", "v"], bound="theory", vc_dimension=3, ties="first", seed=3), SyntheticModel1(instance="II")


def checked_ties(ties: str) -> Any:
    """Return how ties are broken.

    Raises
    ------
    ArgumentError
        If it is none of "random", "first" and "least".
    """
    if ties not in TIES:
        raise ArgumentError(wanted("ties", "'random', 'first' or 'least'", ties))
    return ties


_bounds = entry(sampling.heuristic_bounds)
_largest = entry(sampling.largest)
_remember = entry(sampling.remember)
