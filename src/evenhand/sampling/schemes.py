"""Which group comes next: the samplers.

Optimism draws the group whose risk might still be the largest. Each group's validation risk gets a margin that shrinks
with its samples; the group with the largest sum comes next, because it is either badly served or little known. The
heuristic bound adds, if `trend` is set, how steadily the group's accuracy has been rising: a group whose accuracy still
improves deserves more samples, one with a high but flat risk may be at its minimum. Greedy sampling, with or without
random draws, takes the group whose validation risk is largest now; two samplers ignore the risks.

Source: S. Shekhar, G. Fields, M. Ghavamzadeh, T. Javidi, "Adaptive Sampling for Minimax Fair Classification",
NeurIPS 2021, Algorithm 1, equations (4) and (6), and the baselines of Section 5; Greedy is Abernethy et al., "Active
Sampling for Min-Max Fairness", ICML 2022, without its random part.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np

from evenhand.arguments import as_floats, one_of, real, whole
from evenhand.errors import ArgumentError, SharesError, expected
from evenhand.kernels import group_choice, random
from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.kernels.compose import entry
from evenhand.parameters import locked
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.rng import Seed
from evenhand.sampling.models.losses import Loss
from evenhand.sampling.problem import MOST, Groups, per_group
from evenhand.sampling.sampler import Costs, Sampler, fewest
from evenhand.sampling.worlds import SyntheticModel1, SyntheticModel2

WINDOW = 20
"""How many of a group's last accuracies the trend looks at."""
TIES = {"random": group_choice.RANDOM, "first": group_choice.FIRST, "least": group_choice.LEAST}


def mann_kendall(values: object) -> tuple[int, float, float]:
    """Return the Mann-Kendall trend (S, variance, z) of a series (n,), the variance corrected for ties.

    S = sum_{i<j} sgn(x_j - x_i); var S = [n(n-1)(2n+5) - sum over ties q(q-1)(2q+5)] / 18; z = S / sqrt(var S), and 0
    where the variance is 0 or the series has fewer than two values.

    Examples
    --------
    >>> s, variance, z = mann_kendall([0.1, 0.2, 0.3, 0.4])
    >>> s, round(variance, 3), round(z, 3)
    (6, 8.667, 2.038)
    >>> mann_kendall([0.5, 0.5, 0.5])
    (0, 0.0, 0.0)

    Raises
    ------
    ArgumentError
        If the series is not a list of numbers, or holds NaN, which has no order.

    Source: Mann (1945), Kendall (1975); Shekhar, Fields, Ghavamzadeh, Javidi (2021), Section 4.
    """
    series = as_floats(values)
    if series is None or series.ndim != 1 or np.isnan(series).any():
        raise ArgumentError(expected("values", "a list of numbers, in the order of time", values))
    n, count = len(series), np.count_nonzero
    score = int(sum(count(series[i:] > one) - count(series[i:] < one) for i, one in enumerate(series)))
    equal = np.unique(series, return_counts=True)[1]
    variance = float(n * (n - 1) * (2 * n + 5) - (equal * (equal - 1) * (2 * equal + 5)).sum()) / 18.0
    return score, variance, score / math.sqrt(variance) if variance > 0 else 0.0


def vc_deviation(n: float, *, dimension: float, groups: int = 2, delta: float = 0.05) -> float:
    """Return the deviation bound e(n) for a class of VC dimension d, uniform over the class, the groups and all n.

    e(n) = 2 sqrt((2 d ln(2 e n / d) + 2 ln(2 n^2 pi^2 m / (3 delta))) / n), and infinity where 2n < d.

    Parameters
    ----------
    n : number of samples of the group.
    dimension : the VC dimension d; d + 1 features for a linear classifier with intercept.
    groups : the number of groups m.
    delta : probability with which some bound may fail.

    Raises
    ------
    ArgumentError
        If `n` is not a number, or `dimension`, `groups` or `delta` is out of range.

    Examples
    --------
    >>> round(vc_deviation(1000, dimension=3, groups=2, delta=0.1), 3), vc_deviation(1, dimension=3)
    (0.574, inf)

    Source: Shekhar, Fields, Ghavamzadeh, Javidi (2021), Lemma 1. The printed form turns imaginary where 2n < d.
    """
    n, d = real("n", n), real("dimension", dimension, low=1.0)
    m = whole("groups", groups, low=1, high=MOST)
    failure = real("delta", delta, low=1e-300, high=1.0)
    if n <= 0 or 2 * n < d:
        return math.inf
    chance = math.log(2 * n * n * math.pi**2 * m / (3 * failure))
    return 2 * math.sqrt((2 * d * math.log(2 * math.e * n / d) + 2 * chance) / n)


def rademacher_deviation(n: float, *, complexity: float, groups: int = 2, delta: float = 0.05) -> float:
    """Return e(n) = 2 R_n + sqrt(ln(n^2 pi^2 m / (3 delta)) / n) for a class of Rademacher complexity R_n at n
    samples.

    Examples
    --------
    >>> round(rademacher_deviation(1000, complexity=0.05, groups=2, delta=0.1), 3)
    0.234

    Raises
    ------
    ArgumentError
        If `n` is not a number, or `complexity`, `groups` or `delta` is out of range.
    """
    n, complexity = real("n", n), real("complexity", complexity, low=0.0)
    m = whole("groups", groups, low=1, high=MOST)
    failure = real("delta", delta, low=1e-300, high=1.0)
    return math.inf if n < 1 else 2 * complexity + math.sqrt(math.log(n * n * math.pi**2 * m / (3 * failure)) / n)


def theory_bounds(risks: Floats, samples: Ints, deviation: Callable[[float], float], constant: float) -> Floats:
    """Return U(z) = risk(z) + e(N_z) + (2C / pi(z)) sum_z' pi(z') e(N_z'), infinite where a risk or a deviation is.

    Source: Shekhar, Fields, Ghavamzadeh, Javidi (2021), equation (4).
    """
    deviations = np.array([deviation(float(n)) for n in samples])
    if not (samples > 0).all():
        return np.full(len(samples), np.inf)
    mixture = samples / samples.sum()
    return np.nan_to_num(risks, nan=np.inf) + deviations + 2 * constant / mixture * (mixture @ deviations)


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
    bound : "heuristic" or "theory".
    vc_dimension : d of the theory bound's e(N); d + 1 features for a linear classifier.
    deviation : a function e(N) to use instead of the VC bound.
    C : the constant of the theory bound.
    delta : probability with which the theory bound may fail.
    warmup : rounds per group before the rule begins; None for 1 with forced exploration and 10 without.
    forced : xi: a group with fewer than t^xi training samples goes first; None switches this off.
    batch : b0; a draw asks for 2 b0 rows, b0 for training and b0 for validation.
    ties : which of the cheapest groups with equal bounds is drawn: "random", "first" or "least" (fewest samples).
    loss : "zero_one", "log", "false_negative", "false_positive" or a function of (y, prediction).
    costs : cost of a label in each group; they count towards `budget` and decide between equal bounds.
    budget : total cost that may be spent.
    classes : all labels; if left out, the first two different labels told.
    validation_rows : how many of each group's last rows to validate on; None for all.
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
        self,
        groups: Groups,
        model: object = None,
        *,
        exploration: float = 0.1,
        trend: float = 0.0,
        bound: Literal["heuristic", "theory"] = "heuristic",
        vc_dimension: float | None = None,
        deviation: Callable[[float], float] | None = None,
        C: float = 1.0,
        delta: float = 0.05,
        warmup: int | None = None,
        forced: float | None = 0.5,
        batch: int = 1,
        ties: Literal["random", "first", "least"] = "random",
        loss: Loss = "zero_one",
        costs: Costs = None,
        budget: float | None = None,
        classes: Sequence[Label] | None = None,
        validation_rows: int | None = None,
        seed: Seed = None,
    ) -> None:
        super().__init__(groups, model, batch, warmup, forced, loss, costs, budget, classes, validation_rows, seed)
        self.exploration = real("exploration", exploration, low=0.0)
        self.trend = real("trend", trend, low=0.0)
        self.ties = one_of("ties", ties, TIES)
        self.bound = one_of("bound", bound, ("heuristic", "theory"))
        if deviation is not None and not callable(deviation):
            raise ArgumentError(expected("deviation", "a function of the number of samples, or None", deviation))
        if bound == "theory" and (vc_dimension is None) == (deviation is None):
            what, hint = "either vc_dimension= or deviation=", "d + 1 features for a linear class"
            raise ArgumentError(expected("bound", what, bound, hint))
        self.deviation = deviation
        self.vc_dimension = None if vc_dimension is None else real("vc_dimension", vc_dimension, low=1.0)
        self.C = real("C", C, low=0.0)
        self.delta = real("delta", delta, low=1e-300, high=1.0)
        self._accuracies = [deque[float](maxlen=WINDOW) for _ in self.groups]

    @property
    @locked
    def upper_bounds(self) -> Floats:
        """The bounds U (m,) from which the next group is chosen; infinite where a risk is not known yet."""
        sums, counts = self.validation_losses()
        samples = np.maximum(self._asked, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            if self.bound == "theory":
                return theory_bounds(sums / counts, samples, self.deviation or self._vc, self.C)
            bounds: Floats = sums / counts + self.exploration / np.sqrt(samples)
        for z, series in enumerate(self._accuracies if self.trend > 0.0 else ()):
            score, variance, _ = mann_kendall(list(series))
            if variance > 0.0:
                bounds[z] += self.trend * score / math.sqrt(variance)
        return np.where((counts > 0) & (samples > 0), bounds, np.inf)

    def _vc(self, n: float) -> float:
        return vc_deviation(n, dimension=self.vc_dimension or 1.0, groups=len(self.groups), delta=self.delta)

    def select(self, available: Bools) -> tuple[int, str]:
        """Return the available group with the largest bound."""
        bounds = self.upper_bounds
        index = _largest(bounds, available, TIES[self.ties], self._asked, self._cost, self._stream)
        return index, f"highest upper bound on the risk: {bounds[index]:.4f}"

    def _on_refit(self, index: int) -> None:
        """Note the accuracy of the group for the trend."""
        if self.trend > 0.0:
            sums, counts = self.validation_losses()
            if counts[index]:
                self._accuracies[index].append(float(-sums[index] / counts[index]))

    @locked
    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs to continue exactly here."""
        return super().snapshot() | {"accuracies": [list(series) for series in self._accuracies]}

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the sampler that `snapshot` was taken of."""
        sampler = super().restored(snapshot)
        for series, kept in zip(sampler._accuracies, snapshot["accuracies"], strict=True):
            series.extend(kept)
        return sampler

    @classmethod
    def _examples(cls) -> Iterator[tuple[Self, Any]]:
        """Yield samplers and worlds to try them on."""
        yield cls(["u", "v"], seed=1), SyntheticModel1(instance="I")
        yield cls(["u", "v"], trend=0.1, batch=3, seed=2), SyntheticModel2()
        yield cls(["u", "v"], bound="theory", vc_dimension=3, ties="first", seed=3), SyntheticModel1(instance="II")


_largest = entry(group_choice.largest)
_uniform = entry(random.uniform)
_drawn = entry(group_choice.drawn)


@register("sampling/epsilon-greedy", baseline=True)
class EpsilonGreedySampler(Sampler):
    """With probability epsilon draw a group uniformly, otherwise the one with the largest validation risk.

    Parameters
    ----------
    groups : number of groups or their labels.
    model : None for logistic regression with C = 1, a classifier of scikit-learn or skorch, or an `EstimatorModel`.
    epsilon : probability of a uniform draw.
    warmup, forced, batch, ties, loss, costs, budget, classes, validation_rows, seed : as in `OptimisticSampler`.

    Raises
    ------
    ArgumentError
        If an argument is out of range.

    Examples
    --------
    >>> sampler = EpsilonGreedySampler(["u", "v"], epsilon=0.1, seed=1)
    >>> sampler.ask().reason
    'warm-up: every group in turn'

    Source: Shekhar, Fields, Ghavamzadeh, Javidi (2021), Section 5.
    """

    def __init__(
        self,
        groups: Groups,
        model: object = None,
        *,
        epsilon: float = 0.1,
        warmup: int | None = None,
        forced: float | None = 0.5,
        batch: int = 1,
        ties: Literal["random", "first", "least"] = "random",
        loss: Loss = "zero_one",
        costs: Costs = None,
        budget: float | None = None,
        classes: Sequence[Label] | None = None,
        validation_rows: int | None = None,
        seed: Seed = None,
    ) -> None:
        super().__init__(groups, model, batch, warmup, forced, loss, costs, budget, classes, validation_rows, seed)
        self.epsilon = real("epsilon", epsilon, low=0.0, high=1.0)
        self.ties = one_of("ties", ties, TIES)

    def select(self, available: Bools) -> tuple[int, str]:
        """Return a random group, or the one with the largest risk."""
        if _uniform(self._stream) < self.epsilon:
            return _drawn(np.ones(len(self.groups)), available, self._stream), "explored"
        return worst_off(self, available, self.ties)

    @classmethod
    def _examples(cls) -> Iterator[tuple[Self, Any]]:
        """Yield samplers and worlds to try them on."""
        yield cls(["u", "v"], epsilon=0.1, seed=1), SyntheticModel1(instance="I")


@register("sampling/greedy", baseline=True)
class GreedySampler(Sampler):
    """Always draw the group with the largest validation risk.

    Parameters
    ----------
    groups : number of groups or their labels.
    model : None for logistic regression with C = 1, a classifier of scikit-learn or skorch, or an `EstimatorModel`.
    warmup, forced, batch, ties, loss, costs, budget, classes, validation_rows, seed : as in `OptimisticSampler`.

    Raises
    ------
    ArgumentError
        If an argument is out of range.

    Examples
    --------
    >>> GreedySampler(["u", "v"], seed=1).ask().group
    'u'

    Source: Shekhar, Fields, Ghavamzadeh, Javidi (2021), Section 5.
    """

    def __init__(
        self,
        groups: Groups,
        model: object = None,
        *,
        warmup: int | None = None,
        forced: float | None = 0.5,
        batch: int = 1,
        ties: Literal["random", "first", "least"] = "random",
        loss: Loss = "zero_one",
        costs: Costs = None,
        budget: float | None = None,
        classes: Sequence[Label] | None = None,
        validation_rows: int | None = None,
        seed: Seed = None,
    ) -> None:
        super().__init__(groups, model, batch, warmup, forced, loss, costs, budget, classes, validation_rows, seed)
        self.ties = one_of("ties", ties, TIES)

    def select(self, available: Bools) -> tuple[int, str]:
        """Return the group with the largest risk."""
        return worst_off(self, available, self.ties)

    @classmethod
    def _examples(cls) -> Iterator[tuple[Self, Any]]:
        """Yield samplers and worlds to try them on."""
        yield cls(["u", "v"], seed=1), SyntheticModel1(instance="II")


def worst_off(sampler: Sampler, available: Bools, ties: str) -> tuple[int, str]:
    """Return the available group with the largest validation risk; one with an unknown risk goes first."""
    sums, counts = sampler.validation_losses()
    risks = np.where(counts > 0, sums / np.maximum(counts, 1), np.inf)
    index = _largest(risks, available, TIES[ties], sampler._asked, sampler._cost, sampler._stream)
    return index, f"highest validation risk: {risks[index]:.4f}"


@register("sampling/uniform", baseline=True)
class UniformSampler(Sampler):
    """Draw the groups in turn, so that all have the same number of examples.

    Parameters
    ----------
    groups : number of groups or their labels.
    model : None for logistic regression with C = 1, a classifier of scikit-learn or skorch, or an `EstimatorModel`.
    batch, loss, costs, budget, classes, validation_rows, seed : as in `OptimisticSampler`.

    Raises
    ------
    ArgumentError
        If an argument is out of range.

    Examples
    --------
    >>> sampler = UniformSampler(["u", "v", "w"], seed=1)
    >>> [sampler.ask().group for _ in range(4)]
    ['u', 'v', 'w', 'u']

    Source: Shekhar, Fields, Ghavamzadeh, Javidi (2021), Section 5.
    """

    _in_turn = True

    def __init__(
        self,
        groups: Groups,
        model: object = None,
        *,
        batch: int = 1,
        loss: Loss = "zero_one",
        costs: Costs = None,
        budget: float | None = None,
        classes: Sequence[Label] | None = None,
        validation_rows: int | None = None,
        seed: Seed = None,
    ) -> None:
        super().__init__(groups, model, batch, 1, None, loss, costs, budget, classes, validation_rows, seed)

    def select(self, available: Bools) -> tuple[int, str]:
        """Return the available group with the fewest draws."""
        return fewest(self._draws, available), "every group in turn"

    @classmethod
    def _examples(cls) -> Iterator[tuple[Self, Any]]:
        """Yield samplers and worlds to try them on."""
        yield cls(["u", "v"], seed=1), SyntheticModel1(instance="I")


@register("sampling/proportional", baseline=True)
class ProportionalSampler(Sampler):
    """Draw each group as often as it occurs in the population, as happens in data that nobody curates.

    Parameters
    ----------
    groups : number of groups or their labels.
    model : None for logistic regression with C = 1, a classifier of scikit-learn or skorch, or an `EstimatorModel`.
    proportions : weight of each group >= 0, by label or in the order of the groups.
    warmup, batch, loss, costs, budget, classes, validation_rows, seed : as in `OptimisticSampler`.

    Raises
    ------
    SharesError
        If all proportions are 0.
    ArgumentError
        If a proportion is missing or negative; UnknownArmError if one is for an unknown group.

    Examples
    --------
    >>> sampler = ProportionalSampler(["u", "v"], proportions={"u": 0.9, "v": 0.1}, warmup=1, seed=1)
    >>> draws = [sampler.ask().group for _ in range(100)]
    >>> 80 <= draws.count("u") <= 98
    True

    Source: "Uncurated" in Shekhar, Fields, Ghavamzadeh, Javidi (2021), Section 5.
    """

    def __init__(
        self,
        groups: Groups,
        model: object = None,
        *,
        proportions: Mapping[Label, float] | Sequence[float],
        warmup: int | None = 1,
        batch: int = 1,
        loss: Loss = "zero_one",
        costs: Costs = None,
        budget: float | None = None,
        classes: Sequence[Label] | None = None,
        validation_rows: int | None = None,
        seed: Seed = None,
    ) -> None:
        super().__init__(groups, model, batch, warmup, None, loss, costs, budget, classes, validation_rows, seed)
        self._weights = per_group("proportions", proportions, self.groups)
        if self._weights.sum() <= 0:
            raise SharesError(expected("proportions", "at least one above 0", proportions))
        self.proportions = dict(zip(self.groups, self._weights.tolist(), strict=True))

    def select(self, available: Bools) -> tuple[int, str]:
        """Return an available group drawn by its weight; where all weights left are 0, each is equally likely."""
        weights = self._weights if (self._weights * available).sum() > 0 else np.ones(len(self.groups))
        return _drawn(weights, available, self._stream), "drawn as often as the population has it"

    @classmethod
    def _examples(cls) -> Iterator[tuple[Self, Any]]:
        """Yield samplers and worlds to try them on."""
        yield cls(["u", "v"], proportions=[0.7, 0.3], seed=1), SyntheticModel1(instance="I")
