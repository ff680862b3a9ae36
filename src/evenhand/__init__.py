"""evenhand: software that decides fairly while it learns.

    import evenhand as eh

    policy = eh.quotas.FairUCB({"ads": 0.2, "news": 0.3, "sports": 0.3})
    decision = policy.ask()
    policy.tell(decision, reward)

Each problem has a package, listed in `PROBLEMS`. `eh.simulate` plays policies in worlds, `eh.check_policy` runs the
contract over anybody's policy, `eh.Study` keeps a policy in a file or a database. Every name is imported when it is
first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from evenhand.version import __version__

if TYPE_CHECKING:
    from evenhand import (
        audit,
        client,
        datasets,
        errors,
        evaluation,
        groups,
        interventions,
        learners,
        plots,
        quotas,
        sampling,
        similarity,
        simulation,
        studies,
    )
    from evenhand.checks import check_policy, check_world
    from evenhand.data.encoding import Encoder
    from evenhand.evaluation import Comparison, Evaluation, evaluate
    from evenhand.promises.promise import Promise
    from evenhand.protocol import Decision
    from evenhand.registry import register
    from evenhand.saving.state import load, save
    from evenhand.simulation import simulate
    from evenhand.studies import Study

PROBLEMS = ("quotas", "groups", "interventions", "sampling", "similarity")

PACKAGES = (
    *PROBLEMS,
    "audit",
    "client",
    "datasets",
    "errors",
    "evaluation",
    "learners",
    "plots",
    "simulation",
    "studies",
)
HOMES = {
    "Comparison": "evaluation",
    "Decision": "protocol",
    "Encoder": "data.encoding",
    "Evaluation": "evaluation",
    "Promise": "promises.promise",
    "Study": "studies",
    "check_policy": "checks",
    "check_world": "checks",
    "evaluate": "evaluation",
    "load": "saving.state",
    "register": "registry",
    "save": "saving.state",
    "simulate": "simulation",
}
"""The module of each public name."""

__all__ = [
    "PROBLEMS",
    "Comparison",
    "Decision",
    "Encoder",
    "Evaluation",
    "Promise",
    "Study",
    "__version__",
    "audit",
    "check_policy",
    "check_world",
    "client",
    "datasets",
    "errors",
    "evaluate",
    "evaluation",
    "groups",
    "interventions",
    "learners",
    "load",
    "plots",
    "quotas",
    "register",
    "sampling",
    "save",
    "similarity",
    "simulate",
    "simulation",
    "studies",
]


def __getattr__(name: str) -> Any:
    if name in PACKAGES:
        return importlib.import_module(f"evenhand.{name}")
    if name in HOMES:
        value = globals()[name] = getattr(importlib.import_module(f"evenhand.{HOMES[name]}"), name)
        return value
    raise AttributeError(f"module 'evenhand' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
