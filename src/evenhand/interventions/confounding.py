"""What an unobserved cause of a given strength may do to outcomes and gaps: Tan's marginal sensitivity model.

The cause u may change the odds of V = v, given V's parents, by a factor of at most the strength L, either way. With
e = P(v | pa), x the values of S and of pa(V), and the observed law of Y given x and v, whose mean is m,

    E[Y_v | x] lies in e m + (1 - e) [q-, q+],

where for q+ the top 1/(L + 1) of Y's mass weighs L and the rest 1/L, and for q- the bottom. A sum of such effects with
any weights has one adversary: each effect takes the end that the sign of its weight picks. What runs now is observed as
it is, cause and all, and does not move. For a cause of S and Y the same holds with e = P(S = s), the law of Y being
that of a candidate under S = s; then outcomes, in which S comes as it does, do not move, and gaps do.

Source: Z. Tan, "A Distributional Approach for Causal Inference Using Propensity Scores" (2006), the model; J. Dorn, K.
Guo, "Sharp Sensitivity Analysis for Inverse Propensity Weighting via Quantile Balancing" (2023), the ends.
"""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.interventions.inference import eliminate, placed
from evenhand.interventions.means import CANDIDATE, factors_below
from evenhand.interventions.question import Question

__all__ = ["Confounding", "Terms", "bounds", "confounded_groups", "confounded_values"]

Floats = NDArray[np.float64]


class Terms(NamedTuple):
    """Numbers that are sums of effects: weights (T, effects), and the parts that do not move (T,)."""

    weights: Floats
    fixed: Floats


class Confounding(NamedTuple):
    """Effects that an unobserved cause may move, and what is made of them.

    Attributes
    ----------
    law : (effects, Y states) the observed law of the outcome behind each effect.
    shares : (effects,) the share e of people of whom the effect is observed.
    scores : (Y states,) the outcome's numbers, scaled to [0, 1].
    outcomes : (K,) the candidates' outcomes.
    gaps : (pairs * K,) their gaps, by ordered pair and candidate.
    """

    law: Floats
    shares: Floats
    scores: Floats
    outcomes: Terms
    gaps: Terms

    def effects(self, strength: float) -> tuple[Floats, Floats]:
        """Return the lowest and the highest effects (effects,) under a cause of this strength."""
        mean = self.law @ self.scores
        order = np.argsort(self.scores)
        ends = (_tilted(self.law[:, by], self.scores[by], strength) for by in (order, order[::-1]))
        low, high = (self.shares * mean + (1.0 - self.shares) * end for end in ends)
        return low, high


def bounds(terms: Terms, effects: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Return the least and the largest value of each number (T,)."""
    low, high = effects
    up, down = np.maximum(terms.weights, 0.0), np.minimum(terms.weights, 0.0)
    return terms.fixed + up @ low + down @ high, terms.fixed + up @ high + down @ low


def confounded_values(question: Question) -> Confounding:
    """Return what a cause of V and Y may move."""
    model, structure = question.model, question.structure
    v, s = structure.intervene, structure.sensitive
    others = [node for node in model.parents[v] if node not in s]
    axes = [*s, *others, v]
    sizes = {node: len(states) for node, states in model.states.items()} | {CANDIDATE: 1}
    shape = [sizes[node] for node in axes]

    def spread(table: Floats) -> Floats:
        return np.broadcast_to(placed([*model.parents[v], v], table, axes), shape)

    even = np.full((1, *model.shape(v)), 1.0 / sizes[v])
    factors = factors_below(model, structure, even, model.tables, {structure.outcome, v})
    joint = eliminate(factors, [*axes, structure.outcome], sizes).reshape(*shape, -1)
    total = joint.sum(-1, keepdims=True)
    law = np.divide(joint, total, out=np.full_like(joint, 1.0 / joint.shape[-1]), where=total > 0)
    reach = joint.sum((-2, -1))[..., None]
    shares = spread(model.tables.get(v, question.tables[0]))
    observed = reach * shares * (law @ question.scores)
    groups = int(np.prod(shape[: len(s)]))
    weights, fixed = [], []
    for table, own in zip(question.tables, question.own, strict=True):
        moved = np.zeros(shape) if own else reach * spread(table)
        weights.append(np.eye(groups)[:, :, None] * moved.reshape(1, groups, -1))
        fixed.append(own * observed.reshape(groups, -1).sum(1))
    terms = _terms(np.array(weights).reshape(len(fixed), groups, -1), np.array(fixed), _prior(question))
    return Confounding(law.reshape(-1, law.shape[-1]), shares.reshape(-1), question.scores, *terms)


def confounded_groups(question: Question) -> Confounding:
    """Return what a cause of S and Y may move."""
    model, structure = question.model, question.structure
    sizes = {node: len(states) for node, states in model.states.items()} | {CANDIDATE: len(question.candidates)}
    factors = factors_below(model, structure, question.tables, model.tables, {structure.outcome})
    law = eliminate(factors, [CANDIDATE, *structure.sensitive, structure.outcome], sizes)
    prior = _prior(question)
    k, groups = len(question.candidates), len(prior)
    law = law.reshape(k * groups, -1)
    weights = np.eye(k * groups).reshape(k, groups, -1)
    gaps = _terms(weights, np.zeros((k, groups)), prior)[1]
    outcomes = Terms(np.zeros((k, k * groups)), (law @ question.scores).reshape(k, groups) @ prior)
    return Confounding(law, np.tile(prior, k), question.scores, outcomes, gaps)


def _terms(weights: Floats, fixed: Floats, prior: Floats) -> tuple[Terms, Terms]:
    """Return outcomes and gaps from E_k[Y | do(S = s)] as weights (K, S, effects) and fixed parts (K, S)."""
    pairs = list(permutations(range(len(prior)), 2))
    gaps = np.concatenate([weights[:, a] - weights[:, b] for a, b in pairs])
    still = np.concatenate([fixed[:, a] - fixed[:, b] for a, b in pairs])
    return Terms(np.einsum("ksn,s->kn", weights, prior), fixed @ prior), Terms(gaps, still)


def _prior(question: Question) -> Floats:
    prior = np.ones(1)
    for attribute in question.structure.sensitive:
        prior = np.outer(prior, question.model.tables[attribute]).reshape(-1)
    return prior


def _tilted(law: Floats, scores: Floats, strength: float) -> Floats:
    """Return the mean once the first 1/(strength + 1) of the mass weighs more by the strength, and the rest less; with
    scores in ascending order the lowest mean that there can be, in descending order the highest."""
    before = np.cumsum(law, axis=1) - law
    first = np.clip(1.0 / (strength + 1.0) - before, 0.0, law)
    return np.asarray((strength * first + (law - first) / strength) @ scores)
