"""Synthetic groups whose risk under any linear classifier is known in closed form.

In `SyntheticModel1` every group and label is a Gaussian with identity covariance; in `SyntheticModel2` one group
has a risk that nobody can lower, and each label of the other has three clusters: a sampler that looks at risks alone
neglects the group that could still improve.

Source: S. Shekhar, G. Fields, M. Ghavamzadeh, T. Javidi, "Adaptive Sampling for Minimax Fair Classification",
NeurIPS 2021, Section 5.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np

from evenhand.arguments import as_floats, one_of, whole
from evenhand.errors import ArgumentError, expected
from evenhand.kernels.arrays import Floats, Ints
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.rng import generator
from evenhand.sampling.problem import MOST, Draw, group_index

NODES = 60
"""Points of the Gauss-Hermite quadrature; the margins are Gaussian, the loss is smooth."""
INSTANCES: dict[str, dict[Label, list[list[float]]]] = {
    "I": {"u": [[-2.0, 2.0], [2.0, -2.0]], "v": [[-1.0, -1.0], [1.0, 1.0]]},
    "II": {"u": [[-1.5, 1.5], [1.5, -1.5]], "v": [[-2.0, -2.0], [2.0, 2.0]]},
}
"""The means (label 0, label 1) of the two groups in the paper's two instances."""


def logistic_optimum(means: Floats, mixture: Floats) -> tuple[Floats, float]:
    """Return (coef (d,), intercept) that minimises the population logistic loss of Gaussian groups.

    The margin of group z and label y is Gaussian with mean w.mu_yz + b and standard deviation |w|, so that the loss
    is a one-dimensional integral, done by Gauss-Hermite quadrature. `means` is (m, 2, d), `mixture` (m,).
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    d = means.shape[2]
    signs = np.array([-1.0, 1.0])
    shares = 0.5 * mixture[:, None, None] * weights

    def loss(parameters: Floats) -> tuple[float, Floats]:
        w, b = parameters[:d], parameters[d]
        size = float(np.sqrt(w @ w)) + 1e-300
        margins = signs[:, None] * ((means @ w + b)[:, :, None] + size * nodes)
        slopes = -shares * expit(-margins) * signs[:, None]
        along = (slopes * nodes).sum() / size * w
        return float((shares * np.logaddexp(0.0, -margins)).sum()), np.append(
            np.einsum("zyk,zyd->d", slopes, means) + along, slopes.sum()
        )

    start = np.append(np.einsum("z,zd->d", mixture, means[:, 1] - means[:, 0]) + 1e-3, 0.0)
    found: Any = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-10})
    return found.x[:d], float(found.x[d])


def fair_mixture(risks: Callable[[Floats], Floats], groups: int) -> Floats:
    """Return the mixture (m,) with the smallest max_z risks(mixture)_z.

    Two groups: the root of the difference of their risks along the segment, or its better end. More: Nelder-Mead
    from several starts.
    """
    from scipy.optimize import brentq, minimize
    from scipy.special import softmax

    if groups == 2:
        edge = 1e-6

        def gap(share: float) -> float:
            first, second = risks(np.array([share, 1.0 - share]))
            return float(first - second)

        low, high = gap(edge), gap(1.0 - edge)
        if low * high > 0:
            ends = [np.array([s, 1.0 - s]) for s in (edge, 1.0 - edge)]
            return min(ends, key=lambda mixture: float(risks(mixture).max()))
        share = float(brentq(gap, edge, 1.0 - edge, xtol=1e-9))
        return np.array([share, 1.0 - share])

    def worst(free: Floats) -> float:
        return float(risks(softmax(free)).max())

    starts = [np.zeros(groups), *(2.0 * np.eye(groups))]
    options = {"xatol": 1e-5, "fatol": 1e-9, "maxiter": 400 * groups}
    tries = [minimize(worst, start, method="Nelder-Mead", options=options) for start in starts]
    return np.asarray(softmax(min(tries, key=lambda result: float(result.fun)).x))


class Synthetic:
    """What both worlds have in common: groups from which examples are drawn."""

    groups: tuple[Label, ...]

    def reset(self, seed: int) -> None:
        """Start anew from a seed."""
        self._rng = generator(seed)

    def observe(self) -> tuple[Any, ...]:
        """Begin a round; a sampler is shown nothing."""
        return ()

    def respond(self, ticket: Draw) -> tuple[Floats, Ints]:
        """Return features X (count, d) and labels y (count,) for a draw."""
        return self.sample(group_index(self.groups, ticket), ticket.count, self._rng)

    def sample(self, group: int, count: int, rng: np.random.Generator) -> tuple[Floats, Ints]:
        """Return features (count, d) and labels (count,) of the group with this index."""
        raise NotImplementedError


@register("sampling/synthetic-1", kind="world")
class SyntheticModel1(Synthetic):
    """Groups of Gaussians: X | Y = y, Z = z is N(mu_yz, I), and the labels 0 and 1 are equally likely.

    Parameters
    ----------
    means : a dict group -> (mu_0, mu_1), two vectors (d,) per group; or None.
    instance : "I" or "II" of the paper, where `means` is None: group v is the harder one in I, group u in II.

    Raises
    ------
    ArgumentError
        If the means are not two vectors per group, all of the same dimension.

    Examples
    --------
    >>> world = SyntheticModel1(instance="I")
    >>> world.population_risk([1.0, 0.0], 0.0).round(4)  # Phi(-2) and Phi(-1)
    array([0.0228, 0.1587])
    >>> world.fair_mixture().round(3)
    array([0.2, 0.8])

    Source: Shekhar, Fields, Ghavamzadeh, Javidi (2021), Section 5.1.
    """

    def __init__(self, means: Mapping[Label, Any] | None = None, *, instance: Literal["I", "II"] | None = None) -> None:
        if (means is None) == (instance is None):
            raise ArgumentError(expected("means", "either means= or instance=", means))
        chosen = means if instance is None else INSTANCES[one_of("instance", instance, INSTANCES)]
        if not isinstance(chosen, Mapping):
            raise ArgumentError(expected("means", "a dict group -> two vectors", means))
        self.groups = tuple(chosen)
        numbers = as_floats([chosen[z] for z in self.groups])
        self.means = np.zeros(0) if numbers is None else numbers
        if self.means.ndim != 3 or self.means.shape[1] != 2 or not np.isfinite(self.means).all():
            raise ArgumentError(expected("means", "two vectors of one dimension for each group", means))
        self.reset(0)

    def sample(self, group: int, count: int, rng: np.random.Generator) -> tuple[Floats, Ints]:
        """Return features (count, d) and labels (count,) of the group with this index."""
        y = rng.integers(2, size=whole("count", count, low=0, high=MOST))
        return rng.standard_normal((count, self.means.shape[2])) + self.means[group][y], y

    def population_risk(self, coef: object, intercept: float) -> Floats:
        """Return the error probability (m,) of the classifier "1 where coef.x + intercept > 0" in each group.

        It is the mean of Phi((coef.mu_0z + intercept) / |coef|) and Phi(-(coef.mu_1z + intercept) / |coef|).
        """
        from scipy.special import ndtr

        w = np.asarray(coef, dtype=np.float64).ravel()
        size = math.sqrt(float(w @ w))
        if size == 0.0:
            return np.full(len(self.groups), 0.5)
        margins = (self.means @ w + float(np.squeeze(intercept))) / size
        return np.asarray(0.5 * (ndtr(margins[:, 0]) + ndtr(-margins[:, 1])))

    def classifier(self, mixture: Sequence[float] | Floats) -> tuple[Floats, float]:
        """Return (coef (d,), intercept): the population minimiser of the logistic loss under a mixture (m,) of the
        groups.
        """
        return logistic_optimum(self.means, np.asarray(mixture, dtype=np.float64))

    def fair_mixture(self) -> Floats:
        """Return pi* (m,): the mixture whose logistic classifier has the smallest worst-group risk, found by search.

        For two groups with mu_1z = -mu_0z at right angles, pi*(u) = |mu_v|^2 / (|mu_u|^2 + |mu_v|^2).
        """
        return fair_mixture(lambda mixture: self.population_risk(*self.classifier(mixture)), len(self.groups))

    @classmethod
    def _examples(cls) -> Iterator[Self]:
        """Yield worlds to try."""
        yield cls(instance="I")
        yield cls({"a": [[0.0], [1.0]], "b": [[1.0], [3.0]], "c": [[-1.0], [0.0]]})


@register("sampling/synthetic-2", kind="world")
class SyntheticModel2(Synthetic):
    """One group with an irreducible risk of 1/4, and one with three clusters per label that take time to learn.

    Group u: X = (U(c_y, c_y + 4), 0) with c_0 = -3, c_1 = -1. Group v, before a rotation by 45 degrees: label 0 is
    (-2, 0), (-1, 6) or (-1, -6) with probabilities .8, .1, .1 and standard deviations .5, .7, .7; label 1 is its
    mirror image in x_1. Labels are equally likely.

    Examples
    --------
    >>> SyntheticModel2().population_risk([1.0, 0.0], 0.0).round(3)
    array([0.25 , 0.102])

    Source: Shekhar, Fields, Ghavamzadeh, Javidi (2021), Section 5.1 and Appendix E.
    """

    groups = ("u", "v")
    starts = np.array([-3.0, -1.0])
    length = 4.0
    centres = np.array([[2.0, 0.0], [1.0, 6.0], [1.0, -6.0]])
    spreads = np.array([0.5, 0.7, 0.7])
    weights = np.array([0.8, 0.1, 0.1])
    rotation = np.array([[1.0, -1.0], [1.0, 1.0]]) / math.sqrt(2.0)

    def __init__(self) -> None:
        self.reset(0)

    def sample(self, group: int, count: int, rng: np.random.Generator) -> tuple[Floats, Ints]:
        """Return features (count, 2) and labels (count,) of the group with this index."""
        y = rng.integers(2, size=whole("count", count, low=0, high=MOST))
        if group == 0:
            first = self.starts[y] + self.length * rng.random(count)
            return np.column_stack([first, np.zeros(count)]), y
        cluster = np.minimum(np.searchsorted(self.weights.cumsum(), rng.random(count), side="right"), 2)
        X = self.centres[cluster] + self.spreads[cluster, None] * rng.standard_normal((count, 2))
        X[:, 0] *= 2 * y - 1
        return X @ self.rotation.T, y

    def population_risk(self, coef: object, intercept: float) -> Floats:
        """Return the error probability (2,) of the classifier "1 where coef.x + intercept > 0" in each group."""
        from scipy.special import ndtr

        w, b = np.asarray(coef, dtype=np.float64).ravel(), float(np.squeeze(intercept))
        if w[0] == 0.0:
            easy = 0.5
        else:
            below = np.clip((-b / w[0] - self.starts) / self.length, 0.0, 1.0)
            positive = 1.0 - below if w[0] > 0 else below
            easy = 0.5 * float(positive[0] + 1.0 - positive[1])
        turned = self.rotation.T @ w
        size = math.sqrt(float(w @ w))
        if size == 0.0:
            return np.array([easy, 0.5])
        sides = [self.centres * [sign, 1.0] @ turned + b for sign in (-1.0, 1.0)]
        wrong = [ndtr(sides[0] / (self.spreads * size)), ndtr(-sides[1] / (self.spreads * size))]
        return np.array([easy, 0.5 * float(self.weights @ wrong[0] + self.weights @ wrong[1])])

    @classmethod
    def _examples(cls) -> Iterator[Self]:
        """Yield worlds to try."""
        yield cls()
