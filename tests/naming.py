"""Names of parametrized cases, the same in every process: no address of an object, no order of a set."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["named"]


def named(value: Any) -> str:
    """Return a short text for a parameter, its memory addresses taken out."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))[:80]
