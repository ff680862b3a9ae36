"""What is counted of a promise: its clauses as arrays, and the running counts of each."""

from __future__ import annotations

from typing import NamedTuple

from evenhand.kernels.arrays import Bools, Floats, Ints


class ClauseRates(NamedTuple):
    """What is promised, an entry for each clause (n_clauses,)."""

    kinds: Ints
    shares: Floats
    """r of a floor, to say r A - N by; 0 for others."""
    numerators: Ints
    denominators: Ints
    steps: Ints
    remainders: Ints
    """p, q, q // p and q % p."""
    plays: Ints
    lengths: Ints
    """n and w of a window; a or b of a floor or a cap."""
    live: Bools
    """Whether it is promised now."""
    first: Ints
    owners: Ints
    """Whose plays count: arm a is among the members of the clauses owners[first[a]] .. owners[first[a + 1] - 1]."""


class Counts(NamedTuple):
    """The running counts and what they show: of each key (n_keys,), then of each key and clause (n_keys * n_clauses,),
    then of all."""

    tick: Ints
    next: Ints
    """No number changes before this tick but by a play."""
    wrong: Ints
    """How many clauses are broken."""
    round: Ints
    """The round of the last tick."""
    total: Ints
    """The weight of all ticks, 0 where rounds have none."""
    plays: Ints
    whole: Ints
    rest: Ints
    missed: Ints
    since: Ints
    """The tick from which on it is broken."""
    over: Ints
    """The tick from which on it was not broken any more."""
    idle: Ints
    away: Ints
    """Ticks of the key that were none of the clause, and their weight."""
    paused: Ints
    """The last of these ticks, and the round of the clause's own last tick before it."""
    before: Ints
    recent: Ints
    """(n_keys * n_clauses, most): the ticks of a window's last plays, in a ring."""
    begun: Ints
    """The round of the first tick."""
    times: Ints
    """After how many of its rounds it was broken, the first of them and by how much, the worst and by how much."""
    first: Ints
    first_by: Ints
    most_at: Ints
    most: Ints
    stretches: Ints
    """How many times it began to be broken, and the last round after which it was."""
    last: Ints
    worst: Floats
    """The largest r A - N, and the round at whose end it was first reached."""
    worst_at: Ints
    clock: Ints
    """The ticks, or their weight, when it was closed."""
    offered: Ints
    """(n_clauses,): the last round that offered one of its arms."""
    broken: Ints
    """(5,): rounds after which one that ticked was broken; whether the last round was such a one; in how many stretches
    they lie, and the last of them; whether one is broken now, ticked or not."""
