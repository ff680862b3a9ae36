from .worlds import (
    ChangingArms as ChangingArms,
    DriftingArms as DriftingArms,
    BernoulliArms as BernoulliArms,
    LoggedArms as LoggedArms,
)
from .deadline_learn import DeadlineLearn as DeadlineLearn
from .paper_rules import FairLearn as FairLearn, FairUCB as FairUCB, HorizonFairUCB as HorizonFairUCB
from .price import Price as Price, price as price
from .regret_bound import regret_bound as regret_bound
from .lfg import LFG as LFG
from .former_names import audit as audit
