"""Durable studies: a policy kept in a file or a database, which any number of processes may ask and tell.

No acknowledged entry is lost, every decision can be explained, and replaying the log gives the very same state.
"""

from typing import Any

import lazy_loader

from evenhand.extras import optional

_attribute, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name in __all__:
        optional("sqlalchemy", "a study")
    return _attribute(name)
