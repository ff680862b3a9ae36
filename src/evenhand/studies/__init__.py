"""Studies that last: a policy in a file or a database, asked and told by any number of processes.

No acknowledged entry is lost, every decision can be explained, and the log replays to the very same state.
"""

from typing import Any

import lazy_loader

from evenhand.extras import optional

_attribute, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name in __all__:  # descriptions of policies as plain data, which are modules of this package, need no database
        optional("sqlalchemy", "a study")
    return _attribute(name)
