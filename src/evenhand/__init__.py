"""evenhand: software that decides fairly while it learns.

    import evenhand as eh

    policy = eh.quotas.FairUCB({"ads": 0.2, "news": 0.3, "sports": 0.3})
    decision = policy.ask()
    policy.tell(decision, reward)

Each problem has a package, listed in `PROBLEMS`. `eh.simulate` plays policies in worlds, `eh.check_policy` runs the
contract over anybody's policy, `eh.Study` keeps a policy in a file or a database. Problems other than `quotas`, and
studies, are imported when they are first named.
"""

import importlib
from typing import TYPE_CHECKING, Any

from evenhand import learners, quotas
from evenhand.checks import check_policy, check_world
from evenhand.protocol import Decision
from evenhand.registry import register
from evenhand.simulation import simulate
from evenhand.state import load, save
from evenhand.version import __version__

if TYPE_CHECKING:
    from evenhand import groups, interventions, sampling, similarity
    from evenhand.studies import Study

PROBLEMS = ("quotas", "groups", "interventions", "sampling", "similarity")

__all__ = [
    "PROBLEMS",
    "Decision",
    "Study",
    "__version__",
    "check_policy",
    "check_world",
    "groups",
    "interventions",
    "learners",
    "load",
    "quotas",
    "register",
    "sampling",
    "save",
    "similarity",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name in PROBLEMS:
        return importlib.import_module(f"evenhand.{name}")
    if name == "Study":
        return importlib.import_module("evenhand.studies").Study
    raise AttributeError(f"module 'evenhand' has no attribute {name!r}")
