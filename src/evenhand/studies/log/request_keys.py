"""Keys of requests: the texts under which the log keeps the decisions that a caller named, and which asks are the same.

Decision number i under a key is the same for the shell, the library and HTTP, however many are asked for at once.
Number 0 is kept under the key itself, number i under the key, a tab and i; a caller's key holds no tab.
"""

from __future__ import annotations

from typing import Any

from evenhand.errors import EvenhandError
from evenhand.protocol import RoundReader, composed
from evenhand.studies.log.codec import CHECKED, revive

LONGEST = 200
"""Characters of the longest text."""


def text_of(key: str, number: int) -> str:
    """Return the text under which the log keeps decision `number` of a key.

    >>> text_of("night", 0), text_of("night", 2)
    ('night', 'night\\t2')
    """
    return f"{composed(key)}\t{number}" if number else f"{composed(key)}"


def shown_key(text: str | None) -> str | None:
    """Return what people read for a text of the log: the key, and behind # the number where it is not the first.

    >>> shown_key("night"), shown_key("night\\t2")
    ('night', 'night#2')
    """
    return None if text is None else text.replace("\t", "#")


def same_ask(before: dict[str, Any], given: dict[str, Any], policy: Any) -> bool:
    """Return whether two asks show a policy the same, with arguments in the log's form: what it reads in them counts,
    not how they are written. An offer is a set of arms, and one that names every arm is none.

    >>> from evenhand.learners import UCB1
    >>> from evenhand.quotas import DeadlineLearn
    >>> policy = DeadlineLearn(UCB1(), {"a": 0.2, "b": 0.2})
    >>> same_ask({"available": ["a"]}, {"available": ["a", "a"]}, policy)
    True
    >>> same_ask({}, {"available": ["b", "a"]}, policy), same_ask({}, {"available": ["b"]}, policy)
    (True, False)
    """
    if before.get("erased"):
        left = {name: value for name, value in before.items() if name in CHECKED}
        before = {name: value for name, value in given.items() if name not in CHECKED} | left
    if before == given:
        return True
    if not isinstance(policy, RoundReader):
        return False
    try:
        one, other = (policy._round_shown(**revive(ask)) for ask in (before, given))
    except EvenhandError:  # what the policy cannot read is no repetition of what it has read
        return False
    return bool(one == other)
