"""A policy's decisions are compiled before the first, where that must take no longer than any other."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from evenhand.errors import EvenhandError
from evenhand.policy.kernel_policy import KernelPolicy


def compile_policy(policy: KernelPolicy) -> None:
    """Compile a policy's decisions, or load them from disk, and rehearse one on a copy; otherwise they are plain Python
    until compiling pays.

    Raises
    ------
    ArgumentError
        If the policy does not know its arms, or the dimension of its contexts, yet.

    Examples
    --------
    >>> from evenhand.learners import UCB1
    >>> policy = UCB1(arms=["a", "b"])
    >>> compile_policy(policy)
    >>> policy.ask().round
    1
    """
    policy.engine.compile()
    if policy._traits.compiled:
        twin, size = policy._twin(), policy.dimension or 0
        with suppress(EvenhandError):  # a promise may need to know what is on offer
            decision = twin.ask(np.zeros((len(twin._labels), size)) if size else None)
            twin.tell(decision, dict.fromkeys(decision.arms, 1.0) if twin.engine.plays > 1 else 1.0)
