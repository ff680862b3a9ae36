"""Keys of requests: the texts under which the log keeps the decisions that a caller named, and which asks are the same.

Decision number i under a key is the same for the shell, the library and HTTP, however many are asked for at once.
Number 0 is kept under the key itself, number i under the key, a tab and i; a caller's key holds no tab.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from evenhand.protocol import Label, composed, find_label, places
from evenhand.studies.log.codec import revive

__all__ = ["LONGEST", "same_ask", "shown_key", "text_of"]

LONGEST = 200
"""Characters of the longest text."""


def text_of(key: str, number: int) -> str:
    """Return the text under which the log keeps decision `number` of a key.

    >>> text_of("night", 0), text_of("night", 2)
    ('night', 'night\\t2')
    """
    return f"{composed(key)}\t{number}" if number else str(composed(key))


def shown_key(text: str | None) -> str | None:
    """Return what people read for a text of the log: the key, and behind # the number where it is not the first.

    >>> shown_key("night"), shown_key("night\\t2")
    ('night', 'night#2')
    """
    return None if text is None else text.replace("\t", "#")


def same_ask(before: dict[str, Any], given: dict[str, Any], arms: Sequence[Label], retired: Collection[Label]) -> bool:
    """Return whether two asks give a policy the same, with arguments in the log's form: an offer is a set of arms, and
    one that names every arm is none.

    >>> same_ask({"available": ["a", "b"]}, {"available": ["b", "a", "b"]}, ["a", "b", "c"], ())
    True
    >>> same_ask({}, {"available": ["b", "a"]}, ["a", "b", "c"], ["c"])
    True
    """
    if before == given:
        return True
    known, every = places(arms), {place for place, arm in enumerate(arms) if arm not in retired}
    one, other = (_offer(ask.get("available"), known, every) for ask in (before, given))
    return one == other and before | {"available": None} == given | {"available": None}


def _offer(available: Any, known: dict[Any, int], every: set[int]) -> set[Any]:
    """Return the positions of the arms on offer, and what is no arm as it is written."""
    if available is None:
        return set(every)
    arms = [available] if isinstance(available, (str, int)) else list(revive(available))
    found = [(find_label(arm, known), arm) for arm in arms]
    return {str(arm) if place is None else place for place, arm in found}
