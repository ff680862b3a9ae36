"""What a file and a log keep of a policy: its configuration, its arrays, and its open tickets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import flat, names
from evenhand.policy.kernel_set import LazyProbabilities, deterministic
from evenhand.saving.saved import fill


def snapshot_of(policy: Any) -> dict[str, Any]:
    """Return everything that `restore` needs."""
    body: dict[str, Any] = {"config": policy.config(), "dimension": policy.dimension if policy._begun else None}
    if policy._begun:
        body |= {"round": policy.round, "tickets": policy.tickets.snapshot(), "state": flat(policy._state)}
        body["columns"] = policy._columns
        body["waiting"] = policy._waiting
    if policy.encoder is not None:
        body["encoder"] = policy.encoder
    return body


def restore(policy: Any, snapshot: dict[str, Any]) -> None:
    """Bring a policy that was just made from `snapshot["config"]` to where the snapshot was taken."""
    policy.encoder = snapshot.get("encoder")
    if snapshot["dimension"] is None:
        return
    policy.begin(snapshot["dimension"])
    # Before the arrays: a rule that changed its form has other fields, and `fill` refuses arrays of other shapes.
    policy._restore_variant(snapshot)
    policy.round = snapshot["round"]
    for name, own, saved in zip(names(policy._state), flat(policy._state), snapshot["state"], strict=True):
        fill(own, saved, f"state.{name}")
    policy._name_columns(snapshot["columns"])
    policy.tickets.restore_all(snapshot["tickets"])
    fill(policy._waiting, snapshot["waiting"], "waiting")


def kept_ticket(remembered: Any) -> tuple[Any, ...]:
    """Return what a file keeps of an open ticket: round, index or indexes, contexts, probability."""
    (round, _, index), shown, probability, *slate = remembered
    if isinstance(probability, LazyProbabilities):
        probability = float(probability()[index])
    return round or 0, np.array(slate[0]) if slate else index, shown, probability


def remembered_ticket(policy: Any, round: int, index: Any, shown: Floats, probability: float) -> tuple[Any, ...]:
    """Return what a policy remembers of an open ticket, from what a file kept."""
    slate = index.tolist() if isinstance(index, np.ndarray) and policy.plays > 1 else [index]
    said = (round or None, policy._labels[slate[0]], slate[0]), shown, probability
    return said if policy.plays == 1 else (*said, tuple(slate))


def logged_ticket(policy: Any, decided: dict[str, Any], shown: Floats) -> tuple[Any, ...]:
    """Return what a file would keep of an open ticket, from what a log says that was decided."""
    chance, probabilities = told_probability(policy), decided.get("probabilities")
    if decided.get("propensity") is not None:
        chance = float(decided["propensity"])
    elif probabilities is not None and policy.kernels.probability is not deterministic:
        chance = float(probabilities[decided["index"]])
    index = decided["index"] if policy.plays == 1 else np.array(decided["indexes"], np.int64)
    return decided["round"], index, shown, chance


def told_probability(policy: Any) -> float:
    """Return the probability of decisions of which it was not written down."""
    return 1.0 if policy.kernels.probability is deterministic else math.nan
