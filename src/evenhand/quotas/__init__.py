"""Which arm now, when every arm is owed a share of the rounds?

Promise: at every round t, N_i(t) >= floor(r_i t) - alpha.
"""

import importlib
from typing import TYPE_CHECKING, Any

from evenhand.audit.promises import ApartAudit, Audit, audit

if TYPE_CHECKING:
    from evenhand.promises.promise import Promise
    from evenhand.quotas.changing_worlds import ChangingArms, DriftingArms
    from evenhand.quotas.deadline_learn import DeadlineLearn
    from evenhand.quotas.fair_learn import FairLearn
    from evenhand.quotas.fair_ucb import FairUCB
    from evenhand.quotas.horizon_fair_ucb import HorizonFairUCB
    from evenhand.quotas.lfg import LFG
    from evenhand.quotas.lottery_learn import LotteryLearn
    from evenhand.quotas.window_learn import WindowLearn
    from evenhand.quotas.worlds import BernoulliArms, LoggedArms

__all__ = [
    "LFG",
    "ApartAudit",
    "Audit",
    "BernoulliArms",
    "ChangingArms",
    "DeadlineLearn",
    "DriftingArms",
    "FairLearn",
    "FairUCB",
    "HorizonFairUCB",
    "LoggedArms",
    "LotteryLearn",
    "WindowLearn",
    "Promise",
    "audit",
]

MODULES = {
    "BernoulliArms": "worlds",
    "ChangingArms": "changing_worlds",
    "DeadlineLearn": "deadline_learn",
    "DriftingArms": "changing_worlds",
    "FairLearn": "fair_learn",
    "FairUCB": "fair_ucb",
    "HorizonFairUCB": "horizon_fair_ucb",
    "LFG": "lfg",
    "LoggedArms": "worlds",
    "LotteryLearn": "lottery_learn",
    "Promise": "promise",
    "WindowLearn": "window_learn",
}
"""The module of each class, which is imported when the class is first used."""


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "evenhand.promises" if name == "Promise" else __name__
    value = globals()[name] = getattr(importlib.import_module(f"{home}.{MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return __all__
