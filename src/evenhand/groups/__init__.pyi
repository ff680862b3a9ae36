from .group_fair import GroupFairTopInterval as GroupFairTopInterval
from .interval_chaining import IntervalChaining as IntervalChaining
from .linear_thompson import LinearThompson as LinearThompson
from .measures import Ledger as Ledger, round_regrets as round_regrets
from .naive_fair import NaiveFair as NaiveFair
from .problem import Groups as Groups
from .table_arms import TableArms as TableArms
from .top_interval import TopInterval as TopInterval
from .worlds import BiasedLinearArms as BiasedLinearArms
