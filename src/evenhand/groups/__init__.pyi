from .chosen import Chosen as Chosen, choose as choose
from .group_fair import GroupFairTopInterval as GroupFairTopInterval
from .interval_policies import IntervalChaining as IntervalChaining, TopInterval as TopInterval
from .linear_thompson import LinearThompson as LinearThompson
from .measures import Ledger as Ledger, round_regrets as round_regrets
from .naive_fair import NaiveFair as NaiveFair
from .problem import Groups as Groups
from .table_arms import TableArms as TableArms
from .worlds import BiasedLinearArms as BiasedLinearArms
