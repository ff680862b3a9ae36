"""Studies that last: a policy in a file or a database, asked and told by any number of processes.

No acknowledged entry is lost, every decision can be explained, and the log replays to the very same state.
"""

import importlib
from typing import TYPE_CHECKING, Any

from evenhand.extras import optional

if TYPE_CHECKING:
    from evenhand.studies.export import bandit_feedback, bandit_frame
    from evenhand.studies.log.operations import Operation
    from evenhand.studies.store.storage import Storage
    from evenhand.studies.store.store import Store
    from evenhand.studies.study import Study

__all__ = ["Operation", "Storage", "Store", "Study", "bandit_feedback", "bandit_frame"]

HOMES = {
    "Operation": "log.operations",
    "Storage": "store.storage",
    "Store": "store.store",
    "Study": "study",
    "bandit_feedback": "export",
    "bandit_frame": "export",
}
"""The module of each name, which is imported when the name is first used: descriptions of policies as plain data need
no database."""


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    optional("sqlalchemy", "a study")
    module = importlib.import_module(f"{__name__}.{HOMES[name]}")
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return __all__
