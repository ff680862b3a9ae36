"""IntervalChaining: nobody is passed over whose interval overlaps, through others, with the best one.

Source: M. Joseph, M. Kearns, J. Morgenstern, A. Roth, "Fairness in Learning: Classic and Contextual Bandits", NeurIPS
2016; as compared with in C. Schumann, Z. Lang, N. Mattei, J. P. Dickerson, "Group Fairness in Bandits with Biased
Feedback", AAMAS 2022.
"""

from __future__ import annotations

from evenhand.groups.interval_policy import IntervalPolicy
from evenhand.groups.selection import CHAIN, TWO_SWEEPS
from evenhand.registry import register


@register("groups/interval-chaining")
class IntervalChaining(IntervalPolicy):
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
        If a setting cannot be, or there are fewer than two arms.

    Examples
    --------
    >>> policy = IntervalChaining(["F", "M", "M"], seed=1)
    >>> decision = policy.ask([[1.0], [0.2], [0.5]])
    >>> policy.tell(decision, 3.5)

    Source: Joseph, Kearns, Morgenstern, Roth (2016), section 3; Schumann, Lang, Mattei, Dickerson (2022), as a
    baseline.
    """

    @property
    def pick(self) -> int:
        return CHAIN if self.preset == "paper" else TWO_SWEEPS
