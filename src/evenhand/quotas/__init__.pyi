from .changing_worlds import ChangingArms as ChangingArms, DriftingArms as DriftingArms
from .deadline_learn import DeadlineLearn as DeadlineLearn
from .fair_learn import FairLearn as FairLearn
from .fair_ucb import FairUCB as FairUCB
from .horizon_fair_ucb import HorizonFairUCB as HorizonFairUCB
from .lfg import LFG as LFG
from .lottery_learn import LotteryLearn as LotteryLearn
from .promise import ApartAudit as ApartAudit, Audit as Audit, Promise as Promise, audit as audit
from .window_learn import WindowLearn as WindowLearn
from .worlds import BernoulliArms as BernoulliArms, LoggedArms as LoggedArms
