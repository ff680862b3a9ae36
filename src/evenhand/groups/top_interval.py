"""TopInterval: the arm whose confidence interval ends highest, blind to groups.

Source: C. Schumann, Z. Lang, N. Mattei, J. P. Dickerson, "Group Fairness in Bandits with Biased Feedback", AAMAS 2022,
after M. Joseph, M. Kearns, J. Morgenstern, S. Neel, A. Roth, "Fair Algorithms for Infinite and Contextual
Bandits" (2018).
"""

from __future__ import annotations

from evenhand.groups.interval_policy import IntervalPolicy
from evenhand.registry import register


@register("groups/top-interval")
class TopInterval(IntervalPolicy):
    """Pull the arm with the largest beta_i'x + w_i, each arm's beta_i by its own least squares.

    w_i = |Phi^{-1}(delta / (2 n t))| sigma sqrt(x (X_i'X_i)^+ x'). Where a design is singular, the solution of
    smallest norm and the pseudo-inverse stand in. Groups do not enter the decision; a bias in the rewards is learned
    as if it were worth.

    Parameters
    ----------
    groups : the group of each arm: a list, or a dict arm -> group; several attributes form one, ("F", "under 25").
    delta : 1 - delta is the level at which all intervals hold, in (0, 1).
    noise_scale : sigma, the standard deviation of the reward's noise.
    horizon : T; only the authors' program needs it.
    preset : "paper" or "authors": two readings, see `evenhand.groups.interval_policy`.
    exploration : p; with probability t^(-p) a random arm is pulled. `math.inf` for never after round 1.
    cold_start : "infinite": an arm with fewer than d samples goes first; "minimum_norm": its first sample counts
        already. None for the preset's.
    intercept : whether rewards have a constant part: every regression gets a coefficient that multiplies 1. Contexts
        stay as they are.
    seed : seed of the exploration.

    Raises
    ------
    ArgumentError
        If a setting cannot be, or there are fewer than two arms.

    Examples
    --------
    >>> policy = TopInterval({"ann": "F", "bob": "M"}, seed=1)
    >>> decision = policy.ask([[1.0, 0.5], [0.2, 0.9]])
    >>> policy.tell(decision, 31.5)

    Source: Schumann, Lang, Mattei, Dickerson (2022), the algorithm that GroupFairTopInterval is compared with.
    """
