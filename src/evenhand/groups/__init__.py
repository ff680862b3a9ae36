"""Which arm now, when the reward we see is biased against a group?

Promise: regret against the unbiased reward; the bias is learned and reported.
"""

from evenhand.groups.group_fair import GroupFairTopInterval
from evenhand.groups.interval_chaining import IntervalChaining
from evenhand.groups.linear_thompson import LinearThompson
from evenhand.groups.measures import Ledger, round_regrets
from evenhand.groups.naive_fair import NaiveFair
from evenhand.groups.problem import Groups
from evenhand.groups.table_arms import TableArms
from evenhand.groups.top_interval import TopInterval
from evenhand.groups.worlds import BiasedLinearArms

__all__ = [
    "BiasedLinearArms",
    "GroupFairTopInterval",
    "Groups",
    "IntervalChaining",
    "Ledger",
    "LinearThompson",
    "NaiveFair",
    "TableArms",
    "TopInterval",
    "round_regrets",
]


def __dir__() -> list[str]:
    return __all__
