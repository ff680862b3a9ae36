"""The slow, obvious twin of floors and caps while arms come and go, one play a round: what may be played, and which
rounds are excused, counted from A, the rounds in which an arm was on offer, N, its plays, and X, those of them that its
cap does not count."""

import itertools
import math
from typing import NamedTuple


class Outages(NamedTuple):
    """Shares, caps (1 for none) and whole tolerances; a state is (A, N, X) of each arm."""

    shares: tuple
    caps: tuple
    slack: int = 0
    ahead: int = 0

    @property
    def start(self):
        return ((0, 0, 0),) * len(self.shares)

    @property
    def offers(self):
        arms = range(len(self.shares))
        return [offer for n in range(1, len(arms) + 1) for offer in itertools.combinations(arms, n)]

    def with_room(self, state, offer):
        """The arms on offer that could be played without breaking their caps."""
        of = [(arm, *state[arm]) for arm in offer]
        return [arm for arm, a, n, x in of if n - x + 1 <= math.ceil(self.caps[arm] * (a + 1)) + self.ahead]

    def after(self, state, offer, arm):
        excused = not self.with_room(state, offer)
        return tuple(
            (a + (i in offer), n + (i == arm), x + (i == arm and excused)) for i, (a, n, x) in enumerate(state)
        )

    def can_be_kept(self, state, rounds=60):
        """Whether the floors can be, if from now on every arm is on offer for at most so many rounds."""
        owed = list(zip(self.shares, state, strict=True))
        return all(
            sum(max(0, math.floor(r * (a + s)) - self.slack - n) for r, (a, n, _) in owed) <= s for s in range(rounds)
        )

    def may_play(self, state, offer):
        """The arms that may be played: those with room, or where there are none all, that leave the floors possible."""
        open_arms = self.with_room(state, offer) or offer
        return [arm for arm in open_arms if self.can_be_kept(self.after(state, offer, arm))]

    def is_kept(self, state):
        of = zip(self.shares, self.caps, state, strict=True)
        return all(
            math.floor(r * a) - self.slack <= n and n - x <= math.ceil(c * a) + self.ahead for r, c, (a, n, x) in of
        )
