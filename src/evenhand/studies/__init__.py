"""Studies that last: a policy in a file or a database, asked and told by any number of processes.

No acknowledged entry is lost, every decision can be explained, and the log replays to the very same state.
"""

import importlib
from functools import partial
from typing import TYPE_CHECKING, Any

from evenhand.studies.operations import Operation
from evenhand.studies.store import Store
from evenhand.studies.study import Study

if TYPE_CHECKING:
    from evenhand.studies import monitors
    from evenhand.studies.export import bandit_feedback, bandit_frame
    from evenhand.studies.shared_study import SharedStudy

__all__ = ["Operation", "SharedStudy", "Store", "Study", "bandit_feedback", "bandit_frame", "monitors"]

ON_DEMAND = {
    "monitors": "monitors",
    "bandit_feedback": "export",
    "bandit_frame": "export",
    "SharedStudy": "shared_study",
}
"""Names that few programs need, and their modules, which take long to import."""

Study.several = staticmethod(partial(importlib.import_module, "evenhand.studies.shared_creation"))


def __getattr__(name: str) -> Any:
    if name not in ON_DEMAND:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{ON_DEMAND[name]}")
    return module if name == ON_DEMAND[name] else getattr(module, name)


def __dir__() -> list[str]:
    return __all__
