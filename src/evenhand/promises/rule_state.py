"""What the kernels of a promise work on: what never changes, and what a round changes."""

from __future__ import annotations

from typing import Any, NamedTuple

from evenhand.kernels.arrays import Bools, Floats, Ints, Words


class RuleParams(NamedTuple):
    numerators: Ints
    """Of all owners: the arms, then the sets, the smaller before the larger."""
    steps: Ints
    remainders: Ints
    denominator: int
    horizon: int
    """After so many rounds beyond the last first deadline a look has seen everything."""
    farthest: int
    """How many deadlines a look walks; the compiler would make slower code of a constant."""
    parents: Ints
    """(n_owners,): the smallest set around each owner, -1 where there is none."""
    cap_numerators: Ints
    cap_steps: Ints
    cap_remainders: Ints
    capped_slates: int
    """Where several arms are played in a round and some have caps, after how many rounds beyond the last first deadline
    a look at the caps has seen everything; else 0."""
    sizes: Ints
    """(n_owners,): how many arms each is."""
    token_owners: Ints
    windows: Ints
    periods: Ints
    safe: Bools
    """For every combination of times left whether it is safe; empty where there is no such table."""
    phases: Ints
    """(n_phases, n_tokens): within how many rounds each token comes from each round of a schedule on; empty where the
    table or the periods decide."""
    floor: float
    """Of a lottery, with which part of its rate every owner is drawn at least; 0 without one."""
    soft_rounds: Floats
    """(n_arms,): within how many rounds of its cap each arm is left out of the learner's part of a lottery now and
    then, 0 where it never is; empty where caps are hard."""
    rates: Floats
    """(n_owners,): their shares as numbers."""
    rho: Floats
    """(n_owners,): the largest of share, window and what the children need."""
    learner: Any


class RuleState(NamedTuple):
    pulls: Ints
    whole: Ints
    """whole + rest/R is when the owner's next play falls due; rounded up it is the deadline."""
    rest: Ints
    cap_whole: Ints
    """cap_whole + cap_rest/C is the last round in which the arm's plays so far reach its cap."""
    cap_rest: Ints
    gone: Ints
    """(n_arms,): in how many rounds each was not on offer, where arms catch up that were away."""
    left: Ints
    """(n_tokens,): within how many rounds on its owner's clock a token must be served."""
    offered: Ints
    """(n_arms,): 1 for an arm that is on offer in this round, else 0."""
    ticks: Ints
    """(n_owners,): 1 for an owner with an arm on offer in this round, else 0."""
    scores: Floats
    """(n_arms,): the learner's ranking, the highest first; -inf for an arm that it does not rank."""
    chosen: Ints
    """(plays,): the slate that is looked at or was played, -1 where it has fewer arms."""
    spare: Ints
    """(1,): a lower bound of what is left over at any round to come."""
    tight: Ints
    """(plays,): the first rounds by which ever fewer plays are left over than a round has, 0 beyond the last."""
    loose: Ints
    """(plays,): how many are left over by each of them."""
    before: Ints
    """(1,): a lower bound of what is left over by any round before them."""
    tight_due: Ints
    """(plays, n_arms): plays that are due of each arm by them."""
    refused: Ints
    """(n_arms,): where there are sets, the round until which the arm may not be played."""
    open: Ints
    """(n_arms,): 1 for an arm that may be played as far as is known in this round."""
    due: Ints
    """(n_owners,): plays of its own that are due so far in a look ahead."""
    below: Ints
    """(n_owners,): what its children need so far in a look ahead."""
    within: Ints
    """(n_owners,): how many plays the caps of its arms allow so far in a look ahead; of a lottery, which arms are heard
    in the learner's part."""
    ahead_whole: Ints
    ahead_rest: Ints
    coming: Ints
    """(n_tokens,): when each token must be served next, in a look ahead."""
    cap_ahead_whole: Ints
    cap_ahead_rest: Ints
    room: Ints
    """(n_arms,): how often the cap allows each arm so far in a look ahead."""
    lots: Floats
    """(n_arms,): of a lottery, the part of each arm's chance that no proposal of the learner decides."""
    chances: Floats
    """(n_arms,): with which probability each arm was drawn, or was among those that were."""
    inclusions: Floats
    """(n_arms,): how likely a slate is to hold each arm before it is exchanged for one that may be played; of one play
    with soft caps, how likely each arm is to be left out of the learner's part."""
    ranks: Ints
    masses: Floats
    """(n_owners,): what of a floor is an owner's own; scratch beyond that."""
    extras: Floats
    """(n_owners,): the same of tickets."""
    slate_chance: Floats
    """(1,): of several plays, the probability of just this slate."""
    stream: Words
    learner: Any
