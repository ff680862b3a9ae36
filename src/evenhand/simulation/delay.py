"""Rewards that come late in a simulation: after so many rounds, drawn for each round, and then told with their tickets,
or forgotten if they are among those that are missing.

A reward with delay d of a decision in round t is told at the end of round t + d, before the next decision; those that
fall due together are told in the order of their decisions. Delays have a random stream of their own, the same for all
policies of a replication. What is on its way stands in rings with a place for each of the last rounds, as many as the
largest delay: a geometric one is drawn from a number of 53 bits, so it has a largest value too, 37 times its mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenhand.arguments import as_whole_numbers, is_whole, real
from evenhand.errors import ArgumentError, expected
from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.kernels.compose import OPEN, kernel
from evenhand.kernels.random import uniform
from evenhand.policy.kernel_set import RewardContext
from evenhand.rng import child, stream

LONGEST = 10**6
"""The longest delay that is taken, in rounds."""
BITS = 53


@dataclass(frozen=True)
class Delay:
    """How late rewards come: as in a log, drawn with replacement, or by a geometric law of this mean; and with which
    probability a decision never has its reward."""

    logged: tuple[int, ...] = (0,)
    mean: float = 0.0
    missing: float = 0.0

    @property
    def largest(self) -> int:
        """The largest delay that can be drawn."""
        return int(BITS * math.log(2.0) / math.log1p(1.0 / self.mean)) + 1 if self.mean else max(self.logged)

    def __str__(self) -> str:
        if self.mean:
            return f"geometric, mean {self.mean:g}"
        return str(self.logged[0]) if len(self.logged) == 1 else f"one of {len(self.logged)} logged delays"

    def pending(self, seed: int, rounds: int, plays: int, shown: Floats) -> Pending:
        """Return the rings before the first round, for `plays` arms a round and contexts like `shown`."""
        places = min(self.largest, rounds) + 1
        return Pending(
            math.log1p(1.0 / self.mean) if self.mean else 0.0,
            self.missing,
            np.array(self.logged, np.int64),
            stream(child(seed, 1)),
            np.full((2, places), -1, np.int64),
            np.full(places, -1, np.int64),
            np.zeros(places, np.int64),
            np.zeros(places, np.int64),
            np.zeros((places, plays), np.int64),
            np.zeros((places, plays)),
            np.zeros((places, plays)),
            np.zeros((places, *shown.shape)),
        )


def read_delay(given: object, missing: float = 0.0) -> Delay | None:
    """Read what users write: None or 0, a number of rounds, ("geometric", mean), or a sequence of logged delays; and
    the probability of a missing reward.

    Raises
    ------
    ArgumentError
        If it is none of these, a delay is negative or above a million rounds, or every reward would be missing.
    """
    lost = real("missing", missing, low=0.0, below=1.0)
    what = f'a number of rounds from 0 to {LONGEST:,}, a list of them, or ("geometric", mean)'
    given = 0 if given is None else given
    if isinstance(given, (tuple, list)) and len(given) == 2 and isinstance(given[0], str):
        if given[0] != "geometric":
            raise ArgumentError(expected("delay", what, given))
        delay = Delay(mean=real("delay", given[1], above=0.0, high=LONGEST), missing=lost)
        if delay.largest > LONGEST:
            raise ArgumentError(expected("delay", "a mean of at most 27,000 rounds", given[1]))
        return delay
    found = as_whole_numbers([given] if is_whole(given) else given)
    if found is None or not found.size:
        raise ArgumentError(expected("delay", what, given))
    if found.min() < 0 or found.max() > LONGEST:
        raise ArgumentError(expected("delay", what, int(found.min() if found.min() < 0 else found.max())))
    return Delay(tuple(found.tolist()), missing=lost) if found.max() > 0 or lost else None


class Pending(NamedTuple):
    """What is on its way; the place of round t in each ring is t % places."""

    rate: float
    """ln(1 + 1 / mean), 0 where delays are logged."""
    missing: float
    logged: Ints
    stream: Words
    ends: Ints
    """(2, places): the first and the last decision to be told in each round to come, -1 for none."""
    links: Ints
    """(places,): the decision that is told next in the same round."""
    rounds: Ints
    counts: Ints
    """(places,): how many rewards of the decision are on their way."""
    arms: Ints
    """(places, plays), as the next two."""
    rewards: Floats
    chances: Floats
    contexts: Floats


update = OPEN


@kernel
def wait(pending: Pending) -> int:
    """Draw a delay."""
    u = uniform(pending.stream)
    if pending.rate > 0.0:
        # u may be 0 but never 1: the logarithm of u itself would be infinite once in 2**53 draws.
        return int(-math.log(1.0 - u) / pending.rate)
    return pending.logged[int(u * pending.logged.size)]


@kernel
def lose(pending: Pending) -> bool:
    """Draw whether the reward is missing."""
    return pending.missing > 0.0 and uniform(pending.stream) < pending.missing


@kernel
def learn_at_once(
    pending: object,
    waiting: Ints,
    params: object,
    state: object,
    contexts: Floats,
    arm: int,
    reward: float,
    ticket: RewardContext,
) -> None:
    """Tell the policy a reward in the round in which it was earned."""
    update(params, state, contexts, arm, reward, ticket)


@kernel
def nothing_due(pending: object, waiting: Ints, params: object, state: object, round: int) -> None:
    """Stand for `tell_due` where no reward is late."""


@kernel
def learn_later(
    pending: Pending,
    waiting: Ints,
    params: object,
    state: object,
    contexts: Floats,
    arm: int,
    reward: float,
    ticket: RewardContext,
) -> None:
    """Keep a reward until it is due; all those of a round are due together, or missing together, which nan says."""
    places = pending.links.size
    place = ticket.round % places
    n = pending.counts[place]
    if n == 0:
        pending.rounds[place] = ticket.round
        for i in range(contexts.shape[0]):
            for j in range(contexts.shape[1]):
                pending.contexts[place, i, j] = contexts[i, j]
        # A delay longer than the ring would come around and be told too early; cut, it falls due after the last round.
        due = (ticket.round + min(wait(pending), places - 1)) % places
        if pending.ends[0, due] < 0:
            pending.ends[0, due] = place
        else:
            pending.links[pending.ends[1, due]] = place
        pending.ends[1, due] = place
        pending.links[place] = -1
        missing = lose(pending)
    else:
        missing = math.isnan(pending.rewards[place, 0])
    if missing:
        reward = math.nan
    pending.arms[place, n], pending.rewards[place, n], pending.chances[place, n] = arm, reward, ticket.probability
    pending.counts[place] = n + 1
    waiting[arm] += 1


@kernel
def tell_due(pending: Pending, waiting: Ints, params: object, state: object, round: int) -> None:
    """Tell the policy what is due at the end of this round; a missing reward is waited for until then."""
    due = round % pending.links.size
    place = pending.ends[0, due]
    while place >= 0:
        for n in range(pending.counts[place]):
            arm, reward = pending.arms[place, n], pending.rewards[place, n]
            if not math.isnan(reward):
                ticket = RewardContext(pending.rounds[place], pending.chances[place, n])
                update(params, state, pending.contexts[place], arm, reward, ticket)
            waiting[arm] -= 1
        pending.counts[place] = 0
        place = pending.links[place]
    pending.ends[0, due] = -1
