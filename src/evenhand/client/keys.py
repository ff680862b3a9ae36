"""The keys of a client: which of them a request sends."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from evenhand.errors import ArgumentError

Role = Literal["decide", "report", "read"]
ALSO: Mapping[Role, tuple[str, ...]] = {"decide": ("both",), "report": ("both",), "read": ()}
"""The roles of keys that may do what a key of the role may, and more."""


class Keys:
    """One key, or several of different roles; their texts are shown nowhere.

    >>> Keys("eh_decide_17_abc eh_report_18_def").of("report")
    'eh_report_18_def'

    Raises
    ------
    ArgumentError
        If there is no key, or one that no header can hold.
    """

    def __init__(self, keys: str | Sequence[str]) -> None:
        texts = re.split(r"[\s,]+", keys.strip()) if isinstance(keys, str) else list(keys)
        if not texts or not all(isinstance(text, str) and re.fullmatch("[!-~]+", text) for text in texts):
            raise ArgumentError(
                "key: wanted the text of a key, or of several; pass key= or set EVENHAND_KEY "
                "(`evenhand keys STORE add --role both` makes one)"
            )
        self._texts: list[str] = texts

    def of(self, role: Role) -> str:
        """Return the key for a request that needs a role: the first that has it, else the first of all."""
        for known in (role, *ALSO[role]):
            for text in self._texts:
                if text.startswith(f"eh_{known}_"):
                    return text
        return self._texts[0]
