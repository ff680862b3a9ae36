"""The plays of the best that keeps a promise.

By the end of round t, where every arm was on offer in each, the best counts solve the linear programme

    max sum_i mu_i N_i   with   sum_i N_i = m t,   0 <= N_i <= t,
                                N_Q >= max(0, floor(r_Q t) - alpha)   for each share, of an arm or a set Q of arms,
                                N_Q >= n floor(t / w)                 for each window of n plays in any w rounds,
                                N_i <= ceil(c_i t) + beta             for each cap.

Theorem. Where of any two sets one contains the other or they share no arm, this is optimal: give each arm its least;
then, for every set, the smaller before the larger, and at last for all arms together, give what is still owed to the
best of its arms that have room.

Proof. Let x be optimal and no less than the plays y given so far, and let the set Q be owed one more, which goes to its
best arm i with room. If x_i > y_i, x is no less than the new y. Otherwise x_i = y_i is below its limit, and as x keeps
what Q is owed, x_j > y_j for some arm j of Q, which is no better than i. Move one play of x from j to i. A set that
holds both has as many as before; one that holds j alone lies inside Q and was served before, so it has at least what y
gives it, which is enough. What x earns has not fallen. QED.

Ties go to the arm that is named first, so that the counts change by no more than the limits do. They are exact where
the limits are: whole numbers in arrays of objects, or in floats below 2^53.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.kernels.arrays import Floats
from evenhand.promises.clause import AT_MOST, Clause
from evenhand.protocol import Label


def limit_of(clause: Clause, rounds: NDArray[Any], slack: float) -> NDArray[Any]:
    """Return the least plays that a clause asks for by the end of these rounds, of a cap the most (n_rounds,).

    Parameters
    ----------
    rounds : whole numbers, as objects (n_rounds,): as floats 0.29 * 100 is below 29, and a play that is owed would be
        lost to rounding.
    slack : alpha or beta, by how many plays a floor may be behind or a cap ahead.
    """
    if isinstance(clause.rate, tuple):
        plays, length = clause.rate
        return np.asarray(plays * (rounds // length))
    above, below = clause.rate.numerator, clause.rate.denominator
    if clause.kind in AT_MOST:
        return np.asarray(-(-above * rounds // below) + slack)
    return np.asarray(np.maximum(0, above * rounds // below - slack))


def best_counts(
    worth: Floats,
    arms: Sequence[Label],
    clauses: Sequence[Clause],
    limits: NDArray[Any],
    rounds: NDArray[Any],
    plays: int = 1,
) -> NDArray[Any]:
    """Return the counts of the best that keeps the clauses (n_rounds, n_arms), NaN where no counts keep them.

    Parameters
    ----------
    worth : the mean reward of each arm (n_arms,), or anything that falls with its loss; or that in each of the rounds
        (n_rounds, n_arms).
    limits : what each clause asks for, as `limit_of` returns it (n_rounds, n_clauses).
    rounds : t, numbers of the kind of the limits (n_rounds,).

    Examples
    --------
    >>> from fractions import Fraction
    >>> cap, share = Clause("cap", ("a",), Fraction(1, 2)), Clause("floor", ("c",), Fraction(1, 10))
    >>> limits = np.array([[50, 10]])
    >>> best_counts(np.array([0.9, 0.5, 0.4]), "abc", [cap, share], limits, np.array([100])).tolist()
    [[50, 40, 10]]
    """
    place = {arm: i for i, arm in enumerate(arms)}
    most = np.repeat(rounds[:, None], len(arms), axis=1)
    counts = np.zeros_like(most)
    owed: list[tuple[Sequence[int], NDArray[Any]]] = []
    for clause, limit in zip(clauses, limits.T, strict=True):
        places = [place[arm] for arm in clause.arms]
        if clause.kind in AT_MOST:
            most[:, places[0]] = np.minimum(most[:, places[0]], limit)
        elif len(places) == 1:
            counts[:, places[0]] = np.maximum(counts[:, places[0]], limit)
        else:
            owed.append((places, limit))
    kept = (counts <= most).all(axis=1)
    worth, every = np.broadcast_to(worth, most.shape), np.arange(len(rounds))
    for members, limit in [*sorted(owed, key=lambda one: len(one[0])), (range(len(arms)), plays * rounds)]:
        inside = np.array(members)
        left = limit - counts[:, inside].sum(axis=1)
        for best in inside[np.argsort(-worth[:, inside], axis=1, kind="stable")].T:
            more = np.minimum(np.maximum(left, 0), most[every, best] - counts[every, best])
            counts[every, best] += more
            left = left - more
        kept &= left <= 0
    kept &= left == 0
    return counts if kept.all() else np.where(kept[:, None], counts, np.nan)
