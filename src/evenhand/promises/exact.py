"""For which promises the rule grants every wish that some rule could grant."""

from __future__ import annotations

import math

from evenhand.promises.feasible import spaced_alone, tokens_of
from evenhand.promises.promise import Promise
from evenhand.promises.windows import MOST_STATES


def grants_all(promise: Promise) -> bool:
    """Return whether a wish is refused only where no rule that keeps the promise could grant it.

    Where a chain of shorter periods stands for windows, the promise is kept and some wishes are refused that could be
    granted.

    >>> grants_all(Promise({"a": "1/2", "b": "1/4"})), grants_all(Promise({"c": "1/4"}, windows={"a": 3, "b": 4}))
    (True, False)
    """
    if not promise.windows:
        return True
    tokens = tokens_of(promise)
    if spaced_alone(promise) and math.prod(token.window for token in tokens) <= MOST_STATES:
        return True
    nested = any(len(members) > 1 for members, _ in promise.windows)
    if len(tokens) < sum(plays for _, (plays, _) in promise.windows):
        return False
    owed = {arm for clause in promise.clauses if clause.kind == "floor" for arm in clause.arms}
    if any(owed & set(members) for members, _ in promise.windows):  # one play may then serve both
        return False
    return not nested and all(token.window == token.period or promise.offers != "all" for token in tokens)
