"""States of the forms that the rule of a promise once had, in the arrays of today's."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.kernels.arrays import Ints
from evenhand.promises.rule import NO_STREAM, RuleState
from evenhand.saving.saved import refused

__all__ = ["as_now"]

LOOK = ("due", "below", "within", "ahead_whole", "ahead_rest", "coming", "cap_ahead_whole", "cap_ahead_rest", "room")
DRAW = ("lots", "chances", "wishes", "ranks", "masses", "extras", "slate_chance", "stream")
BOOKS = ("pulls", "whole", "rest", "cap_whole", "cap_rest", "left", "offered", "ticks", "scores", "chosen", "spare")
COMPOSED = (*BOOKS, "open", *LOOK, *DRAW)
RANKED = ("pulls", "whole", "rest", "offered", "scores", "chosen", "spare", "cap_whole", "cap_rest", "order", "room")
NESTED = ("pulls", "whole", "rest", "scores", "chosen", "spare", "due", "below", "refused", "ahead_whole", "ahead_rest")


def as_now(snapshot: dict[str, Any]) -> dict[str, Any]:
    """Return a snapshot of DeadlineLearn with its state in the arrays that the rule has now."""
    state = snapshot["state"]
    if snapshot.get("composed") is True:
        names: tuple[str, ...] = COMPOSED
    elif snapshot.get("ranked") is True:
        names = (*RANKED, "ahead_whole", "ahead_rest")
    elif len(state) > 3 and getattr(state[3], "dtype", None) == np.float64:
        names = NESTED
    else:  # of single floors alone
        return snapshot
    own = state[: len(names)]
    if len(own) < len(names) or not all(isinstance(array, np.ndarray) and array.ndim == 1 for array in own):
        raise refused("state", f"{len(names)} arrays", state)
    saved = dict(zip(names, own, strict=True))
    now = _fresh(saved["pulls"].size, saved["whole"].size, saved["chosen"].size) | saved
    arms = saved["pulls"].size
    if now["refused"][arms:].any():  # the earliest noted something else
        now["refused"] = np.zeros(arms, np.int64)
    now["refused"] = now["refused"][:arms]
    return snapshot | {"state": [*(now[name] for name in RuleState._fields[:-1]), *state[len(names) :]]}


def _fresh(arms: int, owners: int, plays: int) -> dict[str, Any]:
    """Return what an older form did not hold, as it is before the first round."""

    def of_arms() -> Ints:
        return np.zeros(arms, np.int64)

    found: dict[str, Any] = {name: of_arms() for name in ("cap_rest", "open", "refused", "ranks", *LOOK)}
    found |= {name: np.zeros(arms) for name in ("lots", "chances", "wishes")}
    found |= {name: np.zeros(owners) for name in ("masses", "extras")}
    found |= {name: np.zeros(owners, np.int64) for name in ("due", "below", "within", "ahead_whole", "ahead_rest")}
    found |= {name: np.zeros(plays, np.int64) for name in ("tight", "loose")}
    found |= {name: np.zeros(0, np.int64) for name in ("left", "coming")}
    found |= {"cap_whole": of_arms() - 1, "offered": of_arms() + 1, "ticks": np.ones(owners, np.int64)}
    found |= {"before": np.zeros(1, np.int64), "tight_due": np.zeros((plays, arms), np.int64)}
    return found | {"slate_chance": np.ones(1), "stream": NO_STREAM}
