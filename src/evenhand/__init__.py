"""evenhand: software that decides fairly while it learns.

    import evenhand as eh

    policy = eh.quotas.FairUCB({"ads": 0.2, "news": 0.3, "sports": 0.3})
    decision = policy.ask()
    policy.tell(decision, reward)

Each problem has a package: `quotas`, `interventions`. `eh.simulate` plays policies in worlds, `eh.check_policy` runs the contract.
"""

from evenhand import interventions, learners, quotas
from evenhand.checks import check_policy, check_world
from evenhand.protocol import Decision
from evenhand.registry import register
from evenhand.simulation import simulate
from evenhand.state import load, save
from evenhand.version import __version__

__all__ = [
    "Decision",
    "__version__",
    "check_policy",
    "check_world",
    "interventions",
    "learners",
    "load",
    "quotas",
    "register",
    "save",
    "simulate",
]
