"""Policies made ready ahead: the first decision of a process takes as long as any other."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from evenhand.errors import EvenhandError
from evenhand.policy.kernel_policy import KernelPolicy

DECISIONS = 30
"""Decisions after which Python no longer speeds up the code that takes them."""


def compile_ahead(policy: KernelPolicy) -> None:
    """Compile a policy's decisions now, or load them from disk, and rehearse some on a copy; otherwise they are plain
    Python until compiling pays.

    Raises
    ------
    ArgumentError
        If the policy does not know its arms, or the dimension of its contexts, yet.

    Examples
    --------
    >>> from evenhand.learners import UCB1
    >>> policy = UCB1(arms=["a", "b"])
    >>> compile_ahead(policy)
    >>> policy.ask().round
    1
    """
    with policy._lock:
        policy.engine.compile()
        if not policy._traits.compiled:
            return
        policy.engine.inputs()  # it looks up by itself what a copy does not hand back
        twin, size = policy._twin(), policy.dimension or 0
        with suppress(EvenhandError):  # a reward of 1 may lie outside the policy's range
            for _ in range(DECISIONS):
                decision = twin.ask(np.zeros((len(twin.arms or ()), size)) if size else None)
                twin.tell(decision, dict.fromkeys(decision.arms, 1.0) if twin.engine.plays > 1 else 1.0)
