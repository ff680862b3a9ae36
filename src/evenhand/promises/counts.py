"""The arrays that the books are kept in."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from evenhand.kernels.arrays import Bools, Floats, Ints


class Rates(NamedTuple):
    """What is promised, an entry for each clause (n_clauses,)."""

    kinds: Ints
    shares: Floats
    """r of a floor, to say r A - N by; 0 for others."""
    numerators: Ints
    steps: Ints
    remainders: Ints
    """p, q // p and q % p."""
    plays: Ints
    lengths: Ints
    """n and w of a window; b of a cap of 0."""
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
    plays: Ints
    whole: Ints
    rest: Ints
    missed: Ints
    since: Ints
    """The tick from which on it is broken."""
    idle: Ints
    """Ticks of the key that were none of the clause."""
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
    worst: Floats
    """The largest r A - N, and the round at whose end it was first reached."""
    worst_at: Ints
    clock: Ints
    """The ticks when it was closed."""
    offered: Ints
    """(n_clauses,): the last round that offered one of its arms."""
    broken: Ints
    """(2,): rounds after which one that ticked was broken; whether the last round was such a one."""


class Rounds(NamedTuple):
    """Rounds that follow one another."""

    codes: NDArray[Any]
    """(n_plays,): what stands for the arms that were played."""
    arms: Ints
    """The arm that each code stands for, -1 for none."""
    starts: Ints
    """(n_rounds + 1,): where each round's plays begin; empty where each round has one."""
    keys: Ints
    """(n_rounds,): the key of each; empty where all have the first."""
    offers: Bools
    """(n_rounds, n_arms): what was on offer; without rows where everything was."""

    @property
    def size(self) -> int:
        """How many they are."""
        return len(self.starts) - 1 if len(self.starts) else len(self.codes)
