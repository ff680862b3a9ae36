"""Names of parametrized cases, the same in every process: no address of an object, no order of a set."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["named"]


def named(value: Any) -> str:
    """Return a short text for a parameter, its memory addresses and the order of its sets taken out."""
    text = re.sub(r" at 0x[0-9a-f]+", "", repr(value))
    return re.sub(r"\{[^{}:]+\}", lambda s: "{" + ", ".join(sorted(s[0][1:-1].split(", "))) + "}", text)[:80]
