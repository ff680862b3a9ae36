"""What a promise of minimum shares costs while UCB1 learns under DeadlineLearn: a bound on the expected r-regret.

Let k arms pay independent rewards in [0, 1], arm i with mean mu_i and gap Delta_i = max mu - mu_i. Let F_i(T) = max(0,
floor(r_i T) - floor(alpha)) be the plays that are owed, n_+ the number of arms with a share, and the r-regret the sum
of Delta_i (N_i(T) - F_i(T)).

Lemma. Under DeadlineLearn, for every learner, N_i(T) is at most F_i(T) + e_i and the wishes for i that were granted
since the last time i was forced, with sum_i e_i <= n_+ - 1.

Proof. A wish is refused after t rounds only if some s > t is tight: sum_i (F_i(s) - N_i)^+ = s - t, all plays up to s
are due by then. It stays tight until it is reached. An arm that is forced is due by s, so N_i <= F_i(s) after its play.
If s <= T for its last forced play, that is at most F_i(T). Otherwise T lies in a tight stretch, and what the forced
arms have beyond F_i(T) is at most sum_i [F_i(s) - F_i(T) - (F_i(s) - N_i)^+] = sum_i [F_i(s) - F_i(T)] - (s - T). As
F_i(s) - F_i(T) < r_i (s - T) + 1 for each of the n_+ arms with a share, and the shares sum to at most 1, this is a
whole number below n_+. QED.

Theorem 1. For UCB1, with the index mean + sqrt(2 ln t / N_i),

    E r-regret(T) <= sum_i Delta_i [(u_i - F_i(T))^+ + c_i] + (n_+ - 1) max_i Delta_i,

where for each suboptimal arm one may take either

    u_i = ceil(8 ln T / Delta_i^2),             c_i = 2 zeta(3),   or, for any d between 0 and Delta_i,
    u_i = ceil(2 ln T / (Delta_i - d)^2),       c_i = zeta(3) + exp(-2 u_i d^2) / (1 - exp(-2 d^2)).

Proof. If a wish for i is granted in round t while N_i >= u_i, then the index of the best arm is below its mean, or the
mean seen of i is above mu_i by Delta_i / 2 (by d). By Hoeffding's inequality the first has at most the probability
t^(-4) for each of the at most t counts of the best arm, t^(-3) for all, and these sum to zeta(3). So does the second
with Delta_i / 2, as its count is at least 8 ln t / Delta_i^2. With d it has at most the probability exp(-2 n d^2) for
the wish that is granted at count n, and these sum to the fraction over all n >= u_i. So c_i bounds the number of such
wishes, whatever the rule refuses. The last play of i before them was a granted wish, and N_i <= u_i, or forced, and the
lemma holds. QED.

Corollary: learning costs nothing in the end. If every suboptimal arm has a share, then almost surely the r-regret is at
most (n_+ - 1) max_i Delta_i from some round on, and what its expectation has beyond sum_i Delta_i e_i tends to 0. This
end effect comes from deadlines that fall together, and who knows the means may have to pay it too.

Proof. Call a wish for i wrong that is granted in round t while N_i >= 8 ln t / Delta_i^2. It has at most the
probability 2 t^(-3), so almost surely there is a last one. From then on N_i(T) is at most the largest of what it was
after that, 8 ln T / Delta_i^2 + 1 and F_i(T) + e_i; the last of these grows linearly and is the largest in the end.
Before, N_i(T) - F_i(T) - e_i is at most 8 ln T / Delta_i^2 + 1 - F_i(T), which is bounded, and the number of wrong
wishes, of which 2 zeta(3) are expected; so the expectation tends to 0 as well, by dominated convergence. QED.

Theorem 2. Where an arm has no share and the shares sum to less than 1, its r-regret grows as ln T at least, for every
policy that keeps the promise and whose r-regret is below every power of T on all instances: the constant is that of T.
L. Lai, H. Robbins (1985), Delta_i / kl(mu_i, max mu).

Proof. Let S = T - sum_i F_i(T), and let nu' differ from nu in that arm i pays mu_* + lambda. If N_i - F_i > S / 2, the
r-regret in nu is at least Delta_i S / 2, and otherwise that in nu' is at least lambda S / 2. By the inequality of
Bretagnolle and Huber these events cannot both be rare, Reg + Reg' >= min(Delta_i, lambda) S / 4 exp(-E N_i(T) kl(mu_i,
mu_* + lambda)), so that E N_i(T) is at least ln(S) / kl less what is of smaller order; let lambda go to 0. QED.

Theorem 3. Let a learner's refused choice be held until it can be granted, and let the learner be told about its granted
choices alone. With independent rewards it then lives through an ordinary run of at most T rounds, and

    E r-regret(T) <= regret of the learner alone after at most T rounds + (n_+ - 1) max_i Delta_i.

Proof. The granted choices, in their order, are those that it would make alone, with rewards of the same distribution.
All plays beyond these are forced, of which those of i number at most F_i(T) + e_i, by the lemma. QED.

These theorems are ours; that of UCB1 alone is P. Auer, N. Cesa-Bianchi, P. Fischer (2002), Theorem 1, and a bound with
equal shares at most 1/k stands in V. Patil, G. Ghalme, V. Nair, Y. Narahari (2021), Theorem 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.arguments import as_whole_numbers, is_whole
from evenhand.errors import ArgumentError, SharesError, Wording, expected
from evenhand.kernels.arrays import Floats, Ints
from evenhand.labels import Labels
from evenhand.promises.clause import in_words
from evenhand.promises.promise import Promise
from evenhand.quotas.price import check_promise
from evenhand.quotas.worlds import BernoulliArms

ZETA_3 = 1.2020569031595942
"""The sum of 1 / t^3 over all t >= 1."""
PARTS = np.linspace(0.02, 0.98, 97)
"""The parts of a gap that are tried as d."""


def regret_bound(promise: Promise, means: object, rounds: object) -> Any:
    r"""Return a bound on the expected r-regret of DeadlineLearn over UCB1: on the expected reward that is lost against
    the best that keeps the promise and knows the means: a number for one T, an array (n_rounds,) for several.

    This is the smaller of both forms of Theorem 1 for each arm, and never more than the largest gap in each round that
    is not owed.

    Parameters
    ----------
    promise : shares of single arms, one play a round.
    means : mu_i in [0, 1] for each arm: a list, or a dict arm -> mean.
    rounds : T, or a list of several (n_rounds,).

    Raises
    ------
    SharesError
        If the promise has caps, windows, shares of sets or several plays a round, for which no bound is known.
    ArgumentError
        If there is not one mean in [0, 1] for each arm, or a T is not a whole number >= 1.

    Examples
    --------
    >>> shares = Promise({"a": 0, "b": 0.1, "c": 0.1})
    >>> regret_bound(shares, {"a": 0.9, "b": 0.7, "c": 0.7}, [100, 1000, 100_000]).round(1).tolist()
    [16.0, 160.0, 0.7]

    Source: the theorems at the head of `evenhand.quotas.regret_bound`.
    """
    check_promise(promise)
    odd = [clause for clause in promise.clauses if clause.kind != "floor" or len(clause.arms) > 1]
    if odd or promise.plays > 1:
        got = Wording("; ".join(in_words(odd)) or f"{promise.plays} plays a round")
        raise SharesError(expected("promise", "shares of single arms alone, one play a round", got))
    given = Labels(promise.arms).read(means, "means", "a probability for each arm: a list, or a dict arm -> mean")
    listed: list[Any] = given if isinstance(given, list) else [given.get(arm) for arm in promise.arms]
    if len(listed) != len(promise.arms) or (isinstance(given, dict) and len(given) > len(listed)):
        raise ArgumentError(expected("means", Wording("one for each of the arms ", list(promise.arms)), means))
    world = BernoulliArms(dict(zip(promise.arms, listed, strict=True)))
    whole = as_whole_numbers([rounds] if is_whole(rounds) else rounds)
    if whole is None or (whole < 1).any():
        raise ArgumentError(expected("rounds", "a whole number >= 1, or a list of them", rounds))
    found = np.array([_bound(promise, world.means.max() - world.means, int(t)) for t in whole])
    return float(found[0]) if is_whole(rounds) else found


def _bound(promise: Promise, gaps: Floats, rounds: int) -> float:
    owed: Ints = np.array(promise.owed(rounds))
    shared, largest, log = sum(share > 0 for share in promise.shares), gaps.max(), np.log(rounds)
    lost = max(0, shared - 1) * largest
    for gap, plays in zip(gaps[gaps > 0], owed[gaps > 0], strict=True):
        d = PARTS * gap
        enough = np.ceil(2 * log / (gap - d) ** 2)
        later = ZETA_3 + np.exp(-2 * enough * d**2) / -np.expm1(-2 * d**2)
        plain = max(np.ceil(8 * log / gap**2) - plays, 0) + 2 * ZETA_3
        lost += gap * min(plain, (np.maximum(enough - plays, 0) + later).min())
    return float(min(lost, largest * (rounds - owed.sum())))
