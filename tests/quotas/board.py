"""A policy's compiled rule laid open, and the walk through all conversations that learners may lead it into."""

import warnings
from functools import lru_cache

import numpy as np

from tests.reference import quotas as slow


def quietly(cls, *arguments, **settings):
    """Build a policy whose shares may leave an arm nothing; that it warns is tested elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return cls(*arguments, **settings)


class Board:
    """The compiled rule of a policy around a foreign learner, with its arrays laid open to be copied and put back."""

    def __init__(self, policy):
        self.policy, self.arrays = policy, policy.engine.calls.arrays
        self.state = [array for array in self.arrays if isinstance(array, np.ndarray)]

    def forced(self, t):
        return self.policy.engine.calls.must_play(t, self.arrays)

    def settled(self, t, proposal):
        return self.policy.engine.calls.resolve(t, proposal, self.arrays)

    def copy(self):
        return [array.copy() for array in self.state]

    def put_back(self, saved):
        for mine, old in zip(self.state, saved, strict=True):
            mine[...] = old


def every_conversation(policy, rounds, seen):
    """Walk all proposals of all learners; `seen(t, pulls, proposal, forced, arm)` before each pull. Return how many
    pulls."""
    board, arms = Board(policy), len(policy.promise.arms)
    shares, tolerance = policy.promise.shares, policy.promise.tolerance
    kept = lru_cache(None)(lambda pulls, t: slow.kept(shares, tolerance, pulls, t))
    walked = 0

    def walk(t, pulls):
        nonlocal walked
        before = board.copy()
        forced = board.forced(t)
        asked = board.copy()
        for proposal in range(arms) if forced < 0 else [forced]:
            board.put_back(asked)
            arm = board.settled(t, proposal)
            seen(t, pulls, proposal, forced, arm)
            after = tuple(n + (i == arm) for i, n in enumerate(pulls))
            walked += 1
            assert kept(after, t), f"broken at t = {t}, pulls {after}, shares {shares}, tolerance {tolerance}"
            if t < rounds:
                walk(t + 1, after)
        board.put_back(before)

    walk(1, (0,) * arms)
    return walked
