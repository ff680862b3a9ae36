"""LipschitzUCB: optimism about rewards under a fairness program whose metric is learned from an auditor's verdicts.

Each round solves the fair program for upper confidence bounds of the rewards and the metric learner's distances,
draws from its solution, and learns twice: the reward of whoever was drawn, and for each pair whether the gap |p_i -
p_j| that was played was above its distance.

Source: S. Gillen, C. Jung, M. Kearns, A. Roth, "Online Learning with an Unknown Fairness Metric" (NeurIPS 2018),
Algorithms 1 (L_known) and 2 (L_full), Theorems 1, 3 and 4. `margin` is ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evenhand.registry import register
from evenhand.similarity.conversation import Lipschitz
from evenhand.similarity.exact_learners import EllipsoidDistance
from evenhand.similarity.oracles import MahalanobisOracle
from evenhand.similarity.worlds import LinearContexts


@register("similarity/lipschitz-ucb")
class LipschitzUCB(Lipschitz):
    """Choose with fair probabilities while learning rewards from experience and the metric from an auditor.

    Parameters
    ----------
    dimension : d, the numbers that describe an individual; with `theta` it is as many as there are weights.
    theta : the weights of the rewards (d,), where they are known: an individual with context x brings <x, theta>, and
        only the metric is learned. `delta`, `ridge` and `noise_scale` are of rewards that are learned.
    precision : epsilon; a pair whose distance is known this closely needs no verdict any more.
    metric : a metric learner, copied without what it knows; None for `MomentDistance(precision=precision)`.
    select : "one" individual a round, or "many", each drawn independently.
    margin : play the certified lower end of a distance once it is narrow, so that the remaining error is on the safe
        side; False is the paper.
    delta : the probability with which a confidence bound of a reward may ever fail.
    ridge : lambda of the ridge regression.
    noise_scale : the rewards' noise is sub-Gaussian with this scale.
    individuals : k, where every round shows the same number; needed where each pair has a metric learner of its own.
    silence : what it means that the auditor does not name a pair: "acceptable" (the paper), "acceptable unless another
        is named" (an auditor who names one pair whenever there is one), or "nothing" (flags come now and then: only
        pairs called acceptable teach upward; without any such verdict the policy treats everybody alike).
    scale : one scale for everybody, `Scale.of(pool)` or `Scale(centre, unit)`; None takes contexts as they are. All
        that people are described by, in `ask`, `verdict` and `distances`, is then as in the pool. Rewards are linear in
        the scaled features; a column of ones gives them a level of their own.
    on_contradiction : what to do with a verdict that no metric agrees with together with those before: "refuse" it, or
        go over from an exact learner to a "robust" belief, a `PosteriorDistance` that is told every answer again and
        learns how many are wrong. That is said once, in a warning; intervals are then measured, not certified.
    seed : of the draws.

    Raises
    ------
    ArgumentError
        If an argument is out of range.

    Examples
    --------
    >>> policy = LipschitzUCB(2, seed=1)
    >>> oracle = MahalanobisOracle([[0.3, 0.0]])
    >>> decision = policy.ask([[1.0, 0.0], [0.0, 1.0]])
    >>> policy.tell(decision, 0.8, violations=oracle([[1.0, 0.0], [0.0, 1.0]], decision.probabilities))

    Source: Gillen, Jung, Kearns, Roth (2018), Algorithm 2, Theorem 4: O(k^2 d^2 log(d ||A'A||_F / epsilon))
    violations above epsilon with probability 1; Theorem 3: regret O(k^2 d^2 log(.) + k^3 epsilon T + d sqrt(T) log(T
    / delta)). With a shared learner the k^2 of the first two terms is not needed.
    """

    @classmethod
    def examples(cls) -> Iterator[tuple[LipschitzUCB, Any]]:
        world = LinearContexts([0.5, 0.3], MahalanobisOracle([[0.4, 0.1]], seed=3), individuals=3)
        yield cls(2, seed=1), world
        yield cls(2, metric=EllipsoidDistance(shared=False), individuals=3, margin=False, seed=1), world


@register("similarity/known-reward-lipschitz")
class KnownRewardLipschitz(LipschitzUCB):
    """Choose with fair probabilities where what each individual brings is known and only the metric is learned.

    It is `LipschitzUCB(theta=)` under a name of its own, and takes the same arguments.

    Raises
    ------
    ArgumentError
        If `theta` is missing, or an argument is out of range.

    Examples
    --------
    >>> policy = KnownRewardLipschitz(theta=[0.9, 0.1], seed=1)
    >>> policy.ask([[1.0, 0.0], [1.0, 0.0]]).probabilities
    array([0.5, 0.5])

    Source: Gillen, Jung, Kearns, Roth (2018), Algorithm 1, Theorem 1.
    """

    known_rewards = True

    @classmethod
    def examples(cls) -> Iterator[tuple[KnownRewardLipschitz, Any]]:
        world = LinearContexts([0.5, -0.3], MahalanobisOracle([[0.4, 0.1]], seed=3), individuals=3, select="many")
        yield cls(theta=[0.5, -0.3], select="many", seed=1), world
