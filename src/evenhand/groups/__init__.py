"""Which arm now, when the reward we see is biased against a group?

Promise: regret against the unbiased reward; the bias is learned and reported.
"""

from evenhand.groups.group_fair import GroupFairTopInterval
from evenhand.groups.interval_chaining import IntervalChaining
from evenhand.groups.linear_thompson import LinearThompson
from evenhand.groups.top_interval import TopInterval
from evenhand.groups.worlds import BiasedLinearArms

__all__ = ["BiasedLinearArms", "GroupFairTopInterval", "IntervalChaining", "LinearThompson", "TopInterval"]
