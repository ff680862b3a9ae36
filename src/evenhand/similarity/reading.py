"""What users hand to a policy, read once: contexts, rewards, verdicts; what cannot be is refused by name."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.errors import ContextError, RewardError, VerdictError, wanted

__all__ = ["Norms", "Pairs", "Ticket", "read_contexts", "read_pair", "read_rewards", "read_verdicts"]

Pairs = Iterable[tuple[int, int]]
Norms = Literal["refuse", "scale"]


class Ticket(NamedTuple):
    """An open decision: what was shown, with which probabilities it was decided, who was chosen, which pairs were
    undecided."""

    contexts: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    chosen: NDArray[np.int64]
    undecided: NDArray[np.int64]


def read_contexts(contexts: ArrayLike, dimension: int, individuals: int | None, norms: Norms) -> NDArray[np.float64]:
    """Return contexts (k, d) with norms of at most 1, scaled to that where `norms` says so."""
    shape = f"numbers of shape (k, {dimension}), a row an individual"
    try:
        shown = np.array(contexts, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ContextError(wanted("contexts", shape, contexts)) from error
    if shown.ndim != 2 or shown.shape[0] == 0 or shown.shape[1] != dimension:
        raise ContextError(wanted("contexts", shape, f"an array of shape {shown.shape}"))
    if individuals is not None and len(shown) != individuals:
        raise ContextError(wanted("contexts", f"{individuals} individuals", len(shown)))
    if not np.isfinite(shown).all():
        i, a = np.argwhere(~np.isfinite(shown))[0]
        raise ContextError(wanted("contexts", "finite numbers", f"{shown[i, a]} for individual {i}, feature {a}"))
    lengths = np.sqrt((shown * shown).sum(axis=1))
    if lengths.max() > 1.0 + 1e-9:
        if norms == "refuse":
            worst = int(lengths.argmax())
            mend = 'scale the features, or pass norms="scale"'
            raise ContextError(
                wanted("contexts", "norms of at most 1", f"{lengths[worst]:.4g} for individual {worst}", mend)
            )
        shown /= np.maximum(lengths, 1.0)[:, None]
    return shown


def read_rewards(reward: Any, ticket: Ticket) -> list[float]:
    """Return a finite number for each individual drawn, none for nobody."""
    drawn = int(ticket.chosen.sum())
    given: list[Any] = [] if reward is None else [reward] if np.isscalar(reward) else list(reward)
    if drawn == 0 and all(value == 0 for value in given):
        return []
    try:
        rewards = [float(value) for value in given]
    except (TypeError, ValueError) as error:
        raise RewardError(wanted("reward", "numbers", reward)) from error
    if len(rewards) != drawn or any(isinstance(v, (str, bytes)) for v in given) or not all(map(math.isfinite, rewards)):
        raise RewardError(wanted("reward", f"{drawn} finite numbers, one for each individual drawn", reward))
    return rewards


def read_verdicts(ticket: Ticket, violations: Pairs, acceptable: Pairs) -> NDArray[np.int64]:
    """Return the verdicts (k, k): 1 unfair, -1 acceptable, 0 silent."""
    said = np.zeros((len(ticket.contexts),) * 2, np.int64)
    for name, pairs, value in (("violations", violations, 1), ("acceptable", acceptable, -1)):
        for pair in pairs:
            i, j = read_pair(name, pair, ticket)
            if said[i, j] == -value:
                raise VerdictError(wanted(name, "each pair on one side", (i, j), "it is called unfair and acceptable"))
            said[i, j] = value
    return said


def read_pair(name: str, pair: Any, ticket: Ticket) -> tuple[int, int]:
    """Return a pair of positions (i, j), i < j, refusing those that do not exist or were treated equally."""
    k = len(ticket.contexts)
    try:
        i, j = (int(place) if isinstance(place, (int, np.integer)) else -1 for place in pair)
    except (TypeError, ValueError) as error:
        raise VerdictError(wanted(name, "pairs (i, j) of positions", pair)) from error
    if not (0 <= i < k and 0 <= j < k and i != j):
        raise VerdictError(wanted(name, f"pairs of two different positions below {k}", pair))
    if name == "violations" and ticket.probabilities[i] == ticket.probabilities[j]:
        raise VerdictError(wanted(name, "pairs that were treated differently", pair, "both had the same probability"))
    return min(i, j), max(i, j)
