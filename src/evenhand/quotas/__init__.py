"""Which arm now, when every arm is owed a share of the rounds?

Promise: at every round t, N_i(t) >= floor(r_i t) - alpha.
"""

from evenhand.quotas.audit import Audit, audit
from evenhand.quotas.changing_worlds import ChangingArms, DriftingArms
from evenhand.quotas.deadline_learn import DeadlineLearn
from evenhand.quotas.fair_learn import FairLearn, FairUCB
from evenhand.quotas.horizon_fair_ucb import HorizonFairUCB
from evenhand.quotas.lfg import LFG
from evenhand.quotas.problem import Promise
from evenhand.quotas.window_learn import WindowLearn
from evenhand.quotas.worlds import BernoulliArms, LoggedArms

__all__ = [
    "LFG",
    "Audit",
    "BernoulliArms",
    "ChangingArms",
    "DeadlineLearn",
    "DriftingArms",
    "FairLearn",
    "FairUCB",
    "HorizonFairUCB",
    "LoggedArms",
    "WindowLearn",
    "Promise",
    "audit",
]
