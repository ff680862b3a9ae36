"""What a learner from elsewhere proposes under a quota rule, which calls it from Python.

It is asked among the arms on offer, once for each play. While an arm would be played that it did not name, it is asked
again among those that may be played, where it can be: so the arm that is played is always the best that the promise
allows, as with a learner of evenhand that ranks all arms. A learner that names one arm and cannot be asked again leaves
such rounds to the promise, and a warning says so once.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from evenhand.errors import ArgumentError, Wording, wanted
from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import flat
from evenhand.learners.adapter import asks_among, learner_facts, wishes_of
from evenhand.promises.allowed import BY_DEADLINE
from evenhand.quotas.quota_kernels import RankingRule


def ask_learner(policy: Any, shown: Floats) -> list[int]:
    """Return the proposals of the round, as many as it needs, the best first; the one that is held where it is
    refused."""
    if policy.holds:
        return [int(policy._state.learner.proposal[1])]
    said, offered = proposals(policy, shown), _on_offer(policy)
    while asks_among(policy.learner) and len(said) < _needed(policy, offered):
        said += proposals(policy, shown, [arm for arm in offered if arm not in said])
    return said


def proposals(policy: Any, shown: Floats, arms: list[int] | None = None) -> list[int]:
    """Return the arms that the learner proposes to play, the best first, of these where it can say; by default of those
    on offer.

    Raises
    ------
    ArgumentError
        If it returns anything else, or asks the policy around it.
    """
    learner, round = policy.learner, policy.round
    among = (_on_offer(policy) if arms is None else arms) if asks_among(learner) else range(len(policy._labels))
    said = wishes_of(learner, [shown] if policy.contextual else [], among, "learner.choose()")
    if policy.round != round:
        raise ArgumentError(wanted("learner.choose()", "to decide without asking its own policy", Wording("an ask")))
    return said


def choose_down_ranking(policy: Any, shown: Floats, said: list[int], round: int) -> int:
    """Have the rule choose the arms of the round down a ranking of the learner, the best first, which is asked again as
    far as need be; return why it is these, see `evenhand.promises.allowed`."""
    again, arrays = asks_among(policy.learner), flat(policy._state)
    while True:
        before = [array.copy() for array in arrays] if again else []
        policy._state.scores[:] = -math.inf
        policy._state.scores[said] = -np.arange(len(said))
        cause: int = policy._ask_kernel(round, policy._arrays)
        open = _unheard(policy, said, cause, round)
        if not open or not again:
            break
        for array, kept in zip(arrays, before, strict=True):
            array[:] = kept
        said = [*said, *(proposals(policy, shown, open) if len(open) > 1 else open)]
    if len(open) > 1 and cause != BY_DEADLINE:
        _warn(policy)
    return cause


def _on_offer(policy: Any) -> list[int]:
    ranks = isinstance(policy.rule, RankingRule)
    return np.flatnonzero(policy._state.offered).tolist() if ranks else list(range(len(policy._labels)))


def _needed(policy: Any, offered: list[int]) -> int:
    """Return how many proposals a round needs: one for each play; of a lottery over slates all, as it draws by
    ranks."""
    return len(offered) if policy.lottery is not None and policy.plays > 1 else min(policy.plays, len(offered))


def _unheard(policy: Any, said: list[int], cause: int, round: int) -> list[int]:
    """Return the arms among which the promise chose without the learner, which named none of them; [] where it was
    heard."""
    state, offered = policy._state, _on_offer(policy)
    chosen = {arm for arm in state.chosen.tolist() if arm >= 0}
    if policy.plays > 1:
        open = set(offered)
    elif policy.lottery is not None:
        open = set(np.flatnonzero(state.open).tolist())
    elif cause == BY_DEADLINE:
        open = set(np.flatnonzero(state.open).tolist()) | chosen
    else:
        open = {arm for arm in offered if state.cap_whole[arm] < round} | chosen
    heard = chosen <= set(said) if policy.lottery is None else len(open & set(said)) >= _needed(policy, offered)
    return [] if heard else sorted(open - set(said))


def _warn(policy: Any) -> None:
    """Say once that the learner was not heard."""
    if policy._unheard_said:
        return
    policy._unheard_said = True
    inner = learner_facts(policy.learner).learner
    name = type(policy.learner if inner is None else inner).__name__
    warnings.warn(
        f"learner: {name} names an arm that may not be played now, so the promise alone decides; let choose() return a "
        "ranking of the arms, or say among=True and let it choose among the arms that it is given",
        stacklevel=7,
    )
