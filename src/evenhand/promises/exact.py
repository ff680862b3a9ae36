"""For which promises the rule grants every wish that some rule could grant."""

from __future__ import annotations

from evenhand.promises.feasible import tokens_of
from evenhand.promises.promise import Promise

__all__ = ["grants_all"]


def grants_all(promise: Promise) -> bool:
    """Return whether a wish is refused only where no rule that keeps the promise could grant it.

    Where a chain of shorter periods stands for windows, the promise is kept and some wishes are refused that could be
    granted.

    >>> grants_all(Promise({"a": "1/2", "b": "1/4"})), grants_all(Promise({"c": "1/4"}, windows={"a": 3, "b": 4}))
    (True, False)
    """
    if not promise.windows:
        return True
    nested = any(len(members) > 1 for members, _ in promise.windows)
    if promise.plays > 1 and any(plays > len(members) for members, (plays, _) in promise.windows):
        return False
    owed = {arm for clause in promise.clauses if clause.kind == "floor" for arm in clause.arms}
    if any(owed & set(members) for members, _ in promise.windows):  # one play may then serve both
        return False
    varied, alone = promise.offers != "all", len(promise.clauses) == len(promise.windows)
    if not varied and alone and not nested and promise.plays == 1:
        return True
    return not nested and all(token.window == token.period or varied for token in tokens_of(promise))
