"""Labels and names as people type them."""

from __future__ import annotations

import json
from typing import Any

from evenhand.errors import ArgumentError, wanted


def labels_in(text: str, option: str) -> list[Any]:
    """Read labels a,b, or a list as JSON.

    >>> labels_in("a, b", "--available"), labels_in('["a,b", 17]', "--available")
    (['a', 'b'], ['a,b', 17])
    """
    if not text.lstrip().startswith("["):
        return [label.strip() for label in text.split(",")]
    try:
        return list(json.loads(text))
    except ValueError as error:
        raise ArgumentError(wanted(option, 'labels a,b,c or ["a", "b"] as JSON', text)) from error
