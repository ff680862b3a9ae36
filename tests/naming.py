"""Names of parametrised cases that are the same in every process, as pytest's workers must agree on them."""

from __future__ import annotations

import re
from typing import Any


def named(value: Any) -> str:
    """Return a short text for a parameter, its memory addresses and the order of its sets taken out."""
    text = re.sub(r" at 0x[0-9a-f]+", "", repr(value))
    return re.sub(r"\{[^{}:]+\}", lambda s: "{" + ", ".join(sorted(s[0][1:-1].split(", "))) + "}", text)[:80]
